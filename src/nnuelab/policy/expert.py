"""Expert iteration: a search that the policy guides teaches the policy, results teach its value.

Each iteration plays games of the policy with itself, and trains on those of the last iterations.
A game depends on seed, iteration and its number alone, so the number of workers changes nothing.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from nnuelab.chess import notation
from nnuelab.chess.outcome import MATE
from nnuelab.data.draws import seed_of
from nnuelab.data.parallel import cores, in_threads
from nnuelab.data.records import RECORD
from nnuelab.policy import search
from nnuelab.policy.batches import Reader
from nnuelab.policy.games import LIMIT
from nnuelab.policy.inference import Inference
from nnuelab.policy.network import Network
from nnuelab.policy.policyfile import Policy
from nnuelab.settings.policy_selfplay import Expert


@dataclass
class Lessons:
    """Positions of games, with what a net is to learn of them.

    Attributes
    ----------
    records : RECORD [n]
    legal, visits : uint16 [n], uint16 [total]
        Number of legal moves, and visits of the search to each.
    values : float32 [n]
        What the value is to be, for the player to move.
    """

    records: np.ndarray
    legal: np.ndarray
    visits: np.ndarray
    values: np.ndarray

    @classmethod
    def joined(cls, parts: list[Lessons]) -> Lessons:
        """All of them, one after another."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def tensors(self) -> dict[str, torch.Tensor]:
        """For a checkpoint."""
        return {
            "records": torch.from_numpy(self.records.view(np.uint8).copy()),
            "legal": torch.from_numpy(self.legal.view(np.int16).copy()),
            "visits": torch.from_numpy(self.visits.view(np.int16).copy()),
            "values": torch.from_numpy(self.values.copy()),
        }

    @classmethod
    def of_tensors(cls, found: dict[str, torch.Tensor]) -> Lessons:
        """From a checkpoint."""
        return cls(
            found["records"].numpy().view(RECORD),
            found["legal"].numpy().view(np.uint16),
            found["visits"].numpy().view(np.uint16),
            found["values"].numpy(),
        )


@dataclass
class _Game:
    lessons: Lessons
    plies: int  # random ones included
    end: int


def search_record(settings: Expert) -> np.void:
    """The SEARCH record of settings."""
    record = np.zeros(1, search.SEARCH)[0]
    for name in search.SEARCH.names or ():
        record[name] = getattr(settings, name)
    return record


class _Worker:
    """Memory of one thread."""

    def __init__(self, policy: Policy, settings: Expert) -> None:
        self._inference, self._settings = Inference(policy), settings
        self._search = search_record(settings)
        self._tree = search.tree(settings.simulations)
        self._memory = search.memory(settings.max_plies)

    def play(self, seed: np.uint64) -> _Game:
        positions, keys, records, legal, visits, values = self._memory
        positions[0] = notation.from_fen(notation.STARTING_FEN)
        keys[0] = positions[0]["key"]
        state = np.array([seed], np.uint64)
        n, before, end, result = search.play(
            *(self._inference.record, self._search, self._tree, positions, keys, state),
            *(records, legal, visits, values),
        )
        found = records[:n].copy()
        sign = np.where(found["flags"] & 1, -1, 1)
        found["result"] = np.sign(result) * sign if end == MATE else 0
        left = n - np.arange(n)
        s = self._settings
        results = result * sign * s.discount**left
        targets = (1 - s.search_share) * results + s.search_share * values[:n]
        total = int(legal[:n].sum(dtype=np.int64))
        lessons = Lessons(
            found, legal[:n].copy(), visits[:total].copy(), targets.astype(np.float32)
        )
        return _Game(lessons, n + before, end)


def games(policy: Policy, settings: Expert, iteration: int, workers: int = 0) -> Iterator[_Game]:
    """The games of an iteration, in order, by threads: the kernels release the GIL."""
    workers = workers or cores()
    idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    for _ in range(workers):
        idle.put(_Worker(policy, settings))

    def one(number: int) -> _Game:
        worker = idle.get()
        try:
            return worker.play(seed_of(settings.seed, iteration, number))
        finally:
            idle.put(worker)

    yield from in_threads(one, range(settings.games), workers)


class ExpertMethod:
    """Expert iteration; see :mod:`nnuelab.policy.selfplay`.

    Parameters
    ----------
    network : Network
    settings : Expert
    workers : int
        Threads that play; 0: one for each core.
    """

    loss = "masked"

    def __init__(self, network: Network, settings: Expert, workers: int = 0) -> None:
        self.network, self.settings, self._workers = network, settings, workers
        self._window: list[Lessons] = []
        self.optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate)
        self._reader = Reader(network.feature_set)

    def train(self, lessons: Lessons, steps: int, iteration: int) -> dict[str, float]:
        """Steps on draws of the lessons; returns means of the losses and of the entropy."""
        s = self.settings
        starts = np.cumsum(lessons.legal, dtype=np.int64) - lessons.legal
        draws = np.random.Generator(np.random.PCG64([s.seed, iteration]))
        for group in self.optimizer.param_groups:
            group["lr"] = rate(s, iteration)
        sums = np.zeros(3)
        for _ in range(steps):
            chosen = draws.integers(0, len(lessons.records), s.batch_size)
            batch = self._reader(lessons.records[chosen])
            places = np.repeat(starts[chosen], lessons.legal[chosen]) + batch.column.numpy()
            visits = torch.from_numpy(lessons.visits[places].astype(np.float32))
            wanted = batch.padded(visits, 0.0)
            wanted = wanted / wanted.sum(1, keepdim=True)
            last = self.network.hidden(batch.rows, batch.n)
            logs = batch.log_probabilities(self.network, last)
            policy_loss = -(wanted * logs).sum(1).mean()
            errors = self.network.value(last) - torch.from_numpy(lessons.values[chosen])
            value_loss = errors.square().mean()
            self.optimizer.zero_grad()
            (policy_loss + s.value_weight * value_loss).backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            entropy = -(logs.detach().exp() * logs.detach()).sum(1).mean()
            sums += [float(policy_loss.detach()), float(value_loss.detach()), float(entropy)]
        names = "policy_loss", "value_loss", "entropy"
        return dict(zip(names, (sums / max(steps, 1)).tolist(), strict=True))

    def extra(self) -> dict[str, Any]:
        """The games of the last iterations."""
        return {"window": [lessons.tensors() for lessons in self._window]}

    def restore(self, extra: dict[str, Any]) -> None:
        """These games, out of a checkpoint."""
        self._window = [Lessons.of_tensors(found) for found in extra["window"]]

    def step(self, iteration: int) -> dict[str, Any]:
        """Games, then training on those of the last iterations; returns a row of the history."""
        s, began = self.settings, time.monotonic()
        played = list(games(self.network.policy(self.loss, {}), s, iteration, self._workers))
        seconds = time.monotonic() - began
        self._window.append(Lessons.joined([game.lessons for game in played]))
        del self._window[: -s.window]
        steps = max(1, round(s.reuse * len(self._window[-1].records) / s.batch_size))
        told = self.train(Lessons.joined(self._window), steps, iteration)
        ends = np.array([game.end for game in played])
        return {
            "games": len(played),
            "plies": sum(game.plies for game in played),
            "mates": float(np.mean(ends == MATE)),
            "draws": float(np.mean((ends != MATE) & (ends != LIMIT))),
            "capped": float(np.mean(ends == LIMIT)),
            "steps": steps,
            **told,
            "playing_seconds": seconds,
            "training_seconds": time.monotonic() - began - seconds,
        }


def rate(settings: Expert, iteration: int) -> float:
    """The learning rate of an iteration, from 0: it falls over the last third to a tenth."""
    done = iteration / settings.iterations
    return settings.learning_rate * (1 if done < 2 / 3 else 10 ** (-3 * (done - 2 / 3)))
