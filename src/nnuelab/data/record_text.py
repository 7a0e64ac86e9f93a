"""Records as text and back: FENs and moves in UCI notation, in batches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from nnuelab.chess import fen
from nnuelab.chess.moves import NO_MOVE
from nnuelab.chess.position import POSITION
from nnuelab.data.records import pack, unpack, unpack_board
from nnuelab.jit import jit, local_record

MAX_FEN = fen.MAX_FEN
MAX_MOVE = 5  # bytes
BAD_FEN, BAD_MOVE = np.uint8(1), np.uint8(2)
_ZERO = np.uint8(ord("0"))

_position = local_record(POSITION)


@jit
def read(text, ends, records, fault, scratch):
    """Reads FENs and moves.

    Parameters
    ----------
    text : uint8 [m]
        FEN and move (UCI, 0000 or nothing) of each row, one after the other.
    ends : int64 [2 * n]
        Where each of them ends.
    records : RECORD [n], written
        Board, clocks, ``ply`` and ``move``; the others stay as they are.
    fault : uint8 [n], written
        0, BAD_FEN or BAD_MOVE.
    scratch : int64 [2 * MAX_MOVES]
    """
    position = _position()
    for i in range(len(records)):
        start = ends[2 * i - 1] if i else np.int64(0)
        middle, stop = ends[2 * i], ends[2 * i + 1]
        fault[i] = 0
        if not fen.read_fen(text, start, middle, position, scratch):
            fault[i] = BAD_FEN
            continue
        pack(position, records[i])
        records[i].ply = 2 * (np.int64(position.fullmove) - 1) + np.int64(position.turn)
        if stop > middle and not (stop == middle + 4 and text[middle + 1] == _ZERO):
            move = fen.read_uci(position, text, middle, stop, scratch)
            records[i].move = move
            if move == NO_MOVE:
                fault[i] = BAD_MOVE


@jit
def read_move(record, text, scratch):
    """The legal move of a record that ``text`` (uint8 [n]) names; NO_MOVE when there is none."""
    position = _position()
    unpack(record, position)
    return fen.read_uci(position, text, np.int64(0), np.int64(len(text)), scratch)


@jit
def _write(records, fens, moves, ends):
    """Writes FENs and moves.

    Parameters
    ----------
    records : RECORD [n]
    fens : uint8 [n * MAX_FEN], written
    moves : uint8 [n * MAX_MOVE], written
    ends : int64 [2, n + 1], written
        Where each FEN and each move begins, and the last ones end.
    """
    position = _position()
    ends[0, 0] = ends[1, 0] = 0
    for i in range(len(records)):
        unpack_board(records[i], position)
        ends[0, i + 1] = fen.write_fen(position, fens, ends[0, i])
        ends[1, i + 1] = fen.write_uci(np.int64(records[i].move), moves, ends[1, i])


def texts(records: np.ndarray) -> tuple[list[bytes], list[bytes]]:
    """FENs and moves (UCI, ``0000`` for none) of records."""
    fens = np.empty(len(records) * MAX_FEN, np.uint8)
    moves = np.empty(len(records) * MAX_MOVE, np.uint8)
    ends = np.empty((2, len(records) + 1), np.int64)
    _write(np.ascontiguousarray(records), fens, moves, ends)
    return _cut(fens, ends[0]), _cut(moves, ends[1])


def _cut(text: np.ndarray, ends: np.ndarray) -> list[bytes]:
    whole, places = text[: ends[-1]].tobytes(), ends.tolist()
    return [whole[a:b] for a, b in pairwise(places)]
