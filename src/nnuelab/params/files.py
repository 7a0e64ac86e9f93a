"""The files that settings name."""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from pathlib import Path
from typing import Any

from nnuelab.params.experiments import plans
from nnuelab.params.models import Params, Texel
from nnuelab.params.reading import FILE, ParamsError
from nnuelab.settings.weighted import weighted
from nnuelab.tournament.players import kinds_and_files

EMBEDDED = ("resources/embedded/games.pgn.zst", "resources/embedded/games.pgn.zst.json")
GAMES = [f"{kind}games_per_pairing" for kind in ("", "cost_", "deep_", "timed_")]
MADE = "results/puzzles/lichess_db_puzzle.csv.zst"  # by a rule, on demand


def check_files(params: Params, source: str = str(FILE)) -> None:
    """Checks the files that settings name and nothing makes.

    Snakemake misses one only when it has to run the job that reads it: with results from before,
    it would take them for those of the settings.

    Raises
    ------
    ParamsError
        With all that are missing, and books that are too small.
    """
    played = {"tournament": params.tournament}
    played |= {f"experiments.{n}.tournament": plan.tournament for n, plan in plans(params).items()}
    books: dict[str, str] = {}
    costs: dict[str, str] = {}
    engines: dict[str, str] = {}
    games: dict[tuple[str, int, str], str] = {}  # what experiments share is told once
    for path, section in played.items():
        books.setdefault(section.book, f"{path}.book")
        for key in GAMES:
            games.setdefault((key, getattr(section, key), section.book), f"{path}.{key}")
        if section.costs is not None:
            costs.setdefault(section.costs, f"{path}.costs")
        if section.program is not None:
            engines.setdefault(section.program, f"{path}.engine")
    ladder = ("ladder", params.ladder.games_per_pairing, params.tournament.book)
    games[ladder] = "ladder.games_per_pairing"
    texel = ("texel", params.texel.games_per_pairing, params.tournament.book)
    games[texel] = "texel.games_per_pairing"
    selfplay = ("policy.selfplay", params.policy.selfplay.games_per_pairing)
    games[(*selfplay, params.tournament.book)] = "policy.selfplay.games_per_pairing"
    named = [
        *((path, book) for book, path in books.items()),
        *((path, file) for file, path in [*costs.items(), *engines.items()]),
        ("puzzles.file", params.puzzles.file),
        ("ladder.players", params.ladder.players),
        *_of_texel(params.texel),
    ]
    if params.spread is not None:
        named.append(("spread", params.spread))
    if params.data.source == "files":
        named += [(f"data.files[{i}]", file) for i, file in enumerate(params.data.files)]
    if params.data.source == "positions":
        named += [("data.positions", str(file)) for file in weighted(params.data.positions)]
        if params.data.validation is not None:
            named.append(("data.validation", params.data.validation))
    if params.data.source == "embedded":
        named += [("data.source", file) for file in EMBEDDED]
    if params.label.labeller == "stockfish" and os.path.dirname(params.label.engine):
        named.append(("label.engine", params.label.engine))
    if params.label.labeller == "engine" and params.label.net is not None:
        named.append(("label.net", params.label.net))
    for name, experiment in params.experiments.items():
        named += [(f"experiments.{name}.nets.{n}", file) for n, file in experiment.nets.items()]
    mistakes = [
        f"{path}: there is no file {file}"
        for path, file in named
        if file != MADE and not Path(file).is_file()
    ]
    most = {book: max(n for _, n, of in games if of == book) // 2 for book in books}
    has = {book: _openings(Path(book), enough) for book, enough in most.items()}
    mistakes += [
        f"{path}: {number} games need {number // 2} openings, each played once per pairing, and "
        f"{book} has {found}"
        for (_, number, book), path in games.items()
        if (found := has[book]) is not None and found < number // 2
    ]
    if mistakes:
        raise ParamsError(source, mistakes)


def _of_texel(texel: Texel) -> list[tuple[str, str]]:
    """Evaluations, sources of positions, and players that are files, by their paths."""
    evaluations = {"evaluation": texel.evaluation, "reference": texel.reference}
    for name, tuner in texel.tuners.items():
        evaluations[f"tuners.{name}.evaluation"] = tuner.evaluation
    for name, player in texel.players.items():
        if kinds_and_files([player])[1]:
            evaluations[f"players.{name}"] = player
    named = [(f"texel.{path}", file) for path, file in evaluations.items() if file is not None]
    return named + [(f"texel.sources[{i}]", file) for i, file in enumerate(texel.sources)]


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
