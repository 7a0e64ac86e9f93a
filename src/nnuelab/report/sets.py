"""A view for each feature set: what it is, what it costs, and how it did wherever it played."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from nnuelab import features
from nnuelab.features import FeatureSet
from nnuelab.names import NetName, in_full
from nnuelab.report import bars, grids, net_plots, table, words
from nnuelab.report.bars import Scale
from nnuelab.report.grids import Grid
from nnuelab.report.results import Experiment, Results
from nnuelab.report.section import Section, readable, told
from nnuelab.report.words import Row, number
from nnuelab.tournament import yardsticks


@dataclass(frozen=True)
class Term:
    """A summand of a feature set; ``parts`` are formula and definition of each factor."""

    name: str
    size: int
    parts: list[tuple[str, str, str]]


@dataclass
class SetView(Section):
    """The view of a set; ``facts`` are names with numbers, ``net`` is one to look into."""

    terms: list[Term] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    net: str = ""
    is_explored: bool = False


def names(found: Results) -> list[str]:
    """All sets of the experiments, and others that were counted."""
    compared = dict.fromkeys(row["feature_set"] for e in found.experiments for row in e.rows)
    return list(compared | dict.fromkeys(row["feature_set"] for row in found.statistics))


def views(
    found: Results, played: Collection[str] = (), explored: Collection[str] = ()
) -> list[SetView]:
    """Of all sets, see `names`.

    ``played`` are those of which there are games, ``explored`` those with positions to look at.
    """
    return [_view(found, name, name in played, name in explored) for name in names(found)]


def _view(found: Results, name: str, has_games: bool, is_explored: bool) -> SetView:
    view = SetView(
        f"set-{NetName(name).folder}", name, ("set", name), games=has_games, is_explored=is_explored
    )
    nets = [net for net in found.nets if net.net.feature_set == name]
    with told(view.problems, "the definition"):
        view.terms = _terms(nets[0].net.features if nets else features.parse(name))
    view.facts = _facts(found, name)
    everywhere = _everywhere(found, name)
    view.grids = [everywhere] if everywhere.rows else []
    if of := list(filter(None, (_as_anchor(e, name) for e in found.experiments))):
        view.said.append(f"{name} is the anchor, 0 Elo, of {', '.join(of)}.")
    trained = readable(readable(nets, "history", []), "objective", [])
    view.figures = net_plots.losses(trained, list(dict.fromkeys(net.entry for net in trained)))
    view.net = nets[0].player if nets else ""
    return view


def _terms(feature_set: FeatureSet) -> list[Term]:
    return [
        Term(
            term.name,
            term.size,
            [(block.name, block.formula, block.definition) for block in term.factors],
        )
        for term in feature_set.terms
    ]


def _facts(found: Results, name: str) -> list[tuple[str, str]]:
    """What is known of the set itself, and what its nodes cost in all experiments.

    Not of a row that differs from the anchor by more than the set.
    """
    titles = {
        "features": "features",
        "dead": "of them never active",
        "active": "active in a position",
        "added": "added by a move",
        "removed": "removed by a move",
        "refreshes_per_game": "refreshes a game",
        "measured_ns": "update of an accumulator (ns)",
    }
    counted: Row = next(
        (
            r
            for r in reversed(found.statistics)  # the last one counts, as in the table of all sets
            if (r["feature_set"], r["perspective"]) == (name, "both")
        ),
        {},
    )
    facts = [
        (title, grids.short(counted[key])) for key, title in titles.items() if counted.get(key)
    ]
    costs: dict[str, list[float]] = {}
    for experiment in found.experiments:
        anchor = NetName.parse(experiment.anchor)
        for row in experiment.rows:
            is_like = table.entry(row) == NetName(name, anchor.variant).entry
            if is_like and row["cost_ratio"] and anchor.feature_set != name:
                costs.setdefault(anchor.feature_set, []).append(float(row["cost_ratio"]))
    for called, values in costs.items():
        least, most = f"{min(values):.2f}", f"{max(values):.2f}"
        told = least if least == most else f"{least} to {most}"
        facts.append((f"cost of a node (\u00d7 {called})", told))
    return facts


def _as_anchor(experiment: Experiment, name: str) -> str:
    """The experiment where the set is its anchor, and which of its nets; else nothing."""
    if NetName.parse(experiment.anchor).feature_set != name:
        return ""
    if sum(row["feature_set"] == name for row in experiment.rows) < 2:
        return experiment.name
    called = table.labels(experiment.rows).get(experiment.anchor, experiment.anchor)
    return f"{experiment.name} (as {called})"


def _everywhere(found: Results, name: str) -> Grid:
    """Its Elo in each experiment and at each yardstick, as the tables have it."""
    columns = {
        "experiment": "experiment",
        "at": "games at",
        "elo": "Elo",
        "verdict": "verdict",
        "error": "\u00b1 (95\u00a0%)",
        "p": "p adjusted",
        "anchor": "against",
        "row": "plays as",
    }
    rows, sources, drawn, hints = [], [], [], []
    own = [row for e in found.experiments for row in e.rows if row["feature_set"] == name]
    scale = Scale.of_most(own, yardsticks.ALL)
    for experiment in found.experiments:
        made = [found.label(found.folder / f"{experiment.name}_table.csv")]
        for row in experiment.rows:
            for kind in yardsticks.ALL:
                plays, anchor = table.entry(row), experiment.anchor
                is_its = row["feature_set"] == name and plays != anchor
                if not is_its or number(row, kind.column) is None:
                    continue
                errors = [row.get(f"{kind.column}_error", ""), row.get(kind.p, "")]
                at, asked = kind.at(experiment.nodes[1]), experiment.hypothesis
                said = str(words.verdict(row, anchor, kind, asked))
                rows.append([experiment.name, at, row[kind.column], said, *errors, anchor, plays])
                hints.append(words.why(row, anchor, kind, asked))
                sources.append({"": [*made, found.label(found.games(experiment, kind))]})
                drawn.append(bars.bar(row, experiment, scale, kind))
    # An experiment's short names mean other nets in the next one.
    called = in_full([player for row in rows for player in row[-2:]])
    # Where an experiment has one net of the set, its name tells which.
    is_told = len({(row[0], row[-1]) for row in rows}) == len({row[0] for row in rows})
    more = {"error", "p"} | ({"anchor", "row"} if is_told else set())
    return Grid(
        f"set-{NetName(name).folder}-elo",
        f"Wherever {name} played",
        list(columns.items()),
        rows,
        sources,
        frozenset(more),
        [("experiment", row[0]) for row in rows],
        {"elo": drawn},
        called=called,
        hints={"verdict": hints},
    )
