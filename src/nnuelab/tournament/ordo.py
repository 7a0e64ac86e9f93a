"""The program `ordo` (https://github.com/michiguel/Ordo), guarded: it may fail or hang."""

from __future__ import annotations

import csv
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from nnuelab.data.parallel import run_guarded
from nnuelab.tournament.headers import POINTS, Results
from nnuelab.tournament.pgn import game_text

TIMEOUT = 20.0  # seconds; without simulations ordo needs well under one for 100,000 games
RESULT = {points: text for text, points in POINTS.items()}
PLAIN_NAME = "p{}"  # ordo sees numbers: names may hold quotes, commas or what it trims


class OrdoError(Exception):
    """Ordo gave no ratings; the message says why."""


def installed() -> str | None:
    """The path of ``ordo``, None when it isn't on PATH."""
    return shutil.which("ordo")


def ratings(results: Results, timeout: float | None = None) -> np.ndarray:
    """Ordo's ratings, float64 [players], with a mean of 0.

    The caller has made sure that they exist (`model.check`). Its errors are not taken: Ordo's
    simulations treat games as independent and don't know opening pairs.

    Raises
    ------
    OrdoError
        When ordo fails, takes longer than ``timeout`` seconds (`TIMEOUT`), or its output can't be
        used.
    """
    with tempfile.TemporaryDirectory(prefix="nnuelab-ordo-") as folder:
        games, table = Path(folder, "games.pgn"), Path(folder, "ratings.csv")
        _write_games(results, games)
        _run(
            ["ordo", "-q", "-a", "0", "-W", "-D", "-N", "4", "-p", str(games), "-c", str(table)],
            Path(folder, "messages.txt"),
            TIMEOUT if timeout is None else timeout,
        )
        return _read_table(table, len(results.players))


def _write_games(results: Results, path: Path) -> None:
    with open(path, "w") as file:
        for white, black, points in zip(results.white, results.black, results.points, strict=True):
            names = {"White": PLAIN_NAME.format(white), "Black": PLAIN_NAME.format(black)}
            file.write(game_text({**names, "Result": RESULT[float(points)]}, (), ()))


def _run(command: list[str], messages: Path, timeout: float) -> None:
    try:
        status = run_guarded(command, messages, timeout)
    except OSError as error:
        raise OrdoError(f"can't be started: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise OrdoError(f"no answer within {timeout:g} s") from error
    if status != 0:
        said = messages.read_text(errors="replace").strip().splitlines()
        raise OrdoError(f"exit status {status}" + (f": {said[-1][:200]}" if said else ""))


def _read_table(path: Path, players: int) -> np.ndarray:
    found: dict[str, float] = {}
    try:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found[row["PLAYER"].strip()] = float(row["RATING"])
        elo = np.array([found[PLAIN_NAME.format(i)] for i in range(players)])
    except FileNotFoundError as error:
        raise OrdoError("it wrote no table") from error
    except (
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        UnicodeDecodeError,
        csv.Error,
    ) as error:
        raise OrdoError(f"its table can't be read ({type(error).__name__}: {error})") from error
    if not all(map(math.isfinite, elo)):
        raise OrdoError("its table holds ratings that are not finite")
    return elo - elo.mean()
