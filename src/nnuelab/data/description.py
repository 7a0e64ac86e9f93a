"""Distributions of positions: ply, material, score, result, mobility, legal moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnuelab.chess.mobility import EVERYWHERE, mobility
from nnuelab.chess.moves import MAX_MOVES, count_moves
from nnuelab.chess.position import BISHOP, KNIGHT, PAWN, POSITION, QUEEN, ROOK
from nnuelab.data.records import NO_SCORE, UNKNOWN_RESULT, unpack
from nnuelab.jit import jit, popcount

ROLES = "PNBRQK"
QUANTILES = {"lower": 0.25, "median": 0.5, "upper": 0.75}  # of legal moves, by move number
FEWEST = 20  # positions that a move number needs to have quantiles
MEASURES = np.dtype(
    [
        ("material", "i2"),  # of both sides in pawns: 1, 3, 3, 5, 9
        ("legal_moves", "i2"),
        ("mobility", "i2", 12),  # squares, by piece code; the study's rule (`chess.mobility`)
    ]
)


@jit
def measure(records, position, moves, sets, out):
    """Writes the MEASURES of positions.

    Parameters
    ----------
    records : RECORD [n]
    position : POSITION, scratch
    moves : int64 [MAX_MOVES], scratch
    sets : uint64 [12], scratch
    out : MEASURES [n], written
    """
    for i in range(len(records)):
        unpack(records[i], position)
        roles = position.roles
        minor = popcount(roles[KNIGHT]) + popcount(roles[BISHOP])
        heavy = 5 * popcount(roles[ROOK]) + 9 * popcount(roles[QUEEN])
        out[i].material = popcount(roles[PAWN]) + 3 * minor + heavy
        out[i].legal_moves = count_moves(position, moves)
        mobility(position, EVERYWHERE, sets)
        for piece in range(12):
            out[i].mobility[piece] = popcount(sets[piece])


def describe(records: np.ndarray, positions: int) -> dict[str, Any]:
    """Distributions of positions, as JSON.

    A distribution is ``first`` (value of the first step), ``step`` and ``counts``; the first and
    last steps of a score hold what lies beyond, too.

    Parameters
    ----------
    records : ndarray of RECORD [n]
        In memory.
    positions : int
        Of how many these are a selection.

    Returns
    -------
    dict
        positions, described; ply, material, score (centipawns for the side to move), without_score,
        result (from White's view); legal_moves by side to move; legal_moves_by_turn, their
        QUANTILES by side to move for each move number that has at least FEWEST positions; mobility
        of the side to move (``own``) and of the other one (``enemy``) by role.
    """
    measures = np.zeros(len(records), MEASURES)
    measure(
        records,
        np.zeros(1, POSITION)[0],
        np.zeros(MAX_MOVES, np.int64),
        np.zeros(12, np.uint64),
        measures,
    )
    black = (records["flags"] & 1).astype(bool)
    scored = records["score"][records["score"] != NO_SCORE]
    results = np.where(black & (records["result"] != UNKNOWN_RESULT), -1, 1) * records["result"]
    squares = measures["mobility"].reshape(-1, 6, 2)
    sides = {"own": black.astype(np.int64), "enemy": (~black).astype(np.int64)}
    return {
        "positions": positions,
        "described": len(records),
        "ply": _distribution(records["ply"], 10),
        "material": _distribution(measures["material"], 2),
        "score": _distribution(np.clip(scored, -3000, 2999), 100, -3000),
        "without_score": len(records) - len(scored),
        "result": {
            name: int((results == value).sum())
            for name, value in (("1-0", 1), ("1/2-1/2", 0), ("0-1", -1), ("*", UNKNOWN_RESULT))
        },
        "legal_moves": {
            "white": _distribution(measures["legal_moves"][~black], 1),
            "black": _distribution(measures["legal_moves"][black], 1),
        },
        "legal_moves_by_turn": {
            "white": _by_turn(records["ply"][~black], measures["legal_moves"][~black]),
            "black": _by_turn(records["ply"][black], measures["legal_moves"][black]),
        },
        "mobility": {
            side: {
                letter: _distribution(squares[np.arange(len(records)), role, colors], 1)
                for role, letter in enumerate(ROLES)
            }
            for side, colors in sides.items()
        },
    }


def _by_turn(plies: np.ndarray, legal: np.ndarray) -> dict[str, list[float]]:
    """Quantiles of the legal moves of one side's positions, by move number."""
    turns = plies.astype(np.int64) // 2 + 1
    numbers, positions = np.unique(turns, return_counts=True)
    enough = positions >= FEWEST
    kept = [legal[turns == number] for number in numbers[enough]]
    return {
        "turn": numbers[enough].tolist(),
        "positions": positions[enough].tolist(),
        **{name: [float(np.quantile(of, q)) for of in kept] for name, q in QUANTILES.items()},
    }


def _distribution(values: np.ndarray, step: int, first: int = 0) -> dict[str, Any]:
    counts = np.bincount((values.astype(np.int64) - first) // step)
    return {"first": first, "step": step, "counts": counts.tolist()}
