"""What training minimises: one class per method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch.nn.functional import logsigmoid, relu

from nnuelab.data.records import UNKNOWN_RESULT
from nnuelab.learning.loader import Objective
from nnuelab.settings import taken
from nnuelab.settings.train import Training


@dataclass(frozen=True)
class Scores(Objective):
    """Distance of expected scores: ``mean |sigmoid(out / a) - target|^p``, the study's loss.

    The target is ``share * sigmoid(score / b) + (1 - share) * result``, with the game's result as
    0, 1/2 or 1; where the result is unknown, the score counts alone.

    Attributes
    ----------
    exponent : float
        p; above 1.
    output_scale, target_scale : float
        a and b in centipawns: how far apart 50 % and 73 % are, for the net and for the labels.
    score_share : float
        Lambda: 1 learns the scores, 0 the results.
    score_share_end : float or None
        Lambda of the last epoch, to which it moves evenly; None: it stays.
    """

    method: ClassVar[str] = "scores"
    exponent: float = Training.exponent
    output_scale: float = Training.output_scale
    target_scale: float = Training.target_scale
    score_share: float = Training.score_share
    score_share_end: float | None = Training.score_share_end

    @property
    def is_constant(self) -> bool:
        """Whether all epochs learn the same."""
        return self.score_share_end is None

    def at(self, done: float) -> Scores:
        """What is learnt after a share of the epochs, 0 in the first and 1 in the last."""
        if self.score_share_end is None:
            return self
        share = (1 - done) * self.score_share + done * self.score_share_end
        return replace(self, score_share=share, score_share_end=None)

    def described(self) -> dict[str, Any]:
        """As of any objective; what came later and is as it was before isn't named."""
        flat = super().described()
        if self.is_constant:
            del flat["score_share_end"]
        return flat

    def target(self, score: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
        """Expected score to learn, [B]."""
        wanted = torch.sigmoid(score / self.target_scale)
        if self.score_share == 1:
            return wanted
        mixed = self.score_share * wanted + (1 - self.score_share) * (result + 1) / 2
        return torch.where(result == UNKNOWN_RESULT, wanted, mixed)

    def losses(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The loss of each position, [B]."""
        return (torch.sigmoid(output / self.output_scale) - target).abs() ** self.exponent


def values(output: torch.Tensor, scale: float) -> tuple[torch.Tensor, ...]:
    """p, q and r of each triplet, [B] each, squashed to -1..1; each for its own side to move."""
    return (2 * torch.sigmoid(output / scale) - 1).view(-1, 3).unbind(1)


@dataclass(frozen=True)
class PQR(Objective):
    """Moves played are better than others, and a position is worth what its best move is.

    ``-ln S(r - q) - kappa (ln S(p + q) + ln S(-p - q))`` with the sigmoid S: the player of the move
    doesn't want to see r from the other side, so r > q, and p = -q. Printed with the signs of q and
    r exchanged in the post that it comes from (erikbern.com, 2014-11-29), whose values of q and r
    are the mover's.

    Attributes
    ----------
    output_scale : float
        Centipawns of the net that are an expected score of 73 %.
    kappa : float
        Weight of p = -q.
    moves_quantile : float
        Leaves out positions with few legal moves: see ``triplets.usable``.
    """

    method: ClassVar[str] = "pqr"
    positions: ClassVar[int] = 3
    samples: ClassVar[str] = "triplets"
    output_scale: float = Training.output_scale
    kappa: float = Training.kappa
    moves_quantile: float = Training.moves_quantile

    def losses(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The loss of each triplet, [B]."""
        p, q, r = values(output, self.output_scale)
        return -logsigmoid(r - q) - self.kappa * (logsigmoid(p + q) + logsigmoid(-p - q))


@dataclass(frozen=True)
class Triplet(Objective):
    """The triplet loss of FaceNet (Schroff et al. 2015) with P as anchor, Q positive, R negative.

    ``max(0, |p + q| - |p + r| + margin)``: seen by one side, Q's value lies nearer to P's than R's
    does. Named by the study as future work. It is the same for -f as for f, so it says nothing
    about who is better: it is for nets that know that already (fine-tuning).

    Attributes
    ----------
    output_scale, moves_quantile : float
        As in `PQR`.
    margin : float
        In values of -1..1.
    """

    method: ClassVar[str] = "triplet"
    positions: ClassVar[int] = 3
    samples: ClassVar[str] = "triplets"
    output_scale: float = Training.output_scale
    margin: float = Training.margin
    moves_quantile: float = Training.moves_quantile

    def losses(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The loss of each triplet, [B]."""
        p, q, r = values(output, self.output_scale)
        return relu((p + q).abs() - (p + r).abs() + self.margin)


METHODS: dict[str, type[Objective]] = {kind.method: kind for kind in (Scores, PQR, Triplet)}


def objective_of(chosen: Training) -> Objective:
    """The objective of a method, with its parameters from the settings."""
    kind = METHODS[chosen.method]
    return taken(kind, chosen)
