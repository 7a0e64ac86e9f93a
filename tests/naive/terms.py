"""Blocks of classical evaluation terms, written down a second time with python-chess.

Every function takes a board as the player sees it, who is White, and yields tuples of values, one
for each concept, in their order. Files and ranks are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import chess
from chess import BISHOP, BLACK, KING, KNIGHT, PAWN, QUEEN, ROOK, WHITE
from chess import square_file as file_of
from chess import square_rank as rank_of

Values = Iterator[tuple[int, ...]]
OFFICERS = (KNIGHT, BISHOP, ROOK, QUEEN)


def pawn(square: int) -> tuple[int, int]:
    """Rank, counted from the second, and file."""
    return rank_of(square) - 1, file_of(square)


def pawns(board: chess.Board, color: chess.Color, files: list[int]) -> list[int]:
    """Ranks of the pawns of a colour on some files."""
    return [rank_of(s) for s in board.pieces(PAWN, color) if file_of(s) in files]


def neighbours(file: int) -> list[int]:
    return [file - 1, file + 1]


def attacked_by_pawn(board: chess.Board, color: chess.Color, square: int) -> bool:
    return any(board.piece_type_at(s) == PAWN for s in board.attackers(color, square))


def doubled(board: chess.Board) -> Values:
    for s in board.pieces(PAWN, WHITE):
        if any(rank > rank_of(s) for rank in pawns(board, WHITE, [file_of(s)])):
            yield pawn(s)


def isolated(board: chess.Board) -> Values:
    for s in board.pieces(PAWN, WHITE):
        if not pawns(board, WHITE, neighbours(file_of(s))):
            yield pawn(s)


def backward(board: chess.Board) -> Values:
    for s in board.pieces(PAWN, WHITE):
        beside = pawns(board, WHITE, neighbours(file_of(s)))
        if beside and min(beside) > rank_of(s) and attacked_by_pawn(board, BLACK, s + 8):
            yield pawn(s)


def connected(board: chess.Board) -> Values:
    for s in board.pieces(PAWN, WHITE):
        if attacked_by_pawn(board, WHITE, s):
            yield 1, *pawn(s)
        elif rank_of(s) in pawns(board, WHITE, neighbours(file_of(s))):
            yield 0, *pawn(s)


def passers(board: chess.Board) -> list[int]:
    def is_free(s: int) -> bool:
        enemies = pawns(board, BLACK, [file_of(s), *neighbours(file_of(s))])
        return all(rank <= rank_of(s) for rank in enemies + pawns(board, WHITE, [file_of(s)]))

    return [s for s in board.pieces(PAWN, WHITE) if is_free(s)]


def passed(board: chess.Board) -> Values:
    return (pawn(s) for s in passers(board))


def passed_kings(board: chess.Board) -> Values:
    for s in passers(board):
        for number, color in enumerate((WHITE, BLACK)):
            yield number, chess.square_distance(king(board, color), s + 8), *pawn(s)


def passed_way(board: chess.Board) -> Values:
    for s in passers(board):
        taken = board.color_at(s + 8)
        if taken is None:
            yield 2 if board.is_attacked_by(BLACK, s + 8) else 3, *pawn(s)
        else:
            yield 0 if taken == WHITE else 1, *pawn(s)


def space(board: chess.Board) -> Values:
    for rank in range(1, 4):
        for file in range(2, 6):
            s = chess.square(file, rank)
            own = pawns(board, WHITE, [file])
            if rank not in own and not attacked_by_pawn(board, BLACK, s):
                yield int(not any(other > rank for other in own)), rank - 1, file - 2


def king(board: chess.Board, color: chess.Color) -> int:
    square = board.king(color)
    assert square is not None
    return square


def is_light(square: int) -> bool:
    return bool(chess.BB_SQUARES[square] & chess.BB_LIGHT_SQUARES)


def bishop_pair(board: chess.Board) -> Values:
    if len({is_light(s) for s in board.pieces(BISHOP, WHITE)}) == 2:
        yield (0,)


def mobile(board: chess.Board) -> Iterator[tuple[int, int, int]]:
    """Role counted from the knight, squares that it attacks and may go to, square."""
    for role, piece_type in enumerate(OFFICERS):
        for s in board.pieces(piece_type, WHITE):
            free = [
                target
                for target in board.attacks(s)
                if board.color_at(target) != WHITE and not attacked_by_pawn(board, BLACK, target)
            ]
            yield role, len(free), s


def mobility(board: chess.Board) -> Values:
    return mobile(board)


def reach(board: chess.Board) -> Values:
    for role, count, s in mobile(board):
        for least in range(1, count + 1):
            yield role, least - 1, s


def outpost(board: chess.Board) -> Values:
    for role, piece_type in enumerate((KNIGHT, BISHOP)):
        for s in board.pieces(piece_type, WHITE):
            ahead = [r for r in pawns(board, BLACK, neighbours(file_of(s))) if r > rank_of(s)]
            if 3 <= rank_of(s) <= 5 and attacked_by_pawn(board, WHITE, s) and not ahead:
                yield role, rank_of(s) - 3, file_of(s)


def bishop_pawns(board: chess.Board) -> Values:
    for s in board.pieces(BISHOP, WHITE):
        alike = [p for p in board.pieces(PAWN, WHITE) if is_light(p) == is_light(s)]
        yield min(len(alike), 6), s


def rook_file(board: chess.Board) -> Values:
    for s in board.pieces(ROOK, WHITE):
        if not pawns(board, WHITE, [file_of(s)]):
            yield int(not pawns(board, BLACK, [file_of(s)])), s


def seventh(board: chess.Board) -> Values:
    if rank_of(king(board, BLACK)) == 7 or 6 in pawns(board, BLACK, list(range(8))):
        for role, piece_type in enumerate((ROOK, QUEEN)):
            for s in board.pieces(piece_type, WHITE):
                if rank_of(s) == 6:
                    yield role, file_of(s)


def tempo(board: chess.Board) -> Values:
    if board.turn == WHITE:
        yield (0,)


def sheltering(board: chess.Board) -> list[int]:
    file = file_of(king(board, WHITE))
    return {0: [0, 1, 2], 7: [5, 6, 7]}.get(file, [file - 1, file, file + 1])


def shelter(board: chess.Board) -> Values:
    own = king(board, WHITE)
    for file in sheltering(board):
        ranks = [r for r in pawns(board, WHITE, [file]) if r >= rank_of(own)]
        yield int(file != file_of(own)), min(ranks) - 1 if ranks else 6, file


def storm(board: chess.Board) -> Values:
    for file in sheltering(board):
        ranks = [r for r in pawns(board, BLACK, [file]) if r >= rank_of(king(board, WHITE))]
        if ranks:
            below = board.piece_at(chess.square(file, min(ranks) - 1))
            yield int(below == chess.Piece(PAWN, WHITE)), min(ranks) - 1, file


def zone(board: chess.Board) -> set[int]:
    ring = {king(board, BLACK), *board.attacks(king(board, BLACK))}
    return ring | {s - 8 for s in ring if s >= 8}


def besiegers(board: chess.Board) -> Iterator[tuple[int, int, int]]:
    """Role counted from the knight, squares of the zone that it attacks, square."""
    for role, piece_type in enumerate(OFFICERS):
        for s in board.pieces(piece_type, WHITE):
            if count := len(zone(board).intersection(board.attacks(s))):
                yield role, count, s


def king_attack(board: chess.Board) -> Values:
    for role, count, s in besiegers(board):
        yield role, count - 1, s


def king_attackers(board: chess.Board) -> Values:
    if n := len(list(besiegers(board))):
        yield (min(n, 6) - 1,)


def king_checks(board: chess.Board) -> Values:
    enemy = king(board, BLACK)
    for role, piece_type in enumerate(OFFICERS):
        targets = {t for s in board.pieces(piece_type, WHITE) for t in board.attacks(s)}
        for target in targets:
            guards = set(board.attackers(BLACK, target)) - {enemy}
            if board.color_at(target) == WHITE or guards or target == enemy:
                continue
            # Whatever stands there is taken; the piece itself stays where it came from, too.
            after = board.copy(stack=False)
            after.set_piece_at(target, chess.Piece(piece_type, WHITE))
            if enemy in after.attacks(target):
                yield role, target


def threat(board: chess.Board) -> Values:
    lesser = ((PAWN,), (KNIGHT, BISHOP), (ROOK,))
    victims = (OFFICERS, (ROOK, QUEEN), (QUEEN,))
    for number, (attackers, attacked) in enumerate(zip(lesser, victims, strict=True)):
        for piece_type in attacked:
            for s in board.pieces(piece_type, BLACK):
                if any(board.piece_type_at(a) in attackers for a in board.attackers(WHITE, s)):
                    yield number, OFFICERS.index(piece_type), s


def hanging(board: chess.Board) -> Values:
    for s, piece in board.piece_map().items():
        attacked, defended = (board.is_attacked_by(color, s) for color in (WHITE, BLACK))
        if piece.color == BLACK and piece.piece_type != KING and attacked and not defended:
            yield piece.piece_type - 1, s


def steps(board: chess.Board) -> Iterator[int]:
    """Squares that own pawns can step to, no enemy pawn attacking them there."""
    for s in board.pieces(PAWN, WHITE):
        ways = [s + 8, s + 16] if rank_of(s) == 1 else [s + 8]
        for target in ways:
            if board.piece_at(target) is not None:
                break
            if not attacked_by_pawn(board, BLACK, target):
                yield target


def push_threat(board: chess.Board) -> Values:
    reached = {
        chess.square(file, rank_of(s) + 1)
        for s in steps(board)
        if rank_of(s) < 7
        for file in neighbours(file_of(s))
        if 0 <= file < 8
    }
    for role, piece_type in enumerate(OFFICERS):
        for s in board.pieces(piece_type, BLACK):
            if s in reached and not attacked_by_pawn(board, WHITE, s):
                yield role, s


def men(board: chess.Board) -> Values:
    for s, piece in board.piece_map().items():
        if piece.color == WHITE and piece.piece_type != KING:
            yield piece.piece_type - 1, rank_of(s), file_of(s)


def own(board: chess.Board) -> Values:
    for s, piece in board.piece_map().items():
        if piece.color == WHITE:
            yield piece.piece_type - 1, rank_of(s), file_of(s)


BLOCKS: dict[str, tuple[tuple[int, ...], Callable[[chess.Board], Values]]] = {
    "BACKWARD": ((6, 8), backward),
    "BISHOP_PAIR": ((1,), bishop_pair),
    "BISHOP_PAWNS": ((7, 64), bishop_pawns),
    "CONNECTED": ((2, 6, 8), connected),
    "DOUBLED": ((6, 8), doubled),
    "HANGING": ((5, 64), hanging),
    "ISOLATED": ((6, 8), isolated),
    "KING_ATTACK": ((4, 9, 64), king_attack),
    "KING_ATTACKERS": ((6,), king_attackers),
    "KING_CHECKS": ((4, 64), king_checks),
    "MEN": ((5, 8, 8), men),
    "MOBILITY": ((4, 28, 64), mobility),
    "OUTPOST": ((2, 3, 8), outpost),
    "OWN": ((6, 8, 8), own),
    "PASSED": ((6, 8), passed),
    "PASSED_KINGS": ((2, 8, 6, 8), passed_kings),
    "PASSED_WAY": ((4, 6, 8), passed_way),
    "PUSH_THREAT": ((4, 64), push_threat),
    "REACH": ((4, 27, 64), reach),
    "ROOK_FILE": ((2, 64), rook_file),
    "SEVENTH": ((2, 8), seventh),
    "SHELTER": ((2, 7, 8), shelter),
    "SPACE": ((2, 3, 4), space),
    "STORM": ((2, 6, 8), storm),
    "TEMPO": ((1,), tempo),
    "THREAT": ((3, 4, 64), threat),
}
"""Numbers of values of the concepts of each block, and what is active."""


def block(name: str, board: chess.Board, perspective: chess.Color) -> list[tuple[int, ...]]:
    """Values of the active features of one block, in order."""
    seen = board if perspective == WHITE else board.mirror()
    return sorted(BLOCKS[name][1](seen))
