"""Attack sets of many pieces at once, without tables: fills in all eight directions together.

A vector holds one bitboard for each direction. In three steps, each twice as long as the one before
(a parallel prefix, as Kogge and Stone's adder has it), a fill spreads over all empty squares that a
set of sliders reaches, whatever their number, without a branch. LLVM splits the vectors to the
registers that the CPU has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_LANES = 8
_VECTOR = ir.VectorType(_I64, _LANES)
_UNDEFINED = ir.Constant(_VECTOR, ir.Undefined)

# Files and ranks of a step, by lane; rooks have the first half of the lanes, bishops the second.
_QUEEN = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1))
_KNIGHT = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))


def _constant(values: list[int]) -> Any:
    return ir.Constant(_VECTOR, values)


def _shuffle(builder: Any, first: Any, second: Any, lanes: list[int]) -> Any:
    """The lanes of two vectors, those of the second counted on from those of the first."""
    mask = ir.Constant(ir.VectorType(_I32, len(lanes)), lanes)
    return builder.shuffle_vector(first, second, mask)


def _splat(builder: Any, value: Any) -> Any:
    """The same bitboard in each lane."""
    vector = builder.insert_element(_UNDEFINED, value, _I32(0))
    return _shuffle(builder, vector, _UNDEFINED, [0] * _LANES)


def _halves(builder: Any, straight: Any, diagonal: Any) -> Any:
    """``straight`` in the lanes of rooks, ``diagonal`` in those of bishops."""
    lanes = [0] * 4 + [_LANES] * 4
    return _shuffle(builder, _splat(builder, straight), _splat(builder, diagonal), lanes)


def _union(builder: Any, vector: Any, lanes: range) -> Any:
    """The union of some lanes, whose number is a power of two, as one bitboard."""
    chosen = _shuffle(builder, vector, _UNDEFINED, list(lanes))
    count = len(lanes)
    while count > 1:
        count //= 2
        low, high = (
            _shuffle(builder, chosen, chosen, list(range(start, start + count)))
            for start in (0, count)
        )
        chosen = builder.or_(low, high)
    return builder.extract_element(chosen, _I32(0))


def _landing(files: int, ranks: int) -> int:
    """Squares that such a step ends on; on the others it would come around an edge."""
    squares = 0
    for square in range(64):
        inside = 0 <= square % 8 - files < 8 and 0 <= square // 8 - ranks < 8
        squares |= inside << square
    return squares


def _step(builder: Any, vector: Any, steps: Any, times: int = 1) -> Any:
    """Each lane moved by ``times`` of its steps, around the edges."""
    rotate = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fshl.v{_LANES}i64"
    )
    counts = [times * (files + 8 * ranks) % 64 for files, ranks in steps]
    return builder.call(rotate, [vector, vector, _constant(counts)])


def _rays(builder: Any, sliders: Any, empty: Any) -> Any:
    """By direction, the squares that the sliders in a lane attack when all but ``empty`` block."""
    inside = _constant([_landing(*step) for step in _QUEEN])
    free = builder.and_(_splat(builder, empty), inside)
    reached = sliders
    for times in (1, 2, 4):
        reached = builder.or_(reached, builder.and_(free, _step(builder, reached, _QUEEN, times)))
        if times < 4:
            free = builder.and_(free, _step(builder, free, _QUEEN, times))
    return builder.and_(_step(builder, reached, _QUEEN), inside)


def _of_bitboards(arguments: int, results: int, generate: Callable[..., Any]) -> Any:
    """Signature and code of an intrinsic from uint64 to a tuple of uint64; one result is bare."""
    returned = types.uint64 if results == 1 else types.UniTuple(types.uint64, results)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = generate(builder, *args)
        return values[0] if results == 1 else context.make_tuple(builder, returned, values)

    return returned(*[types.uint64] * arguments), emit


@intrinsic
def sliders(typing_context: Any, straight: Any, diagonal: Any, empty: Any) -> Any:
    """Squares attacked along ranks and files, and squares attacked along diagonals.

    Parameters
    ----------
    straight, diagonal : uint64
        The pieces that attack so.
    empty : uint64
        Squares that don't block.

    Returns
    -------
    tuple of two uint64
    """

    def generate(builder: Any, straight: Any, diagonal: Any, empty: Any) -> Any:
        rays = _rays(builder, _halves(builder, straight, diagonal), empty)
        return [_union(builder, rays, lanes) for lanes in (range(4), range(4, 8))]

    return _of_bitboards(3, 2, generate)


@intrinsic
def knights(typing_context: Any, squares: Any) -> Any:
    """Squares (uint64) that knights on ``squares`` (uint64) attack."""

    def generate(builder: Any, squares: Any) -> Any:
        inside = _constant([_landing(*step) for step in _KNIGHT])
        targets = builder.and_(_step(builder, _splat(builder, squares), _KNIGHT), inside)
        return [_union(builder, targets, range(_LANES))]

    return _of_bitboards(1, 1, generate)


@intrinsic
def checks_and_pins(
    typing_context: Any, king: Any, own: Any, straight: Any, diagonal: Any, empty: Any
) -> Any:
    """Enemy sliders that give check, and own pieces that alone keep one from doing so.

    Parameters
    ----------
    king, own : uint64
        The king, and all pieces of its colour.
    straight, diagonal : uint64
        Enemy pieces that attack like rooks, and like bishops; queens are in both.
    empty : uint64

    Returns
    -------
    tuple of two uint64
    """

    def generate(
        builder: Any, king: Any, own: Any, straight: Any, diagonal: Any, empty: Any
    ) -> Any:
        enemies, nothing = _halves(builder, straight, diagonal), _constant([0] * _LANES)
        seen = _rays(builder, _splat(builder, king), empty)
        shields = builder.and_(seen, _splat(builder, own))
        snipers = builder.and_(_rays(builder, shields, empty), enemies)
        pinned = builder.select(builder.icmp_unsigned("!=", snipers, nothing), shields, nothing)
        lanes = range(_LANES)
        return [_union(builder, builder.and_(seen, enemies), lanes), _union(builder, pinned, lanes)]

    return _of_bitboards(5, 2, generate)
