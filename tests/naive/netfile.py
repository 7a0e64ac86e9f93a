"""Foreign nets, read and evaluated from their bytes as their authors do, with python-chess."""

from __future__ import annotations

import random
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


def stockfish_file(
    m: int,
    o: int,
    p: int,
    stacks: int = 1,
    psqt: int = 0,
    compressed: bool = False,
    mirrored: bool = True,
    seed: int = 0,
    inputs: int = 0,
) -> bytes:
    """A file as nnue-pytorch writes it, of random weights; ``inputs`` others than 2m of layer 2."""
    rng = random.Random(seed)
    n, inputs = (32 if mirrored else 64) * 704, inputs or 2 * m

    def numbers(count: int, spread: int) -> list[int]:
        return [rng.randint(-spread, spread) for _ in range(count)]

    def section(kind: str, values: list[int]) -> bytes:
        if not compressed:
            return struct.pack(f"<{len(values)}{kind}", *values)
        found = bytearray()
        for value in values:
            while True:
                byte, value = value & 127, value >> 7
                if value == (-1 if byte & 64 else 0):
                    break
                found.append(byte | 128)
            found.append(byte)
        return b"COMPRESSED_LEB128" + struct.pack("<I", len(found)) + bytes(found)

    of_features = (0x7F234CB8 if mirrored else 0x5F234CB8) ^ (2 * m)
    of_layers = 0xEC42E90D ^ (2 * m)
    for size in (o, p, 1):
        mixed = (0xCC03DAE4 + size) ^ (of_layers >> 1) ^ (of_layers << 31 & 0xFFFFFFFF)
        of_layers = mixed if size == 1 else (mixed + 0x538D24C7) & 0xFFFFFFFF
    name = b"made by a test \x1b[31m"
    body = struct.pack("<III", 0x7AF32F20, of_features ^ of_layers, len(name)) + name
    body += struct.pack("<I", of_features)
    body += section("h", numbers(m, 120)) + section("h", numbers(n * m, 25))
    body += section("i", numbers(n * psqt, 9000)) if psqt else b""
    for _ in range(stacks):
        body += struct.pack("<I", of_layers)
        for size, outputs, bias in ((inputs, o, 4000), (o, p, 4000), (p, 1, 9000)):
            body += struct.pack(f"<{outputs}i", *numbers(outputs, bias))
            for _ in range(outputs):
                row = numbers(size, 120) + [0] * (-size % 32)
                body += struct.pack(f"<{len(row)}b", *row)
    return body


def stockfish_value(content: bytes, fen: str, compressed: bool, psqt: int, stacks: int) -> int:
    """32 times what such a net says, without any rounding behind its layers.

    The sizes of the layers are those of the file alone: (m x2 -> 16 -> 32 -> 1).
    """
    place = 12 + struct.unpack_from("<I", content, 8)[0]
    of_features = struct.unpack_from("<I", content, place)[0]
    mirrored = bool(of_features & 0x20000000)
    n, m = (32 if mirrored else 64) * 704, (of_features & 0xFFFF ^ 0x4CB8) // 2
    place += 4

    def take(kind: str, count: int) -> list[int]:
        nonlocal place
        found = list(struct.unpack_from(f"<{count}{kind}", content, place))
        place += struct.calcsize(f"<{count}{kind}")
        return found

    def section(kind: str, count: int) -> list[int]:
        nonlocal place
        if not compressed:
            return take(kind, count)
        assert content[place : place + 17] == b"COMPRESSED_LEB128"
        end = place + 21 + struct.unpack_from("<I", content, place + 17)[0]
        place += 21
        found = []
        while place < end:
            value = shift = 0
            while True:
                byte = content[place]
                place += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            found.append(value - (1 << shift) if byte & 64 else value)
        assert len(found) == count
        return found

    board = chess.Board(fen)
    biases, weights = section("h", m), section("h", n * m)
    values = section("i", n * psqt) if psqt else []
    bucket = (len(board.piece_map()) - 1) // 4
    x: list[int] = []
    balance = 0
    for sign, perspective in ((1, board.turn), (-1, not board.turn)):
        king = board.king(perspective)
        assert king is not None
        turned = 0 if perspective == chess.WHITE else 56
        flipped = 7 if mirrored and king % 8 < 4 else 0
        at = king ^ turned ^ flipped
        number = (7 - at // 8) * 4 + 7 - at % 8 if mirrored else at
        accumulator = list(biases)
        for square, piece in board.piece_map().items():
            plane = 2 * (piece.piece_type - 1) + (piece.color != perspective)
            feature = number * 704 + min(plane, 10) * 64 + (square ^ turned ^ flipped)
            for i in range(m):
                accumulator[i] += weights[feature * m + i]
            if psqt:
                balance += sign * values[feature * psqt + (bucket if psqt > 1 else 0)]
        x += [min(max(value, 0), 127) for value in accumulator]
    for stack in range(stacks):
        place += 4
        layers = [
            (take("i", outputs), take("b", outputs * (-(-size // 32) * 32)))
            for size, outputs in ((2 * m, 16), (16, 32), (32, 1))
        ]
        if stack == (bucket if stacks > 1 else 0):
            for last, (bias, weight) in enumerate(layers):
                wide = len(weight) // len(bias)
                sums = [
                    b + sum(w * v for w, v in zip(weight[i * wide :], x, strict=False))
                    for i, b in enumerate(bias)
                ]
                x = sums if last == 2 else [min(max(total >> 6, 0), 127) for total in sums]
            result = x[0]
    assert place == len(content)
    return 2 * result + balance
