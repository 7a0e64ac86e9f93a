"""How fast training is, against the plain torch network in the same run.

The reference is what one would write first: ``nn.EmbeddingBag`` with offsets, autograd and Adam, on
the same batches and the same number of threads. Both sides include loading and extraction. The
sides take turns, since the machine's speed drifts.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nnuelab import features
from nnuelab.chess import moves, notation
from nnuelab.chess.position import POSITION
from nnuelab.data import records
from nnuelab.nnue.first_layer import Threads
from nnuelab.nnue.loader import Labelled, Loader
from nnuelab.nnue.losses import Objective
from nnuelab.nnue.network import Network
from nnuelab.nnue.trainer import Settings, Trainer

ROUNDS = 5  # measurements of each side; the median counts
STEPS = 2  # batches of one measurement
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


def train_rows(batch_size: int = 16384) -> list[dict[str, Any]]:
    """Rows for ``nnuelab bench train``: positions/s of a whole step, and the loader's share of it.

    Returns
    -------
    list of dict
        name, ours, reference, unit, ratio, at_least, aim; the bounds are those of ``ratio``.
    """
    settings = Settings("ALL", l1=512, l2=32, batch_size=batch_size)
    feature_set, threads = features.parse("ALL"), Threads()
    trainer = Trainer(settings, feature_set, threads)
    reference = _Reference(settings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "positions.npy"
        np.save(path, random_positions((STEPS + 1) * batch_size))
        loader = Loader(path, feature_set, settings.objective, batch_size)

        def ours() -> float:
            return _positions_per_second(
                loader, lambda labelled: trainer.step(labelled, settings.learning_rate), threads=1
            )

        def plain() -> float:
            return _positions_per_second(loader, reference.step, threads=threads.n)

        def loading() -> float:
            return _positions_per_second(loader, lambda labelled: None, threads=1)

        sides: dict[str, Callable[[], float]] = {"ours": ours, "plain": plain, "loading": loading}
        for measure in sides.values():
            measure()  # compiles, and touches the memory
        found: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(ROUNDS):
            for name, measure in sides.items():
                found[name].append(measure())
    threads.close()
    medians = {name: statistics.median(values) for name, values in found.items()}
    ratio = statistics.median(a / b for a, b in zip(found["ours"], found["plain"], strict=True))
    return [
        {
            "name": f"training step 768 -> 512x2 -> 32 -> 1, batch {batch_size}",
            "ours": medians["ours"],
            "reference": medians["plain"],
            "unit": "positions/s",
            "ratio": ratio,
            "at_least": 2.0,
            "aim": 3.0,
        },
        {
            "name": f"training step, positions/s against the floor, {threads.n} threads",
            "ours": medians["ours"],
            "reference": 60_000.0,
            "unit": "positions/s",
            "ratio": medians["ours"] / 60_000,
            "at_least": 1.0,
            "aim": 2.5,
        },
        {
            "name": "loading and extraction alone, against the whole step",
            "ours": medians["loading"],
            "reference": medians["ours"],
            "unit": "positions/s",
            "ratio": medians["loading"] / medians["ours"],
            "at_least": 1 / 0.15,
            "aim": 1 / 0.05,
        },
    ]


def _positions_per_second(loader: Loader, step: Callable[[Labelled], Any], threads: int) -> float:
    torch.set_num_threads(threads)
    start = time.perf_counter()
    for labelled in loader.shuffled(0, 0):
        step(labelled)
    seconds = time.perf_counter() - start
    torch.set_num_threads(1)
    return len(loader) / seconds


class _Reference:
    """The plain torch network: EmbeddingBag, Linear, autograd, torch's Adam."""

    def __init__(self, settings: Settings) -> None:
        size = features.parse(settings.feature_set).size
        self.network = Network(size, settings.l1, settings.l2, torch.Generator().manual_seed(1))
        self.optimizer = torch.optim.Adam(self.network.parameters(), fused=True)
        self.objective: Objective = settings.objective

    def step(self, labelled: Labelled) -> None:
        network, batch = self.network, labelled.batch
        sides = []
        for rows, n in zip(batch.rows, batch.n, strict=True):
            active = torch.from_numpy(rows[np.arange(rows.shape[1]) < n[:, None]])
            offsets = torch.from_numpy((np.cumsum(n) - n).astype(np.int32))
            bag = torch.nn.functional.embedding_bag(active, network.w1, offsets, mode="sum")
            sides.append(bag + network.b1)
        output = network.head(torch.cat(sides, 1).clamp(0, 1))
        self.optimizer.zero_grad()
        self.objective.losses(output, labelled.target).mean().backward()
        self.optimizer.step()
        network.clip_weights()


def random_positions(n: int) -> np.ndarray:
    """RECORD [n] of random games, with random scores: real boards for speed, nothing to learn."""
    rng = np.random.default_rng(0)
    found = np.zeros(n, records.RECORD)
    found["score"] = rng.integers(-500, 500, n)
    stack, legal = np.zeros(2, POSITION), np.zeros(256, np.int64)
    start, ply = notation.from_fen(START), 0
    stack[0] = start
    for record in found:
        records.pack(stack[0], record)
        count = moves.legal_moves(stack[0], legal)
        if ply == 120 or not count or stack[0]["halfmove"] > 90:
            stack[0], ply = start, 0
            continue
        moves.make(stack[0], stack[1], legal[rng.integers(count)])
        stack[0], ply = stack[1], ply + 1
    return found
