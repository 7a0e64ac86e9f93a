"""The files that settings name."""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from pathlib import Path
from typing import Any

from nnuelab.params.models import Params
from nnuelab.params.reading import FILE, ParamsError

EMBEDDED = ("resources/embedded/games.pgn.zst", "resources/embedded/games.pgn.zst.json")
MADE = (  # by rules, on demand
    "results/embedded/games.pgn.zst",
    "results/embedded/openings.epd.gz",
    "results/embedded/puzzles.csv.gz",
    "results/puzzles/lichess_db_puzzle.csv.zst",
)


def check_files(params: Params, source: str = str(FILE)) -> None:
    """Checks the files that settings name and nothing makes.

    Snakemake misses one only when it has to run the job that reads it: with results from before,
    it would take them for those of the settings.

    Raises
    ------
    ParamsError
        With all that are missing, and books that are too small.
    """
    named = [
        ("tournament.book", params.tournament.book),
        ("puzzles.file", params.puzzles.file),
        ("ladder.players", params.ladder.players),
    ]
    if params.data.source == "files":
        named += [(f"data.files[{i}]", file) for i, file in enumerate(params.data.files)]
    if params.data.source == "embedded":
        named += [("data.source", file) for file in EMBEDDED]
    if params.label.labeller == "stockfish" and os.path.dirname(params.label.engine):
        named.append(("label.engine", params.label.engine))
    if params.label.labeller == "engine" and params.label.net is not None:
        named.append(("label.net", params.label.net))
    mistakes = [
        f"{path}: there is no file {file}"
        for path, file in named
        if file not in MADE and not Path(file).is_file()
    ]
    games = {
        "tournament.games_per_pairing": params.tournament.games_per_pairing,
        "tournament.timed_games_per_pairing": params.tournament.timed_games_per_pairing,
        "ladder.games_per_pairing": params.ladder.games_per_pairing,
    }
    has = _openings(Path(params.tournament.book), max(games.values()) // 2)
    mistakes += [
        f"{path}: {number} games need {number // 2} openings, each played once per pairing, and "
        f"{params.tournament.book} has {has}"
        for path, number in games.items()
        if has is not None and has < number // 2
    ]
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
