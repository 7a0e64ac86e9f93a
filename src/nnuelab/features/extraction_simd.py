"""Extraction by vectors of 64 bytes: all pieces of a position at once, for CPUs with VBMI2.

The squares of a position's pieces are a list of bytes, compressed out of 0..63 by the occupied
squares; so are the pieces, out of the board. A feature is the sum of a part of the square and one
of the piece, both looked up for 32 pieces at once. Where pieces share a row, only the first of them
counts: the list is made of the occupied squares less those that have a piece of the same group on
a lower square of their class.

Lists are 32 words in an order that suits what comes last: word 2i is element i, word 2i + 1 element
16 + i, so that the even words and the odd ones, widened where they are, are the list in order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnuelab.features.block import MOST_PIECES
from nnuelab.features.extraction import EXTRACTED, MOST_BEFORE
from nnuelab.jit import aligned, symbol, table
from nnuelab.vectors import I1, I8, I16, I32, I64, declared, load, splat, store

LOW, HIGH, FLAGS = 8, 16, 24  # bytes from a record's field `occupied` to its other fields
AHEAD = 2  # positions that each of two steps is ahead of the next one

_BYTES, _WORDS, _INTS = ir.VectorType(I8, 64), ir.VectorType(I16, 32), ir.VectorType(I32, 16)
_HALF, _BITS = ir.VectorType(I8, 32), ir.VectorType(I1, 64)
_ELEMENTS = [word // 2 + 16 * (word % 2) for word in range(32)]  # of the list in each word

_PADDING = aligned((MOST_PIECES + 1, MOST_PIECES), np.int32)  # -1 beyond so many features
_PADDING[:] = -(np.arange(MOST_PIECES) >= np.arange(MOST_PIECES + 1)[:, None]).astype(np.int32)
table("extraction_padding", _PADDING)


def _constant(values: Any, vector: Any) -> Any:
    return ir.Constant(vector, list(values))


def _shuffled(builder: Any, vector: Any, lanes: list[int]) -> Any:
    lanes_type = ir.VectorType(I32, len(lanes))
    return builder.shuffle_vector(vector, vector, _constant(lanes, lanes_type))


class _Lists:
    """Makes the lists of squares and pieces of a position: words, and how many."""

    def __init__(self, builder: Any, block: Any, partitions: int) -> None:
        self._builder = builder
        self._partitions = partitions
        self._before = [
            [_member(builder, block, "before", _BYTES, p, 64 * i) for i in range(MOST_BEFORE)]
            for p in range(partitions)
        ]
        self._groups = _member(builder, block, "groups", _HALF)

    def prepared(self, record: Any) -> list[Any]:
        """What the lists are made of, of the record at an address."""
        occupied = load(self._builder, record, I64, 1)
        if not self._partitions:
            return [occupied, self._pieces(record)]
        return [self._board(record, occupied)]

    def of(self, source: list[Any]) -> list[tuple[Any, Any, Any]]:
        """(squares, pieces, n) for each partition of the squares; one if they all differ."""
        builder = self._builder
        if not self._partitions:
            occupied, pieces = source
            squares = self._compressed(_constant(range(64), _BYTES), occupied)
            return [(squares, pieces, self._count(occupied))]
        (board,) = source
        found = []
        for before in self._before:
            first = self._first(board, before)
            squares = self._compressed(_constant(range(64), _BYTES), first)
            pieces = self._compressed(board, first)
            found.append((squares, pieces, self._count(builder.bitcast(first, I64))))
        return found

    def _count(self, bits: Any) -> Any:
        builder = self._builder
        count = builder.ctpop(bits)
        most = I64(MOST_PIECES)
        return builder.select(builder.icmp_unsigned("<", count, most), count, most)

    def _compressed(self, values: Any, bits: Any) -> Any:
        """The bytes that bits select, as words; the upper bytes hold anything."""
        builder = self._builder
        compress = declared(
            builder, "llvm.x86.avx512.mask.compress.v64i8", _BYTES, _BYTES, _BYTES, _BITS
        )
        zero = _constant([0] * 64, _BYTES)
        found = builder.call(compress, [values, zero, builder.bitcast(bits, _BITS)])
        spread = _shuffled(builder, found, [_ELEMENTS[byte // 2] for byte in range(64)])
        return builder.bitcast(spread, _WORDS)

    def _nibbles(self, vector: Any, shifts: Any, place: Any) -> Any:
        """Bytes of a word of nibbles: those that begin at its bits ``shifts``."""
        builder = self._builder
        width = 8 * vector.count
        shift = declared(builder, f"llvm.x86.avx512.pmultishift.qb.{width}", vector, vector, vector)
        word = splat(builder, load(builder, place, I64, 1), vector.count // 8)
        return builder.call(shift, [_constant(shifts, vector), builder.bitcast(word, vector)])

    def _pieces(self, record: Any) -> Any:
        """The pieces as words, of which only the lowest four bits mean anything."""
        shifts = [4 * (_ELEMENTS[byte // 2] % 16) for byte in range(64)]
        low, high = (
            self._nibbles(_BYTES, shifts, self._builder.add(record, I64(offset)))
            for offset in (LOW, HIGH)
        )
        odd = _constant([byte // 2 % 2 for byte in range(64)], _BITS)
        return self._builder.bitcast(self._builder.select(odd, high, low), _WORDS)

    def _board(self, record: Any, occupied: Any) -> Any:
        """The group of the piece on each square, 0 for none."""
        builder = self._builder
        shifts = [4 * (byte % 16) for byte in range(32)]
        low, high = (
            self._nibbles(_HALF, shifts, builder.add(record, I64(offset))) for offset in (LOW, HIGH)
        )
        upper = _constant([byte // 16 for byte in range(32)], ir.VectorType(I1, 32))
        pieces = builder.and_(builder.select(upper, high, low), _constant([15] * 32, _HALF))
        look_up = declared(builder, "llvm.x86.avx2.pshuf.b", _HALF, _HALF, _HALF)
        groups = builder.call(look_up, [self._groups, pieces])
        wide = _shuffled(builder, groups, [byte % 32 for byte in range(64)])
        expand = declared(
            builder, "llvm.x86.avx512.mask.expand.v64i8", _BYTES, _BYTES, _BYTES, _BITS
        )
        zero = _constant([0] * 64, _BYTES)
        return builder.call(expand, [wide, zero, builder.bitcast(occupied, _BITS)])

    def _first(self, board: Any, before: list[Any]) -> Any:
        """Occupied squares without a piece of the same group on a lower square of their class."""
        builder, zero = self._builder, _constant([0] * 64, _BYTES)
        permute = declared(
            builder, "llvm.x86.avx512.vpermi2var.qi.512", _BYTES, _BYTES, _BYTES, _BYTES
        )
        least = board  # of the differences: 0 where one is, and on empty squares
        for squares in before:
            lower = builder.call(permute, [board, squares, zero])
            difference = builder.xor(board, lower)
            smaller = builder.icmp_unsigned("<", difference, least)
            least = builder.select(smaller, difference, least)
        return builder.icmp_unsigned("!=", least, zero)


def _member(builder: Any, block: Any, name: str, vector: Any, player: int = 0, at: int = 0) -> Any:
    """A vector of a block's field."""
    field, offset = EXTRACTED.fields[name][:2]  # type: ignore[index]
    size = field.itemsize // field.shape[0]
    return load(builder, builder.add(block, I64(offset + player * size + at)), vector, 1)


def _extractor(partitions: int, first: bool) -> Any:
    """A kernel for blocks with so many partitions of the squares; ``first``: of a sum."""

    @intrinsic
    def extract(
        typing_context: Any,
        block: Any,
        records: Any,
        stride: Any,
        count: Any,
        out: Any,
        row: Any,
        other: Any,
        n: Any,
        other_n: Any,
    ) -> Any:
        """Appends the features of a block, for both players and ``count`` positions; then -1.

        What is appended to each list is 32 long with the -1, whole. All parameters are int64. The
        first block of a sum begins the lists.

        Parameters
        ----------
        block
            Address of a record of EXTRACTED.
        records, stride
            Address of the first position's ``occupied``, with the other fields at LOW, HIGH and
            FLAGS from there, and bytes to the next position's.
        count
            At least 1.
        out, row, other
            Address of the first list for the side to move (int32), bytes to the next position's,
            and bytes from each to that for the other side.
        n, other_n
            Address of the first length (int64, contiguous), written or added to, and bytes to the
            other's.
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            block, records, stride, count, out, row, other, n, other_n = args
            lists = _Lists(builder, block, partitions)
            features = _Features(builder, block)
            last = builder.add(records, builder.mul(stride, builder.sub(count, I64(1))))

            def prepared(i: Any) -> list[Any]:
                inside = builder.icmp_signed("<", i, count)
                here = builder.add(records, builder.mul(i, stride))
                return lists.prepared(builder.select(inside, here, last))

            def made(source: list[Any]) -> list[Any]:
                return [value for one in lists.of(source) for value in one]

            # A position's instructions are one long chain: three positions are worked on at once.
            ready = _Queue(builder, [made(prepared(I64(k))) for k in range(AHEAD)])
            begun = _Queue(builder, [prepared(I64(AHEAD + k)) for k in range(AHEAD)])
            with cgutils.for_range(builder, count) as loop:
                i = loop.index
                source = begun.exchanged(prepared(builder.add(i, I64(2 * AHEAD))))
                values = ready.exchanged(made(source))
                record = builder.add(records, builder.mul(i, stride))
                black = load(builder, builder.add(record, I64(FLAGS)), I8, 1)
                black = builder.trunc(black, I1)
                found = {0: values[:3], 1: values[-3:]}  # by player
                place = builder.add(out, builder.mul(i, row))
                places = [place, builder.add(place, other)]  # by side
                number = builder.add(n, builder.shl(i, I64(3)))
                for side, length_at in enumerate((number, builder.add(number, other_n))):
                    length = builder.select(black, found[1 - side][2], found[side][2])
                    if not first:
                        before = load(builder, length_at, I64, 1)
                        places[side] = builder.add(places[side], builder.shl(before, I64(2)))
                        length = builder.add(before, length)
                    store(builder, length, length_at, 1)
                for player in range(2):
                    place = builder.select(black, places[1 - player], places[player])
                    features.write(player, found[player], place)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 9), generate

    return extract


class _Queue:
    """Values in registers, each held for as many turns of a loop."""

    def __init__(self, builder: Any, values: list[list[Any]]) -> None:
        self._builder = builder
        self._places = [
            [cgutils.alloca_once_value(builder, value) for value in one] for one in values
        ]

    def exchanged(self, values: list[Any]) -> list[Any]:
        """Takes out the oldest values and puts in others."""
        builder = self._builder
        oldest = [builder.load(place) for place in self._places[0]]
        for one, following in pairwise(self._places):
            for place, source in zip(one, following, strict=True):
                builder.store(builder.load(source), place)
        for place, value in zip(self._places[-1], values, strict=True):
            builder.store(value, place)
        return oldest


class _Features:
    """Turns lists of squares and pieces into features."""

    def __init__(self, builder: Any, block: Any) -> None:
        self._builder = builder
        self._squares = [
            [_member(builder, block, "squares", _WORDS, p, 64 * half) for half in range(2)]
            for p in range(2)
        ]
        self._parts = [_member(builder, block, "pieces", _WORDS, p) for p in range(2)]
        self._padding = builder.ptrtoint(symbol(builder, "extraction_padding"), I64)

    def write(self, player: int, lists: list[Any], place: Any) -> None:
        """Writes the features of lists of squares and pieces, then -1."""
        builder, (squares, pieces, n) = self._builder, lists
        pair = declared(
            builder, "llvm.x86.avx512.vpermi2var.hi.512", _WORDS, _WORDS, _WORDS, _WORDS
        )
        look_up = declared(builder, "llvm.x86.avx512.permvar.hi.512", _WORDS, _WORDS, _WORDS)
        low, high = self._squares[player]
        found = builder.add(
            builder.call(pair, [low, squares, high]),
            builder.call(look_up, [self._parts[player], pieces]),
        )
        found = builder.bitcast(found, _INTS)
        halves = (
            builder.and_(found, _constant([0xFFFF] * 16, _INTS)),
            builder.lshr(found, _constant([16] * 16, _INTS)),
        )
        padding = builder.add(self._padding, builder.mul(n, I64(4 * MOST_PIECES)))
        for half, values in enumerate(halves):
            minus = load(builder, builder.add(padding, I64(64 * half)), _INTS, 64)
            store(builder, builder.or_(values, minus), builder.add(place, I64(64 * half)), 4)


begin_alone, begin_alike, begin_apart = (_extractor(n, True) for n in range(3))
append_alone, append_alike, append_apart = (_extractor(n, False) for n in range(3))
