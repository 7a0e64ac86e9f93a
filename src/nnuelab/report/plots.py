"""The report's figures as Vega-Lite, made with Altair. They hold their data and no style."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from nnuelab.report.results import NetFiles
from nnuelab.report.table import entry
from nnuelab.report.words import number

Row = Mapping[str, str]
# The page zooms by buttons, and with the wheel only while shift is held: else it scrolls.
_ZOOM = "wheel![event.shiftKey]"
ROW_HEIGHT, HEIGHT = 34, 340
MOST_COLORS = 8  # of the page's own schemes, which are easy to tell apart


@dataclass(frozen=True)
class Figure:
    """A plot.

    Attributes
    ----------
    name : str
        Part of its id on the page.
    title, caption : str
        What it shows, and how to read it.
    spec : dict
        Vega-Lite.
    """

    name: str
    title: str
    caption: str
    spec: dict[str, Any]


def figure(name: str, title: str, caption: str, chart: Any, height: int = HEIGHT) -> Figure:
    """A chart as wide as its place; ``height`` in pixels."""
    chart = chart.properties(width="container", height=height, description=f"{title}. {caption}")
    return Figure(name, title, caption, chart.to_dict())


def _zoom(*channels: Literal["x", "y"]) -> Any:
    return alt.selection_interval(
        name="zoom", encodings=list(channels or ("x", "y")), bind="scales", zoom=_ZOOM
    )


def _color(sets: Sequence[str]) -> Any:
    color = alt.Color("set:N").title("feature set")
    if len(sets) > MOST_COLORS:
        return color.scale(domain=list(sets), scheme="tableau20")
    return color.scale(domain=list(sets))


def elo(rows: Sequence[Row], anchor: str) -> Figure | None:
    """Elo of each set with both errors, at fixed nodes and at fixed time."""
    limits = {"elo": "fixed nodes", "elo_time": "fixed time"}
    values: list[dict[str, Any]] = []
    for row in rows:
        for column, limit in limits.items():
            if (value := number(row, column)) is None:
                continue
            games, seeds = (number(row, f"{column}_error_{kind}") for kind in ("games", "seeds"))
            values.append(
                {"set": entry(row), "limit": limit, "elo": value}
                | (
                    {}
                    if games is None
                    else {"games_low": value - games, "games_high": value + games}
                )
                | (
                    {}
                    if seeds is None
                    else {"seeds_low": value - seeds, "seeds_high": value + seeds}
                )
            )
    if not values:
        return None
    order = list(dict.fromkeys(v["set"] for v in sorted(values, key=lambda v: -v["elo"])))
    shown = [limit for limit in limits.values() if any(v["limit"] == limit for v in values)]
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("set:N").sort(order).title(None),
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
            alt.Tooltip("games_low:Q", title="games, from", format="+.1f"),
            alt.Tooltip("games_high:Q", title="games, to", format="+.1f"),
            alt.Tooltip("seeds_low:Q", title="seeds, from", format="+.1f"),
            alt.Tooltip("seeds_high:Q", title="seeds, to", format="+.1f"),
        ],
    )
    zero = alt.Chart(alt.Data(values=[{}])).mark_rule(strokeDash=[4, 4], opacity=0.6, aria=False)
    chart = alt.layer(zero.encode(x=alt.datum(0)), seeds, games, points.add_params(_zoom("x")))
    return figure(
        "elo",
        "Elo with both errors",
        "Thick: 95 % interval of the games, for these very nets. Thin: with new trainings, too; "
        "it is missing where a set has one seed.",
        chart,
        max(ROW_HEIGHT * len(rows) * len(shown), 120),
    )


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
        found.append(_losses(f"loss-{place}" if place else "loss", whose, group, sets))
    return found


def _losses(name: str, whose: str, nets: Sequence[NetFiles], sets: Sequence[str]) -> Figure:
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
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(point=True)
        .encode(
            x=alt.X("epoch:Q").axis(tickMinStep=1, format="d").scale(zero=False, nice=False),
            y=alt.Y("validation:Q").title("validation loss").scale(zero=False),
            color=_color(sets),
            strokeDash=alt.StrokeDash("seed:N"),
            tooltip=[
                alt.Tooltip("set:N", title="feature set"),
                "seed:N",
                "epoch:Q",
                alt.Tooltip("validation:Q", title="validation loss", format=".6f"),
                alt.Tooltip("train:Q", title="training loss", format=".6f"),
            ],
        )
        .add_params(_zoom())
    )
    return figure(
        name,
        f"Validation loss over epochs{whose}",
        "One line for each net; dashes tell the seeds."
        + (" Losses of other plots are other quantities." if whose else ""),
        chart,
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
            color=_color(sets),
            strokeDash=alt.StrokeDash("seed:N"),
            tooltip=[
                alt.Tooltip("set:N", title="feature set"),
                "seed:N",
                alt.Tooltip("from:Q", title="from cp"),
                alt.Tooltip("to:Q", title="to cp"),
                alt.Tooltip("share:Q", title="share per cp", format=".2%"),
            ],
        )
        .add_params(_zoom())
    )
    return figure(
        "errors",
        "Error of the integer nets",
        "How far the evaluation in integers is from that of the float net, on the same positions.",
        chart,
    )


def loss_and_elo(rows: Sequence[Row]) -> Figure | None:
    """Elo against validation loss: whether the one tells the other."""
    values = [
        {"set": entry(row), "loss": loss, "elo": elo}
        for row in rows
        if (loss := number(row, "val_loss_mean")) is not None
        and (elo := number(row, "elo")) is not None
    ]
    if len(values) < 2:
        return None
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("loss:Q").title("validation loss").scale(zero=False, padding=10),
        y=alt.Y("elo:Q").title("Elo at fixed nodes").scale(zero=False, padding=10),
        color=_color([entry(row) for row in rows]),
    )
    dots = base.mark_point(filled=True, size=100, opacity=1).encode(
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            alt.Tooltip("loss:Q", title="validation loss", format=".6f"),
            alt.Tooltip("elo:Q", title="Elo", format="+.1f"),
        ]
    )
    return figure(
        "loss-elo",
        "Elo against validation loss",
        "Means over the seeds. Where the points fall on a line, the loss tells the strength.",
        dots.add_params(_zoom()),
    )


def pareto(
    points: Iterable[tuple[str, float, float]], sets: Sequence[str], cost: str, caption: str
) -> Figure | None:
    """Elo against a cost, with the sets that no other beats in both.

    Parameters
    ----------
    points : iterable of (set, cost, elo)
        A larger cost is better: nodes a second.
    cost : str
        What it is, for the axis.
    """
    found = sorted(points, key=lambda point: (-point[1], -point[2]))
    if not found:
        return None
    best, front = float("-inf"), set()
    for name, _, value in found:
        if value > best:
            best = value
            front.add(name)
    values = [
        {"set": s, "cost": c, "elo": e, "unbeaten": "yes" if s in front else "no"}
        for s, c, e in found
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("cost:Q").title(cost).scale(zero=False, padding=10),
        y=alt.Y("elo:Q").title("Elo").scale(zero=False, padding=10),
    )
    line = base.transform_filter("datum.unbeaten == 'yes'").mark_line(
        strokeDash=[4, 4], opacity=0.6
    )
    dots = base.mark_point(filled=True, size=100, opacity=1).encode(
        color=_color(sets),
        shape=alt.Shape("unbeaten:N").scale(domain=["yes", "no"], range=["diamond", "circle"]),
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            alt.Tooltip("cost:Q", title=cost, format=".3g"),
            alt.Tooltip("elo:Q", title="Elo", format="+.1f"),
        ],
    )
    chart = alt.layer(line, dots.add_params(_zoom()))
    return figure("pareto", f"Elo against {cost}", caption, chart)


def updates(rows: Sequence[Row]) -> Figure | None:
    """Rows that a move changes, with what the study printed."""
    shown = [row for row in rows if row["perspective"] == "both"]
    values = [
        {"set": row["feature_set"], "rows": float(row[kind]), "kind": kind}
        for row in shown
        for kind in ("added", "removed")
    ]
    published = [
        {
            "set": row["feature_set"],
            "rows": float(row["published_added"]) + float(row["published_removed"]),
        }
        for row in shown
        if row["published_added"]
    ]
    if not values:
        return None
    order = list(dict.fromkeys(row["feature_set"] for row in shown))
    tip = alt.Tooltip("set:N", title="feature set")
    bars = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("rows:Q").title("rows changed by a legal move"),
            y=alt.Y("set:N").sort(order).title(None),
            color=alt.Color("kind:N").title(None),
            tooltip=[tip, "kind:N", alt.Tooltip("rows:Q", format=".2f")],
        )
    )
    ticks = (
        alt.Chart(alt.Data(values=published))
        .mark_tick(thickness=3, size=22)
        .encode(
            x="rows:Q",
            y=alt.Y("set:N").sort(order),
            color=alt.datum("published (both)"),
            tooltip=[tip, alt.Tooltip("rows:Q", title="published, both", format=".2f")],
        )
    )
    return figure(
        "updates",
        "What a move changes",
        "Ours are means of one accumulator over all legal moves. The study's mix the two players' "
        "views: a legal move always adds at least one feature of ALL, yet 0.98 is printed.",
        alt.layer(bars.add_params(_zoom("x")), ticks),
        max(ROW_HEIGHT * len(order), 120),
    )


def neurons(shares: Mapping[str, Sequence[float]], sets: Sequence[str]) -> Figure | None:
    """How often each neuron is active, by net (``SET#SEED``), ascending."""
    values = [
        {
            "net": net,
            "set": net.rpartition("#")[0],
            "seed": net.rpartition("#")[2],
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
            x=alt.X("place:Q").title("neurons, from the most idle").axis(format="%"),
            y=alt.Y("active:Q").title("share of views in which it is active").axis(format="%"),
            color=_color(sets),
            strokeDash=alt.StrokeDash("seed:N"),
            tooltip=["net:N", alt.Tooltip("active:Q", format=".1%")],
        )
        .add_params(_zoom())
    )
    return figure(
        "neurons",
        "How busy the neurons are",
        "Each net's neurons in order; at 0 % a neuron is dead.",
        chart,
    )
