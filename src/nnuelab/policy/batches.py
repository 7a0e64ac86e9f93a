"""Positions as a net learns them: active features, and the squares of legal moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from nnuelab.chess.moves import MAX_MOVES
from nnuelab.chess.position import POSITION
from nnuelab.data.records import unpack
from nnuelab.features import FeatureSet
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.tables import compiled
from nnuelab.jit import at, jit
from nnuelab.policy.labels import pairs_of
from nnuelab.policy.network import Network

MOST = 128  # legal moves on average, at the most: room that is made beforehand


@jit
def _read(tables, records, scratch, rows, n, pairs, legal, played):
    """Fills a batch; returns how many rows and pairs it has, or where there is no room for more."""
    n_rows, n_pairs = 0, 0
    moves = np.empty(MAX_MOVES, np.int64)
    position = scratch[0]
    for i in range(len(records)):
        record = records[at(i)]
        unpack(record, position)
        n[at(i)] = kernels.active(tables, position, np.int64(position.turn), rows[n_rows:])
        n_rows += n[at(i)]
        legal[at(i)] = pairs_of(position, moves, pairs[n_pairs:])
        played[at(i)] = -1
        for j in range(legal[at(i)]):
            if moves[at(j)] == np.int64(record.move):
                played[at(i)] = j
        n_pairs += legal[at(i)]
    return n_rows, n_pairs


@dataclass
class Batch:
    """Positions for a net.

    Attributes
    ----------
    rows, n : int64 [total], int64 [batch]
        Active features, and how many each position has.
    pairs, legal : int64 [total], int64 [batch]
        64 * start + square of legal moves without under-promotions, in the generator's order,
        and how many each position has.
    played : int64 [batch]
        Which of these was played; -1 for none of them.
    """

    rows: torch.Tensor
    n: torch.Tensor
    pairs: torch.Tensor
    legal: torch.Tensor
    played: torch.Tensor

    def __post_init__(self) -> None:
        boards = torch.arange(len(self.legal))
        self.owner = torch.repeat_interleave(boards, self.legal)
        first = torch.cumsum(self.legal, 0) - self.legal
        self.column = torch.arange(len(self.pairs)) - first[self.owner]

    def padded(self, flat: torch.Tensor, fill: float) -> torch.Tensor:
        """A number for each legal move as [batch, most moves]."""
        found = flat.new_full((len(self.legal), int(self.legal.max())), fill)
        return found.index_put((self.owner, self.column), flat)

    def log_probabilities(self, network: Network, last: torch.Tensor) -> torch.Tensor:
        """Of the legal moves, [batch, most moves]: the mask is that there are no others."""
        flat = network.logits_of(last, self.owner, self.pairs)
        return torch.log_softmax(self.padded(flat, -1e9), 1)


class Reader:
    """Makes batches for a feature set."""

    def __init__(self, features: FeatureSet) -> None:
        self._features, self._tables = features, compiled(features)
        self._scratch = np.zeros(1, POSITION)

    def __call__(self, records: np.ndarray) -> Batch:
        """The batch of RECORDs in which the game goes on."""
        size = len(records)
        rows = np.empty((size + 1) * self._features.max_active, np.int32)
        pairs = np.empty(size * MOST + MAX_MOVES, np.int64)
        n, legal, played = (np.empty(size, np.int64) for _ in range(3))
        outputs = rows, n, pairs, legal, played
        n_rows, n_pairs = _read(self._tables.record, records, self._scratch, *outputs)
        arrays = rows[:n_rows].astype(np.int64), n, pairs[:n_pairs].copy(), legal, played
        return Batch(*map(torch.from_numpy, arrays))
