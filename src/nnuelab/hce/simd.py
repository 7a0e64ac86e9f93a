"""Vector kernels over the entries of one position: numbers of weights, and how often each counts.

Entries are taken EIGHT at a time. The last eight overlap those before, with counts of 0 for what
was taken already: a remainder would be a loop of its own, which the CPU mispredicts at each
position. Sums have one order, whatever the CPU; nothing is multiplied and added at once, which
rounds otherwise.

Addresses are integers (int64). ``terms`` (uint16) and ``counts`` (int8) are those of the first of
the ``n`` entries of a position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnuelab.vectors import I8, I16, I32, I64, element, load, shuffled, splat, store

EIGHT = 8  # entries
_DOUBLE = ir.DoubleType()
_FOUR, _BYTES, _INTS = (ir.VectorType(kind, 4) for kind in (_DOUBLE, I8, I32))


def _each_four(
    builder: Any, terms: Any, counts: Any, n: Any, use: Callable[[list[Any], Any, int], None]
) -> None:
    """Calls ``use`` with the numbers of four weights, their counts, and which half of eight."""

    def eight(first: Any, kept: Any) -> None:
        word = builder.and_(load(builder, builder.add(counts, first), I64, 1), kept)
        for half in range(2):
            numbers = [
                builder.zext(element(builder, terms, builder.add(first, I64(i)), I16), I64)
                for i in range(4 * half, 4 * half + 4)
            ]
            four = builder.trunc(builder.lshr(word, I64(32 * half)), I32)
            four = builder.sext(builder.bitcast(four, _BYTES), _INTS)
            use(numbers, builder.sitofp(four, _FOUR), half)

    whole = builder.lshr(builder.sub(n, I64(1)), I64(3))
    with cgutils.for_range(builder, whole, intp=I64) as loop:
        eight(builder.shl(loop.index, I64(3)), I64(-1))
    # Of the last eight so many were taken already: 0 to 7.
    taken = builder.sub(I64(EIGHT), builder.sub(n, builder.shl(whole, I64(3))))
    eight(builder.sub(n, I64(EIGHT)), builder.shl(I64(-1), builder.shl(taken, I64(3))))


@intrinsic
def nonzero(typing_context: Any, place: Any) -> Any:
    """Which of 64 numbers, int32 at an address, aren't 0: uint64, the first one lowest."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.VectorType(I32, 64)
        values = load(builder, args[0], kind, 4)
        return builder.bitcast(builder.icmp_signed("!=", values, kind(None)), I64)

    return types.uint64(types.int64), generate


@intrinsic
def weigh(typing_context: Any, terms: Any, counts: Any, n: Any, weights: Any) -> Any:
    """The sum of counts times weights, float64.

    ``n`` is at least EIGHT, ``weights`` the address of float64[all].
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        terms, counts, n, weights = args
        zero = ir.Constant(_FOUR, [0.0] * 4)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(2)]

        def use(numbers: list[Any], four: Any, half: int) -> None:
            found = ir.Constant(_FOUR, ir.Undefined)
            for i, number in enumerate(numbers):
                weight = element(builder, weights, number, _DOUBLE)
                found = builder.insert_element(found, weight, I32(i))
            more = builder.fmul(four, found)
            builder.store(builder.fadd(builder.load(sums[half]), more), sums[half])

        _each_four(builder, terms, counts, n, use)
        four = builder.fadd(builder.load(sums[0]), builder.load(sums[1]))
        two = builder.fadd(shuffled(builder, four, [0, 1]), shuffled(builder, four, [2, 3]))
        one, other = (builder.extract_element(two, I32(i)) for i in range(2))
        return builder.fadd(one, other)

    return types.float64(*[types.int64] * 4), generate


@intrinsic
def spread(typing_context: Any, terms: Any, counts: Any, n: Any, slope: Any, out: Any) -> Any:
    """Adds counts times ``slope`` to what is at ``out``, the address of float64[all].

    ``n`` is at least EIGHT.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        terms, counts, n, slope, out = args
        slopes = splat(builder, slope, 4)

        def use(numbers: list[Any], four: Any, half: int) -> None:
            products = builder.fmul(four, slopes)
            for i, number in enumerate(numbers):
                place = builder.add(out, builder.shl(number, I64(3)))
                more = builder.extract_element(products, I32(i))
                store(builder, builder.fadd(load(builder, place, _DOUBLE, 8), more), place, 8)

        _each_four(builder, terms, counts, n, use)
        return context.get_dummy_value()

    kinds = [types.int64] * 3 + [types.float64, types.int64]
    return types.void(*kinds), generate


@intrinsic
def add_four(
    typing_context: Any, place: Any, factor: Any, one: Any, two: Any, three: Any, four: Any
) -> Any:
    """Adds ``factor`` times four values to the four float64 at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, factor, *values = args
        vector = ir.Constant(_FOUR, ir.Undefined)
        for i, value in enumerate(values):
            vector = builder.insert_element(vector, value, I32(i))
        more = builder.fmul(splat(builder, factor, 4), vector)
        store(builder, builder.fadd(load(builder, place, _FOUR, 8), more), place, 8)
        return context.get_dummy_value()

    return types.void(types.int64, *[types.float64] * 5), generate
