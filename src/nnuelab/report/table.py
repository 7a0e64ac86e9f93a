"""The table of an experiment: a row for each feature set and variant, from what was measured."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from nnuelab import names
from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.report import published
from nnuelab.report.trained import TrainedNet, read_imported, read_trained
from nnuelab.tournament import yardsticks
from nnuelab.tournament.yardsticks import NODES, TIME, Yardstick

if TYPE_CHECKING:
    from nnuelab.tournament.ratings import SetRating
    from nnuelab.tournament.spread import Pooling


@dataclass(frozen=True)
class Row:
    """What plays; the names and their order are the columns of the CSV. None is not measured.

    Attributes
    ----------
    feature_set : str
    variant : str
        Of an experiment that has some; otherwise the CSV has no such column.
    n_features, l1, l2 : int
        Sizes of the layers.
    seeds : int
        Nets trained from different seeds, over which all else is a mean.
    val_loss_mean, val_loss_sd : float
        Validation loss after the last epoch, and its standard deviation over the seeds. Not of
        variants that minimise something else than the anchor.
    elo, elo_error_games, elo_error_seeds : float
        At fixed nodes, in rating points relative to the anchor, see ``tournament.ratings``.
    elo_time, elo_time_error_games, elo_time_error_seeds : float
        The same at fixed time.
    nps_ratio : float
        Nodes per second relative to the anchor: in the games at fixed time, and where there are
        none, the inverse of ``cost_ratio``.
    puzzle_accuracy : float
        Share of the solver's moves that were right, at fixed nodes.
    quant_mean_cp, quant_rms_cp, quant_max_cp : float
        Integer less float evaluation, centipawns, over the positions of all seeds together.
    active, added, removed : float
        Active features a position, and rows added and removed a legal move, for one perspective.
    train_seconds : float
        Training of one net.
    published_val_loss, published_elo : float
        Of the study: nets 512/32, games at a fixed time per move.
    elo_error, p_adjusted : float
        The error to quote of ``elo``, and its p-value adjusted for the number of rows.
    elo_time_error, p_time_adjusted : float
        Those of ``elo_time``.
    cost_ratio : float
        CPU time of a node relative to the anchor's, see ``tournament.cost``.
    elo_cost and what is said of it : float
        The same as ``elo`` at equal cost: where each player has the nodes of the anchor, divided by
        its ``cost_ratio``.
    elo_deep, elo_deep_cost, and what is said of them : float
        With more nodes: at fixed nodes, and at equal cost.
    """

    feature_set: str
    variant: str
    n_features: int
    l1: int
    l2: int
    seeds: int
    val_loss_mean: float | None = None
    val_loss_sd: float | None = None
    elo: float | None = None
    elo_error_games: float | None = None
    elo_error_seeds: float | None = None
    elo_time: float | None = None
    elo_time_error_games: float | None = None
    elo_time_error_seeds: float | None = None
    nps_ratio: float | None = None
    puzzle_accuracy: float | None = None
    quant_mean_cp: float | None = None
    quant_rms_cp: float | None = None
    quant_max_cp: float | None = None
    active: float | None = None
    added: float | None = None
    removed: float | None = None
    train_seconds: float | None = None
    published_val_loss: float | None = None
    published_elo: float | None = None
    elo_error: float | None = None
    p_adjusted: float | None = None
    elo_time_error: float | None = None
    p_time_adjusted: float | None = None
    cost_ratio: float | None = None
    elo_cost: float | None = None
    elo_cost_error: float | None = None
    p_cost_adjusted: float | None = None
    elo_cost_error_games: float | None = None
    elo_cost_error_seeds: float | None = None
    elo_deep: float | None = None
    elo_deep_error: float | None = None
    p_deep_adjusted: float | None = None
    elo_deep_error_games: float | None = None
    elo_deep_error_seeds: float | None = None
    elo_deep_cost: float | None = None
    elo_deep_cost_error: float | None = None
    p_deep_cost_adjusted: float | None = None
    elo_deep_cost_error_games: float | None = None
    elo_deep_cost_error_seeds: float | None = None


WITH_VARIANT = tuple(field.name for field in fields(Row))
COLUMNS = tuple(name for name in WITH_VARIANT if name != "variant")
COUNTED = ("active", "added", "removed")

# Digits after the point; what isn't here is a whole number or a name.
_DIGITS = {
    "val_loss_mean": 6,
    "val_loss_sd": 6,
    "nps_ratio": 3,
    "cost_ratio": 3,
    "puzzle_accuracy": 4,
    "quant_mean_cp": 2,
    "quant_rms_cp": 2,
    "quant_max_cp": 2,
    "published_val_loss": 6,
    **{yardstick.p: 4 for yardstick in yardsticks.ALL},
    **dict.fromkeys(COUNTED, 2),
} | {
    name: 1
    for name in COLUMNS
    if name.startswith("elo") or name in ("train_seconds", "published_elo")
}


def build(
    experiment: str,
    nets: Mapping[str, Path] | Iterable[Path],
    pgn: Path,
    anchor: str,
    others: Mapping[Yardstick, Path] | None = None,
    statistics: Iterable[Path] = (),
    costs: Mapping[str, float] | None = None,
    pooling: Mapping[Yardstick, Pooling] | None = None,
    imported: Collection[str] = (),
) -> list[Row]:
    """The rows of an experiment, in the order in which its players first occur in ``nets``.

    Parameters
    ----------
    experiment : str
        Its name; published results of an experiment of the same name stand beside ours.
    nets : mapping of str to paths, or iterable of paths
        Net files by player, ``FEATURE_SET#SEED`` or ``FEATURE_SET,VARIANT#SEED``, each with its
        history and verification beside it; without names they are those of their feature sets.
    pgn : path
        Games at fixed nodes between these players.
    anchor : str
        The feature set whose elo is 0, with its variant.
    others : mapping of Yardstick to path, optional
        Games of the same players at other yardsticks.
    statistics : iterable of paths
        What `nnuelab features stats` counted, for the columns active, added and removed.
    costs : mapping of str to float, optional
        What a node costs, by feature set, with its variant.
    pooling : mapping of Yardstick to Pooling, optional
        What is known of the spread of trainings, for the games of each.
    imported : collection of str
        Feature sets, with their variants, whose nets were made elsewhere, so that nothing of their
        training is known.

    Raises
    ------
    UserError
        A file is missing or damaged, or a player didn't play.
    """
    from nnuelab.report.reading import read_statistics
    from nnuelab.tournament.ratings import feature_sets

    counted = {
        line["feature_set"]: line
        for path in statistics
        for line in read_statistics(path)
        if line["perspective"] == "both"
    }
    trained: dict[str, list[TrainedNet]] = {}
    named = nets.items() if isinstance(nets, Mapping) else (("", path) for path in nets)
    for player, path in named:
        row = NetName.parse(player).entry
        net = read_imported(path) if row in imported else read_trained(path)
        trained.setdefault(row or net.feature_set, []).append(net)
    for name, group in trained.items():
        sizes = {(net.l1, net.l2) for net in group}
        objectives = {repr(net.objective) for net in group if net.objective is not None}
        if len(sizes) > 1 or len(objectives) > 1:
            raise UserError(
                f"the nets of {name} differ by more than their seeds; give them by the names that "
                f"they play under: '{name}#1=NET' ..."
            )
    games = {NODES: pgn, **(others or {})}
    ratings = feature_sets(games, anchor, pooling)
    for yardstick, played in games.items():
        if absent := sorted(trained.keys() - ratings[yardstick].keys()):
            told = ", ".join(absent)
            raise UserError(f"{played}: no net of {told} played; play the tournament again")
    price = _relative(costs or {}, trained, anchor)
    speed = _speeds(games[TIME]) if TIME in games else {name: 1 / price[name] for name in price}
    first_known = (
        net.objective
        for group in (trained.get(anchor, []), *trained.values())
        for net in group
        if net.val_loss is not None
    )
    minimised = next(first_known, None)
    rows = []
    for name, group in trained.items():
        first = group[0]
        comparable = all(net.objective == minimised for net in group)
        losses = _known(net.val_loss for net in group) if comparable else []
        solved = [net.puzzle_accuracy for net in group if net.puzzle_accuracy is not None]
        called = NetName.parse(name)
        variant = called.variant if called.feature_set == first.feature_set else name
        loss, elo = published.of(experiment, first, variant)
        rows.append(
            Row(
                feature_set=first.feature_set,
                variant=variant,
                n_features=first.n_features,
                l1=first.l1,
                l2=first.l2,
                seeds=len(group),
                val_loss_mean=fmean(losses) if losses else None,
                val_loss_sd=stdev(losses) if len(losses) > 1 else None,
                nps_ratio=speed[name] / speed[anchor] if {name, anchor} <= speed.keys() else None,
                puzzle_accuracy=fmean(solved) if len(solved) == len(group) else None,
                quant_mean_cp=_mean(net.quant_mean_cp for net in group),
                quant_rms_cp=_rms(net.quant_rms_cp for net in group),
                quant_max_cp=max(_known(net.quant_max_cp for net in group), default=None),
                **{
                    name: float(counted[first.feature_set][name])
                    for name in COUNTED
                    if first.feature_set in counted
                },
                train_seconds=_mean(net.train_seconds for net in group),
                published_val_loss=loss,
                published_elo=elo,
                cost_ratio=price.get(name),
                **{
                    column: value
                    for yardstick in games
                    for column, value in _rated(yardstick, ratings[yardstick][name]).items()
                },
            )
        )
    return rows


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return fmean(known) if known else None


def _rms(values: Iterable[float | None]) -> float | None:
    square = _mean(value**2 for value in _known(values))
    return None if square is None else math.sqrt(square)


def _rated(yardstick: Yardstick, rating: SetRating) -> dict[str, float | None]:
    """An Elo and its errors, by column."""
    return {
        yardstick.column: rating.elo,
        f"{yardstick.column}_error": rating.elo_error,
        yardstick.p: rating.p_adjusted,
        f"{yardstick.column}_error_games": rating.elo_error_games,
        f"{yardstick.column}_error_seeds": rating.elo_error_seeds,
    }


def _relative(costs: Mapping[str, float], names: Iterable[str], anchor: str) -> dict[str, float]:
    """What a node costs relative to the anchor's; UserError where that wasn't measured."""
    if not costs:
        return {}
    if absent := sorted({*names, anchor} - costs.keys()):
        raise UserError(f"what a node of {', '.join(absent)} costs was not measured; measure again")
    return {name: costs[name] / costs[anchor] for name in names}


def entry(row: Mapping[str, str]) -> str:
    """What plays in a row of text: ``SET``, or ``SET,VARIANT``.

    >>> entry({"feature_set": "ALL", "variant": "pqr"}), entry({"feature_set": "H+V"})
    ('ALL,pqr', 'H+V')
    """
    return NetName(row["feature_set"], row.get("variant") or "").entry


def labels(rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """What to call each row by its `entry`, without what all have in common."""
    return names.labels([entry(row) for row in rows])


def anchor_of(rows: Iterable[Mapping[str, str]]) -> str:
    """The entry of a table whose Elo is 0; "" where none is."""
    return next((entry(row) for row in rows if row["elo"] == "0.0"), "")


def relative(rows: Iterable[Mapping[str, str]], anchor: str) -> str:
    """What an Elo is relative to, and what all rows have in common, which `labels` leave out."""
    entries = [entry(row) for row in rows]
    feature_set, variant = names.shared(entries)
    common = " and ".join(filter(None, [feature_set and f"the set {feature_set}", variant]))
    told = f"relative to {names.labels(entries).get(anchor, anchor)}"
    return f"{told}; all rows share {common}" if common else told


def _speeds(pgn: Path) -> dict[str, float]:
    """Nodes per second of each feature set, all its nets together."""
    from nnuelab.tournament.pgn import nodes_and_seconds

    total: dict[str, tuple[int, float]] = {}
    try:
        found = nodes_and_seconds(pgn)
    except (LookupError, ValueError) as error:
        raise UserError(f"{pgn} is damaged ({error}); play its games again") from None
    for player, (nodes, seconds) in found.items():
        name = NetName.parse(player).entry
        before = total.get(name, (0, 0.0))
        total[name] = before[0] + nodes, before[1] + seconds
    return {name: nodes / seconds for name, (nodes, seconds) in total.items()}


def cell(name: str, value: object) -> str:
    """A value of a column as text; None is empty."""
    if value is None:
        return ""
    if name in _DIGITS:
        assert isinstance(value, int | float)
        # Adding 0.0 turns a rounded -0.0 into 0.0.
        return f"{round(value, _DIGITS[name]) + 0.0:.{_DIGITS[name]}f}"
    return str(value)


def cells(row: Row) -> dict[str, str]:
    """A row as text by column; empty where nothing was measured."""
    return {name: cell(name, getattr(row, name)) for name in WITH_VARIANT}


def to_csv(rows: Sequence[Row]) -> str:
    """The table as CSV, with the columns of `Row`; without variants there is no such column."""
    columns = WITH_VARIANT if any(row.variant for row in rows) else COLUMNS
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells(row) for row in rows)
    return text.getvalue()
