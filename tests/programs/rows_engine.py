"""A UCI engine for tests that lists its rows of HalfKAv2_hm, numbered as engines number them.

An argument makes it wrong: ``castling`` leaves the rook where it was, ``tables`` has one row for
two features, ``strays`` adds a row of nothing.

Source of the numbers: half_ka_v2_hm.h of Stockfish 15.
"""

import sys

import chess

fault = sys.argv[1]
board = chess.Board()


def rows(view: chess.Color) -> list[int]:
    """Active rows: square, piece and bucket of the own king, which is mirrored to files e to h."""
    flip = 0 if view else 56
    king = board.king(view) ^ flip
    mirror = 7 if chess.square_file(king) < 4 else 0
    file, rank = chess.square_file(king ^ mirror), chess.square_rank(king)
    bucket = 4 * (7 - rank) + 7 - file
    found = []
    for square, piece in board.piece_map().items():
        kind = 10 if piece.piece_type == chess.KING else 2 * piece.piece_type - 2
        kind += piece.piece_type != chess.KING and piece.color != view
        found.append((square ^ flip ^ mirror) + 64 * kind + 704 * bucket)
    return found


for line in sys.stdin:
    words = line.split()
    if words[:1] == ["uci"]:
        print("uciok")
    elif words[:1] == ["isready"]:
        print("readyok")
    elif words[:1] == ["position"]:
        board = chess.Board(" ".join(words[2:8]))
        for word in words[9:]:
            move = board.parse_uci(word)
            left = board.is_castling(move) and fault == "castling" and board.piece_map()
            board.push(move)
            for square in chess.scan_forward(board.rooks) if left else ():
                if square not in left:
                    board.remove_piece_at(square)
    elif words[:1] == ["rows"]:
        for view in (board.turn, not board.turn):
            listed = [row - (fault == "tables" and row % 704 == 12) for row in rows(view)]
            print("rows", *listed, *[99999] * (fault == "strays"))
    sys.stdout.flush()
