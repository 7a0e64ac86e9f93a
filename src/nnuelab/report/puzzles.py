"""Puzzle scores of an experiment's nets, by rating and by theme: figures and a table.

A feature set's numbers are means over its seeds, of the ends of the intervals, too: the nets were
asked the same puzzles, so that more seeds don't make an interval narrower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import altair as alt

from nnuelab.charts import HEIGHT, SHARE_TICKS, Figure, figure, fitted, share_scale, zoom
from nnuelab.errors import UserError
from nnuelab.names import labels
from nnuelab.report.grids import Grid
from nnuelab.report.line_labels import direct, named
from nnuelab.report.plots import ROW_HEIGHT, color
from nnuelab.report.reading import read_csv
from nnuelab.report.results import Experiment, NetFiles, Results

MOST_THEMES = 16  # of a figure, those with the most puzzles; the table has all
WIDEST = 0.4  # of an interval of a theme in a figure
BAR = 7  # pixels of a set in a theme's row
TITLE = "share of right moves"


@dataclass(frozen=True)
class Score:
    """One feature set and one group of puzzles.

    Attributes
    ----------
    kind, group : str
        As in `tournament.puzzle_scores.Group`.
    puzzles, moves : int
        That each net was asked.
    accuracy, low, high : float
        Right moves / moves of the solver, and its 95 % Wilson interval.
    """

    feature_set: str
    kind: str
    group: str
    puzzles: int
    moves: int
    accuracy: float
    low: float
    high: float


def gather(experiment: Experiment, problems: list[str]) -> list[Score]:
    """Scores of each set in each group, of the puzzles.csv beside the nets.

    A set whose files are missing or damaged is left out, and ``problems`` gets a line.
    """
    by_set: dict[str, list[NetFiles]] = {}
    for net in experiment.nets:
        by_set.setdefault(net.entry, []).append(net)
    files = [_file(net) for net in experiment.nets]
    if files and not any(path.is_file() for path in files):
        made = f"snakemake results/{experiment.name}_table.csv"
        problems.append(f"The nets have solved no puzzles yet; let them: {made}")
        return []
    found = []
    for name, of_set in by_set.items():
        try:
            found += scores(name, [read_csv(_file(net), texts=("kind", "group")) for net in of_set])
        except UserError as error:
            problems.append(str(error))
    return found


def _file(net: NetFiles) -> Path:
    return net.path.with_name("puzzles.csv")


def scores(feature_set: str, files: Sequence[Sequence[Mapping[str, str]]]) -> list[Score]:
    """Scores of one set by group, of the rows of its nets' files.

    Raises
    ------
    UserError
        When they are damaged, of another version, or of different puzzles.
    """
    found = []
    for rows in zip(*files, strict=False):
        try:
            groups = {
                (row["kind"], row["group"], int(row["puzzles"]), int(row["moves"])) for row in rows
            }
            shares = [int(row["right"]) / max(int(row["moves"]), 1) for row in rows]
            ends = [fmean(float(row[f"accuracy_{end}"]) for row in rows) for end in ("low", "high")]
        except (ValueError, KeyError) as error:
            raise UserError(
                f"puzzles.csv of {feature_set} is damaged or of another version ({error!r}); "
                "delete it and run again"
            ) from error
        if len(groups) == 1:
            found.append(Score(feature_set, *groups.pop(), fmean(shares), *ends))
    if any(len(rows) != len(found) for rows in files):
        raise UserError(
            f"the nets of {feature_set} solved different puzzles; "
            "make the table of the experiment again"
        )
    return found


def grid(found: Results, name: str, nets: Sequence[NetFiles], all_scores: Sequence[Score]) -> Grid:
    """Every score as a row; ``name`` is the experiment's."""
    columns = {
        "feature_set": "feature set",
        "kind": "by",
        "group": "puzzles of",
        "puzzles": "puzzles",
        "moves": "moves",
        "accuracy": TITLE,
        "low": "from",
        "high": "to",
    }
    files: dict[str, list[str]] = {}
    for net in nets:
        files.setdefault(net.entry, []).append(found.label(_file(net)))
    return Grid(
        f"{name}-puzzles",
        "Puzzles: right moves of the moves asked for, with the 95 % interval (Wilson)",
        list(columns.items()),
        [[_cell(getattr(score, column)) for column in columns] for score in all_scores],
        [{"": files[score.feature_set]} for score in all_scores],
        called=labels([score.feature_set for score in all_scores]),
    )


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def figures(all_scores: Sequence[Score], sets: Sequence[str]) -> list[Figure]:
    """Accuracy by rating and by theme, where there are scores."""
    made = (_by_rating(all_scores, sets), _by_theme(all_scores, sets))
    return [each for each in made if each is not None]


def _values(all_scores: Sequence[Score], kind: str) -> list[dict[str, object]]:
    return [
        {
            "set": score.feature_set,
            "group": score.group,
            "puzzles": score.puzzles,
            "accuracy": score.accuracy,
            "low": score.low,
            "high": score.high,
        }
        for score in all_scores
        if score.kind == kind
    ]


_TOOLTIP = [
    alt.Tooltip("set:N", title="feature set"),
    alt.Tooltip("group:N", title="puzzles of"),
    alt.Tooltip("puzzles:Q", format=","),
    alt.Tooltip("accuracy:Q", title=TITLE, format=".1%"),
    alt.Tooltip("low:Q", title="from", format=".1%"),
    alt.Tooltip("high:Q", title="to", format=".1%"),
]


def _intervals(
    base: alt.Chart, along: Literal["x", "y"], low: Any, high: Any, scale: alt.Scale
) -> Any:
    """Accuracies and their intervals along an axis."""
    span = low("low:Q", scale=scale).title(TITLE).axis(format="%", tickCount=SHARE_TICKS)
    rules = base.mark_rule(strokeWidth=2).encode(span, high("high:Q"))
    points = base.mark_point(filled=True, size=40, opacity=1)
    points = points.encode(**{along: "accuracy:Q"}, tooltip=_TOOLTIP)
    return alt.layer(rules, points.add_params(zoom(along)))


def _by_rating(all_scores: Sequence[Score], sets: Sequence[str]) -> Figure | None:
    values = _values(all_scores, "rating")
    if not values:
        return None
    bands = sorted({str(v["group"]) for v in values}, key=lambda band: int(band.split("-")[0]))
    rated = [score for score in all_scores if score.kind == "rating"]
    last = {score.feature_set: score.accuracy for score in rated if score.group == bands[-1]}
    reached = [end for score in rated for end in (score.low, score.high)]
    beside = direct(last, reached, HEIGHT, 1.0) if len(last) == len(sets) else None
    drawn = color(sets, legend=not beside)
    shares = (score.high for score in rated)
    scale = fitted(beside.domain) if beside else share_scale(shares)
    base = alt.Chart(alt.Data(values=values)).encode(
        drawn,
        x=alt.X("group:O").sort(bands).title("rating of the puzzle").axis(labelAngle=-45),
        xOffset=alt.XOffset("set:N").sort(list(sets)),
    )
    chart = _intervals(base, "y", alt.Y, alt.Y2, scale)
    if beside:
        chart = alt.layer(chart, named(beside, alt.value("width"), "accuracy", drawn))
    return figure(
        "puzzles-rating",
        "Puzzles by rating",
        "Right moves of the moves asked for, mean over the seeds. Bars: 95 % (Wilson) for other "
        "puzzles of that rating.",
        chart,
    )


def _by_theme(all_scores: Sequence[Score], sets: Sequence[str]) -> Figure | None:
    values = _values(all_scores, "theme")
    if not values:
        return None
    widths: dict[str, list[float]] = {}  # commonest first, as the files have them
    for score in all_scores:
        if score.kind == "theme":
            widths.setdefault(score.group, []).append(score.high - score.low)
    themes = [name for name, of in widths.items() if fmean(of) <= WIDEST][:MOST_THEMES]
    if not themes:
        return None
    base = alt.Chart(alt.Data(values=[v for v in values if v["group"] in themes])).encode(
        y=alt.Y("group:N").sort(themes).title(None),
        yOffset=alt.YOffset("set:N").sort(list(sets)),
        color=color(sets),
    )
    left = any(fmean(of) > WIDEST for of in widths.values())
    height = max(ROW_HEIGHT, BAR * len(sets) + 8) * len(themes)
    return figure(
        "puzzles-theme",
        "Puzzles by theme",
        f"The {len(themes)} commonest themes; a puzzle may have several. Bars: 95 % (Wilson)."
        + (
            " Themes of so few puzzles that they tell nothing are in the table alone."
            if left
            else ""
        ),
        _intervals(base, "x", alt.X, alt.X2, share_scale(score.high for score in all_scores)),
        max(height, 120),
    )
