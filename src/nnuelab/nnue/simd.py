"""Vector code that LLVM doesn't find in a plain loop, as portable LLVM vectors.

LLVM splits a vector to the registers that the CPU has. Only the dot product of bytes and the
gathering of what isn't zero name a CPU's instructions, those of the path that :data:`build.SIMD`
says; every path gives the same bits. The functions take addresses (int64), not arrays: loops of few
vectors would spend their time on the checks that two arrays don't overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnuelab.build import SIMD, VBMI2
from nnuelab.jit import symbol, table
from nnuelab.vectors import (
    I8,
    I16,
    I32,
    I64,
    clamped,
    compressed,
    declared,
    element,
    joined,
    load,
    shuffled,
    splat,
    store,
)

LANES = 64  # accumulators are a multiple of it; what a pass over one takes at once
BLOCK = 4  # inputs that the byte dot product takes together
OUTPUTS = 8  # neurons that it gives at once
UNROLLED = 4  # listed blocks that it takes together

# int16 values that stay in registers while rows are added: half of the registers there are
_RESIDENT = 256 if SIMD == "avx512" else 128


@contextmanager
def _loop(builder: Any, count: Any, step: int) -> Iterator[Any]:
    """A loop ``count`` times; gives 0, ``step``, 2 ``step``... as int64."""
    with cgutils.for_range(builder, count) as loop:
        yield builder.mul(loop.index, I64(step))


# Accumulators ------------------------------------------------------------------------------------


def _row(builder: Any, kind: Any, lanes: int, rows: Any, place: Any) -> Any:
    """int16 values of a row from the one with number ``place`` of all rows; ``kind`` is stored."""
    vector, size = ir.VectorType(kind, lanes), kind.width // 8
    found = load(builder, builder.add(rows, builder.mul(place, I64(size))), vector, size)
    return found if kind == I16 else builder.sext(found, ir.VectorType(I16, lanes))


def _passes(builder: Any, pass_over: Any, width: Any, size: Any, lanes: int) -> None:
    """All of a row's values, in passes of many and then of few, for rows of both sizes."""
    whole = builder.udiv(width, I64(lanes))
    rest = builder.udiv(builder.urem(width, I64(lanes)), I64(LANES))
    is_narrow = builder.icmp_unsigned("==", size, I64(1))
    with builder.if_else(is_narrow) as branches:
        for kind, branch in zip((I8, I16), branches, strict=True):
            with branch:
                pass_over(kind, I64(0), whole, lanes)
                pass_over(kind, builder.mul(whole, I64(lanes)), rest, LANES)


def _combine(added: int | None, removed: int | None, kept: bool = False) -> Any:
    """A kernel for so many rows; None: for any number of them."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, *changes, target, width, rows, size, plus, n_plus, minus, n_minus = args

        def pass_over(kind: Any, first: Any, count: Any, lanes: int) -> None:
            """``count`` times ``lanes`` values, from the one with number ``first``."""
            vector = ir.VectorType(I16, lanes)

            def change(total: Any, indices: Any, i: Any, place: Any, operation: Any) -> None:
                index = builder.zext(element(builder, indices, i, I32), I64)
                row = _row(
                    builder, kind, lanes, rows, builder.add(builder.mul(index, width), place)
                )
                builder.store(operation(builder.load(total), row), total)

            total = cgutils.alloca_once(builder, vector)
            with _loop(builder, count, lanes) as here:
                place = builder.add(first, here)
                offset = builder.shl(place, I64(1))
                start = load(builder, builder.add(source, offset), vector, 2)
                for kept_sum in changes:
                    more = load(builder, builder.add(kept_sum, offset), vector, 2)
                    start = builder.add(start, more)
                builder.store(start, total)
                for fixed, n, indices, operation in (
                    (added, n_plus, plus, builder.add),
                    (removed, n_minus, minus, builder.sub),
                ):
                    if fixed is None:
                        with cgutils.for_range(builder, n) as loop:
                            change(total, indices, loop.index, place, operation)
                    else:
                        for i in range(fixed):
                            change(total, indices, I64(i), place, operation)
                store(builder, builder.load(total), builder.add(target, offset), 2)

        _passes(builder, pass_over, width, size, _RESIDENT)
        return context.get_dummy_value()

    @intrinsic
    def combine(
        typing_context: Any,
        source: Any,
        target: Any,
        width: Any,
        rows: Any,
        size: Any,
        plus: Any,
        n_plus: Any,
        minus: Any,
        n_minus: Any,
    ) -> Any:
        """target = source + rows[plus[:n_plus]] - rows[minus[:n_minus]], int16 modulo 2^16.

        Parameters are addresses, but for the numbers and ``width``, the int16 values of a row, a
        multiple of LANES. ``rows`` is [N, width] of integers of ``size`` bytes, 1 or 2; ``plus``
        and ``minus`` are int32.
        """
        return types.void(*[types.int64] * 9), generate

    @intrinsic
    def combine_kept(
        typing_context: Any,
        source: Any,
        change: Any,
        target: Any,
        width: Any,
        rows: Any,
        size: Any,
        plus: Any,
        n_plus: Any,
        minus: Any,
        n_minus: Any,
    ) -> Any:
        """The same and ``change``, the address of int16[width]."""
        return types.void(*[types.int64] * 10), generate

    return combine_kept if kept else combine


combine = _combine(None, None)
combine_1_1 = _combine(1, 1)  # a quiet move
combine_1_2 = _combine(1, 2)  # a capture
combine_2_2 = _combine(2, 2)  # a move that two blocks see
combine_kept = _combine(None, None, kept=True)
combine_kept_0_0 = _combine(0, 0, kept=True)  # all that a move changes is kept


@intrinsic
def combine_pair(
    typing_context: Any,
    sums: Any,
    apart: Any,
    width: Any,
    rows: Any,
    size: Any,
    plus: Any,
    minus: Any,
    between: Any,
    n: Any,
) -> Any:
    """sums += rows[plus[:n]] - rows[minus[:n]], of both perspectives, int16 modulo 2^16.

    Parameters are addresses, but for the numbers, as in ``combine``. What belongs to Black is
    ``apart`` bytes behind ``sums``, and ``between`` bytes behind the lists. One loop for all: lists
    are short, and each loop has an end that the CPU can't predict.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums, apart, width, rows, size, plus, minus, between, n = args

        def pass_over(kind: Any, first: Any, count: Any, lanes: int) -> None:
            vector = ir.VectorType(I16, lanes)
            totals = [cgutils.alloca_once(builder, vector) for _ in range(2)]
            with _loop(builder, count, lanes) as here:
                begin = builder.add(first, here)
                places = [builder.add(sums, builder.shl(begin, I64(1)))]
                places.append(builder.add(places[0], apart))
                for total, place in zip(totals, places, strict=True):
                    builder.store(load(builder, place, vector, 2), total)
                with cgutils.for_range(builder, n) as loop:
                    for k, total in enumerate(totals):
                        for indices, operation in ((plus, builder.add), (minus, builder.sub)):
                            listed = builder.add(indices, between) if k else indices
                            index = builder.zext(element(builder, listed, loop.index, I32), I64)
                            place = builder.add(begin, builder.mul(index, width))
                            row = _row(builder, kind, lanes, rows, place)
                            builder.store(operation(builder.load(total), row), total)
                for total, place in zip(totals, places, strict=True):
                    store(builder, builder.load(total), place, 2)

        lanes = _RESIDENT if SIMD == "avx512" else _RESIDENT // 2
        _passes(builder, pass_over, width, size, lanes)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), generate


# Activation and the list of blocks that aren't zero ----------------------------------------------

# By a mask of eight blocks, the numbers of those that are set, then anything
_SET_BITS = np.array(
    [([i for i in range(8) if mask >> i & 1] + [0] * 8)[:8] for mask in range(256)], np.uint16
)
table("simd_set_bits", _SET_BITS)


def _numbers_by_table(builder: Any, nonzero: Any, first: Any, place: Any, count: Any) -> None:
    """Appends the numbers of the nonzero blocks, eight at a time."""
    eight = ir.VectorType(I16, 8)
    base = builder.ptrtoint(symbol(builder, "simd_set_bits"), I64)
    for half in range(2):
        lanes = shuffled(builder, nonzero, list(range(8 * half, 8 * half + 8)))
        mask = builder.bitcast(lanes, I8)
        entry = builder.add(base, builder.shl(builder.zext(mask, I64), I64(4)))
        numbers = builder.add(
            load(builder, entry, eight, 2),
            splat(builder, builder.trunc(builder.add(first, I64(8 * half)), I16), 8),
        )
        n = builder.load(count)
        store(builder, numbers, builder.add(place, builder.shl(n, I64(1))), 2)
        builder.store(builder.add(n, builder.zext(builder.ctpop(mask), I64)), count)


def _numbers_by_compress(builder: Any, nonzero: Any, first: Any, place: Any, count: Any) -> None:
    """The same, sixteen or 64 at a time."""
    lanes = nonzero.type.count
    narrow = lanes == 64  # of bytes: a list of 64 words would take two instructions
    numbers = ir.Constant(ir.VectorType(I8 if narrow else I32, lanes), list(range(lanes)))
    numbers = compressed(builder, numbers, nonzero)
    words = (builder.zext if narrow else builder.trunc)(numbers, ir.VectorType(I16, lanes))
    words = builder.add(words, splat(builder, builder.trunc(first, I16), lanes))
    n = builder.load(count)
    store(builder, words, builder.add(place, builder.shl(n, I64(1))), 2)
    more = builder.ctpop(builder.bitcast(nonzero, ir.IntType(lanes)))
    builder.store(builder.add(n, more if narrow else builder.zext(more, I64)), count)


def _saturated(builder: Any, value: Any) -> Any:
    """<LANES x i16> as bytes, clamped to -128..127: what LLVM takes twice as many steps for."""
    name, lanes = ("avx512.packsswb.512", 32) if SIMD == "avx512" else ("avx2.packsswb", 16)
    half, bytes_ = ir.VectorType(I16, lanes), ir.VectorType(I8, 2 * lanes)
    pack = declared(builder, f"llvm.x86.{name}", bytes_, half, half)
    # It takes eight values of the one and eight of the other in turn.
    quads = ir.VectorType(I64, lanes // 4)
    order = [*range(0, lanes // 4, 2), *range(1, lanes // 4, 2)]
    parts = []
    for start in range(0, LANES, 2 * lanes):
        halves = [
            shuffled(builder, value, list(range(i, i + lanes))) for i in (start, start + lanes)
        ]
        packed = builder.bitcast(builder.call(pack, halves), quads)
        parts.append(builder.bitcast(shuffled(builder, packed, order), bytes_))
    return joined(builder, parts)


def _rounded_product(builder: Any, a: Any, b: Any) -> Any:
    """(a * b + 2^14) >> 15 of <LANES x i16>; neither may be -2^15."""
    if SIMD == "portable":
        wide = ir.VectorType(I32, LANES)
        product = builder.mul(builder.sext(a, wide), builder.sext(b, wide))
        half = ir.Constant(wide, [1 << 14] * LANES)
        product = builder.lshr(builder.add(product, half), ir.Constant(wide, [15] * LANES))
        return builder.trunc(product, a.type)
    # LLVM doesn't find this instruction by itself.
    name, lanes = ("avx512.pmul.hr.sw.512", 32) if SIMD == "avx512" else ("avx2.pmul.hr.sw", 16)
    kind = ir.VectorType(I16, lanes)
    multiply = declared(builder, f"llvm.x86.{name}", kind, kind, kind)
    parts = []
    for start in range(0, LANES, lanes):
        here = list(range(start, start + lanes))
        sides = [shuffled(builder, vector, here) for vector in (a, b)]
        parts.append(builder.call(multiply, sides))
    return joined(builder, parts)


def _activation(multiplied: bool) -> Any:
    """What both kernels for the activations of :class:`nnuelab.nnue.netfile.Net` consist of."""

    @intrinsic
    def activate(
        typing_context: Any,
        source: Any,
        apart: Any,
        target: Any,
        width: Any,
        high: Any,
        shift: Any,
        first: Any,
        blocks: Any,
        n: Any,
    ) -> Any:
        """target[:width] (uint8) = a(source[:width] (int16)), with v = clamp(source, 0, high):

        v >> shift, or (v * (w << shift) + 2^14) >> 15 with w of what is ``apart`` bytes further,
        for the square 0. With high = 128 * 2^k - 1 and shift = k the former is
        clamp(source >> k, 0, 127); for products, high is 127 * 2^k and shift 8 - 2k. The numbers
        of the blocks of four values of which one isn't 0, counted from ``first``, are appended to
        ``blocks`` (uint16, with room for LANES / BLOCK more), which holds ``n``; returns how many
        it holds then. ``width`` is a multiple of LANES.
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            source, apart, target, width, high, shift, first, blocks, n = args
            vector, bytes_ = ir.VectorType(I16, LANES), ir.VectorType(I8, LANES)
            zero = ir.Constant(vector, [0] * LANES)
            high = splat(builder, builder.trunc(high, I16), LANES)
            shift = splat(builder, builder.trunc(shift, I16), LANES)
            found = cgutils.alloca_once_value(builder, n)
            list_numbers = _numbers_by_compress if SIMD == "avx512" else _numbers_by_table

            def limited(place: Any) -> Any:
                value = load(builder, place, vector, 2)
                return clamped(builder, value, zero, high, builder.icmp_signed)

            def activated(place: Any) -> Any:
                if multiplied:
                    other = builder.shl(limited(builder.add(place, apart)), shift)
                    product = _rounded_product(builder, limited(place), other)
                    return builder.trunc(product, bytes_)
                if SIMD != "portable":
                    value = load(builder, place, vector, 2)
                    value = _saturated(builder, builder.ashr(value, shift))
                    zero_bytes = ir.Constant(bytes_, [0] * LANES)
                    return builder.select(
                        builder.icmp_signed(">", value, zero_bytes), value, zero_bytes
                    )
                return builder.trunc(builder.lshr(limited(place), shift), bytes_)

            def pass_over(start: Any, count: Any, vectors: int) -> None:
                """``count`` times so many vectors, beginning with value ``start``."""
                with _loop(builder, count, vectors * LANES) as here:
                    begin = builder.add(start, here)
                    nonzero = []
                    for v in range(vectors):
                        i = builder.add(begin, I64(v * LANES))
                        value = activated(builder.add(source, builder.shl(i, I64(1))))
                        store(builder, value, builder.add(target, i), 1)
                        fours = builder.bitcast(value, ir.VectorType(I32, LANES // BLOCK))
                        none = ir.Constant(fours.type, [0] * (LANES // BLOCK))
                        nonzero.append(builder.icmp_unsigned("!=", fours, none))
                    number = builder.add(first, builder.udiv(begin, I64(BLOCK)))
                    list_numbers(builder, joined(builder, nonzero), number, blocks, found)

            done = I64(0)
            if VBMI2:  # the numbers of four vectors at once
                done = builder.and_(width, I64(-4 * LANES))
                pass_over(I64(0), builder.udiv(width, I64(4 * LANES)), 4)
            pass_over(done, builder.udiv(builder.sub(width, done), I64(LANES)), 1)
            return builder.load(found)

        return types.int64(*[types.int64] * 9), generate

    return activate


activate = _activation(multiplied=False)
multiply = _activation(multiplied=True)


# The second layer --------------------------------------------------------------------------------


def _add_dots(builder: Any, total: Any, inputs: Any, weights: Any) -> Any:
    """total (<n x i32>) + sums of four products: <4n x i8> of 0..127 times <4n x i8> signed."""
    wide, bytes_ = total.type, inputs.type
    if SIMD in ("avx512", "vnni256"):
        name = f"llvm.x86.avx512.vpdpbusd.{32 * wide.count}"
        dot = declared(builder, name, wide, wide, bytes_, bytes_)
        return builder.call(dot, [total, inputs, weights])
    # Two products together fit int16 (2 * 127 * 128 < 2^15), so nothing saturates on the way.
    narrow = ir.VectorType(I16, 2 * wide.count)
    if SIMD == "avx2":
        pairs = declared(builder, "llvm.x86.avx2.pmadd.ub.sw", narrow, bytes_, bytes_)
        fours = declared(builder, "llvm.x86.avx2.pmadd.wd", wide, narrow, narrow)
        ones = ir.Constant(narrow, [1] * narrow.count)
        sums = builder.call(fours, [builder.call(pairs, [inputs, weights]), ones])
        return builder.add(total, sums)
    whole = ir.VectorType(I16, bytes_.count)
    products = builder.mul(builder.zext(inputs, whole), builder.sext(weights, whole))
    pairs = builder.sext(_add_neighbours(builder, products), ir.VectorType(I32, narrow.count))
    return builder.add(total, _add_neighbours(builder, pairs))


def _add_neighbours(builder: Any, vector: Any) -> Any:
    count = vector.type.count
    mask = ir.VectorType(I32, count // 2)
    halves = [
        builder.shuffle_vector(
            vector,
            ir.Constant(vector.type, ir.Undefined),
            ir.Constant(mask, list(range(start, count, 2))),
        )
        for start in (0, 1)
    ]
    return builder.add(*halves)


def _accumulator(outputs: int) -> Any:
    """A kernel that keeps the sums of ``outputs`` neurons (8 or a multiple of 16) in registers."""

    @intrinsic
    def accumulate(
        typing_context: Any, sums: Any, weights: Any, stride: Any, inputs: Any, blocks: Any, n: Any
    ) -> Any:
        """sums[:outputs] (int32) += weights of the listed blocks of four inputs times the inputs.

        Parameters are addresses, but for ``stride``, the bytes of a block of weights, and ``n``,
        how many ``blocks`` (uint16) are listed, a multiple of UNROLLED. Weights are
        int8[block][output][4].
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            sums, weights, stride, inputs, blocks, n = args
            lanes = 16 if SIMD == "avx512" and outputs % 16 == 0 else 8
            vectors = outputs // lanes
            # So many chains of sums that none waits for its last dot product
            chains = max(1, min(UNROLLED, 8 // vectors)) if SIMD != "avx2" else 1
            wide, bytes_ = ir.VectorType(I32, lanes), ir.VectorType(I8, 4 * lanes)
            totals = [
                [cgutils.alloca_once(builder, wide) for _ in range(vectors)] for _ in range(chains)
            ]
            places = [builder.add(sums, I64(4 * lanes * v)) for v in range(vectors)]
            for chain in totals:
                for total, place in zip(chain, places, strict=True):
                    first = chain is totals[0]
                    zero = ir.Constant(wide, [0] * lanes)
                    builder.store(load(builder, place, wide, 4) if first else zero, total)
            with _loop(builder, builder.udiv(n, I64(UNROLLED)), UNROLLED) as i:
                for k in range(UNROLLED):
                    number = element(builder, blocks, builder.add(i, I64(k)), I16)
                    block = builder.zext(number, I64)
                    four = splat(builder, element(builder, inputs, block, I32), lanes)
                    four = builder.bitcast(four, bytes_)
                    row = builder.add(weights, builder.mul(block, stride))
                    for v, total in enumerate(totals[k % chains]):
                        part = load(builder, builder.add(row, I64(4 * lanes * v)), bytes_, 1)
                        builder.store(_add_dots(builder, builder.load(total), four, part), total)
            for v, place in enumerate(places):
                total = builder.load(totals[0][v])
                for chain in totals[1:]:
                    total = builder.add(total, builder.load(chain[v]))
                store(builder, total, place, 4)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), generate

    return accumulate


accumulate8 = _accumulator(8)
accumulate16 = _accumulator(16)
accumulate32 = _accumulator(32)
