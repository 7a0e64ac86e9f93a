"""Which positions of a dataset a training learns from. What validates is not filtered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nnuelab.data.records import NO_SCORE, UNKNOWN_RESULT, captures, in_check
from nnuelab.settings.train import Training


@dataclass(frozen=True)
class Filters:
    """Settings of `Training` with these names; by default all positions pass.

    Attributes
    ----------
    target_scale : float
        Centipawns of the scores that mean an expected score of 73 %.
    """

    min_ply: int = Training.min_ply
    min_pieces: int = Training.min_pieces
    max_pieces: int = Training.max_pieces
    skip_check: bool = Training.skip_check
    skip_captures: bool = Training.skip_captures
    max_disagreement: float = Training.max_disagreement
    epoch_share: float = Training.epoch_share
    epoch_positions: int = Training.epoch_positions
    target_scale: float = Training.target_scale

    def __call__(self, records: np.ndarray) -> np.ndarray:
        """Which positions of RECORD [n] pass, bool [n]; of an epoch's share, all do."""
        pieces = np.bitwise_count(records["occupied"])
        passed: np.ndarray = records["ply"] >= self.min_ply
        passed &= (self.min_pieces <= pieces) & (pieces <= self.max_pieces)
        if self.skip_captures:
            passed &= ~captures(records, records["move"])
        if self.skip_check:
            passed &= ~in_check(np.ascontiguousarray(records))
        if self.max_disagreement < 1:
            score, result = (records[name].astype(np.float64) for name in ("score", "result"))
            expected = 1 / (1 + np.exp(-score / self.target_scale))
            known = (score != NO_SCORE) & (result != UNKNOWN_RESULT)
            passed &= ~known | (abs(expected - (result + 1) / 2) <= self.max_disagreement)
        return passed

    @property
    def need_boards(self) -> bool:
        """Whether they make sense of positions alone, not of damaged records."""
        return self.skip_check or self.skip_captures

    @property
    def are_some(self) -> bool:
        """Whether there are positions that don't pass."""
        scale = Training.target_scale
        return replace(self, epoch_share=1.0, epoch_positions=0, target_scale=scale) != Filters()

    def of_epoch(self, samples: int, batch_size: int) -> int:
        """So many of the samples make an epoch: whole batches where it is a share."""
        if self.epoch_share == 1:
            return samples
        batches = round(samples * self.epoch_share / batch_size)
        return min(max(batches, 1) * batch_size, samples)
