"""A library by the exported header as a program that speaks enough UCI to be checked.

``python -m nnuelab.export.host LIBRARY [WEIGHTS]``, so a crash ends it alone. A line that continues
the one before is pushed move by move, any other one is a new root.
"""

from __future__ import annotations

import ctypes
import sys

import chess


def main(library: str, weights: str = "") -> None:
    """Answers commands until stdin ends."""
    nnue = ctypes.CDLL(library)
    nnue.nnue_size.restype = ctypes.c_size_t
    if weights and hasattr(nnue, "nnue_load"):
        nnue.nnue_load.restype = ctypes.c_char_p
        if error := nnue.nnue_load(weights.encode()):
            sys.exit(f"{weights}: {error.decode()}")
    stack = ctypes.create_string_buffer(nnue.nnue_size())
    rows = (ctypes.c_int32 * (1 << 20))()  # more than any set has active
    board, start, played = chess.Board(), "", [""]
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["uci"]:
            print(f"id name {library}\nuciok", flush=True)
        elif words[:1] == ["isready"]:
            print("readyok", flush=True)
        elif words[:2] == ["position", "fen"]:
            fen, moves = " ".join(words[2:8]), words[9:]
            if fen != start or moves[: len(played)] != played:
                board, start, played = chess.Board(fen), fen, []
                nnue.nnue_reset(stack, _pieces(board))
            for move in moves[len(played) :]:
                board.push_uci(move)
                nnue.nnue_push(stack, _pieces(board))
            played = moves
        elif words[:1] == ["eval"]:
            print("evaluation", nnue.nnue_evaluate(stack, int(not board.turn)))
        elif words[:1] == ["features"]:
            turn = int(not board.turn)
            if hasattr(nnue, "nnue_evaluate"):  # whose updates may be lazy
                nnue.nnue_evaluate(stack, turn)
            for whose, view in (("stm", turn), ("other", 1 - turn)):
                print(f"{whose}:", *sorted(rows[: nnue.nnue_rows(stack, view, rows)]))


def _pieces(board: chess.Board) -> ctypes.Array[ctypes.c_uint64]:
    sets = [board.pieces_mask(role, color) for role in chess.PIECE_TYPES for color in chess.COLORS]
    return (ctypes.c_uint64 * 12)(*sets)


if __name__ == "__main__":
    main(*sys.argv[1:])
