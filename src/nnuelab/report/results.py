"""What a folder of results holds: experiments with their nets and games, and what is missing."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from nnuelab import yaml_text
from nnuelab.artifacts import logs_of, sha256
from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.nnue.netfile import Net, read_net
from nnuelab.report import table
from nnuelab.report.reading import (
    nodes_of,
    parameters_of,
    read_csv,
    read_json,
    read_record,
    read_statistics,
    read_table,
)
from nnuelab.tournament import spread, yardsticks
from nnuelab.tournament.yardsticks import DEEP, NODES, Yardstick

NET = "net.nnue"
PUBLISHED = "published"  # tables that were made elsewhere, of other files of the same names
POLICIES = "policy_table.csv"  # called as tables of experiments are, but of other columns
AGREEMENT = "policy_agreement.csv"
LADDER = "ladder.csv"
REMARKS = "remarks.yaml"


@dataclass(frozen=True)
class NetFiles:
    """A net and what the stages left beside it.

    Attributes
    ----------
    path : Path
        ``nets/SET/SEED/net.nnue``, or ``nets/SET,VARIANT/SEED/net.nnue``.
    net : Net
    player : str
        Its name in the tournament: ``SET#SEED`` or ``SET,VARIANT#SEED``.
    is_imported : bool
        It was made elsewhere, so there is nothing beside it.
    """

    path: Path
    net: Net
    player: str
    is_imported: bool = False

    @property
    def entry(self) -> str:
        """Its name without the seed: what it is in the table."""
        return NetName.parse(self.player).entry

    @property
    def seed(self) -> int | None:
        """That it was trained with, where its name tells."""
        return NetName.parse(self.player).seed

    @cached_property
    def history(self) -> list[dict[str, float]]:
        """Rows of history.csv; raises UserError."""
        rows = read_csv(self.path.with_name("history.csv"), ("epoch", "validation_loss"))
        return [{k: float(v) for k, v in row.items() if v} for row in rows]

    @cached_property
    def objective(self) -> dict[str, Any]:
        """What it minimised, as far as a record tells; losses of others are other quantities."""
        path = self.path.with_name("history.csv")
        objective = parameters_of(path).get("objective", {})
        if not isinstance(objective, dict):
            raise UserError(f"{path}.json is damaged (its objective is not an object); train again")
        return objective

    @cached_property
    def verification(self) -> dict[str, Any]:
        """Content of verify.json; raises UserError, with what its job said last if that failed."""
        path = self.path.with_name("verify.json")
        try:
            return read_json(path, "rms_cp")
        except UserError as error:
            place = self.path.absolute().parent
            log = f"verify/{place.parent.name}/{place.name}.log"
            said = [str(error), *_end_of(place.parents[2], log)]
            raise UserError("; ".join(said)) from error


@dataclass
class Experiment:
    """An experiment as far as it is there.

    Attributes
    ----------
    name : str
    rows : list of dict
        The table, every cell as text; empty when it is missing.
    anchor : str
        The feature set whose elo is 0.
    question : str
        What it asks, in words.
    nets : list of NetFiles
    problems : list of str
        What is missing or damaged, each with the remedy.
    hypothesis : dict
        As `hypotheses.told` has it; empty where there is none.
    nodes : (int, int)
        Of a move of the anchor's in its games, and in those with more; 0: unknown.
    games : dict of Yardstick to int
        How many were rated, as far as that is known.
    is_elsewhere : bool
        Its table is here without its nets and games.
    remark : str
        What somebody says of it in ``remarks.yaml``.
    """

    name: str
    rows: list[dict[str, str]] = field(default_factory=list)
    anchor: str = ""
    question: str = ""
    nets: list[NetFiles] = field(default_factory=list)
    pgn: Path | None = None
    problems: list[str] = field(default_factory=list)
    hypothesis: dict[str, Any] = field(default_factory=dict)
    nodes: tuple[int, int] = (0, 0)
    games: dict[Yardstick, int] = field(default_factory=dict)
    is_elsewhere: bool = False
    remark: str = ""


@dataclass
class Results:
    """Everything below a folder.

    Attributes
    ----------
    folder : Path
    experiments : list of Experiment
    records : dict of str to dict
        Provenance by path, relative to the folder's parent as the workflow names its files.
    statistics : list of dict
        Rows of all ``statistics/*.csv``, see `feature_statistics.COLUMNS`, as text.
    counted : dict of str to str
        The file of these rows, by feature set.
    problems : list of str
    """

    folder: Path
    experiments: list[Experiment] = field(default_factory=list)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    statistics: list[dict[str, str]] = field(default_factory=list)
    counted: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def label(self, path: Path) -> str:
        """How the workflow calls a file, and records one that lies elsewhere.

        >>> found = Results(Path("here/results"))
        >>> found.label(Path("here/results/axis_table.csv")), found.label(Path("here/net.nnue"))
        ('results/axis_table.csv', 'net.nnue')
        """
        return os.path.normpath(Path(self.folder.name, os.path.relpath(path, self.folder)))

    def games(self, experiment: Experiment, yardstick: Yardstick) -> Path:
        """Its games at a yardstick."""
        return self.folder / "tournament" / f"{yardstick.played(experiment.name)}.pgn"

    def details(self, experiment: Experiment, yardstick: Yardstick) -> Path:
        """What the ratings of these games know besides the table."""
        return self.games(experiment, yardstick).with_name(f"{experiment.name}_details.json")

    def sequential(self, experiment: Experiment, yardstick: Yardstick) -> tuple[Path, Path]:
        """The table of its sequential tests at a yardstick, and the folder of their games."""
        played = yardstick.played(experiment.name)
        games = self.folder / "tournament" / "sprt" / played
        return self.folder / "sprt" / f"{played}.csv", games

    def belong(self, experiment: Experiment, label: str) -> bool:
        """Whether a file is one of an experiment: its table, its games, or beside its nets."""
        beside = {self.label(net.path.parent) for net in experiment.nets}
        path = Path(label)
        name = path.name.partition(".")[0]
        games = path.parent.parts[1:2] == ("tournament",) and name.startswith(experiment.name)
        of_games = games and name.removeprefix(experiment.name) in ("", "_ratings", "_details")
        below = "/".join(path.parts[1:])
        tests = any(
            below == f"sprt/{played}.csv" or below.startswith(f"tournament/sprt/{played}/")
            for played in (yardstick.played(experiment.name) for yardstick in yardsticks.ALL)
        )
        return (
            of_games
            or tests
            or name == f"{experiment.name}_table"
            or path.parent.as_posix() in beside
        )

    def triplets(self, experiment: Experiment) -> Path:
        """What its nets say of held-out triplets, if `nnuelab pqr` was asked."""
        return self.folder / "statistics" / "pqr" / f"{experiment.name}.json"

    @property
    def nets(self) -> list[NetFiles]:
        """The nets of all experiments, each once, by the name that the first one gives it."""
        by_path: dict[Path, NetFiles] = {}
        for experiment in self.experiments:
            for net in experiment.nets:
                by_path.setdefault(net.path, net)
        return list(by_path.values())

    def price_errors(self, experiment: Experiment) -> dict[str, float]:
        """Halves of the intervals of prices, as shares of them, by set; raises UserError.

        Empty where nothing was priced.
        """
        path = self.games(experiment, yardsticks.COST).with_suffix(".csv")
        rows = read_csv(path, texts=("name",)) if path.is_file() else []
        return {row["name"]: float(row["error"]) for row in rows if row.get("error")}

    @property
    def files(self) -> list[Path]:
        """All that the report is made of."""
        found = {self.folder / f"{e.name}_table.csv" for e in self.experiments if e.rows}
        for experiment in self.experiments:
            found |= {experiment.pgn} if experiment.pgn else set()
            for net in experiment.nets:
                names = ("history.csv", "verify.json", "puzzles.csv")
                beside = (net.path.with_name(name) for name in names)
                found |= {net.path, *(path for path in beside if path.is_file())}
        found |= {*self.folder.glob("statistics/*.csv"), *self.folder.glob("search/check*.csv")}
        for experiment in self.experiments:
            for yardstick in yardsticks.ALL:
                games = self.games(experiment, yardstick)
                ratings = games.with_name(f"{experiment.name}_ratings.csv")
                found |= {ratings} if ratings.is_file() else set()
            costs = self.games(experiment, yardsticks.COST).with_suffix(".csv")
            found |= {costs} if costs.is_file() else set()
            triplets = self.triplets(experiment)
            found |= {triplets} if triplets.is_file() else set()
        others = [f"data/{name}" for name in ("validation.npy", "sample_report.json")]
        others += [POLICIES, AGREEMENT, LADDER, "search/history.csv", "search/front.csv"]
        found |= {path for name in others if (path := self.folder / name).is_file()}
        policies = self.folder / "policy"
        histories = (f"{place}/*/*/history.csv" for place in ("nets", "selfplay"))
        for pattern in ("*.pgn", "*.csv", "nets/*/*/net.policy", *histories):
            found |= set(policies.glob(pattern))
        return sorted(found)


def tables_in(folder: Path) -> list[Path]:
    """The tables of experiments in a folder of results."""
    return [path for path in sorted(folder.glob("*_table.csv")) if path.name != POLICIES]


def gather(folder: Path, names: Sequence[str]) -> Results:
    """Reads what there is; what isn't, or is damaged, becomes a problem of its experiment.

    Parameters
    ----------
    folder : path
        ``results``.
    names : sequence of str
        The experiments to report, in order; none: those whose tables are there.
    """
    found = Results(folder)
    if not names:
        names = [path.name.removesuffix("_table.csv") for path in tables_in(folder)]
    for path in sorted(folder.rglob("*.json")):
        made = path.with_suffix("")
        if PUBLISHED in path.relative_to(folder).parts:
            continue
        if made.is_file() and made.suffix not in ("", ".html"):  # no page tells of itself
            try:
                found.records[found.label(made)] = read_record(path)
            except UserError as error:
                found.problems.append(str(error))
    found.experiments = [_experiment(folder, name, found.records) for name in names]
    try:
        remarks = _remarks(folder / REMARKS)
        for experiment in found.experiments:
            experiment.remark = remarks.get(experiment.name, "")
    except UserError as error:
        found.problems.append(str(error))
    for path in sorted(folder.glob("statistics/*.csv")):
        try:
            rows = read_statistics(path)
            found.statistics += rows
            found.counted |= {row["feature_set"]: found.label(path) for row in rows}
        except UserError as error:
            found.problems.append(str(error))
    return found


def _remarks(path: Path) -> dict[str, str]:
    """What somebody says of experiments, by name; raises UserError."""
    if not path.is_file():
        return {}
    try:
        found = yaml_text.load(path.read_bytes())
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        reason = ": ".join(filter(None, yaml_text.told(error)))
        raise UserError(f"{path} is no YAML: {reason}") from error
    known = {table.name.removesuffix("_table.csv") for table in tables_in(path.parent)}
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise UserError(f"{path} must have a text for each name of an experiment")
    if others := found.keys() - known:
        raise UserError(f"{path}: there is no table of {', '.join(sorted(map(str, others)))}")
    return found


def _experiment(folder: Path, name: str, records: dict[str, dict[str, Any]]) -> Experiment:
    found = Experiment(name)
    path = folder / f"{name}_table.csv"
    label = f"{folder.name}/{path.name}"
    try:
        rows = read_table(path)
        if tuple(rows[0]) not in (table.COLUMNS, table.WITH_VARIANT):
            raise UserError(f"{path} isn't of this version{_made_by(label, 'make it again')}")
        found.rows = rows
    except UserError as error:
        missing = not path.exists()
        absent = f"{path} isn't there{_made_by(label, 'make it')}"
        found.problems.append(absent if missing else str(error))
        found.problems += _last_words(folder, name)
    told = records.get(label, {}).get("parameters", {})
    found.anchor = str(told.get("anchor", ""))
    found.question = str(told.get("question", ""))
    found.hypothesis = told.get("hypothesis", {})
    if not found.anchor and found.rows:
        found.anchor = table.anchor_of(found.rows)
    rated = {kind: _details(folder, name, kind) for kind in yardsticks.ALL}
    played = {kind: f"{folder.name}/tournament/{kind.played(name)}.pgn" for kind in (NODES, DEEP)}
    limit, deep = (
        _nodes(records.get(games, {}), rated[kind], found.anchor) for kind, games in played.items()
    )
    found.nodes = limit, deep
    numbers = {kind: details.get("games") for kind, details in rated.items()}
    found.games = {kind: number for kind, number in numbers.items() if isinstance(number, int)}
    imported = told.get("imported", [])
    entries = {table.entry(row) for row in found.rows}
    inputs = records.get(label, {}).get("inputs", {}).items()
    named = [
        (place, name) for name, i in inputs if (place := folder.parent / i["path"]).name == NET
    ]
    gone: list[str] = []
    for place, player in named or [(path, "") for path in sorted(folder.glob(f"nets/*/*/{NET}"))]:
        if not found.rows:
            break
        if not place.exists():
            gone.append(place.as_posix())
            continue
        try:
            net = read_net(place)
        except UserError as error:
            found.problems.append(str(error))
            continue
        if NetName.parse(player).seed is None:  # a table that was made by hand
            player = str(NetName.of_folder(place.parent, net.feature_set))
        if (entry := NetName.parse(player).entry) in entries:
            found.nets.append(NetFiles(place, net, player, entry in imported))
    pgn = folder / "tournament" / f"{name}.pgn"
    if gone and not found.nets and not pgn.exists():
        found.is_elsewhere = True
        return found
    if gone:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        found.problems.append(f"nets that are gone: {gone[0]}{more}; train them: snakemake nets")
    if pgn.is_file() and pgn.stat().st_size:
        found.pgn = pgn
    elif found.rows or pgn.is_file():
        state = "is empty" if pgn.is_file() else "isn't there"
        place = f"{folder.name}/tournament/{name}.pgn"
        found.problems.append(f"{place} {state}; play the games: snakemake {place}")
    return found


def _made_by(label: str, how: str) -> str:
    """How to make a table; nothing where the workflow puts none, as beside published ones."""
    folder = Path(label).parent.name
    is_target = folder == "results" or folder.startswith("results-")
    return f"; {how}: snakemake {label}" if is_target else ""


def _details(folder: Path, name: str, kind: Yardstick) -> dict[str, Any]:
    """The details of an experiment's ratings; empty where there are none that can be read."""
    try:
        return read_json(folder / "tournament" / f"{kind.played(name)}_details.json")
    except UserError:
        return {}


def _nodes(record: dict[str, Any], details: dict[str, Any], anchor: str) -> int:
    """Nodes of a move of the anchor's by the record of its games, or where there are none by their
    ratings, whose kind of trainings begins with them; 0: unknown.
    """
    if known := nodes_of(record, anchor):
        return known
    try:
        trained = spread.of_row(details["spread"][0], "its ratings")
    except (UserError, LookupError, TypeError):
        return 0
    told = re.match(r"nodes (\d{1,9})\b", trained.kind)
    return int(told[1]) if told else 0


def _last_words(folder: Path, name: str) -> list[str]:
    """What the jobs of an experiment said last, where it left no table."""
    said = []
    for stage in ("tournament", "rate", "table"):
        said += _end_of(folder, f"{stage}/{name}.log")
    return said[-1:]


def _end_of(folder: Path, name: str) -> list[str]:
    """What a job said last in its log, nothing when it said nothing."""
    logs = logs_of(folder)
    log = logs / name
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    words = [line.strip() for line in lines if line.strip()]
    return [f"{logs.name}/{name} ends with: {words[-1][:300]}"] if words else []


@dataclass(frozen=True)
class Outdated:
    """A file that isn't what its record says, or was made from others than are there now."""

    label: str
    why: str

    def __str__(self) -> str:
        return f"{self.label} {self.why}"


def outdated(found: Results) -> list[Outdated]:
    """Files that can't be trusted to belong together."""
    said = []
    for path in found.files:
        label = found.label(path)
        record = found.records.get(label)
        if record is not None and sha256(path) != record["sha256"]:
            said.append(Outdated(label, "was changed after it was made"))
    for label, record in found.records.items():
        others = [
            source["path"]
            for source in record["inputs"].values()
            if found.records.get(source["path"], source)["sha256"] != source["sha256"]
        ]
        if others:
            why = f"was made from others than are there now: {', '.join(others)}"
            said.append(Outdated(label, why))
    return said
