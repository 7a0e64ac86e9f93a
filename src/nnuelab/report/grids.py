"""The report's sortable tables: their cells, and the source of each number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nnuelab import names
from nnuelab.report import bars, table, words
from nnuelab.report.bars import Bar, Scale
from nnuelab.report.feature_statistics import PUBLISHED
from nnuelab.report.games import CrossTable
from nnuelab.report.neurons import Activity
from nnuelab.report.results import Experiment, NetFiles, Results
from nnuelab.report.words import Verdict
from nnuelab.tournament.yardsticks import ALL, COST, DEEP, DEEP_COST, NODES, TIME, Yardstick

Row = Mapping[str, str]


def _of_elo(kind: Yardstick, deep: int = 0) -> dict[str, str]:
    """Titles of what was measured at a yardstick, first the verdict and the number."""
    column, where = kind.column, kind.at(deep)
    return {
        words.column_of(kind): f"verdict at {where}",
        column: f"Elo at {where}",
        f"{column}_error": f"\u00b1 (95\u00a0%), {where}",
        kind.p: f"p adjusted, {where}",
        f"{column}_error_games": f"\u00b1 games, {where}",
        f"{column}_error_seeds": f"\u00b1 seeds, {where}",
    }


TITLES = {
    "feature_set": "feature set",
    "variant": "variant",
    **{name: title for kind in ALL for name, title in _of_elo(kind).items()},
    "published_elo": "published Elo",
    "val_loss_mean": "validation loss",
    "val_loss_sd": "its sd",
    "published_val_loss": "published loss",
    "cost_ratio": "cost of a node (\u00d7 anchor)",
    "nps_ratio": "nodes/s (\u00d7 anchor)",
    "puzzle_accuracy": "puzzles: right moves (share)",
    "quant_mean_cp": "quantization: integer error, mean (cp)",
    "quant_rms_cp": "quantization: rms (cp)",
    "quant_max_cp": "quantization: max (cp)",
    "train_seconds": "training (s)",
    "n_features": "features",
    "active": "active",
    "added": "added",
    "removed": "removed",
    "seeds": "seeds",
    "l1": "L1",
    "l2": "L2",
}


@dataclass(frozen=True)
class Grid:
    """A table of text.

    Attributes
    ----------
    name : str
        Part of its id on the page.
    caption : str
    columns : list of (str, str)
        Name, and title to read.
    rows : list of list of str
        The first cell is the row's name.
    sources : list of dict
        By row: files that the numbers come from, by column; under "" those of all others.
    called : mapping of str to str
        What to read instead of a cell's text or a column's title, which are whole in its CSV.
    hints : dict of str to list of str
        By column and row: what a cell says that is pointed at.
    more : frozenset of str
        Columns that don't answer the question themselves: behind a switch.
    links : list of tuple of str
        By row: the path of the view that its name leads to; () of one that has none.
    bars : dict of str to list of Bar or None
        By column and row: the interval of a number.
    """

    name: str
    caption: str
    columns: list[tuple[str, str]]
    rows: list[list[str]]
    sources: list[dict[str, list[str]]] = field(default_factory=list)
    more: frozenset[str] = frozenset()
    links: list[tuple[str, ...]] = field(default_factory=list)
    bars: dict[str, list[Bar | None]] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    hints: dict[str, list[str]] = field(default_factory=dict)


def titles(deep: int) -> dict[str, str]:
    """TITLES of a table whose second limit is known; 0: unknown."""
    return TITLES | {name: title for kind in ALL for name, title in _of_elo(kind, deep).items()}


def results(found: Results, experiment: Experiment) -> Grid:
    """The experiment's table, cell by cell as its CSV has it; columns not measured left out.

    Beside them stand the verdicts, see `words.verdict`. Behind no switch are the yardsticks of
    `words.main`.
    """
    rows, anchor, asked = experiment.rows, experiment.anchor, experiment.hypothesis
    _, common = names.shared([table.entry(row) for row in rows])
    main = words.main(rows, asked)
    answers = ("feature_set", "variant", *(n for kind in main for n in list(_of_elo(kind))[:2]))
    shown = [*answers, "val_loss_mean", *TITLES]
    shown += [name for name in table.COLUMNS if name not in shown]
    cells = [row | _verdicts(row, experiment) for row in rows]
    shown = [name for name in dict.fromkeys(shown) if any(row.get(name) for row in cells)]
    called = titles(experiment.nodes[1])
    scale = Scale.over(rows, main)
    drawn = {kind.column: [bars.bar(row, experiment, scale, kind) for row in rows] for kind in main}
    own = {v: names.without(v, common) for row in rows if (v := row.get("variant"))}
    answers = tuple(name for name in answers if name != "variant" or any(own.values()))
    return Grid(
        f"{experiment.name}-table",
        f"Elo {table.relative(rows, anchor)}",
        [(name, called.get(name, name.replace("_", " "))) for name in shown],
        [[row.get(name, "") for name in shown] for row in cells],
        [_sources(found, experiment, row) for row in rows],
        frozenset(shown) - {*answers, "val_loss_mean"},
        [("set", row["feature_set"]) for row in rows],
        drawn,
        {variant: text for variant, text in own.items() if text},
        {words.column_of(k): [words.why(row, anchor, k, asked) for row in rows] for k in ALL},
    )


def _verdicts(row: Row, experiment: Experiment) -> dict[str, str]:
    anchor, asked = experiment.anchor, experiment.hypothesis
    found = {words.column_of(k): words.verdict(row, anchor, k, asked) for k in ALL}
    return {name: str(verdict) for name, verdict in found.items() if verdict}


def _sources(found: Results, experiment: Experiment, row: Row) -> dict[str, list[str]]:
    nets = [net.path for net in experiment.nets if net.entry == table.entry(row)]
    made = found.label(found.folder / f"{experiment.name}_table.csv")
    pgn = [found.label(experiment.pgn)] if experiment.pgn else []
    priced = found.label(found.games(experiment, COST).with_suffix(".csv"))
    clocked = TIME if row["elo_time"] else None
    counted = [found.counted[row["feature_set"]]] if row["feature_set"] in found.counted else []

    def beside(name: str) -> list[str]:
        return [made, *(found.label(path.with_name(name)) for path in nets)]

    def played(yardstick: Yardstick) -> list[str]:
        return [made, found.label(found.games(experiment, yardstick))]

    kinds: dict[str, Callable[[], list[str]]] = {
        "val_loss": lambda: beside("history.csv"),
        "train_seconds": lambda: beside("history.csv"),
        "quant": lambda: beside("verify.json"),
        "published": lambda: ["M. E. Lombardo, UBA 2024 (nnuelab/report/published.csv)"],
        **{yardstick.column: partial(played, yardstick) for yardstick in (DEEP_COST, DEEP)},
        **{yardstick.column: partial(played, yardstick) for yardstick in (COST, TIME)},
        **{
            name: partial(played, yardstick)
            for yardstick in (DEEP_COST, DEEP, COST, TIME, NODES)
            for name in (yardstick.p, words.column_of(yardstick))
        },
        "nps": lambda: played(clocked) if clocked else [made, priced],
        "cost_ratio": lambda: [made, priced],
        "elo": lambda: [made, *pgn],
        "puzzle": lambda: beside("puzzles.json"),
        **dict.fromkeys(table.COUNTED, lambda: [made, *counted]),
        "": lambda: [made, *(found.label(path) for path in nets)],
    }
    return {
        name: next(files() for kind, files in kinds.items() if name.startswith(kind))
        for name in (*table.WITH_VARIANT, *(words.column_of(kind) for kind in ALL))
    }


def ratings(name: str, limit: str, label: str, rows: Sequence[Row]) -> Grid:
    """The rating of every net; ``label`` is the file that has them."""
    titles = {"name": "net", "elo": "rating", "error": "\u00b1 games"}
    columns = [(name, titles.get(name, name)) for name in rows[0]]
    return Grid(
        name,
        f"Rating of every net, relative to the mean of all, at {limit}",
        columns,
        [[row[name] for name, _ in columns] for row in rows],
        [{"": [label]}] * len(rows),
        called=names.labels([row["name"] for row in rows]),
    )


_ACCEPTED = {
    "elo1": ("H1 accepted", Verdict.STRONGER),
    "elo0": ("H0 accepted", Verdict.WEAKER),
    "": ("open", Verdict.UNDECIDED),
}


def sequential(name: str, limit: str, label: str, rows: Sequence[Row]) -> Grid:
    """Sequential tests against the anchor, rows of `reading.read_sequential`.

    The bar of a log-likelihood ratio goes from one bound to the other.
    """
    titles = {
        "player": "net",
        "opponent": "against",
        "elo0": "H0 (Elo)",
        "elo1": "H1 (Elo)",
        "verdict": "verdict",
        "llr": "LLR",
        "games": "games",
        "lower": "accepts H0 at",
        "upper": "H1 at",
        "model": "Elo is",
        "counts": "pairs by points: 0, \u00bd, 1, 1\u00bd, 2",
        "elo": "Elo (logistic)",
        "error": "\u00b1 (95\u00a0%)",
    }

    def bar(row: Row) -> Bar:
        scale = Scale(float(row["lower"]), float(row["upper"]))
        llr, verdict = row["llr"], _ACCEPTED[row["verdict"]][1]
        text = f"LLR {llr} of {row['lower']} to {row['upper']}"
        return Bar("elo", scale.place(float(llr)), scale.place(0.0), verdict, llr, llr, text)

    cells = [{**row, "verdict": _ACCEPTED[row["verdict"]][0]} for row in rows]
    return Grid(
        name,
        f"Sequential tests against the anchor, at {limit}. H0 and H1 are differences of so many "
        "Elo. A test stops when it has decided, so its Elo is overstated: read the verdict.",
        list(titles.items()),
        [[row[column] for column in titles] for row in cells],
        [{"": [label]}] * len(rows),
        frozenset(list(titles)[7:]),
        bars={"llr": [bar(row) for row in rows]},
        called=names.labels([row[of] for row in rows for of in ("player", "opponent")]),
    )


def cross(found: Results, experiment: Experiment, scores: CrossTable) -> Grid:
    """Score of each set against each other, in percent."""
    assert experiment.pgn is not None
    label = found.label(experiment.pgn)

    def cell(i: int, j: int) -> str:
        games = scores.games[i, j]
        return f"{100 * scores.points[i, j] / games:.1f}" if games else ""

    count = len(scores.names)
    played = int(scores.games.sum()) // 2
    return Grid(
        f"{experiment.name}-cross",
        f"Cross table: percent of the points, row against column ({played:,} games)",
        [("name", "feature set"), *((name, name) for name in scores.names)],
        [[name, *(cell(i, j) for j in range(count))] for i, name in enumerate(scores.names)],
        [{"": [label]}] * count,
        called=names.labels(scores.names),
    )


def triplets(experiment: Experiment, label: str, nets: Sequence[Mapping[str, Any]]) -> Grid:
    """Each net on held-out triplets, rows as `inspect.of_triplets` makes them."""
    columns = [(name, name) for name in nets[0]]
    return Grid(
        f"{experiment.name}-pqr",
        "Which of two moves was played? Share with the right sign of f(R) - f(Q), and f(P) against "
        "f(Q), on held-out triplets",
        columns,
        [list(row.values()) for row in nets],
        [{"": [label]}] * len(nets),
        called=names.labels([str(next(iter(row.values()))) for row in nets]),
    )


def statistics(rows: Sequence[Row], labels: Mapping[str, str]) -> Grid:
    """Means of both perspectives.

    Parameters
    ----------
    rows : sequence of dict
        See `feature_statistics.COLUMNS`, as text.
    labels : dict of str to str
        The file that a feature set's row comes from.
    """
    shown = {
        "feature_set": "feature set",
        "features": "features",
        "dead": "dead",
        "active": "active",
        "active_with_repeats": "with repeats",
        "added": "added",
        "removed": "removed",
        "refreshes_per_game": "refreshes a game",
        "measured_ns": "an update, measured (ns)",
        "predicted_ns": "predicted by its rows (ns)",
    }
    both = [row for row in rows if row["perspective"] == "both"]
    numbers = list(shown)[1:]
    return Grid(
        "statistics",
        "Features of a position and what a legal move changes, for one accumulator",
        list(shown.items()),
        [[row["feature_set"], *(short(row[name]) for name in numbers)] for row in both],
        [{"": [labels[row["feature_set"]]]} for row in both],
        frozenset({"dead", "active_with_repeats", "refreshes_per_game", "predicted_ns"}),
        [("set", row["feature_set"]) for row in both],
    )


def published(rows: Sequence[Row], labels: Mapping[str, str]) -> Grid:
    """The study's statistics beside ours, which are empty for sets not counted here."""
    ours = {row["feature_set"]: row for row in rows if row["perspective"] == "both"}
    columns = {
        "feature_set": "feature set",
        "published_active": "active, published",
        "active": "active, ours",
        "active_with_repeats": "with repeats, ours",
        "published_added": "added, published",
        "added": "added, ours",
        "published_removed": "removed, published",
        "removed": "removed, ours",
    }
    study = [f"published_{name}" for name in ("active", "added", "removed")]
    shown = []
    for name, values in PUBLISHED.items():
        row = dict(ours.get(name, {})) | dict(zip(study, map(str, values), strict=True))
        cells = (row.get(column, "") for column in list(columns)[1:])
        shown.append([name, *(f"{float(text):.2f}" if text else "" for text in cells)])
    cited = "M. E. Lombardo, UBA 2024 (nnuelab/report/feature_statistics.py)"
    return Grid(
        "statistics-published",
        "The study's feature statistics, and ours",
        list(columns.items()),
        shown,
        [{"": [cited, *([labels[name]] if name in labels else [])]} for name in PUBLISHED],
    )


def short(text: str) -> str:
    """A number with two digits behind the point, if it has any."""
    return f"{float(text):.2f}" if "." in text or "e" in text else text


def nets(found: Results, chosen: Sequence[tuple[NetFiles, Activity]]) -> Grid:
    """Active and dead neurons, and the error of every net."""
    columns = {
        "net": "net",
        "neurons": "neurons",
        "dead": "dead",
        "constant": "always at the limit",
        "active": "mean active (%)",
        "influence": "largest influence (cp)",
        "bytes": "bytes",
    }
    rows, sources = [], []
    for net, activity in chosen:
        values: list[Any] = [
            net.player,
            net.net.l1,
            int(activity.dead.sum()),
            int(activity.constant.sum()),
            f"{100 * activity.active.mean():.1f}",
            f"{activity.influence.max():.1f}",
            net.path.stat().st_size,
        ]
        rows.append([str(value) for value in values])
        sources.append({"": [found.label(net.path), f"{found.folder.name}/data/validation.npy"]})
    caption = "Neurons of the first layer on positions of the validation set"
    return Grid("nets", caption, list(columns.items()), rows, sources)


def files(found: Results) -> Grid:
    """Every file with its command."""
    rows = [
        [path, record["sha256"][:16], str(record.get("code") or ""), record.get("command", "")]
        for path, record in sorted(found.records.items())
    ]
    columns = [("file", "file"), ("sha256", "sha256"), ("code", "code"), ("command", "command")]
    sources = [{"": [row[0]]} for row in rows]
    return Grid("files", "Every file, and the command that makes it again", columns, rows, sources)
