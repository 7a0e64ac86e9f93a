"""Foreign nets, read and evaluated from their bytes as their authors do, with python-chess."""

from __future__ import annotations

import struct
from itertools import pairwise

import chess

OFFSETS, MOST = (0, 9, 25, 42, 68, 94), (8, 15, 16, 25, 25, 8)  # of MC, by role
STUDY_SIZES = {"ALL": 768, "H": 96, "V": 96, "D1": 180, "D2": 180, "PH": 1152, "PV": 1152}
STUDY_SIZES |= {"MB": 768, "MC": 206, "KA": 64 * 768}


def study_active(name: str, board: chess.Board, perspective: chess.Color) -> set[int]:
    """Active features of the block that we call ``name``, by the study's index."""
    seen = board if perspective == chess.WHITE else board.mirror()
    pieces = {
        square: (piece.piece_type - 1, int(piece.color == chess.BLACK))
        for square, piece in seen.piece_map().items()
    }
    if name in ("PH", "PV"):
        return _pairs(pieces, by_file=name == "PV")
    if name in ("MB", "MC"):
        return _mobility(seen, bitsets=name == "MB")
    if name == "KA":
        king = seen.king(chess.WHITE)
        assert king is not None
        return {king * 768 + index for index in study_active("ALL", board, perspective)}
    lines = {
        "ALL": lambda f, k: f * 8 + k,
        "H": lambda f, k: f,
        "V": lambda f, k: k,
        "D1": lambda f, k: f + k,
        "D2": lambda f, k: f + 7 - k,
    }
    return {
        lines[name](square % 8, square // 8) * 12 + r * 2 + c for square, (r, c) in pieces.items()
    }


def _pairs(pieces: dict[int, tuple[int, int]], by_file: bool) -> set[int]:
    """Neighbours on a line; of the two colours there, own is 1."""
    found = set()
    for line in range(8):
        squares = [8 * i + line if by_file else 8 * line + i for i in range(8)]
        row = [pieces[square] for square in squares if square in pieces]
        for (r1, c1), (r2, c2) in pairwise(row):
            found.add(line * 144 + r1 * 24 + (1 - c1) * 12 + r2 * 2 + (1 - c2))
    return found


def _mobility(board: chess.Board, bitsets: bool) -> set[int]:
    found = set()
    for c, color in enumerate((chess.WHITE, chess.BLACK)):
        for r, role in enumerate(chess.PIECE_TYPES):
            targets = {t for s in board.pieces(role, color) for t in _targets(board, s, color)}
            if bitsets:
                found |= {square * 12 + r * 2 + c for square in targets}
            else:
                found.add(OFFSETS[r] * 2 + min(len(targets), MOST[r]) * 2 + c)
    return found


def _targets(board: chess.Board, square: int, color: chess.Color) -> set[int]:
    """Where a piece can move; a pawn takes enemies only, and goes one step."""
    targets = set(board.attacks(square)) - set(chess.SquareSet(board.occupied_co[color]))
    if board.piece_type_at(square) == chess.PAWN:
        targets &= set(chess.SquareSet(board.occupied_co[not color]))
        ahead = square + (8 if color == chess.WHITE else -8)
        if 0 <= ahead < 64 and not board.piece_at(ahead):
            targets.add(ahead)
    legal = set()
    for target in targets:
        after = board.copy(stack=False)
        after.set_piece_at(target, after.remove_piece_at(square))
        king = after.king(color)
        if king is not None and not after.is_attacked_by(not color, king):
            legal.add(target)
    return legal


def study_value(content: bytes, blocks: list[str], fen: str) -> int:
    """Centipawns of a ``.nn`` file, whose name stands for our ``blocks``."""
    place = content.index(b"\0") + 1
    n, m, o = struct.unpack_from("<III", content, place)
    place += 12

    def take(kind: str, count: int) -> list[int]:
        nonlocal place
        values = struct.unpack_from(f"<{count}{kind}", content, place)
        place += struct.calcsize(f"<{count}{kind}")
        return list(values)

    w1, b1, w2, b2 = take("h", n * m), take("h", m), take("b", o * 2 * m), take("i", o)
    w3, (b3,) = take("b", o), take("i", 1)
    assert place == len(content)
    board = chess.Board(fen)
    inputs: list[int] = []
    for perspective in (board.turn, not board.turn):
        accumulator, offset = list(b1), 0
        for name in blocks:
            for index in study_active(name, board, perspective):
                row = (offset + index) * m
                for i in range(m):
                    accumulator[i] += w1[row + i]
            offset += STUDY_SIZES[name]
        inputs += [min(max(value, 0), 127) for value in accumulator]
    value = b3
    for neuron in range(o):
        total = b2[neuron] + sum(
            w * x for w, x in zip(w2[neuron * 2 * m :][: 2 * m], inputs, strict=True)
        )
        value += min(max(total >> 6, 0), 127) * w3[neuron]
    return value >> 4


def bullet_value(content: bytes, m: int, o: int, shifts: tuple[int, int, int], fen: str) -> int:
    """Centipawns of a net (768 -> m) x2 -> o -> 1 in bullet's layout, for such shifts."""
    board = chess.Board(fen)
    kinds = f"<{768 * m}h{m}h{2 * m * o}b{o}i{o}h1i"
    values = list(struct.unpack_from(kinds, content))
    w1, b1, w2, b2, w3, (b3,) = (
        [values.pop(0) for _ in range(count)] for count in (768 * m, m, 2 * m * o, o, o, 1)
    )
    accumulators = []
    for perspective in (board.turn, not board.turn):
        accumulator = list(b1)
        for square, piece in board.piece_map().items():
            own, turned = piece.color == perspective, 0 if perspective == chess.WHITE else 56
            feature = (0 if own else 384) + 64 * (piece.piece_type - 1) + (square ^ turned)
            for i in range(m):
                accumulator[i] += w1[feature * m + i]  # a column of the matrix for each feature
        accumulators += [min(max(value >> shifts[0], 0), 127) for value in accumulator]
    value = b3
    for neuron in range(o):
        total = b2[neuron] + sum(w2[i * o + neuron] * x for i, x in enumerate(accumulators))
        value += min(max(total >> shifts[1], 0), 127) * w3[neuron]
    return value >> shifts[2]


def bullet_simple_value(content: bytes, m: int, fen: str, squared: bool) -> int:
    """Centipawns of a net (768 -> m) x2 -> 1 as bullet's example evaluates it: 255, 64 and 400."""
    board = chess.Board(fen)
    values = list(struct.unpack_from(f"<{768 * m}h{m}h{2 * m}hh", content))
    w1, b1, w2, (b2,) = ([values.pop(0) for _ in range(n)] for n in (768 * m, m, 2 * m, 1))
    total = 0
    for side, perspective in enumerate((board.turn, not board.turn)):
        accumulator = list(b1)
        for square, piece in board.piece_map().items():
            own, turned = piece.color == perspective, 0 if perspective == chess.WHITE else 56
            feature = (0 if own else 384) + 64 * (piece.piece_type - 1) + (square ^ turned)
            for i in range(m):
                accumulator[i] += w1[feature * m + i]
        for i, value in enumerate(accumulator):
            clipped = min(max(value, 0), 255)
            total += (clipped * clipped if squared else clipped) * w2[side * m + i]
    if squared:
        total = int(total / 255)  # Rust rounds towards 0; exact, below 2^53
    return int((total + b2) * 400 / (255 * 64))
