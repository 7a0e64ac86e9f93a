"""Games of a tournament: the cross table, and some games move by move."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np

from nnuelab.data import pgn as pgn_files
from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.tournament.headers import POINTS, Results

_SCORE = re.compile(r"^\s*([+-])(M)?(\d+(?:\.\d+)?)/")
PLAYED = "normal", "adjudication"  # other ends are faults of a player
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
    """Games worth a look: firsts, and for each set its quickest win and loss against another one.

    Parameters
    ----------
    path : Path
        PGN; where a game has no tag PlyCount, it isn't the quickest.
    hero, others : str, sequence of str
        Nets: the first game of the one against each of the others, in their order.

    Returns
    -------
    list of dict
        Tags, moves and positions; ``why`` it is here, "" for the first of a pairing.
    """
    wanted = {frozenset((hero, other)): other for other in others}
    entry_of = cache(lambda name: NetName.parse(name).entry)
    found: dict[str, bytes] = {}
    quickest: dict[tuple[str, str], tuple[int, bytes]] = {}
    for tags, text in pgn_files.games(path):
        players = tags.get("White", ""), tags.get("Black", "")
        if (other := wanted.pop(frozenset(players), None)) is not None:
            found[other] = text
        plies, points = tags.get("PlyCount", ""), POINTS.get(tags.get("Result", ""))
        played = plies.isdecimal() and int(plies) and tags.get("Termination", "normal") in PLAYED
        if not played or points not in (0, 1):
            continue
        won, lost = map(entry_of, players if points else players[::-1])
        for of in {("win", won), ("loss", lost)} if won != lost else ():
            if of not in quickest or int(plies) < quickest[of][0]:
                quickest[of] = int(plies), text
    whys: dict[bytes, list[str]] = {found[other]: [] for other in others if other in found}
    for entry in dict.fromkeys(map(entry_of, (hero, *others))):
        for what in ("win", "loss"):
            if (what, entry) in quickest:
                text = quickest[what, entry][1]
                whys.setdefault(text, []).append(f"quickest {what} of {entry}")
    read_games = ((_game(text), why) for text, why in whys.items())
    return [game | {"why": ", ".join(why)} for game, why in read_games if game is not None]


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
