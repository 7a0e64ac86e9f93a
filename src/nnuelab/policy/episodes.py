"""Neural Chess as it was: a game by the walk, rewards for White's moves, one fit, and again.

It doesn't learn to play. The walk always takes the likeliest legal squares, so each game is nearly
the last one: what was played is rewarded, whatever it was, and is played again until it repeats
three times. The table of episodes shows it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from nnuelab.policy.batches import Reader
from nnuelab.policy.games import END_NAMES, Player, play
from nnuelab.policy.network import Network
from nnuelab.policy.rewards import learnt, rewards, targets
from nnuelab.settings.policy_selfplay import Episodes, Rewards

SHOWN = 10  # walks of an episode in its row, as in the seed's last line


class EpisodeMethod:
    """Episodes, one after another; see :mod:`nnuelab.policy.selfplay`."""

    loss = "mse"

    def __init__(self, network: Network, settings: Episodes, terms: Rewards) -> None:
        self.network, self.settings, self.terms = network, settings, terms
        self.optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate)
        self._reader = Reader(network.feature_set)

    def extra(self) -> dict[str, Any]:
        """Nothing more than net and optimizer goes into a checkpoint."""
        return {}

    def restore(self, extra: dict[str, Any]) -> None:
        """Nothing to take out of it."""

    def step(self, iteration: int) -> dict[str, Any]:
        """An episode; returns its row of the table."""
        s, began = self.settings, time.monotonic()
        mover = "sampled" if s.temperature else "walk"
        player = Player(mover, self.network.policy(self.loss, {}), s.temperature or 1.0)
        seed = s.seed * 1_000_003 + iteration
        games = play(player, player, s.games, seed, max_plies=s.max_plies, guard=s.guard)
        engine, began = time.monotonic() - began, time.monotonic()
        records, wanted, amounts = [], [], []
        for b, result in enumerate(games.results):
            plies = games.of(b)
            found = rewards(plies, int(result), self.terms)
            kept = learnt(plies, self.terms)
            records.append(plies["record"][kept])
            predictions = self._predictions(plies["record"][kept])
            wanted.append(targets(plies[kept], found[kept], self.terms, predictions))
            amounts.append(found[kept])
        loss = self._fit(np.concatenate(records), np.concatenate(wanted), iteration)
        training = time.monotonic() - began
        plies = games.all()
        checks, walks = int(plies["checks"].sum()), games.of(0)[::2][:SHOWN]
        return {
            "games": s.games,
            "plies": len(plies),
            "moves": (int(games.lengths[0]) + 1) // 2,
            "end": END_NAMES[games.ends[0]].replace(" ", "_"),
            "result": int(games.results[0]),
            "points_white": int(games.points[0, 0]),
            "points_black": int(games.points[0, 1]),
            "checks": checks,
            "checks_per_ply": checks / max(len(plies), 1),
            "walks": " ".join(f"{w['checks']}/({w['from_rank']}/{w['to_rank']})" for w in walks),
            "reward": float(np.mean(np.concatenate(amounts))),
            "loss": loss,
            "playing_seconds": engine,
            "training_seconds": training,
        }

    @torch.no_grad()
    def _predictions(self, records: np.ndarray) -> np.ndarray:
        batch = self._reader(records)
        found: np.ndarray = torch.sigmoid(self.network.seen(batch.rows, batch.n).outputs).numpy()
        return found

    def _fit(self, records: np.ndarray, wanted: np.ndarray, iteration: int) -> float:
        """Epochs of squared errors of the sigmoids; returns the last mean loss."""
        s, mean = self.settings, 0.0
        draws = np.random.Generator(np.random.PCG64([s.seed, iteration]))
        for _ in range(s.epochs):
            order, mean = draws.permutation(len(records)), 0.0
            for first in range(0, len(order), s.batch_size):
                chosen = order[first : first + s.batch_size]
                batch = self._reader(records[chosen])
                out = torch.sigmoid(self.network.seen(batch.rows, batch.n).outputs)
                loss = functional.mse_loss(out, torch.from_numpy(wanted[chosen]))
                self.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimizer.step()
                mean += float(loss.detach()) * len(chosen) / len(order)
        return mean
