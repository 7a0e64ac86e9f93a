"""Which groups of features a trained net can do without, all at once: the path of their gates.

What groups are worth one at a time doesn't add up. Here a gate multiplies the rows of each group,
and open gates have a price: the loss grows by a penalty times the sum of the gates. Gates and
biases are fitted together, for one penalty after the other, from the smallest on; rows and layers
behind stay. Where a gate is 0 its group is left out, and its mean is part of the biases. That is
the nonnegative garrote (Breiman, Technometrics 37, 1995), of groups (Yuan and Lin, Journal of the
Royal Statistical Society B 68, 2006).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import nn

from nnuelab import intervals
from nnuelab.errors import UserError
from nnuelab.features.groups import groups
from nnuelab.nnue.importance import (
    BATCH,
    PART,
    RATE,
    Measurement,
    Sample,
    behind_rows,
    descent,
)

STEPS = 25  # of an epoch, at least
GATE_RATE = 0.05  # of Adam, so that a gate can close in the steps that one penalty has
# Shares of the net's loss.
PENALTIES = (0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1, 1.4, 2, 3, 4, 6, 8, 12, 16, 24)


@dataclass(frozen=True)
class Gate:
    """One group at one penalty.

    Attributes
    ----------
    penalty : float
        Share of the net's loss that an open gate costs.
    by, group : str
        See `nnuelab.features.groups.groups`.
    features : int
    gate : float
        What multiplies the rows of the group; 0: it is left out.
    rise, rise_error : float
        Of the loss against that with no penalty, once gates that are open and the layers behind
        were fitted without a penalty, and half of its 95 % interval. The same for all groups of a
        penalty: what leaving out all those that are closed costs.
    """

    penalty: float
    by: str
    group: str
    features: int
    gate: float
    rise: float
    rise_error: float


class Gated:
    """A net whose groups of features have gates.

    Parameters
    ----------
    measured : Measurement
        With positions to fit.
    by : str

    Raises
    ------
    UserError
        When a feature is in several groups, so that it isn't known whose gate it has.
    """

    def __init__(self, measured: Measurement, by: str) -> None:
        members = groups(measured.checkpoint.features, by)
        masks = np.array([*members.values()])
        often = masks.sum(axis=0)
        if often.max() > 1:
            name = measured.checkpoint.features.feature_name(int(often.argmax()))
            raise UserError(
                f"{by}: the feature {name} is in {often.max()} groups, and can have the gate of "
                "one alone; choose groups that share no feature, such as term"
            )
        self.members, self.measured = members, measured
        self.network = deepcopy(measured.network)
        self.gates = torch.ones(len(members))
        # What is in no group has the gate behind the last one, which stays open.
        numbered = np.where(often == 1, masks.argmax(axis=0), len(members))
        self._of = torch.from_numpy(np.append(numbered, len(members)))
        with torch.no_grad():
            rows = measured.network.rows()
            self._rows = torch.cat([rows, rows.new_zeros(1, rows.shape[1])])
        assert measured.fit is not None
        counts = torch.bincount(measured.fit.active.flatten(), minlength=len(self._rows))
        added = self._rows * (counts / measured.fit.active[..., 0].numel())[:, None]
        means = rows.new_zeros(len(members) + 1, rows.shape[1]).index_add_(0, self._of, added)
        self._means = means[:-1]

    def copy(self) -> Self:
        """The same, to be fitted apart."""
        found = copy(self)
        found.network, found.gates = deepcopy(self.network), self.gates.clone()
        return found

    def said(self, active: torch.Tensor, pieces: np.ndarray) -> torch.Tensor:
        """Evaluations of positions, from their active features, int32 [2, B, K]."""
        gates = torch.cat([self.gates, torch.ones(1)])
        sides = [
            nn.functional.embedding_bag(
                side,
                self._rows,
                mode="sum",
                padding_idx=len(self._rows) - 1,
                per_sample_weights=gates[self._of[side]],
            )
            + (1 - self.gates) @ self._means
            for side in active
        ]
        return self.network.head(self.network.of_rows(torch.cat(sides, 1)), pieces)

    def fit(self, penalty: float) -> None:
        """Fits open gates and biases at a penalty, without one the layers behind, too."""
        sample = self.measured.fit
        assert sample is not None
        open_gates = self.gates > 0
        # The layers behind would make up for smaller gates, so a penalty leaves them as they are.
        behind = [self.network.b1] if penalty else behind_rows(self.network)
        for parameter in (*behind, self.gates):
            parameter.requires_grad_(True)
        optimizer = torch.optim.Adam(behind, RATE)
        optimizer.add_param_group({"params": [self.gates], "lr": GATE_RATE})
        n = len(sample.target)
        for batch in descent(optimizer, n, min(BATCH, -(-n // STEPS))):
            said = self.said(sample.active[:, batch], sample.pieces[batch.numpy()])
            loss = self.measured.objective.losses(said, sample.target[batch]).mean()
            (loss + penalty * self.measured.loss * self.gates.sum()).backward()
            optimizer.step()
            self.network.clip_weights()
            with torch.no_grad():
                self.gates.clamp_(min=0).mul_(open_gates)
        for parameter in (*behind, self.gates):
            parameter.requires_grad_(False)

    def losses(self, sample: Sample) -> np.ndarray:
        """The loss of each position, float64 [n]."""
        said = [
            self.said(active, pieces)
            for active, pieces in zip(
                sample.active.split(PART, dim=1),
                np.split(sample.pieces, range(PART, len(sample.pieces), PART)),
                strict=True,
            )
        ]
        losses = self.measured.objective.losses(torch.cat(said), sample.target)
        found: np.ndarray = losses.double().numpy()
        return found


def path(
    measured: Measurement, by: str, penalties: Sequence[float] = PENALTIES
) -> Iterator[list[Gate]]:
    """Gates of all groups at each penalty, until all are closed; one that closes stays so.

    Parameters
    ----------
    measured : Measurement
        With positions to fit.
    by : str
        Groups that share no feature, of `nnuelab.features.groups.groups`.
    penalties : sequence of float
        Shares of the net's loss, rising; the first is the one that others are compared with.

    Raises
    ------
    UserError
        When groups share a feature.
    """
    gated = Gated(measured, by)
    whole: np.ndarray | None = None
    for penalty in penalties:
        gated.network = deepcopy(measured.network)
        gated.fit(penalty)
        free = gated.copy()
        free.gates = (gated.gates > 0).float()
        free.fit(0)
        losses = free.losses(measured.test)
        whole = losses if whole is None else whole
        rise, error = intervals.clustered_mean(losses - whole, measured.test.games)
        yield [
            Gate(penalty, by, name, int(members.sum()), gate, rise, intervals.SIGNIFICANCE * error)
            for (name, members), gate in zip(
                gated.members.items(), gated.gates.tolist(), strict=True
            )
        ]
        if not gated.gates.any():
            return
