"""Vector kernels of the first two layers in training.

They work on a panel of COLUMNS columns, and where the second layer is concerned on TOGETHER
positions, whose values stay in registers: 16 of the 32 that AVX-512 has. They take addresses
(int64), not arrays.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnuelab.vectors import I32, I64, clamped, element, load, splat, store

COLUMNS = 64  # floats of a row that are added at once: eight AVX2 registers
TOGETHER = 4  # positions
_ROW = 4 * COLUMNS  # bytes
_FLOATS = ir.VectorType(ir.FloatType(), COLUMNS)


@intrinsic
def sum_rows(typing_context: Any, table: Any, rows: Any, n: Any, bias: Any, target: Any) -> Any:
    """target[:64] = clip(bias[:64] + sum over rows[:n] of table[row, :64], 0, 1), float32.

    ``table`` is float32[N, 64], ``rows`` int32.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table, rows, n, bias, target = args
        total = cgutils.alloca_once(builder, _FLOATS)
        builder.store(load(builder, bias, _FLOATS, 4), total)
        _accumulate(builder, total, table, rows, n)
        zero = ir.Constant(_FLOATS, [0.0] * COLUMNS)
        one = ir.Constant(_FLOATS, [1.0] * COLUMNS)
        value = clamped(builder, builder.load(total), zero, one, builder.fcmp_unordered)
        store(builder, value, target, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


@intrinsic
def add_rows(typing_context: Any, table: Any, rows: Any, n: Any, target: Any) -> Any:
    """target[:64] += sum over rows[:n] of table[row, :64], float32; ``rows`` int32."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table, rows, n, target = args
        total = cgutils.alloca_once(builder, _FLOATS)
        builder.store(load(builder, target, _FLOATS, 4), total)
        _accumulate(builder, total, table, rows, n)
        store(builder, builder.load(total), target, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


def _accumulate(builder: Any, total: Any, table: Any, rows: Any, n: Any) -> None:
    """Adds the rows to ``total``, which stays in registers."""
    with cgutils.for_range(builder, n) as loop:
        index = builder.zext(element(builder, rows, loop.index, I32), I64)
        row = load(builder, builder.add(table, builder.mul(index, I64(_ROW))), _FLOATS, 4)
        builder.store(builder.fadd(builder.load(total), row), total)


def _scalar(builder: Any, base: Any, position: int, outputs: Any, o: Any) -> Any:
    """Element [position, o] of float32[TOGETHER, outputs], in all lanes."""
    place = builder.add(builder.mul(outputs, I64(position)), o)
    place = builder.add(base, builder.shl(place, I64(2)))
    return splat(builder, load(builder, place, ir.FloatType(), 4), COLUMNS)


def _row_of(builder: Any, base: Any, stride: Any, i: int) -> Any:
    return load(builder, builder.add(base, builder.mul(stride, I64(i))), _FLOATS, 4)


def _fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    name = f"llvm.fma.v{COLUMNS}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [a, b, c])


def _is_set(builder: Any, flag: Any) -> Any:
    return builder.icmp_signed("!=", flag, I64(0))


@intrinsic
def masked_products(
    typing_context: Any,
    z: Any,
    weights: Any,
    outputs: Any,
    x: Any,
    x_stride: Any,
    target: Any,
    stride: Any,
    total: Any,
    squared: Any,
) -> Any:
    """target[i] = z[i] @ weights where 0 < x[i] < 1, else 0, for TOGETHER i; total += target.

    When ``squared`` isn't 0, it is the square of x that the weights take: then times 2 x[i].
    Addresses of float32: ``z`` [TOGETHER, outputs], ``weights`` [outputs, 64], ``total`` [64];
    ``x`` and ``target`` are TOGETHER rows of 64, so many bytes apart.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        z, weights, outputs, x, x_stride, target, stride, total, squared = args
        zero, one = (ir.Constant(_FLOATS, [value] * COLUMNS) for value in (0.0, 1.0))
        products = [cgutils.alloca_once(builder, _FLOATS) for _ in range(TOGETHER)]
        for product in products:
            builder.store(zero, product)
        with cgutils.for_range(builder, outputs) as loop:
            place = builder.add(weights, builder.mul(loop.index, I64(_ROW)))
            row = load(builder, place, _FLOATS, 4)
            for i, product in enumerate(products):
                scalar = _scalar(builder, z, i, outputs, loop.index)
                builder.store(_fma(builder, scalar, row, builder.load(product)), product)
        with builder.if_then(_is_set(builder, squared), likely=False):
            for i, product in enumerate(products):
                value = _row_of(builder, x, x_stride, i)
                slope = builder.fadd(value, value)
                builder.store(builder.fmul(builder.load(product), slope), product)
        added = load(builder, total, _FLOATS, 4)
        for i, product in enumerate(products):
            value = _row_of(builder, x, x_stride, i)
            inside = builder.and_(
                builder.fcmp_ordered(">", value, zero), builder.fcmp_ordered("<", value, one)
            )
            found = builder.select(inside, builder.load(product), zero)
            store(builder, found, builder.add(target, builder.mul(stride, I64(i))), 4)
            added = builder.fadd(added, found)
        store(builder, added, total, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), generate


@intrinsic
def add_outer(
    typing_context: Any, z: Any, x: Any, x_stride: Any, outputs: Any, target: Any, squared: Any
) -> Any:
    """target[o] += sum over TOGETHER i of z[i, o] x[i], or of x[i]^2 if ``squared``, for all o.

    Addresses of float32: ``z`` [TOGETHER, outputs], ``target`` [outputs, 64]; ``x`` are TOGETHER
    rows of 64, ``x_stride`` bytes apart.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        z, x, x_stride, outputs, target, squared = args
        places = [cgutils.alloca_once(builder, _FLOATS) for _ in range(TOGETHER)]
        for i, place in enumerate(places):
            builder.store(_row_of(builder, x, x_stride, i), place)
        with builder.if_then(_is_set(builder, squared), likely=False):
            for place in places:
                value = builder.load(place)
                builder.store(builder.fmul(value, value), place)
        values = [builder.load(place) for place in places]
        with cgutils.for_range(builder, outputs) as loop:
            place = builder.add(target, builder.mul(loop.index, I64(_ROW)))
            row = load(builder, place, _FLOATS, 4)
            for i, value in enumerate(values):
                row = _fma(builder, _scalar(builder, z, i, outputs, loop.index), value, row)
            store(builder, row, place, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate
