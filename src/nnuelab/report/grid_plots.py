"""Measurements over the settings of a grid: over one as lines, over two as heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from nnuelab.charts import HEIGHT, Figure, figure, fitted
from nnuelab.names import changes_of, shared, without
from nnuelab.report.intervals import LOSS, ends, of_losses
from nnuelab.report.line_labels import TEXT, direct, named
from nnuelab.report.plots import color
from nnuelab.report.table import entry
from nnuelab.report.words import Row, number

SPEED = "nps_ratio"
MEASURED = {
    "elo": "Elo at fixed nodes",
    "elo_cost": "Elo at equal cost",
    "elo_time": "Elo at fixed time",
    LOSS: "validation loss",
    SPEED: "nodes/s relative to the anchor",
}
WITH = (" with new trainings", " of the measurement")
DIGITS = {LOSS: ".6f", SPEED: ".3f"}  # of Elo one, with its sign


def grid_plots(rows: Sequence[Row], speeds: Mapping[str, float] | None = None) -> list[Figure]:
    """Measurements over one setting of a grid, a line for each set; over two, each set's map.

    ``speeds``: halves of the intervals of nodes/s, as shares of them, by set.
    """
    _, common = shared([entry(row) for row in rows])
    settings = [_settings(without(row.get("variant", ""), common)) for row in rows]
    axes = list(settings[0]) if settings else []
    if len(axes) not in (1, 2) or any(list(each) != axes for each in settings):
        return []
    sets = list(dict.fromkeys(row["feature_set"] for row in rows))
    found = []
    shares = {LOSS: of_losses(rows), SPEED: speeds or {}}
    for column, title in MEASURED.items():
        points = [
            {"set": row["feature_set"], **each, "value": value, **_ends(row, column, shares)}
            for row, each in zip(rows, settings, strict=True)
            if (value := number(row, column)) is not None
        ]
        if len(axes) == 1 and len({point[axes[0]] for point in points}) > 1:
            found.append(_lines(column, title, points, axes[0], sets))
        for place, name in enumerate(sets if len(axes) == 2 else ()):
            of_set = [point for point in points if point["set"] == name]
            if len(of_set) > 1:
                whose = f" of {name}" if len(sets) > 1 else ""
                found.append(_heat_map(place, column, f"{title}{whose}", of_set, axes))
    return found


def _ends(row: Row, column: str, shares: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Both ends of the interval with new trainings, or of a speed's, as far as it is known."""
    if column in shares:
        value, share = float(row[column]), shares[column].get(entry(row), 0)
        return {"low": value * (1 - share), "high": value * (1 + share)} if share else {}
    found = ends(row, column)
    return {end: found[f"seeds_{end}"] for end in ("low", "high") if f"seeds_{end}" in found}


def _told(title: str, column: str, points: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Tooltips of a value and of its interval, where some has one."""
    digits = DIGITS.get(column, "+.1f")
    names = {"value": title, "low": "from", "high": "to"}
    return [
        alt.Tooltip(f"{name}:Q", title=text, format=digits)
        for name, text in names.items()
        if any(name in point for point in points)
    ]


def _settings(variant: str) -> dict[str, str | float]:
    return {name: _number_or_text(text) for name, text in changes_of(variant).items()}


def _number_or_text(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _lines(
    column: str, title: str, points: list[dict[str, Any]], axis: str, sets: Sequence[str]
) -> Figure:
    has_ends = any("low" in point for point in points)
    # Settings come in steps of factors, and words in none: equal distances suit both.
    order: list[Any] = sorted(
        {point[axis] for point in points}, key=lambda value: (isinstance(value, str), value)
    )
    if isinstance(order[-1], str):  # of one type, as Vega wants them
        points = [{**point, axis: _text(point[axis])} for point in points]
        order = [*map(_text, order)]
    ends_of = {point["set"]: point["value"] for point in points if point[axis] == order[-1]}
    reached = [point[end] for point in points for end in ("low", "value", "high") if end in point]
    beside = direct(ends_of, reached, HEIGHT) if len(ends_of) == len(sets) else None
    drawn = color(sets, legend=len(sets) > 1 and not beside)
    scale = fitted(beside.domain if beside else None)
    base = alt.Chart(alt.Data(values=points)).encode(
        drawn,
        x=alt.X(f"{axis}:O").title(axis).axis(labelAngle=0).sort(order).scale(type="point"),
    )
    lines = base.mark_line(point=True).encode(
        y=alt.Y("value:Q", scale=scale).title(title),
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            f"{axis}:O",
            *_told(title, column, points),
        ],
    )
    rules = base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(
        alt.Y("low:Q", scale=scale).title(title), alt.Y2("high:Q")
    )
    layers = [*([rules] if has_ends else []), lines]
    if beside:
        layers.append(named(beside, alt.datum(order[-1], type="ordinal"), "value", drawn))
    return figure(
        f"grid-{column}",
        f"{title[0].upper()}{title[1:]} over {axis}",
        "One point for each variant, means over its seeds."
        + (f" Rules: 95 % intervals{WITH[column == SPEED]}." if has_ends else ""),
        alt.layer(*layers) if len(layers) > 1 else lines,
        height=HEIGHT,
    )


def _heat_map(
    place: int, column: str, title: str, values: list[dict[str, Any]], axes: Sequence[str]
) -> Figure:
    shown = [value["value"] for value in values]
    middle = (min(shown) + max(shown)) / 2
    has_ends = any("low" in value for value in values)
    values = [
        {**value, **({"error": value["high"] - value["value"]} if "high" in value else {})}
        for value in values
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X(f"{axes[0]}:O").title(axes[0]).axis(labelAngle=0),
        y=alt.Y(f"{axes[1]}:O").title(axes[1]).sort("descending"),
    )
    cells = base.mark_rect().encode(
        color=alt.Color("value:Q").title(None).scale(scheme="viridis"),
        tooltip=[f"{axes[0]}:O", f"{axes[1]}:O", *_told(title, column, values)],
    )
    ink = alt.condition(f"datum.value > {middle}", alt.value("black"), alt.value("white"))
    digits = DIGITS.get(column, "+.1f")
    up = TEXT / 2 if has_ends else 0
    layers = [cells, base.mark_text(dy=-up).encode(alt.Text("value:Q", format=digits), color=ink)]
    if has_ends:
        error = alt.expr.format(alt.datum.error, digits.lstrip("+"))
        said = base.transform_filter("isValid(datum.error)").transform_calculate(
            said="\u00b1" + error
        )
        layers.append(said.mark_text(dy=up, fontSize=10).encode(text="said:N", color=ink))
    return figure(
        f"grid-{place}-{column}",
        f"{title[0].upper()}{title[1:]} over {axes[0]} and {axes[1]}",
        "One cell for each variant, means over its seeds."
        + (f" \u00b1: half a 95 % interval{WITH[column == SPEED]}." if has_ends else ""),
        alt.layer(*layers),
        height=240,
    )
