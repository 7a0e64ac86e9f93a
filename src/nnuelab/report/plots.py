"""The figures of experiments on the report page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import altair as alt
import numpy as np

from nnuelab.charts import HEIGHT, Figure, figure, zoom
from nnuelab.names import NetName
from nnuelab.report.line_labels import direct, named, short
from nnuelab.report.results import NetFiles
from nnuelab.report.table import entry
from nnuelab.report.words import number
from nnuelab.tournament import yardsticks
from nnuelab.tournament.yardsticks import Yardstick

Row = Mapping[str, str]
ROW_HEIGHT = 34
MOST_COLORS = 8  # of the page's own schemes, which are easy to tell apart
MOST_POINTS = 500  # of a net in a plot on the page
STEPS = 60  # of a histogram


def color(sets: Sequence[str], shown: Sequence[str] = (), title: str | None = "feature set") -> Any:
    """Colours of feature sets, the same in every figure of an experiment; ``shown``: of some.

    Without a title there is no legend: the lines have their names beside them.
    """
    by_set = alt.Color("set:N").title(title).legend(labelExpr=short(sets))
    if shown:
        by_set = by_set.legend(values=list(shown), labelExpr=short(sets))
    if title is None:
        by_set = by_set.legend(None)
    if len(sets) > MOST_COLORS:
        return by_set.scale(domain=list(sets), scheme="tableau20")
    return by_set.scale(domain=list(sets))


def elo(rows: Sequence[Row], anchor: str) -> Figure | None:
    """Elo of each set with both errors, at each yardstick."""
    limits = {yardstick.column: yardstick.title for yardstick in yardsticks.ALL}
    values: list[dict[str, Any]] = []
    for row in rows:
        for column, limit in limits.items():
            if (value := number(row, column)) is None:
                continue
            values.append({"set": entry(row), "limit": limit, "elo": value, **ends(row, column)})
    if not values:
        return None
    order = list(dict.fromkeys(v["set"] for v in sorted(values, key=lambda v: -v["elo"])))
    shown = [limit for limit in limits.values() if any(v["limit"] == limit for v in values)]
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("set:N").sort(order).title(None).axis(labelExpr=short(order)),
        yOffset=alt.YOffset("limit:N").sort(shown),
        color=alt.Color("limit:N").title("games at").scale(domain=shown),
    )
    title = f"Elo relative to {anchor}"
    seeds = base.mark_rule(strokeWidth=1.5).encode(
        alt.X("seeds_low:Q").title(title), alt.X2("seeds_high:Q")
    )
    games = base.mark_rule(strokeWidth=5, opacity=0.5).encode(
        alt.X("games_low:Q").title(title), alt.X2("games_high:Q")
    )
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("elo:Q").title(title),
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
        "it is missing where nothing is known of their spread.",
        chart,
        max(ROW_HEIGHT * len(rows) * len(shown), 120),
    )


SHARE = alt.Scale(domain=[0, 1])  # of an axis of shares that may be all
_ERRORS = {"games": "error_games", "seeds": "error"}  # of new trainings: the error to quote


def ends(row: Row, column: str) -> dict[str, float]:
    """Both ends of the intervals of an Elo by games and with new trainings, as far as known."""
    value = float(row[column])
    found: dict[str, float] = {}
    for kind, name in _ERRORS.items():
        if (error := number(row, f"{column}_{name}")) is not None:
            found |= {f"{kind}_low": value - error, f"{kind}_high": value + error}
    return found


ENDS = [
    alt.Tooltip(f"{kind}_{end}:Q", title=f"{kind}, {word}", format="+.1f")
    for kind in _ERRORS
    for end, word in (("low", "from"), ("high", "to"))
]


def losses(nets: Sequence[NetFiles], sets: Sequence[str]) -> list[Figure]:
    """Validation loss over epochs, a line for each seed; a plot for each objective."""
    groups: dict[str, list[NetFiles]] = {}
    for net in nets:
        if net.history:
            groups.setdefault(repr(net.objective), []).append(net)
    found = []
    for place, group in enumerate(groups.values()):
        names = [name for name in sets if any(net.entry == name for net in group)]
        whose = f" of {', '.join(names)}" if len(groups) > 1 else ""
        found.append(_losses(f"loss-{place}" if place else "loss", whose, group, sets, names))
    return found


def _losses(
    name: str, whose: str, nets: Sequence[NetFiles], sets: Sequence[str], names: Sequence[str]
) -> Figure:
    values = [
        {
            "set": net.entry,
            "seed": net.seed,
            "epoch": int(row["epoch"]),
            "validation": row["validation_loss"],
            "train": row.get("train_loss"),
        }
        for net in nets
        for row in net.history
    ]
    epochs = sorted({float(row["epoch"]) for net in nets for row in net.history})
    last = {
        each: fmean(net.history[-1]["validation_loss"] for net in nets if net.entry == each)
        for each in names
    }
    beside = direct(last, [float(value["validation"] or 0) for value in values], HEIGHT)
    scale = alt.Scale(domain=beside.domain) if beside else alt.Scale(zero=False)
    drawn = color(sets, names, None if beside else "feature set")
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("epoch:Q")
        # With few epochs Vega puts marks between them.
        .axis(format="d", values=epochs if len(epochs) <= 10 else alt.Undefined)
        .scale(zero=False, nice=False, padding=8),
        y=alt.Y("validation:Q", scale=scale).title("validation loss"),
        color=drawn,
    )
    lines = base.mark_line().encode(strokeDash=alt.StrokeDash("seed:N"))
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            "seed:N",
            "epoch:Q",
            alt.Tooltip("validation:Q", title="validation loss", format=".6f"),
            alt.Tooltip("train:Q", title="training loss", format=".6f"),
        ]
    )
    layers = [lines, dots.add_params(zoom())]
    if beside:
        layers.append(named(beside, "epoch", max(epochs), "validation", drawn))
    return figure(
        name,
        f"Validation loss over epochs{whose}",
        "One line for each net; dashes tell the seeds."
        + (" Losses of other plots are other quantities." if whose else ""),
        alt.layer(*layers),
    )


def errors(nets: Sequence[NetFiles], sets: Sequence[str]) -> Figure | None:
    """Histograms of integer less float evaluation."""
    values = []
    for net in nets:
        histogram = net.verification.get("histogram")
        if not histogram:
            continue
        edges, counts = histogram["edges_cp"], histogram["counts"]
        total = max(sum(counts), 1)
        values += [
            {
                "set": net.entry,
                "seed": net.seed,
                "from": low,
                "to": high,
                "middle": (low + high) / 2,
                "share": count / total / (high - low),
            }
            for low, high, count in zip(edges, edges[1:], counts, strict=False)
        ]
    if not values:
        return None
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(interpolate="step", opacity=0.8)
        .encode(
            x=alt.X("middle:Q").title("integer less float evaluation (centipawns)"),
            y=alt.Y("share:Q").title("share of positions per centipawn").axis(format="%"),
            color=color(sets),
            strokeDash=alt.StrokeDash("seed:N"),
            tooltip=[
                alt.Tooltip("set:N", title="feature set"),
                "seed:N",
                alt.Tooltip("from:Q", title="from cp"),
                alt.Tooltip("to:Q", title="to cp"),
                alt.Tooltip("share:Q", title="share per cp", format=".2%"),
            ],
        )
        .add_params(zoom())
    )
    return figure(
        "errors",
        "Error of the integer nets",
        "How far the evaluation in integers is from that of the float net, on the same positions.",
        chart,
    )


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
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("loss:Q").title("validation loss").scale(zero=False, padding=10),
        color=color([entry(row) for row in rows]),
    )
    title = "Elo at fixed nodes"
    dots = base.mark_point(filled=True, size=100, opacity=1).encode(
        y=alt.Y("elo:Q").title(title).scale(zero=False, padding=10),
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            alt.Tooltip("loss:Q", title="validation loss", format=".6f"),
            alt.Tooltip("elo:Q", title="Elo", format="+.1f"),
            *ENDS,
        ],
    )
    return figure(
        "loss-elo",
        "Elo against validation loss",
        "Means over the seeds, with 95 % intervals of the games (thick) and with new trainings "
        "(thin). Where the points fall on a line, the loss tells the strength.",
        alt.layer(*_intervals(base, title), dots.add_params(zoom())),
    )


def _intervals(base: Any, title: str) -> tuple[Any, Any]:
    """Upright rules of both errors."""
    seeds = base.mark_rule(strokeWidth=1.5).encode(
        alt.Y("seeds_low:Q").title(title), alt.Y2("seeds_high:Q")
    )
    games = base.mark_rule(strokeWidth=5, opacity=0.5).encode(
        alt.Y("games_low:Q").title(title), alt.Y2("games_high:Q")
    )
    return seeds, games


def pareto(
    rows: Sequence[Row],
    speeds: Mapping[str, float],
    axis: str,
    yardstick: Yardstick = yardsticks.NODES,
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
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("speed:Q").title(axis).scale(zero=False, padding=10),
        color=color([entry(row) for row in rows]),
    )
    dots = base.mark_point(filled=True, size=100).encode(
        y=alt.Y("elo:Q").title(title).scale(zero=False, padding=10),
        opacity=alt.condition("datum.beaten == 'yes'", alt.value(0.35), alt.value(1)),
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            alt.Tooltip("speed:Q", title=axis, format=".3g"),
            alt.Tooltip("elo:Q", title="Elo", format="+.1f"),
            *ENDS,
        ],
    )
    both = "Thick and thin: 95 % intervals of the games, and with new trainings, too. "
    caption = (
        "Here what a set knows has paid for its speed already: the highest is the best. "
        if is_paid
        else "Up: what a set knows. To the right: how fast it is. Pale: another set is no slower, "
        "and stronger by more than both errors. "
    )
    name = f"pareto-{yardstick.folder}" if is_paid else "pareto"
    chart = alt.layer(*_intervals(base, title), dots.add_params(zoom()))
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
    values = [
        {"set": entry(row), "games": kind, "nodes": n, "elo": elo, **ends(row, yardstick.column)}
        for kind, played in kinds.items()
        for n, yardstick in zip(nodes, played, strict=True)
        for row in rows
        if (elo := number(row, yardstick.column)) is not None
    ]
    if len({value["nodes"] for value in values}) < 2:
        return None
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("nodes:Q").title("nodes of a move").scale(type="log", padding=20),
        color=color([entry(row) for row in rows]),
    )
    lines = base.mark_line(point=True).encode(
        y=alt.Y("elo:Q").title("Elo").scale(zero=False, padding=10),
        strokeDash=alt.StrokeDash("games:N").title("games at").scale(domain=list(kinds)),
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            alt.Tooltip("games:N", title="games at"),
            alt.Tooltip("nodes:Q", title="nodes"),
            alt.Tooltip("elo:Q", title="Elo", format="+.1f"),
            *ENDS,
        ],
    )
    intervals = base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(
        alt.Y("games_low:Q").title("Elo"), alt.Y2("games_high:Q")
    )
    return figure(
        "depth",
        "Elo against nodes",
        "What is left of a set's advantage where the search goes deeper. Rules: 95 % intervals of "
        "the games.",
        alt.layer(intervals, lines.add_params(zoom())),
    )


def neurons(shares: Mapping[str, Sequence[float]], sets: Sequence[str]) -> Figure | None:
    """How often each neuron is active, by net (``SET#SEED``), ascending."""
    values = [
        {
            "net": net,
            "set": NetName.parse(net).entry,
            "seed": NetName.parse(net).seed,
            "place": (i + 0.5) / len(found),
            "active": share,
        }
        for net, found in shares.items()
        for i, share in enumerate(sorted(found))
    ]
    if not values:
        return None
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line()
        .encode(
            x=alt.X("place:Q").title("neurons, from the most idle").axis(format="%").scale(SHARE),
            y=alt.Y("active:Q")
            .title("share of views in which it is active")
            .axis(format="%")
            .scale(SHARE),
            color=color(sets),
            strokeDash=alt.StrokeDash("seed:N"),
            tooltip=["net:N", alt.Tooltip("active:Q", format=".1%")],
        )
        .add_params(zoom())
    )
    return figure(
        "neurons",
        "How busy the neurons are",
        "Each net's neurons in order; at 0 % a neuron is dead.",
        chart,
    )


def triplets(drawn: Mapping[str, Sequence[Sequence[int]]]) -> list[Figure]:
    """Nets on held-out triplets, by name: f(P) against f(Q), and f(R) - f(Q).

    Parameters
    ----------
    drawn : mapping of str to sequence of (f(P), f(Q), f(R))
        Centipawns: ``pqr_centipawns`` of ``pqr.content``.
    """
    found = {name: np.array(values) for name, values in drawn.items()}
    points = [
        {"net": name, "p": p, "q": q}
        for name, values in found.items()
        for p, q, _ in values[:: -(-len(values) // MOST_POINTS)].tolist()
    ]
    color = alt.Color("net:N").scale(domain=list(drawn))
    cloud = (
        alt.Chart(alt.Data(values=points))
        .mark_point(filled=True, size=14, opacity=0.6)
        .encode(
            x=alt.X("q:Q").title("f(Q) (centipawns)"),
            y=alt.Y("p:Q").title("f(P) (centipawns)"),
            color=color,
            tooltip=["net:N", alt.Tooltip("q:Q", title="f(Q)"), alt.Tooltip("p:Q", title="f(P)")],
        )
        .add_params(zoom())
    )
    differences = {name: values[:, 2] - values[:, 1] for name, values in found.items()}
    edge = max(float(np.quantile(np.abs(np.concatenate([*differences.values()])), 0.99)), 1.0)
    edges = np.linspace(-edge, edge, STEPS + 1)
    steps = [
        {"net": name, "middle": middle, "share": count / len(values)}
        for name, values in differences.items()
        for middle, count in zip(
            ((edges[1:] + edges[:-1]) / 2).tolist(),
            np.histogram(np.clip(values, -edge, edge), edges)[0].tolist(),
            strict=True,
        )
    ]
    lines = (
        alt.Chart(alt.Data(values=steps))
        .mark_line(interpolate="step", opacity=0.8)
        .encode(
            x=alt.X("middle:Q").title("f(R) - f(Q) (centipawns)"),
            y=alt.Y("share:Q").title("share of the triplets").axis(format="%"),
            color=color,
            tooltip=["net:N", "middle:Q", alt.Tooltip("share:Q", format=".2%")],
        )
        .add_params(zoom())
    )
    return [
        figure(
            "triplets",
            "A position and its best move",
            "Held-out positions P, and Q after the move played, each for the side to move there. "
            "A net that agrees with itself puts them on the falling diagonal.",
            cloud,
        ),
        figure(
            "right-sign",
            "The move played against another",
            "How far R, after another legal move, is above Q, both for the opponent: to the right "
            "of 0 the net prefers the move that was played.",
            lines,
        ),
    ]
