"""The report of a sample, as JSON and figures: filters and distributions of positions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from nnuelab import charts, data
from nnuelab.charts import Figure, figure, zoom
from nnuelab.data.description import describe
from nnuelab.data.reader import RATING_STEP
from nnuelab.data.sample_counts import Sample
from nnuelab.report import point_labels
from nnuelab.report.point_labels import Beside, Point

DESCRIBED = 200_000  # positions at most, evenly spaced
DRAWN = ("mobility", "legal_moves", "legal_moves_by_turn")  # on the report page
ROLE_NAMES = dict(zip("PNBRQK", ("pawn", "knight", "bishop", "rook", "queen", "king"), strict=True))
PANEL_WIDTH, PANEL_HEIGHT = 300, 220  # pixels


def report(sampled: Path, sample: Sample) -> dict[str, Any]:
    """The report of a written sample: counts, examples, ratings, distributions."""
    positions = data.open(sampled)
    ratings = np.trim_zeros(sample.ratings, "b").tolist()
    return {
        "counts": dict(sorted(sample.counts.items())),
        "examples": sample.examples,
        "ratings": {"first": 0, "step": RATING_STEP, "counts": ratings},
        **describe(positions.spaced(DESCRIBED), len(positions)),
    }


def words(told: Mapping[str, Any]) -> str:
    """How many positions a report describes."""
    of = "" if told["described"] == told["positions"] else f"{told['described']:,} of "
    return f"{of}{told['positions']:,} positions, as they were sampled from the games."


def figures(told: Mapping[str, Any]) -> list[Figure]:
    """The figures of the report page; none without positions."""
    if not told["described"]:
        return []
    drawn = [
        figure(
            "mobility",
            "Mobility by role",
            "Squares that all pieces of a role of the side to move reach together, by the study's "
            "rule. Left out is 0: mostly there is no such piece.",
            _mobility(told, peaks=True),
        ),
        figure(
            "legal-moves",
            "Legal moves on a turn",
            "In how many positions the side to move has so many.",
            _legal_moves(told).add_params(zoom()),
        ),
    ]
    if any(by_turn["turn"] for by_turn in told["legal_moves_by_turn"].values()):
        by_turn = figure(
            "legal-moves-by-turn",
            "Legal moves by move number",
            "Lines: medians. Bands: the middle half of the positions.",
            _legal_moves_by_turn(told, zoom()),
        )
        drawn.append(by_turn)
    return drawn


def plot(path: Path, told: Mapping[str, Any]) -> None:
    """Draws all of a report in one picture."""
    panels = [
        _steps(told["ply"], "ply"),
        _steps(told["material"], "material of both sides (pawns)"),
        _steps(told["score"], "score (centipawns, side to move)"),
        _bars(told["result"], "positions by the result of the game"),
        _legal_moves(told),
        _legal_moves_by_turn(told),
        _mobility(told, "mobility of the side to move (squares)"),
        _bars(
            {k: n for k, n in told["counts"].items() if k.startswith(("filtered", "skipped"))},
            "games skipped, positions filtered",
        ),
    ]
    if told["ratings"]["counts"]:
        panels.append(_steps(told["ratings"], "Elo", "players"))
    panels = [panel.properties(width=PANEL_WIDTH, height=PANEL_HEIGHT) for panel in panels]
    together = (
        alt.concat(*panels, columns=3, align="each")
        .resolve_scale(color="independent")
        .configure_legend(orient="top")
    )
    charts.save(path, Figure("sample", words(told), "", together.to_dict()))


def _mobility(told: Mapping[str, Any], axis: str = "squares", peaks: bool = False) -> Any:
    """Squares that the pieces of a role reach, a line for each role of the side to move.

    With ``peaks`` each has its name beside its highest point, if there is room, and it zooms.
    """
    values: list[dict[str, Any]] = [
        {"role": name, **step}
        for letter, name in ROLE_NAMES.items()
        for step in _shares(told["mobility"]["own"][letter])
        if step["value"] > 0
    ]
    roles = list(ROLE_NAMES.values())
    if not peaks:
        return _lines(values, "role", roles, axis)
    points = {
        each["role"]: Point(each["value"], each["share"], each["share"], each["share"])
        for each in sorted(values, key=lambda each: each["share"])
    }
    edges = {f"edge {v}": Point(v, 0, 0, 0) for v in (0, max(each["value"] for each in values))}
    top = 1.1 * max(point.y for point in points.values())
    beside = point_labels.beside(points | edges, list(points), (0, top))
    lines = _lines(values, "role", roles, axis, beside)
    zoomed = lines.add_params(zoom())
    if beside is None:
        return zoomed
    return alt.layer(
        zoomed, *point_labels.named(beside, lines.encoding.color, "value", "share", "role")
    )


def _legal_moves(told: Mapping[str, Any]) -> Any:
    """How many legal moves White and Black have on their turn."""
    values = [
        {"side": f"{side} to move", **step}
        for side, distribution in told["legal_moves"].items()
        for step in _shares(distribution)
    ]
    return _lines(
        values, "side", [f"{side} to move" for side in told["legal_moves"]], "legal moves"
    )


def _legal_moves_by_turn(told: Mapping[str, Any], *params: Any) -> Any:
    """Quartiles of the legal moves by move number, for either side."""
    values = [
        dict(zip(by_turn, row, strict=True)) | {"side": f"{side} to move"}
        for side, by_turn in told["legal_moves_by_turn"].items()
        for row in zip(*by_turn.values(), strict=True)
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("turn:Q")
        .title("move number")
        .axis(format="d", tickMinStep=1)
        .scale(zero=False, nice=False),
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
    return alt.layer(band, line.add_params(*params))


def _lines(
    values: list[dict[str, Any]],
    by: str,
    order: list[str],
    axis: str,
    beside: Beside | None = None,
) -> Any:
    """Shares of the positions by a value, a line for each ``by``; names ``beside`` or a legend."""
    color = alt.Color(f"{by}:N").title(None).scale(domain=order)
    x, y = alt.X("value:Q").title(axis), alt.Y("share:Q").title("share of the positions")
    if beside:
        color = color.legend(None)
        x, y = x.scale(charts.fitted(beside.across)), y.scale(charts.fitted(beside.up))
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line(interpolate="step")
        .encode(
            x=x,
            y=y.axis(format="%"),
            color=color,
            tooltip=[
                f"{by}:N",
                alt.Tooltip("value:Q", title=axis),
                alt.Tooltip("positions:Q", format=","),
                alt.Tooltip("share:Q", format=".2%"),
            ],
        )
    )


def _shares(distribution: Mapping[str, Any]) -> list[dict[str, float]]:
    """Share of the positions by value, of a distribution in steps of 1."""
    counts = distribution["counts"]
    total = max(sum(counts), 1)
    return [
        {"value": distribution["first"] + i, "positions": count, "share": count / total}
        for i, count in enumerate(counts)
    ]


def _steps(distribution: Mapping[str, Any], axis: str, what: str = "positions") -> Any:
    """Bars of a distribution."""
    counts = distribution["counts"]
    edges = distribution["first"] + distribution["step"] * np.arange(len(counts) + 1)
    return charts.histogram(axis, edges.tolist(), counts, what)


def _bars(counts: Mapping[str, int], title: str) -> Any:
    """A bar for each name."""
    values = [{"name": name, "count": count} for name, count in counts.items()]
    return (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("count:Q").title(title),
            y=alt.Y("name:N").sort(list(counts)).title(None),
            tooltip=["name:N", alt.Tooltip("count:Q", title=title, format=",")],
        )
    )
