"""Active features of a set, their changes by a move, and the cost of these.

All figures are those of one accumulator, so of one player's view of the board; what the two players
see is never added up. docs/feature-statistics.md says what each of them means.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from nnuelab import artifacts, charts, features
from nnuelab.charts import Figure
from nnuelab.chess.position import POSITION
from nnuelab.data import feature_counts, validation
from nnuelab.data.dataset import INDEX, evenly
from nnuelab.data.records import unpack
from nnuelab.data.sampling import sample
from nnuelab.nnue import replay
from nnuelab.settings.sample import Sampling
from nnuelab.settings.train import Training

Row = dict[str, Any]

COLUMNS = (
    "feature_set",
    "perspective",  # mover: of the side to move, other, both: their mean
    "features",
    "dead",
    "never_seen",
    "positions",
    "moves",
    "active",
    "active_with_repeats",
    "added",
    "removed",
    "touched",
    "refreshes_per_move",
    "refreshes_per_game",
    "l1",
    "weight_bytes",
    "row_ns",
    "predicted_ns",
    "measured_ns",
    "published_active",
    "published_added",
    "published_removed",
)

PUBLISHED = {  # active, added and removed; M. E. Lombardo, UBA 2024
    "ALL": (14.68, 0.98, 0.60),
    "H": (14.68, 0.60, 0.43),
    "V": (14.68, 0.61, 0.43),
    "D1": (14.68, 0.77, 0.52),
    "D2": (14.68, 0.77, 0.52),
    "PH": (8.23, 0.92, 0.57),
    "PV": (8.30, 0.83, 0.53),
    "MB": (48.93, 5.68, 4.35),
    "MC": (12.00, 2.34, 1.48),
}

PUBLISHED_NOTE = (
    "The published numbers of added and removed rows can't be those of an accumulator: a legal "
    "move adds at least one feature of ALL and removes at least as many, and MC always has twelve, "
    "so that a move adds as many as it removes. They mix both players' views, so that updates look "
    "a fifth to a quarter cheaper than they are. The study's positions have fewer pieces than most "
    "games, and its active features count repeats: docs/feature-statistics.md compares with as "
    "many pieces."
)

PLAYED = 1 << 22  # positions of a dataset whose played moves are counted
TIMED_POSITIONS = 200  # whose moves are made to measure a time
LARGEST_TIMED = 2 << 30  # bytes of weights; a larger first layer isn't made for it
ROUNDS = 15
SECONDS = 0.005  # of one measurement
ROW_HEIGHT = 34  # pixels of a set in a figure
COLORS = ["#4c78a8", "#f58518", "black"]  # in a file; the page has its own


@dataclass(frozen=True)
class Positions:
    """The positions that statistics are made of.

    Attributes
    ----------
    records : RECORD [n]
        The positions whose legal moves are counted.
    played : RECORD
        Positions with the move played in each.
    games : int or None
        How many whole games ``played`` are; None when they aren't.
    """

    records: np.ndarray
    played: np.ndarray
    games: int | None


def load(path: Path, limit: int) -> Positions:
    """Positions of a dataset, evenly spaced, or of the first games of a PGN file.

    Of a dataset the first PLAYED positions are those with moves played.

    Raises
    ------
    UserError
        When the file is missing, damaged or has no positions.
    """
    if path.suffix in (".npy", INDEX):
        records = validation.spaced(path, limit)
        played = _uncut(_first(path, PLAYED), PLAYED)
        return Positions(records, played, _whole_games(played))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "positions.npy"
        options = Sampling(
            min_ply=0,
            skip_check=False,
            skip_captures=False,
            skip_promotions=False,
            max_positions=limit,
        )
        sample([path], output, options)
        records = np.load(output)
    played = _uncut(records, limit)
    return Positions(records, played, len(np.unique(played["game"])))


def _first(path: Path, most: int) -> np.ndarray:
    parts: list[np.ndarray] = []
    for part in validation.chunks(path):
        parts.append(part[:most])
        most -= len(parts[-1])
        if not most:
            break
    return np.concatenate(parts)


def _uncut(records: np.ndarray, most: int) -> np.ndarray:
    """Without the last of several games, which may be cut where there are as many as were read."""
    before = records["game"] != records["game"][-1]
    return records[before] if len(records) == most and before.any() else records


def _whole_games(records: np.ndarray) -> int | None:
    """The number of games when every one is there move by move from its first, else None."""
    games, plies = records["game"].astype(np.int64), records["ply"].astype(np.int64)
    begins = np.diff(games, prepend=games[0] - 1) != 0
    follows = np.diff(plies, prepend=-1) == 1
    whole = np.where(begins, plies == 0, follows).all() and (records["move"] != 0).all()
    return int(begins.sum()) if whole and len(np.unique(games)) == begins.sum() else None


def rows(feature_set: features.FeatureSet, positions: Positions, l1: int) -> list[Row]:
    """Rows of COLUMNS: three for each term of a sum and three for the whole."""
    parts = [features.FeatureSet((term,)) for term in feature_set.terms]
    sets = [*parts, feature_set] if len(parts) > 1 else [feature_set]
    moves = replay.Moves.of(_timed(positions.records))
    return [row for each in sets for row in _rows_of(each, positions, l1, moves)]


def _timed(records: np.ndarray) -> list[np.void]:
    places = evenly(len(records), TIMED_POSITIONS)
    found = np.zeros(len(places), POSITION)
    for place, position in zip(places, found, strict=True):
        unpack(records[place], position)
    return list(found)


def _rows_of(
    feature_set: features.FeatureSet, positions: Positions, l1: int, moves: replay.Moves
) -> list[Row]:
    counts, seen = feature_counts.count(feature_set, positions.records)
    played = feature_counts.played_refreshes(feature_set, positions.played)
    published = PUBLISHED.get(feature_set.name, (None, None, None))
    row: Row = {
        "feature_set": feature_set.name,
        "features": feature_set.size,
        "dead": len(feature_set.dead),
        "never_seen": int((~seen).sum()),
        "positions": int(counts["positions"][0]),
        "moves": int(counts["moves"][0]),
        "active_with_repeats": feature_counts.with_repeats(feature_set, positions.records),
        "refreshes_per_game": None if positions.games is None else played.mean() / positions.games,
        "l1": l1,
        "weight_bytes": 2 * feature_set.size * l1,
        **_cost(feature_set, l1, moves),
        **dict(zip(COLUMNS[-3:], published, strict=True)),
    }
    sides = {"both": slice(0, 2), "mover": slice(0, 1), "other": slice(1, 2)}
    return [
        {
            column: ({**row, "perspective": side} | _means(counts[part]))[column]
            for column in COLUMNS
        }
        for side, part in sides.items()
    ]


def _means(counts: np.ndarray) -> Row:
    moves = max(int(counts["moves"].sum()), 1)
    means = {name: counts[name].sum() / moves for name in ("added", "removed", "touched")}
    return {
        "active": counts["active"].sum() / counts["positions"].sum(),
        "refreshes_per_move": counts["refreshes"].sum() / moves,
        **means,
    }


def _cost(feature_set: features.FeatureSet, l1: int, moves: replay.Moves) -> Row:
    if 2 * feature_set.size * l1 > LARGEST_TIMED or not moves.updates:
        return {"row_ns": None, "predicted_ns": None, "measured_ns": None}
    replayed = replay.Replay(replay.any_net(feature_set, l1), moves)
    cost = replayed.cost(replay.in_turn(replayed.sides, ROUNDS, SECONDS))
    names = ("row_ns", "predicted_ns", "measured_ns")
    return {name: float(np.median(getattr(cost, name))) for name in names}


def update_ns(feature_set: features.FeatureSet, positions: Sequence[np.void]) -> float | None:
    """Nanoseconds of an accumulator's update, on all legal moves of positions.

    None where the first layer is too large, or there is no move.
    """
    chosen = [positions[place] for place in evenly(len(positions), TIMED_POSITIONS)]
    found: float | None = _cost(feature_set, Training.l1, replay.Moves.of(chosen))["measured_ns"]
    return found


def write_csv(path: Path, found: list[Row]) -> None:
    """Writes all columns, a value that isn't known as an empty cell."""
    with artifacts.atomic(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(
            {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in found
        )


def tables(found: list[Row]) -> dict[str, tuple[list[str], list[list[str]]]]:
    """The printed tables: head and lines by title, means of both perspectives."""
    shown = [row for row in found if row["perspective"] == "both"]
    wanted = {
        "features of a position": {
            "features": "features",
            "dead": "dead",
            "never seen": "never_seen",
            "active": "active",
            "with repeats": "active_with_repeats",
        },
        "rows that a legal move changes in one accumulator, and refreshes": {
            "added": "added",
            "removed": "removed",
            "touched": "touched",
            "refreshes a move": "refreshes_per_move",
            "a game": "refreshes_per_game",
        },
        "an update of one accumulator": {
            "l1": "l1",
            "bytes of weights": "weight_bytes",
            "ns a row": "row_ns",
            "ns predicted": "predicted_ns",
            "ns measured": "measured_ns",
        },
        "as the study published it, wrong as it is (see docs/feature-statistics.md)": {
            "active": "published_active",
            "added": "published_added",
            "removed": "published_removed",
        },
    }
    made = {}
    for title, columns in wanted.items():
        lines = [
            [row["feature_set"], *(_cell(row[column]) for column in columns.values())]
            for row in shown
            if any(row[column] is not None for column in columns.values())
        ]
        if lines:
            made[title] = (["feature set", *columns], lines)
    return made


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def plot(path: Path, found: list[Row]) -> None:
    """Draws the changes by a move and the cost of an update."""
    shown = [row for row in found if row["perspective"] == "both"]
    size = {"width": 420, "height": ROW_HEIGHT * len(shown)}
    panels = [panel.properties(**size) for panel in (_changes(shown), _times(shown))]
    together = alt.hconcat(*panels).resolve_scale(color="independent")
    styled = together.configure_legend(orient="top").configure_range(category=COLORS)
    charts.save(path, Figure("statistics", "Feature statistics", "", styled.to_dict()))


def changes(found: Sequence[Mapping[str, Any]]) -> Figure:
    """Rows that a move changes, with the study's numbers: the figure of the report page.

    Parameters
    ----------
    found : sequence of dict
        As `rows` returns them, or as text.
    """
    shown = [row for row in found if row["perspective"] == "both"]
    return charts.figure(
        "updates",
        "What a move changes",
        "Ours are means of one accumulator over all legal moves. The study's mix the two players' "
        "views: a legal move always adds at least one feature of ALL, yet 0.98 is printed.",
        _changes(shown, charts.zoom("x")),
        max(ROW_HEIGHT * len(shown), 120),
    )


def _changes(shown: Sequence[Mapping[str, Any]], *params: Any) -> Any:
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
    order = [row["feature_set"] for row in shown]
    tip = alt.Tooltip("set:N", title="feature set")
    kinds = ["added", "removed", *(["published (both)"] if published else [])]
    bars = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("rows:Q").title("rows changed by a legal move").axis(tickCount=8),
            y=alt.Y("set:N").sort(order).title(None),
            color=alt.Color("kind:N").title(None).scale(domain=kinds),
            tooltip=[tip, "kind:N", alt.Tooltip("rows:Q", format=".2f")],
        )
    )
    ticks = (
        alt.Chart(alt.Data(values=published))
        .mark_tick(thickness=5, size=22, stroke="white", strokeWidth=1)
        .encode(
            x="rows:Q",
            y=alt.Y("set:N").sort(order),
            color=alt.datum("published (both)"),
            tooltip=[tip, alt.Tooltip("rows:Q", title="published, both", format=".2f")],
        )
    )
    return alt.layer(bars.add_params(*params), ticks)


def _times(shown: Sequence[Row]) -> Any:
    kinds = {"predicted by its rows": "predicted_ns", "measured": "measured_ns"}
    values = [
        {"set": row["feature_set"], "ns": row[column], "kind": kind}
        for row in shown
        for kind, column in kinds.items()
        if row[column] is not None
    ]
    return (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("ns:Q").title(f"an update of an accumulator of {shown[0]['l1']} neurons (ns)"),
            y=alt.Y("set:N").sort([row["feature_set"] for row in shown]).title(None),
            yOffset=alt.YOffset("kind:N").sort(list(kinds)),
            color=alt.Color("kind:N").title(None).scale(domain=list(kinds)),
            tooltip=["set:N", "kind:N", alt.Tooltip("ns:Q", format=".0f")],
        )
    )
