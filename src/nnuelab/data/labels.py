"""Labels: which score each sample gets, and which set it goes to.

A labeller is a callable that turns each batch of records into int16 scores (centipawns for the side
to move, NO_SCORE where it has none) and uint16 moves (the best ones in the layout of
``chess.moves``; those played, where it searches for none); or a `Searching`, which makes something
that does so for single positions, so that higher rooms can hand in engines and nets.

Guarantees: a label depends on its position and the labeller alone, neither on other positions nor
on the number of workers; interrupted runs resume and end with the same files.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

import numpy as np

from nnuelab import artifacts
from nnuelab.chess.moves import MAX_MOVES, NO_MOVE
from nnuelab.data import dataset, label_parts, uci
from nnuelab.data.cache import Cache
from nnuelab.data.draws import STEP, splitmix64
from nnuelab.data.label_parts import Labelled
from nnuelab.data.record_text import read_move, texts
from nnuelab.data.records import MATE, NO_SCORE, RECORD, UNKNOWN_RESULT, captures, mate_score
from nnuelab.data.searching import Searching, Unlabelled
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError
from nnuelab.parts import Part
from nnuelab.progress import Progress
from nnuelab.settings.label import Labelling

Labels = tuple[np.ndarray, np.ndarray]
Labeller = Callable[[Iterable[np.ndarray]], Iterable[Labels]]

BATCH = 4096  # records
WIN_SCORE = 2000  # centipawns of a won game: 0.992 under the study's sigmoid(score / 410)
CACHE = "labels.sqlite"  # in the folder of a cache


def pgn(batches: Iterable[np.ndarray]) -> Iterator[Labels]:
    """The score of the comment ``[%eval]``, as the sample has it."""
    for records in batches:
        yield records["score"], records["move"]


def result(batches: Iterable[np.ndarray]) -> Iterator[Labels]:
    """WIN_SCORE, 0 or -WIN_SCORE by the result of the game; none where it is unknown."""
    for records in batches:
        known = records["result"] != UNKNOWN_RESULT
        scores = records["result"].astype(np.int16) * np.int16(WIN_SCORE)
        yield np.where(known, scores, np.int16(NO_SCORE)), records["move"]


def stockfish(
    path: str,
    limit: str,
    workers: int = 0,
    *,
    options: Mapping[str, str] | None = None,
    patience: float = uci.PATIENCE,
) -> Searching:
    """A labeller that asks a UCI engine, several processes at a time.

    Parameters
    ----------
    path : str
        The engine's program.
    limit : str
        Of each search, as UCI's ``go`` takes it; under a time limit labels aren't reproducible.
    workers : int
        Processes; 0: one per core.
    options : mapping
        UCI options.
    patience : float
        Seconds that a search may take before its engine counts as hanging.
    """
    with uci.UciEngine([path], options) as engine:
        name = engine.name
    identity = {
        "engine": name,
        "program": artifacts.sha256(path),
        "limit": limit,
        "options": {**uci.DEFAULTS, **(options or {})},
        # Nets and tables that an option names may change under the same name.
        "files": {
            name: artifacts.sha256(value)
            for name, value in (options or {}).items()
            if os.path.isfile(value)
        },
    }
    make = partial(_Analyst, path, limit, options or {}, patience)
    return Searching(make, identity, workers)


class _Analyst:
    """A UCI engine that gives scores and best moves to single positions: a `searching.Searcher`."""

    def __init__(self, path: str, limit: str, options: Mapping[str, str], patience: float) -> None:
        self._limit, self._patience = limit, patience
        self._scratch = np.empty(MAX_MOVES, np.int64)
        self._engine = uci.UciEngine([path], options)

    def __call__(self, record: np.void) -> tuple[int, int]:
        """Score and best move; an engine that dies or hangs gets a second chance.

        The score is NO_SCORE when the game is over.
        """
        fen = texts(np.array([record], RECORD))[0][0].decode()
        # The number of the move is no part of a position: labels are kept by position.
        position = f"fen {fen.rsplit(' ', 1)[0]} 1"
        for _ in range(2):
            try:
                if self._engine.pid is None:
                    self._engine.new_game()
                # With a warm hash table a label would depend on the positions before it.
                reply = self._engine.search(position, self._limit, self._patience, clear=True)
                return self._understood(reply, record)
            except uci.UciError as error:
                reason = error
                self._engine.kill()
        raise Unlabelled(f"{self._engine.name} failed twice on {fen!r}: {reason}")

    def _understood(self, reply: uci.Reply, record: np.void) -> tuple[int, int]:
        if not reply.move:
            return NO_SCORE, NO_MOVE
        move = int(read_move(record, np.frombuffer(reply.move.encode(), np.uint8), self._scratch))
        if move == NO_MOVE:
            raise uci.UciError(f"it plays {reply.move[:20]!r}, an illegal move")
        if not reply.variations:
            raise uci.UciError("it gives a move without a score")
        cp, mate, _ = reply.variations[0]
        return (max(-MATE, min(MATE, cp or 0)) if mate is None else mate_score(mate)), move

    def close(self) -> None:
        """Ends the engine for good; another thread may wait for its answer."""
        self._engine.close()


def part_of(games: np.ndarray, shares: tuple[float, float], seed: int) -> np.ndarray:
    """The set that each game belongs to: a hash of the seed and its number.

    Parameters
    ----------
    games : ndarray of integers [n]
        Numbers of games.
    shares : (float, float)
        Expected shares of games that validate and that test; the rest trains.

    Returns
    -------
    ndarray of int64 [n]
        0 train, 1 validation, 2 test.
    """
    start = np.uint64((seed * int(STEP) + 1) % 2**64)
    drawn = splitmix64.py_func((games.astype(np.uint64) + start) * STEP)
    place = (drawn >> np.uint64(11)) * 2.0**-53
    return np.where(place < shares[0], 1, np.where(place < sum(shares), 2, 0))


def label(
    sampled: Path,
    train: Path,
    validation: Path,
    labeller: Labeller | Searching,
    *,
    name: str,
    test: Path | None = None,
    skip_captures: bool = Labelling.skip_captures,
    max_score: int = Labelling.max_score,
    validation_share: float = Labelling.validation_share,
    test_share: float | None = None,
    seed: int = Labelling.seed,
    cache: Path | None = None,
    max_unusable: int = 0,
    parts: Sequence[Path] = (),
) -> Counter[str]:
    """Writes the labelled samples to two or three datasets, split by game.

    Parameters
    ----------
    sampled : Path
        Dataset to label.
    train, validation, test : Path
        Datasets (.npy of RECORD) to write; ``test`` where there is a ``test_share``: of 0, the
        file has no positions.
    labeller, name
        What gives scores and best moves, and its name for the provenance.
    skip_captures : bool
        Drop positions where the best move is a capture or a promotion: their static evaluation
        says little.
    max_score : int
        Positions whose score is larger, mates included, are dropped: a net learns only
        saturation from them.
    validation_share, test_share : float
        Shares of games in these sets.
    cache : Path, optional
        Folder that keeps the results of searches for other runs, too. Without it they are kept
        beside ``train`` until the end, so that an interrupted run resumes.
    max_unusable : int
        Positions that a labeller may fail on.
    parts : sequence of Path
        What `label_part` has found, which is all then: nothing is searched.

    Returns
    -------
    Counter
        sampled, dropped by reason, train, validation, test.

    Raises
    ------
    UserError
        When no position has a score, one of the sets is empty, or the labeller fails too often;
        nothing is written then.
    """
    outputs = {"train": train, "validation": validation}
    if test_share if test is None else test_share is None:
        raise UserError(
            "a test set needs its file and a share of the games: give both --test and --test-share"
        )
    if test is not None:
        outputs["test"] = test
    artifacts.check_apart([sampled, *parts], outputs.values())
    samples = dataset.open(sampled)
    identity = {"labeller": name}
    kept: Cache | None = None
    given: Labelled | None = None
    if isinstance(labeller, Searching):
        identity |= labeller.identity
    if parts:
        if not isinstance(labeller, Searching):
            raise UserError(f"{name} searches for nothing, so its labels have no parts: {parts[0]}")
        of_all = {**identity, "sampled": artifacts.sha256(sampled)}
        given = label_parts.join(parts, of_all, len(samples))
    elif isinstance(labeller, Searching):
        place = cache / CACHE if cache else train.with_name(train.name + ".partial")
        kept = Cache(place, identity, exclusive=cache is None)
    unusable = Unusable(sampled, max_unusable)
    counts: Counter[str] = Counter(sampled=len(samples))
    with nullcontext() if kept is None else kept:
        with ExitStack() as stack:
            progress = stack.enter_context(Progress(len(samples), "positions", f"label ({name})"))
            writers = [stack.enter_context(dataset.writing(path)) for path in outputs.values()]
            found = (
                _labelled(samples, labeller, kept, unusable, progress)
                if given is None
                else _given(samples, given, unusable, progress)
            )
            for records, scores, moves in found:
                fit = _fit(records, scores, moves, skip_captures, max_score, counts)
                chosen = np.array(records[fit], RECORD)
                chosen["score"] = scores[fit]
                part = part_of(chosen["game"], (validation_share, test_share or 0), seed)
                for i, writer in enumerate(writers):
                    writer.append(chosen[part == i])
            if unusable.count:
                counts["dropped: labeller failed"] = unusable.count
                counts["dropped: no score"] -= unusable.count
                print(f"{name}: {unusable.summary()}", file=sys.stderr)
            counts.update({part: w.count for part, w in zip(outputs, writers, strict=True)})
            _check(counts, [p for p in outputs if p != "test" or test_share], sampled, name)
        shares = {"validation_share": validation_share}
        if test_share:
            shares["test_share"] = test_share
        for path in outputs.values():
            artifacts.provenance(
                path,
                inputs={"sampled": sampled},
                parameters={
                    **identity,
                    "skip_captures": skip_captures,
                    "max_score": max_score,
                    **shares,
                },
                seed=seed,
                module="data.labels",
                counts=dict(sorted(counts.items())),
            )
        if kept is not None and cache is None:
            kept.remove()
    return counts


def label_part(
    sampled: Path,
    part: Part,
    output: Path,
    searching: Searching,
    *,
    name: str,
    cache: Path | None = None,
    max_unusable: int = 0,
) -> None:
    """Searches a part of the samples, for `label` to put together; an interrupted call resumes.

    Parameters
    ----------
    sampled : Path
        Dataset.
    part : Part
        Of its positions.
    output : Path
        Their labels, .labels.
    cache, max_unusable
        As of `label`.

    Raises
    ------
    UserError
        When the labeller fails too often, or a file can't be read or written.
    """
    artifacts.check_apart([sampled], [output])
    artifacts.check_ending(output, "a part of the labels", ".labels")
    samples = dataset.open(sampled)
    places, unusable = part.of(range(len(samples))), Unusable(sampled, max_unusable)
    identity = {"labeller": name, **searching.identity}
    place = cache / CACHE if cache else output.with_name(f"{output.name}.partial")
    with (
        Cache(place, identity, exclusive=cache is None) as kept,
        Progress(len(places), "positions", f"label ({name})") as progress,
    ):
        found = [*_searched(samples, places, searching, kept, unusable, progress)]
        scores, moves = (
            np.concatenate([np.zeros(0, kind), *(batch[i] for batch in found)])
            for i, kind in ((1, np.int16), (2, np.uint16))
        )
        of_all = {**identity, "sampled": artifacts.sha256(sampled)}
        label_parts.write(output, of_all, part, Labelled(scores, moves, unusable.count))
        artifacts.provenance(
            output,
            inputs={"sampled": sampled},
            parameters={**identity, "part": f"{part.i}/{part.n}"},
            module="data.labels",
        )
        if cache is None:
            kept.remove()


def _fit(
    records: np.ndarray,
    scores: np.ndarray,
    moves: np.ndarray,
    skip_captures: bool,
    max_score: int,
    counts: Counter[str],
) -> np.ndarray:
    """Which positions are kept; the others are counted."""
    missing = scores == NO_SCORE
    extreme = ~missing & (np.abs(scores.astype(np.int32)) > max_score)
    counts["dropped: no score"] += int(missing.sum())
    counts[f"dropped: beyond {max_score} cp"] += int(extreme.sum())
    fit = ~missing & ~extreme
    if skip_captures:
        loud = fit & captures(records, moves)
        counts["dropped: best move a capture or promotion"] += int(loud.sum())
        fit &= ~loud
    return fit


def _check(counts: Counter[str], outputs: Iterable[str], sampled: Path, name: str) -> None:
    if counts["dropped: no score"] == counts["sampled"]:
        remedy = {
            "pgn": "its games have no [%eval] comments; use --labeller stockfish, engine or result",
            "result": "its games have no results; use --labeller stockfish, engine or pgn",
        }.get(name, "its games are over in all of them")
        raise UserError(f"no position of {sampled} has a score: {remedy}")
    for part in outputs:
        if not counts[part]:
            raise UserError(
                f"the {part} set is empty ({counts['sampled']} positions were sampled); "
                "give more games, another share of them or a larger max_score"
            )


def _labelled(
    samples: dataset.Dataset,
    labeller: Labeller | Searching,
    kept: Cache | None,
    unusable: Unusable,
    progress: Progress,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Batches of records with scores and best moves."""
    if isinstance(labeller, Searching):
        assert kept is not None
        places = range(len(samples))
        yield from _searched(samples, places, labeller, kept, unusable, progress)
        return
    batches = [
        part
        for start in range(0, len(samples), BATCH)
        for part in samples.parts(start, start + BATCH)
    ]
    for batch, (scores, moves) in zip(batches, labeller(batches), strict=True):
        progress.advance(len(batch))
        yield batch, scores, moves


def _searched(
    samples: dataset.Dataset,
    places: range,
    searching: Searching,
    kept: Cache,
    unusable: Unusable,
    progress: Progress,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The same, by a search, of some of the samples."""
    found = 0
    for records, scores, moves in searching.labels(samples, places, kept, unusable):
        progress.found(kept.hits - found)
        found = kept.hits
        progress.advance(len(records))
        yield records, scores, moves


def _given(
    samples: dataset.Dataset, labels: Labelled, unusable: Unusable, progress: Progress
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The same, from what parts have."""
    for _ in range(labels.failed):
        unusable.add("position", "the labeller failed in its part")
    start = 0
    for records in samples.parts(0, len(samples)):
        for first in range(0, len(records), BATCH):
            batch = records[first : first + BATCH]
            stop = start + len(batch)
            yield batch, labels.scores[start:stop], labels.moves[start:stop]
            progress.advance(len(batch))
            start = stop
