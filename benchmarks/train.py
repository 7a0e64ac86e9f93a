"""How much CPU time training takes, against the plain torch network in the same run.

The references are what one would write first: dense one-hot input (the study's way), and
``nn.EmbeddingBag`` with offsets, both by autograd and torch's Adam, on the same batches, in the
same process, so with the same allocator. All sides include loading and extraction. They take turns,
since the machine's speed drifts. CPU time counts, so other work doesn't; each side has one thread,
since torch's threads spin while they wait.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.data import random_games
from benchmarks.harness import Row, in_turn, row
from nnuelab import features
from nnuelab.learning.loader import Labelled, Loader
from nnuelab.learning.parallel import Threads
from nnuelab.nnue.layers import Layers
from nnuelab.nnue.network import Network
from nnuelab.nnue.trainer import Settings, Trainer

ROUNDS = 3  # measurements of each side; the median counts
BATCHES = 3  # of one measurement
L1, L2 = 512, 32


def rows(batch_size: int = 16384) -> Iterator[Row]:
    """Whole steps, and the loader's share of them."""
    threads = Threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "positions.npy"
        np.save(path, random_games(BATCHES * batch_size))
        small = _measured("ALL", path, batch_size, threads, ["adam", "one-hot", "bag", "nothing"])
        large = _measured("KA", path, batch_size, threads, ["adam", "rowwise-adam", "bag"])
    threads.close()
    shape = f"768 -> {L1}x2 -> {L2} -> 1, batch {batch_size}"
    king = f"KA, batch {batch_size}, against EmbeddingBag with dense Adam"
    yield _row(f"{shape}, against dense one-hot input", small, "adam", "one-hot", 4.5, 7)
    yield _row(f"{shape}, against EmbeddingBag with offsets", small, "adam", "bag", 2, 3)
    yield _row(f"{shape}, loading alone", small, "nothing", "adam", 1 / 0.15, 20)
    yield _row(f"{king}: exact Adam", large, "adam", "bag", 0.95, 1.5)
    yield _row(f"{king}: row-wise Adam", large, "rowwise-adam", "bag", 1.3, 3)


def _row(
    name: str, found: dict[str, list[float]], ours: str, reference: str, least: float, aim: float
) -> Row:
    sides = found[ours], found[reference]
    return row(name, "CPU us/position", *sides, least, aim, less_is_better=True)


def _measured(
    name: str, path: Path, batch_size: int, threads: Threads, sides: list[str]
) -> dict[str, list[float]]:
    """Microseconds of CPU time per position of each side, ROUNDS times in turn."""
    settings = Settings(name, l1=L1, l2=L2, batch_size=batch_size)
    loader = Loader(path, features.parse(name), settings.objective, batch_size)
    torch.set_num_threads(1)

    def measure(step: Callable[[Labelled], Any]) -> float:
        start = time.process_time()
        for labelled in loader.shuffled(0, 0):
            step(labelled)
        return 1e6 * (time.process_time() - start) / len(loader)

    steps = {side: partial(measure, _step(side, settings, threads)) for side in sides}
    return in_turn(steps, ROUNDS)


def _step(side: str, settings: Settings, threads: Threads) -> Callable[[Labelled], Any]:
    if side == "nothing":
        return lambda labelled: None
    if side in ("one-hot", "bag"):
        return _Plain(settings, side == "bag").step
    feature_set = features.parse(settings.feature_set)
    ours = Settings(**{**vars(settings), "optimizer": side})
    trainer = Trainer(ours, feature_set, threads)
    return lambda labelled: trainer.step(labelled, settings.learning_rate)


class _Plain:
    """The plain torch network: EmbeddingBag or one-hot input, Linear, autograd, torch's Adam."""

    def __init__(self, settings: Settings, bag: bool) -> None:
        size = features.parse(settings.feature_set).size
        layers = Layers(size, settings.l1, settings.l2)
        self.network = Network(layers, torch.Generator().manual_seed(1))
        self.optimizer = torch.optim.Adam(self.network.parameters(), fused=True)
        self.objective, self.bag = settings.objective, bag

    def step(self, labelled: Labelled) -> None:
        network, batch = self.network, labelled.batch
        sides = []
        for rows, n in zip(batch.rows, batch.n, strict=True):
            is_active = np.arange(rows.shape[1]) < n[:, None]
            active = torch.from_numpy(rows[is_active])
            if self.bag:
                offsets = torch.from_numpy((np.cumsum(n) - n).astype(np.int32))
                summed = torch.nn.functional.embedding_bag(active, network.w1, offsets, mode="sum")
            else:
                one_hot = torch.zeros(len(n), len(network.w1))
                one_hot[torch.from_numpy(np.nonzero(is_active)[0]), active.long()] = 1
                summed = one_hot @ network.w1
            sides.append(summed + network.b1)
        output = network.head(torch.cat(sides, 1).clamp(0, 1))
        self.optimizer.zero_grad()
        self.objective.losses(output, labelled.target).mean().backward()
        self.optimizer.step()
        network.clip_weights()
