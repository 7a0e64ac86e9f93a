"""What policies left in results: their table, histories, runs of self-play, scores, agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from nnuelab.errors import UserError
from nnuelab.policy.mover import Mover
from nnuelab.policy.policyfile import read_policy
from nnuelab.policy.table import EVALUATION, HISTORY
from nnuelab.report import agreement, policy_games, policy_plots, reading
from nnuelab.report.grids import Grid
from nnuelab.report.results import AGREEMENT, POLICIES
from nnuelab.report.section import Section, readable, told
from nnuelab.tournament.words import BASELINES

UNTRAINED = b"iteration\n"  # the history of a run without iterations
TEXTS = ("name", "feature_set", "inputs", "head", "loss", "layers", "activation")
NEEDED = ("name", "feature_set", "head", "loss", "seeds", "train_seconds")
ANSWERS = 5  # of the measures are in sight, the others behind a switch
# By column: what stands above it, and how it is written; %: a share in percent.
MEASURES = {
    "legal_first": ("first pair legal %", "%"),
    "accuracy": ("first pair is the move %", "%"),
    "legal_accuracy": ("likeliest legal pair is the move %", "%"),
    "mean_tries": ("mean tries", ".2f"),
    "train_seconds": ("training (s)", ".0f"),
    "walk_accuracy": ("walk plays the move %", "%"),
    "from_accuracy": ("from the right square %", "%"),
    "illegal_probability": ("probability on illegal pairs %", "%"),
    "median_tries": ("median tries", ".1f"),
    "mean_checks": ("mean checks", ".2f"),
    "value_error": ("value error", ".4f"),
}
FACTS = {
    "feature_set": "feature set",
    "inputs": "inputs",
    "head": "head",
    "loss": "loss",
    "layers": "layers",
    "activation": "activation",
    "parameters": "parameters",
    "seeds": "seeds",
    "positions": "positions",
}
SCORES = {
    "player": "player",
    "opponent": "opponent",
    "games": "games",
    "true_score": "true score %",
    "true_low": "from %",
    "true_high": "to %",
    "adjudicated_score": "adjudicated score %",
    "material": "material",
    "wins": "wins",
    "draws": "draws",
    "losses": "losses",
}
TOLD = ("end", "walks")  # columns of a history of self-play that hold words
END = "end_"  # columns of a table of scores: shares of what ended the games


@dataclass(frozen=True)
class Learnt:
    """What the training of a policy left, or a run of self-play.

    Attributes
    ----------
    name : str
    folder : Path
        ``results/policy/nets/NAME/SEED``, or ``selfplay`` there.
    """

    name: str
    folder: Path

    needed: ClassVar[tuple[str, ...]]  # columns of its history

    @property
    def seed(self) -> str:
        """As its folder is called."""
        return self.folder.name

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """A row for each epoch or iteration, numbers but for `TOLD`; raises UserError."""
        return [
            {n: cell if n in TOLD else float(cell) for n, cell in row.items() if cell}
            for row in reading.read_csv(self.folder / HISTORY, self.needed, TOLD)
        ]


class Trained(Learnt):
    """A policy of one seed that learnt the moves of games."""

    needed = ("epoch", "validation_loss", "accuracy")


class Run(Learnt):
    """A run of self-play."""

    needed = ("iteration", "games", "plies")


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of what `nnuelab policy table` wrote; raises UserError."""
    return reading.read_csv(path, (*NEEDED, *list(MEASURES)[:4]), TEXTS)


def read_scores(path: Path) -> list[dict[str, str]]:
    """The rows of what `nnuelab policy score` wrote; raises UserError."""
    needed = ("player", "games", "true_score", "adjudicated_score", "material")
    return reading.read_csv(path, needed, ("player", "opponent"))


def _seeds(folder: Path) -> list[Path]:
    """The folders of seeds in one, in the order of their numbers."""
    found = [path for path in folder.glob("*/") if path.name.isdigit()]
    return sorted(found, key=lambda path: int(path.name))


def trained(folder: Path, row: Mapping[str, str]) -> list[Trained]:
    """The seeds of a policy below ``results/policy/nets``; none of one that has no epoch.

    Raises
    ------
    UserError
        When it has no folder.
    """
    if not float(row["train_seconds"]):
        return []
    seeds = _seeds(folder / row["name"])
    if not seeds:
        raise UserError(f"{folder / row['name']} isn't there; make it: snakemake policy")
    return [Trained(row["name"], seed) for seed in seeds]


def runs(folder: Path) -> list[Run]:
    """The runs below ``results/policy/selfplay``, but for untrained ones: these learnt nothing."""
    found = [path for path in sorted(folder.glob("*/")) if path.is_dir()]
    return [
        Run(path.name, seed)
        for path in found
        for seed in _seeds(path)
        if (seed / HISTORY).is_file() and (seed / HISTORY).read_bytes() != UNTRAINED
    ]


def best(rows: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """The policy whose likeliest legal move is most often the move played."""
    return max(rows, key=lambda row: float(row["legal_accuracy"]))


def mover(folder: Path, row: Mapping[str, str]) -> Mover:
    """The first seed of a policy; raises UserError."""
    seeds = _seeds(folder / row["name"])
    first = seeds[0] if seeds else folder / row["name"] / "1"
    return Mover(read_policy(first / "net.policy"))


def words(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """What the policies came to, in sentences."""
    first = best(rows)
    legal = max(rows, key=lambda row: float(row["legal_first"]))
    return [
        f"The likeliest legal move of {first['name']} is the one played in "
        f"{_percent(first, 'legal_accuracy')} of {int(first['positions']):,} held-out positions, "
        "the largest such share.",
        f"The first pair of squares of {legal['name']} is legal in "
        f"{_percent(legal, 'legal_first')}, the largest such share.",
    ]


def _percent(row: Mapping[str, str], name: str) -> str:
    """A share with what it differs by between seeds, as far as that is known."""
    spread = row.get(f"{name}_sd")
    more = f" (seeds: sd {100 * float(spread):.1f})" if spread else ""
    return f"{100 * float(row[name]):.1f} %{more}"


def grid(rows: Sequence[Mapping[str, str]], folder: Path, label: Any) -> Grid:
    """The table, its measures first."""
    measures = [name for name in MEASURES if any(row.get(name) for row in rows)]
    facts = [name for name in FACTS if any(row.get(name) for row in rows)]
    columns = [("name", "policy"), *((name, MEASURES[name][0]) for name in measures)]
    made = label(folder / POLICIES)
    sources = []
    for row in rows:
        seeds = _seeds(folder / "policy" / "nets" / row["name"])
        trained_, measured = (
            [label(seed / name) for seed in seeds if (seed / name).is_file()]
            for name in (HISTORY, EVALUATION)
        )
        sources.append({"": [made, *measured], "train_seconds": [made, *trained_]})
    return Grid(
        "policies-table",
        "Policies on held-out positions, means over seeds, in brackets their standard deviation",
        [*columns, *((name, FACTS[name]) for name in facts)],
        [
            [
                row["name"],
                *(_cell(row, name) for name in measures),
                *(row.get(name, "") for name in facts),
            ]
            for row in rows
        ],
        sources,
        frozenset([*list(MEASURES)[ANSWERS:], *FACTS]) - {"head", "loss"},
    )


def _cell(row: Mapping[str, str], name: str) -> str:
    form = MEASURES[name][1]
    value, spread = (
        _number(cell, form) if cell else "" for cell in (row.get(name), row.get(f"{name}_sd"))
    )
    return f"{value} [{spread}]" if spread else value


def _number(cell: str, form: str) -> str:
    return f"{100 * float(cell):.1f}" if form == "%" else f"{float(cell):{form}}"


def scores_grid(path: Path, label: Any) -> Grid:
    """Players of a table of scores, shares in percent; each pairing once.

    Where the table has both players of one, the row is that of the one that isn't measured by.
    """
    rows, kept = read_scores(path), dict[frozenset[str], Mapping[str, str]]()
    for row in sorted(rows, key=lambda row: row["player"] in BASELINES):
        kept.setdefault(frozenset((row["player"], row["opponent"])), row)
    rows = [row for row in rows if row in kept.values()]
    ends = {name: f"ended by {name[len(END) :]} %" for name in rows[0] if name.startswith(END)}
    titles = {n: t for n, t in (SCORES | ends).items() if any(row.get(n) for row in rows)}
    shares = {name for name, title in titles.items() if title.endswith("%")}
    return Grid(
        "policies-scores",
        "Scores of games: true ones count mates alone, adjudicated ones material, too; material is "
        "the mean at the end, in pawns",
        [(name, title.replace("_", " ")) for name, title in titles.items()],
        [
            [_number(row[name], "%") if name in shares else row[name] for name in titles]
            for row in rows
        ],
        [{"": [label(path)]}] * len(rows),
        frozenset(list(titles)[list(titles).index("adjudicated_score") + 1 :]),
    )


def words_of_selfplay(known: Sequence[Run]) -> list[str]:
    """Who of them scores best against random moves at the end."""
    scores = []
    for run in known:
        for mover, how in policy_plots.MOVERS.items():
            values = [row[name] for row in run.history if (name := f"{mover}_random") in row]
            scores += [(values[-1], run, how)] if values else []
    if not scores:
        return []
    score, run, how = max(scores, key=lambda found: found[0])
    return [
        f"Of those that learnt from their own games, {run.name}, seed {run.seed}, has the best "
        f"true score against random moves at the end: {score:.3f}, {how}."
    ]


NOTE = (
    "The walk tries pairs of squares, the likeliest first, until one is legal; tries are the pairs "
    "that it looks at, checks those that it asks the rules about. Positions are of games that no "
    "policy has learnt from."
)


@dataclass
class Found:
    """The section of policies, and what other parts of the page need.

    Attributes
    ----------
    section : Section
    games : dict
        Of `policy_games.packed`; empty without games.
    best : dict of str to Mover
        The policy that knows the moves played best, by its name; empty where it is broken.
    """

    section: Section
    games: dict[str, Any] = field(default_factory=dict)
    best: dict[str, Mover] = field(default_factory=dict)


def find(folder: Path, label: Any) -> Found | None:
    """All about policies in ``results``; None without any. ``label`` says how a file is called."""
    place = folder / "policy"
    table, scores, agreed = folder / POLICIES, place / "vs_random.csv", folder / AGREEMENT
    learnt, games = runs(place / "selfplay"), policy_games.file_in(place)
    if not (learnt or games or any(path.exists() for path in (table, scores, agreed))):
        return None
    found = Found(Section("policies", "Policies", ("policies",)))
    section = found.section
    if table.exists():
        with told(section.problems, "the table of policies"):
            _trained(table, place / "nets", found, label)
    learnt = readable(learnt, "history", section.problems)
    for name in dict.fromkeys(run.name for run in learnt):
        with told(section.problems, f"self-play {name}"):
            section.figures += policy_plots.selfplay(name, [r for r in learnt if r.name == name])
    if entropy := policy_plots.entropy(learnt):
        section.figures.append(entropy)
    section.said += words_of_selfplay(learnt)
    for path, grid_of in ((scores, scores_grid), (agreed, agreement.grid)):
        if path.exists():
            with told(section.problems, path.name):
                section.grids.append(grid_of(path, label))
    if games:
        with told(section.problems, games.name):
            found.games = policy_games.packed(games)
            section.games = True
    return found


def _trained(table: Path, nets: Path, found: Found, label: Any) -> None:
    """Adds the table, the curves of training, and the best policy."""
    rows, section = read_table(table), found.section
    section.said, section.note = words(rows), NOTE
    section.grids.append(grid(rows, table.parent, label))
    section.figures.append(policy_plots.choices(rows))
    if not nets.exists():
        section.problems.append("The policies themselves aren't here, nor what only they can tell.")
        return
    known: list[Trained] = []
    for row in rows:
        with told(section.problems):
            known += readable(trained(nets, row), "history", section.problems)
    section.figures += policy_plots.training(known, {row["name"]: row["loss"] for row in rows})
    with told(section.problems, "the best policy"):
        first = best(rows)
        found.best = {first["name"]: mover(nets, first)}
