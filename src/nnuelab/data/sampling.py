"""Which positions of the games become samples.

Guarantees: the output depends on the files, the options and the seed alone, neither on the number
of workers nor on where the text was cut for them. Each game is sampled by itself, except that
`skip_duplicates` looks back and `max_positions` ends the file.
"""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from nnuelab import artifacts
from nnuelab.data import pgn_state
from nnuelab.data.dataset import writing
from nnuelab.data.draws import per_game
from nnuelab.data.duplicates import Duplicates
from nnuelab.data.parallel import in_threads
from nnuelab.data.reader import RATINGS, Fault, Games, Reader, chunks, kernel_options
from nnuelab.errors import UserError
from nnuelab.progress import Progress
from nnuelab.settings.sample import Sampling

QuietFilter = Callable[[np.ndarray], np.ndarray]
"""Which of some records (RECORD [n]) are quiet: bool [n]. Called by several threads at once."""

CHECKED = 1000  # games, before which a high share of unreadable ones doesn't stop the work
EXAMPLES = 3  # of games that were left out, by reason
UNREADABLE = {pgn_state.REASONS[i] for i in pgn_state.UNREADABLE}


@dataclass
class Sample:
    """Counts of a sample.

    Attributes
    ----------
    counts : Counter of str
        Games, skipped games by reason, positions, filtered positions by filter, sampled ones.
    ratings : ndarray of int64 [RATINGS]
        Players of games that gave samples, by steps of `reader.RATING_STEP` Elo.
    examples : dict of str to list of str
        Skipped games by reason: file, number of the game (from 1), line.
    """

    counts: Counter[str]
    ratings: np.ndarray
    examples: dict[str, list[str]]


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

    def __init__(self, options: Sampling) -> None:
        self.sample = Sample(Counter(), np.zeros(RATINGS, np.int64), {})
        self._limit = options.max_unreadable
        self._path: Path | None = None
        self._game = self._line = 0  # of the file

    def add(self, piece: _Piece, duplicates: int) -> None:
        games, counts = piece.games, self.sample.counts
        if piece.path != self._path:
            self._path, self._game, self._line = piece.path, 0, 0
        counts["games"] += games.games
        counts["positions"] += games.positions
        counts.update({f"skipped: {name}": n for name, n in games.skipped.items()})
        for filtered in (games.filtered, piece.filtered, {"duplicate": duplicates}):
            counts.update({f"filtered: {name}": n for name, n in filtered.items() if n})
        self.sample.ratings += games.ratings
        for fault in games.faults:
            examples = self.sample.examples.setdefault(fault.reason, [])
            if len(examples) < EXAMPLES:
                examples.append(self._place(fault))
        self._game += games.games
        self._line += games.lines
        if counts["games"] >= CHECKED:
            self.check()

    def _place(self, fault: Fault) -> str:
        place = f"{self._path}, game {self._game + fault.game + 1}"
        said = f" {fault.word!r}" if fault.word else ""
        return f"{place}, line {self._line + fault.line + 1}: {fault.reason}{said}"

    def check(self) -> None:
        """Raises UserError when too many games can't be read."""
        counts = self.sample.counts
        unreadable = sum(counts[f"skipped: {reason}"] for reason in UNREADABLE)
        if unreadable > self._limit * counts["games"]:
            raise UserError(
                f"{unreadable:,} of {counts['games']:,} games can't be read, more than "
                f"{self._limit:.0%} (--max-unreadable): {self.examples(UNREADABLE)}"
            )

    def examples(self, reasons: Iterable[str] | None = None) -> str:
        """Skipped games in one line, the first ones of each reason."""
        found = self.sample.examples
        chosen = [found[reason] for reason in found if reasons is None or reason in reasons]
        return "; ".join(place for places in chosen for place in places)


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
    worker, tally = Worker(options), _Tally(options)
    for piece in in_threads(worker, _chunks(paths), workers):
        records = piece.records.copy()
        records["game"] += tally.sample.counts["games"]
        tally.add(piece, 0)
        worker.release(piece)
        yield records
    tally.check()


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
    paths = list(paths)
    for path in paths:
        if not path.is_file():
            raise UserError(f"there is no file {path}; check its name")
    worker, tally = Worker(options, quiet), _Tally(options)
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
            kept["game"] += counts["games"]
            tally.add(piece, duplicated)
            writer.append(kept[:room] if max_positions else kept)
            worker.release(piece)
            progress.advance(piece.games.games, positions=f"{writer.count:,}")
            if max_positions and writer.count >= max_positions:
                break
        pieces.close()
        counts["sampled"] = writer.count
        tally.check()
        if not writer.count:
            raise UserError(
                f"no position of {', '.join(map(str, paths))} passes the filters: "
                f"{summary(counts)}; {tally.examples()}".rstrip("; ")
            )
    artifacts.provenance(
        output,
        inputs=artifacts.by_name(paths),
        parameters=asdict(options),
        seed=options.seed,
        module="data.sampling",
        counts=dict(sorted(counts.items())),
    )
    return tally.sample


def summary(counts: Counter[str]) -> str:
    """The counts in one line."""
    return ", ".join(f"{name} {n:,}" for name, n in sorted(counts.items()))
