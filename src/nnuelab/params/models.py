"""The sections of ``params.yaml``, each as one model: names, types, limits, what they mean."""

from __future__ import annotations

import re
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    create_model,
    model_validator,
)

from nnuelab import artifacts
from nnuelab.tournament.words import Runner

Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
_MONTH = r"\d{4}-(0[1-9]|1[0-2])"
Seeds = Annotated[list[CountOrZero], Field(min_length=1)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class Section(BaseModel):
    """Some settings that belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _each_once(values: list[Any]) -> list[Any]:
    if twice := repeated(values):
        raise ValueError(f"{twice[0]} stands there twice")
    return values


def _as_uci(value: Any) -> Any:
    """Numbers as text, and true for True."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


# A new line would be a new command of UCI.
OptionName = Annotated[str, Field(pattern=r"^[^=\r\n]+$")]
OptionValue = Annotated[
    str,
    BeforeValidator(_as_uci),
    Field(pattern=r"^[^\r\n]*$"),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]


def _each_file_once(files: list[str]) -> list[str]:
    """Games that come twice, under two numbers, would train and validate."""
    if (file := artifacts.first_repeated(files)) is not None:
        raise ValueError(f"{file} stands there twice")
    return files


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
            raise ValueError(f"{text!r} is no range of months")
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

    source: Literal["embedded", "lichess", "files"]
    """Games that come with the project, months of the Lichess database, or files of your own."""
    months: Annotated[
        list[Annotated[str, Field(pattern=rf"^{_MONTH}(\.\.{_MONTH})?$")]],
        AfterValidator(months),
        AfterValidator(_each_once),
    ]
    """Months of the Lichess database (2024-01) and ranges (2024-01..2024-06), for lichess."""
    mirror: Annotated[str, Field(pattern=r"^https?://\S+$")] | None
    """Address to fetch months and puzzles from instead of the database's own."""
    books_mirror: Annotated[str, Field(pattern=r"^https?://\S+$")] | None
    """Address of the folder that opening books are fetched from."""
    sha256: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]
    """Checksums by month, book or "puzzles", for servers that list none."""
    max_rate: Annotated[float, Field(ge=0)]
    """Bandwidth of a download, MB/s; 0: all there is."""
    files: Annotated[list[str], AfterValidator(_each_file_once)]
    """PGN files (plain, .zst, .bz2, .gz), for the source files."""

    @model_validator(mode="after")
    def _has_what_its_source_needs(self) -> Data:
        if self.source == "lichess" and not self.months:
            raise ValueError("source lichess needs at least one month in data.months")
        if self.source == "files" and not self.files:
            raise ValueError("source files needs at least one file in data.files")
        return self

    @property
    def games(self) -> list[str]:
        """The files of games: those that are downloaded to results/games, or the user's own."""
        if self.source == "files":
            return self.files
        parts = self.months if self.source == "lichess" else ["embedded"]
        return [f"results/games/{part}.pgn.zst" for part in parts]


class Sample(Section):
    """Which positions of the games become samples."""

    min_ply: CountOrZero
    """Half-moves played before, at least."""
    per_game: CountOrZero
    """Positions drawn uniformly from each game; 0: all."""
    skip_check: bool
    """Leave out positions in check."""
    skip_captures: bool
    """Leave out positions where the move played next is a capture."""
    skip_promotions: bool
    """Leave out positions where the move played next is a promotion."""
    skip_duplicates: bool
    """Leave out positions that stood in a game before."""
    min_pieces: Annotated[int, Field(ge=2, le=32)]
    """Pieces on the board, kings included, at least."""
    max_pieces: Annotated[int, Field(ge=2, le=32)]
    """And at most."""
    max_score: CountOrZero
    """Leave out a larger |[%eval]|, centipawns; 0: none."""
    only_evaluated: bool
    """Skip games without any [%eval]."""
    start_positions: bool
    """Take games that begin at other positions than the usual one, too."""
    min_rating: CountOrZero
    """Elo of both players, at least; 0: any, and players without a rating."""
    max_rating: CountOrZero
    """Elo of both players, at most; 0: any."""
    min_seconds: CountOrZero
    """Time of a player for 40 moves (base + 40 increments), at least; 0: any."""
    max_seconds: CountOrZero
    """At most; 0: any."""
    terminations: Annotated[list[str], Field(max_length=16), AfterValidator(_each_once)]
    """Only games with one of these tags Termination (Normal, Time forfeit); []: any."""
    quiet_only: bool
    """Leave out positions whose static evaluation isn't the value of their quiescence search."""
    max_unreadable: Annotated[float, Field(ge=0, le=1)]
    """Share of games with mistakes (illegal moves...) that is put up with."""
    max_positions: CountOrZero
    """Stop after so many; 0: never."""
    seed: CountOrZero
    """Seed of the draw."""

    @model_validator(mode="after")
    def _leaves_something(self) -> Sample:
        for name in ("pieces", "rating", "seconds"):
            low, high = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if high and low > high:
                raise ValueError(f"nothing lies between min_{name} {low} and max_{name} {high}")
        return self


class Label(Section):
    """Which score each sample gets, and which games validate."""

    labeller: Literal["pgn", "stockfish", "engine", "result"]
    """The games' [%eval] comments, a UCI engine, this engine, or the result of the game."""
    engine: str
    """For stockfish: a UCI engine, by name on PATH or by path."""
    net: str | None
    """For engine: its net; null is the one that comes with the package."""
    depth: Count | None
    """For stockfish and engine: plies per position."""
    nodes: Count | None
    """For stockfish and engine: nodes per position, instead of a depth."""
    movetime: Count | None
    """Or ms per position: such labels aren't reproducible."""
    options: dict[OptionName, OptionValue]
    """For stockfish: UCI options by name; Threads is 1 and Hash 4 where they aren't named."""
    patience: Annotated[float, Field(ge=1)]
    """For stockfish: seconds for a position until the engine counts as hanging."""
    cache: str | None
    """For stockfish and engine: a folder that keeps what they have found, for other runs."""
    max_unusable: CountOrZero
    """For stockfish and engine: positions that they may fail on."""
    skip_captures: bool
    """Leave out positions where the best move (the engine's; without one, the move played) is a
    capture or a promotion."""
    max_score: Annotated[int, Field(ge=1, le=32000)]
    """Larger |score| is left out, centipawns."""
    score_share: Annotated[float, Field(ge=0, le=1)]
    """1: labels are scores; less: scores mixed with the results of the games."""
    validation_share: Share
    """Share of the games that validate instead of train."""
    test_share: Annotated[float, Field(ge=0, lt=1)]
    """Share of the games that neither train nor validate; 0: the test set is empty."""
    seed: CountOrZero
    """Seed of the split."""

    @model_validator(mode="after")
    def _has_one_limit(self) -> Label:
        limits = {"depth": self.depth, "nodes": self.nodes, "movetime": self.movetime}
        given = " and ".join(name for name, value in limits.items() if value is not None)
        if " and " in given:
            raise ValueError(f"label takes one limit, not {given}: set all but one to null")
        if self.movetime is not None and self.movetime >= self.patience * 1000:
            raise ValueError("movetime is longer than patience: all engines would seem to hang")
        if self.validation_share + self.test_share >= 1:
            raise ValueError("validation_share and test_share leave no game to train with")
        return self


class Train(Section):
    """The network, its loss and its optimizer; the same for every feature set."""

    l1: Annotated[int, Field(ge=1, le=16384)]
    """Neurons of an accumulator, one for each perspective."""
    l2: Annotated[int, Field(ge=1, le=16384)]
    """Neurons of the second layer."""
    l3: Annotated[int, Field(ge=0, le=16384)]
    """Neurons of a further hidden layer; 0: there is none."""
    activation: Literal["clipped", "squared"]
    """Of hidden layers: clipped ReLU, or its square."""
    buckets: Annotated[int, Field(ge=1, le=32)]
    """Nets behind the first layer, chosen by the number of pieces on the board."""
    epochs: Count
    """Passes over the training data."""
    fake_quantize_epochs: CountOrZero
    """The last so many of them see the rounding of the integer net."""
    games_share: Annotated[float, Field(gt=0, le=1)]
    """Of the training games, so many are learned from."""
    batch_size: Count
    """Positions per step."""
    optimizer: Literal["adam", "rowwise-adam"]
    """Adam; or a variant of it for tables of tens of thousands of rows."""
    learning_rate: Positive
    """Of Adam, the highest."""
    schedule: Literal["step", "cosine", "one-cycle"]
    """How it changes: by a factor per epoch; to 0 by half a cosine; up and down again."""
    lr_decay: Annotated[float, Field(gt=0, le=1)]
    """For step: factor of the learning rate from one epoch to the next."""
    warmup: CountOrZero
    """Steps at the beginning in which it rises."""
    clip_norm: Annotated[float, Field(ge=0)]
    """Longer gradients are shortened to this; 0: never."""
    patience: CountOrZero
    """Ends with the best net after so many epochs without a lower validation loss; 0: never."""
    method: Literal["scores", "pqr", "triplet"]
    """Learns scores, or what distinguishes the move played (P to Q) from another one (P to R)."""
    exponent: Annotated[float, Field(ge=1)]
    """For scores: the loss is mean |sigmoid(out / output_scale) - target|^exponent."""
    output_scale: Annotated[float, Field(ge=1)]
    """Centipawns of the net that are an expected score of 73 %."""
    target_scale: Annotated[float, Field(ge=1)]
    """For scores: the same for the labels."""
    score_share: Annotated[float, Field(ge=0, le=1)]
    """For scores: 1 learns the scores, 0 the results of the games."""
    kappa: Annotated[float, Field(ge=0)]
    """For pqr: weight of f(P) = -f(Q)."""
    margin: Annotated[float, Field(ge=0)]
    """For triplet: by how much Q is nearer to P than R, in values of -1..1."""
    moves_quantile: Annotated[float, Field(ge=0, le=1)]
    """For pqr and triplet: positions with fewer legal moves than this quantile, for their colour
    and move number, are left out."""
    from_: Annotated[str | None, Field(alias="from")]
    """Checkpoint to begin with (fine-tuning); {name} and {seed} stand for those of the net."""
    device: Literal["auto", "cpu", "cuda"]
    """Where a net is trained; auto: on a GPU where there is one. Equal bits only on the CPU."""
    threads: Count
    """Cores for one net; fewer than the machine has let several nets train side by side."""

    @model_validator(mode="after")
    def _ends_with_what_it_learnt_last(self) -> Train:
        if self.patience and self.fake_quantize_epochs:
            raise ValueError(
                "patience may end a run before its fake_quantize_epochs: set one of them to 0"
            )
        return self


class Quantize(Section):
    """How float nets become integers."""

    scheme: Literal["fine", "study"]
    """fine: as much resolution as the integers hold, rounding centred; study: that of .nn files."""
    count: Annotated[int, Field(ge=0)]
    """fine: positions of the training set whose mean error is taken out; 0: it stays."""


class Verify(Section):
    """The bound on the difference of integer and float nets; a net beyond it plays no game."""

    count: Count
    """Positions of the validation set to compare on, evenly spaced."""
    max_abs_mean: Positive
    """Largest |mean| of the difference, centipawns."""
    min_share_within_50: Annotated[float, Field(ge=0, le=1)]
    """Share of the positions that differ by at most 50 centipawns, at least."""


class Tournament(Section):
    """Round robins of all nets of an experiment, at fixed nodes and at fixed time per move."""

    book: str
    """Openings: EPD or PGN."""
    games_per_pairing: Annotated[int, Field(ge=2, multiple_of=2)]
    """Even: each opening is played twice, with colours swapped."""
    nodes: Count
    """Nodes per move."""
    movetime: Annotated[float, Field(ge=0)]
    """The second yardstick: ms per move of further games between the same nets; 0: none."""
    timed_games_per_pairing: Annotated[int, Field(ge=2, multiple_of=2)]
    """Games of these, which take longer."""
    seed: CountOrZero
    """Draws the openings."""
    hash: Annotated[int, Field(ge=1, le=65536)]
    """Hash table of each player, MB."""
    draw_move: CountOrZero
    """Draws are adjudicated from this move on, when"""
    draw_plies: CountOrZero
    """so many half-moves in a row (0: never)"""
    draw_score: CountOrZero
    """are within this many centipawns of 0."""
    resign_score: Count
    """A game is lost when a side is this many centipawns behind"""
    resign_plies: CountOrZero
    """for so many half-moves in a row (0: never)."""
    max_plies: Count
    """A draw after so many half-moves."""


class Puzzles(Section):
    """Puzzles that every net is asked, at fixed nodes per move."""

    file: str
    """In the CSV of the Lichess puzzle database, plain or compressed."""
    nodes: Count
    """Nodes per move."""
    count: CountOrZero
    """Only so many, the first ones; 0: all."""


class Ladder(Section):
    """A round robin with other engines: results/ladder.csv. The rest is as in tournament."""

    players: str
    """Nets and engines, with their options and limits: YAML or TOML."""
    games_per_pairing: Annotated[int, Field(ge=2, multiple_of=2)]
    """Even: each opening is played twice, with colours swapped."""
    movetime: Positive
    """ms per move of the players that have no limit of their own."""
    anchor: str
    """The player whose Elo is 0."""
    runner: Runner
    """Who holds the games: own, or a tournament manager that is installed."""


class Selfplay(Section):
    """Generations of nets, each trained on games of the one before against itself."""

    generations: Count
    """How many nets learn, one after the other."""
    feature_set: str
    """Of the nets that learn."""
    net: str | None
    """The net that plays first; null: the one that comes with the package."""
    games: Count
    """Of each generation."""
    nodes: Count
    """Nodes per move."""
    random_plies: Annotated[int, Field(ge=4)]
    """Random moves that a game begins with, or one more."""
    max_opening_score: Count
    """Openings that are less balanced aren't played, centipawns."""
    seed: CountOrZero
    """Of the games, together with the generation, and of training."""


def _overrides(name: str, *sections: type[Section], lists: bool = False) -> type[Section]:
    """A section with every setting of others, none of which has to be there; or lists of each."""
    fields: dict[str, Any] = {}
    for key, info in (item for section in sections for item in section.model_fields.items()):
        kind: Any = Annotated[info.annotation, *info.metadata, Field()]
        if lists:
            kind = Annotated[list[kind], Field(min_length=1), AfterValidator(_each_once)]
        fields[key] = (kind, Field(None, alias=info.alias, description=info.description))
    return create_model(name, __base__=Section, __doc__=sections[0].__doc__, **fields)


class Variant(_overrides("Overrides", Train, Quantize)):  # type: ignore[misc]
    """What a variant changes of train and quantize; its from may name another variant."""


class Grid(_overrides("Lists", Train, Quantize, lists=True)):  # type: ignore[misc]
    """Values for settings of train and quantize: each combination is a variant."""


class Games(_overrides("GamesOverrides", Tournament)):  # type: ignore[misc]
    """What an experiment changes of tournament."""


class Experiment(Section):
    """Nets that are compared with each other: each feature set, as each variant, with each seed."""

    feature_sets: Annotated[list[str], Field(min_length=1)]
    """Expressions over feature blocks: each is trained with every seed, and plays all others."""
    seeds: Seeds
    """Seeds of training; two or more show the spread of equal trainings."""
    anchor: str
    """Whose Elo is 0: a feature set or, where there are variants, SET,VARIANT."""
    variants: dict[Name, Variant] = {}
    """Other trainings by name; none: as train and quantize say."""
    grid: Grid = Grid()
    """Every combination of some settings as a variant: {l1: [64, 128]} makes l1-64 and l1-128."""
    tournament: Games = Games()
    """Other games than those of the section tournament."""

    @model_validator(mode="after")
    def _has_one_kind_of_variants(self) -> Experiment:
        if self.variants and given(self.grid):
            raise ValueError("variants and grid are two ways to the same: take one of them")
        return self

    @property
    def overrides(self) -> dict[str, dict[str, Any]]:
        """What each variant changes, by its name; one without a name where there are none."""
        if self.variants:
            return {name: given(variant) for name, variant in self.variants.items()}
        lists = given(self.grid)
        combinations = (
            dict(zip(lists, values, strict=True)) for values in product(*lists.values())
        )
        return {",".join(f"{key}-{value}" for key, value in c.items()): c for c in combinations}


def given(section: Section) -> dict[str, Any]:
    """The settings that were really given, by their names in the file."""
    return section.model_dump(by_alias=True, exclude_unset=True)


def folder_of(expression: str) -> str:
    """A canonical feature set as part of a path that no shell takes for anything else.

    >>> folder_of("KING*ALL"), folder_of("PHASE(4,KB(16))+H"), folder_of("TOPK(9,lists/a.csv)")
    ('KINGxALL', 'PHASE-4,KB-16@@+H', 'TOPK-9,lists~a.csv')
    """
    return expression.translate(str.maketrans("*()/", "x-@~")).rstrip("@")


class Params(Section):
    """All settings of a run."""

    data: Data
    sample: Sample
    label: Label
    train: Train
    quantize: Quantize
    verify: Verify
    tournament: Tournament
    puzzles: Puzzles
    ladder: Ladder
    selfplay: Selfplay
    experiments: Annotated[dict[Name, Experiment], Field(min_length=1)]
    """Experiments by name: each makes results/NAME_table.csv."""
    report: Annotated[list[Name], AfterValidator(_each_once)]
    """Experiments on the page that ./run report makes; none: the one that ./run makes."""
    blocks: list[str]
    """Python files with feature blocks of your own."""


def repeated(values: list[Any]) -> list[Any]:
    """The values that stand there once more."""
    return [value for i, value in enumerate(values) if value in values[:i]]
