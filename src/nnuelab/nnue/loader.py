"""Batches for training: records on disk to lists of active features and targets."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from nnuelab import data, features
from nnuelab.data import sampler
from nnuelab.errors import UserError
from nnuelab.features import kernels
from nnuelab.nnue.first_layer import Batch
from nnuelab.nnue.losses import Objective


@dataclass(frozen=True)
class Labelled:
    """A batch with what the net should say.

    Attributes
    ----------
    batch : Batch
    target : float32 [B]
        Expected score for the side to move, 0..1.
    """

    batch: Batch
    target: torch.Tensor


class Loader:
    """Reads the labelled positions of a dataset file in batches, one batch ahead of the training.

    Positions without a score are left out. Which positions make a batch is a function of the seed
    and the epoch alone; `sampler` says how.

    Parameters
    ----------
    path : Path
        Dataset, or an index of several.
    feature_set : FeatureSet
    objective : Objective
        Makes the target from score and result.
    batch_size : int

    Raises
    ------
    UserError
        When the file is no dataset, or has no position with a score.
    """

    def __init__(
        self,
        path: Path,
        feature_set: features.FeatureSet,
        objective: Objective,
        batch_size: int,
    ) -> None:
        self._dataset = data.open(path)
        self._scored = sampler.count(self._dataset)
        if not self._scored:
            raise UserError(f"{path} has no position with a score; label it first (nnuelab label)")
        self._tables = feature_set.tables()
        self._width = feature_set.max_active
        self._objective = objective
        self.batch_size = batch_size

    def __len__(self) -> int:
        """Positions per epoch."""
        return self._scored

    def shuffled(self, seed: int, epoch: int) -> Iterator[Labelled]:
        """All positions in random order; the last batch may be smaller."""
        return self._ahead(sampler.shuffled(self._dataset, self.batch_size, seed, epoch))

    def in_order(self) -> Iterator[Labelled]:
        """All positions as they lie in the file."""
        return self._ahead(sampler.in_order(self._dataset, self.batch_size))

    def _ahead(self, batches: Iterator[np.ndarray]) -> Iterator[Labelled]:
        def load() -> Labelled | None:
            records = next(batches, None)
            return None if records is None else self._load(records)

        # Extraction releases the GIL, so a thread is enough to have the next batch ready.
        with ThreadPoolExecutor(1) as background:
            following = background.submit(load)
            while (ready := following.result()) is not None:
                following = background.submit(load)
                yield ready

    def _load(self, records: np.ndarray) -> Labelled:
        target = self._objective.target(
            torch.from_numpy(records["score"].astype(np.float32)),
            torch.from_numpy(records["result"].astype(np.float32)),
        )
        return Labelled(extract(self._tables, records, self._width), target)


def extract(tables: features.tables.Tables, records: np.ndarray, width: int) -> Batch:
    """Active features of packed positions, for both perspectives.

    Parameters
    ----------
    tables : Tables
    records : RECORD [B]
    width : int
        At least the feature set's ``max_active``.
    """
    rows = np.empty((2, len(records), width), np.int32)
    n = np.empty((2, len(records)), np.int64)
    kernels.batch(tables.record, records, rows[0], rows[1], n[0], n[1])
    return Batch(rows, n)
