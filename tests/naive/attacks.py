"""Blocks of attacks and moves, written down a second time with python-chess and no tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import product

import chess

MOBILITY_MAX = (8, 15, 16, 25, 25, 8)
ATTACK_MAX = (14, 16, 26, 26, 27, 8)
ATTACKERS_MAX = (7, 7, 7, 7, 7, 7)


def moves(board: chess.Board, square: chess.Square) -> set[chess.Square]:
    """Where a piece could go by the study's rule, the safety of its king aside."""
    piece = board.piece_at(square)
    assert piece is not None
    targets = set(board.attacks(square) & ~board.occupied_co[piece.color])
    if piece.piece_type == chess.PAWN:
        targets &= set(chess.SquareSet(board.occupied_co[not piece.color]))
        step = square + (8 if piece.color == chess.WHITE else -8)
        if board.piece_at(step) is None:
            targets.add(step)
    return targets


def safe_moves(board: chess.Board, square: chess.Square) -> set[chess.Square]:
    """The same, without those that leave the own king attacked."""
    color = board.color_at(square)
    assert color is not None
    found = set()
    for target in moves(board, square):
        after = board.copy(stack=False)
        after.set_piece_at(target, after.remove_piece_at(square))
        king = after.king(color)
        assert king is not None
        if not after.is_attacked_by(not color, king):
            found.add(target)
    return found


def legal_targets(board: chess.Board, color: chess.Color) -> set[tuple[int, chess.Square]]:
    """(role 0..5, square) of python-chess's own legal moves, without those that don't count."""
    seen = board.copy(stack=False)
    seen.turn, seen.ep_square, seen.castling_rights = color, None, chess.BB_EMPTY
    found = set()
    for move in seen.legal_moves:
        piece_type = seen.piece_type_at(move.from_square)
        assert piece_type is not None
        if piece_type != chess.PAWN or abs(move.from_square - move.to_square) != 16:
            found.add((piece_type - 1, move.to_square))
    return found


def pieces(board: chess.Board) -> list[tuple[chess.Square, int, int]]:
    """(square, role 0..5, colour 0 White / 1 Black) of each piece."""
    return [
        (square, piece.piece_type - 1, int(piece.color == chess.BLACK))
        for square, piece in board.piece_map().items()
    ]


Targets = Callable[[chess.Board, chess.Square], Iterable[chess.Square]]


def bitset(board: chess.Board, targets: Targets) -> set[int]:
    """s*12 + r*2 + c for each square s of ``targets(board, square)`` of a piece r, c."""
    return {
        target * 12 + r * 2 + c
        for square, r, c in pieces(board)
        for target in targets(board, square)
    }


def counts(sets: set[int], most: tuple[int, ...]) -> set[int]:
    """OFF[r]*2 + min(m, MAX[r])*2 + c, where m squares s have an s*12 + r*2 + c in ``sets``."""
    found = set()
    for r, c in product(range(6), range(2)):
        m = sum(index % 12 == r * 2 + c for index in sets)
        offset = sum(most[role] + 1 for role in range(r))
        found.add((offset + min(m, most[r])) * 2 + c)
    return found


def attackers(board: chess.Board) -> set[int]:
    """s*12 + r*2 + c where the piece on s attacks an enemy piece of role r and colour c."""
    return {
        attacker * 12 + r * 2 + c
        for square, r, c in pieces(board)
        for attacker in board.attackers(chess.BLACK if c == 0 else chess.WHITE, square)
    }


def reach(role: int, color: int, square: chess.Square) -> set[chess.Square]:
    """Squares that a piece attacks on an empty board; of a pawn that can't be there, none."""
    if role == 0 and chess.square_rank(square) in (0, 7):
        return set()
    board = chess.Board.empty()
    board.set_piece_at(square, chess.Piece(role + 1, color == 0))
    return set(board.attacks(square))


@cache
def piece_moves() -> dict[tuple[int, int, int, int], int]:
    """Index by (role, colour, from, to), numbered in that order."""
    order = []
    for r, c, start in product(range(6), range(2), range(64)):
        targets = reach(r, c, start)
        if r == 0 and targets:
            targets.add(start + (8 if c == 0 else -8))
        order += [(r, c, start, target) for target in sorted(targets)]
    return {key: i for i, key in enumerate(order)}


@cache
def threats() -> dict[tuple[int, int, int, int, int, int], int]:
    """Index by (role, colour, square) of the attacker, then of the victim, in that order."""
    order = []
    for r, c, start in product(range(6), range(2), range(64)):
        for victim, side in product(range(6), range(2)):
            if victim == 5 and (side == c or r == 5):
                continue  # a king can't be defended, nor be attacked by a king
            for target in sorted(reach(r, c, start)):
                if victim != 0 or chess.square_rank(target) not in (0, 7):
                    order.append((r, c, start, victim, side, target))
    return {key: i for i, key in enumerate(order)}


def active_moves(board: chess.Board) -> set[int]:
    index = piece_moves()
    return {
        index[r, c, square, target]
        for square, r, c in pieces(board)
        for target in moves(board, square)
    }


def active_threats(board: chess.Board) -> set[int]:
    index, found = threats(), set()
    for square, r, c in pieces(board):
        for target in board.attacks(square):
            victim = board.piece_at(target)
            if victim:
                side = int(victim.color == chess.BLACK)
                found.add(index.get((r, c, square, victim.piece_type - 1, side, target), -1))
    return found - {-1}


def attack_counts(board: chess.Board) -> set[int]:
    first = 2 * sum(most + 1 for most in ATTACK_MAX)
    squares = counts(bitset(board, chess.Board.attacks), ATTACK_MAX)
    return squares | {first + index for index in counts(attackers(board), ATTACKERS_MAX)}


SIZES = {"MB": 768, "MC": 206, "AB": 768, "AC": 342, "PM": 7600, "TH": 78464}


def block(name: str, board: chess.Board, perspective: chess.Color) -> set[int]:
    """Active features of one block."""
    seen = board if perspective == chess.WHITE else board.mirror()
    if name == "MB":
        return bitset(seen, safe_moves)
    if name == "MC":
        return counts(bitset(seen, safe_moves), MOBILITY_MAX)
    if name == "AB":
        return bitset(seen, chess.Board.attacks)
    if name == "AC":
        return attack_counts(seen)
    return active_moves(seen) if name == "PM" else active_threats(seen)
