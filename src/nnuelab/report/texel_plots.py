"""Figures of Texel tuning: those of the post (entropy, error, bits), the curve of K, residuals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt

from nnuelab.charts import HEIGHT, Figure, figure, fitted, zoom
from nnuelab.report import point_labels
from nnuelab.report.line_labels import Direct, direct, named
from nnuelab.report.point_labels import Point

Row = Mapping[str, Any]
MOST_POINTS = 400  # of a line
LEAST = 1e-8  # difference of errors that is drawn
By = Literal["phase", "material"]
VALUES: dict[By, str] = {
    "phase": "phase (24: all pieces)",
    "material": "material, White less Black (pawns)",
}


def _thinned(rows: Sequence[Row]) -> list[Row]:
    """Evenly spaced rows, the first and the last among them."""
    step = max(-(-len(rows) // MOST_POINTS), 1)
    return [row for i, row in enumerate(rows) if i % step == 0 or i == len(rows) - 1]


def error(runs: Mapping[str, Sequence[Row]], scale: Literal["linear", "log"] = "linear") -> Figure:
    """The error over generations, with that of the reference as a dashed line.

    Parameters
    ----------
    runs : mapping of str to sequence of dict
        Rows of `hce.history` as numbers, by the run's name.
    scale : {"linear", "log"}
        log: how far each error is above the lowest of all, which shows what happens near the end.
    """
    kinds = {"best_so_far": "train", "validation": "held out"}
    values = [
        {"run": run, "generation": row["generation"], "error": row[column], "of": kind}
        for run, rows in runs.items()
        for row in _thinned(rows)
        for column, kind in kinds.items()
        if row.get(column) is not None
    ]
    title = "mean squared error"
    axis: dict[str, Any] = {"zero": False}
    references = sorted(
        {row["reference"] for rows in runs.values() for row in rows if "reference" in row}
    )
    if scale == "log":
        # By kind: held-out positions have another lowest error.
        lowest: dict[str, float] = {}
        for v in values:
            lowest[v["of"]] = min(v["error"], lowest.get(v["of"], v["error"]))
        values = [
            {**v, "error": v["error"] - lowest[v["of"]]}
            for v in values
            if v["error"] > lowest[v["of"]] + LEAST
        ]
        references = [r - lowest["train"] for r in references if r > lowest["train"]]
        title, axis = "above the lowest error", {"type": "log"}
    reached = [value["error"] for value in values] + references
    trained = [value for value in values if value["of"] == "train"]
    drawn, domain, names = _named(trained, "error", list(runs), reached, scale == "log")
    lines = (
        alt.Chart(alt.Data(values=values))
        .mark_line()
        .encode(
            x=alt.X("generation:Q").axis(format="d", tickMinStep=1).scale(zero=False, nice=False),
            y=alt.Y("error:Q").title(title).scale(**axis, domain=domain, nice=False),
            color=drawn,
            strokeDash=alt.StrokeDash("of:N").title("positions").sort(list(kinds.values())),
            tooltip=["run:N", "of:N", "generation:Q", alt.Tooltip("error:Q", format=".6f")],
        )
        # A logarithmic axis zoomed out would end below 0.
        .add_params(zoom() if scale == "linear" else zoom("x"))
    )
    line = (
        alt.Chart(alt.Data(values=[{"error": r} for r in references]))
        .mark_rule(strokeDash=[6, 4], strokeWidth=1.5)
        .encode(y="error:Q", tooltip=[alt.Tooltip("error:Q", title="reference", format=".6f")])
    )
    return figure(
        "error" if scale == "linear" else "error-log",
        "Evaluation error (fitness)" + ("" if scale == "linear" else ", above the lowest"),
        "Lower is better. Horizontal lines: the reference error on the same positions, which a run "
        "has to pass.",
        alt.layer(lines, line, *names),
    )


def _named(
    values: Sequence[Row], of: str, runs: Sequence[str], reached: Sequence[float], is_log: bool
) -> tuple[Any, Any, list[Any]]:
    """Colours of runs, a domain for ``reached``, and the layer of names where the lines end.

    Without room for the names there is a legend, and no domain.
    """
    color = alt.Color("run:N").scale(domain=runs)
    ends = {value["run"]: value for value in values}  # the last ones stay
    if len(ends) < len(runs):
        return color, alt.Undefined, []
    there, back = (math.log10, lambda value: 10**value) if is_log else (float, float)
    heights = {run: there(value[of]) for run, value in ends.items()}
    found = direct(heights, [there(value) for value in reached], HEIGHT)
    if found is None:
        return color, alt.Undefined, []
    found = Direct(
        {run: back(height) for run, height in found.heights.items()},
        (back(found.domain[0]), back(found.domain[1])),
    )
    color = color.legend(None)
    at = {run: {"generation": value["generation"]} for run, value in ends.items()}
    return color, found.domain, [named(found, "generation:Q", of, color, "run", at)]


def entropy(runs: Mapping[str, Sequence[Row]]) -> Figure:
    """Entropy of the bits over generations: the sum by decimal logarithm, as the console has it."""
    values = [
        {
            "run": run,
            "generation": row["generation"],
            "entropy": row["entropy_log10_sum"],
            "bits": row["entropy_log2_sum"],
            "percent": row["entropy_percent"],
            "convergence": 100 * row["convergence_abs"],
        }
        for run, rows in runs.items()
        for row in _thinned(rows)
    ]
    reached = [value["entropy"] for value in values]
    drawn, domain, names = _named(values, "entropy", list(runs), reached, False)
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line()
        .encode(
            x=alt.X("generation:Q").axis(format="d", tickMinStep=1).scale(zero=False, nice=False),
            y=alt.Y("entropy:Q")
            .title("entropy, sum by log10")
            .scale(zero=False, domain=domain, nice=False),
            color=drawn,
            tooltip=[
                "run:N",
                "generation:Q",
                alt.Tooltip("entropy:Q", title="entropy, sum by log10", format=".2f"),
                alt.Tooltip("bits:Q", title="in bits", format=".1f"),
                alt.Tooltip("percent:Q", title="% of the most", format=".1f"),
                alt.Tooltip("convergence:Q", title="convergence %", format=".2f"),
            ],
        )
        .add_params(zoom())
    )
    return figure(
        "entropy",
        "Entropy of the system",
        "It falls as the bits decide for 0 or 1. Other readings of entropy are this one times a "
        "constant.",
        alt.layer(chart, *names) if names else chart,
    )


def bits(counts: Sequence[int]) -> Figure:
    """The histogram of the bits' probabilities at the end, in the 51 columns of the post."""
    last = len(counts) - 1
    values = [
        {"low": i / last, "high": (i + 1) / last, "bits": count} for i, count in enumerate(counts)
    ]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("low:Q").bin("binned").title("probability of a bit to be 1"),
            x2="high:Q",
            y=alt.Y("bits:Q"),
            tooltip=["low:Q", "bits:Q"],
        )
        .add_params(zoom())
    )
    return figure(
        "bits",
        "Bits between 0 and 1",
        f"{sum(counts)} bits at the end of the run; the last column is of those that are surely 1.",
        chart,
    )


def error_and_elo(errors: Sequence[Row], ratings: Sequence[Row]) -> Figure | None:
    """Elo against held-out error, of those that have both, None of less than two.

    Parameters
    ----------
    errors, ratings : sequence of dict
        Rows of `texel.read_errors` and `reading.read_ratings`.
    """
    elo = {row["name"]: (float(row["elo"]), float(row["error"])) for row in ratings}
    values = [
        {
            "set": row["name"],
            "error": float(row["error"]),
            "elo": elo[row["name"]][0],
            "low": elo[row["name"]][0] - elo[row["name"]][1],
            "high": elo[row["name"]][0] + elo[row["name"]][1],
        }
        for row in errors
        if row["name"] in elo
    ]
    if len(values) < 2:
        return None
    title = "Elo relative to untuned"
    beside = point_labels.beside(
        {v["set"]: Point(v["error"], v["elo"], v["low"], v["high"]) for v in values}
    )
    drawn = alt.Color("set:N").title("player").scale(domain=[v["set"] for v in values])
    across = (
        alt.X("error:Q")
        .title("held-out error")
        .scale(fitted(beside.across if beside else None, 10))
    )
    up = alt.Y("elo:Q").title(title)
    if beside:
        drawn, up = drawn.legend(None), up.scale(fitted(beside.up))
    base = alt.Chart(alt.Data(values=values)).encode(x=across, color=drawn)
    rules = base.mark_rule().encode(alt.Y("low:Q").title(title), alt.Y2("high:Q"))
    names = point_labels.named(beside, drawn, "error", "elo") if beside else []
    points = base.mark_point(filled=True, size=100, opacity=1).encode(
        y=up,
        tooltip=[
            alt.Tooltip("set:N", title="player"),
            alt.Tooltip("error:Q", title="held-out error", format=".6f"),
            alt.Tooltip("elo:Q", title="Elo", format="+.1f"),
        ],
    )
    return figure(
        "error-elo",
        "Elo against held-out error",
        "Where the points fall on a line, the error tells the strength. Bars: 95 % of the games.",
        alt.layer(rules, *names, points.add_params(zoom())),
    )


def k_curve(content: Mapping[str, Any]) -> Figure:
    """The error against K of the sigmoid; `texel_residuals.content`."""
    values = [{"k": k, "error": error} for k, error in content["k_curve"]]
    marks = [{"k": content["k"], "of": "used"}, {"k": content["best_k"], "of": "best here"}]
    lines = (
        alt.Chart(alt.Data(values=values))
        .mark_line()
        .encode(
            x=alt.X("k:Q").title("K").scale(type="log", nice=False),
            y=alt.Y("error:Q").title("mean squared error").scale(zero=False),
            tooltip=[
                alt.Tooltip("k:Q", title="K", format=".4f"),
                alt.Tooltip("error:Q", title="mean squared error", format=".6f"),
            ],
        )
        .add_params(zoom("y"))
    )
    rules = (
        alt.Chart(alt.Data(values=marks))
        .mark_rule(strokeDash=[6, 4])
        .encode(
            x="k:Q",
            color=alt.Color("of:N").title("K").scale(domain=["used", "best here"]),
            tooltip=["of:N", alt.Tooltip("k:Q", format=".4f")],
        )
    )
    return figure(
        "k",
        "Error against K",
        "Of the sigmoid 1 / (1 + 10^(-K cp / 400)), with the weights as they are.",
        alt.layer(lines, rules),
    )


def _residuals(content: Mapping[str, Any], by: By, zooms: bool) -> Any:
    values = [
        {**group, "low": group["residual"] - group["half_width"],
         "high": group["residual"] + group["half_width"]}
        for group in content[by]
    ]  # fmt: skip
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("value:Q").title(VALUES[by]).scale(zero=False, padding=10)
    )
    title = "result less expected result, White's"
    rules = base.mark_rule().encode(alt.Y("low:Q").title(title), alt.Y2("high:Q"))
    points = base.mark_point(filled=True, size=50, opacity=1).encode(
        y=alt.Y("residual:Q").title(title),
        tooltip=[
            alt.Tooltip("value:Q", title=by),
            "positions:Q",
            alt.Tooltip("residual:Q", format="+.4f"),
            alt.Tooltip("half_width:Q", title="+-", format=".4f"),
            alt.Tooltip("error:Q", title="mean squared error", format=".4f"),
        ],
    )
    zero = alt.Chart(alt.Data(values=[{}])).mark_rule(strokeDash=[4, 4], opacity=0.6, aria=False)
    points = points.add_params(zoom()) if zooms else points
    return alt.layer(zero.encode(y=alt.datum(0)), rules, points)


def residuals(content: Mapping[str, Any], by: By) -> Figure:
    """Mean residuals of groups of positions with their 95 % intervals."""
    return figure(
        f"residuals-{by}",
        f"Residuals by {by}",
        "Above 0 White scores more than the evaluation expects. Bars: 95 %, the positions of a "
        "game taken together.",
        _residuals(content, by, zooms=True),
    )


def all_residuals(content: Mapping[str, Any]) -> Figure:
    """Both of them, for a file."""
    panels = [
        _residuals(content, by, zooms=False).properties(width=560, height=220) for by in VALUES
    ]
    drawn = residuals(content, "phase")
    return Figure("residuals", "Residuals", drawn.caption, alt.vconcat(*panels).to_dict())
