"""Vector code that LLVM doesn't find in a plain loop, as portable LLVM vectors (no CPU names).

LLVM splits a vector to the registers that the CPU has. The functions take addresses (int64), not
arrays: loops of 32 elements would spend their time on the checks that two arrays don't overlap.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 32  # int16 values that activate takes at once
OUTPUTS = 16  # neurons that accumulate_pairs computes at once
COLUMNS = 64  # floats of a row that sum_rows adds at once: eight AVX2 registers

_I16, _I32, _I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
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
    """target[:32] = clamp(source[:32], 0, high) >> shift, int16; returns bits of the nonzero lanes.

    With high = 128 * 2**shift - 1 that is clamp(source >> shift, 0, 127).
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, target, high, shift = args
        vector = ir.VectorType(_I16, LANES)
        zero = ir.Constant(vector, [0] * LANES)
        high = _splat(builder, builder.trunc(high, _I16), LANES)
        shift = _splat(builder, builder.trunc(shift, _I16), LANES)
        value = _load(builder, source, vector, 2)
        value = _clamp(builder, value, zero, high, builder.icmp_signed)
        value = builder.lshr(value, shift)
        _store(builder, value, target, 2)
        nonzero = builder.bitcast(builder.icmp_signed("!=", value, zero), ir.IntType(LANES))
        return builder.zext(nonzero, _I64)

    i64 = types.int64
    return types.uint64(i64, i64, i64, i64), generate


@intrinsic
def accumulate_pairs(
    typing_context: Any, sums: Any, weights: Any, stride: Any, inputs: Any, indices: Any, n: Any
) -> Any:
    """sums[:16] (int32) += sum over indices[:2n] of inputs[i] (int16) * weights[i, :16] (int16).

    ``stride`` is bytes between two rows of weights. Two products are added in int16 before they are
    widened: exact for inputs of 0..127 and weights of -128..127 (2 * 127 * 128 < 2^15).
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sums, weights, stride, inputs, indices, n = args
        narrow, wide = ir.VectorType(_I16, OUTPUTS), ir.VectorType(_I32, OUTPUTS)
        total = cgutils.alloca_once(builder, wide)
        builder.store(_load(builder, sums, wide, 4), total)

        def product(place: Any) -> Any:
            index = builder.zext(_element(builder, indices, place, _I32), _I64)
            row = builder.add(weights, builder.mul(index, stride))
            value = _element(builder, inputs, index, _I16)
            return builder.mul(_load(builder, row, narrow, 2), _splat(builder, value, OUTPUTS))

        with cgutils.for_range(builder, n) as loop:
            first = builder.shl(loop.index, _I64(1))
            pair = builder.add(product(first), product(builder.add(first, _I64(1))))
            builder.store(builder.add(builder.load(total), builder.sext(pair, wide)), total)
        _store(builder, builder.load(total), sums, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate


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
