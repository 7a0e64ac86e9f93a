"""The feature sets, written down a second time with python-chess and no tables.

The formulas are those of the study's index table: f, k file and rank and c colour (0 own, 1 enemy)
after the flip to the perspective, r the role 0..5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import chess

Feature = Iterator[int]
Piece = tuple[int, int, int, int]  # f, k, r, c


def pieces(seen: chess.Board) -> list[Piece]:
    return [
        (
            chess.square_file(square),
            chess.square_rank(square),
            piece.piece_type - 1,
            0 if piece.color == chess.WHITE else 1,
        )
        for square, piece in seen.piece_map().items()
    ]


def king(seen: chess.Board) -> int:
    square = seen.king(chess.WHITE)
    assert square is not None
    return square


def of_each_piece(index: Callable[[int, int, int, int], int]) -> Callable[[chess.Board], Feature]:
    return lambda seen: (index(*piece) for piece in pieces(seen))


def own_king(seen: chess.Board) -> Feature:
    yield king(seen)


def king_all(seen: chess.Board) -> Feature:
    for f, k, r, c in pieces(seen):
        yield king(seen) * 768 + (f * 8 + k) * 12 + r * 2 + c


def half_kp(seen: chess.Board) -> Feature:
    for f, k, r, c in pieces(seen):
        if r != 5:
            yield king(seen) * 640 + (f * 8 + k) * 10 + r * 2 + c


BUCKETS_OF_4 = {0: [0, 0, 1, 1], 1: [2, 2, 2, 2]}  # by rank and mirrored file; further up 3


def king_buckets(n: int) -> Callable[[chess.Board], Feature]:
    def active(seen: chess.Board) -> Feature:
        if chess.square_file(king(seen)) >= 4:
            seen = seen.transform(chess.flip_horizontal)
        f0, k0 = chess.square_file(king(seen)), chess.square_rank(king(seen))
        bucket = {1: 0, 32: 4 * k0 + f0}.get(n, BUCKETS_OF_4.get(k0, [3] * 4)[f0])
        for f, k, r, c in pieces(seen):
            yield bucket * 768 + (f * 8 + k) * 12 + r * 2 + c

    return active


def relative(axes: str) -> Callable[[chess.Board], Feature]:
    def active(seen: chess.Board) -> Feature:
        f0, k0 = chess.square_file(king(seen)), chess.square_rank(king(seen))
        for f, k, r, c in pieces(seen):
            across, up = f - f0 + 7, k - k0 + 7
            place = {"H": across * 8 + k, "V": f * 15 + up, "HV": across * 15 + up}[axes]
            yield place * 12 + r * 2 + c

    return active


def neighbours(
    line: Callable[[int, int], int], step: Callable[[int, int], int]
) -> Callable[[chess.Board], Feature]:
    """Pairs with nothing between them: for each piece, the next one on its line."""

    def active(seen: chess.Board) -> Feature:
        for f1, k1, r1, c1 in pieces(seen):
            behind = [
                (step(f, k), r, c)
                for f, k, r, c in pieces(seen)
                if line(f, k) == line(f1, k1) and step(f, k) > step(f1, k1)
            ]
            if behind:
                _, r2, c2 = min(behind)
                yield line(f1, k1) * 144 + r1 * 24 + (1 - c1) * 12 + r2 * 2 + (1 - c2)

    return active


PAWN_PAIRS = {
    pair: index
    for index, pair in enumerate(
        pair
        for pair in combinations([(c, s) for c in range(2) for s in range(8, 56)], 2)
        if pair[0][1] != pair[1][1]
    )
}


def pawn_pairs(seen: chess.Board) -> Feature:
    pawns = sorted((c, f + 8 * k) for f, k, r, c in pieces(seen) if r == 0)
    return (PAWN_PAIRS[pair] for pair in combinations(pawns, 2))


def yacge(seen: chess.Board) -> Feature:
    for f, k, r, c in pieces(seen):
        yield (f + 8 * k) * 2 + c
        yield 128 + (f + 8 * k) * 6 + r


BLOCKS: dict[str, tuple[int, Callable[[chess.Board], Feature]]] = {
    "ALL": (768, of_each_piece(lambda f, k, r, c: (f * 8 + k) * 12 + r * 2 + c)),
    "H": (96, of_each_piece(lambda f, k, r, c: f * 12 + r * 2 + c)),
    "V": (96, of_each_piece(lambda f, k, r, c: k * 12 + r * 2 + c)),
    "D1": (180, of_each_piece(lambda f, k, r, c: (f + k) * 12 + r * 2 + c)),
    "D2": (180, of_each_piece(lambda f, k, r, c: (f + 7 - k) * 12 + r * 2 + c)),
    "KING": (64, own_king),
    "KA": (49152, king_all),
    "KP": (40960, half_kp),
    "KB(1)": (768, king_buckets(1)),
    "KB(4)": (4 * 768, king_buckets(4)),
    "KB(32)": (32 * 768, king_buckets(32)),
    "HRK(H)": (15 * 8 * 12, relative("H")),
    "HRK(V)": (8 * 15 * 12, relative("V")),
    "HRK(HV)": (15 * 15 * 12, relative("HV")),
    "PH": (1152, neighbours(lambda f, k: k, lambda f, k: f)),
    "PV": (1152, neighbours(lambda f, k: f, lambda f, k: k)),
    "PD1": (2160, neighbours(lambda f, k: f + k, lambda f, k: f)),
    "PD2": (2160, neighbours(lambda f, k: f + 7 - k, lambda f, k: f)),
    "PP": (4512, pawn_pairs),
    "SC": (128, of_each_piece(lambda f, k, r, c: (f + 8 * k) * 2 + c)),
    "SR": (384, of_each_piece(lambda f, k, r, c: (f + 8 * k) * 6 + r)),
    "YACGE": (512, yacge),
}
SIZES = {name: size for name, (size, _) in BLOCKS.items()}


def block(name: str, board: chess.Board, perspective: chess.Color) -> set[int]:
    """Active features of one block."""
    return set(BLOCKS[name][1](board if perspective == chess.WHITE else board.mirror()))


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
