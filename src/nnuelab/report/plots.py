"""The figures of experiments on the report page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from nnuelab import names
from nnuelab.charts import HEIGHT, Figure, figure, fitted, zoom
from nnuelab.report import intervals, line_labels, point_labels, words
from nnuelab.report.intervals import ENDS, ends
from nnuelab.report.line_labels import short, stacked
from nnuelab.report.point_labels import Point
from nnuelab.report.table import entry, labels
from nnuelab.report.words import Verdict, number
from nnuelab.tournament import yardsticks
from nnuelab.tournament.yardsticks import Yardstick

Row = Mapping[str, str]
ROW_HEIGHT = 34
MOST_COLORS = 8  # of the page's own schemes, which are easy to tell apart
MOST_LEGEND = 5  # sets that a reader looks up in a legend


def color(sets: Sequence[str], shown: Sequence[str] = (), legend: bool = True) -> Any:
    """The channel of feature sets: colours, the same in every figure of an experiment.

    ``shown``: the legend is of some. Without a legend the sets have their names beside them; where
    they are more than there are colours, they have one.
    """
    if not legend and len(sets) > MOST_COLORS:
        return alt.Detail("set:N")
    by_set = alt.Color("set:N").title("variant" if names.shared(sets)[0] else "feature set")
    by_set = by_set.legend(labelExpr=short(sets))
    if shown:
        by_set = by_set.legend(values=list(shown), labelExpr=short(sets))
    if not legend:
        by_set = by_set.legend(None)
    if len(sets) > MOST_COLORS:
        return by_set.scale(domain=list(sets), scheme="tableau20")
    return by_set.scale(domain=list(sets))


def elo(
    rows: Sequence[Row], anchor: str, deep: int = 0, asked: words.Asked = words.NOTHING
) -> Figure | None:
    """Elo of each set with both errors, at each yardstick, pale where `words.verdict` is open.

    ``deep``: see `Yardstick.at`; ``asked``: a hypothesis.
    """
    limits = [yardstick.at(deep) for yardstick in yardsticks.ALL]
    values: list[dict[str, Any]] = []
    for row in rows:
        for yardstick, limit in zip(yardsticks.ALL, limits, strict=True):
            column = yardstick.column
            if (value := number(row, column)) is None:
                continue
            is_open = words.verdict(row, anchor, yardstick, asked) is Verdict.UNDECIDED
            drawn = {"set": entry(row), "limit": limit, "elo": value, "open": is_open}
            values.append({**drawn, **ends(row, column)})
    if not values:
        return None
    order = list(dict.fromkeys(v["set"] for v in sorted(values, key=lambda v: -v["elo"])))
    shown = [limit for limit in limits if any(v["limit"] == limit for v in values)]
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("set:N").sort(order).title(None).axis(labelExpr=stacked(order)),
        yOffset=alt.YOffset("limit:N").sort(shown),
        color=alt.Color("limit:N")
        .title("games at")
        .scale(domain=limits)  # all: so a limit has its colour in every experiment
        .legend(values=shown),
    )
    title = f"Elo relative to {labels(rows).get(anchor, anchor)}"
    seeds = base.mark_rule(strokeWidth=1.5).encode(
        alt.X("seeds_low:Q").title(title), alt.X2("seeds_high:Q")
    )
    games = base.mark_rule(strokeWidth=5, opacity=0.5).encode(
        alt.X("games_low:Q").title(title), alt.X2("games_high:Q")
    )
    points = base.mark_point(filled=True, size=80).encode(
        x=alt.X("elo:Q").title(title).scale(padding=8),
        opacity=alt.condition("datum.open", alt.value(0.35), alt.value(1)),
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            alt.Tooltip("limit:N", title="games at"),
            alt.Tooltip("elo:Q", title="Elo", format="+.1f"),
            *ENDS,
        ],
    )
    zero = alt.Chart(alt.Data(values=[{}])).mark_rule(strokeDash=[4, 4], opacity=0.6, aria=False)
    chart = alt.layer(zero.encode(x=alt.datum(0)), seeds, games, points.add_params(zoom("x")))
    return figure(
        "elo",
        "Elo with both errors",
        "Thick: 95 % interval of the games, for these very nets. Thin: with new trainings, too; "
        "it is missing where nothing is known of their spread. Pale: undecided among all sets.",
        chart,
        max(ROW_HEIGHT * len(rows) * len(shown), 120),
    )


SHARE = alt.Scale(domain=[0, 1])  # of an axis of shares that may be all


def loss_and_elo(rows: Sequence[Row]) -> Figure | None:
    """Elo against validation loss: how well the one predicts the other."""
    values = [
        {"set": entry(row), "loss": loss, "elo": elo, **ends(row, "elo")}
        for row in rows
        if (loss := number(row, "val_loss_mean")) is not None
        and (elo := number(row, "elo")) is not None
    ]
    if len(values) < 2:
        return None
    return figure(
        "loss-elo",
        "Elo against validation loss",
        "Means over the seeds, with 95 % intervals of the games (thick) and with new trainings "
        "(thin). Where the points fall on a line, the loss tells the strength.",
        _scatter(
            rows, values, "loss", "validation loss", ".6f", "Elo at fixed nodes",
            intervals.of_losses(rows),
        ),
    )  # fmt: skip


def _scatter(
    rows: Sequence[Row],
    values: list[dict[str, Any]],
    x: str,
    axis: str,
    digits: str,
    title: str,
    errors: Mapping[str, float],
) -> Any:
    """Elo of each set with both errors against another number, with its name beside it.

    ``values`` are of some of the ``rows``: ``set``, ``elo``, `ends`, the field ``x``, and
    ``beaten``, yes where it is drawn pale. ``errors`` are halves of intervals of ``x``, as shares
    of it, by set.
    """
    reach = {value["set"]: value[x] * errors.get(value["set"], 0) for value in values}
    points = {
        value["set"]: Point(
            value[x],
            value["elo"],
            min(value.get("games_low", value["elo"]), value.get("seeds_low", value["elo"])),
            max(value.get("games_high", value["elo"]), value.get("seeds_high", value["elo"])),
            reach[value["set"]],
        )
        for value in values
    }
    beside = point_labels.beside(points)
    drawn = color([entry(row) for row in rows], legend=not beside)
    if beside is None and len(rows) > MOST_LEGEND:
        ordered = sorted(points, key=lambda name: points[name].y)
        if beside := point_labels.beside(points, [ordered[0], ordered[-1]]):
            drawn = alt.Detail("set:N")  # the others are told where they are pointed at
    values = [
        {**value, "from": value[x] - reach[value["set"]], "to": value[x] + reach[value["set"]]}
        for value in values
    ]
    across = alt.X(f"{x}:Q").title(axis).scale(fitted(beside.across if beside else None, 10))
    up = alt.Y("elo:Q").title(title).scale(fitted(beside.up if beside else None, 10))
    base = alt.Chart(alt.Data(values=values)).encode(drawn, x=across)
    seeds = base.mark_rule(strokeWidth=1.5, style="interval").encode(
        alt.Y("seeds_low:Q").title(title), alt.Y2("seeds_high:Q")
    )
    games = base.mark_rule(strokeWidth=5, opacity=0.5, style="interval").encode(
        alt.Y("games_low:Q").title(title), alt.Y2("games_high:Q")
    )
    aside = base.mark_rule(strokeWidth=1.5, style="interval").encode(
        alt.X("from:Q").title(axis), alt.X2("to:Q"), y=up
    )
    dots = base.mark_point(filled=True, size=100).encode(
        y=up,
        opacity=alt.condition("datum.beaten == 'yes'", alt.value(0.35), alt.value(1)),
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            alt.Tooltip(f"{x}:Q", title=axis, format=digits),
            *(alt.Tooltip(f"{end}:Q", format=digits) for end in ("from", "to") if errors),
            alt.Tooltip("elo:Q", title="Elo", format="+.1f"),
            *ENDS,
        ],
    )
    beside_dots = point_labels.named(beside, drawn, x, "elo") if beside else []
    rules = [seeds, games, *([aside] if errors else [])]
    return alt.layer(*rules, *beside_dots, dots.add_params(zoom()))


def pareto(
    rows: Sequence[Row],
    speeds: Mapping[str, float],
    axis: str,
    yardstick: Yardstick = yardsticks.NODES,
    errors: Mapping[str, float] | None = None,
) -> Figure | None:
    """Elo with both errors against speed.

    At fixed nodes a set is pale that another one surely beats: no slower, and stronger by more than
    the errors of both.

    Parameters
    ----------
    speeds : mapping of str to float
        By feature set; a larger one is better. Sets without one are left out.
    axis : str
        What they are.
    yardstick : Yardstick
        At which the Elo was measured.
    errors : mapping of str to float, optional
        Halves of the intervals of speeds, as shares of them.
    """
    column = yardstick.column
    found = [
        {"set": name, "speed": speeds[name], "elo": elo, **ends(row, column)}
        for row in rows
        if (name := entry(row)) in speeds and (elo := number(row, column)) is not None
    ]
    if not found:
        return None
    is_paid = yardstick is not yardsticks.NODES
    values = [
        {**each, "beaten": "yes" if not is_paid and _is_beaten(each, found) else "no"}
        for each in found
    ]
    title = f"Elo at {yardstick.title}"
    both = "Thick and thin: 95 % intervals of the games, and with new trainings, too. "
    caption = (
        "Here what a set knows has paid for its speed already: the highest is the best. "
        if is_paid
        else "Up: what a set knows. To the right: how fast it is. Pale: another set is no slower, "
        "and stronger by more than both errors. "
    )
    name = f"pareto-{yardstick.folder}" if is_paid else "pareto"
    chart = _scatter(rows, values, "speed", axis, ".3g", title, errors or {})
    return figure(name, f"{title} against {axis}", caption + both, chart)


def _is_beaten(one: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> bool:
    """Whether some set is at least as fast, and its whole interval above; False without errors."""
    return any(
        other["speed"] >= one["speed"] and other["seeds_low"] > one["seeds_high"]
        for other in others
        if "seeds_low" in other and "seeds_high" in one
    )


def depth(rows: Sequence[Row], nodes: Sequence[int]) -> Figure | None:
    """Elo of each set against the nodes of a move, at fixed nodes and at equal cost.

    ``nodes`` are those of the two limits.
    """
    kinds = {
        "fixed nodes": (yardsticks.NODES, yardsticks.DEEP),
        "equal cost": (yardsticks.COST, yardsticks.DEEP_COST),
    }
    values: list[dict[str, Any]] = [
        {"set": entry(row), "games": kind, "nodes": n, "elo": elo, **ends(row, yardstick.column)}
        for kind, played in kinds.items()
        for n, yardstick in zip(nodes, played, strict=True)
        for row in rows
        if (elo := number(row, yardstick.column)) is not None
    ]
    if len({value["nodes"] for value in values}) < 2:
        return None
    shown = sorted({value["nodes"] for value in values})
    played = [kind for kind in kinds if any(value["games"] == kind for value in values)]
    last = {v["set"]: v["elo"] for v in reversed(values) if v["nodes"] == shown[-1]}
    reached = [end for v in values for end in (v.get("games_low"), v["elo"], v.get("games_high"))]
    known = [end for end in reached if end is not None]
    has_ends = len(last) == len({value["set"] for value in values})
    beside = line_labels.direct(last, known, HEIGHT) if has_ends else None
    drawn = color([entry(row) for row in rows], legend=not beside)
    base = alt.Chart(alt.Data(values=values)).encode(
        drawn,
        x=alt.X("nodes:Q")
        .title("nodes of a move")
        .axis(values=shown, format=",d")
        .scale(type="log", nice=False, padding=20),
    )
    lines = base.mark_line().encode(
        y=alt.Y("elo:Q").title("Elo").scale(fitted(beside.domain if beside else None, 10)),
        strokeDash=alt.StrokeDash("games:N").title("games at").scale(domain=played),
    )
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(
        y="elo:Q",
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            alt.Tooltip("games:N", title="games at"),
            alt.Tooltip("nodes:Q", title="nodes"),
            alt.Tooltip("elo:Q", title="Elo", format="+.1f"),
            *ENDS,
        ],
    )
    intervals = base.mark_rule(strokeWidth=1.5, opacity=0.5, style="interval").encode(
        alt.Y("games_low:Q").title("Elo"), alt.Y2("games_high:Q")
    )
    layers = [intervals, lines, dots.add_params(zoom())]
    if beside:
        layers.append(line_labels.named(beside, alt.datum(shown[-1]), "elo", drawn))
    return figure(
        "depth",
        "Elo against nodes",
        "What is left of a set's advantage where the search goes deeper. Rules: 95 % intervals of "
        "the games.",
        alt.layer(*layers),
    )
