"""Quiet positions of games with their results: what a hand-crafted evaluation is tuned on.

Sources are games (PGN), datasets, and lines of text with a FEN and a result. All positions pass the
same filters, in one order, and each filter counts what it leaves out. Of what passes, a sample is
drawn and split by game: positions of one game are alike, and held-out ones would tell nothing.

Guarantees: the outputs depend on the sources, the evaluation, the options and the seed alone. A
position is drawn by a hash of itself, whatever its source and its place there.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np

from nnuelab import artifacts, files
from nnuelab.data import conversion, dataset, sampling
from nnuelab.data.draws import STEP, splitmix64
from nnuelab.data.formats import texts
from nnuelab.data.labels import part_of
from nnuelab.data.parallel import in_threads
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT, white_results
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError
from nnuelab.evaluator import Evaluator
from nnuelab.jit import at, inline, jit
from nnuelab.progress import Progress
from nnuelab.selfplay.quiet import Quiet
from nnuelab.settings.sample import Sampling
from nnuelab.settings.texel import Positions

BATCH = 1 << 13  # positions
PLACES = 1 << 16  # of a histogram of hashes
FEWEST_GAMES = 2  # of a part
FILTERS = ("unknown result", "opening", "check", "score", "quiet", "not drawn")
_HOME = np.uint64(0xFFFF00000000FFFF)  # squares of the first position
_EVERY = Sampling(min_ply=0, skip_check=False, skip_captures=False, skip_promotions=False)


def make(
    sources: Sequence[Path],
    train: Path,
    validation: Path,
    filters: Path,
    evaluator: Evaluator,
    options: Positions,
    workers: int = 0,
) -> Counter[str]:
    """Writes two datasets of quiet positions with results, and what was left out, as a table.

    Parameters
    ----------
    sources : sequence of Path
        PGN (.pgn, also .zst, .gz, .bz2), and what `conversion` reads, one after the other.
    train, validation : Path
        Datasets, .npy. Their games are numbered through all sources.
    filters : Path
        CSV with the columns filter and positions.
    evaluator : Evaluator
        Whose quiescence search it is.
    options : Positions
    workers : int
        Threads; 0: one per core.

    Returns
    -------
    Counter
        What stands in ``filters``.

    Raises
    ------
    UserError
        When a source can't be read or too much of it can't, or when nothing can be learnt of what
        is left: no results, one result alone, or too few games. No output is written then.
    """
    artifacts.check_apart(sources, [train, validation, filters])
    if (path := artifacts.first_repeated(sources)) is not None:
        raise UserError(f"{path} is given twice; name it once")  # its games would be on both sides
    for path in sources:
        files.check(path)
        if not _is_pgn(path):
            conversion.of(path)  # a name that says nothing is told before hours of work
    counts: Counter[str] = Counter(dict.fromkeys(("read", *FILTERS), 0))
    artifacts.make_parent(train)
    with tempfile.TemporaryFile(dir=train.parent) as passed:
        histogram = np.zeros(PLACES, np.int64)
        with Progress(None, "positions", "filter") as progress:
            work = _Filters(options, evaluator)
            batches = _batches(sources, options, workers)
            for records, hashes, left_out in in_threads(work, batches, workers):
                counts.update(left_out)
                histogram += np.bincount(hashes >> np.uint64(48), minlength=PLACES)
                passed.write(records.data)
                progress.advance(left_out["read"])
        passed.flush()
        n = int(histogram.sum())
        _check_read(counts, n, sources)
        kept = np.memmap(passed, RECORD, "r", shape=(n,))
        with ExitStack() as stack:
            writers = [stack.enter_context(dataset.writing(path)) for path in (train, validation)]
            games, results = _write(kept, histogram, writers, options)
            _check_parts(games, results, options)
            counts["training"], counts["validation"] = (writer.count for writer in writers)
            counts["kept"] = counts["training"] + counts["validation"]
            counts["not drawn"] = n - counts["kept"]
    _write_filters(filters, counts)
    for path in (train, validation, filters):
        artifacts.provenance(
            path,
            inputs=artifacts.by_name([*sources, *evaluator.files().values()]),
            parameters=asdict(options),
            seed=options.seed,
            module="selfplay.texel_positions",
            evaluator=evaluator.code(),
            counts=dict(counts),
        )
    return counts


def _is_pgn(path: Path) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in conversion.COMPRESSED:
        suffixes.pop()
    return suffixes[-1:] == [".pgn"]


def _batches(
    sources: Sequence[Path], options: Positions, workers: int
) -> Iterator[tuple[np.ndarray, bool]]:
    """All positions, with games numbered through all sources; whether they may lack a ply."""
    first = 0
    for path in sources:
        games, lines = 0, not _is_pgn(path) and conversion.of(path).is_text
        for records in _positions(path, options, workers):
            games = max(games, int(records["game"].max(initial=0)) + 1)
            records["game"] += np.uint32(first)
            for start in range(0, len(records), BATCH):
                yield records[start : start + BATCH], lines
        first += games


def _positions(path: Path, options: Positions, workers: int) -> Iterator[np.ndarray]:
    """The positions of a source."""
    if _is_pgn(path):
        yield from sampling.positions([path], _EVERY, workers)
        return
    unusable = Unusable(path, options.max_unusable)
    read = conversion.of(path).read
    if read is texts.read_csv:
        yield from texts.read_csv(path, unusable, points=True)
    else:
        yield from read(path, unusable)
    if unusable.count:
        print(f"{path}: {unusable.summary()}", file=sys.stderr)


class _Filters:
    """Leaves out positions, in any number of threads."""

    def __init__(self, options: Positions, evaluator: Evaluator) -> None:
        self._options, self._quiet = options, Quiet(evaluator)

    def __call__(
        self, batch: tuple[np.ndarray, bool]
    ) -> tuple[np.ndarray, np.ndarray, Counter[str]]:
        """What passes of a batch, its hashes, and how many positions each filter leaves out."""
        records, lines = batch
        counts = Counter(read=len(records))

        def keep(name: str, mask: np.ndarray) -> None:
            nonlocal records
            counts[name] += int(len(records) - np.count_nonzero(mask))
            records = records[mask]

        options = self._options
        most = options.max_score or np.inf
        keep("unknown result", records["result"] != UNKNOWN_RESULT)
        keep("opening", ~_is_opening(records, options.min_ply, lines))
        own = records["score"] != NO_SCORE
        keep("score", ~own | (np.abs(records["score"].astype(np.int64)) <= most))
        if options.quiet == "keep":
            values, quiet = self._quiet.values(records), np.ones(len(records), bool)
        else:
            found = self._quiet.settle(records, options.quiet == "replace")
            checked = found[3] < 0
            counts["check"] += int(np.count_nonzero(checked))
            records, quiet, values, plies = (part[~checked] for part in found)
            records = _moved(records, plies)
            counts["replaced"] += int(np.count_nonzero(quiet & (plies > 0)))
        # A position's own score may be small where the static one isn't: of a net that knows the
        # ending for a draw, or can't win it.
        fit = np.abs(values) <= most
        quiet = quiet[fit]
        keep("score", fit)
        keep("quiet", quiet)
        records = np.ascontiguousarray(records)
        hashes = np.empty(len(records), np.uint64)
        _hash(records, np.uint64(options.seed), hashes)
        return records, hashes, counts


def _is_opening(records: np.ndarray, min_ply: int, lines: bool) -> np.ndarray:
    """Which positions are of the first ``min_ply`` half-moves, bool [n].

    Lines without a number of the move are read as the first one. So there a position is an opening
    if it may well be: at most one piece has left its place.
    """
    early: np.ndarray = records["ply"] < min_ply
    if lines:
        at_home = np.bitwise_count(records["occupied"] & _HOME)
        early &= (records["ply"] > 1) | (at_home >= 31)
    return early


def _moved(records: np.ndarray, plies: np.ndarray) -> np.ndarray:
    """Labels of positions that were replaced by those some plies later."""
    moved, odd = plies > 0, plies % 2 == 1
    records["result"] = np.where(odd, -records["result"], records["result"])
    records["score"] = np.where(moved, NO_SCORE, records["score"])
    records["move"] = np.where(moved, 0, records["move"])
    records["ply"] = np.minimum(records["ply"] + plies, np.iinfo(np.uint16).max)
    return records


@inline
def _mixed(hashed, word):
    return splitmix64((hashed ^ word) + STEP)


@jit
def _hash(records, seed, out):
    """A number of each position and its result, whatever game it is of."""
    for i in range(len(records)):
        record = records[at(i)]
        hashed = _mixed(seed, record.occupied)
        hashed = _mixed(hashed, record.pieces_low)
        hashed = _mixed(hashed, record.pieces_high)
        rest = np.uint64(record.flags) | np.uint64(record.ep) << np.uint64(8)
        rest |= np.uint64(record.ply) << np.uint64(16)
        rest |= np.uint64(record.result + 1) << np.uint64(32)
        out[at(i)] = _mixed(hashed, rest)


class _Draw:
    """Which positions are drawn: those of the least hashes; of equal ones, the first."""

    def __init__(self, kept: np.ndarray, histogram: np.ndarray, options: Positions) -> None:
        self._seed = np.uint64(options.seed)
        self._limit, self._ties = np.iinfo(np.uint64).max, len(kept)
        if not 0 < options.sample < len(kept):
            return
        below = np.cumsum(histogram)
        place = int(np.searchsorted(below, options.sample))
        before = int(below[place - 1]) if place else 0
        found = [
            hashes[hashes >> np.uint64(48) == place] for hashes in map(self.hashes, _pieces(kept))
        ]
        last = np.sort(np.concatenate(found))
        self._limit = last[options.sample - before - 1]
        self._ties = options.sample - before - int(np.searchsorted(last, self._limit))

    def hashes(self, records: np.ndarray) -> np.ndarray:
        found = np.empty(len(records), np.uint64)
        _hash(records, self._seed, found)
        return found

    def __call__(self, records: np.ndarray) -> np.ndarray:
        """Which of the next records, bool [n]."""
        hashes = self.hashes(records)
        ties = np.flatnonzero(hashes == self._limit)[: self._ties]
        self._ties -= len(ties)
        drawn: np.ndarray = hashes < self._limit
        drawn[ties] = True
        return drawn


def _pieces(records: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(records), dataset.HASHED):
        yield np.array(records[start : start + dataset.HASHED])


def _write(
    kept: np.ndarray,
    histogram: np.ndarray,
    writers: Sequence[dataset.Writer],
    options: Positions,
) -> tuple[list[int], set[int]]:
    """Draws positions and splits them; how many games each part has, and White's results."""
    draw, shares = _Draw(kept, histogram, options), (options.validation_share, 0.0)
    games: list[set[int]] = [set() for _ in writers]
    results: set[int] = set()
    with Progress(len(kept), "positions", "split") as progress:
        for records in _pieces(kept):
            progress.advance(len(records))
            records = records[draw(records)]
            results.update(np.unique(white_results(records)).tolist())
            part = part_of(records["game"], shares, options.seed)
            for number, writer in enumerate(writers):
                writer.append(records[part == number])
                games[number].update(np.unique(records["game"][part == number]).tolist())
    return [len(some) for some in games], results


def _check_read(counts: Counter[str], passed: int, sources: Sequence[Path]) -> None:
    names = ", ".join(map(str, sources))
    if counts["unknown result"] == counts["read"]:
        raise UserError(
            f"no position of {names} has a result; give games that ended, or lines with "
            '`c9 "1-0";` or [1.0]'
        )
    if not passed:
        told = ", ".join(f"{name} {counts[name]:,}" for name in FILTERS if counts[name])
        raise UserError(f"no position of {names} passes the filters: {told}; widen them")


def _check_parts(games: Sequence[int], results: set[int], options: Positions) -> None:
    if len(results) < 2:
        raise UserError(
            "all positions have one result, so that no evaluation can be better than another; give "
            "games with other results"
        )
    for name, n in zip(("to tune on", "to check on"), games, strict=True):
        if n < FEWEST_GAMES:
            raise UserError(
                f"there are too few games: {n} {name} of {sum(games)}; give more, or another "
                f"validation_share than {options.validation_share:g}"
            )


def _write_filters(path: Path, counts: Counter[str]) -> None:
    names = ("read", *FILTERS, "kept", "training", "validation", "replaced")
    with artifacts.atomic(path) as temporary, temporary.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("filter", "positions"))
        table.writerows((name, counts[name]) for name in names)
