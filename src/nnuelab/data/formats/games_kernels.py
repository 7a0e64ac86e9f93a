"""Kernels of `games`: which records are a game, one after the other."""

import numpy as np

from nnuelab.chess import moves
from nnuelab.chess.fen import find_move
from nnuelab.chess.moves import NO_MOVE, make
from nnuelab.chess.position import POSITION
from nnuelab.data.records import unpack
from nnuelab.jit import jit, local_record

_position = local_record(POSITION)


@jit
def find_legal(records, legal, scratch):
    """Whether the moves of RECORD [n] are legal, to ``legal`` (bool [n])."""
    position = _position()
    for i in range(len(records)):
        unpack(records[i], position)
        move = np.int64(records[i].move)
        kind = moves.kind(move) if moves.is_promotion(move) else np.int64(0)
        found = find_move(position, moves.origin(move), moves.target(move), kind, scratch)
        legal[i] = found == move and move != NO_MOVE


@jit
def find_following(records, follows):
    """Whether each of RECORD [n] is the one before it with its move made, to ``follows``.

    Moves are legal.
    """
    before, after, position = _position(), _position(), _position()
    for i in range(1, len(records)):
        if (
            records[i].game != records[i - 1].game
            or records[i].ply != records[i - 1].ply + 1
            or records[i].occupied == records[i - 1].occupied  # a piece has moved
        ):
            continue
        unpack(records[i - 1], before)
        make(before, after, np.int64(records[i - 1].move))
        unpack(records[i], position)
        same = after.key == position.key and min(after.halfmove, 255) == position.halfmove
        for role in range(6):
            same = same and after.roles[role] == position.roles[role]
        follows[i] = same and after.colors[0] == position.colors[0]
