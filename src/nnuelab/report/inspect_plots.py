"""`inspect --plot`: a figure of an artifact."""

from __future__ import annotations

import altair as alt
import numpy as np

from nnuelab import charts, data
from nnuelab.charts import WIDTH, Figure
from nnuelab.data.records import NO_SCORE
from nnuelab.errors import UserError
from nnuelab.report import plots, pqr, reading, table
from nnuelab.report.inspect import CROSS, Summary, damaged


def figure(summary: Summary) -> Figure:
    """The figure of an artifact.

    Raises
    ------
    UserError
        When it is of a kind without a figure.
    """
    makers = {
        "table": _table,
        "ratings": _ratings,
        "history": _history,
        "verification": _verification,
        "dataset": _dataset,
        "net": _net,
        "tournament": _tournament,
        "triplets": _triplets,
    }
    if summary.kind not in makers:
        raise UserError(
            f"{summary.path} is of the kind {summary.kind}, which has no figure; "
            f"those that have one are {', '.join(makers)}"
        )
    with damaged(summary.path):
        found = makers[summary.kind](summary)
    if found is None:
        raise UserError(f"{summary.path} has nothing to draw")
    return found


def _table(summary: Summary) -> Figure | None:
    rows = reading.read_table(summary.path)
    return plots.elo(rows, table.anchor_of(rows) or "the anchor")


def _ratings(summary: Summary) -> Figure:
    values = [
        {
            "name": r["name"],
            "elo": r["elo"],
            "low": r["elo"] - r["error"],
            "high": r["elo"] + r["error"],
        }
        for r in summary.tables["ratings"]
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("name:N").sort([v["name"] for v in values]).title(None)
    )
    rules = base.mark_rule().encode(alt.X("low:Q").title("rating"), alt.X2("high:Q"))
    points = base.mark_point(filled=True, size=60).encode(x="elo:Q")
    return charts.figure("ratings", "Ratings", "Bars: 95 %.", rules + points, 24 * len(values))


def _history(summary: Summary) -> Figure:
    values = [
        {"epoch": row["epoch"], "loss": row[column], "of": column.removesuffix("_loss")}
        for row in summary.tables["epochs"]
        for column in ("train_loss", "validation_loss")
        if row.get(column) is not None
    ]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(point=True)
        .encode(
            x=alt.X("epoch:Q").axis(tickMinStep=1, format="d"),
            y=alt.Y("loss:Q").scale(zero=False),
            color=alt.Color("of:N").title("positions"),
        )
    )
    return charts.figure("history", "Loss over epochs", "Of training and validation.", chart)


def _verification(summary: Summary) -> Figure:
    histogram = reading.read_json(summary.path, "histogram")["histogram"]
    chart = charts.histogram(
        "integer less float evaluation (centipawns)", histogram["edges_cp"], histogram["counts"]
    )
    return charts.figure("histogram", "Error of the integer net", "", chart)


def _dataset(summary: Summary) -> Figure | None:
    scores = data.open(summary.path).records["score"]
    scores = scores[scores != NO_SCORE]
    if not len(scores):
        return None
    counts, edges = np.histogram(scores.clip(-1000, 1000), bins=np.arange(-1000, 1001, 50))
    title = "Scores for the side to move, beyond 1000 in the last bars"
    chart = charts.histogram("score (centipawns)", edges.tolist(), counts.tolist())
    return charts.figure("histogram", title, "", chart)


def _net(summary: Summary) -> Figure:
    """The weights of the neuron with the largest ones, as pictures in a row."""
    from nnuelab.nnue.netfile import read_net
    from nnuelab.report.geometry import pictures

    net = read_net(summary.path)
    neuron = int((net.w1.astype(np.float64) ** 2).sum(axis=0).argmax())
    drawn = pictures(net.features)[0][1]
    shown = [picture for picture in drawn if picture.group == drawn[0].group][:12]
    values = [
        {
            "picture": picture.title or picture.group or "features",
            "column": column,
            "row": row,
            "weight": float(net.w1[picture.cells[r, c], neuron] / net.scales["w1"]),
        }
        for picture in shown
        for r, row in enumerate(picture.rows)
        for c, column in enumerate(picture.columns)
        if picture.cells[r, c] >= 0
    ]
    first = shown[0]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rect()
        .encode(
            x=alt.X("column:O").sort(first.columns).title(None),
            y=alt.Y("row:O").sort(first.rows).title(None),
            color=alt.Color("weight:Q").scale(scheme="redblue", domainMid=0),
            facet=alt.Facet("picture:N", columns=4)
            .sort(list(dict.fromkeys(p.title for p in shown)))
            .title(None),
        )
        .properties(width=WIDTH // 5, height=WIDTH // 5)
    )
    title = f"Neuron {neuron} of {net.feature_set}, which has the largest weights"
    return Figure("net", title, "", chart.to_dict())


def _tournament(summary: Summary) -> Figure:
    rows = summary.tables[CROSS]
    values = [
        {"player": row["player"], "against": other["player"], "percent": float(cell)}
        for row in rows
        for other in rows
        if (cell := row[str(other[""])])
    ]
    order = [row["player"] for row in rows]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rect()
        .encode(
            x=alt.X("against:N").sort(order),
            y=alt.Y("player:N").sort(order),
            color=alt.Color("percent:Q").scale(scheme="redblue", domain=[0, 100]),
            tooltip=["player:N", "against:N", "percent:Q"],
        )
    )
    caption = "Percent of the points, row against column."
    return charts.figure("cross", "Cross table", caption, chart, 28 * len(order))


def _triplets(summary: Summary) -> Figure:
    return pqr.figure(reading.read_json(summary.path, "pqr_centipawns")["pqr_centipawns"])
