"""Blocks of a user's own function, jitted: it is called by address, with the board turned over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import from_dtype
from numba.core.errors import NumbaError

from nnuelab.chess.position import EMPTY, NO_SQUARE, POSITION
from nnuelab.errors import UserError
from nnuelab.features.kinds.computed import field_meant
from nnuelab.features.kinds.guarded import Guarded
from nnuelab.features.lists import pack
from nnuelab.features.tables import FROM_SCRATCH
from nnuelab.jit import (
    at,
    byteswap,
    call,
    entry,
    inline,
    jit,
    local_record,
    lsb,
    msb,
    popcount,
)

if TYPE_CHECKING:
    from nnuelab.features.kinds.computed import Computed

COMPUTED = np.dtype(
    [
        ("active", "u8"),  # function
        ("changed", "u8"),  # function, or 0
        ("bound", "i8"),  # of the features that are active at once
        ("size", "i8"),
        # What the function has done against the rules, 0 where it hasn't:
        ("beyond", "i8"),  # a number of features that is no 0..bound
        ("stray", "i8"),  # a feature that is no 0..size - 1
    ]
)

IN_PYTHON = {
    popcount: lambda bits: int(bits).bit_count(),
    lsb: lambda bits: (int(bits) & -int(bits)).bit_length() - 1,
    msb: lambda bits: int(bits).bit_length() - 1,
    byteswap: lambda bits: np.uint64(bits).byteswap(),
}
"""What a function may call that only numba can run, for when Python runs it."""

_position = local_record(POSITION)


def compiled(block: Computed) -> tuple[np.ndarray, Any]:
    """The block's record with its functions compiled, and ``changes`` if it has a hint.

    Raises
    ------
    UserError
        When numba can't compile one of the functions.
    """
    data = np.zeros(1, COMPUTED)
    position = from_dtype(POSITION)
    data["bound"], data["size"] = block.max_active, block.size
    data["active"] = _entry(block, block.function, position, Guarded(block.max_active))
    if block.changed is None:
        return data, None
    data["changed"] = _entry(block, block.changed, position, position)
    return data, changes


def _entry(block: Computed, function: Any, *arguments: Any) -> int:
    try:
        return entry(getattr(function, "py_func", function), *arguments)
    except Exception as error:  # numba's own, or whatever a wrong name makes inside of it
        plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        told = [line.strip(" :") for line in plain.splitlines() if line.strip()]
        # Its first line says at which stage, the second what, and where begins with File.
        place = next((line for line in told if line.startswith("File")), str(block.file))
        what = told[1] if isinstance(error, NumbaError) and len(told) > 1 else repr(error)
        raise UserError(
            f"{place}: block {block.name}: numba can't compile {function.__name__}: "
            f"{what}{field_meant(what)}"
        ) from error


def check(block: Computed, data: np.ndarray) -> None:
    """Raises UserError when the block's function has broken its bounds since the last time."""
    beyond, stray = int(data["beyond"][0]), int(data["stray"][0])
    data["beyond"] = data["stray"] = 0
    where = f"{block.file}: block {block.name}: {block.function.__name__}"
    remedy = f"`nnuelab features check {block.name}` looks for the position"
    if beyond:
        raise UserError(
            f"{where} returned {beyond} active features, not 0..{block.max_active}: mend it, or "
            f"its at_most; {remedy}"
        )
    if stray:
        raise UserError(f"{where} wrote feature {stray}, not one of 0..{block.size - 1}; {remedy}")


@jit
def _turn_over(position, turned):
    """The position as Black sees it: as if Black were White."""
    for role in range(6):
        turned.roles[at(role)] = byteswap(position.roles[at(role)])
    for color in range(2):
        turned.colors[at(color)] = byteswap(position.colors[at(color ^ 1)])
    for square in range(64):
        piece = position.board[at(square)]
        turned.board[at(square ^ 56)] = piece if piece == EMPTY else piece ^ 1
    turned.key = position.key
    turned.checkers = byteswap(position.checkers)
    turned.pinned = byteswap(position.pinned)
    turned.turn = position.turn ^ 1
    turned.castling = position.castling >> 2 | (position.castling & 3) << 2
    turned.ep = position.ep if position.ep == NO_SQUARE else position.ep ^ 56
    turned.halfmove = position.halfmove
    turned.fullmove = position.fullmove


@inline
def _seen(position, perspective, place):
    """The position as a player sees it, in ``place`` where it has to be turned over."""
    if perspective == 0:
        return position
    _turn_over(position, place)
    return place


def active(data, position, perspective, out):
    n = call(data.active, _seen(position, perspective, _position()), out)
    if n < 0 or n > data.bound:
        data.beyond = n
        n = max(np.int64(0), min(n, data.bound))
    for i in range(n):
        if out[i] < 0 or out[i] >= data.size:
            data.stray = out[i]
            out[i] = 0
    return n


def changes(data, old, new, perspective, added, removed):
    before = _seen(old, perspective, _position())
    after = _seen(new, perspective, _position())
    if call(data.changed, before, after) != 0:
        return np.int64(FROM_SCRATCH)
    return pack(np.int64(0), np.int64(0))
