"""The figures of nets on the report page: training, integers, neurons, the moves played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, quantiles
from typing import Any

import altair as alt
import numpy as np

from nnuelab.charts import HEIGHT, Figure, figure, fitted, zoom
from nnuelab.names import NetName, labels
from nnuelab.report.line_labels import direct, named, short, stacked
from nnuelab.report.plots import SHARE, color
from nnuelab.report.results import NetFiles

MOST_POINTS = 500  # of a net in a plot on the page
STEPS = 60  # of a histogram
DASHES = 5  # that Vega-Lite has
NET_HEIGHT = 16  # pixels of a net in a plot of one row for each
SPREAD = ("least", "lower", "median", "upper", "most")


def losses(nets: Sequence[NetFiles], sets: Sequence[str]) -> list[Figure]:
    """Validation loss over epochs, a line for each seed; a plot for each objective."""
    groups: dict[str, list[NetFiles]] = {}
    for net in nets:
        if net.history:
            groups.setdefault(repr(net.objective), []).append(net)
    found, called = [], labels(sets)
    for place, group in enumerate(groups.values()):
        names = [name for name in sets if any(net.entry == name for net in group)]
        whose = f" of {', '.join(called[name] for name in names)}" if len(groups) > 1 else ""
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
    drawn = color(sets, names, legend=not beside)
    base = alt.Chart(alt.Data(values=values)).encode(
        drawn,
        x=alt.X("epoch:Q")
        # With few epochs Vega puts marks between them.
        .axis(format="d", values=epochs if len(epochs) <= 10 else alt.Undefined)
        .scale(zero=False, nice=False, padding=8),
        y=alt.Y("validation:Q", scale=fitted(beside.domain if beside else None, 10)).title(
            "validation loss"
        ),
    )
    are_few = len({net.seed for net in nets}) <= DASHES
    of_seed: Any = alt.StrokeDash("seed:N") if are_few else alt.Detail("seed:N")
    lines = base.mark_line().encode(of_seed)
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
        layers.append(named(beside, alt.datum(max(epochs)), "validation", drawn))
    return figure(
        name,
        f"Validation loss over epochs{whose}",
        f"One line for each net{'; dashes tell the seeds' if are_few else ''}."
        + (" Losses of other plots are other quantities." if whose else ""),
        alt.layer(*layers),
    )


def errors(nets: Sequence[NetFiles], sets: Sequence[str]) -> Figure | None:
    """Integer less float evaluation of each net, by quantiles of its histogram."""
    values = []
    for net in nets:
        if histogram := net.verification.get("histogram"):
            edges, counts = histogram["edges_cp"], histogram["counts"]
            at = np.interp(
                [0.025, 0.25, 0.5, 0.75, 0.975],
                np.cumsum([0, *counts]) / max(sum(counts), 1),
                edges,
            )
            values.append({"set": net.entry, "seed": net.seed, **_spread(at.tolist())})
    return _of_nets(
        "errors",
        "Error of the integer nets",
        "Integer less float evaluation on the same positions, a row for each net. Point: the "
        "median; thick: half of the positions; thin: 95 %.",
        values,
        sets,
        alt.X("least:Q").title("integer less float evaluation (centipawns)").axis(format=".3~g"),
    )


def neurons(shares: Mapping[str, Sequence[float]], sets: Sequence[str]) -> Figure | None:
    """How often the neurons of each net (``SET#SEED``) are active."""
    values = []
    for net, found in shares.items():
        name = NetName.parse(net)
        inner = quantiles(found, n=4, method="inclusive") if len(found) > 1 else [*found] * 3
        spread = _spread([min(found), *inner, max(found)])
        values.append({"set": name.entry, "seed": name.seed, **spread})
    return _of_nets(
        "neurons",
        "How busy the neurons are",
        "Share of views in which a neuron is active, a row for each net. Point: the median neuron; "
        "thick: half of them; thin: all. One at 0 % is dead.",
        values,
        sets,
        alt.X("least:Q")
        .title("share of views in which a neuron is active")
        .axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
        .scale(SHARE),
    )


def _spread(found: Sequence[float]) -> dict[str, float]:
    return dict(zip(SPREAD, found, strict=True))


def _of_nets(
    name: str, title: str, caption: str, values: list[dict[str, Any]], sets: Sequence[str], x: Any
) -> Figure | None:
    """A row for each net, the seeds of a set side by side; None without nets.

    Each value has `SPREAD`; ``x`` is the channel of its ``least``.
    """
    if not values:
        return None
    order = [each for each in sets if any(value["set"] == each for value in values)]
    base = alt.Chart(alt.Data(values=values)).encode(
        color(sets, legend=False),
        y=alt.Y("set:N").sort(order).title(None).axis(labelExpr=stacked(order)),
        yOffset=alt.YOffset("seed:N"),
    )
    thin = base.mark_rule(strokeWidth=1.5).encode(x=x, x2="most:Q")
    thick = base.mark_rule(strokeWidth=5, opacity=0.5).encode(x="lower:Q", x2="upper:Q")
    points = base.mark_point(filled=True, size=40, opacity=1).encode(
        x="median:Q",
        tooltip=[
            alt.Tooltip("set:N", title="feature set"),
            "seed:N",
            *(alt.Tooltip(f"{each}:Q", format=".3~g") for each in SPREAD),
        ],
    )
    height = max(NET_HEIGHT * len(values) + 10 * len(order), 120)
    return figure(
        name, title, caption, alt.layer(thin, thick, points.add_params(zoom("x"))), height
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
    color = alt.Color("net:N").scale(domain=list(drawn)).legend(labelExpr=short(list(drawn)))
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
