"""Samples to label, and who labels them: engines that say what they are told to, and nobody."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np

from nnuelab.data import labels
from nnuelab.data.cache import Cache
from nnuelab.data.dataset import Dataset, writing
from nnuelab.data.records import RECORD, from_fen
from nnuelab.data.searching import Searching
from nnuelab.data.unusable import Unusable

FENS = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "4k3/8/8/8/8/8/8/4K2R w K - 3 20",
]


def fake_engine(folder: Path, *arguments: object) -> str:
    """A program that runs the fake engine with these arguments."""
    path = folder / "fake"
    script = Path(__file__).parents[1] / "programs/fake_engine.py"
    path.write_text(
        f"#!/bin/sh\nexec {shlex.join([sys.executable, str(script), *map(str, arguments)])}\n"
    )
    path.chmod(0o755)
    return str(path)


def samples(path: Path, n: int, per_game: int = 5) -> np.ndarray:
    records = np.zeros(n, RECORD)
    for i in range(n):
        records[i] = from_fen(FENS[i % 2])
    records["game"] = np.arange(n) // per_game
    records["score"] = np.arange(n) * 10
    records["result"] = np.arange(n) % 4 - 1  # 2 is an unknown one
    with writing(path) as writer:
        writer.append(records)
    return records


def run(folder: Path, labeller: labels.Labeller, **more) -> tuple[np.ndarray, np.ndarray]:
    train, validation = folder / "train.npy", folder / "validation.npy"
    more = {"name": "test", "validation_share": 0.3} | more
    labels.label(folder / "sampled.npy", train, validation, labeller, **more)
    return np.load(train), np.load(validation)


def counting(seen: list[bytes], score: int = 7) -> Searching:
    """A labeller that tells which positions it was asked for."""

    class Searcher:
        def __call__(self, record: np.void) -> tuple[int, int]:
            seen.append(record.tobytes()[:27])
            return score, 0

        def close(self) -> None:
            pass

    return Searching(Searcher, {"score": score}, 2)


def distinct(path: Path, n: int) -> None:
    records = samples(path, n, per_game=1)
    for i in range(n):
        records[i] = from_fen(f"4k3/8/8/8/8/8/8/4K2R w K - {i % (n // 2)} 20")
    records["game"], records["ply"] = np.arange(n), np.arange(n)
    with writing(path) as writer:
        writer.append(records)


def found_by(
    labeller: Searching, records: np.ndarray, folder: Path, unusable: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and moves of a labeller."""
    with Cache(folder / "found", {}, exclusive=True) as cache:
        samples, failed = Dataset(folder, (records,)), Unusable(folder, unusable)
        found = [*labeller.labels(samples, range(len(records)), cache, failed)]
        cache.remove()
    assert np.array_equal(np.concatenate([batch for batch, _, _ in found]), records)
    scores, moves = ([part[i] for part in found] for i in (1, 2))
    return np.concatenate(scores), np.concatenate(moves)
