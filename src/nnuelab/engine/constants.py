"""The numbers of the search: margins of its pruning in centipawns, and depths in plies.

The forms are those that the strong open engines agree on (Stockfish, Ethereal, Weiss); the numbers
are round starting values for the shipped net. They stand in the record of a search and not in its
code: two engines of one process may differ in them, and ``nnuelab spsa`` tunes them without
compiling anew. Divisors are left in the code, where a division by a known number is a shift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nnuelab.errors import UserError, nearest


@dataclass(frozen=True)
class Constant:
    """A number of the search: its value, and the least and the most that make sense."""

    default: int
    least: int
    most: int


CONSTANTS = {
    "reverse_depth": Constant(8, 0, 20),
    "reverse_margin": Constant(80, 1, 400),
    "razor_depth": Constant(3, 0, 12),
    "razor_margin": Constant(150, 0, 1000),
    "razor_slope": Constant(150, 0, 1000),
    "null_depth": Constant(3, 1, 12),
    "null_reduction": Constant(3, 1, 8),
    "internal_reduction_depth": Constant(4, 1, 20),
    "late_depth": Constant(8, 0, 20),
    "late_moves": Constant(4, 1, 40),
    "futility_depth": Constant(7, 0, 20),
    "futility_margin": Constant(120, 0, 800),
    "futility_slope": Constant(90, 0, 600),
    "exchange_depth": Constant(8, 0, 20),
    "exchange_quiet": Constant(60, 0, 400),
    "exchange_capture": Constant(100, 0, 600),
    "reduction_depth": Constant(3, 2, 12),
    "delta_margin": Constant(150, 0, 1000),
    "aspiration_depth": Constant(5, 1, 20),
    "aspiration_window": Constant(20, 1, 500),
}

RECORD = np.dtype([(name, "i8") for name in CONSTANTS])
"""All of them, for compiled code."""


def record(chosen: Mapping[str, int] | None = None) -> np.void:
    """RECORD of the defaults, but for what is ``chosen``.

    Raises
    ------
    UserError
        For a name that there isn't, and a value that is no whole number within its bounds.
    """
    found = np.array([tuple(constant.default for constant in CONSTANTS.values())], RECORD)[0]
    for name, value in (chosen or {}).items():
        constant = CONSTANTS.get(name)
        if constant is None:
            raise UserError(f"the search has no constant {name}{nearest(name, CONSTANTS)}")
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not constant.least <= value <= constant.most:
            raise UserError(
                f"constant {name}: {value!r} is no whole number of {constant.least} to "
                f"{constant.most}"
            )
        found[name] = value
    return found
