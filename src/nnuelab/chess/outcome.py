"""How a game ends by the rules of chess. All jitted."""

import numpy as np

from nnuelab.chess.position import insufficient_material
from nnuelab.jit import at, inline, jit

ONGOING, MATE, STALEMATE, FIFTY_MOVES, REPETITION, MATERIAL = np.arange(6)


@inline
def repetitions(keys, ply, position):
    """How often a position, the one at ``ply``, has been on the board before.

    Parameters
    ----------
    keys : uint64 [at least ply]
        Zobrist keys of the positions of the game before it.
    """
    seen = 0
    for back in range(4, min(np.int64(position.halfmove), ply) + 1, 2):
        if keys[at(ply - back)] == position.key:
            seen += 1
    return seen


@jit
def outcome(positions, keys, ply, n_moves):
    """The way a game ends at ``positions[ply]``, ONGOING when it does not.

    Draws that may be claimed are claimed: the third repetition, and fifty moves unless the last of
    them mates.

    Parameters
    ----------
    positions, keys : POSITION [more than ply], uint64 [more than ply]
        All positions of the game up to there, and their Zobrist keys.
    n_moves : int64
        Number of legal moves there.
    """
    position = positions[at(ply)]
    if n_moves == 0:
        return MATE if position.checkers else STALEMATE
    if position.halfmove >= 100:
        return FIFTY_MOVES
    if repetitions(keys, ply, position) >= 2:
        return REPETITION
    return MATERIAL if insufficient_material(position) else ONGOING
