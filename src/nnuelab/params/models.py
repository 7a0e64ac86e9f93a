"""The sections of ``params.yaml``, each as one model: names, types, limits, what they mean."""

from __future__ import annotations

import re
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    model_validator,
)

from nnuelab import artifacts
from nnuelab.errors import quoted
from nnuelab.names import variant_of
from nnuelab.params.judge import Judging
from nnuelab.params.policies import Policies
from nnuelab.params.sections import (
    Count,
    CountOrZero,
    Even,
    Jobs,
    Line,
    Name,
    OptionName,
    OptionValue,
    Positive,
    Section,
    Seeds,
    each_once,
    given,
    overrides,
    section,
)
from nnuelab.params.sprt import SequentialTest
from nnuelab.settings import MOST, found, games
from nnuelab.settings.label import Labelling
from nnuelab.settings.presets import PRESETS, expanded
from nnuelab.settings.quantize import Quantization, Verification
from nnuelab.settings.sample import Sampling
from nnuelab.settings.search import Searching
from nnuelab.settings.texel import Positions
from nnuelab.settings.train import Training
from nnuelab.settings.tuning import Tuning
from nnuelab.settings.weighted import weighted
from nnuelab.tournament import yardsticks
from nnuelab.tournament.words import Runner
from nnuelab.tournament.yardsticks import Yardstick

EvenOrZero = Annotated[int, Field(ge=0, le=MOST, multiple_of=2)]
_MONTH = r"\d{4}-(0[1-9]|1[0-2])"
EntryName = Annotated[str, Field(pattern=r"^.+,[a-z][a-z0-9_-]*$")]
PlayerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
GAMES = {  # setting with the games of a pairing
    yardsticks.NODES: "games_per_pairing",
    yardsticks.COST: "cost_games_per_pairing",
    yardsticks.DEEP: "deep_games_per_pairing",
    yardsticks.DEEP_COST: "deep_games_per_pairing",
    yardsticks.TIME: "timed_games_per_pairing",
}
UNTUNED = "untuned"  # a player of the match of texel


Terminations = Annotated[list[str], Field(max_length=16), AfterValidator(each_once)]


def _each_file_once(files: list[str]) -> list[str]:
    """Games listed twice, under two numbers, could be in both training and validation."""
    if (file := artifacts.first_repeated(files)) is not None:
        raise ValueError(f"{file} is listed twice")
    return files


def _weighted(words: list[str]) -> list[str]:
    """Words whose files and weights can be used."""
    for path, weight in weighted(words).items():
        if not weight > 0:
            raise ValueError(f"{path} has weight {weight:g}; leave it out, or give more than 0")
    return words


def months(given: list[str]) -> list[str]:
    """Every month of ranges like ``2023-11..2024-02``.

    Raises
    ------
    ValueError
        When one isn't written like that, or ends before it begins.

    Examples
    --------
    >>> months(["2013-11..2014-01", "2024-05"])
    ['2013-11', '2013-12', '2014-01', '2024-05']
    """
    found: list[str] = []
    for text in given:
        first, _, last = text.partition("..")
        if not all(re.fullmatch(_MONTH, month) for month in (first, last or first)):
            raise ValueError(f"{quoted(text)} is not a range of months")
        year, month = map(int, first.split("-"))
        end = last or first
        if first > end:
            raise ValueError(f"{text} ends before it begins")
        while (name := f"{year}-{month:02}") <= end:
            found.append(name)
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
    return found


class Data(Section):
    """Where the games come from."""

    source: Literal["embedded", "lichess", "files", "selfplay", "positions"]
    """Games that come with the project, months of the Lichess database, files of your own, or the
    games of all generations of the section selfplay; or positions that are labelled already."""
    months: Annotated[
        list[Annotated[str, Field(pattern=rf"^{_MONTH}(\.\.{_MONTH})?$")]],
        AfterValidator(months),
        AfterValidator(each_once),
    ]
    """Months of the Lichess database (2024-01) and ranges (2024-01..2024-06), for lichess."""
    mirror: Annotated[str, Field(pattern=r"^https?://\S+$")] | None
    """Address to fetch months and puzzles from instead of the database's own."""
    books_mirror: Annotated[str, Field(pattern=r"^https?://\S+$")] | None
    """Address of the folder that opening books are fetched from."""
    sha256: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]
    """Checksums by month, book or "puzzles", for servers that list none."""
    max_rate: Annotated[float, Field(ge=0)]
    """Bandwidth of a download, MB/s; 0: unlimited."""
    files: Annotated[list[str], AfterValidator(_each_file_once)]
    """PGN files (plain, .zst, .bz2, .gz), for the source files."""
    positions: Annotated[list[str], AfterValidator(_weighted)]
    """For the source positions: .binpack, .bf, .plain or .npy, as FILE or FILE=WEIGHT; a weight is
    how often training sees a position of the file while it sees one of weight 1 once."""
    validation: str | None
    """For the source positions: a file of its own that validates; null: label.validation_share of
    the others."""

    @model_validator(mode="after")
    def _has_what_its_source_needs(self) -> Data:
        if self.source == "lichess" and not self.months:
            raise ValueError("source lichess needs at least one month in data.months")
        if self.source == "files" and not self.files:
            raise ValueError("source files needs at least one file in data.files")
        if self.source == "positions" and not self.positions:
            raise ValueError("source positions needs at least one file in data.positions")
        return self

    @property
    def games(self) -> list[str]:
        """The files of games: those that are downloaded to results/games, or the user's own.

        None of those that the section selfplay makes.
        """
        if self.source in ("files", "selfplay", "positions"):
            return self.files
        parts = self.months if self.source == "lichess" else ["embedded"]
        return [f"results/games/{part}.pgn.zst" for part in parts]


class Sample(section(Sampling, terminations=Terminations)):  # type: ignore[misc]
    __doc__ = Sampling.__doc__

    parts: Jobs
    """Jobs among which files of games are shared out, on as many machines."""

    @model_validator(mode="after")
    def _reads_all_games_in_parts(self) -> Self:
        if self.parts > 1 and self.max_positions:
            raise ValueError(
                "max_positions ends before all games are read, and parts are of all; "
                "leave max_positions 0, or parts 1"
            )
        return self


class Label(section(Labelling, options=dict[OptionName, OptionValue])):  # type: ignore[misc]
    __doc__ = Labelling.__doc__

    parts: Jobs
    """Jobs among which positions are shared out (stockfish, engine), on as many machines."""

    @property
    def searches(self) -> bool:
        """Whether the labeller does; others take no time."""
        return self.labeller in ("stockfish", "engine")


class Train(section(Training)):  # type: ignore[misc]
    __doc__ = Training.__doc__

    from_: Annotated[str | None, Field(alias="from")]
    """Checkpoint to start from (fine-tuning); {name} and {seed} stand for those of the net."""
    threads: Count
    """Cores for one net; fewer than the machine has let several nets train in parallel."""


class Quantize(section(Quantization, scheme=Literal["fine", "int8", "study"])):  # type: ignore[misc]
    __doc__ = Quantization.__doc__


class Verify(section(Verification)):  # type: ignore[misc]
    __doc__ = Verification.__doc__


class Tournament(section(games.Games, games.Rules, nodes=int), Judging):  # type: ignore[misc]
    """Round robins of all nets of an experiment: at fixed nodes, at equal cost, at fixed time."""

    book: str
    """Openings: EPD or PGN."""
    format: Literal["round-robin", "anchored"]
    """anchored: as many games, shared out so that differences from the anchor are known best."""
    cost_games_per_pairing: EvenOrZero
    """Further games where each player has the nodes that cost as much as the anchor's; 0: none."""
    costs: str | None
    """Costs of a node (nnuelab cost), measured elsewhere; null: measured here."""
    nodes_deep: CountOrZero
    """Nodes per move of further games, at fixed nodes and at equal cost; 0: none."""
    deep_games_per_pairing: Even
    """Number of those games, of each kind."""
    check_time: bool
    """Plays at a fixed time per move, too, which equal cost stands for."""
    movetime: Positive
    """ms per move of these games."""
    timed_games_per_pairing: Even
    """Number of these games, which take longer."""
    parts: Jobs
    """Jobs that games are shared out among, on as many machines; the games are the same."""
    sprt: SequentialTest

    @model_validator(mode="after")
    def _knows_what_a_node_costs(self) -> Self:
        if self.engine is not None and self.cost_games_per_pairing and self.costs is None:
            raise ValueError(
                "what a node costs is measured in this engine's search, so games of another engine "
                "at equal cost need costs of their own; give costs, or cost_games_per_pairing: 0"
            )
        return self

    @property
    def yardsticks(self) -> list[Yardstick]:
        """What is played at, the first one always."""
        found = [yardsticks.NODES]
        found += [yardsticks.COST] * bool(self.cost_games_per_pairing)
        if self.nodes_deep:
            found += [yardsticks.DEEP]
            found += [yardsticks.DEEP_COST] * bool(self.cost_games_per_pairing)
        return found + [yardsticks.TIME] * self.check_time

    def games_at(self, yardstick: Yardstick) -> int:
        """Games of a pairing."""
        return int(getattr(self, GAMES[yardstick]))

    def nodes_at(self, yardstick: Yardstick) -> int | None:
        """Nodes per move, of the anchor's where others have fewer; None where time limits them."""
        if yardstick is yardsticks.TIME:
            return None
        return self.nodes_deep if yardstick.deep else self.nodes


class Cost(section(games.Pricing)):  # type: ignore[misc]
    __doc__ = games.Pricing.__doc__


class Search(section(Searching)):  # type: ignore[misc]
    __doc__ = Searching.__doc__


class Puzzles(section(games.Puzzling, nodes=int)):  # type: ignore[misc]
    __doc__ = games.Puzzling.__doc__

    file: str
    """In the CSV of the Lichess puzzle database, plain or compressed."""


class MadePlayer(Section):
    """A tuned evaluation or a policy that this workflow makes: one of the first three."""

    texel: Name | None = None
    """A run of texel.tuners."""
    policy: Name | None = None
    """A policy of policy.variants, with the first of policy.seeds."""
    selfplay: Name | None = None
    """A run of policy.selfplay, with the first of its seeds."""
    plies: Annotated[int, Field(ge=0, le=1)] = 0
    """Of a policy; 1: it looks one ply ahead, with its value head."""
    value_head: bool = True
    """Of a policy; false: one ply ahead it knows mates and draws alone."""

    @model_validator(mode="after")
    def _is_one_player(self) -> Self:
        if sum(name is not None for name in (self.texel, self.policy, self.selfplay)) != 1:
            raise ValueError("give one of texel, policy, selfplay")
        if self.texel and (self.plies or not self.value_head):
            raise ValueError("plies and value_head are for policies")
        return self


class Ladder(Section):
    """A round robin with other engines: results/ladder.csv. The rest is as in tournament."""

    players: str
    """Nets and engines, with their options and limits: YAML or TOML."""
    also: dict[PlayerName, MadePlayer]
    """Tuned evaluations and policies of this workflow that play, too, by name."""
    games_per_pairing: Even
    """Even: each opening is played twice, with colours swapped."""
    movetime: Positive
    """ms per move of the players that have no limit of their own."""
    anchor: str
    """The player whose Elo is 0."""
    runner: Runner
    """Tournament manager: own, or one that is installed."""


class Selfplay(section(games.Generating, nodes=int)):  # type: ignore[misc]
    """Generations of nets, each trained on self-play games of the one before."""

    generations: Jobs
    """How many nets are trained, one after the other."""
    feature_set: str
    """Of the trained nets."""
    net: str | None
    """The net that plays first; null: the one that comes with the package."""
    parts: Jobs
    """Files of games of each generation, each made by a job of its own."""


class Variant(overrides("Overrides", Train, Quantize, auto=found.COMMANDS)):  # type: ignore[misc]
    """Changes to train and quantize; its from may name another variant.

    With l1: auto, a node of each feature set costs about what the anchor's does; with
    learning_rate: auto, each has the rate that gave it the lowest validation loss.
    """

    preset: Literal[tuple(PRESETS)] | None = None  # type: ignore[valid-type]
    """A net and training known by a name, which the other changes come on top of."""
    rates: Annotated[list[Positive], Field(min_length=2), AfterValidator(each_once)] | None = None
    """Of learning_rate: auto, those to choose from; a quarter, half, one and two of train's."""


class Grid(overrides("Lists", Train, Quantize, lists=True, auto=found.COMMANDS)):  # type: ignore[misc]
    """Values for settings of train and quantize: each combination is a variant."""


class Games(overrides("GamesOverrides", Tournament)):  # type: ignore[misc]
    """Changes to tournament."""


class TexelTuning(section(Tuning)):  # type: ignore[misc]
    __doc__ = Tuning.__doc__


class Tuner(overrides("TunerOverrides", TexelTuning)):  # type: ignore[misc]
    """What a run changes of texel.tuning."""

    evaluation: str | None = None
    """Other terms than those of texel.evaluation: YAML. The positions are the same."""


class Texel(section(Positions)):  # type: ignore[misc]
    """Hand-crafted evaluations, tuned on results of games, and a match between them."""

    evaluation: str | None
    """Terms and the weights that tuning begins with: YAML; null: what comes with the package."""
    sources: Annotated[list[str], AfterValidator(_each_file_once)]
    """PGN, EPD, CSV or datasets with results; none: the games of data, sampled as in sample."""
    reference: str | None
    """The same terms with the weights whose error is the line to pass; null: those of the start."""
    tuning: TexelTuning
    """For every run of the optimizers."""
    tuners: Annotated[dict[Name, Tuner], Field(min_length=1)]
    """Runs by name, each with what it changes of tuning: results/texel/NAME/tuned.yaml."""
    simplify: Annotated[list[Name], AfterValidator(each_once)]
    """Runs whose terms are left out one by one: results/texel/NAME/simplify.csv."""
    players: dict[Name, str]
    """Who else plays the match besides the start, `untuned`, and every run: NAME: FILE."""
    games_per_pairing: Even
    """Even: each opening is played twice, with colours swapped."""
    nodes: Count
    """Per move. The rest is as in tournament."""

    @model_validator(mode="after")
    def _has_one_player_of_a_name(self) -> Texel:
        for name in self.players:
            if name in (UNTUNED, *self.tuners):
                raise ValueError(f"two players of the match are called {name}; rename one")
        if UNTUNED in self.tuners:
            raise ValueError(f"the start is called {UNTUNED}; give the run another name")
        for name in self.simplify:
            if name not in self.tuners:
                raise ValueError(f"simplify: {name} is no run; there are {', '.join(self.tuners)}")
        return self

    def settings_of(self, tuner: str) -> TexelTuning:
        """What a run is tuned with."""
        changes = given(self.tuners[tuner])
        changes.pop("evaluation", None)
        return TexelTuning.model_validate(self.tuning.model_dump() | changes)


class Hypothesis(Section):
    """What an experiment is to find out, fixed before its games: one set against the anchor.

    The games end where the design says: all seeds, all games of each pairing.
    """

    set: str
    """A feature set or, where there are variants, SET,VARIANT."""
    is_: Annotated[Literal["stronger", "weaker", "equivalent"], Field(alias="is")]
    """What is expected of it."""
    within: Positive | None = None
    """Elo: by less than this an equivalent set differs from the anchor."""
    column: Literal["elo", "elo_cost", "elo_deep", "elo_deep_cost", "elo_time"] = "elo"
    """Of the table, that decides: at fixed nodes, at equal cost, ..."""

    @model_validator(mode="after")
    def _has_a_bound_where_it_needs_one(self) -> Self:
        if (self.is_ == "equivalent") != (self.within is not None):
            raise ValueError("within is for equivalent, which needs it; such as within: 15")
        return self


class Experiment(Section):
    """Nets that are compared with each other: each feature set, as each variant, with each seed."""

    question: Line | None = None
    """What it asks, in words for its page."""
    feature_sets: Annotated[list[str], Field(min_length=1)]
    """Expressions over feature blocks: each is trained with every seed, and plays all others."""
    seeds: Seeds
    """Seeds of training; two or more show the spread between trainings."""
    anchor: str
    """Whose Elo is 0: a feature set or, where there are variants, SET,VARIANT."""
    variants: dict[Name, Variant] = Field({})
    """Other trainings by name; none: the settings of train and quantize."""
    grid: Grid = Grid()
    """Every combination of some settings as a variant: {l1: [64, 128]} makes l1-64 and l1-128."""
    tournament: Games = Games()
    """Changes to the section tournament."""
    spreads: dict[Name, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    """Groups of sets (SET or SET,VARIANT) whose trainings scatter otherwise than most."""
    nets: dict[EntryName, str] = Field(default_factory=dict)
    """Nets made elsewhere that play, too, each by SET,NAME: .nnue or .nn."""
    hypothesis: Hypothesis | None = None
    """What it is to find out; its page says whether that was fixed before the games."""

    @model_validator(mode="after")
    def _has_one_kind_of_variants(self) -> Experiment:
        if self.variants and given(self.grid):
            raise ValueError("give variants or grid, not both")
        return self

    @property
    def overrides(self) -> dict[str, dict[str, Any]]:
        """What each variant changes, by its name; one without a name where there are none."""
        if self.variants:
            return {name: expanded(given(variant)) for name, variant in self.variants.items()}
        lists = given(self.grid)
        combinations = (
            dict(zip(lists, values, strict=True)) for values in product(*lists.values())
        )
        return {variant_of(changes): changes for changes in combinations}


class Params(Section):
    """All settings of a run."""

    data: Data
    sample: Sample
    label: Label
    train: Train
    quantize: Quantize
    verify: Verify
    tournament: Tournament
    cost: Cost
    search: Search
    puzzles: Puzzles
    ladder: Ladder
    selfplay: Selfplay
    texel: Texel
    policy: Policies
    experiments: Annotated[dict[Name, Experiment], Field(min_length=1)]
    """Experiments by name: each makes results/NAME_table.csv."""
    report: Annotated[list[Name], AfterValidator(each_once)]
    """Experiments on the page that ./run report makes; none: the one that ./run makes."""
    spread: str | None
    """What is known of the spread of trainings from other experiments: CSV of nnuelab spread."""
    blocks: list[str]
    """Python files with feature blocks of your own."""
