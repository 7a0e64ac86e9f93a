"""What share of the moves that players made a policy would have chosen, by player.

A policy that learnt the moves of people tells how human a player is.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import chess
import numpy as np

from nnuelab.data import pgn
from nnuelab.data.records import RECORD, from_fen
from nnuelab.intervals import clustered
from nnuelab.policy import metrics
from nnuelab.policy.policyfile import SQUARES, Policy
from nnuelab.report import reading
from nnuelab.report.games import required
from nnuelab.report.grids import Grid

COLUMNS = ("policy", "player", "games", "positions", "agreement", "low", "high")
_NONE = -1  # a promotion to another piece than a queen, which no policy names


def drawn(files: Sequence[Path], count: int, seed: int) -> list[bytes]:
    """Texts of ``count`` games of all files, each as likely as any other, by reservoir sampling.

    Raises
    ------
    UserError
        When a file can't be read or has no games.
    """
    draws = np.random.Generator(np.random.PCG64(seed))
    kept: list[bytes] = []
    texts = (text for file in files for text in pgn.texts(file))
    for number, text in enumerate(texts):
        place = number if number < count else int(draws.integers(number + 1))
        if place < count:
            kept[place : place + 1] = [text]
    return kept


def measure(
    policies: Mapping[str, Policy], texts: Iterable[bytes]
) -> list[dict[str, str | int | float]]:
    """A row of `COLUMNS` for each policy and player.

    ``agreement`` is the share of the player's moves that are the policy's likeliest legal pair of
    squares; ``low`` and ``high`` are its 95 % interval, the moves of a game taken together.

    Raises
    ------
    UserError
        When a game can't be read.
    """
    positions = [found for number, text in enumerate(texts) for found in _moves(number, text)]
    records = np.array([record for record, *_ in positions], RECORD)
    pairs, games = (np.array([row[i] for row in positions]) for i in (1, 2))
    players = np.array([row[3] for row in positions])
    rows: list[dict[str, str | int | float]] = []
    for name, policy in policies.items():
        right = metrics.measured(policy, records)["best"] == pairs
        for player in dict.fromkeys(players.tolist()):
            own = players == player
            _, game = np.unique(games[own], return_inverse=True)
            asked, agreed = np.bincount(game), np.bincount(game, right[own])
            values = (agreed.sum() / asked.sum(), *clustered(asked, agreed))
            row = (name, player, len(asked), int(asked.sum()), *values)
            rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def _moves(number: int, text: bytes) -> Iterator[tuple[np.void, int, int, str]]:
    """Of each move of a game: the position before it, its pair of squares, the game, the player."""
    game = required(text, "one of the files")
    board = game.board()
    players = {turn: game.headers[name] for turn, name in ((True, "White"), (False, "Black"))}
    for move in game.mainline_moves():
        turned = 0 if board.turn else SQUARES - 8
        pair = SQUARES * (move.from_square ^ turned) + (move.to_square ^ turned)
        named = move.promotion in (None, chess.QUEEN)
        yield from_fen(board.fen()), pair if named else _NONE, number, players[board.turn]
        board.push(move)


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as text, shares with five decimals."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.5f}" if isinstance(v, float) else v for k, v in row.items()})
    return out.getvalue()


def grid(path: Path, label: Any) -> Grid:
    """A row for each player, a column for each policy; raises UserError."""
    rows = reading.read_csv(path, COLUMNS, ("policy", "player"))
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    players: dict[str, dict[str, Mapping[str, str]]] = {}
    for row in rows:
        players.setdefault(row["player"], {})[row["policy"]] = row
    cells = []
    for name, by_policy in players.items():
        first = next(iter(by_policy.values()))
        shares = [_share(by_policy.get(policy, {})) for policy in policies]
        cells.append([name, first["games"], first["positions"], *shares])
    return Grid(
        "policies-agreement",
        "Percent of a player's moves that a policy would have chosen, with the 95 % interval of "
        "the games",
        [
            *(("player", "player"), ("games", "games"), ("positions", "moves")),
            *((policy, policy) for policy in policies),
        ],
        cells,
        [{"": [label(path)]}] * len(cells),
    )


def _share(row: Mapping[str, str]) -> str:
    if not row:
        return ""
    value, low, high = (100 * float(row[name]) for name in ("agreement", "low", "high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"
