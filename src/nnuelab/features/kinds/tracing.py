"""Squares that a piece has to do with: what definitions about attacks are made of.

A definition is a function of a square and all pieces, (role, colour) by square, as one player sees
them. It says in plain Python which squares the piece there has to do with: by the sources here,
and ``&``, ``|`` and ``-`` between them. :func:`trace` asks it once for each role and colour with a
square and pieces that stand for any, and gets an expression, from which the instructions for jitted
code are made (:mod:`nnuelab.features.kernels.square_sets`). So the definition that is written is
what is trained and played. What can't be traced is refused.

A source is a function in plain Python and the same once more for jitted code. The checks of every
block that uses it compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from itertools import accumulate, product
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from nnuelab.errors import UserError, one_line, raised
from nnuelab.features.algebra import kernels_by
from nnuelab.features.concepts import COLOR_NAMES, ROLE_NAMES
from nnuelab.features.legality import LEGAL_PLACES, Seen
from nnuelab.features.records import (
    AND,
    GATE,
    INSTRUCTION,
    KEPT,
    MINUS,
    MOST_DEPTH,
    MOST_PIECES,
    MOST_SOURCES,
    OR,
    PIECE,
    PIECES,
    PLACEMENT,
    SETS,
    UNION,
)

Pieces = Mapping[int, tuple[int, int]]  # (role, colour) by square


class Board(Mapping[int, tuple[int, int]]):
    """(role, colour) by square, and the castling rights: own king's side, queen's, enemy's.

    Parameters
    ----------
    pieces : dict
    castling : int
        Bits as in ``POSITION``, as the player sees them.
    """

    def __init__(self, pieces: Mapping[int, tuple[int, int]], castling: int = 0) -> None:
        self._pieces = MappingProxyType(dict(pieces))
        self.castling = castling

    def __getitem__(self, square: int) -> tuple[int, int]:
        return self._pieces[square]

    def __iter__(self) -> Iterator[int]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def __hash__(self) -> int:
        return hash((tuple(self._pieces.items()), self.castling))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Board)
            and self._pieces == other._pieces
            and self.castling == other.castling
        )


# Expressions -------------------------------------------------------------------------------------

Operation = tuple[int, str, int]
"""An instruction, as in :data:`~nnuelab.features.records.INSTRUCTION`, with the source's name."""

_ALL = (1 << PIECES) - 1
_FULL = (1 << 64) - 1


class Untraceable(Exception):
    """A definition does with its squares what an expression can't say."""


def _refused(*_: Any) -> NoReturn:
    raise Untraceable(
        "build it from sources with &, | and -; the squares themselves are not known here"
    )


class _AnySquare:
    """Stands for any square; it can't be compared or looked up, only be handed to sources."""

    __eq__ = __ne__ = __hash__ = _refused  # type: ignore[assignment]


_SQUARE = _AnySquare()


@dataclass(frozen=True, eq=False)
class Squares:
    """An expression that stands for a set of squares.

    Attributes
    ----------
    code : tuple of Operation
        Postfix.
    of_piece : bool
        Whether it depends on which of the pieces of a role and colour is asked.
    joins : bool
        Whether the union of what the pieces of a role and colour have is the same expression of
        the unions, if there is such a piece.
    gated : bool
        Whether it is empty where there is none.
    reach : int64[64] as Python integers
        Bitboard of what it can be on any board, by the piece's square.
    most : int
        Bound of the pairs of a piece and one of its squares, in any position.
    """

    code: tuple[Operation, ...]
    of_piece: bool
    joins: bool
    gated: bool
    reach: tuple[int, ...]
    most: int

    def _with(self, other: Any, operation: int) -> Squares:
        if isinstance(other, set | frozenset) and not other:
            other = _union("standing", 0)
        if not isinstance(other, Squares):
            _refused()
        both = self.of_piece and other.of_piece
        joins = {OR: True, AND: not both, MINUS: not other.of_piece}[operation]
        gated = {OR: self.gated and other.gated, AND: self.gated or other.gated, MINUS: self.gated}
        pairs = list(zip(self.reach, other.reach, strict=True))
        reach, most = {
            OR: (tuple(a | b for a, b in pairs), self.most + other.most),
            AND: (tuple(a & b for a, b in pairs), min(self.most, other.most)),
            MINUS: (self.reach, self.most),
        }[operation]
        return Squares(
            (*self.code, *other.code, (operation, "", 0)),
            self.of_piece or other.of_piece,
            self.joins and other.joins and joins,
            gated[operation],
            reach,
            most,
        )

    def gate(self, piece: int) -> Squares:
        """The same, but empty where there is no such piece."""
        if self.gated:
            return self
        return replace(self, code=(*self.code, (GATE, "standing", 1 << piece)), gated=True)

    def __and__(self, other: Any) -> Squares:
        return self._with(other, AND)

    def __or__(self, other: Any) -> Squares:
        return self._with(other, OR)

    def __sub__(self, other: Any) -> Squares:
        return self._with(other, MINUS)

    __rand__, __ror__ = __and__, __or__
    __iter__ = __len__ = __bool__ = __contains__ = __rsub__ = __xor__ = _refused
    __lt__ = __le__ = __gt__ = __ge__ = _refused
    __eq__ = __ne__ = __hash__ = _refused  # type: ignore[assignment]


def _union(name: str, pieces: int) -> Squares:
    """What the given pieces (a bit for each) have together by a source."""
    code = ((UNION, name, pieces),)
    return Squares(code, False, True, False, (_FULL,) * 64, MOST_PIECES * 64)


class _AnyPieces(Mapping[Any, tuple[int, int]]):
    """Stands for all pieces; on the square that stands for any is one of a role and colour."""

    def __init__(self, role: int, color: int) -> None:
        self._piece = role, color

    def __getitem__(self, square: Any) -> tuple[int, int]:
        if square is not _SQUARE:
            _refused()
        return self._piece

    def keys(self) -> Any:
        return _union("standing", _ALL)

    __iter__ = __len__ = __contains__ = _refused

    def ask(self, name: str, reach: Reach, most: int, square: Any) -> Squares:
        """What the piece has by a source."""
        role, color = self[square]
        piece = 2 * role + color
        found = (reach(role, color, s) if LEGAL_PLACES[piece, s] else () for s in range(64))
        bits = tuple(sum(1 << target for target in targets) for targets in found)
        return Squares(((PIECE, name, 1 << piece),), True, True, True, bits, most)


Reach = Callable[[int, int, int], Iterable[int]]
"""Takes role, colour and square of a piece; returns what a source can be on any board."""
Source = Callable[[Any, Any], Any]
"""Takes a square and all pieces; returns squares that the piece there has to do with."""


def source(*, reach: Reach, most: int) -> Callable[[Source], Source]:
    """Makes a source of a function in plain Python, with a jitted twin of the same name.

    The twin stands in :mod:`nnuelab.features.kernels.sources`.

    Parameters
    ----------
    reach : function
    most : int
        See :class:`Squares`.
    """

    def make(function: Source) -> Source:
        @wraps(function)
        def asked(square: Any, pieces: Any) -> Any:
            if isinstance(pieces, _AnyPieces):
                return pieces.ask(function.__name__, reach, most, square)
            return function(square, pieces)

        return asked

    return make


def trace(what: str, function: Callable[[Any, Any], Any], sections: int) -> list[Squares]:
    """The expression of each section, role and colour, in this order.

    Parameters
    ----------
    what : str
        Whose definition it is, for errors.

    Raises
    ------
    UserError
        When the definition can't be traced, or sees own and enemy pieces with different eyes.
    """
    found: list[list[Squares]] = []
    for role, color in product(range(6), range(2)):
        piece = f"{what}, {COLOR_NAMES[color]} {ROLE_NAMES[role]}"
        try:
            given = function(_SQUARE, _AnyPieces(role, color))
        except Exception as error:
            untraceable = isinstance(error, Untraceable)
            said = one_line(error) if untraceable else raised(error, function)
            raise UserError(f"{piece}: {function.__name__} can't be traced: {said}") from error
        values = given if isinstance(given, tuple) else (given,)
        if len(values) != sections:
            raise UserError(
                f"{piece}: {function.__name__} returns {len(values)} sets, not {sections}"
            )
        if not all(isinstance(value, Squares) or value == set() for value in values):
            raise UserError(f"{piece}: {function.__name__} returns no squares: {values}")
        found.append([v if isinstance(v, Squares) else _union("standing", 0) for v in values])
    for role, section in product(range(6), range(sections)):
        own, enemy = (found[2 * role + color][section].code for color in range(2))
        if tuple(map(_mirrored, own)) != enemy:
            raise UserError(
                f"{what}: {function.__name__} treats own and enemy {ROLE_NAMES[role]}s "
                "differently: make one the mirror image of the other"
            )
    return [of_piece[section] for section in range(sections) for of_piece in found]


def _mirrored(operation: Operation) -> Operation:
    kind, name, pieces = operation
    return kind, name, (pieces & _OWN) << 1 | pieces >> 1 & _OWN


_OWN = sum(1 << 2 * role for role in range(6))


def of_side(asked: Source, pieces: Any, color: int, *roles: int) -> Any:
    """What all pieces of a colour have together by a source; of some roles, if any are named."""
    chosen = roles or range(6)
    if isinstance(pieces, _AnyPieces):
        return _union(asked.__name__, sum(1 << 2 * role + color for role in chosen))
    found: set[int] = set()
    for square, (role, c) in pieces.items():
        if c == color and role in chosen:
            found |= asked(square, pieces)
    return found


# For jitted code ---------------------------------------------------------------------------------


def board_of(seen: Seen) -> Board:
    """The pieces of a position, for a definition in plain Python."""
    return Board(seen.pieces, int(seen.position["castling"]))


@dataclass(frozen=True)
class Program:
    """Expressions for jitted code.

    Attributes
    ----------
    data : SETS[1]
    state : bool
        Whether they read more than where the pieces stand.
    owned : tuple
        What the addresses in ``data`` point to.
    """

    data: np.ndarray
    state: bool
    owned: tuple[Any, ...]


def program(expressions: list[Squares], *, keep: bool = True) -> Program:
    """Compiles the sources of expressions, a multiple of twelve, and lists their instructions.

    Parameters
    ----------
    keep : bool
        Whether the sets of positions are kept for updates.
    """
    from numba import from_dtype, types

    from nnuelab.chess.position import POSITION
    from nnuelab.jit import address, entry

    code = [operation for squares in expressions for operation in squares.code]
    names = list(dict.fromkeys(name for kind, name, _ in code if kind <= GATE))
    if len(names) > MOST_SOURCES or max(map(_depth, expressions)) > MOST_DEPTH:
        raise UserError(
            f"a definition uses {len(names)} sources; {MOST_SOURCES} are possible, and "
            f"{MOST_DEPTH} parentheses within each other"
        )
    sources = kernels_by("sources")
    signature = from_dtype(POSITION), types.uint64, types.CPointer(types.uint64)
    functions = np.array([entry(vars(sources)[name], *signature) for name in names], np.uint64)
    numbered = [(kind, names.index(name) if name else 0, pieces) for kind, name, pieces in code]
    instructions = np.array(numbered, INSTRUCTION)
    ends = np.cumsum([len(squares.code) for squares in expressions])
    kept = np.zeros((KEPT, PLACEMENT + len(expressions)) if keep else 0, np.uint64)
    data = np.zeros(1, SETS)
    data["n"], data["n_sources"], data["sources"] = len(expressions), len(names), address(functions)
    # The sets of the sources as they are need no instructions.
    plain = [(PIECE, i // PIECES, 1 << i % PIECES) for i in range(len(expressions))]
    data["n_code"] = 0 if numbered == plain else len(code)
    data["code"], data["ends"], data["kept"] = address(instructions), address(ends), address(kept)
    return Program(data, "castling" in names, (functions, instructions, ends, kept))


def _depth(squares: Squares) -> int:
    steps = {PIECE: 1, UNION: 1, GATE: 0}
    return max(accumulate(steps.get(kind, -1) for kind, _, _ in squares.code))
