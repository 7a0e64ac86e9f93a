"""What groups of features are worth to a trained net: activity, weights, and the loss without them.

A group is masked by leaving its features out of the lists, which is the same as zeroing its rows.
The net as it is then stands on ground that it never saw; so the layers behind the rows may be
fitted anew, to the sums of the rows that are left. These sums are made once for each group.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch.optim.lr_scheduler import LinearLR

from nnuelab import intervals
from nnuelab.data import validation
from nnuelab.errors import UserError
from nnuelab.features.groups import alone_or_together
from nnuelab.features.tables import compiled
from nnuelab.learning.loader import extract
from nnuelab.learning.sparse import pad
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.losses import Scores
from nnuelab.nnue.network import Network

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PART = 4096  # positions whose sums are made at once
BATCH = 1024  # of a refit; with the rates of the last epochs of a training
EPOCHS = 4
RATE = 5e-4


@dataclass(frozen=True)
class Importance:
    """What a group of features is worth; errors are half of a 95 % interval.

    Attributes
    ----------
    by, group : str
        See `nnuelab.features.groups.groups`.
    features : int
    active : float
        Mean number of active ones for one player.
    share : float
        Players' views of positions in which one is active at least.
    norm : float
        Mean sum of the Euclidean norms of the active rows, for one player.
    rise, rise_error : float
        Of the loss when the group is masked and nothing else changes.
    refit_rise, refit_rise_error : float or None
        The same where the layers behind are fitted anew, with the group and without it.
    elo, elo_error : float or None
        Of the integer net without the group, against the whole one.
    """

    by: str
    group: str
    features: int
    active: float
    share: float
    norm: float
    rise: float
    rise_error: float
    refit_rise: float | None = None
    refit_rise_error: float | None = None
    elo: float | None = None
    elo_error: float | None = None


@dataclass(frozen=True)
class Sample:
    """Positions with what a net is to say of them.

    Attributes
    ----------
    active : int32 [2, n, K]
        Features seen by the side to move and by the other; N stands for none.
    pieces : uint8 [n]
    target : float32 [n]
    games : uint32 [n]
    """

    active: torch.Tensor
    pieces: np.ndarray
    target: torch.Tensor
    games: np.ndarray

    @classmethod
    def of(cls, checkpoint: Checkpoint, objective: Scores, records: np.ndarray) -> Self:
        """The sample that records make for a net."""
        features = checkpoint.features
        batch = extract(compiled(features), records, features.max_active)
        active = np.empty((2, len(records), max(int(batch.n.max()), 1)), np.int32)
        pad(batch.rows, batch.n, features.size, active)
        score, result = (
            torch.from_numpy(records[k].astype(np.float32)) for k in ("score", "result")
        )
        target = objective.target(score, result)
        assert batch.pieces is not None
        return cls(torch.from_numpy(active), batch.pieces, target, records["game"])

    def without(self, members: torch.Tensor) -> Self:
        """The sample without the features of a group, bool [N + 1]."""
        nothing = len(members) - 1
        return replace(self, active=self.active.masked_fill(members[self.active], nothing))


class Measurement:
    """A net and the positions that it is measured on.

    Parameters
    ----------
    path : Path
        Checkpoint.
    positions : Path
        Dataset of games that the net didn't learn from.
    count : int
        Positions, evenly spaced.
    refit : bool
        Fits the layers behind on every second game, and measures on the others.

    Raises
    ------
    UserError
        When a file is missing or damaged, the net learnt from moves or has a psqt, or there are no
        positions with a score, or not enough games.
    """

    def __init__(self, path: Path, positions: Path, count: int, refit: bool) -> None:
        torch.set_num_threads(1)  # More would split sums otherwise, and wait for small steps.
        self.checkpoint = Checkpoint.read(path)
        settings = self.checkpoint.settings
        if settings["method"] != Scores.method:
            raise UserError(f"{path} learnt from moves; give a net that learnt from scores")
        known = {f.name: settings[f.name] for f in fields(Scores) if f.name in settings}
        self.objective = Scores(**known).at(1.0)  # as validation
        self.network = self.checkpoint.network().requires_grad_(False)
        if self.network.layers.psqt:
            raise UserError(f"{path} has a psqt, whose values aren't masked; give a net without")
        self.norms = self.network.rows().norm(dim=1)
        records = validation.spaced(positions, count)
        records = records[self.objective.keep(records)]
        if not len(records):
            raise UserError(f"{positions}: {self.objective.missing}")
        game = np.unique(records["game"], return_inverse=True)[1]
        least = 4 if refit else 2  # a half of one game tells no error
        if game.max() + 1 < least:
            raise UserError(
                f"{positions}: positions with a score are of too few games, {game.max() + 1}; "
                f"{least} are needed: raise --count, or give more games"
            )
        fitted = (game % 2 == 1) & refit
        self.test = Sample.of(self.checkpoint, self.objective, records[~fitted])
        self.losses = self.losses_of(self.network, row_sums(self.network, self.test), self.test)
        self.fit: Sample | None = None
        if refit:
            self.fit = Sample.of(self.checkpoint, self.objective, records[fitted])
            sums = row_sums(self.network, self.fit)
            self.mean = sums.mean(dim=0)
            network = self.refitted(sums)
            self.refit_losses = self.losses_of(network, row_sums(network, self.test), self.test)

    @property
    def loss(self) -> float:
        """Of the net with all its features, as it is."""
        return float(self.losses.mean())

    def of_groups(self, by: str, together: Sequence[str] = ()) -> Iterator[Importance]:
        """What each group is worth, in the order of the features, or those ``together`` as one."""
        counts = torch.bincount(self.test.active.flatten(), minlength=len(self.norms) + 1)
        often = counts[:-1] / self.test.active[..., 0].numel()
        for name, members in alone_or_together(self.checkpoint.features, by, together).items():
            group = torch.from_numpy(np.append(members, False))
            masked = self.test.without(group)
            sums = row_sums(self.network, masked)
            rise = self._rise(self.losses_of(self.network, sums, masked), self.losses)
            refit_rise: tuple[float | None, float | None] = (None, None)
            if self.fit is not None:
                network = self.refitted(row_sums(self.network, self.fit.without(group)))
                losses = self.losses_of(network, sums, masked)
                refit_rise = self._rise(losses, self.refit_losses)
            yield Importance(
                by,
                name,
                int(members.sum()),
                float(often[group[:-1]].sum()),
                float(group[self.test.active].any(dim=2).float().mean()),
                float((often * self.norms)[group[:-1]].sum()),
                *rise,
                *refit_rise,
            )

    def _rise(self, masked: np.ndarray, whole: np.ndarray) -> tuple[float, float]:
        mean, error = intervals.clustered_mean(masked - whole, self.test.games)
        return mean, intervals.SIGNIFICANCE * error

    def losses_of(self, network: Network, sums: torch.Tensor, sample: Sample) -> np.ndarray:
        """The loss of each position, float64 [n]."""
        with torch.no_grad():
            said = network.head(network.of_rows(sums), sample.pieces)
            found: np.ndarray = self.objective.losses(said, sample.target).double().numpy()
        return found

    def refitted(self, sums: torch.Tensor) -> Network:
        """The net with biases and layers behind fitted to sums of rows, [n, 2M]."""
        assert self.fit is not None
        network = deepcopy(self.network)
        # What the missing rows add on average is the best constant to begin with.
        network.b1.add_((self.mean - sums.mean(dim=0)).view(2, -1).mean(dim=0))
        behind = behind_rows(network)
        for parameter in behind:
            parameter.requires_grad_(True)
        optimizer = torch.optim.Adam(behind, RATE)
        for batch in descent(optimizer, len(sums), BATCH):
            said = network.head(network.of_rows(sums[batch]), self.fit.pieces[batch.numpy()])
            self.objective.losses(said, self.fit.target[batch]).mean().backward()
            optimizer.step()
            network.clip_weights()
        return network


def behind_rows(network: Network) -> list[torch.nn.Parameter]:
    """What is fitted anew: all parameters but the rows."""
    return [p for name, p in network.named_parameters() if name not in ("w1", "shared")]


def descent(optimizer: torch.optim.Optimizer, n: int, size: int) -> Iterator[torch.Tensor]:
    """Batches of ``n`` positions in `EPOCHS` orders, the same each time, while rates fall to 0.

    Gradients are 0 when a batch comes; who takes it makes the step.
    """
    generator = torch.Generator().manual_seed(0)
    order = [torch.randperm(n, generator=generator) for _ in range(EPOCHS)]
    batches = [batch for epoch in order for batch in epoch.split(size)]
    schedule = LinearLR(optimizer, 1, 0, len(batches))
    for batch in batches:
        optimizer.zero_grad()
        yield batch
        schedule.step()


def row_sums(network: Network, sample: Sample) -> torch.Tensor:
    """What rows add to the accumulators, float32 [n, 2M]."""
    with torch.no_grad():
        return torch.cat([network.row_sums(part) for part in sample.active.split(PART, dim=1)])


def to_csv(rows: Sequence[DataclassInstance]) -> str:
    """Rows of one kind as CSV; what wasn't measured, or can't be told, is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(rows[0])])
    for row in rows:
        values = (None if v != v else v for v in asdict(row).values())  # NaN isn't itself
        writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in values])
    return text.getvalue()
