"""Integer inference: what the engine calls for every evaluated position.

The semantics are those of :class:`nnuelab.nnue.netfile.Net`, bit for bit; ``tests/naive/nnue.py``
says the same in numpy. An accumulator is int16[width] of one perspective (0 White, 1 Black), where
``width`` is M rounded up to whole vectors, or each half of M where these are multiplied; what is
beyond stays 0 (see `padded`). It may be updated across any number of plies: rows are added and
subtracted modulo 2^16, so only the result has to fit, which quantization guarantees. The sum of a
psqt follows behind it, int64, where a net has one: together that is int16[stride].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype, types

from nnuelab.chess import notation
from nnuelab.chess.position import POSITION
from nnuelab.data.records import unpack
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.records import FEATURES
from nnuelab.features.tables import compiled
from nnuelab.jit import address, aligned, at, call, entry, inline, jit, owning, popcount, view
from nnuelab.nnue import simd
from nnuelab.nnue.layers import LEVELS, PRODUCT_SHIFT, Direct, Layers
from nnuelab.nnue.netfile import Net

NET = np.dtype(
    [
        ("features", FEATURES),
        ("width", "i8"),  # M, or each half of M, rounded up to a whole number of vectors
        ("stride", "i8"),  # width, and what is behind it
        ("inputs_width", "i8"),  # of each perspective: width, or half of it
        ("l2_padded", "i8"),  # O likewise
        ("l3_padded", "i8"),  # and P, 0 without a further hidden layer
        ("buckets", "i8"),
        ("l1_shift", "i8"),
        ("l2_shift", "i8"),
        ("l3_shift", "i8"),
        ("out_shift", "i8"),
        ("forward", "u8"),  # function: compiled_forward
        ("w1", "u8"),  # address of integers[N + 1, width], the last row 0
        ("row_size", "i8"),  # bytes of one of them: 1 or 2
        ("b1", "u8"),  # int16[stride]
        ("psqt", "u8"),  # int32[N, psqt_buckets], or 0
        ("psqt_buckets", "i8"),
        ("w2", "u8"),  # int8[buckets, 2 * inputs_width / 4 + 1, l2_padded, 4]: blocks of 4 inputs
        ("b2", "u8"),  # int32[buckets, l2_padded]
        ("wh", "u8"),  # int8[buckets, hidden / 4, l3_padded, 4]
        ("bh", "u8"),  # int32[buckets, l3_padded]
        ("w3", "u8"),  # int32[buckets, outputs, l3_padded, or l2_padded], or [2, width]
        ("b3", "u8"),  # int64[buckets]
        ("max_active", "i8"),
        ("active", "u8"),  # scratch: int32[max_active]
        ("accumulators", "u8"),  # scratch: int16[2, stride]
        ("inputs", "u8"),  # scratch: uint8[2 * inputs_width + 4], the last block stays 0
        ("blocks", "u8"),  # scratch: uint16[2 * inputs_width / 4 + LANES / 4]
        ("sums", "u8"),  # scratch: int32[l2_padded]
        ("hidden_blocks", "u8"),  # uint16[hidden / 4]: all blocks of the further hidden layer
        ("hidden_inputs", "u8"),  # scratch: uint8[hidden], what is beyond O stays 0
        ("hidden_sums", "u8"),  # scratch: int32[l3_padded]
    ],
    align=True,
)
"""A net for jitted code. The scratch makes it usable by one thread at a time."""


class Inference:
    """Owns the memory of a net and hands it to jitted code as ``record``.

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
        self.tables, max_active = compiled(feature_set), feature_set.max_active
        k, o, p, layers = net.buckets, net.l2, net.l3, net.layers
        inputs = _padded(layers.inputs, simd.LANES)
        width = inputs * net.l1 // layers.inputs
        stride = width + (simd.LANES if layers.psqt else 0)
        outputs, last = _padded(o or 1, simd.OUTPUTS), _padded(p or o or 1, simd.OUTPUTS)
        if net.direct is not None:
            last = 2 * inputs
        both = layers.outputs
        hidden = _padded(both * outputs, simd.BLOCK * simd.UNROLLED) if p else 0
        blocks = 2 * inputs // simd.BLOCK
        w2 = np.zeros((k, outputs, 2, inputs), np.int8)
        w2[:, :o, :, : layers.inputs] = net.w2.reshape(k, o, 2, layers.inputs)
        self.memory = {
            "w1": aligned((net.n_features + 1, width), net.w1.dtype),
            "b1": aligned(stride, np.int16),
            "w2": aligned((k, blocks + 1, outputs, simd.BLOCK), np.int8),
            "b2": aligned((k, outputs), np.int32),
            "wh": aligned((k, hidden // simd.BLOCK, last, simd.BLOCK), np.int8),
            "bh": aligned((k, last), np.int32),
            "w3": aligned((k, both, last), np.int32),
            "b3": net.b3.astype(np.int64),
            "active": np.zeros(max_active, np.int32),
            "accumulators": aligned((2, stride), np.int16),
            "inputs": aligned(2 * inputs + simd.BLOCK, np.uint8),
            "blocks": aligned(blocks + simd.LANES // simd.BLOCK, np.uint16),
            "sums": aligned(outputs, np.int32),
            "hidden_blocks": np.arange(hidden // simd.BLOCK, dtype=np.uint16),
            "hidden_inputs": aligned(hidden, np.uint8),
            "hidden_sums": aligned(last, np.int32),
        }
        self.memory["w1"][:-1], self.memory["b1"][:width] = padded(net, net.w1), padded(net, net.b1)
        if net.psqt is not None:
            self.memory["psqt"] = net.psqt
        self.memory["w2"][:, :-1] = _by_blocks(w2.reshape(k, outputs, -1))
        self.memory["b2"][:, :o] = net.b2.reshape(k, o)
        if net.direct is not None:
            self.memory["w3"][:] = padded(net, net.w3.reshape(2, -1)).reshape(-1)
        else:
            self.memory["w3"][:, :, : p or o] = net.w3.reshape(k, both, -1)
        if net.wh is not None and net.bh is not None:
            wh = np.zeros((k, last, hidden), np.int8)
            by_output = wh[:, :, : both * outputs].reshape(k, last, both, outputs)
            by_output[:, :p, :, :o] = net.wh.reshape(k, p, both, o)
            self.memory["wh"][:] = _by_blocks(wh)
            self.memory["bh"][:, :p] = net.bh.reshape(k, p)
        record = owning(NET, self.memory, self.tables)
        record["features"] = self.tables.record
        for name, value in {
            "width": width,
            "row_size": net.w1.itemsize,
            "stride": stride,
            "inputs_width": inputs,
            "l2_padded": outputs,
            "l3_padded": last if p else 0,
            "buckets": k,
            "psqt_buckets": net.psqt_buckets,
            "l1_shift": net.l1_shift,
            "l2_shift": net.l2_shift,
            "l3_shift": net.l3_shift,
            "out_shift": net.out_shift,
            "forward": compiled_forward(net),
            "max_active": max_active,
            **{name: address(array) for name, array in self.memory.items()},
        }.items():
            record[name] = value
        self.record = record[0]

    def evaluate_fens(self, fens: Iterable[str]) -> list[int]:
        """Centipawns for the side to move of each FEN, from scratch.

        Raises
        ------
        nnuelab.chess.notation.FenError
            When a FEN is not a legal position.
        """
        found = [int(evaluate(self.record, notation.from_fen(fen))) for fen in fens]
        self.check()
        return found

    def check(self) -> None:
        """Raises UserError when a block of a user's has broken its bounds since the last time."""
        self.tables.check()


def _padded(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def padded(net: Net, neurons: np.ndarray) -> np.ndarray:
    """Values [..., M] of neurons in the order of an accumulator, [..., width]."""
    inputs = net.layers.inputs
    parts = neurons.reshape(*neurons.shape[:-1], -1, inputs)
    beyond = _padded(inputs, simd.LANES) - inputs
    wide = np.pad(parts, [(0, 0)] * (parts.ndim - 1) + [(0, beyond)])
    return wide.reshape(*neurons.shape[:-1], -1)


def _by_blocks(weights: np.ndarray) -> np.ndarray:
    """Weights [buckets, outputs, inputs] as [buckets, inputs / BLOCK, outputs, BLOCK]."""
    k, outputs, _ = weights.shape
    return weights.reshape(k, outputs, -1, simd.BLOCK).transpose(0, 2, 1, 3)


@inline
def location(array):
    """The address of an array's first element as int64, for :mod:`simd`."""
    return np.int64(array.ctypes.data)


@inline
def psqt_of(net, accumulator):
    """int64[psqt_buckets]: sums of the psqt, behind the accumulator at that address."""
    return view(accumulator + 2 * net.width, net.psqt_buckets, np.int64)


@inline
def _add_psqt(net, source, target, added, na, removed, nr):
    values = view(net.psqt, (net.features.size, net.psqt_buckets), np.int32)
    for k in range(net.psqt_buckets):
        bucket = at(k)
        total = psqt_of(net, source)[bucket]
        for i in range(na):
            total += np.int64(values[at(added[at(i)]), bucket])
        for i in range(nr):
            total -= np.int64(values[at(removed[at(i)]), bucket])
        psqt_of(net, target)[bucket] = total


@inline
def update(net, source, target, added, na, removed, nr):
    """target = source + rows ``added[:na]`` - rows ``removed[:nr]``; may be the same."""
    here, there, width, rows = location(source), location(target), net.width, np.int64(net.w1)
    if net.psqt:
        _add_psqt(net, here, there, added, na, removed, nr)
    plus, minus = location(added), location(removed)
    if na == 1 and nr == 1:
        simd.combine_1_1(here, there, width, rows, net.row_size, plus, na, minus, nr)
    elif na == 1 and nr == 2:
        simd.combine_1_2(here, there, width, rows, net.row_size, plus, na, minus, nr)
    elif na == 2 and nr == 2:
        simd.combine_2_2(here, there, width, rows, net.row_size, plus, na, minus, nr)
    else:
        simd.combine(here, there, width, rows, net.row_size, plus, na, minus, nr)


@inline
def update_both(net, sums, added, na, removed, nr):
    """sums += rows ``added[:, :na]`` - rows ``removed[:, :nr]``, by perspective.

    The lists have room for as many as the other has.
    """
    if net.psqt:
        for p in range(2):
            place = location(sums[at(p)])
            _add_psqt(net, place, place, added[at(p)], na, removed[at(p)], nr)
    n, none = max(na, nr), np.int32(net.features.size)
    for p in range(2):
        for i in range(na, n):
            added[at(p), at(i)] = none
        for i in range(nr, n):
            removed[at(p), at(i)] = none
    plus, minus, between = location(added), location(removed), 4 * np.int64(added.shape[1])
    apart, rows = 2 * net.stride, np.int64(net.w1)
    simd.combine_pair(location(sums), apart, net.width, rows, net.row_size, plus, minus, between, n)


@inline
def update_by(net, source, change, target, added, na, removed, nr):
    """The same and a kept ``change``, as long as an accumulator."""
    here, kept, there = location(source), location(change), location(target)
    width, rows = net.width, np.int64(net.w1)
    if net.psqt:
        _add_psqt(net, here, there, added, na, removed, nr)
        for k in range(net.psqt_buckets):
            psqt_of(net, there)[at(k)] += psqt_of(net, kept)[at(k)]
    plus, minus = location(added), location(removed)
    if na == 0 and nr == 0:
        simd.combine_kept_0_0(here, kept, there, width, rows, net.row_size, plus, na, minus, nr)
    else:
        simd.combine_kept(here, kept, there, width, rows, net.row_size, plus, na, minus, nr)


@jit
def refresh(net, position, perspective, acc):
    """acc = bias + the rows of all active features."""
    active = view(net.active, net.max_active, np.int32)
    n = kernels.active(net.features, position, perspective, active)
    listed = np.int64(net.active)
    bias, rows = np.int64(net.b1), np.int64(net.w1)
    simd.combine(bias, location(acc), net.width, rows, net.row_size, listed, n, listed, np.int64(0))
    if net.psqt:
        _add_psqt(net, bias, location(acc), active, n, active, np.int64(0))


@inline
def _dense(sums, biases, weights, width, inputs, listed, n):
    """sums[:width] = biases + weights of the listed blocks times the inputs, all by address."""
    total, start = view(sums, width, np.int32), view(biases, width, np.int32)
    for o in range(width):
        total[o] = start[o]
    stride = simd.BLOCK * width
    o = 0
    while o < width:
        place, part = sums + 4 * o, weights + simd.BLOCK * o
        if o + 32 <= width:
            simd.accumulate32(place, part, stride, inputs, listed, n)
            o += 32
        elif o + 16 <= width:
            simd.accumulate16(place, part, stride, inputs, listed, n)
            o += 16
        else:
            simd.accumulate8(place, part, stride, inputs, listed, n)
            o += 8


@inline
def _activated(total, shift, squared):
    if not squared:
        return min(max(total >> np.int32(shift), np.int32(0)), np.int32(LEVELS))
    shift = np.int32(shift)
    value = min(max(total, np.int32(0)), np.int32(np.int32(LEVELS) << shift))
    half = np.int32(np.int32(1) << np.int32(np.int32(PRODUCT_SHIFT - 1) + np.int32(2) * shift))
    places = np.int32(np.int32(PRODUCT_SHIFT) + np.int32(2) * shift)
    return np.int32(np.int32(np.int32(value * value) + half) >> places)


@inline
def _rounded(total, shift):
    """Clipped, rounded to nearest: the other half of a dual activation."""
    half = np.int32(np.int32(np.int32(1) << np.int32(shift)) >> np.int32(1))
    return _activated(np.int32(total + half), shift, False)


@cache
def _forward_of(kind: Layers) -> Callable[..., Any]:
    """The forward pass of such nets, to be compiled: what a net hasn't costs it nothing.

    Of ``kind`` sizes and the number of buckets don't count but for being 1 or more.
    """
    pairwise, multiplied, psqt = kind.pairwise, kind.first != "clipped", kind.psqt
    dual, squared = kind.activation == "dual", kind.activation != "clipped"
    outputs, bucketed, deep = kind.outputs, kind.buckets > 1, kind.l3 > 0

    def forward(net, position, stm, other):  # type: ignore[no-untyped-def]
        bucket = np.int64(0)
        if bucketed:
            pieces = popcount(position.colors[0] | position.colors[1])
            bucket = (pieces - 1) * net.buckets >> 5  # of 32
        inputs, listed = np.int64(net.inputs), np.int64(net.blocks)
        n = np.int64(0)
        width = net.inputs_width
        per_side = width // simd.BLOCK
        if multiplied:
            high, shift = np.int64(LEVELS) << net.l1_shift, 8 - 2 * net.l1_shift
            apart = 2 * width if pairwise else np.int64(0)  # bytes
            n = simd.multiply(stm, apart, inputs, width, high, shift, 0, listed, n)
            there = inputs + width
            n = simd.multiply(other, apart, there, width, high, shift, per_side, listed, n)
        else:
            high, shift = ((LEVELS + 1) << net.l1_shift) - 1, net.l1_shift
            n = simd.activate(stm, 0, inputs, width, high, shift, 0, listed, n)
            n = simd.activate(other, 0, inputs + width, width, high, shift, per_side, listed, n)
        # The list is filled up to a whole number of steps with the block after the last, all zeros.
        blocks = view(net.blocks, n + simd.UNROLLED, np.uint16)
        while n % simd.UNROLLED:
            blocks[n] = 2 * per_side
            n += 1
        width, shift, sums = net.l2_padded, net.l2_shift, np.int64(net.sums)
        weights = np.int64(net.w2) + bucket * (2 * per_side + 1) * simd.BLOCK * width
        biases = np.int64(net.b2) + bucket * 4 * width
        _dense(sums, biases, weights, width, inputs, listed, n)
        if deep:
            total = view(net.sums, width, np.int32)
            hidden = view(net.hidden_inputs, outputs * width, np.uint8)
            for o in range(width):
                hidden[o] = np.uint8(_activated(total[o], shift, squared))
                if dual:
                    hidden[width + o] = np.uint8(_rounded(total[o], shift))
            n = -(-outputs * width // (simd.BLOCK * simd.UNROLLED)) * simd.UNROLLED
            width, shift, sums = net.l3_padded, net.l3_shift, np.int64(net.hidden_sums)
            weights = np.int64(net.wh) + bucket * n * simd.BLOCK * width
            biases = np.int64(net.bh) + bucket * 4 * width
            inputs, listed = np.int64(net.hidden_inputs), np.int64(net.hidden_blocks)
            _dense(sums, biases, weights, width, inputs, listed, n)
        total = view(sums, width, np.int32)
        w3 = view(net.w3 + bucket * 4 * outputs * width, outputs * width, np.int32)
        value = view(net.b3, net.buckets, np.int64)[at(bucket)]
        if psqt:
            chosen = at(bucket if net.psqt_buckets > 1 else np.int64(0))
            value += psqt_of(net, stm)[chosen] - psqt_of(net, other)[chosen]
        for o in range(width):
            value += np.int64(_activated(total[o], shift, squared)) * np.int64(w3[o])
            if dual:
                value += np.int64(_rounded(total[o], shift)) * np.int64(w3[width + o])
        return value >> net.out_shift

    return forward


@inline
def _quotient(value, divisor):
    """Rounded towards 0."""
    return value // divisor if value >= 0 else -(-value // divisor)


@cache
def _direct_of(direct: Direct, squared: bool, narrow: bool) -> Callable[..., Any]:
    """The forward pass of nets without a second layer, to be compiled.

    ``narrow`` where no sum leaves int32, so that more of them fit in a vector.
    """
    one, centipawns = direct.one, direct.centipawns
    integer = np.int32 if narrow else np.int64
    unit = direct.one * direct.weight

    def forward(net, position, stm, other):  # type: ignore[no-untyped-def]
        total, width = integer(0), net.width
        for side in range(2):
            acc = view(other if side else stm, width, np.int16)
            weights = view(net.w3 + 4 * side * width, width, np.int32)
            for i in range(width):
                x = np.int32(min(max(acc[i], np.int16(0)), np.int16(one)))
                # Within int32: 255 * 255 * 32768 is less than 2^31.
                product = np.int32(x * weights[i])
                if squared:
                    product = np.int32(product * x)
                total = integer(total + integer(product))
        value = np.int64(total)
        if squared:
            value = _quotient(value, one)
        return _quotient((value + view(net.b3, 1, np.int64)[0]) * centipawns, unit)

    return forward


def compiled_forward(net: Net) -> int:
    """The address of the forward pass of such nets; each kind is compiled when a net needs it."""
    arguments = from_dtype(NET), from_dtype(POSITION), types.int64, types.int64
    layers, direct = net.layers, net.direct
    if direct is not None:
        narrow = direct.fits_int32(net.w3, layers.activation)
        return entry(_direct_of(direct, layers.activation == "squared", narrow), *arguments)
    kind = replace(
        layers, n_features=1, l1=2, l2=1, l3=min(layers.l3, 1), buckets=min(layers.buckets, 2)
    )
    return entry(_forward_of(kind), *arguments)


@inline
def forward(net, position, stm_acc, other_acc):
    """Centipawns for the side to move of a position from its two accumulators."""
    return call(net.forward, net, position, location(stm_acc), location(other_acc))


@jit
def evaluate(net, position):
    """Centipawns for the side to move, from scratch."""
    accumulators = view(net.accumulators, (2, net.stride), np.int16)
    turn = np.int64(position.turn)
    refresh(net, position, turn, accumulators[0])
    refresh(net, position, turn ^ 1, accumulators[1])
    return forward(net, position, accumulators[0], accumulators[1])


@jit
def _evaluate_all(net, chosen, values):
    stack = np.zeros(1, POSITION)
    for i in range(len(chosen)):
        unpack(chosen[i], stack[0])
        values[i] = evaluate(net, stack[0])


def integer_outputs(net: Net, chosen: np.ndarray) -> np.ndarray:
    """Centipawns for the side to move of RECORD [n], int64 [n]."""
    evaluator = Inference(net)
    values = np.empty(len(chosen), np.int64)
    _evaluate_all(evaluator.record, chosen, values)
    evaluator.check()
    return values
