"""Differences between any sets of an experiment, with the errors that its table would quote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.intervals import SIGNIFICANCE
from nnuelab.names import NetName
from nnuelab.tournament.ratings import SetRating, nearest, quoted
from nnuelab.tournament.spread import Estimate, Pooling, Spread, of_row, pooled


def weights_of(plus: Sequence[str], minus: Sequence[str], mean: bool) -> dict[str, float]:
    """What each set counts in the sum of differences, or in their mean: weights that sum to 0.

    Raises
    ------
    UserError
        For numbers of sets that differ, or where nothing is left.
    """
    if len(plus) != len(minus):
        raise UserError(
            f"{len(plus)} sets less {len(minus)} are no differences; name as many of either"
        )
    counts = Counter(plus)
    counts.subtract(minus)
    left = {name: count / (len(plus) if mean else 1) for name, count in counts.items() if count}
    if not left:
        raise UserError("the same sets are added and subtracted; name different ones")
    return left


def contrast(
    details: Mapping[str, Any], weights: Mapping[str, float], trainings: Estimate
) -> SetRating:
    """The weighted sum of the sets' Elo; its error and p as `ratings.sets_of` has them.

    Its p is that of this one comparison, adjusted for no others.

    Parameters
    ----------
    details : mapping
        What ``nnuelab rate --details --sets`` wrote.
    weights : mapping of str to float
        By set; they sum to 0.
    trainings : Estimate
        How far equal trainings scatter.

    Raises
    ------
    UserError
        For a set without a player.
    """
    names = [NetName.parse(player["name"]).entry for player in details["players"]]
    size = Counter(names)
    for name in weights:
        if name not in size:
            raise UserError(
                f'no net of the set "{name}" played{nearest(name, size)}; '
                f"the sets are {', '.join(sorted(size))}"
            )
    of_nets = np.array([weights.get(name, 0.0) / size[name] for name in names])
    elo = float(of_nets @ [player["elo"] for player in details["players"]])
    games = max(float(of_nets @ np.array(details["covariance"]) @ of_nets), 0.0)
    shares = {"": sum(weight**2 / size[name] for name, weight in weights.items())}
    seeds = min(size[name] for name in weights)
    row = SetRating("", seeds, elo, float(SIGNIFICANCE * np.sqrt(games)), None)
    return quoted(row, games, shares, {"": trainings})


def trainings_of(
    details: Mapping[str, Mapping[str, Any]], known: Sequence[Spread]
) -> dict[str, Estimate]:
    """How far equal trainings scatter in games, as other games and experiments know it, too.

    Parameters
    ----------
    details : mapping of str to mapping
        By file, what ``nnuelab rate --details --sets`` wrote; games of one kind of one experiment
        tell together.
    known : sequence of Spread
        Of other experiments.

    Raises
    ------
    UserError
        For an experiment with sets that don't scatter as the others do, or a damaged row.
    """
    rows = {}
    for file, told in details.items():
        found = [of_row(row, file) for row in told["spread"]]
        if len(found) != 1 or found[0].group:
            raise UserError(
                f"{file}: its sets don't all scatter alike (`spreads` of its experiment), and it "
                "isn't told here which do; the table has the differences from the anchor"
            )
        rows[file] = found[0]
    estimates = {}
    for file, own in rows.items():
        same = own.experiment, own.kind
        again = [
            row
            for other, row in rows.items()
            if other != file and own.kind and (row.experiment, row.kind) == same
        ]
        pooling = Pooling(*same, known=known, again=again)
        estimates[file] = pooled(pooling.with_again(own), pooling.others())
    return estimates
