"""Differences between any sets of an experiment, with the errors that its table would quote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.tournament import model, ratings
from nnuelab.tournament.ratings import SetRating
from nnuelab.tournament.spread import Estimate, Pooling, Spread, again, of_row, pooled


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
    players = details["players"]
    fitted = model.Fit(
        [player["name"] for player in players],
        np.array([player["elo"] for player in players]),
        np.array(details["covariance"]),
        details["white_advantage"],
        details["white_advantage_error"],
    )
    members = ratings.members_of(fitted)
    for name in weights:
        ratings.check_played("set", name, members)
    seeds = min(len(members[name]) for name in weights)
    row, games = ratings.by_games(fitted, "", seeds, ratings.contrast_of(weights, members))
    shares = ratings.shares_of(weights, members, {})
    return ratings.quoted(row, games, shares, {"": trainings})


def trainings_of(
    details: Mapping[str, Mapping[str, Any]], known: Sequence[Spread], tell: bool = True
) -> dict[str, Estimate]:
    """How far equal trainings scatter in games, as other games and experiments know it, too.

    Parameters
    ----------
    details : mapping of str to mapping
        By file, what ``nnuelab rate --details --sets`` wrote; games of one kind of one experiment
        tell together.
    known : sequence of Spread
        Of other experiments.
    tell : bool, optional
        Says on stderr where others aren't used.

    Raises
    ------
    UserError
        For an experiment with sets that don't scatter as the others do, or a damaged row.
    """
    rows = {}
    for file, told in details.items():
        rows[file] = [of_row(row, file) for row in told["spread"]]
        if [row.group for row in rows[file]] != [""]:
            raise UserError(
                f"{file}: its sets don't all scatter alike (`spreads` of its experiment), and it "
                "isn't told here which do; the table has the differences from the anchor"
            )
    estimates = {}
    for file, (own,) in rows.items():
        pooling = Pooling(own.experiment, own.kind, known=known, again=again(rows, file))
        estimates[file] = pooled(pooling.with_again(own), pooling.others(), tell=tell)
    return estimates
