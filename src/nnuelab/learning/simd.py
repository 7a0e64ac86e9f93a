"""Vector kernels of the first two layers in training.

The sparse ones work on a panel of COLUMNS columns, the dense one on a tile of ROWS x LANES. They
take addresses (int64), not arrays. No sum depends on the CPU: lanes are never added to each other.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnuelab.build import SIMD
from nnuelab.vectors import I32, I64, clamped, declared, element, load, splat, store

COLUMNS = 64  # floats of a row that are added at once: eight AVX2 registers
LANES = 16
ROWS = 8 if SIMD in ("avx512", "vnni256") else 4  # half of the registers hold a tile
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


@intrinsic
def mask(typing_context: Any, x: Any, partner: Any, power: Any, gradient: Any, total: Any) -> Any:
    """gradient[:64] becomes 0 where x isn't inside of 0..1; total[:64] += gradient[:64]; float32.

    When ``power`` isn't 0, it is x times its partner that has this gradient: then times the
    partner, and times 2 where that is x itself, ``power`` 2.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, partner, power, gradient, total = args
        zero, one = (ir.Constant(_FLOATS, [value] * COLUMNS) for value in (0.0, 1.0))
        value, found = load(builder, x, _FLOATS, 4), load(builder, gradient, _FLOATS, 4)
        factor = splat(builder, builder.sitofp(power, ir.FloatType()), COLUMNS)
        factor = builder.fmul(load(builder, partner, _FLOATS, 4), factor)
        of_product = builder.fmul(found, factor)
        found = builder.select(builder.icmp_signed("!=", power, I64(0)), of_product, found)
        inside = builder.and_(
            builder.fcmp_ordered(">", value, zero), builder.fcmp_ordered("<", value, one)
        )
        found = builder.select(inside, found, zero)
        store(builder, found, gradient, 4)
        store(builder, builder.fadd(load(builder, total, _FLOATS, 4), found), total, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


@intrinsic
def multiply(
    typing_context: Any,
    a: Any,
    a_row: Any,
    a_step: Any,
    b: Any,
    b_step: Any,
    n: Any,
    c: Any,
    c_row: Any,
) -> Any:
    """c += a @ b for ROWS rows of LANES columns of c, float32; they stay in registers.

    Every element is a chain of fused multiply-adds over the ``n`` columns of ``a`` in their order:
    its bits don't depend on ROWS and LANES, nor on how a product is cut into such tiles.

    Addresses: ``a`` [ROWS, n], rows ``a_row`` bytes apart and columns ``a_step``; ``b`` [n, LANES]
    and ``c`` [ROWS, LANES], rows ``b_step`` and ``c_row`` bytes apart.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, a_row, a_step, b, b_step, n, c, c_row = args
        scalar = ir.FloatType()
        vector = ir.VectorType(scalar, LANES)
        fma = declared(builder, f"llvm.fma.v{LANES}f32", vector, vector, vector, vector)

        def row(base: Any, distance: Any, i: int) -> Any:
            return builder.add(base, builder.mul(distance, I64(i)))

        totals = [cgutils.alloca_once(builder, vector) for _ in range(ROWS)]
        for i, total in enumerate(totals):
            builder.store(load(builder, row(c, c_row, i), vector, 4), total)
        with cgutils.for_range(builder, n) as loop:
            column = builder.add(a, builder.mul(a_step, loop.index))
            values = load(builder, builder.add(b, builder.mul(b_step, loop.index)), vector, 4)
            for i, total in enumerate(totals):
                factor = splat(builder, load(builder, row(column, a_row, i), scalar, 4), LANES)
                builder.store(builder.call(fma, [factor, values, builder.load(total)]), total)
        for i, total in enumerate(totals):
            store(builder, builder.load(total), row(c, c_row, i), 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 8), generate
