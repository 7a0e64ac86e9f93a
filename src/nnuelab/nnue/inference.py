"""Integer inference: what the engine calls for every evaluated position.

The semantics are those of :class:`nnuelab.nnue.netfile.Net`, bit for bit; ``tests/naive/nnue.py``
says the same in numpy. An accumulator is int16[M] of one perspective (0 White, 1 Black). It may be
updated across any number of plies: rows are added and subtracted modulo 2^16, so only the result
has to fit, which quantization guarantees.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nnuelab import features
from nnuelab.chess import notation
from nnuelab.features import kernels
from nnuelab.features.tables import FEATURES
from nnuelab.jit import address, inline, jit, lsb, view
from nnuelab.nnue import simd
from nnuelab.nnue.netfile import LEVELS, Net

NET = np.dtype(
    [
        ("features", FEATURES),
        ("l1", "i8"),  # M
        ("l2", "i8"),  # O
        ("l1_padded", "i8"),  # M rounded up to a whole number of vectors
        ("l2_padded", "i8"),  # O likewise
        ("l1_shift", "i8"),
        ("l2_shift", "i8"),
        ("out_shift", "i8"),
        ("w1", "u8"),  # address of int16[N, M]
        ("b1", "u8"),  # int16[M]
        ("w2", "u8"),  # int8[2 * l1_padded / 4, l2_padded, 4]: by blocks of four inputs
        ("b2", "u8"),  # int32[l2_padded]
        ("w3", "u8"),  # int32[l2_padded]
        ("b3", "i8"),
        ("max_active", "i8"),
        ("active", "u8"),  # scratch: int32[max_active]
        ("accumulators", "u8"),  # scratch: int16[2, M]
        ("inputs", "u8"),  # scratch: uint8[2 * l1_padded], what pads a perspective stays 0
        ("blocks", "u8"),  # scratch: int32[2 * l1_padded / 4]
        ("sums", "u8"),  # scratch: int32[l2_padded]
    ],
    align=True,
)
"""A net for jitted code. The scratch makes it usable by one thread at a time."""


class _Records(np.ndarray):
    """Records that keep alive what their addresses point to; so does a record taken out of it."""

    owned: object


class Evaluator:
    """Owns the memory of a net and hands it to jitted code as :attr:`record`.

    Parameters
    ----------
    net : Net

    Attributes
    ----------
    record : np.void of dtype NET
        Keeps the memory alive by itself; used by one thread at a time.
    """

    def __init__(self, net: Net) -> None:
        self.net = net
        feature_set = features.parse(net.feature_set)
        self._tables, max_active = feature_set.tables(), feature_set.max_active
        m, o = net.l1, net.l2
        inputs = -(-m // simd.LANES) * simd.LANES
        outputs = -(-o // simd.OUTPUTS) * simd.OUTPUTS
        w2 = np.zeros((outputs, 2, inputs), np.int8)
        w2[:o, :, :m] = net.w2.reshape(o, 2, m)
        blocks = w2.reshape(outputs, -1, simd.BLOCK).transpose(1, 0, 2)
        b2, w3 = np.zeros((2, outputs), np.int32)
        b2[:o], w3[:o] = net.b2, net.w3
        self._memory = {
            "w1": net.w1,
            "b1": net.b1,
            "w2": np.ascontiguousarray(blocks),
            "b2": b2,
            "w3": w3,
            "active": np.zeros(max_active, np.int32),
            "accumulators": np.zeros((2, m), np.int16),
            "inputs": np.zeros(2 * inputs, np.uint8),
            "blocks": np.zeros(2 * inputs // simd.BLOCK, np.int32),
            "sums": np.zeros(outputs, np.int32),
        }
        record = np.zeros(1, NET).view(_Records)
        record.owned = self._memory, self._tables
        record["features"] = self._tables.record
        for name, value in {
            "l1": m,
            "l2": o,
            "l1_padded": inputs,
            "l2_padded": outputs,
            "l1_shift": net.l1_shift,
            "l2_shift": net.l2_shift,
            "out_shift": net.out_shift,
            "b3": net.b3[0],
            "max_active": max_active,
            **{name: address(array) for name, array in self._memory.items()},
        }.items():
            record[name] = value
        self._records = record

    @property
    def record(self) -> np.void:
        """The net as one pointer."""
        return self._records[0]

    def evaluate_fens(self, fens: Iterable[str]) -> list[int]:
        """Centipawns for the side to move of each FEN, from scratch.

        Raises
        ------
        nnuelab.chess.notation.FenError
            When a FEN is not a legal position.
        """
        return [int(evaluate(self.record, notation.from_fen(fen))) for fen in fens]


@inline
def location(array):
    """The address of an array's first element as int64, for :mod:`simd`."""
    return np.int64(array.ctypes.data)


@inline
def update(net, source, target, added, na, removed, nr):
    """target = source + rows ``added[:na]`` - rows ``removed[:nr]``; int16[M], may be the same."""
    m = net.l1
    w1 = view(net.w1, (np.int64(1) << 40, m), np.int16)
    done = 0
    if na > 0 and nr > 0:
        # The usual move in one pass over the accumulator: a piece goes from here to there.
        _replace(source, target, w1[added[0]], w1[removed[0]], m)
        done = 1
    elif na == 0 and nr == 0:
        for i in range(m):
            target[i] = source[i]
        return
    elif na > 0:
        _add(source, target, w1[added[0]], m)
    else:
        _subtract(source, target, w1[removed[0]], m)
        done = 1
    for k in range(min(na, 1), na):
        _add(target, target, w1[added[k]], m)
    for k in range(min(done, nr), nr):
        _subtract(target, target, w1[removed[k]], m)


@jit
def _replace(source, target, plus, minus, m):
    for i in range(m):
        target[i] = np.int16(source[i] + plus[i] - minus[i])


@jit
def _add(source, target, row, m):
    for i in range(m):
        target[i] = np.int16(source[i] + row[i])


@jit
def _subtract(source, target, row, m):
    for i in range(m):
        target[i] = np.int16(source[i] - row[i])


@jit
def _add4(target, a, b, c, d, m):
    for i in range(m):
        target[i] = np.int16(target[i] + a[i] + b[i] + c[i] + d[i])


@jit
def refresh(net, position, perspective, acc):
    """acc (int16[M]) = bias + the rows of all active features."""
    m = net.l1
    active = view(net.active, net.max_active, np.int32)
    n = kernels.active(net.features, position, perspective, active)
    w1 = view(net.w1, (np.int64(1) << 40, m), np.int16)
    b1 = view(net.b1, m, np.int16)
    for i in range(m):
        acc[i] = b1[i]
    k = 0
    while k + 4 <= n:
        _add4(acc, w1[active[k]], w1[active[k + 1]], w1[active[k + 2]], w1[active[k + 3]], m)
        k += 4
    while k < n:
        _add(acc, acc, w1[active[k]], m)
        k += 1


@inline
def _activate(net, acc, first, blocks, n):
    """Writes clamp(acc >> l1_shift, 0, 127) to the inputs from ``first``; lists nonzero blocks."""
    m = net.l1
    high = ((LEVELS + 1) << net.l1_shift) - 1
    bulk = m - m % simd.LANES
    source, target = location(acc), np.int64(net.inputs) + first
    i = 0
    while i < bulk:
        start, bits, shift = i, np.uint64(0), np.uint64(0)
        while i < bulk and shift < np.uint64(64):
            found = simd.activate(source + 2 * i, target + i, high, net.l1_shift)
            bits |= found << shift
            shift += np.uint64(simd.LANES // simd.BLOCK)
            i += simd.LANES
        while bits:
            blocks[n] = (first + start) // simd.BLOCK + lsb(bits)
            bits &= bits - np.uint64(1)
            n += 1
    x = view(net.inputs, 2 * net.l1_padded, np.uint8)
    for k in range(bulk, m):
        x[first + k] = min(max(np.int64(acc[k]), 0), high) >> net.l1_shift
        if k % simd.BLOCK == 0:
            blocks[n] = (first + k) // simd.BLOCK
            n += 1
    return n


@jit
def forward(net, stm_acc, other_acc):
    """Centipawns for the side to move from the two accumulators (int16[M], C-contiguous each)."""
    blocks = view(net.blocks, 2 * net.l1_padded // simd.BLOCK, np.int32)
    n = _activate(net, stm_acc, 0, blocks, 0)
    n = _activate(net, other_acc, net.l1_padded, blocks, n)
    width = net.l2_padded
    b2 = view(net.b2, width, np.int32)
    sums = view(net.sums, width, np.int32)
    for o in range(width):
        sums[o] = b2[o]
    stride, inputs, listed = simd.BLOCK * width, np.int64(net.inputs), np.int64(net.blocks)
    o = 0
    while o < width:
        place, weights = np.int64(net.sums) + 4 * o, np.int64(net.w2) + simd.BLOCK * o
        if o + 32 <= width:
            simd.accumulate32(place, weights, stride, inputs, listed, n)
            o += 32
        else:
            simd.accumulate8(place, weights, stride, inputs, listed, n)
            o += 8
    w3 = view(net.w3, width, np.int32)
    value = net.b3
    for o in range(net.l2):
        value += min(max(np.int64(sums[o]) >> net.l2_shift, 0), LEVELS) * np.int64(w3[o])
    return value >> net.out_shift


@jit
def evaluate(net, position):
    """Centipawns for the side to move, from scratch."""
    m = net.l1
    accumulators = view(net.accumulators, (2, m), np.int16)
    turn = np.int64(position.turn)
    refresh(net, position, turn, accumulators[0])
    refresh(net, position, turn ^ 1, accumulators[1])
    return forward(net, accumulators[0], accumulators[1])
