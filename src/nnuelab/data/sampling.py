"""Which positions of the games become samples.

Guarantees: the output depends on the files, the options and the seed alone, neither on the number
of workers nor on where the text was cut for them. Each game is sampled by itself, except that
`skip_duplicates` looks back and `max_positions` ends the file.
"""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts, files
from nnuelab.data import pgn_state, sample_parts
from nnuelab.data.dataset import writing
from nnuelab.data.draws import per_game
from nnuelab.data.duplicates import Duplicates
from nnuelab.data.parallel import in_threads
from nnuelab.data.reader import Fault, Games, Reader, chunks, kernel_options
from nnuelab.data.sample_counts import CHECKED, Sample, summary
from nnuelab.errors import UserError
from nnuelab.progress import Progress
from nnuelab.settings.sample import Sampling

QuietFilter = Callable[[np.ndarray], np.ndarray]
"""Which of some records (RECORD [n]) are quiet: bool [n]. Called by several threads at once."""


@dataclass(frozen=True)
class _Piece:
    """A chunk of a file with its samples, in the memory of ``reader``."""

    path: Path
    text: bytes
    games: Games
    records: np.ndarray
    filtered: Counter[str]
    reader: Reader


class Worker:
    """Makes samples of chunks, in any number of threads."""

    def __init__(self, options: Sampling, quiet: QuietFilter | None = None) -> None:
        self.options, self.quiet = options, quiet if options.quiet_only else None
        names = pgn_state.OPTIONS.names
        assert names is not None
        chosen = {name: value for name, value in asdict(options).items() if name in names}
        self._kernel_options = kernel_options(chosen)
        self._readers: queue.SimpleQueue[Reader] = queue.SimpleQueue()

    def __call__(self, chunk: tuple[Path, bytes], max_games: int = 0) -> _Piece:
        path, text = chunk
        try:
            reader = self._readers.get_nowait()
        except queue.Empty:
            reader = Reader(self._kernel_options)
        games = reader.read(text, max_games)
        filtered: Counter[str] = Counter()
        records = games.records
        if self.quiet is not None or self.options.per_game:
            kept = np.ones(len(records), np.bool_)
            if self.quiet is not None:
                kept = np.array(self.quiet(records), np.bool_)
                filtered["not quiet"] = int(len(records) - kept.sum())
            if self.options.per_game:
                before = int(kept.sum())
                wanted, seed = np.int64(self.options.per_game), np.uint64(self.options.seed)
                per_game(records, kept, games.hashes, wanted, seed)
                filtered["not drawn"] = before - int(kept.sum())
            records = records[kept]
        return _Piece(path, text, games, records, filtered, reader)

    def release(self, piece: _Piece) -> None:
        """Returns the memory of a piece, to be used for another one."""
        self._readers.put(piece.reader)


class _Tally:
    """Adds up the counts of all pieces, in their order."""

    def __init__(self, max_unreadable: float) -> None:
        self.sample = Sample()
        self._limit = max_unreadable
        self._path: Path | None = None
        self._game = self._line = 0  # of the file

    def add(self, piece: _Piece, duplicates: int = 0) -> None:
        games = piece.games
        if piece.path != self._path:
            self._path, self._game, self._line = piece.path, 0, 0
        counts = Counter({"games": games.games, "positions": games.positions})
        counts.update({f"skipped: {name}": n for name, n in games.skipped.items()})
        for filtered in (games.filtered, piece.filtered, {"duplicate": duplicates}):
            counts.update({f"filtered: {name}": n for name, n in filtered.items() if n})
        examples: dict[str, list[str]] = {}
        for fault in games.faults:
            examples.setdefault(fault.reason, []).append(self._place(fault))
        self.sample.add(Sample(counts, games.ratings, examples))
        self._game += games.games
        self._line += games.lines
        if self.sample.counts["games"] >= CHECKED:
            self.sample.check(self._limit)

    def _place(self, fault: Fault) -> str:
        place = f"{self._path}, game {self._game + fault.game + 1}"
        said = f" {fault.word!r}" if fault.word else ""
        return f"{place}, line {self._line + fault.line + 1}: {fault.reason}{said}"


def _chunks(paths: Iterable[Path]) -> Iterator[tuple[Path, bytes]]:
    for path in paths:
        for text in chunks(path):
            yield path, text


def positions(paths: Iterable[Path], options: Sampling, workers: int = 0) -> Iterator[np.ndarray]:
    """The samples of all games without a file, RECORD [n], with games numbered through all files.

    Neither duplicates are left out, nor what is behind a number of positions.

    Raises
    ------
    UserError
        When a file can't be read, or too many games can't.
    """
    tally = _Tally(options.max_unreadable)
    for piece in _numbered(paths, Worker(options), tally, workers):
        yield piece.records.copy()
    tally.sample.check(options.max_unreadable)


def _numbered(
    paths: Iterable[Path], worker: Worker, tally: _Tally, workers: int
) -> Iterator[_Piece]:
    """All pieces, counted, each to be used before the next."""
    for piece in in_threads(worker, _chunks(paths), workers):
        _number(piece.records, tally.sample.counts["games"])
        tally.add(piece)
        yield piece
        worker.release(piece)


def _number(records: np.ndarray, before: int) -> None:
    """Has games counted behind those before."""
    if before + int(records["game"].max(initial=0)) > np.iinfo(np.uint32).max:
        raise UserError(
            "4,294,967,296 games are the most that a sample can number; give fewer files"
        )
    records["game"] += before


def sample(
    paths: Iterable[Path],
    output: Path,
    options: Sampling,
    workers: int = 0,
    quiet: QuietFilter | None = None,
) -> Sample:
    """Writes the samples of all games to ``output`` (.npy of RECORD), with provenance.

    The score is that of the comment ``[%eval]`` of the position (`labels` decides on it), else
    NO_SCORE.

    Parameters
    ----------
    paths : iterable of Path
        PGN files, plain, .zst, .bz2 or .gz, read one after the other.
    options : Sampling
        With max_positions, counts are those up to the last game that is needed.
    workers : int
        Threads; 0: one per core.
    quiet : callable, optional
        Which positions are quiet, for quiet_only.

    Raises
    ------
    UserError
        When a file can't be read, too many games can't, or nothing is left; no output is written
        then.
    """
    paths = _files(paths)
    worker, tally = Worker(options, quiet), _Tally(options.max_unreadable)
    max_positions = options.max_positions
    duplicates = Duplicates() if options.skip_duplicates else None
    counts = tally.sample.counts
    with Progress(None, "games", "sample") as progress, writing(output) as writer:
        pieces = in_threads(worker, _chunks(paths), workers)
        for piece in pieces:
            records = piece.records
            fresh = None if duplicates is None else duplicates.unseen(records)
            kept = records if fresh is None else records[fresh]
            room = max_positions - writer.count
            if max_positions and len(kept) >= room:
                # Once more, up to the game that fills the last place: its counts are wanted.
                last = int(kept["game"][room - 1])
                worker.release(piece)
                piece = worker((piece.path, piece.text), last + 1)
                records = piece.records
                kept = records if fresh is None else records[fresh[: len(records)]]
            duplicated = len(records) - len(kept)
            _number(kept, counts["games"])
            tally.add(piece, duplicated)
            writer.append(kept[:room] if max_positions else kept)
            worker.release(piece)
            progress.advance(piece.games.games, positions=f"{writer.count:,}")
            if max_positions and writer.count >= max_positions:
                break
        pieces.close()
        _finish(tally.sample, writer.count, paths, options)
    _tell(output, artifacts.by_name(paths), options, tally.sample)
    return tally.sample


def sample_part(
    paths: Iterable[Path],
    output: Path,
    options: Sampling,
    workers: int = 0,
    quiet: QuietFilter | None = None,
) -> None:
    """Writes the samples of some of the games to ``output`` (.sample), for `join`.

    Parameters, errors as of `sample`. Duplicates, and a share of games that can't be read, are for
    `join`; a part may be empty.
    """
    paths = _files(paths)
    of_part = _of_part(options)
    tally = _Tally(1)
    with Progress(None, "games", "sample") as progress, sample_parts.writing(output) as writer:
        for piece in _numbered(paths, Worker(options, quiet), tally, workers):
            writer.append(piece.records)
            progress.advance(piece.games.games, positions=f"{writer.count:,}")
        inputs = {
            name: artifacts.told_input(path) for name, path in artifacts.by_name(paths).items()
        }
        writer.close(of_part, list(inputs.values()), tally.sample)
    artifacts.provenance(
        output,
        inputs=inputs,
        parameters=of_part,
        seed=options.seed,
        module="data.sampling",
    )


def join(parts: Sequence[Path], output: Path, options: Sampling) -> Sample:
    """Writes what `sample` would of all games of some parts, in their order.

    Parameters
    ----------
    parts : sequence of Path
        Of `sample_part`.
    output : Path
    options : Sampling
        Those of the parts.

    Raises
    ------
    UserError
        When a part is damaged, or of other options, or has games of another one; and as `sample`.
    """
    of_part = _of_part(options)
    duplicates = Duplicates() if options.skip_duplicates else None
    inputs: list[Mapping[str, str]] = []
    whole = Sample()
    with Progress(len(parts), "parts", "sample") as progress, writing(output) as writer:
        for path in parts:
            with sample_parts.reading(path) as part:
                if part.options != of_part:
                    raise UserError(
                        f"{path} was sampled with other options; give the same, or make it again"
                    )
                if twice := next((file for file in part.inputs if file in inputs), None):
                    raise UserError(
                        f"{path} has games of another part, {twice['path']}; name it once"
                    )
                seen = 0
                for records in part.records():
                    kept = records if duplicates is None else records[duplicates.unseen(records)]
                    seen += len(records) - len(kept)
                    _number(kept, whole.counts["games"])
                    writer.append(kept)
                inputs += part.inputs
                whole.add(part.sample)
                if seen:
                    whole.counts["filtered: duplicate"] += seen
            progress.advance(1, positions=f"{writer.count:,}")
        _finish(whole, writer.count, parts, options)
    names = artifacts.by_name(file["path"] for file in inputs)
    _tell(output, dict(zip(names, inputs, strict=True)), options, whole)
    return whole


def _files(paths: Iterable[Path]) -> list[Path]:
    """The paths, if they are files."""
    paths = list(paths)
    for path in paths:
        files.check(path)
    return paths


def _of_part(options: Sampling) -> dict[str, Any]:
    """The options that what is in a part depends on."""
    if options.max_positions:
        raise UserError(
            "max_positions ends before all games are read, and parts are of all; leave out one"
        )
    chosen = asdict(options)
    for of_all in ("max_positions", "max_unreadable", "skip_duplicates"):
        del chosen[of_all]
    return chosen


def _finish(whole: Sample, count: int, paths: Iterable[Path], options: Sampling) -> None:
    """Checks a sample of ``count`` positions."""
    whole.counts["sampled"] = count
    whole.check(options.max_unreadable)
    if not count:
        raise UserError(
            f"no position of {', '.join(map(str, paths))} passes the filters: "
            f"{summary(whole.counts)}; {whole.told()}".rstrip("; ")
        )


def _tell(
    output: Path,
    inputs: Mapping[str, Path | Mapping[str, str]],
    options: Sampling,
    whole: Sample,
) -> None:
    artifacts.provenance(
        output,
        inputs=inputs,
        parameters=asdict(options),
        seed=options.seed,
        module="data.sampling",
        counts=dict(sorted(whole.counts.items())),
    )
