"""What training minimises."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from nnuelab.data.records import UNKNOWN_RESULT


@dataclass(frozen=True)
class Objective:
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
    """

    exponent: float = 2.6
    output_scale: float = 361.0
    target_scale: float = 410.0
    score_share: float = 1.0

    def target(self, score: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
        """Expected score to learn, [B], from centipawns and results (-1, 0, 1; 2 unknown)."""
        wanted = torch.sigmoid(score / self.target_scale)
        if self.score_share == 1:
            return wanted
        mixed = self.score_share * wanted + (1 - self.score_share) * (result + 1) / 2
        return torch.where(result == UNKNOWN_RESULT, wanted, mixed)

    def losses(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The loss of each position, [B], from centipawns and ``target``."""
        return (torch.sigmoid(output / self.output_scale) - target).abs() ** self.exponent
