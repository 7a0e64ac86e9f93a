"""Slow, obvious twins: the walk of Neural Chess, policies in numpy, the frames of a GIF."""

from __future__ import annotations

from collections.abc import Callable

import chess
import numpy as np

from nnuelab.data.records import to_fen
from nnuelab.features.tables import compiled
from nnuelab.learning.loader import extract
from nnuelab.policy.policyfile import SQUARES, Policy

Walked = tuple[chess.Move | None, int, int, int, int]
"""Move, from-rank, to-rank, tries, canMove checks."""


def _squares_of(board: chess.Board, square: int) -> int:
    """A square of the board, from one as the player to move sees it."""
    return square if board.turn else square ^ 56


def _asked(board: chess.Board, start: int, square: int) -> tuple[bool, chess.Move | None]:
    """Whether canMove is asked of a pair, and the legal move that it is."""
    start, square = _squares_of(board, start), _squares_of(board, square)
    own = [board.color_at(s) == board.turn for s in (start, square)]
    if not own[0] or own[1]:
        return False, None
    for promotion in (None, chess.QUEEN):
        move = chess.Move(start, square, promotion)
        if board.is_legal(move):
            return True, move
    return True, None


def _order(values: np.ndarray) -> list[int]:
    """Descending, equal ones by their places."""
    return sorted(range(len(values)), key=lambda i: (-float(values[i]), i))


def walk(board: chess.Board, values: np.ndarray) -> Walked:
    """Each square to go from with each square to go to, both from the highest on."""
    tries = checks = 0
    for from_rank, start in enumerate(_order(values[:SQUARES]), 1):
        for to_rank, square in enumerate(_order(values[SQUARES:]), 1):
            tries += 1
            asked, move = _asked(board, start, square)
            checks += asked
            if move is not None:
                return move, from_rank, to_rank, tries, checks
    return None, 0, 0, tries, checks


def walk_pairs(board: chess.Board, values: np.ndarray) -> Walked:
    """Each pair, from the highest on."""
    checks = 0
    for tries, pair in enumerate(_order(values), 1):
        asked, move = _asked(board, *divmod(pair, SQUARES))
        checks += asked
        if move is not None:
            return move, 1, tries, tries, checks
    return None, 0, 0, len(values), checks


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def outputs(policy: Policy, active: list[int]) -> tuple[np.ndarray, float]:
    """All outputs and the value of active features, in double precision."""
    layer = np.zeros(policy.n_features)
    layer[active] = 1
    apply: Callable[[np.ndarray], np.ndarray] = {
        "relu": lambda x: np.maximum(x, 0),
        "sigmoid": sigmoid,
    }[policy.activation]
    for weights, biases in zip(policy.weights, policy.biases, strict=True):
        layer = apply(layer @ weights.astype(float) + biases)
    value = 0.0
    if policy.value_weights is not None and policy.value_bias is not None:
        value = float(np.tanh(layer @ policy.value_weights.astype(float) + policy.value_bias[0]))
    return layer @ policy.output.astype(float) + policy.output_bias, value


def logit(policy: Policy, out: np.ndarray, start: int, square: int) -> float:
    """Of a pair of squares as the player to move sees them."""
    if policy.head == "pair":
        return float(out[SQUARES * start + square])
    total = float(out[start] + out[SQUARES + square])
    if policy.head == "product":
        u, v = out[2 * SQUARES :].reshape(2, SQUARES, policy.rank)
        total += float(u[start] @ v[square])
    return total


def pairs(policy: Policy, out: np.ndarray) -> np.ndarray:
    """The logits of all pairs of squares, float [4096]."""
    found = [logit(policy, out, start, square) for start in range(64) for square in range(64)]
    return np.array(found)


def outputs_of(policy: Policy, record: np.void) -> tuple[np.ndarray, float]:
    """All outputs and the value of a RECORD."""
    feature_set = policy.features
    batch = extract(compiled(feature_set), np.array([record]), feature_set.max_active)
    return outputs(policy, batch.rows[0, 0, : batch.n[0, 0]].tolist())


def walked(policy: Policy, record: np.void, out: np.ndarray) -> tuple[int, int, int, int]:
    """First pair, pair that is played or -1, pairs looked at, canMove checks."""
    board = chess.Board(to_fen(record))
    if policy.head == "fromto":
        move, _, _, tries, checks = walk(board, out)
        first = SQUARES * _order(out[:SQUARES])[0] + _order(out[SQUARES:])[0]
    else:
        values = pairs(policy, out)
        move, _, _, tries, checks = walk_pairs(board, values)
        first = _order(values)[0]
    if move is None:
        return first, -1, tries, checks
    start, square = (_squares_of(board, s) for s in (move.from_square, move.to_square))
    return first, SQUARES * start + square, tries, checks


def gif_frames(content: bytes) -> tuple[tuple[int, int], list[tuple[int, np.ndarray]]]:
    """Size of a GIF, and each frame's delay in ms and its whole picture of palette indices."""
    assert content[:6] == b"GIF89a"
    width, height = (int.from_bytes(content[i : i + 2], "little") for i in (6, 8))
    flags, place = content[10], 13
    place += 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0
    picture = np.zeros((height, width), np.uint8)
    frames: list[tuple[int, np.ndarray]] = []
    delay, transparent = 0, -1

    def blocks(place: int) -> tuple[bytes, int]:
        data = b""
        while content[place]:
            data += content[place + 1 : place + 1 + content[place]]
            place += content[place] + 1
        return data, place + 1

    while content[place] != 0x3B:
        kind, place = content[place], place + 1
        if kind == 0x21:
            label = content[place]
            data, place = blocks(place + 1)
            if label == 0xF9:
                delay = 10 * int.from_bytes(data[1:3], "little")
                transparent = data[3] if data[0] & 1 else -1
            continue
        assert kind == 0x2C
        x, y, w, h = (
            int.from_bytes(content[place + i : place + i + 2], "little") for i in range(0, 8, 2)
        )
        assert content[place + 8] == 0  # no palette of its own, not interlaced
        bits = content[place + 9]
        data, place = blocks(place + 10)
        pixels = np.frombuffer(_lzw(data, bits)[: w * h], np.uint8).reshape(h, w)
        picture = picture.copy()
        seen = pixels != transparent
        picture[y : y + h, x : x + w][seen] = pixels[seen]
        frames.append((delay, picture))
    return (width, height), frames


def _lzw(data: bytes, bits: int) -> bytes:
    clear, stop = 1 << bits, (1 << bits) + 1
    stream, n, out = int.from_bytes(data, "little"), 8 * len(data), bytearray()
    size, place, table = bits + 1, 0, [bytes([i]) for i in range(clear)] + [b"", b""]
    before = b""
    while place + size <= n:
        code = (stream >> place) & (1 << size) - 1
        place += size
        if code == stop:
            break
        if code == clear:
            size, table, before = bits + 1, table[: clear + 2], b""
            continue
        word = table[code] if code < len(table) else before + before[:1]
        if before and len(table) < 4096:
            table.append(before + word[:1])
        out += word
        before = word
        if len(table) == 1 << size and size < 12:
            size += 1
    return bytes(out)
