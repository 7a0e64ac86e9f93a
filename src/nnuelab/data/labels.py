"""Labels: which score each sample gets, and whether it trains or validates.

A labeller is a callable that turns each batch of records into int16 scores (centipawns for the side
to move, NO_SCORE where it has none) and uint16 moves (the best ones in the layout of
``chess.moves``; those played, where it searches for none), so that engines and nets of higher rooms
can be handed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import chess.engine
import numpy as np

from nnuelab import artifacts
from nnuelab.data import dataset, engines
from nnuelab.data.journal import Journal
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT, captures
from nnuelab.errors import UserError
from nnuelab.progress import Progress

Labels = tuple[np.ndarray, np.ndarray]
Labeller = Callable[[Iterable[np.ndarray]], Iterable[Labels]]

BATCH = 4096  # records
SLOW_BATCH = 16  # records of a labeller that searches: progress moves, a kill loses little
WIN_SCORE = 2000  # centipawns of a won game: 0.992 under the study's sigmoid(score / 410)


def pgn(batches: Iterable[np.ndarray]) -> Iterator[Labels]:
    """The score of the comment ``[%eval]``, as sampling found it."""
    for records in batches:
        yield records["score"], records["move"]


def result(batches: Iterable[np.ndarray]) -> Iterator[Labels]:
    """WIN_SCORE, 0 or -WIN_SCORE by the result of the game; none where it is unknown."""
    for records in batches:
        known = records["result"] != UNKNOWN_RESULT
        scores = records["result"].astype(np.int16) * np.int16(WIN_SCORE)
        yield np.where(known, scores, np.int16(NO_SCORE)), records["move"]


def stockfish(path: str, limit: chess.engine.Limit, workers: int = 0) -> Labeller:
    """A labeller that asks a UCI engine, several processes at a time."""
    return lambda batches: engines.labels(batches, path, limit, workers)


def is_validation(games: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Whether games belong to the validation set: by a hash of seed and number alone.

    Parameters
    ----------
    games : ndarray of integers [n]
        Numbers of games.
    share : float
        Expected share of games, 0 to 1.

    Returns
    -------
    ndarray of bool [n]
    """
    # splitmix64 (Steele, Lea, Flood 2014): neighbouring numbers give unrelated hashes.
    with np.errstate(over="ignore"):
        mixed = games.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 1) % 2**64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)) * 2.0**-53 < share


def label(
    sampled: Path,
    train: Path,
    validation: Path,
    labeller: Labeller,
    *,
    name: str,
    skip_captures: bool = False,
    max_score: int = 5000,
    validation_share: float = 0.1,
    seed: int = 1,
    parameters: dict[str, Any] | None = None,
    resumable: bool = False,
) -> Counter[str]:
    """Writes the labelled samples to two datasets, split by game.

    Parameters
    ----------
    sampled, train, validation : Path
        Datasets (.npy of RECORD): the input and the two outputs.
    labeller, name, parameters
        What gives scores and best moves, its name, and what else it depends on (for the
        provenance).
    skip_captures : bool
        Drop positions where the best move is a capture or a promotion: their static evaluation
        says little.
    max_score : int
        Positions whose score is larger, mates included, are dropped: they teach a net nothing
        but its own saturation.
    validation_share : float
        Share of games in the validation set.
    resumable : bool
        For slow labellers: keep labels beside ``train`` as they come, continue there after a kill.

    Returns
    -------
    Counter
        sampled, dropped by reason, train, validation.

    Raises
    ------
    UserError
        When no position has a score, or one of the sets is empty; nothing is written then.
    """
    artifacts.check_apart([sampled], [train, validation])
    samples = dataset.open(sampled)
    parameters = {"labeller": name, **(parameters or {})}
    journal = None
    if resumable:
        identity = {
            "sampled": artifacts.sha256(sampled),
            "code": artifacts.code_hash("data.labels"),
            **parameters,
        }
        journal = Journal(train.with_name(train.name + ".partial"), identity)
    counts: Counter[str] = Counter(sampled=len(samples))
    with nullcontext() if journal is None else journal:
        with (
            Progress(len(samples), "positions", f"label ({name})") as progress,
            dataset.writing(train) as train_writer,
            dataset.writing(validation) as validation_writer,
        ):
            for records, scores, moves in _labelled(samples.records, labeller, journal):
                progress.advance(len(records))
                missing = scores == NO_SCORE
                extreme = ~missing & (np.abs(scores.astype(np.int32)) > max_score)
                counts["dropped: no score"] += int(missing.sum())
                counts[f"dropped: beyond {max_score} cp"] += int(extreme.sum())
                fit = ~missing & ~extreme
                if skip_captures:
                    loud = fit & captures(records, moves)
                    counts["dropped: best move a capture or promotion"] += int(loud.sum())
                    fit &= ~loud
                kept = np.array(records[fit], RECORD)
                kept["score"] = scores[fit]
                held_out = is_validation(kept["game"], validation_share, seed)
                train_writer.append(kept[~held_out])
                validation_writer.append(kept[held_out])
            counts["train"] = train_writer.count
            counts["validation"] = validation_writer.count
            _check(counts, sampled, name)
        for path in (train, validation):
            artifacts.provenance(
                path,
                inputs={"sampled": sampled},
                parameters={
                    **parameters,
                    "skip_captures": skip_captures,
                    "max_score": max_score,
                    "validation_share": validation_share,
                },
                seed=seed,
                module="data.labels",
                counts=dict(sorted(counts.items())),
            )
        if journal is not None:
            journal.remove()
    return counts


def _check(counts: Counter[str], sampled: Path, name: str) -> None:
    if counts["dropped: no score"] == counts["sampled"]:
        remedy = (
            "its games have no [%eval] comments; use --labeller stockfish or --labeller result"
            if name == "pgn"
            else "its games have no results; use --labeller stockfish or --labeller pgn"
        )
        raise UserError(f"no position of {sampled} has a score: {remedy}")
    for part in ("train", "validation"):
        if not counts[part]:
            raise UserError(
                f"the {part} set is empty ({counts['sampled']} positions were sampled); "
                "give more games, another validation share or a larger max_score"
            )


def _labelled(
    records: np.ndarray, labeller: Labeller, journal: Journal | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Batches of records with scores and best moves; those of an earlier run come first."""
    start, size = 0, BATCH if journal is None else SLOW_BATCH
    for entry in journal or ():
        if entry["start"] != start:  # of another place: there before, or behind a gap
            continue
        scores, moves = np.array(entry["scores"], np.int16), np.array(entry["moves"], np.uint16)
        yield records[start : start + len(scores)], scores, moves
        start += len(scores)
    batches = [records[i : i + size] for i in range(start, len(records), size)]
    for batch, (scores, moves) in zip(batches, labeller(batches), strict=True):
        if journal is not None:
            entry = {"start": start, "scores": scores.tolist(), "moves": moves.tolist()}
            journal.append(entry)
        yield batch, scores, moves
        start += len(batch)
