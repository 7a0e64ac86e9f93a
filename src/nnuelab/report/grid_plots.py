"""Measurements over the settings of a grid: over one as lines, over two as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from nnuelab.charts import Figure, figure
from nnuelab.names import changes_of
from nnuelab.report.words import Row, number

MEASURED = {
    "elo": "Elo at fixed nodes",
    "elo_cost": "Elo at equal cost",
    "elo_time": "Elo at fixed time",
    "val_loss_mean": "validation loss",
    "nps_ratio": "nodes/s relative to the anchor",
}


def grid_plots(rows: Sequence[Row]) -> list[Figure]:
    """Measurements over one or two settings of a grid, for each feature set; else none."""
    found = []
    sets = list(dict.fromkeys(row["feature_set"] for row in rows))
    for place, name in enumerate(sets):
        of_set = [row for row in rows if row["feature_set"] == name]
        points = [
            {key: _number_or_text(text) for key, text in changes_of(variant).items()}
            for variant in (row.get("variant", "") for row in of_set)
        ]
        axes = list(points[0])
        if len(axes) not in (1, 2) or any(list(point) != axes for point in points):
            continue
        for column, title in MEASURED.items():
            values = [
                {**point, "value": value}
                for point, row in zip(points, of_set, strict=True)
                if (value := number(row, column)) is not None
            ]
            if len(values) > 1:
                whose = f" of {name}" if len(sets) > 1 else ""
                draw = _line if len(axes) == 1 else _heat_map
                found.append(draw(f"grid-{place}-{column}", f"{title}{whose}", values, axes))
    return found


def _number_or_text(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _line(name: str, title: str, values: list[dict[str, Any]], axes: Sequence[str]) -> Figure:
    # Settings come in steps of factors, and words in none: equal distances suit both.
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X(f"{axes[0]}:O").title(axes[0]).axis(labelAngle=0).scale(type="point"),
        y=alt.Y("value:Q").title(title).scale(zero=False),
        tooltip=[f"{axes[0]}:O", alt.Tooltip("value:Q", title=title)],
    )
    return figure(
        name,
        f"{title[0].upper()}{title[1:]} over {axes[0]}",
        "One point for each variant, means over its seeds.",
        base.mark_line() + base.mark_point(filled=True, size=60, opacity=1),
        height=240,
    )


def _heat_map(name: str, title: str, values: list[dict[str, Any]], axes: Sequence[str]) -> Figure:
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
        text=alt.Text("value:Q", format=".4~g"),
        color=alt.condition(f"datum.value > {middle}", alt.value("black"), alt.value("white")),
    )
    return figure(
        name,
        f"{title[0].upper()}{title[1:]} over {axes[0]} and {axes[1]}",
        "One cell for each variant, means over its seeds.",
        cells + text,
        height=240,
    )
