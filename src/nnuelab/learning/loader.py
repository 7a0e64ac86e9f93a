"""Batches for training: records on disk to lists of active features and targets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from nnuelab import data, features
from nnuelab.data import sampler, triplets, validation
from nnuelab.errors import UserError
from nnuelab.features.tables import compiled
from nnuelab.learning.filters import Filters
from nnuelab.learning.sparse import Batch

ALL = Filters()  # positions pass
HELD_OUT = 0  # seed of the triplets that validate: the same in every epoch of every run


class Ready(NamedTuple):
    """What a step takes of a batch, on its device.

    Attributes
    ----------
    active : int [2, B, K]
        Features seen by the side to move and by the other; N stands for none.
    target : float32 [B]
    pieces : uint8 [B]
        On the board.
    """

    active: torch.Tensor
    target: torch.Tensor
    pieces: torch.Tensor


class Objective:
    """A loss, from the net's values of the positions of a sample.

    Attributes
    ----------
    method : str
        Its name on the command line.
    positions : int
        Positions of a sample: 1, or 3 (P, Q, R: see ``nnuelab.data.triplets``).
    samples : str
        What its samples are called.
    missing : str
        What a file has where it has none.
    """

    method: ClassVar[str]
    positions: ClassVar[int] = 1
    samples: ClassVar[str] = "positions with a score"
    missing: ClassVar[str] = "no position with a score; label it first (nnuelab label)"

    @property
    def is_constant(self) -> bool:
        """Whether all epochs learn the same."""
        return True

    def at(self, done: float) -> Objective:
        """What is learnt after a share of the epochs, 0 in the first and 1 in the last."""
        return self

    def keep(self, records: np.ndarray) -> np.ndarray:
        """Which positions are samples, bool [n]; of triplets others are told apart."""
        return sampler.scored(records)

    def target(self, score: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
        """What each sample is to learn, [B], from centipawns and results (-1, 0, 1; 2 unknown)."""
        return torch.zeros_like(score)

    def losses(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """The loss of each sample, [B].

        Parameters
        ----------
        output : float [B * positions]
            Centipawns for the side to move, the positions of a sample behind one another.
        target : float [B]
        """
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """Its method and parameters, as flat JSON types."""
        return {"method": self.method, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Labelled:
    """Samples with the net's targets.

    Attributes
    ----------
    batch : Batch
        The positions of the samples, those of a sample behind one another.
    target : float32 [B]
        One for each sample; see the objective.
    total : int
        Samples of the whole batch, of which other processes have other parts.
    records : ndarray of RECORD
        What ``batch`` is made of.
    ready : Ready, optional
        What the trainer makes of ``batch`` and of ``target``, made ahead.
    """

    batch: Batch
    target: torch.Tensor
    total: int
    records: np.ndarray
    ready: Ready | None = None


class Loader:
    """Reads the samples of a dataset file in batches, ahead of the training.

    A sample is a position with a score, or a triplet of which the file holds the first position
    with its move; others are left out. Which samples make a batch is a function of the seed and the
    epoch alone, with a `sampler.Walk` of the number of processes, too; `sampler` says how.

    Parameters
    ----------
    path : Path
        Dataset, or an index of several.
    feature_set : FeatureSet
    objective : Objective
        What a sample is, and its target.
    batch_size : int
        Samples.
    moves_quantile : float
        For triplets: see ``triplets.usable``.
    games_share : float
        Of the games, so many: see ``sampler.of_games``.
    part, parts : int
        Of each batch, this process gets every ``parts``-th sample, from the ``part``-th on; with a
        `sampler.Walk`, as many of its own share of a pass.
    filters : Filters
        Which positions are samples, of those; and how many an epoch has.
    workers : int
        Threads; so many batches are made at once, ahead of the training. Changes none of them.
    epochs : int
        Of the run; validation has the targets of its last one.
    prepare : callable, optional
        What the trainer makes of a batch and its target; the threads do it.

    Raises
    ------
    UserError
        When the file is no dataset, or has no sample.
    """

    def __init__(
        self,
        path: Path,
        feature_set: features.FeatureSet,
        objective: Objective,
        batch_size: int,
        moves_quantile: float = 0.0,
        part: int = 0,
        parts: int = 1,
        games_share: float = 1.0,
        workers: int = 1,
        epochs: int = 1,
        filters: Filters = ALL,
        prepare: Callable[[Batch, torch.Tensor], Ready] | None = None,
    ) -> None:
        self._prepare = prepare
        self._path, self._dataset = path, data.open(path)
        self.feature_set, self._tables = feature_set, compiled(feature_set)
        self._width = feature_set.max_active
        self._objective = objective
        self._share, self._parts = slice(part, None, parts), parts
        self.batch_size, self._workers, self.epochs = batch_size, workers, epochs
        if batch_size < parts:
            raise UserError(
                f"{parts} processes can't share a batch of {batch_size}; give a larger --batch-size"
            )
        self._walk: sampler.Walk | None = None
        if filters.epoch_positions or self._dataset.weights or not self._dataset.is_mapped:
            self._walk = sampler.Walk(self._dataset)
        self._is_checked = self._dataset.is_decoded
        # Epochs of a whole file have the same positions; what generates moves has to know before.
        whole = self._walk is None or objective.positions == 3 or filters.need_boards
        if whole and not self._is_checked:
            for _ in validation.chunks(path):
                pass
            self._is_checked = True
        missing = objective.missing
        self._keep: Callable[[np.ndarray], np.ndarray] = objective.keep
        if objective.positions == 3:
            least = triplets.least_moves(sampler.parts(self._dataset), moves_quantile)
            self._keep = partial(triplets.usable, least=least)
            missing = "no position with its move and another legal one; sample it from games"
        if games_share < 1:
            samples = self._keep
            self._keep = lambda records: samples(records) & sampler.of_games(records, games_share)
            missing = f"no sample in {games_share:g} of its games; give a larger --games-share"
        if filters.are_some:
            those = self._keep
            self._keep = lambda records: those(records) & filters(records)
            missing = "no sample that passes the filters of the training; let more pass"
        self._samples = self._counted(filters)
        if not self._samples:
            raise UserError(f"{path} has {missing}")
        if self._walk is not None and parts > 1:
            own = sum(map(self._of_batch, self._totals()))
            self._walk = self._walk.of_process(part, parts, own)

    def _counted(self, filters: Filters) -> int:
        """Samples of an epoch; sets how much of the walk they take."""
        if self._walk is None:
            samples = sampler.count(self._dataset, self._keep)
            return filters.of_epoch(samples, self.batch_size)
        wanted = filters.epoch_positions
        most = sampler.WINDOW if wanted else self._walk.stride
        kept, seen = sampler.of_walk(self._dataset, self._walk, self._keep, most, self._workers)
        if wanted and kept:
            # Exact where all are samples; else as many as the first window lets expect.
            self._walk.stride, self._walk.samples = -(-wanted * seen // kept), wanted
        else:
            self._walk.samples = filters.of_epoch(kept, self.batch_size)
        return self._walk.samples

    def __len__(self) -> int:
        """Samples per epoch."""
        return self._samples

    @property
    def batches(self) -> int:
        """Batches per epoch; samples that are fewer than the processes are left out."""
        whole, rest = divmod(self._samples, self.batch_size)
        return whole + (rest >= self._parts)

    def _totals(self) -> Iterator[int]:
        """Samples of each batch of an epoch, of all processes."""
        for batch in range(self.batches):
            yield min(self.batch_size, self._samples - batch * self.batch_size)

    def _of_batch(self, total: int) -> int:
        """Samples of a batch that are this process's."""
        return len(range(total)[self._share])

    @property
    def is_fixed(self) -> bool:
        """Whether all epochs have the same samples, and this process all of them."""
        constant = self._objective.positions == 1 and self._objective.is_constant
        return constant and self._walk is None and self._parts == 1

    @cached_property
    def _before(self) -> np.ndarray:
        """int64 [positions + 1]: samples before each position, and all."""
        return np.append(0, np.cumsum(sampler.mask(self._dataset, self._keep)))

    def order(self, seed: int, epoch: int) -> np.ndarray:
        """The order of `shuffled` as numbers in that of `in_order`, int64; all that it has."""
        return sampler.order(self._before, seed, epoch)

    def chosen(self, numbers: np.ndarray) -> np.ndarray:
        """RECORD [n]: the samples with these numbers (int64 [n]) in the order of `in_order`."""
        places = np.searchsorted(self._before, numbers, "right") - 1
        parts = (self._dataset.parts(place, place + 1) for place in places.tolist())
        return np.concatenate([part for each in parts for part in each])

    def shuffled(self, seed: int, epoch: int, start: int = 0) -> Iterator[Labelled]:
        """All samples in random order, from batch ``start`` on; the last batch may be smaller."""
        walk = self._walk
        size = self.batch_size if walk is None else self._of_batch(self.batch_size)
        found = sampler.shuffled(
            self._dataset, size, seed, epoch, keep=self._keep, walk=walk, workers=self._workers
        )
        if walk is None:
            found = (records[self._share] for records in found)
        done = epoch / (self.epochs - 1) if self.epochs > 1 else 1.0
        batches = islice(zip(self._totals(), found, strict=False), start, None)
        return self._ahead(batches, (seed, epoch), done)

    def in_order(self) -> Iterator[Labelled]:
        """All samples as they lie in the file; of triplets always the same."""
        found = sampler.in_order(self._dataset, self.batch_size, self._keep)
        batches = ((len(records), records[self._share]) for records in found)
        return self._ahead(batches, (HELD_OUT, 0), 1.0)

    def _ahead(
        self, batches: Iterator[tuple[int, np.ndarray]], draw: tuple[int, int], done: float
    ) -> Iterator[Labelled]:
        """What is made of batches: samples of all processes, and records of this one's."""
        objective = self._objective.at(done)

        # Threads are enough: extraction releases the GIL. One of them reads, so in order.
        with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(self._workers) as pool:

            def load() -> Future[Labelled] | None:
                batch = next(batches, None)
                return None if batch is None else pool.submit(self._load, *batch, draw, objective)

            ahead = deque(reader.submit(load) for _ in range(self._workers))
            while (loading := ahead.popleft().result()) is not None:
                ahead.append(reader.submit(load))
                yield loading.result()

    def _load(
        self, total: int, records: np.ndarray, draw: tuple[int, int], objective: Objective
    ) -> Labelled:
        """A batch; ``draw`` is the seed and the epoch of its triplets."""
        records = np.ascontiguousarray(records)
        target = objective.target(
            torch.from_numpy(records["score"].astype(np.float32)),
            torch.from_numpy(records["result"].astype(np.float32)),
        )
        if not self._is_checked:
            validation.check(records, self._path)
        if objective.positions == 3:
            records = triplets.make_triplets(records, *draw)
        batch = extract(self._tables, records, self._width)
        ready = None if self._prepare is None else self._prepare(batch, target)
        return Labelled(batch, target, total, records, ready)


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
    features.batch(tables, records, rows[0], rows[1], n[0], n[1])
    return Batch(rows, n, np.bitwise_count(records["occupied"]))
