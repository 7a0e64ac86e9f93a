"""What groups of features are worth to a net, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import altair as alt

from nnuelab import charts

if TYPE_CHECKING:  # both modules import torch
    from nnuelab.nnue.garrote import Gate
    from nnuelab.nnue.importance import Importance

ROW = 18  # pixels of a group
MOST = 60  # groups that are drawn, those of the largest rise


def figure(rows: Sequence[Importance], loss: float) -> charts.Figure:
    """The rise of the loss without each group, with 95 % intervals, in per cent of ``loss``."""
    shown = sorted(rows, key=lambda row: -row.rise)[:MOST]
    values = [
        {
            "group": row.group,
            "layers behind": behind,
            **_rise(rise, error, loss),
        }
        for row in shown
        for behind, rise, error in (
            ("as they are", row.rise, row.rise_error),
            ("fitted anew", row.refit_rise, row.refit_rise_error),
        )
        if rise is not None and error is not None
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("group:N").sort(None).title(None), color="layers behind:N"
    )
    points = base.mark_point(filled=True).encode(
        x=alt.X("rise:Q").title("rise of the loss without the group, %")
    )
    errors = base.mark_rule().encode(x="low:Q", x2="high:Q")
    return charts.figure(
        "importance",
        "What groups of features are worth",
        "The rise of the validation loss when their rows are masked, with 95 % intervals.",
        errors + points,
        ROW * len(shown) + 40,
    )


def _rise(rise: float, error: float, loss: float) -> dict[str, float]:
    """A rise and its interval, in per cent of ``loss``."""
    ends = {"rise": rise, "low": rise - error, "high": rise + error}
    return {name: 100 * value / loss for name, value in ends.items()}


def path_figure(points: Sequence[Sequence[Gate]], loss: float) -> charts.Figure:
    """Gates of groups along rising penalties, and what leaving out the closed ones costs.

    Groups stand in the order in which their gates close, the last one on top.
    """
    stays = {
        gate.group: max([i for i, point in enumerate(points) if point[place].gate], default=-1)
        for place, gate in enumerate(points[0])
    }
    order = sorted(stays, key=lambda group: -stays[group])[:MOST]
    values = [asdict(gate) for point in points for gate in point if gate.group in order]
    penalties = (
        alt.X("penalty:O").title("price of an open gate, share of the loss").axis(labelAngle=0)
    )
    gates = (
        alt.Chart(alt.Data(values=values))
        .mark_rect()
        .encode(
            x=penalties,
            y=alt.Y("group:N").sort(order).title(None),
            color=alt.Color("gate:Q").scale(domainMin=0),
            tooltip=["group:N", "penalty:O", "gate:Q"],
        )
        .properties(height=ROW * len(order), width=charts.WIDTH)
    )
    rises = [
        {"penalty": point[0].penalty, **_rise(point[0].rise, point[0].rise_error, loss)}
        for point in points
    ]
    base = alt.Chart(alt.Data(values=rises)).encode(x=penalties)
    dots = base.mark_point(filled=True).encode(y=alt.Y("rise:Q").title("rise of the loss, %"))
    lost = (base.mark_rule().encode(y="low:Q", y2="high:Q") + dots).properties(
        height=5 * ROW, width=charts.WIDTH
    )
    return charts.Figure(
        "importance-path",
        "Which groups of features the net can do without",
        "Gates of groups as open ones become dearer (0: left out), and the rise of the loss "
        "without the closed ones, with 95 % intervals.",
        alt.vconcat(gates, lost).to_dict(),
    )
