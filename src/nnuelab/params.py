"""``params.yaml``: its models, from which schema, messages and command lines are derived.

The models hold no defaults: the values stand in ``params.yaml`` alone. A key of a section is the
name of an option of the section's command (``min_ply`` is ``--min-ply``), so that `options` can
render one from the other.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import json
import os
import shlex
import typing
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from nnuelab import artifacts
from nnuelab.errors import UserError

FILE = Path("params.yaml")
EMBEDDED = ("resources/embedded/games.pgn.zst", "resources/embedded/games.pgn.zst.json")
MADE = ("results/embedded/games.pgn.zst", "results/embedded/openings.epd.gz")  # by rules, on demand

Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Seeds = Annotated[list[CountOrZero], Field(min_length=1)]


class ParamsError(UserError):
    """Every mistake in the settings, each with its dotted path."""

    def __init__(self, source: str, mistakes: Iterable[str]) -> None:
        self.mistakes = list(mistakes)
        number = len(self.mistakes)
        head = f"{source}: {number} mistake{'s' if number > 1 else ''}"
        super().__init__("\n  ".join([head, *self.mistakes]))


class Section(BaseModel):
    """Some settings that belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _each_once(values: list[str]) -> list[str]:
    if twice := _repeated(values):
        raise ValueError(f"{twice[0]} stands there twice")
    return values


def _each_file_once(files: list[str]) -> list[str]:
    """Games that come twice, under two numbers, would train and validate."""
    if (file := artifacts.first_repeated(files)) is not None:
        raise ValueError(f"{file} stands there twice")
    return files


class Data(Section):
    """Where the games come from."""

    source: Literal["embedded", "lichess", "files"]
    """Games that come with the project, months of the Lichess database, or files of your own."""
    months: Annotated[
        list[Annotated[str, Field(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")]], AfterValidator(_each_once)
    ]
    """Months of the Lichess database (2024-01), for the source lichess."""
    mirror: Annotated[str, Field(pattern=r"^https?://\S+$")] | None
    """Address to fetch months from instead of the database's own."""
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
    """Leave out positions where the move played next is a capture or a promotion."""
    only_evaluated: bool
    """Skip games without any [%eval] before they are parsed."""
    max_positions: CountOrZero
    """Stop after so many; 0: never."""
    seed: CountOrZero
    """Seed of the draw."""


class Label(Section):
    """Which score each sample gets, and which games validate."""

    labeller: Literal["pgn", "stockfish", "result"]
    """The games' [%eval] comments, a UCI engine, or the result of the game."""
    engine: str
    """For stockfish: a UCI engine, by name on PATH or by path."""
    depth: Count | None
    """For stockfish: plies per position."""
    nodes: Count | None
    """For stockfish: nodes per position, instead of a depth."""
    skip_captures: bool
    """Leave out positions where the best move (the engine's; without one, the move played) is a
    capture or a promotion."""
    max_score: Annotated[int, Field(ge=1, le=32000)]
    """Larger |score| is left out, centipawns."""
    validation_share: Share
    """Share of the games that validate instead of train."""
    seed: CountOrZero
    """Seed of the split."""

    @model_validator(mode="after")
    def _has_one_limit(self) -> Label:
        if self.depth is not None and self.nodes is not None:
            raise ValueError("label takes depth or nodes, not both: set one of them to null")
        return self


class Train(Section):
    """The network, its loss and its optimizer; the same for every feature set."""

    l1: Annotated[int, Field(ge=1, le=16384)]
    """Neurons of an accumulator, one for each perspective."""
    l2: Annotated[int, Field(ge=1, le=16384)]
    """Neurons of the second layer."""
    epochs: Count
    """Passes over the training data."""
    batch_size: Count
    """Positions per step."""
    learning_rate: Positive
    """Of Adam, in the first epoch."""
    lr_decay: Annotated[float, Field(gt=0, le=1)]
    """Factor of the learning rate from one epoch to the next."""
    exponent: Annotated[float, Field(ge=1)]
    """Of the loss: mean |sigmoid(out / output_scale) - target|^exponent."""
    output_scale: Positive
    """Centipawns of the net that are an expected score of 73 %."""
    target_scale: Positive
    """The same for the labels."""
    score_share: Annotated[float, Field(ge=0, le=1)]
    """1 learns the scores, 0 the results of the games."""
    threads: Count
    """Cores for one net; fewer than the machine has let several nets train side by side."""


class Quantize(Section):
    """How float nets become integers."""

    scheme: Literal["fine", "study"]
    """fine: as much resolution as the integers hold, rounding centred; study: that of .nn files."""


class Verify(Section):
    """The bound on the difference of integer and float nets; a net beyond it plays no game."""

    count: Count
    """Positions of the validation set to compare on, evenly spaced."""
    max_abs_mean: Positive
    """Largest |mean| of the difference, centipawns."""
    min_share_within_50: Annotated[float, Field(ge=0, le=1)]
    """Share of the positions that differ by at most 50 centipawns, at least."""


class Tournament(Section):
    """Round robins of all nets of an experiment, at fixed nodes per move."""

    book: str
    """Openings: EPD or PGN."""
    games_per_pairing: Annotated[int, Field(ge=2, multiple_of=2)]
    """Even: each opening is played twice, with colours swapped."""
    nodes: Count
    """Nodes per move."""
    seed: CountOrZero
    """Draws the openings."""
    hash: Count
    """Hash table of each player, MB."""
    draw_move: CountOrZero
    """Draws are adjudicated from this move on, when"""
    draw_plies: CountOrZero
    """so many half-moves in a row (0: never)"""
    draw_score: CountOrZero
    """are within this many centipawns of 0."""
    resign_score: CountOrZero
    """A game is lost when a side is this many centipawns behind"""
    resign_plies: CountOrZero
    """for so many half-moves in a row (0: never)."""
    max_plies: Count
    """A draw after so many half-moves."""


class Experiment(Section):
    """Feature sets that are compared with each other."""

    feature_sets: Annotated[list[str], Field(min_length=1)]
    """Expressions over feature blocks: each is trained with every seed, and plays all others."""
    seeds: Seeds
    """Seeds of training; two or more show the spread of equal trainings."""
    anchor: str
    """The feature set whose Elo is 0."""


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
    experiments: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], Experiment]
    """Experiments by name: each makes results/NAME_table.csv."""
    blocks: list[str]
    """Python files with feature blocks of your own."""


def read(path: Path | str = FILE, overlays: Iterable[Path | str] = ()) -> Params:
    """The settings of a file with overlays merged into it, later ones winning.

    Raises
    ------
    ParamsError
        With all mistakes at once.
    UserError
        A file is missing or is no YAML.
    """
    merged: dict[str, Any] = {}
    for place in (path, *overlays):
        merge(merged, _load(Path(place)))
    return validate(merged, " + ".join(str(place) for place in (path, *overlays)))


def _load(path: Path) -> dict[str, Any]:
    try:
        value = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        where = f", line {place.line + 1}" if place else ""
        raise UserError(f"{path}{where}: no YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(value, dict):
        raise UserError(f"{path}: expected sections (data: ..., train: ...), found none")
    return value


def merge(base: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    """Lays ``overlay`` over ``base`` in place: mappings merge, anything else replaces."""
    for key, value in overlay.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            merge(base[key], value)
        else:
            base[key] = value


def validate(settings: Mapping[str, Any], source: str = str(FILE)) -> Params:
    """Checks merged settings; feature sets come back in their canonical form.

    Raises
    ------
    ParamsError
        With all mistakes at once.
    """
    experiments, unknown = _canonical(settings)
    mistakes = []
    try:
        params = Params.model_validate({**settings, "experiments": experiments})
    except ValidationError as error:
        mistakes = [_line(dict(mistake)) for mistake in error.errors()]
    if mistakes + unknown:
        raise ParamsError(source, mistakes + unknown)
    return params


def check_files(params: Params, source: str = str(FILE)) -> None:
    """Checks the files that settings name and nothing makes.

    Snakemake misses one only when it has to run the job that reads it: with results from before,
    it would take them for those of the settings.

    Raises
    ------
    ParamsError
        With all that are missing, and books that are too small.
    """
    named = [("tournament.book", params.tournament.book)]
    if params.data.source == "files":
        named += [(f"data.files[{i}]", file) for i, file in enumerate(params.data.files)]
    if params.data.source == "embedded":
        named += [("data.source", file) for file in EMBEDDED]
    if params.label.labeller == "stockfish" and os.path.dirname(params.label.engine):
        named.append(("label.engine", params.label.engine))
    mistakes = [
        f"{path}: there is no file {file}"
        for path, file in named
        if file not in MADE and not Path(file).is_file()
    ]
    needed = params.tournament.games_per_pairing // 2
    has = _openings(Path(params.tournament.book), needed)
    if has is not None and has < needed:
        mistakes.append(
            f"tournament.games_per_pairing: {2 * needed} games need {needed} openings, each played "
            f"once per pairing, and {params.tournament.book} has {has}"
        )
    if mistakes:
        raise ParamsError(source, mistakes)


def _openings(book: Path, enough: int) -> int | None:
    """Different lines of an EPD book, counted up to ``enough``; None where it can't be told here.

    The tournament looks closer: this one has to be quick, and has no room to import.
    """
    suffix = book.suffix.lower()
    if suffix in (".zst", ".zip"):
        return None
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    found: set[bytes] = set()
    try:
        with openers.get(suffix, open)(book, "rb") as file:
            for line in map(bytes.strip, file):
                if not found and line.startswith(b"["):  # PGN
                    return None
                if line and not line.startswith(b"#"):
                    found.add(line)
                if len(found) >= enough:
                    break
    except (OSError, EOFError, zlib.error):
        return None
    return len(found) or None


def _canonical(settings: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """The raw experiments with canonical names of feature sets, and what is wrong with the names.

    Works before the models do, so that a wrong block is told together with mistakes elsewhere.
    """
    from nnuelab import features
    from nnuelab.features import registry

    # A file that fails is told once and left out: otherwise every expression would fail for it.
    mistakes: list[str] = []
    try:
        registry.load()
    except UserError as error:
        mistakes.append(f"{registry.VARIABLE} in the environment: {error}")
        os.environ[registry.VARIABLE] = ""
    blocks = settings.get("blocks")
    for i, file in enumerate(blocks if isinstance(blocks, list) else []):
        before = os.environ.get(registry.VARIABLE, "")
        try:
            registry.add_files([str(file)] if file else [])
        except UserError as error:
            mistakes.append(f"blocks[{i}]: {error}")
            os.environ[registry.VARIABLE] = before

    def name_of(expression: Any, path: str) -> Any:
        try:
            return features.parse(expression).name if isinstance(expression, str) else expression
        except UserError as error:
            mistakes.append(f"{path}: {error}")
            return expression

    raw = settings.get("experiments")
    if not isinstance(raw, Mapping):
        return raw, mistakes
    found: dict[str, Any] = {}
    for name, experiment in raw.items():
        path = f"experiments.{name}"
        found[name] = experiment
        if not isinstance(experiment, Mapping):
            continue
        sets, seeds = experiment.get("feature_sets"), experiment.get("seeds")
        anchor = name_of(experiment.get("anchor"), f"{path}.anchor")
        if isinstance(sets, list):
            sets = [name_of(text, f"{path}.feature_sets[{i}]") for i, text in enumerate(sets)]
            if twice := _repeated(sets):
                mistakes.append(f"{path}.feature_sets: {twice[0]} stands there twice")
            if isinstance(anchor, str) and anchor not in sets:
                mistakes.append(f"{path}.anchor: {anchor} is none of the feature sets")
        if isinstance(seeds, list) and (twice := _repeated(seeds)):
            mistakes.append(f"{path}.seeds: {twice[0]} stands there twice")
        if isinstance(sets, list) and isinstance(seeds, list) and len(sets) == len(seeds) == 1:
            mistakes.append(
                f"{path}: one feature set with one seed is a single player; a tournament needs "
                "two: add a feature set or a seed"
            )
        found[name] = {**experiment, "feature_sets": sets, "anchor": anchor}
    return found, mistakes


def _repeated(values: list[Any]) -> list[Any]:
    return [value for i, value in enumerate(values) if value in values[:i]]


def _line(mistake: dict[str, Any]) -> str:
    """One mistake found by pydantic, with its dotted path and what to do."""
    place = tuple(mistake["loc"])
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".")
    if mistake["type"] == "extra_forbidden":
        names = list(_fields_at(place[:-1]))
        near = difflib.get_close_matches(str(place[-1]), names, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}"
        return f"{path}: unknown; {hint}"
    if mistake["type"] == "missing":
        return f"{path}: missing"
    text = mistake["msg"].removeprefix("Value error, ")
    text = text[0].lower() + text[1:]
    given = mistake["input"]
    shown = "" if isinstance(given, Mapping | list) else f", not {given!r}"
    return f"{path}: {text}{shown}"


def _fields_at(place: tuple[int | str, ...]) -> Iterable[str]:
    """Names of the fields of the section at a path."""
    kind: Any = Params
    for step in place:
        if isinstance(kind, type) and issubclass(kind, Section):
            kind = kind.model_fields[str(step)].annotation
        elif typing.get_origin(kind) is dict:
            kind = typing.get_args(kind)[1]
    return kind.model_fields if isinstance(kind, type) and issubclass(kind, Section) else ()


def options(section: Section, *, without: Iterable[str] = ()) -> str:
    """A section as options of its command, quoted for a shell.

    ``min_ply: 16`` is ``--min-ply 16``, ``skip_check: true`` is ``--skip-check`` and ``false``
    is ``--no-skip-check``, a list repeats its option, and ``null`` leaves the option out.
    """
    left_out = set(without)
    words = [
        word
        for key, value in section.model_dump(mode="json").items()
        if key not in left_out
        for word in _words(key, value)
    ]
    return shlex.join(words)


def _words(key: str, value: Any) -> Iterator[str]:
    name = key.replace("_", "-")
    if value is None:
        return
    if isinstance(value, bool):
        yield f"--{name}" if value else f"--no-{name}"
    elif isinstance(value, list):
        for item in value:
            yield from _words(key, item)
    else:
        yield from (f"--{name}", str(value))


def schema() -> str:
    """JSON schema of ``params.yaml``, as it stands in ``params.schema.json``."""
    return json.dumps(Params.model_json_schema(), indent=2) + "\n"
