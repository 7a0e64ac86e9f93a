"""Slow, obvious twins of the position files, by python-chess."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import chess


class Entry(NamedTuple):
    """What a file says of a position; score and result are those of the side to move."""

    fen: str
    move: str
    score: int
    result: int
    ply: int


def binpack(content: bytes, limit: int) -> Iterator[Entry]:
    """The first ``limit`` positions of a .binpack of one chunk."""
    assert content[:4] == b"BINP"
    at, given = 8, 0
    while at < len(content) and given < limit:
        board, move, score, result, ply = _stem(content[at : at + 32])
        (more,) = struct.unpack(">H", content[at + 32 : at + 34])
        at += 34
        yield Entry(board.fen(en_passant="legal"), move.uci(), score, result, ply)
        given += 1
        bits = "".join(f"{byte:08b}" for byte in content[at : at + 5 * more])
        used = 0
        for _ in range(more):
            board.push(move)
            move, used = _move(board, bits, used)
            change, shift, follows = 0, 0, True
            while follows:
                block, used = int(bits[used : used + 5], 2), used + 5
                change |= (block & 15) << shift
                shift, follows = shift + 4, block >= 16
            score = (_signed(change) - score + 2**15) % 2**16 - 2**15
            result, ply = -result, ply + 1
            yield Entry(board.fen(en_passant="legal"), move.uci(), score, result, ply)
            given += 1
        at += (used + 7) // 8


def _signed(value: int) -> int:
    return -(value // 2) - 1 if value % 2 else value // 2


def _stem(packed: bytes) -> tuple[chess.Board, chess.Move, int, int, int]:
    occupied, move, score, ply, clock = struct.unpack(">Q16xHHHH", packed)
    board = chess.Board(None)
    board.turn = chess.WHITE
    castling = 0
    for i, square in enumerate(chess.SquareSet(occupied)):
        nibble = packed[8 + i // 2] >> (4 * (i % 2)) & 15
        if nibble == 12:
            color = square // 8 == 3
            board.ep_square = square - 8 if color else square + 8
            piece = chess.Piece(chess.PAWN, color)
        elif nibble in (13, 14):
            castling |= 1 << square
            piece = chess.Piece(chess.ROOK, nibble == 13)
        elif nibble == 15:
            board.turn = chess.BLACK
            piece = chess.Piece(chess.KING, chess.BLACK)
        else:
            piece = chess.Piece(nibble // 2 + 1, nibble % 2 == 0)
        board.set_piece_at(square, piece)
    board.castling_rights = castling
    board.halfmove_clock = clock
    number = ply & 0x3FFF
    board.fullmove_number = number // 2 + 1
    start, target = move >> 8 & 63, move >> 2 & 63
    promotion = 2 + (move & 3) if move >> 14 == 1 else None
    if move >> 14 == 2:
        target = start + 2 if target > start else start - 2
    found = chess.Move(start, target, promotion)
    return board, found, _signed(score), _signed(ply >> 14), number


def _move(board: chess.Board, bits: str, used: int) -> tuple[chess.Move, int]:
    own = list(chess.SquareSet(board.occupied_co[board.turn]))
    number, used = _number(bits, used, len(own))
    start = own[number]
    piece = board.piece_type_at(start)
    last = 7 if board.turn else 0
    targets = sorted(
        move.to_square
        for move in board.generate_pseudo_legal_moves(1 << start)
        if move.promotion in (None, chess.QUEEN) and not board.is_castling(move)
    )
    if piece == chess.KING:
        rights = [
            square
            for square in (start - 2, start + 2)
            if (
                board.has_queenside_castling_rights(board.turn)
                if square < start
                else board.has_kingside_castling_rights(board.turn)
            )
        ]
        number, used = _number(bits, used, len(targets) + len(rights))
        return chess.Move(start, (targets + rights)[number]), used
    if piece == chess.PAWN and chess.square_rank(targets[0]) == last:
        number, used = _number(bits, used, 4 * len(targets))
        return chess.Move(start, targets[number // 4], 2 + number % 4), used
    number, used = _number(bits, used, len(targets))
    return chess.Move(start, targets[number]), used


def _number(bits: str, used: int, choices: int) -> tuple[int, int]:
    width = (choices - 1).bit_length()
    return int(bits[used : used + width] or "0", 2), used + width


def bulletformat(board: chess.Board, score: int, result: int) -> bytes:
    """The record of a position; score and result are those of the side to move."""
    seen = board if board.turn else board.mirror()
    nibbles = [
        (piece.piece_type - 1) | (0 if piece.color else 8)
        for _, piece in sorted(seen.piece_map().items())
    ]
    pieces = sum(nibble << 4 * i for i, nibble in enumerate(nibbles))
    own, other = seen.king(chess.WHITE), seen.king(chess.BLACK)
    assert own is not None
    assert other is not None
    return struct.pack(
        "<Q16shBBB3x",
        *(int(seen.occupied), pieces.to_bytes(16, "little")),
        *(score, result + 1, own, other ^ 56),
    )
