"""What a search for feature sets left in results/search: all that it tried, and the front."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import altair as alt

from nnuelab.charts import Figure, figure, fitted, zoom
from nnuelab.discovery.foretold import Foretold, agreement, scatter
from nnuelab.intervals import SIGNIFICANCE
from nnuelab.names import listed
from nnuelab.report import point_labels, reading
from nnuelab.report.grids import Grid
from nnuelab.report.point_labels import Point
from nnuelab.report.section import Section, told

HISTORY, FRONT, CHECKS = "history.csv", "front.csv", "check*.csv"
NEEDED = ("number", "generation", "rung", "feature_set", "move", "n_features", "rows", "cost")
OF_SCREEN = ("positions", "epochs", "learning_rate", "schedule", "l1", "seeds")
TEXTS = ("feature_set", "move", "parents")
DEARER = 1.2  # times the anchor's node: what a builder may still pay
COLUMNS = (
    ("feature_set", "feature set"),
    ("cost", "cost of a node, foretold (\u00d7 anchor)"),
    ("loss", "validation loss"),
    ("less", "less than the anchor's (%)"),
    ("n_features", "features"),
    ("rows", "rows of a move"),
    ("generation", "generation"),
    ("move", "made by"),
)

Row = Mapping[str, str]


def section(folder: Path, label: str, viewed: Collection[str] = ()) -> Section | None:
    """The search's view of the page; None where nothing was searched.

    Parameters
    ----------
    folder : Path
        ``results/search``.
    label : str
        Its name on the page.
    viewed : collection of str
        Sets that have a view of their own.
    """
    if not (folder / HISTORY).is_file():
        return None
    found = Section("searched", "Search", ("search",))
    apart, sure = 0.0, []
    with told(found.problems, "how well its screens foretell"):
        made = reading.parameters_of(folder / HISTORY)
        for path in sorted(folder.glob(CHECKS)):
            checked = reading.parameters_of(path)
            if all(checked.get(name) == made.get(name) for name in OF_SCREEN):
                share, words = _sure(path, label)
                apart = max(apart, share)
                sure.append(words)
    with told(found.problems, "the search"):
        rows = reading.read_csv(folder / HISTORY, NEEDED, texts=TEXTS)
        front = reading.read_csv(folder / FRONT, NEEDED, texts=TEXTS)
        of_anchor = _of_anchor(rows)
        found.said = [_words(rows, front, of_anchor, apart), *sure]
        found.figures = [_figure(rows, front, of_anchor, apart)]
        found.grids = [_grid(front, of_anchor, f"{label}/{FRONT}", viewed)]
        found.note = (
            "A screen's losses are of short trainings, and costs those of terms one by one. What "
            "the sets are worth, games say, of nets of other trainings."
        )
    return found


def _sure(path: Path, label: str) -> tuple[float, str]:
    """By which share losses must differ to be told apart, by a table of `nnuelab search-check`."""
    rows = reading.read_csv(path, ("feature_set", "screen", "full"), texts=("feature_set",))
    losses = [Foretold(r["feature_set"], float(r["screen"]), float(r["full"])) for r in rows]
    apart = SIGNIFICANCE * sqrt(2) * scatter(losses)
    return apart, (
        f"Of two sets whose screens differ by less than {100 * apart:.0f} %, either may have the "
        f"lower loss after a full training (95 %, by {len(rows)} sets that no search has chosen, "
        f"whose ranks correlate at {agreement(losses):.2f}; {label}/{path.name})."
    )


def _of_anchor(rows: Sequence[Row]) -> float:
    """The anchor's loss on the longest screen."""
    return float([row["loss"] for row in rows if row["number"] == "0"][-1])


def _words(rows: Sequence[Row], front: Sequence[Row], of_anchor: float, apart: float) -> str:
    sets = {row["number"]: row["feature_set"] for row in rows}
    generations = len({row["generation"] for row in rows})
    best = _best(front)
    trained = len({row["number"] for row in rows if row["loss"]})
    said = (
        f"{len(sets):,} sets were proposed in {generations} generations, {trained:,} of them "
        "within the limits, and trained."
    )
    cheap_enough = f"that cost at most {DEARER:g} times as much as {sets['0']}"
    if best is None or best["feature_set"] == sets["0"]:
        return f"{said} Of those {cheap_enough}, none has a lower loss."
    alike = [row for row in _cheap(front) if _loss(best) >= (1 - apart) * _loss(row)]
    if len(alike) < 2:
        return (
            f"{said} Of those {cheap_enough}, {best['feature_set']} has the lowest loss: "
            f"{_less(best, of_anchor)} % less, at a foretold cost of {float(best['cost']):.2f}."
        )
    names = listed([row["feature_set"] for row in alike])
    return (
        f"{said} Those with the lowest losses at up to {DEARER:g} times the cost of {sets['0']} "
        f"are {names}, by {_less(max(alike, key=_loss), of_anchor)} to {_less(best, of_anchor)} %. "
        "These screens don't tell them apart."
    )


def _best(front: Sequence[Row]) -> Row | None:
    """That with the lowest loss among those that a builder may pay."""
    return min(_cheap(front), key=_loss, default=None)


def _loss(row: Row) -> float:
    return float(row["loss"])


def _cheap(front: Sequence[Row]) -> list[Row]:
    return [row for row in front if float(row["cost"]) <= DEARER]


def _steps(front: Sequence[Row], apart: float) -> list[Row]:
    """The sets whose loss is told from that of the one before, of which the first is cheapest."""
    steps: list[Row] = []
    for row in sorted(front, key=lambda row: float(row["cost"])):
        if not steps or _loss(row) < (1 - apart) * _loss(steps[-1]):
            steps.append(row)
    return steps


def _less(row: Row, of_anchor: float) -> str:
    return f"{100 * (1 - float(row['loss']) / of_anchor):.1f}"


def _figure(rows: Sequence[Row], front: Sequence[Row], of_anchor: float, apart: float) -> Figure:
    """Loss against cost of every set on the longest screen that it reached; the front as a line."""
    names = {row["number"]: row["feature_set"] for row in rows}
    last = {row["number"]: row for row in rows if row["loss"]}
    longest = max(int(row["rung"]) for row in rows)
    values: list[dict[str, Any]] = [
        {
            "set": row["feature_set"],
            "cost": float(row["cost"]),
            "loss": float(row["loss"]),
            "screen": "last" if int(row["rung"]) == longest else "earlier",
            "made": " and ".join([row["move"], *(names[n] for n in row["parents"].split())]),
            "generation": int(row["generation"]),
        }
        for row in last.values()
    ]
    line: list[dict[str, Any]] = [
        {"set": row["feature_set"], "cost": float(row["cost"]), "loss": float(row["loss"])}
        for row in _steps(front, apart)
    ]
    least = min(map(_loss, front))
    # Blocks alone may be many times worse, and would flatten the front, which is about the anchor.
    top = of_anchor + max(0.5 * (of_anchor - least), 0.05 * of_anchor)
    up = (least - 0.2 * (top - least), top)  # names have room below the front
    beyond = sum(value["loss"] > top for value in values)
    values = [value for value in values if value["loss"] <= top]
    points = {v["set"]: Point(v["cost"], v["loss"], v["loss"], v["loss"]) for v in values}
    # Where the front is too long for the names of all: the anchor, the one to take, and the last.
    few = [names["0"], *(row["feature_set"] for row in (_best(front), front[-1]) if row)]
    tried = (
        point_labels.beside(points, [name for name in only if name in points], up)
        for only in ([row["feature_set"] for row in front], few)
    )
    beside = next(filter(None, tried), None)
    named = point_labels.named(beside, alt.Detail("set:N"), "cost", "loss") if beside else []
    x = (
        alt.X("cost:Q")
        .title("cost of a node, foretold (\u00d7 anchor)")
        .scale(fitted(beside.across if beside else None, 10))
    )
    y = alt.Y("loss:Q").title("validation loss").scale(domain=up, nice=False, clamp=False)
    told = [
        alt.Tooltip("set:N", title="feature set"),
        alt.Tooltip("cost:Q", title="cost of a node", format=".2f"),
        alt.Tooltip("loss:Q", title="validation loss", format=".6f"),
        alt.Tooltip("made:N", title="made by"),
        "generation:Q",
    ]
    screens = alt.Color("screen:N").title("screen").scale(domain=["last", "earlier"])
    dots = (
        alt.Chart(alt.Data(values=values))
        .mark_point(filled=True, size=45)
        .encode(
            x=x,
            y=y,
            color=screens if longest else screens.legend(None),
            opacity=alt.condition("datum.screen == 'last'", alt.value(0.9), alt.value(0.35)),
            tooltip=told,
        )
    )
    drawn = (
        alt.Chart(alt.Data(values=line))
        .mark_line(interpolate="step-after", clip=True, aria=False)
        .encode(x=x, y=y, tooltip=told[:3])
    )
    steps = f", in steps of at least {100 * apart:.0f} %, which screens tell apart" * (apart > 0)
    hidden = f"{beyond:,} of {beyond + len(values):,} sets have a larger loss than it shows. "
    return figure(
        "front",
        "Loss against cost",
        f"Every set{' on the longest screen that it reached' if longest else ''}; the line is the "
        f"front{steps}, which no other set beats in both. {hidden if beyond else ''}"
        + ("Losses of earlier screens are of fewer positions, so they are larger." * bool(longest)),
        alt.layer(drawn, *named, dots.add_params(zoom())),
    )


def _grid(front: Sequence[Row], of_anchor: float, source: str, viewed: Collection[str]) -> Grid:
    return Grid(
        "searched-front",
        "The front: sets that no other one beats in loss and cost.",
        list(COLUMNS),
        [[{**row, "less": _less(row, of_anchor)}[name] for name, _ in COLUMNS] for row in front],
        sources=[{"": [source]} for _ in front],
        more=frozenset({"rows", "generation", "move"}),
        links=[("set", name) if (name := row["feature_set"]) in viewed else () for row in front],
    )
