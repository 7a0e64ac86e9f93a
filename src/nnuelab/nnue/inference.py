"""Integer inference: what the engine calls for every evaluated position.

The semantics are those of :class:`nnuelab.nnue.netfile.Net`, bit for bit; ``tests/naive/nnue.py``
says the same in numpy. An accumulator is int16[width] of one perspective (0 White, 1 Black), where
``width`` is M rounded up to whole vectors; what is beyond M stays 0. It may be updated across any
number of plies: rows are added and subtracted modulo 2^16, so only the result has to fit, which
quantization guarantees.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nnuelab.chess import notation
from nnuelab.features import kernels
from nnuelab.features.tables import FEATURES
from nnuelab.jit import address, aligned, inline, jit, view
from nnuelab.nnue import simd
from nnuelab.nnue.netfile import LEVELS, Net

NET = np.dtype(
    [
        ("features", FEATURES),
        ("width", "i8"),  # M rounded up to a whole number of vectors
        ("l2_padded", "i8"),  # O likewise
        ("l1_shift", "i8"),
        ("l2_shift", "i8"),
        ("out_shift", "i8"),
        ("w1", "u8"),  # address of int16[N, width]
        ("b1", "u8"),  # int16[width]
        ("w2", "u8"),  # int8[2 * width / 4 + 1, l2_padded, 4]: by blocks of four inputs
        ("b2", "u8"),  # int32[l2_padded]
        ("w3", "u8"),  # int32[l2_padded]
        ("b3", "i8"),
        ("max_active", "i8"),
        ("active", "u8"),  # scratch: int32[max_active]
        ("accumulators", "u8"),  # scratch: int16[2, width]
        ("inputs", "u8"),  # scratch: uint8[2 * width + 4], the last block stays 0
        ("blocks", "u8"),  # scratch: uint16[2 * width / 4 + LANES / 4]
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
    memory : dict of ndarray
        What the record's addresses point to, by the names of its fields.
    """

    def __init__(self, net: Net) -> None:
        self.net = net
        feature_set = net.features
        self._tables, max_active = feature_set.tables(), feature_set.max_active
        m, o = net.l1, net.l2
        width = -(-m // simd.LANES) * simd.LANES
        outputs = -(-o // simd.OUTPUTS) * simd.OUTPUTS
        blocks = 2 * width // simd.BLOCK
        w2 = np.zeros((outputs, 2, width), np.int8)
        w2[:o, :, :m] = net.w2.reshape(o, 2, m)
        self.memory = {
            "w1": aligned((net.n_features, width), np.int16),
            "b1": aligned(width, np.int16),
            "w2": aligned((blocks + 1, outputs, simd.BLOCK), np.int8),
            "b2": aligned(outputs, np.int32),
            "w3": aligned(outputs, np.int32),
            "active": np.zeros(max_active, np.int32),
            "accumulators": aligned((2, width), np.int16),
            "inputs": aligned(2 * width + simd.BLOCK, np.uint8),
            "blocks": aligned(blocks + simd.LANES // simd.BLOCK, np.uint16),
            "sums": aligned(outputs, np.int32),
        }
        self.memory["w1"][:, :m], self.memory["b1"][:m] = net.w1, net.b1
        self.memory["w2"][:-1] = w2.reshape(outputs, -1, simd.BLOCK).transpose(1, 0, 2)
        self.memory["b2"][:o], self.memory["w3"][:o] = net.b2, net.w3
        record = np.zeros(1, NET).view(_Records)
        record.owned = self.memory, self._tables
        record["features"] = self._tables.record
        for name, value in {
            "width": width,
            "l2_padded": outputs,
            "l1_shift": net.l1_shift,
            "l2_shift": net.l2_shift,
            "out_shift": net.out_shift,
            "b3": net.b3[0],
            "max_active": max_active,
            **{name: address(array) for name, array in self.memory.items()},
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
    """target = source + rows ``added[:na]`` - rows ``removed[:nr]``; may be the same."""
    here, there, width, rows = location(source), location(target), net.width, np.int64(net.w1)
    plus, minus = location(added), location(removed)
    if na == 1 and nr == 1:
        simd.combine_1_1(here, there, width, rows, plus, na, minus, nr)
    elif na == 1 and nr == 2:
        simd.combine_1_2(here, there, width, rows, plus, na, minus, nr)
    elif na == 2 and nr == 2:
        simd.combine_2_2(here, there, width, rows, plus, na, minus, nr)
    else:
        simd.combine(here, there, width, rows, plus, na, minus, nr)


@jit
def refresh(net, position, perspective, acc):
    """acc = bias + the rows of all active features."""
    active = view(net.active, net.max_active, np.int32)
    n = kernels.active(net.features, position, perspective, active)
    listed = np.int64(net.active)
    bias, rows = np.int64(net.b1), np.int64(net.w1)
    simd.combine(bias, location(acc), net.width, rows, listed, n, listed, np.int64(0))


@jit
def forward(net, stm_acc, other_acc):
    """Centipawns for the side to move from the two accumulators."""
    inputs, listed = np.int64(net.inputs), np.int64(net.blocks)
    high = ((LEVELS + 1) << net.l1_shift) - 1
    n = np.int64(0)
    stm, other = location(stm_acc), location(other_acc)
    per_side = net.width // simd.BLOCK
    n = simd.activate(stm, inputs, net.width, high, net.l1_shift, np.int64(0), listed, n)
    inputs += net.width
    n = simd.activate(other, inputs, net.width, high, net.l1_shift, per_side, listed, n)
    inputs -= net.width
    # The list is filled up to a whole number of steps with the block after the last, all zeros.
    blocks = view(net.blocks, n + simd.UNROLLED, np.uint16)
    while n % simd.UNROLLED:
        blocks[n] = 2 * per_side
        n += 1
    width = net.l2_padded
    b2 = view(net.b2, width, np.int32)
    sums = view(net.sums, width, np.int32)
    for o in range(width):
        sums[o] = b2[o]
    stride = simd.BLOCK * width
    o = 0
    while o < width:
        place, weights = np.int64(net.sums) + 4 * o, np.int64(net.w2) + simd.BLOCK * o
        if o + 32 <= width:
            simd.accumulate32(place, weights, stride, inputs, listed, n)
            o += 32
        elif o + 16 <= width:
            simd.accumulate16(place, weights, stride, inputs, listed, n)
            o += 16
        else:
            simd.accumulate8(place, weights, stride, inputs, listed, n)
            o += 8
    w3 = view(net.w3, width, np.int32)
    value = net.b3
    for o in range(width):
        y = min(max(sums[o] >> np.int32(net.l2_shift), np.int32(0)), np.int32(LEVELS))
        value += np.int64(y) * np.int64(w3[o])
    return value >> net.out_shift


@jit
def evaluate(net, position):
    """Centipawns for the side to move, from scratch."""
    accumulators = view(net.accumulators, (2, net.width), np.int16)
    turn = np.int64(position.turn)
    refresh(net, position, turn, accumulators[0])
    refresh(net, position, turn ^ 1, accumulators[1])
    return forward(net, accumulators[0], accumulators[1])
