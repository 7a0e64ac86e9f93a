"""The feature sets of the study, written down a second time with python-chess and no tables.

The formulas are those of the study's index table: f, k file and rank and c colour (0 own, 1 enemy)
after the flip to the perspective, r the role 0..5.
"""

from __future__ import annotations

import chess

SIZES = {"ALL": 768, "H": 96, "V": 96, "D1": 180, "D2": 180, "KING": 64}


def block(name: str, board: chess.Board, perspective: chess.Color) -> set[int]:
    """Active features of one block."""
    seen = board if perspective == chess.WHITE else board.mirror()
    found = set()
    for square, piece in seen.piece_map().items():
        f, k = chess.square_file(square), chess.square_rank(square)
        r = piece.piece_type - 1
        c = 0 if piece.color == chess.WHITE else 1
        if name == "KING":
            found |= {square} if (r, c) == (5, 0) else set()
            continue
        line = {"ALL": f * 8 + k, "H": f, "V": k, "D1": f + k, "D2": f + 7 - k}[name]
        found.add(line * 12 + r * 2 + c)
    return found


def active(expression: str, board: chess.Board, perspective: chess.Color) -> list[int]:
    """Active features of a sum of products of blocks (``ALL+H*V``), ascending."""
    found: list[int] = []
    offset = 0
    for term in expression.split("+"):
        factors = term.split("*")
        tuples, size = {0}, 1
        for name in factors:
            one = block(name, board, perspective)
            tuples = {a * SIZES[name] + b for a in tuples for b in one}
            size *= SIZES[name]
        found += [offset + index for index in tuples]
        offset += size
    return sorted(found)
