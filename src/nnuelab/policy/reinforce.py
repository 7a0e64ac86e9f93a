"""Policy gradient: moves that were rewarded more than expected become likelier.

With a mask of legal moves, a baseline, a bonus for entropy, and opponents out of a pool of past
selves. It learns to win material, yet hardly to mate: a game's result says little of one move in a
hundred, and games that a mate ends are rare. With little bonus for entropy the policy then becomes
certain of few moves, and hardly a game ends by mate.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from nnuelab.chess.outcome import MATE
from nnuelab.policy.batches import Batch, Reader
from nnuelab.policy.games import LIMIT, Games, Player, play
from nnuelab.policy.network import Network
from nnuelab.policy.rewards import learnt, rewards
from nnuelab.settings.policy_selfplay import Gradient, Rewards


def gradient_loss(
    logs: torch.Tensor, batch: Batch, advantages: torch.Tensor, bonus: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss of a batch, and the mean entropy of its moves.

    Parameters
    ----------
    logs : float [batch, most moves]
        Logarithms of the probabilities of legal moves.
    advantages : float [batch]
        By how much the move played was better than expected.
    bonus : float
        For the entropy.
    """
    played = logs.gather(1, batch.played[:, None])[:, 0]
    entropy = -(logs.exp() * logs).sum(1).mean()
    return -(advantages * played).mean() - bonus * entropy, entropy


class GradientMethod:
    """Policy gradient; see :mod:`nnuelab.policy.selfplay`."""

    loss = "masked"

    def __init__(self, network: Network, settings: Gradient, terms: Rewards) -> None:
        self.network, self.settings, self.terms = network, settings, terms
        self.optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate)
        self._reader = Reader(network.feature_set)
        self._pool = [self._copy()]

    def _copy(self) -> dict[str, torch.Tensor]:
        return {name: value.clone() for name, value in self.network.state_dict().items()}

    def extra(self) -> dict[str, Any]:
        """The pool."""
        return {"pool": self._pool}

    def restore(self, extra: dict[str, Any]) -> None:
        """The pool, out of a checkpoint."""
        self._pool = extra["pool"]
        for weights in self._pool:
            self._player(weights)  # which checks them

    def _player(self, weights: dict[str, torch.Tensor] | None = None) -> Player:
        """Itself now, or one of the pool."""
        own = self._copy()
        if weights is not None:
            self.network.load_state_dict(weights)
        found = Player("sampled", self.network.policy(self.loss, {}), self.settings.temperature)
        self.network.load_state_dict(own)
        return found

    def _play(self, me: Player, other: Player, n: int, iteration: int, number: int = 0) -> Games:
        s = self.settings
        return play(
            me,
            other,
            n,
            s.seed * 1_000_003 + iteration,
            max_plies=s.max_plies,
            guard=s.guard,
            alternate=True,
            number=number,
        )

    def step(self, iteration: int) -> dict[str, Any]:
        """Games, and one pass over their moves; returns the row of the history."""
        s, began = self.settings, time.monotonic()
        draws = np.random.Generator(np.random.PCG64([s.seed, iteration]))
        against = int(draws.integers(len(self._pool))) if draws.random() < s.opponents else -1
        me = self._player()
        other = self._player(self._pool[against]) if against >= 0 else me
        games = self._play(me, other, s.games, iteration)
        playing, began = time.monotonic() - began, time.monotonic()
        told = self._learn(*self._lessons(games, against < 0), draws)
        row = {
            "games": s.games,
            "plies": int(games.lengths.sum()),
            "mates": float(np.mean(games.ends == MATE)),
            "draws": float(np.mean((games.ends != MATE) & (games.ends != LIMIT))),
            "capped": float(np.mean(games.ends == LIMIT)),
            "opponent": against,
            **told,
            "playing_seconds": playing,
            "training_seconds": time.monotonic() - began,
            "gate": "",
        }
        if (iteration + 1) % s.gate_every == 0:
            row["gate"] = self._gate(iteration)
        return {**row, "pool": len(self._pool)}

    def _lessons(self, games: Games, both: bool) -> tuple[np.ndarray, np.ndarray]:
        """Records of the moves to learn from, and their rewards."""
        records, amounts = [], []
        for b, result in enumerate(games.results):
            plies = games.of(b)
            kept = learnt(plies, self.terms)
            if not both:  # the first player has White on even boards
                kept &= (plies["record"]["flags"] & 1) == b % 2
            records.append(plies["record"][kept])
            amounts.append(rewards(plies, int(result), self.terms)[kept])
        return np.concatenate(records), np.concatenate(amounts).astype(np.float32)

    def _learn(
        self, records: np.ndarray, amounts: np.ndarray, draws: np.random.Generator
    ) -> dict[str, float]:
        s, order = self.settings, draws.permutation(len(records))
        sums, centre = np.zeros(2), float(amounts.mean()) if s.baseline != "none" else 0.0
        scale = float(amounts.std()) + 1e-6
        for first in range(0, len(order), s.batch_size):
            chosen = order[first : first + s.batch_size]
            batch = self._reader(records[chosen])
            last = self.network.hidden(batch.rows, batch.n)
            flat = self.network.logits_of(last, batch.owner, batch.pairs) / s.temperature
            logs = torch.log_softmax(batch.padded(flat, -1e9), 1)
            wanted = torch.from_numpy((amounts[chosen] - centre) / scale)
            advantages, extra = wanted, torch.zeros(())
            if s.baseline == "value":
                expected = 3 * self.network.value(last)  # deviations: more are hardly ever seen
                advantages = wanted - expected.detach()
                extra = s.value_weight * (wanted - expected).square().mean()
            loss, entropy = gradient_loss(logs, batch, advantages, s.entropy_bonus)
            self.optimizer.zero_grad()
            (loss + extra).backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            sums += np.array([float(loss.detach()), float(entropy.detach())]) * len(chosen)
        mean = sums / max(len(order), 1)
        return {"reward": float(amounts.mean()), "loss": float(mean[0]), "entropy": float(mean[1])}

    def _gate(self, iteration: int) -> float:
        """Plays the last one of the pool, and joins it if good enough; returns the score."""
        s = self.settings
        me, last = self._player(), self._player(self._pool[-1])
        games = self._play(me, last, s.gate_games, iteration, s.games)
        ahead = np.sign(games.points[:, 0] - games.points[:, 1])
        result = np.where(games.results == 0, ahead, games.results)
        white = np.arange(len(result)) % 2 == 0
        found = float(np.mean(np.where(white, result, -result)) / 2 + 0.5)
        if found >= s.gate:
            self._pool = [*self._pool, self._copy()][-s.pool :]
        return found
