"""Who played whom, from where, and how it ended: the headers of PGN files, without their moves."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnuelab.data import pgn
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError

POINTS = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}  # for White
UNFINISHED = "*"
SHOWN = 40  # characters of an odd value, in a message
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"


@dataclass(frozen=True)
class Results:
    """Finished games of one or more PGN files, as arrays with one entry a game.

    Attributes
    ----------
    players : list of str
        Names, sorted.
    white, black : int32 [n]
        Indices into ``players``.
    points : float64 [n]
        White's: 1, 0.5 or 0.
    cluster : int32 [n]
        Number of the `opening` that the game was played from. Such games are not independent,
        whoever played them.
    unfinished : int
        Games with the result ``*``, which are left out.
    """

    players: list[str]
    white: np.ndarray
    black: np.ndarray
    points: np.ndarray
    cluster: np.ndarray
    unfinished: int = 0

    def __len__(self) -> int:
        return len(self.points)

    @property
    def pair(self) -> np.ndarray:
        """Number of the opening pair of each game, both players and their opening: int64 [n]."""
        players = np.sort(np.stack([self.white, self.black]), axis=0)
        keys = np.stack([*players, self.cluster])
        return np.unique(keys, axis=1, return_inverse=True)[1].ravel()


def opening(tags: Mapping[str, str], file: object, number: int) -> tuple[object, ...]:
    """Key of the opening of a game.

    The position that it started from. Where the PGN has no ``FEN`` (or the standard one): the two
    players, the file and the first part of a ``Round`` like ``12.2``. Where that is missing too,
    the file and the game's number in it: each game stands alone.
    """
    fen = tags.get("FEN", "")
    if fen and not fen.startswith(START):
        return (fen,)
    round_, dot, game = tags.get("Round", "").rpartition(".")
    if dot and round_ and game.isdigit():
        return (*_players(tags), file, round_)
    return (file, number)


def opening_pair(tags: Mapping[str, str], file: object, number: int) -> tuple[object, ...]:
    """Key of an opening pair: the two players and their `opening`."""
    return (*_players(tags), *opening(tags, file, number))


def _players(tags: Mapping[str, str]) -> list[str]:
    return sorted((tags["White"], tags["Black"]))


def name_of(tags: Mapping[str, str], color: str, place: str) -> str:
    """A player's name; UserError where there is none, or one that a terminal would obey."""
    name = tags.get(color, "")
    if not name:
        raise UserError(f"{place}: no {color} tag")
    if not name.isprintable():
        raise UserError(f"{place}: the {color} tag has control characters; rename the player")
    return name


def _check(tags: Mapping[str, str], place: str) -> None:
    """UserError when a game's tags don't say who played whom, or how it ended."""
    for color in ("White", "Black"):
        name_of(tags, color, place)
    result = tags.get("Result")
    if not result:
        raise UserError(f"{place}: no Result tag")
    if result not in (*POINTS, UNFINISHED):
        known = f"{', '.join(POINTS)} and {UNFINISHED}"
        raise UserError(f"{place}: result {result[:SHOWN]!r} is none of {known}")
    if result != UNFINISHED and tags["White"] == tags["Black"]:
        raise UserError(f"{place}: {tags['White'][:SHOWN]!r} plays against itself")


def read_results(paths: Iterable[Path | str], unusable: Unusable | None = None) -> Results:
    """Reads who won from the headers of PGN files (plain or compressed), as a stream.

    Parameters
    ----------
    paths : iterable of Path
    unusable : Unusable, optional
        Counts games that lack a player or have an odd result, which are left out; None: the first
        one is an error.

    Raises
    ------
    UserError
        When a game lacks a player or has a result that isn't one of PGN's four, or when there is no
        finished game at all.
    """
    names: dict[str, int] = {}
    clusters: dict[tuple[object, ...], int] = {}
    white: list[int] = []
    black: list[int] = []
    points: list[float] = []
    cluster: list[int] = []
    unfinished = 0
    files = [Path(path) for path in paths]
    for path in files:
        # What has no tags goes on behind an empty line.
        for number, tags in enumerate((tags for tags, _ in pgn.games(path) if tags), 1):
            place = f"{path}, game {number}"
            try:
                _check(tags, place)
            except UserError as error:
                if unusable is None:
                    raise
                unusable.add(place, str(error).removeprefix(f"{place}: "))
                continue
            if tags["Result"] == UNFINISHED:
                unfinished += 1
                continue
            white.append(names.setdefault(tags["White"], len(names)))
            black.append(names.setdefault(tags["Black"], len(names)))
            points.append(POINTS[tags["Result"]])
            key = opening(tags, path, number)
            cluster.append(clusters.setdefault(key, len(clusters)))
    if unfinished:
        print(f"{unfinished:,} unfinished games (result *) are left out", file=sys.stderr)
    if not points:
        named = ", ".join(map(str, files)) or "no file at all"
        raise UserError(f"no finished game in {named}; play some, or give another file")
    players = sorted(names)
    rank = np.empty(len(names), np.int32)
    rank[[names[player] for player in players]] = np.arange(len(names))
    return Results(
        players,
        rank[white],
        rank[black],
        np.array(points),
        np.array(cluster, np.int32),
        unfinished,
    )
