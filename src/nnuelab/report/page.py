"""report.html: one self-contained file that needs no network."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from nnuelab import features
from nnuelab.charts import Figure
from nnuelab.data import validation
from nnuelab.data.dataset import evenly
from nnuelab.errors import UserError
from nnuelab.names import NetName, labels
from nnuelab.report import (
    advice,
    answered,
    bars,
    document,
    explorer,
    feature_statistics,
    games,
    grids,
    hypotheses,
    inspect,
    ladder,
    net_plots,
    plots,
    policies,
    puzzles,
    reading,
    results,
    sample,
    searched,
    sets,
    table,
    texel_section,
    weights,
    within,
    words,
)
from nnuelab.report.grid_plots import grid_plots
from nnuelab.report.grids import Grid
from nnuelab.report.neurons import POSITIONS, Activity, activity
from nnuelab.report.readable import ERRORS_NOTE, notes
from nnuelab.report.results import Experiment, NetFiles, Results
from nnuelab.report.section import Section, readable, told
from nnuelab.report.words import Row
from nnuelab.tournament import yardsticks
from nnuelab.tournament.headers import read_results
from nnuelab.tournament.yardsticks import Yardstick

FIRST = ("base.js", "live.js", "views.js")  # before the page is painted
SCRIPTS = (
    *FIRST,
    *("tables.js", "plots.js", "boards.js", "squares.js", "games.js", "weights.js"),
    *("explorer.js", "sets.js", "policies.js", "texel.js"),
)
EXPLORED = 6  # positions of the validation set


@dataclass(frozen=True)
class Page:
    """The page as HTML, and its figures by their ids there."""

    html: str
    figures: dict[str, Figure]


def build(found: Results) -> Page:
    """The page of what `results.gather` found."""
    return _Builder(found).page()


class _Builder:
    def __init__(self, found: Results) -> None:
        self.found = found
        self.blobs: dict[str, Any] = {"games": {}}
        self.problems = list(found.problems)
        self.policies: policies.Found | None = None
        self.outdated = results.outdated(found)
        self.positions = dict(explorer.KNOWN)
        # A folder of tables alone, such as the published ones.
        self.has_more = (
            not found.experiments
            or (found.folder / "data").exists()
            or not all(experiment.is_elsewhere for experiment in found.experiments)
        )

    def page(self) -> Page:
        """The page; parts that others need come first."""
        experiments = [self._section(experiment) for experiment in self.found.experiments]
        has_counts = self.has_more or bool(self.found.statistics)
        statistics = self._statistics() if has_counts else None
        self.policies = policies.find(self.found.folder, self.found.label)
        nets, positions = (self._nets(), self._data()) if self.has_more else (None, None)
        tuning = texel_section.section(self.found.folder, self.found.label, self.blobs)
        chosen = self.policies.section if self.policies else None
        folder = self.found.folder / "search"
        search = searched.section(folder, self.found.label(folder), sets.names(self.found))
        rungs = ladder.section(self.found.folder, self.found.label)
        if self.policies and self.policies.games:
            self.blobs["policies"] = self.policies.games
        games = self.blobs["games"].values()
        played = {NetName.parse(g[of]).feature_set for all_of in games for g in all_of
                  for of in ("white", "black")}  # fmt: skip
        of_sets = sets.views(self.found, played, self._explored())
        self.blobs["provenance"] = {"records": self.found.records}
        files = grids.files(self.found)
        others = (search, tuning, chosen, rungs, positions, statistics, nets)
        every = [*experiments, *filter(None, others)]
        figures = _figures(every)
        main = self.found.experiments[0] if self.found.experiments else None
        html = document.html(
            "page/page.html",
            styles=["page/page.css"],
            scripts=[f"page/{name}" for name in SCRIPTS],
            first=len(FIRST),
            experiments=experiments,
            of_sets=of_sets,
            relative=table.relative(main.rows, main.anchor) if main else "",
            ranking=bars.ranking(main) if main else None,
            rankings=bars.rankings(self.found.experiments[1:]),
            search=search,
            tuning=tuning,
            policies=chosen,
            ladder=rungs,
            answers=answered.answers(),
            is_published=self.found.folder.resolve() == answered.PUBLISHED,
            positions=positions,
            statistics=statistics,
            nets=nets,
            has_more=self.has_more,
            files=files,
            folder=self.found.folder.name,
            stale_files=self._stale(None),
            errors_note=ERRORS_NOTE,
            problems=self.problems,
            specs={name: drawn.spec for name, drawn in (figures | _figures(of_sets)).items()},
            sources=_sources([g for section in [*every, *of_sets] for g in section.tables]
                             + [files]),
            blobs={name: _packed(value) for name, value in self.blobs.items()},
            explorer="weights" in self.blobs,
            texel_boards="texel" in self.blobs,
            vega=_vega(),
        )  # fmt: skip
        return Page(html, figures)

    def _stale(self, experiment: Experiment | None) -> list[str]:
        """What is out of date of an experiment, or of none."""
        return [
            str(file)
            for file in self.outdated
            if (
                self.found.belong(experiment, file.label)
                if experiment
                else not any(self.found.belong(e, file.label) for e in self.found.experiments)
            )
        ]

    def _section(self, experiment: Experiment) -> Section:
        name, problems = experiment.name, list(experiment.problems)
        if experiment.is_elsewhere and self.has_more:
            problems.append(f"Neither nets nor games of {name} are here, nor what is told of them.")
        section = Section(name, name, ("experiment", name), problems=problems)
        section.question, section.stale = experiment.question, self._stale(experiment)
        rows, anchor = experiment.rows, experiment.anchor
        if not rows:
            return section
        with told(section.problems, "the table"):
            deep = experiment.nodes[1]
            asked = experiment.hypothesis
            found = [hypotheses.in_words(asked, rows, anchor, deep)] if asked else []
            said = [words.answer(rows, anchor, asked, deep)]
            section.design = words.design(rows, experiment.nodes, experiment.games)
            section.said = list(filter(None, [words.losses(rows)]))
            section.advice = advice.in_words(self.found, experiment)
            section.main.append(grids.results(self.found, experiment))
            section.note = notes(rows)
            with told(section.problems, "differences within variants"):
                if differ := within.add(self.found, experiment, section.main):
                    section.said, said = [*said, *section.said], differ
            section.answer = " ".join(filter(None, [*found, *said, experiment.remark]))
        with told(section.problems, "the plots"):
            self._plots(experiment, section)
        with told(section.problems, "the answers to puzzles"):
            self._puzzles(experiment, section)
        with told(section.problems, "the tournament"):
            self._tournament(experiment, section)
        for yardstick in yardsticks.ALL:
            with told(section.problems, "the sequential tests"):
                self._sequential(experiment, yardstick, section)
        with told(section.problems, "the triplets"):
            self._triplets(experiment, section)
        return section

    def _plots(self, experiment: Experiment, section: Section) -> None:
        rows, nets = experiment.rows, [net for net in experiment.nets if not net.is_imported]
        anchor, sets = experiment.anchor, [table.entry(row) for row in rows]
        drawn: list[Figure | None] = [
            plots.elo(rows, anchor, experiment.nodes[1], experiment.hypothesis)
        ]
        errors = dict[str, float]()
        if not any(row["elo_time"] for row in rows):  # else nodes/s are those of the games
            with told(section.problems):
                errors = self.found.price_errors(experiment)
        drawn += self._pareto(rows, section, errors)
        drawn.append(plots.depth(rows, experiment.nodes))
        drawn += [*grid_plots(rows, errors), plots.loss_and_elo(rows)]
        trained = readable(nets, "history", section.problems)
        drawn += net_plots.losses(readable(trained, "objective", section.problems), sets)
        drawn.append(net_plots.errors(readable(nets, "verification", section.problems), sets))
        section.figures = [figure for figure in drawn if figure is not None]

    def _puzzles(self, experiment: Experiment, section: Section) -> None:
        nets, sets = experiment.nets, [table.entry(row) for row in experiment.rows]
        if scores := puzzles.gather(experiment, section.problems):
            section.figures += puzzles.figures(scores, sets)
            section.puzzles = puzzles.grid(self.found, experiment.name, nets, scores)

    def _pareto(
        self, rows: Sequence[Row], section: Section, errors: Mapping[str, float]
    ) -> list[Figure | None]:
        """Elo against nodes per second, or where those aren't known against the updates.

        Not of nets of one shape, which differ in speed by chance alone.
        """
        if len({(row["feature_set"], row["l1"], row["l2"]) for row in rows}) == 1:
            return []
        speeds = {table.entry(r): float(r["nps_ratio"]) for r in rows if r["nps_ratio"]}
        axis, known = "nodes per second relative to the anchor", bool(speeds)
        if not known:
            axis = "updates of an accumulator per microsecond"
            counted = {
                row["feature_set"]: 1000 / float(row["measured_ns"])
                for row in self.found.statistics
                if row["perspective"] == "both" and row["measured_ns"]
            }
            of_rows = ((table.entry(row), counted.get(row["feature_set"])) for row in rows)
            speeds = {name: speed for name, speed in of_rows if speed is not None}
        if len(set(speeds.values())) < 2:
            return []
        if not known:
            section.problems.append(
                "The nodes per second of these nets were not measured; updates of an accumulator "
                "stand for them in the plot of Elo against speed."
            )
        shown = (yardsticks.NODES, yardsticks.COST, yardsticks.TIME)
        errors = errors if known else {}
        return [plots.pareto(rows, speeds, axis, yardstick, errors) for yardstick in shown]

    def _tournament(self, experiment: Experiment, section: Section) -> None:
        if experiment.pgn is None:
            return
        ratings: list[dict[str, str]] = []
        for yardstick in yardsticks.ALL:
            if self.found.games(experiment, yardstick).is_file():
                with told(section.problems):
                    rated = self._rated(experiment, yardstick, section)
                    ratings = ratings or rated
        order = sorted(experiment.rows, key=lambda row: -float(row["elo"] or "-inf"))
        scores = games.cross_table(
            read_results([experiment.pgn]), [table.entry(row) for row in order], by_set=True
        )
        section.grids.append(grids.cross(self.found, experiment, scores))
        best: dict[str, str] = {}
        for row in ratings:  # descending
            best.setdefault(NetName.parse(row["name"]).entry, row["name"])
        if len(best) > 1:
            hero, *others = best.values()
            chosen = games.samples(experiment.pgn, hero, others)
            called = labels({game[of]: None for game in chosen for of in ("white", "black")})
            for game in chosen:
                game["called"] = {of: called[game[of]] for of in ("white", "black")}
            self.blobs["games"][experiment.name] = chosen
            section.games = bool(chosen)

    def _rated(
        self, experiment: Experiment, yardstick: Yardstick, section: Section
    ) -> list[dict[str, str]]:
        """The ratings at a yardstick, which become a table of the page."""
        path = self.found.games(experiment, yardstick).with_name(f"{experiment.name}_ratings.csv")
        found = reading.read_ratings(path)
        name = "-".join(filter(None, (experiment.name, "ratings", yardstick.folder)))
        limit = yardstick.at(experiment.nodes[1])
        section.grids.append(grids.ratings(name, limit, self.found.label(path), found))
        return found

    def _sequential(self, experiment: Experiment, yardstick: Yardstick, section: Section) -> None:
        """Its sequential tests at a yardstick, where some were made or begun."""
        path, games = self.found.sequential(experiment, yardstick)
        limit = yardstick.at(experiment.nodes[1])
        if path.is_file():
            rows, label = reading.read_sequential(path), self.found.label(path)
            name = "-".join(filter(None, (experiment.name, "sprt", yardstick.folder)))
            section.grids.append(grids.sequential(name, limit, label, rows))
        elif games.is_dir():
            section.problems.append(
                f"The sequential tests at {limit} have no table yet; finish them: "
                f"snakemake {self.found.label(path)}"
            )

    def _triplets(self, experiment: Experiment, section: Section) -> None:
        """The nets on held-out triplets; drawn for one seed of each."""
        path = self.found.triplets(experiment)
        if not path.is_file():
            return
        content = reading.read_json(path, "pqr_centipawns")
        nets = inspect.of_triplets(path, content).tables["nets"]
        section.grids.append(grids.triplets(experiment, self.found.label(path), nets))
        first: dict[str, Any] = {}
        for name, drawn in content["pqr_centipawns"].items():
            first.setdefault(NetName.parse(name).entry, (name, drawn))
        section.figures += net_plots.triplets(dict(first.values()))

    def _statistics(self) -> Section:
        section = Section("statistics", "Feature sets", ("sets",))
        if not self.found.statistics:
            section.problems.append(
                "The feature sets were not counted yet; count them: snakemake statistics"
            )
            return section
        with told(section.problems, "the numbers of features"):
            self._counted(section)
        return section

    def _counted(self, section: Section) -> None:
        rows = list(
            {(r["feature_set"], r["perspective"]): r for r in self.found.statistics}.values()
        )
        counted = self.found.counted
        rows.sort(key=lambda row: (row["feature_set"].count("+"), int(row["features"])))
        section.main.append(grids.statistics(rows, counted))
        section.grids.append(grids.published(rows, counted))
        section.note = feature_statistics.PUBLISHED_NOTE
        section.figures = [feature_statistics.changes(rows)]

    def _data(self) -> Section:
        """The positions, as the sample's report describes them, or how many files have."""
        section = Section("data", "Data", ("data",))
        with told(section.problems, "the sample"):
            path = self.found.folder / "data" / "sample_report.json"
            if (index := path.with_name("train.shards")).exists() and not path.exists():
                held = reading.read_json(index, "positions", "shards")
                section.said = [f"{held['positions']:,} positions of {len(held['shards'])} files."]
                return section
            described = reading.read_json(path, *sample.DRAWN)
            section.figures = sample.figures(described)
            section.said = [sample.words(described)]
        return section

    def _nets(self) -> Section:
        section = Section("nets", "Nets", ("nets",))
        if not self.found.nets:
            section.problems.append("There is no net here yet; train some: snakemake nets")
            return section
        path = self.found.folder / "data" / "validation.npy"
        try:
            records = validation.spaced(path, POSITIONS)
        except UserError as error:
            section.problems.append(str(error))
            return section
        with told(section.problems, "the neurons"):
            self._neurons(section, records)
        return section

    def _neurons(self, section: Section, records: np.ndarray) -> None:
        measured = [(net, activity(net.net, records)) for net in self.found.nets]
        section.grids.append(grids.nets(self.found, measured))
        sets = list(dict.fromkeys(net.entry for net in self.found.nets))
        shares = {net.player: found.active.tolist() for net, found in measured}
        figure = net_plots.neurons(shares, sets)
        section.figures = [figure] if figure else []
        self.blobs["weights"] = _weights(measured)
        self.positions |= self._positions(records)

    def _explored(self) -> Collection[str]:
        """The sets whose features are shown in positions, with what their nets say there."""
        nets = self.found.nets if "weights" in self.blobs else []
        known = {}
        for name in sets.names(self.found):
            with suppress(UserError):  # which its view tells
                known[name] = features.parse(name)
        looking = explorer.Explorer(nets, self.policies.best if self.policies else {}, known)
        with told(self.problems, "the features in positions"):
            self.blobs["explorer"] = looking.look(self.positions)
            self.blobs["moves"] = {
                name: {fen: looking.moves(name, fen) for fen in explorer.KNOWN.values()}
                for name in looking.sets
            }
            return looking.sets
        return ()

    def _positions(self, records: np.ndarray) -> dict[str, str]:
        from nnuelab.data.records import from_fen, to_fen

        found = {}
        for place in evenly(len(records), EXPLORED):
            record = records[place]
            found[f"game {record['game']} of the validation set, ply {record['ply']}"] = to_fen(
                record
            )
        for net in self.found.nets[:1]:
            with told([]):
                for worst in net.verification.get("worst", [])[:1]:
                    from_fen(worst["fen"])  # raises when it is broken
                    found[f"the largest error of the integers of {net.player}"] = worst["fen"]
        return found


def _figures(sections: Iterable[Section]) -> dict[str, Figure]:
    return {f"{s.name}-{drawn.name}": drawn for s in sections for drawn in s.figures}


def _weights(measured: Sequence[tuple[NetFiles, Activity]]) -> dict[str, Any]:
    said: dict[str, Any] = {"sets": {}, "nets": {}}
    kept: dict[str, np.ndarray] = {}
    for net, found in measured:
        shown = weights.neurons_shown(net.net, found, len(measured))
        name = net.net.feature_set
        if name not in kept:
            layout = weights.layout(net.net.features, net.net.w1[:, shown])
            said["sets"][name], kept[name] = layout
        said["nets"][net.player] = weights.numbers(net.net, found, kept[name], shown.tolist())
    return said


def _sources(found: Sequence[Grid]) -> dict[str, list[dict[str, list[str]]]]:
    return {grid.name: grid.sources for grid in found if grid.sources}


def _packed(value: Any) -> str:
    """JSON that the page unpacks on demand; the same value gives the same text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(text, 9, mtime=0)).decode()


@cache
def _vega() -> str:
    """Vega, Vega-Lite and vega-embed as one script."""
    import altair as alt
    import vl_convert

    major, minor, *_ = alt.SCHEMA_VERSION.removeprefix("v").split(".")
    shared = "window.vegaEmbed = vegaEmbed;"
    bundle: str = vl_convert.javascript_bundle(shared, vl_version=f"{major}.{minor}")
    return bundle.replace("</script", "<\\/script")
