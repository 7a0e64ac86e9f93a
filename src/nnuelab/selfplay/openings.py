"""Random balanced openings: candidates by number, judged by a player, each position once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import inf

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.moves import MAX_MOVES, legal_moves, make
from nnuelab.chess.position import POSITION
from nnuelab.data.draws import STEP, splitmix64
from nnuelab.errors import UserError
from nnuelab.jit import at, jit
from nnuelab.tournament.game import Line, Seat
from nnuelab.tournament.limits import Turn

MAX_REJECTED = 10_000  # candidates in a row: where fewer are fit, a set of openings has no end
START = notation.from_fen(notation.STARTING_FEN)


@dataclass(frozen=True)
class Opening:
    """Moves from the initial position, and the position they lead to (a POSITION record)."""

    moves: list[int]
    position: np.void


@jit
def _play_random(state, positions, played):
    """Fills both while there are legal moves, drawn uniformly; returns how many were played."""
    moves = np.empty(MAX_MOVES, np.int64)
    for ply in range(len(played)):
        n = legal_moves(positions[at(ply)], moves)
        if n == 0:
            return ply
        state += STEP
        played[at(ply)] = moves[at(splitmix64(state) % np.uint64(n))]
        make(positions[at(ply)], positions[at(ply + 1)], played[at(ply)])
    return len(played)


def candidate(seed: int, number: int, attempt: int, plies: int) -> Opening:
    """The position after ``plies`` or ``plies + 1`` random legal moves, by seed and numbers alone.

    A game may end on the way; the opening then has fewer moves and is over.
    """
    digest = hashlib.blake2b(f"{seed}/{number}/{attempt}".encode(), digest_size=9).digest()
    # Both colours shall move first as often, or the data would know one tempo parity only.
    played = np.zeros(plies + digest[8] % 2, np.int64)
    positions = np.zeros(len(played) + 1, POSITION)
    positions[0] = START
    n = _play_random(np.uint64(int.from_bytes(digest[:8], "little")), positions, played)
    return Opening(played[:n].tolist(), positions[n])


def usable(position: np.void) -> bool:
    """Whether a game can begin here: not over, and the side to move isn't in check."""
    return not position["checkers"] and bool(notation.moves_of(position))


def balanced(seat: Seat, opening: Opening, max_score: int) -> bool:
    """Whether the player, its memory cleared, finds an opening within ``max_score`` centipawns."""
    seat.player.new_game()
    line = Line(notation.STARTING_FEN, 0, opening.moves)
    found = seat.player.search(line, Turn(seat.limit, inf, inf, 0.0))
    return found.score_cp is not None and abs(found.score_cp) <= max_score and not found.mate


def opening(seat: Seat, seed: int, number: int, plies: int, max_score: int) -> Opening:
    """The first usable and balanced candidate of opening ``number``.

    Raises
    ------
    UserError
        When MAX_REJECTED candidates aren't.
    """
    for attempt in range(MAX_REJECTED):
        found = candidate(seed, number, attempt, plies)
        if usable(found.position) and balanced(seat, found, max_score):
            return found
    raise UserError(
        f"none of {MAX_REJECTED:,} positions after {plies} or {plies + 1} random plies is within "
        f"{max_score} centipawns; give a larger --max-opening-score or fewer --random-plies"
    )
