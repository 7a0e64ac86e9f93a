"""Games of a tournament: the cross table, and some games move by move."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np

from nnuelab.data import pgn as pgn_files
from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.tournament.headers import Results

_SCORE = re.compile(r"^\s*([+-])(M)?(\d+(?:\.\d+)?)/")
SHOWN_MATE = 100.0  # pawns; where a graph puts a forced mate


@dataclass(frozen=True)
class CrossTable:
    """Points between players.

    Attributes
    ----------
    names : list of str
    points, games : float64[n, n], int64[n, n]
        Row against column.
    """

    names: list[str]
    points: np.ndarray
    games: np.ndarray


def cross_table(results: Results, order: Sequence[str], *, by_set: bool = False) -> CrossTable:
    """The points of each player against each other.

    Parameters
    ----------
    order : sequence of str
        Names, in the order of the table; others follow.
    by_set : bool
        Nets of one feature set are counted as one; games between them are left out.
    """
    called = [NetName.parse(name).entry if by_set else name for name in results.players]
    names = list(dict.fromkeys([*(name for name in order if name in called), *called]))
    place = np.array([names.index(name) for name in called])
    white, black = place[results.white], place[results.black]
    points, games = np.zeros((len(names),) * 2), np.zeros((len(names),) * 2, np.int64)
    different = white != black
    for first, second, score in (
        (white, black, results.points),
        (black, white, 1 - results.points),
    ):
        np.add.at(points, (first[different], second[different]), score[different])
        np.add.at(games, (first[different], second[different]), 1)
    return CrossTable(names, points, games)


def samples(path: Path, hero: str, others: Sequence[str]) -> list[dict[str, Any]]:
    """The first game of ``hero`` against each of the others, in the order of ``others``."""
    wanted = {frozenset((hero, other)): other for other in others}
    found: dict[str, dict[str, Any]] = {}
    for tags, text in pgn_files.games(path):
        other = wanted.pop(frozenset((tags.get("White", ""), tags.get("Black", ""))), None)
        if other is not None and (game := _game(text)) is not None:
            found[other] = game
        if not wanted:
            break
    return [found[other] for other in others if other in found]


def read(text: bytes) -> chess.pgn.Game | None:
    """A game as python-chess has it; None where it can't be read or has no move."""
    game = chess.pgn.read_game(io.StringIO(text.decode(errors="replace")))
    return None if game is None or game.errors or not game.variations else game


def required(text: bytes, where: object) -> chess.pgn.Game:
    """The same; UserError with its first line where `read` has none."""
    game = read(text)
    if game is None:
        first = text.decode(errors="replace").strip().partition("\n")[0]
        raise UserError(
            f"{where} has a game that can't be read or has no move ({first[:80]}); play them again"
        )
    return game


def _game(text: bytes) -> dict[str, Any] | None:
    """Tags, moves and positions of a game; None as `read` has it."""
    game = read(text)
    if game is None:
        return None
    board = game.board()
    moves = list(_moves(game, board))
    headers = game.headers
    return {
        "white": headers["White"],
        "black": headers["Black"],
        "result": headers["Result"],
        "termination": headers.get("Termination", ""),
        "round": headers.get("Round", ""),
        "fen": game.board().fen(),
        "moves": moves,
    }


def _moves(game: chess.pgn.Game, board: chess.Board) -> Iterator[dict[str, Any]]:
    for node in game.mainline():
        mover = board.turn
        number = f"{board.fullmove_number}." if mover else f"{board.fullmove_number}\u2026"
        san = board.san(node.move)
        board.push(node.move)
        yield {
            "san": san,
            "number": number,
            "move": node.move.uci()[:4],
            "board": board.board_fen(),
            "eval": white_pawns(node.comment, mover),
        }


def white_pawns(comment: str, mover: bool) -> float | None:
    """The score of a comment ``+0.31/12, n=400`` from White's view in pawns, None without.

    >>> white_pawns("+0.31/12, n=400", chess.BLACK), white_pawns("-M3/9", chess.WHITE)
    (-0.31, -100.0)
    """
    said = _SCORE.match(comment)
    if said is None:
        return None
    value = SHOWN_MATE if said[2] else min(float(said[3]), SHOWN_MATE)
    return value if (said[1] == "+") == mover else -value
