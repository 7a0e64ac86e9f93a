"""The ladder: engines, nets, evaluations and policies of one tournament, in results/ladder.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from nnuelab.charts import Figure, figure, zoom
from nnuelab.names import listed
from nnuelab.report import reading
from nnuelab.report.grids import Grid
from nnuelab.report.results import LADDER
from nnuelab.report.section import Section, told

ROW_HEIGHT = 20

Row = Mapping[str, str]


def section(folder: Path, label: Any) -> Section | None:
    """Its view of the page; None where no ratings of it are in ``results``.

    ``label`` says how a file is called.
    """
    path = folder / LADDER
    if not path.is_file():
        return None
    found = Section("ladder", "Ladder", ("ladder",))
    with told(found.problems, "the ladder"):
        rows = reading.read_ratings(path)
        anchor = str(reading.parameters_of(path).get("anchor") or "the mean of all")
        found.said = [_words(rows, anchor)]
        found.figures = [_figure(rows, anchor)]
        found.grids = [_grid(rows, anchor, label(path))]
    return found


def _words(rows: Sequence[Row], anchor: str) -> str:
    players = [row["name"] for row in rows]
    least_of_first = float(rows[0]["elo"]) - float(rows[0]["error"])
    first = [r["name"] for r in rows if float(r["elo"]) + float(r["error"]) >= least_of_first]
    highest = (
        f"{players[0]} is rated highest"
        if len(first) == 1
        else f"{listed(first)} are rated highest (their intervals overlap)"
    )
    is_told = anchor in players and anchor not in first
    own = f", {anchor} is number {players.index(anchor) + 1}" if is_told else ""
    least, *_, most = sorted([int(row["games"]) for row in rows] * 2)
    games = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return (
        f"Of {len(rows)} players {highest}{own}. Each played {games} games; "
        "neighbours whose intervals overlap may stand in another order."
    )


def _figure(rows: Sequence[Row], anchor: str) -> Figure:
    values = [
        {"player": row["name"], "elo": elo, "low": elo - error, "high": elo + error}
        for row in rows
        for elo, error in ((float(row["elo"]), float(row["error"])),)
    ]
    title = f"Elo relative to {anchor}"
    # So few that all labels have room on a phone: of more, every other one goes, perhaps that of 0.
    few = alt.Axis(tickCount=alt.ExprRef("ceil(width / 80)"), labelOverlap=False)
    base = alt.Chart(alt.Data(values=values)).encode(y=alt.Y("player:N").sort(None).title(None))
    rules = base.mark_rule(strokeWidth=5, opacity=0.5, style="interval").encode(
        alt.X("low:Q", axis=few).title(title), alt.X2("high:Q")
    )
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("elo:Q", axis=few).title(title).scale(padding=8),
        tooltip=[
            alt.Tooltip("player:N"),
            *(
                alt.Tooltip(f"{name}:Q", title=text, format="+.0f")
                for name, text in (("elo", "Elo"), ("low", "from"), ("high", "to"))
            ),
        ],
    )
    return figure(
        "elo",
        "Elo of all players",
        "Bars: 95 % intervals of the games.",
        alt.layer(rules, dots.add_params(zoom("x"))),
        max(ROW_HEIGHT * len(rows), 120),
    )


def _grid(rows: Sequence[Row], anchor: str, label: str) -> Grid:
    titles = {
        "name": "player",
        "elo": "Elo",
        "error": "\u00b1 (95\u00a0%)",
        "score": "score (share)",
    }
    columns = [(name, titles.get(name, name)) for name in rows[0]]
    return Grid(
        "ladder",
        f"Elo relative to {anchor}",
        columns,
        [[row[name] for name, _ in columns] for row in rows],
        [{"": [label]}] * len(rows),
    )
