"""Games for the animated boards of the page: moves as text, which the page plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nnuelab.data import pgn
from nnuelab.policy.gif import COLUMNS, ROWS
from nnuelab.report.games import required
from nnuelab.tournament.true_scores import end_of

MOST_GAMES = COLUMNS * ROWS
MOST_PLIES = 400  # of a game; what comes after isn't shown
PREFERRED = "vs_random.pgn"


def file_in(folder: Path) -> Path | None:
    """The games to show of those in ``results/policy``, None without any."""
    found = sorted(folder.glob("*.pgn"), key=lambda path: (path.name != PREFERRED, path.name))
    return found[0] if found else None


def packed(path: Path) -> dict[str, Any]:
    """Up to 50 games, of each pairing as many as of any other, in the order of the pairings.

    Returns
    -------
    dict
        ``games``: list of white, black, result, end, fen, and moves as ``"e2e4 e7e5"``.

    Raises
    ------
    UserError
        When the file or one of these games can't be read.
    """
    pairings: dict[frozenset[str], list[bytes]] = {}
    for tags, text in pgn.games(path):
        names = frozenset((tags.get("White", "?"), tags.get("Black", "?")))
        if len(own := pairings.setdefault(names, [])) < MOST_GAMES:
            own.append(text)
    n = 1
    while n < MOST_GAMES and sum(len(own[:n]) for own in pairings.values()) < MOST_GAMES:
        n += 1
    kept = [text for own in pairings.values() for text in own[:n]]
    return {"games": [_packed(path, text) for text in kept[:MOST_GAMES]]}


def _packed(path: Path, text: bytes) -> dict[str, str]:
    game = required(text, path)
    board = game.board()
    fen, moves = board.fen(), [move.uci() for move in game.mainline_moves()]
    for move in game.mainline_moves():
        board.push(move)
    return {
        "white": game.headers["White"],
        "black": game.headers["Black"],
        "result": game.headers["Result"],
        "end": end_of(game, board),
        "fen": fen,
        "moves": " ".join(moves[:MOST_PLIES]),
    }
