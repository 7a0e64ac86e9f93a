"""Measurements over the settings of a grid: over one as lines, over two as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from nnuelab.charts import HEIGHT, Figure, figure, fitted
from nnuelab.names import changes_of, shared, without
from nnuelab.report.line_labels import direct, named
from nnuelab.report.plots import ENDS, color, ends
from nnuelab.report.table import entry
from nnuelab.report.words import Row, number

MEASURED = {
    "elo": "Elo at fixed nodes",
    "elo_cost": "Elo at equal cost",
    "elo_time": "Elo at fixed time",
    "val_loss_mean": "validation loss",
    "nps_ratio": "nodes/s relative to the anchor",
}
DIGITS = {"val_loss_mean": ".6f", "nps_ratio": ".3f"}  # in a cell of a map; of Elo one


def grid_plots(rows: Sequence[Row]) -> list[Figure]:
    """Measurements over one setting of a grid, a line for each set; over two, each set's map."""
    _, common = shared([entry(row) for row in rows])
    settings = [_settings(without(row.get("variant", ""), common)) for row in rows]
    axes = list(settings[0]) if settings else []
    if len(axes) not in (1, 2) or any(list(each) != axes for each in settings):
        return []
    sets = list(dict.fromkeys(row["feature_set"] for row in rows))
    found = []
    for column, title in MEASURED.items():
        points = [
            {"set": row["feature_set"], **each, "value": value, **ends(row, column)}
            for row, each in zip(rows, settings, strict=True)
            if (value := number(row, column)) is not None
        ]
        if len(axes) == 1 and len({point[axes[0]] for point in points}) > 1:
            found.append(_lines(f"grid-{column}", title, points, axes[0], sets))
        for place, name in enumerate(sets if len(axes) == 2 else ()):
            of_set = [point for point in points if point["set"] == name]
            if len(of_set) > 1:
                whose = f" of {name}" if len(sets) > 1 else ""
                found.append(_heat_map(place, column, f"{title}{whose}", of_set, axes))
    return found


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
    name: str, title: str, points: list[dict[str, Any]], axis: str, sets: Sequence[str]
) -> Figure:
    has_ends = any("seeds_low" in point for point in points)
    # Settings come in steps of factors, and words in none: equal distances suit both.
    order: list[Any] = sorted(
        {point[axis] for point in points}, key=lambda value: (isinstance(value, str), value)
    )
    if isinstance(order[-1], str):  # of one type, as Vega wants them
        points = [{**point, axis: _text(point[axis])} for point in points]
        order = [*map(_text, order)]
    ends_of = {point["set"]: point["value"] for point in points if point[axis] == order[-1]}
    reached = [point[end] for point in points for end in ("seeds_low", "value", "seeds_high")
               if end in point]  # fmt: skip
    beside = direct(ends_of, reached, HEIGHT) if len(ends_of) == len(sets) else None
    drawn = color(sets, legend=len(sets) > 1 and not beside)
    base = alt.Chart(alt.Data(values=points)).encode(
        drawn,
        x=alt.X(f"{axis}:O").title(axis).axis(labelAngle=0).sort(order).scale(type="point"),
    )
    lines = base.mark_line(point=True).encode(
        y=alt.Y("value:Q", scale=fitted(beside.domain if beside else None)).title(title),
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            f"{axis}:O",
            alt.Tooltip("value:Q", title=title),
            *(ENDS if has_ends else ()),
        ],
    )
    rules = base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(
        alt.Y("seeds_low:Q").title(title), alt.Y2("seeds_high:Q")
    )
    layers = [*([rules] if has_ends else []), lines]
    if beside:
        layers.append(named(beside, alt.datum(order[-1], type="ordinal"), "value", drawn))
    return figure(
        name,
        f"{title[0].upper()}{title[1:]} over {axis}",
        "One point for each variant, means over its seeds."
        + (" Rules: 95 % intervals with new trainings." if has_ends else ""),
        alt.layer(*layers) if len(layers) > 1 else lines,
        height=HEIGHT,
    )


def _heat_map(
    place: int, column: str, title: str, values: list[dict[str, Any]], axes: Sequence[str]
) -> Figure:
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X(f"{axes[0]}:O").title(axes[0]).axis(labelAngle=0),
        y=alt.Y(f"{axes[1]}:O").title(axes[1]).sort("descending"),
    )
    cells = base.mark_rect().encode(
        color=alt.Color("value:Q").title(None).scale(scheme="viridis"),
        tooltip=[f"{axes[0]}:O", f"{axes[1]}:O", alt.Tooltip("value:Q", title=title)],
    )
    shown = [value["value"] for value in values]
    middle = (min(shown) + max(shown)) / 2
    text = base.mark_text().encode(
        text=alt.Text("value:Q", format=DIGITS.get(column, "+.1f")),
        color=alt.condition(f"datum.value > {middle}", alt.value("black"), alt.value("white")),
    )
    return figure(
        f"grid-{place}-{column}",
        f"{title[0].upper()}{title[1:]} over {axes[0]} and {axes[1]}",
        "One cell for each variant, means over its seeds.",
        cells + text,
        height=240,
    )
