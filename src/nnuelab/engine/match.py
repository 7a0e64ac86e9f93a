"""Whole games between engines of this process, in compiled code: no Python call per move.

``tournament.play`` plays the same games move by move, with players of any kind.
"""

from __future__ import annotations

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, legal_moves, make
from nnuelab.chess.outcome import MATERIAL, ONGOING, outcome
from nnuelab.chess.position import WHITE
from nnuelab.engine.clock import cpu_time
from nnuelab.engine.deepening import think
from nnuelab.engine.search import MAX_DEPTH, Engine
from nnuelab.engine.state import FOREVER, MATE, MATE_BOUND
from nnuelab.jit import at, jit

# What ends a game besides the rules of chess (chess.outcome)
LENGTH, LEVEL, WHITE_AHEAD, BLACK_AHEAD = MATERIAL + 1 + np.arange(4)

RULES = np.dtype(
    [
        ("draw_move", "i8"),
        ("draw_plies", "i8"),
        ("draw_score", "i8"),
        ("resign_score", "i8"),
        ("resign_plies", "i8"),
        ("max_plies", "i8"),
    ]
)
"""Adjudication: `tournament.adjudication.Rules` for compiled code."""

THOUGHT = np.dtype([("move", "i8"), ("score", "i8"), ("depth", "i8"), ("nodes", "i8")])
"""A move with what its player thought of it; the score, in centipawns, is from its view."""

PAUSE = 100_000_000  # ns of thinking after which Python may look for signals between two moves


@jit
def adjudicate(rules, agreement, score, move_number):
    """Whether the scores end a game after a move: LEVEL, WHITE_AHEAD, BLACK_AHEAD or ONGOING.

    Parameters
    ----------
    rules : RULES record
    agreement : int64 [2], updated
        Moves in a row whose score was level, and that saw White (> 0) or Black (< 0) win; zeros at
        the start of a game.
    score : int64
        Centipawns from White's view, as the player who moved saw it.
    move_number : int64
        The full-move number of that move.
    """
    agreement[0] = agreement[0] + 1 if abs(score) <= rules.draw_score else 0
    if abs(score) < rules.resign_score:
        agreement[1] = 0
    elif score > 0:
        agreement[1] = max(agreement[1], 0) + 1
    else:
        agreement[1] = min(agreement[1], 0) - 1
    if 0 < rules.draw_plies <= agreement[0] and move_number >= rules.draw_move:
        return LEVEL
    if 0 < rules.resign_plies <= abs(agreement[1]):
        return WHITE_AHEAD if agreement[1] > 0 else BLACK_AHEAD
    return ONGOING


@jit
def _play_on(
    white, black, limits, rules, agreement, positions, keys, first, ply, thoughts, spent, pause
):
    """Plays from ``positions[ply]`` until the end or a pause; returns the ply and what ends it."""
    moves = np.empty(MAX_MOVES, np.int64)
    enough = spent[0] + pause
    while spent[0] < enough:
        position = positions[at(ply)]
        n = legal_moves(position, moves)
        end = outcome(positions, keys, ply, n)
        if end != ONGOING:
            return ply, end
        if ply - first == rules.max_plies:
            return ply, LENGTH
        turn = np.int64(position.turn)
        s = white if turn == WHITE else black
        began = cpu_time()
        nodes, depth = limits[at(turn), 0], limits[at(turn), 1]
        move, score, done = think(s, position, keys, ply, moves, n, nodes, depth)
        spent[0] += cpu_time() - began
        thought = thoughts[at(ply - first)]
        thought.move, thought.score, thought.depth, thought.nodes = move, score, done, s.nodes
        make(position, positions[at(ply + 1)], move)
        ply += 1
        keys[at(ply)] = positions[at(ply)].key
        if abs(score) >= MATE_BOUND:
            score = np.int64(MATE) if score > 0 else np.int64(-MATE)
        if turn != WHITE:
            score = -score
        end = adjudicate(rules, agreement, score, np.int64(position.fullmove))
        # A mate on the board goes before any agreement.
        if end != ONGOING and legal_moves(positions[at(ply)], moves) > 0:
            return ply, end
    return ply, ONGOING


def play(
    engines: tuple[Engine, Engine],
    limits: tuple[tuple[int | None, int | None], tuple[int | None, int | None]],
    rules: np.void,
    positions: np.ndarray,
    keys: np.ndarray,
    first: int,
) -> tuple[np.ndarray, int, float]:
    """Plays a game from ``positions[first]`` to its end, by the rules of chess or adjudicated.

    Parameters
    ----------
    engines : tuple of Engine
        White and Black, ready for a new game; one engine may be both.
    limits : tuple
        Nodes and depth of each move of White, and of Black; None: no such limit.
    rules : RULES record
    positions, keys : POSITION, uint64 [at least first + max_plies + 1], written
        Filled up to ``first``, then by the game.
    first : int
        Number of half-moves played before, which count for repetitions.

    Returns
    -------
    thoughts : ndarray of THOUGHT
        By half-move.
    end : int
        One of `chess.outcome`, or LENGTH, LEVEL, WHITE_AHEAD, BLACK_AHEAD.
    seconds : float
        CPU time of the searches.
    """
    most = np.array(
        [
            [FOREVER if nodes is None else nodes, min(depth or MAX_DEPTH, MAX_DEPTH)]
            for nodes, depth in limits
        ],
        np.int64,
    )
    thoughts = np.zeros(int(rules["max_plies"]), THOUGHT)
    agreement, spent = np.zeros(2, np.int64), np.zeros(1, np.int64)
    white, black = (engine.record for engine in engines)
    ply, end = first, int(ONGOING)
    while end == ONGOING:
        ply, end = _play_on(
            *(white, black, most, rules, agreement),
            *(positions, keys, first, ply, thoughts, spent, PAUSE),
        )
    for engine in engines:
        engine.check()
    return thoughts[: ply - first], end, spent[0] / 1e9
