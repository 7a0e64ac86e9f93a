"""Extraction by vectors of 64 bytes: all pieces of a position at once, for CPUs with VBMI2.

The squares of a position's pieces are a list of bytes, compressed out of 0..63 by the occupied
squares; the nibbles of the record are the list of those pieces. A feature is the sum of a part of
the square and one of the piece, both looked up for 32 pieces at once. Where pieces share a feature,
only the first of them counts: the occupied squares are reduced to those without a piece of the same
group on a lower square of their class.

Lists are 32 words in an order that suits what comes last: word 2i is element i, word 2i + 1 element
16 + i, so that the even words and the odd ones, widened where they are, are the list in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnuelab.features.concepts import KING
from nnuelab.features.records import (
    BY_KING,
    EXTRACTED,
    INJECTIVE,
    MOST_BEFORE,
    MOST_PIECES,
    PARTS,
    SHARED_ASYMMETRIC,
    SHARED_SYMMETRIC,
    SQUARES_ON_BOARD,
)
from nnuelab.vectors import (
    I1,
    I8,
    I16,
    I32,
    I64,
    compressed,
    declared,
    load,
    shuffled,
    splat,
    store,
)

LOW, HIGH, FLAGS = 8, 16, 24  # bytes from a record's field `occupied` to its other fields
_EMPTY = 128  # instead of a group

_BYTES, _WORDS, _INTS = ir.VectorType(I8, 64), ir.VectorType(I16, 32), ir.VectorType(I32, 16)
_PIECES = ir.VectorType(I8, MOST_PIECES)
_ELEMENTS = [word // 2 + 16 * (word % 2) for word in range(32)]  # of the list in each word


class _Tables:
    """What a record of EXTRACTED holds and leads to."""

    def __init__(self, builder: Any, block: Any) -> None:
        self._builder, self._block = builder, block
        self._parts = self.field("parts", I64)
        self._of_player = builder.mul(self.field("n_tables", I64), I64(PARTS.itemsize))

    def _at(self, name: str, player: int = 0) -> Any:
        kind, offset = EXTRACTED.fields[name][:2]  # type: ignore[index]
        size = kind.itemsize // max(kind.shape, (1,))[0]
        return self._builder.add(self._block, I64(offset + player * size))

    def field(self, name: str, kind: Any, player: int = 0, more: int = 0) -> Any:
        """A field, or a player's part of it, from so many bytes on."""
        builder = self._builder
        return load(builder, builder.add(self._at(name, player), I64(more)), kind, 1)

    def parts(self, player: int, king: Any = None) -> Any:
        """Address of a record of PARTS, by the square of the player's king if there are several."""
        builder = self._builder
        first = builder.add(self._parts, builder.mul(self._of_player, I64(player)))
        if king is None:
            return first
        number = load(builder, builder.add(self._at("classes", player), king), I8, 1)
        return builder.add(first, builder.mul(builder.zext(number, I64), I64(PARTS.itemsize)))


class _Position:
    """A record's pieces as vectors, and what is asked of them."""

    def __init__(self, builder: Any, record: Any, groups: Any) -> None:
        self._builder, self._record = builder, record
        self.occupied = load(builder, record, I64, 1)
        words = shuffled(builder, self._nibbles(ir.VectorType(I64, 2)), [0, 0, 1, 1])
        shift = declared(builder, "llvm.x86.avx512.pmultishift.qb.256", *[_PIECES] * 3)
        shifts = ir.Constant(_PIECES, [4 * (byte % 16) for byte in range(32)])
        found = builder.call(shift, [shifts, builder.bitcast(words, _PIECES)])
        self._pieces = builder.and_(found, ir.Constant(_PIECES, [15] * 32))
        look_up = declared(builder, "llvm.x86.avx2.pshuf.b", *[_PIECES] * 3)
        self._groups = builder.call(look_up, [groups, self._pieces])

    def _nibbles(self, kind: Any) -> Any:
        return load(self._builder, self._builder.add(self._record, I64(LOW)), kind, 1)

    def _bitboard(self, chosen: Any) -> Any:
        """Squares of some of the pieces of the list."""
        builder = self._builder
        deposit = declared(builder, "llvm.x86.bmi.pdep.64", I64, I64, I64)
        bits = builder.zext(builder.bitcast(chosen, I32), I64)
        return builder.call(deposit, [bits, self.occupied])

    def black_to_move(self) -> Any:
        place = self._builder.add(self._record, I64(FLAGS))
        return self._builder.trunc(load(self._builder, place, I8, 1), I1)

    def king(self, player: int) -> Any:
        """The square of a player's king; any square if there is none."""
        builder = self._builder
        code = ir.Constant(_PIECES, [2 * KING + player] * 32)
        board = self._bitboard(builder.icmp_unsigned("==", self._pieces, code))
        return builder.and_(builder.cttz(board, I1(0)), I64(SQUARES_ON_BOARD - 1))

    def grouped(self) -> Any:
        """Squares of the pieces that have a group."""
        zero = ir.Constant(_PIECES, [0] * 32)
        return self._bitboard(self._builder.icmp_unsigned("!=", self._groups, zero))

    def board(self) -> Any:
        """The group of the piece on each square, 0 for none; _EMPTY without a piece."""
        builder, bits = self._builder, ir.VectorType(I1, 64)
        expand = declared(builder, "llvm.x86.avx512.mask.expand.v64i8", *[_BYTES] * 3, bits)
        wide = shuffled(builder, self._groups, [byte % 32 for byte in range(64)])
        empty = ir.Constant(_BYTES, [_EMPTY] * 64)
        return builder.call(expand, [wide, empty, builder.bitcast(self.occupied, bits)])

    def squares(self, board: Any) -> Any:
        """The list of the squares of a bitboard, as words."""
        iota = ir.Constant(_BYTES, list(range(64)))
        return _listed(self._builder, iota, board)

    def pieces_on(self, board: Any) -> Any:
        """The list of the pieces on those squares, as words."""
        builder = self._builder
        extract = declared(builder, "llvm.x86.bmi.pext.64", I64, I64, I64)
        bits = builder.trunc(builder.call(extract, [board, self.occupied]), I32)
        return _listed(builder, self._pieces, bits)

    def all_pieces(self) -> Any:
        """The list of all pieces; of a word only the lowest four bits mean anything."""
        builder, nibbles = self._builder, self._nibbles(ir.VectorType(I8, 16))
        shifts = ir.Constant(_WORDS, [4 * (element % 2) for element in _ELEMENTS])
        return builder.lshr(_words(builder, nibbles, [e // 2 for e in _ELEMENTS]), shifts)


def _listed(builder: Any, values: Any, bits: Any) -> Any:
    """The list of the bytes that bits select, as words; anything is behind."""
    return _words(builder, compressed(builder, values, bits), _ELEMENTS)


def _words(builder: Any, values: Any, order: list[int]) -> Any:
    """Bytes as words in some order; the upper bytes hold anything."""
    return builder.bitcast(shuffled(builder, values, [i for i in order for _ in range(2)]), _WORDS)


class _First:
    """Finds the first piece of each group on each class of squares, for one partition."""

    def __init__(self, builder: Any, tables: _Tables, player: int) -> None:
        self._builder = builder
        self._before = [tables.field("before", _BYTES, player, 64 * i) for i in range(MOST_BEFORE)]

    def squares(self, board: Any) -> Any:
        builder, zero = self._builder, ir.Constant(_BYTES, [0] * 64)
        permute = declared(builder, "llvm.x86.avx512.vpermi2var.qi.512", *[_BYTES] * 4)
        differ = [builder.icmp_unsigned("!=", board, zero)]
        for squares in self._before:
            lower = builder.call(permute, [board, squares, zero])
            differ.append(builder.icmp_unsigned("!=", board, lower))
        while len(differ) > 1:  # in pairs: a chain of all of them would take longer
            differ = [builder.and_(*pair) for pair in zip(differ[::2], differ[1::2], strict=True)]
        return builder.bitcast(differ[0], I64)


class _Parts:
    """Turns lists of squares and pieces into features; by a record of PARTS."""

    def __init__(self, builder: Any, place: Any, based: bool) -> None:
        def part(name: str, kind: Any, more: int = 0) -> Any:
            offset = PARTS.fields[name][1] + more  # type: ignore[index]
            return load(builder, builder.add(place, I64(offset)), kind, 4)

        self._builder = builder
        self._low, self._high = part("squares", _WORDS), part("squares", _WORDS, 64)
        self._pieces = part("pieces", _WORDS)
        self._base = splat(builder, part("base", I32), 16) if based else None

    def write(self, squares: Any, pieces: Any, n: Any, place: Any) -> None:
        """Writes ``n`` features."""
        builder = self._builder
        pair = declared(builder, "llvm.x86.avx512.vpermi2var.hi.512", *[_WORDS] * 4)
        look_up = declared(builder, "llvm.x86.avx512.permvar.hi.512", *[_WORDS] * 3)
        found = builder.add(
            builder.call(pair, [self._low, squares, self._high]),
            builder.call(look_up, [self._pieces, pieces]),
        )
        found = builder.bitcast(found, _INTS)
        even = builder.and_(found, ir.Constant(_INTS, [0xFFFF] * 16))
        odd = builder.lshr(found, ir.Constant(_INTS, [16] * 16))
        mask, pointer = ir.VectorType(I1, 16), _INTS.as_pointer()
        write = declared(
            builder, "llvm.masked.store.v16i32.p0v16i32", ir.VoidType(), _INTS, pointer, I32, mask
        )
        bits = builder.sub(builder.shl(I64(1), n), I64(1))
        for half, values in enumerate((even, odd)):
            there = builder.inttoptr(builder.add(place, I64(64 * half)), pointer)
            wanted = builder.trunc(builder.lshr(bits, I64(16 * half)), I16)
            if self._base is not None:
                values = builder.add(values, self._base)
            builder.call(write, [values, there, I32(4), builder.bitcast(wanted, mask)])


class _Ahead:
    """Makes values some turns of a loop before they are asked for, and holds them in registers.

    What is done for a position is one long chain of instructions, and a CPU looks ahead by few
    positions only.
    """

    def __init__(self, builder: Any, turns: int, make: Callable[[Any], list[Any]]) -> None:
        self._builder, self._turns, self._make = builder, turns, make
        self._places = [
            [cgutils.alloca_once_value(builder, value) for value in make(I64(i))]
            for i in range(turns)
        ]

    def __call__(self, i: Any) -> list[Any]:
        """The values of turn ``i``; turns follow each other."""
        builder = self._builder
        values = [[builder.load(place) for place in places] for places in self._places]
        values.append(self._make(builder.add(i, I64(self._turns))))
        for places, following in zip(self._places, values[1:], strict=True):
            for place, value in zip(places, following, strict=True):
                builder.store(value, place)
        return values[0]


def _extractor(way: int) -> Any:
    """A kernel for the blocks that are extracted in one way."""
    partitions = {SHARED_SYMMETRIC: 1, SHARED_ASYMMETRIC: 2}.get(way, 0)

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
        kept: Any,
    ) -> Any:
        """Appends the features of a block, for both players and ``count`` positions.

        All parameters are int64.

        Parameters
        ----------
        block
            Address of a record of EXTRACTED.
        records, stride, count
            Address of the first position's ``occupied``, with the other fields at LOW, HIGH and
            FLAGS from there, bytes to the next position's, and how many there are, at least 1.
        out, row, other
            Address of the first list for the side to move (int32), bytes to the next position's,
            and bytes from each to that for the other side.
        n, other_n
            Address of the first length (int64, contiguous), written, and bytes to the other's.
        kept
            Whether the lists are appended to (-1), or begun (0).
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            block, records, stride, count, out, row, other, n, other_n, kept = args
            tables = _Tables(builder, block)
            groups = tables.field("groups", _PIECES)
            firsts = [_First(builder, tables, player) for player in range(partitions)]
            fixed = [_Parts(builder, tables.parts(p), based=False) for p in range(2)]
            last = builder.sub(count, I64(1))

            def position(i: Any) -> _Position:
                i = builder.select(builder.icmp_signed("<", i, count), i, last)
                return _Position(builder, builder.add(records, builder.mul(i, stride)), groups)

            def listed(i: Any) -> list[Any]:
                """Which squares count; then lists of them, and of the pieces on them."""
                here = position(i)
                if way == INJECTIVE:
                    return [here.occupied, here.squares(here.occupied), here.all_pieces()]
                if way == BY_KING:
                    counted = here.grouped()
                    return [counted, here.squares(counted), here.pieces_on(counted)]
                (board,) = boards(i)
                counted = [builder.and_(f.squares(board), here.occupied) for f in firsts]
                squares = [here.squares(bits) for bits in counted]
                return counted + squares + [_listed(builder, board, bits) for bits in counted]

            boards = _Ahead(builder, 2 if partitions else 0, lambda i: [position(i).board()])
            lists = _Ahead(builder, 2 if partitions else 0, listed)
            with cgutils.for_range(builder, count) as loop:
                i, here = loop.index, position(loop.index)
                values = lists(i)
                parts = fixed
                if way == BY_KING:
                    places = [tables.parts(p, here.king(p)) for p in range(2)]
                    parts = [_Parts(builder, place, based=True) for place in places]
                black = here.black_to_move()
                list_at, length_at = builder.mul(i, row), builder.shl(i, I64(3))
                list_at, length_at = builder.add(out, list_at), builder.add(n, length_at)
                sides = [
                    (list_at, length_at),
                    (builder.add(list_at, other), builder.add(length_at, other_n)),
                ]
                for player in range(2):
                    list_at, length_at = (
                        builder.select(black, theirs, own)
                        for own, theirs in zip(sides[player], sides[1 - player], strict=True)
                    )
                    apart = max(partitions, 1)
                    counted, squares, pieces = values[player % apart :: apart]
                    more = _limited(builder, builder.ctpop(counted))
                    length = builder.and_(load(builder, length_at, I64, 1), kept)
                    store(builder, builder.add(length, more), length_at, 1)
                    list_at = builder.add(list_at, builder.shl(length, I64(2)))
                    parts[player].write(squares, pieces, more, list_at)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 10), generate

    return extract


def _limited(builder: Any, count: Any) -> Any:
    most = I64(MOST_PIECES)
    return builder.select(builder.icmp_unsigned("<", count, most), count, most)


extract_injective, extract_shared_symmetric, extract_shared_asymmetric, extract_by_king = map(
    _extractor, (INJECTIVE, SHARED_SYMMETRIC, SHARED_ASYMMETRIC, BY_KING)
)
