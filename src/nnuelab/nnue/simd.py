"""Vector code that LLVM doesn't find in a plain loop, as portable LLVM vectors.

LLVM splits a vector to the registers that the CPU has. Only the dot product of bytes names a CPU's
instruction, where there is AVX2; elsewhere the same bits come from plain vectors. The functions
take addresses (int64), not arrays: loops of 32 elements would spend their time on the checks that
two arrays don't overlap.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 32  # int16 values that activate takes at once
BLOCK = 4  # inputs that the byte dot product takes together
OUTPUTS = 8  # neurons that it gives at once
COLUMNS = 64  # floats of a row that sum_rows adds at once: eight AVX2 registers

_AVX2 = llvmlite.binding.get_host_cpu_features().get("avx2", False)

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_FLOATS = ir.VectorType(ir.FloatType(), COLUMNS)


def _load(builder: Any, place: Any, kind: Any, align: int) -> Any:
    return builder.load(builder.inttoptr(place, kind.as_pointer()), align=align)


def _store(builder: Any, value: Any, place: Any, align: int) -> None:
    builder.store(value, builder.inttoptr(place, value.type.as_pointer()), align=align)


def _element(builder: Any, base: Any, index: Any, kind: Any) -> Any:
    """The element ``index`` of the array of integers at ``base``."""
    return builder.load(builder.gep(builder.inttoptr(base, kind.as_pointer()), [index]))


def _splat(builder: Any, value: Any, lanes: int) -> Any:
    vector = ir.VectorType(value.type, lanes)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _I32(0))
    zeros = ir.Constant(ir.VectorType(_I32, lanes), [0] * lanes)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def _clamp(builder: Any, value: Any, low: Any, high: Any, compare: Any) -> Any:
    value = builder.select(compare(">", value, low), value, low)
    return builder.select(compare("<", value, high), value, high)


@intrinsic
def activate(typing_context: Any, source: Any, target: Any, high: Any, shift: Any) -> Any:
    """target[:32] (uint8) = clamp(source[:32] (int16), 0, high) >> shift.

    With high = 128 * 2**shift - 1 that is clamp(source >> shift, 0, 127). Returns a bit for each of
    the eight blocks of four values, set when one of the four isn't 0.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, target, high, shift = args
        vector = ir.VectorType(_I16, LANES)
        zero = ir.Constant(vector, [0] * LANES)
        high = _splat(builder, builder.trunc(high, _I16), LANES)
        shift = _splat(builder, builder.trunc(shift, _I16), LANES)
        value = _load(builder, source, vector, 2)
        value = _clamp(builder, value, zero, high, builder.icmp_signed)
        value = builder.trunc(builder.lshr(value, shift), ir.VectorType(_I8, LANES))
        _store(builder, value, target, 1)
        count = LANES // BLOCK
        blocks = builder.bitcast(value, ir.VectorType(_I32, count))
        nonzero = builder.icmp_unsigned("!=", blocks, ir.Constant(blocks.type, [0] * count))
        return builder.zext(builder.bitcast(nonzero, ir.IntType(count)), _I64)

    i64 = types.int64
    return types.uint64(i64, i64, i64, i64), generate


def _dot_bytes(builder: Any, inputs: Any, weights: Any) -> Any:
    """Sums of four products each: <32 x i8> of 0..127 and <32 x i8> signed to <8 x i32>.

    Two products together fit int16 (2 * 127 * 128 < 2^15), so nothing saturates on the way.
    """
    narrow, wide = ir.VectorType(_I16, 16), ir.VectorType(_I32, 8)
    if _AVX2:
        bytes_ = inputs.type
        pairs = _declared(builder, "llvm.x86.avx2.pmadd.ub.sw", narrow, bytes_, bytes_)
        fours = _declared(builder, "llvm.x86.avx2.pmadd.wd", wide, narrow, narrow)
        ones = ir.Constant(narrow, [1] * 16)
        return builder.call(fours, [builder.call(pairs, [inputs, weights]), ones])
    whole = ir.VectorType(_I16, 32)
    products = builder.mul(builder.zext(inputs, whole), builder.sext(weights, whole))
    pairs = _add_neighbours(builder, products)
    return _add_neighbours(builder, builder.sext(pairs, ir.VectorType(_I32, 16)))


def _add_neighbours(builder: Any, vector: Any) -> Any:
    count = vector.type.count
    mask = ir.VectorType(_I32, count // 2)
    halves = [
        builder.shuffle_vector(
            vector,
            ir.Constant(vector.type, ir.Undefined),
            ir.Constant(mask, list(range(start, count, 2))),
        )
        for start in (0, 1)
    ]
    return builder.add(*halves)


def _declared(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


def _accumulator(outputs: int) -> Any:
    """A kernel that keeps the sums of ``outputs`` neurons (a multiple of 8) in registers."""

    @intrinsic
    def accumulate(
        typing_context: Any, sums: Any, weights: Any, stride: Any, inputs: Any, blocks: Any, n: Any
    ) -> Any:
        """sums[:outputs] (int32) += weights of the listed blocks of four inputs times the inputs.

        Parameters are addresses, but for ``stride``, the bytes of a block of weights, and ``n``,
        how many ``blocks`` (int32) are listed. Weights are int8[block][output][4].
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            sums, weights, stride, inputs, blocks, n = args
            wide, eight = ir.VectorType(_I32, 8), ir.VectorType(_I8, 32)
            totals = [cgutils.alloca_once(builder, wide) for _ in range(outputs // 8)]
            places = [builder.add(sums, _I64(32 * i)) for i in range(outputs // 8)]
            for total, place in zip(totals, places, strict=True):
                builder.store(_load(builder, place, wide, 4), total)
            with cgutils.for_range(builder, n) as loop:
                block = builder.zext(_element(builder, blocks, loop.index, _I32), _I64)
                four = _splat(builder, _element(builder, inputs, block, _I32), 8)
                four = builder.bitcast(four, eight)
                row = builder.add(weights, builder.mul(block, stride))
                for i, total in enumerate(totals):
                    part = _load(builder, builder.add(row, _I64(32 * i)), eight, 1)
                    products = _dot_bytes(builder, four, part)
                    builder.store(builder.add(builder.load(total), products), total)
            for total, place in zip(totals, places, strict=True):
                _store(builder, builder.load(total), place, 4)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), generate

    return accumulate


accumulate8 = _accumulator(8)
accumulate32 = _accumulator(32)


@intrinsic
def sum_rows(typing_context: Any, table: Any, rows: Any, n: Any, bias: Any, target: Any) -> Any:
    """target[:64] = clip(bias[:64] + sum over rows[:n] of table[row, :64], 0, 1), float32.

    ``table`` is float32[N, 64], ``rows`` int32.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table, rows, n, bias, target = args
        total = cgutils.alloca_once(builder, _FLOATS)
        builder.store(_load(builder, bias, _FLOATS, 4), total)
        _accumulate(builder, total, table, rows, n)
        zero = ir.Constant(_FLOATS, [0.0] * COLUMNS)
        one = ir.Constant(_FLOATS, [1.0] * COLUMNS)
        value = _clamp(builder, builder.load(total), zero, one, builder.fcmp_unordered)
        _store(builder, value, target, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


@intrinsic
def add_rows(typing_context: Any, table: Any, rows: Any, n: Any, target: Any) -> Any:
    """target[:64] += sum over rows[:n] of table[row, :64], float32; ``rows`` int32."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table, rows, n, target = args
        total = cgutils.alloca_once(builder, _FLOATS)
        builder.store(_load(builder, target, _FLOATS, 4), total)
        _accumulate(builder, total, table, rows, n)
        _store(builder, builder.load(total), target, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


@intrinsic
def clip_gradient(typing_context: Any, out: Any, gradient: Any, target: Any, total: Any) -> Any:
    """target[:64] = gradient[:64] where 0 < out[:64] < 1, else 0; total[:64] += target; float32."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, gradient, target, total = args
        zero = ir.Constant(_FLOATS, [0.0] * COLUMNS)
        one = ir.Constant(_FLOATS, [1.0] * COLUMNS)
        x = _load(builder, out, _FLOATS, 4)
        inside = builder.and_(builder.fcmp_ordered(">", x, zero), builder.fcmp_ordered("<", x, one))
        value = builder.select(inside, _load(builder, gradient, _FLOATS, 4), zero)
        _store(builder, value, target, 4)
        _store(builder, builder.fadd(_load(builder, total, _FLOATS, 4), value), total, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


def _accumulate(builder: Any, total: Any, table: Any, rows: Any, n: Any) -> None:
    """Adds the rows to ``total``, which stays in registers."""
    row_bytes = _I64(4 * COLUMNS)
    with cgutils.for_range(builder, n) as loop:
        index = builder.zext(_element(builder, rows, loop.index, _I32), _I64)
        row = _load(builder, builder.add(table, builder.mul(index, row_bytes)), _FLOATS, 4)
        builder.store(builder.fadd(builder.load(total), row), total)
