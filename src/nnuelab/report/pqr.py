"""Nets on held-out triplets, as CSV, JSON, and the figure of the study's analysis."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from nnuelab.charts import Figure
from nnuelab.data.dataset import evenly

if TYPE_CHECKING:  # it brings torch, which no figure needs
    from nnuelab.nnue.pqr import Judgement

DRAWN = 4_000  # triplets of a figure, the study's number
EDGE = 0.99  # share of the values that the axes hold
BINS = 60
WIDTH, HEIGHT = 300, 240  # pixels of a panel


def content(found: Sequence[Judgement], said: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """All numbers, and each net's values of some triplets, evenly spaced, for the figure.

    Parameters
    ----------
    found : sequence of Judgement
    said : mapping of str to ndarray of float64 [n, 3]
        f(P), f(Q) and f(R) of the nets to draw, by name.
    """
    drawn = {}
    for name, values in said.items():
        drawn[name] = np.rint(values[evenly(len(values), DRAWN)]).astype(np.int64).tolist()
    return {"nets": [asdict(each) for each in found], "pqr_centipawns": drawn}


def to_csv(found: Sequence[Judgement]) -> str:
    """One line for each net; a share has five decimals, an unknown value is empty."""
    out = io.StringIO()
    rows = [asdict(each) for each in found]
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.5f}" if isinstance(v, float) else v for k, v in row.items()})
    return out.getvalue()


def figure(drawn: Mapping[str, Sequence[Sequence[int]]]) -> Figure:
    """The study's analysis: f(P) against f(Q), and a histogram of f(R) - f(Q), for each net.

    Parameters
    ----------
    drawn : mapping of str to sequence of (f(P), f(Q), f(R))
        ``pqr_centipawns`` of `content`.
    """
    rows = [
        alt.hconcat(_scatter(name, np.array(values)), _histogram(np.array(values)))
        for name, values in drawn.items()
    ]
    count = max(map(len, drawn.values()))
    return Figure(
        "pqr",
        f"Held-out triplets (N = {count:,})",
        "Left: f(P) against f(Q), dashed where they sum to 0. Right: how far f(R) is above f(Q): "
        "to the right of 0 the net prefers the move that was played; ties are in the first bar "
        "there. Centipawns for the side to move; "
        f"{1 - EDGE:.0%} of the values lie outside the left panels, and in the last bars.",
        alt.vconcat(*rows).to_dict(),
    )


def _edge(values: np.ndarray) -> int:
    """Centipawns that the middle EDGE of values lie within, a multiple of the bins' number."""
    return BINS * max(-(-int(np.quantile(np.abs(values), EDGE)) // BINS), 1)


def _scatter(name: str, values: np.ndarray) -> Any:
    p, q, _ = values.T
    edge = _edge(values[:, :2])
    inside = (np.abs(p) <= edge) & (np.abs(q) <= edge)
    scale = alt.Scale(domain=[-edge, edge], nice=False)
    points = (
        alt.Chart(alt.Data(values=[{"p": int(a), "q": int(b)} for a, b in values[inside, :2]]))
        .mark_circle(size=10, opacity=0.35)
        .encode(
            x=alt.X("q:Q").title("f(Q)").scale(scale),
            y=alt.Y("p:Q").title("f(P)").scale(scale),
        )
    )
    ends = [{"p": edge, "q": -edge}, {"p": -edge, "q": edge}]
    line = (
        alt.Chart(alt.Data(values=ends))
        .mark_line(strokeDash=[4, 4], color="gray")
        .encode(x="q:Q", y="p:Q")
    )
    return alt.layer(points, line).properties(width=WIDTH, height=HEIGHT, title=name)


def _histogram(values: np.ndarray) -> Any:
    difference = values[:, 2] - values[:, 1]
    edge = _edge(difference)
    edges = np.linspace(-edge, edge, BINS + 1)
    counts, _ = np.histogram(np.clip(difference, -edge, edge), edges)
    bars = [
        {"from": low, "to": high, "count": count, "sign": "right" if low >= 0 else "wrong"}
        for low, high, count in zip(
            edges.tolist(), edges[1:].tolist(), counts.tolist(), strict=False
        )
    ]
    right = float((difference > 0).mean())
    return (
        alt.Chart(alt.Data(values=bars))
        .mark_bar()
        .encode(
            x=alt.X("from:Q", bin="binned")
            .title("f(R) - f(Q)")
            .scale(domain=[-edge, edge], nice=False),
            x2="to:Q",
            y=alt.Y("count:Q").title("triplets"),
            color=alt.Color("sign:N").title("sign").scale(domain=["right", "wrong"]),
            tooltip=["from:Q", "to:Q", "count:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT, title=f"right sign {right:.1%}")
    )
