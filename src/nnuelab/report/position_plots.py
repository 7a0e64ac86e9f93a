"""Figures of the positions that the nets learn from, out of the report of the sample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt

from nnuelab.errors import UserError
from nnuelab.report.plots import Figure, figure, zoom
from nnuelab.report.reading import read_json
from nnuelab.report.sample import ROLE_NAMES

_KEYS = ("mobility", "legal_moves", "legal_moves_by_turn")


def read(path: Path) -> dict[str, Any]:
    """A sample_report.json; raises UserError when it is missing, damaged or of an older version."""
    found = read_json(path, _KEYS[0])
    if missing := [key for key in _KEYS if key not in found]:
        raise UserError(f"{path} has no {missing[0]}; sample again")
    return found


def words(told: Mapping[str, Any]) -> str:
    """How many positions there are, and of what."""
    of = "" if told["described"] == told["positions"] else f"{told['described']:,} of "
    return f"{of}{told['positions']:,} positions, as they were sampled from the games."


def figures(told: Mapping[str, Any]) -> list[Figure]:
    """All that there is to draw of a sample's report, nothing of one without positions."""
    made = (mobility(told), legal_moves(told), legal_moves_by_turn(told))
    return [each for each in made if each is not None]


def mobility(told: Mapping[str, Any]) -> Figure | None:
    """Squares that the pieces of a role reach, a line for each role of the side to move."""
    values = [
        {"role": name, **step}
        for letter, name in ROLE_NAMES.items()
        for step in _shares(told["mobility"]["own"][letter])
        if step["value"] > 0
    ]
    return _lines(
        "mobility",
        "Mobility by role",
        "Squares that all pieces of a role of the side to move reach together, by the study's "
        "rule. Left out is 0: mostly there is no such piece.",
        values,
        ("role", list(ROLE_NAMES.values())),
        "squares",
    )


def legal_moves(told: Mapping[str, Any]) -> Figure | None:
    """How many legal moves White and Black have on their turn."""
    values = [
        {"side": f"{side} to move", **step}
        for side, distribution in told["legal_moves"].items()
        for step in _shares(distribution)
    ]
    return _lines(
        "legal-moves",
        "Legal moves on a turn",
        "In how many positions the side to move has so many.",
        values,
        ("side", [f"{side} to move" for side in told["legal_moves"]]),
        "legal moves",
    )


def _shares(distribution: Mapping[str, Any]) -> list[dict[str, float]]:
    """Share of the positions by value, of a distribution in steps of 1."""
    counts = distribution["counts"]
    total = max(sum(counts), 1)
    return [
        {"value": distribution["first"] + i, "positions": count, "share": count / total}
        for i, count in enumerate(counts)
    ]


def _lines(
    name: str,
    title: str,
    caption: str,
    values: list[dict[str, Any]],
    by: tuple[str, list[str]],
    axis: str,
) -> Figure | None:
    """A line for each of ``by``: field and its values, in order."""
    if not values:
        return None
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(interpolate="step")
        .encode(
            x=alt.X("value:Q").title(axis),
            y=alt.Y("share:Q").title("share of the positions").axis(format="%"),
            color=alt.Color(f"{by[0]}:N").title(None).scale(domain=by[1]),
            tooltip=[
                f"{by[0]}:N",
                alt.Tooltip("value:Q", title=axis),
                alt.Tooltip("positions:Q", format=","),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
        .add_params(zoom())
    )
    return figure(name, title, caption, chart)


def legal_moves_by_turn(told: Mapping[str, Any]) -> Figure | None:
    """Quartiles of the legal moves by move number, for either side."""
    values = [
        dict(zip(by_turn, row, strict=True)) | {"side": f"{side} to move"}
        for side, by_turn in told["legal_moves_by_turn"].items()
        for row in zip(*by_turn.values(), strict=True)
    ]
    if not values:
        return None
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("turn:Q").title("move number").scale(zero=False, nice=False),
        color=alt.Color("side:N")
        .title(None)
        .scale(domain=[f"{side} to move" for side in told["legal_moves_by_turn"]]),
    )
    band = base.mark_area(opacity=0.2).encode(
        y=alt.Y("lower:Q").title("legal moves"), y2=alt.Y2("upper:Q")
    )
    line = base.mark_line().encode(
        y="median:Q",
        tooltip=[
            "side:N",
            alt.Tooltip("turn:Q", title="move"),
            alt.Tooltip("lower:Q", title="a quarter has at most"),
            alt.Tooltip("median:Q", title="half"),
            alt.Tooltip("upper:Q", title="three quarters"),
            alt.Tooltip("positions:Q", format=","),
        ],
    )
    return figure(
        "legal-moves-by-turn",
        "Legal moves by move number",
        "Lines: medians. Bands: the middle half of the positions.",
        alt.layer(band, line.add_params(zoom())),
    )
