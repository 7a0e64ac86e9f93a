"""Weights as a string of bits, for optimisers that know nothing else.

Each free number has a field of bits, the highest first. Three encodings:

* ``sign-magnitude``: a bit that is 1 for a negative number, then its magnitude;
* ``magnitude``: the magnitude alone; the sign stays that of the start (of 0: positive), so that
  a bit of 0 always means a smaller weight, as the eliminated terms of the post suggest;
* ``offset``: the number above the lowest one, which is -2 ** (width - 1).

A field has a step: its numbers are multiples of it. All of it is whole centipawns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nnuelab.errors import UserError

ENCODINGS = ("sign-magnitude", "magnitude", "offset")
WIDEST = 16  # bits of a field
HEADROOM = 1.5  # of the start: how far a field reaches
LEAST_RANGE = 63  # centipawns that a field reaches at least, where there are bits enough ...
SHORT_RANGE = 31  # ... and where there are not


@dataclass(frozen=True)
class Genome:
    """Widths and steps of the fields.

    Attributes
    ----------
    encoding : str
        One of ENCODINGS.
    widths : int64 [n]
        Bits of each field.
    steps : int64 [n]
        Centipawns of the lowest bit.
    signs : int64 [n]
        1 or -1: that of all numbers of a field, for the encoding ``magnitude``.
    """

    encoding: str
    widths: np.ndarray
    steps: np.ndarray
    signs: np.ndarray

    @property
    def bits(self) -> int:
        """Width of the whole string."""
        return int(self.widths.sum())

    @property
    def lowest(self) -> np.ndarray:
        """The lowest number of each field: int64 [n]."""
        return self._ends()[0]

    @property
    def highest(self) -> np.ndarray:
        """The highest number of each field: int64 [n]."""
        return self._ends()[1]

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        if self.encoding == "offset":
            half = 2 ** (self.widths - 1)
            return -half * self.steps, (half - 1) * self.steps
        bits = self.widths - (self.encoding == "sign-magnitude")
        far = (2**bits - 1) * self.steps
        if self.encoding == "sign-magnitude":
            return -far, far
        return np.minimum(far * self.signs, 0), np.maximum(far * self.signs, 0)

    def decode(self, bits: np.ndarray) -> np.ndarray:
        """Numbers of strings, int64 [..., n] of bool [..., bits]."""
        field = np.repeat(np.arange(len(self.widths)), self.widths)
        ends = np.cumsum(self.widths)
        values = 1 << (ends[field] - 1 - np.arange(self.bits))
        first = ends - self.widths
        if self.encoding == "sign-magnitude":
            values[first] = 0
        found = np.add.reduceat(bits * values, first, axis=-1)
        if self.encoding == "sign-magnitude":
            found = np.where(bits[..., first], -found, found)
        elif self.encoding == "magnitude":
            found = found * self.signs
        else:
            found = found - (1 << (self.widths - 1))
        return found * self.steps

    def encode(self, numbers: np.ndarray) -> np.ndarray:
        """The string of numbers, bool [..., bits] of int [..., n].

        Raises
        ------
        ValueError
            When a number is out of its field's range, or no multiple of its step.
        """
        numbers = np.asarray(numbers, np.int64)
        if ((numbers < self.lowest) | (numbers > self.highest) | (numbers % self.steps != 0)).any():
            raise ValueError("a number that its field doesn't have")
        found = numbers // self.steps
        offset = self.encoding == "offset"
        found = found + (1 << (self.widths - 1)) if offset else np.abs(found)
        field = np.repeat(np.arange(len(self.widths)), self.widths)
        ends = np.cumsum(self.widths)
        shifts = ends[field] - 1 - np.arange(self.bits)
        bits = (found[..., field] >> shifts) & 1 == 1
        if self.encoding == "sign-magnitude":
            bits[..., ends - self.widths] = numbers < 0
        return bits

    def nearest(self, numbers: np.ndarray) -> np.ndarray:
        """The numbers that fields have nearest to these: int64 [..., n]."""
        whole = np.rint(np.asarray(numbers) / self.steps).astype(np.int64) * self.steps
        return np.clip(whole, self.lowest, self.highest)


def design(
    start: np.ndarray,
    encoding: str = "sign-magnitude",
    total: int = 0,
    given: Mapping[int, int] | None = None,
) -> Genome:
    """A genome for numbers that begin at ``start``.

    Every field reaches half as far again as its start, in steps as small as its width allows. One
    whose width isn't given reaches 63 centipawns at least, in steps of one. With a ``total`` these
    are then made narrower or wider, bit by bit: the widest loses its highest bit where it still
    reaches half as far again as its start and 31 centipawns, and else its lowest (the step doubles,
    the range stays); the narrowest gains one (a finer step, or else twice the range).

    Parameters
    ----------
    start : float64 [n]
        Centipawns.
    encoding : str
    total : int
        Bits of all fields together; 0: as many as they need.
    given : mapping
        Widths by field.

    Raises
    ------
    UserError
        When the widths can't sum to the total.
    """
    given = given or {}
    signed = int(encoding != "magnitude")
    reach = np.maximum(np.ceil(np.abs(start) * HEADROOM), LEAST_RANGE).astype(np.int64)
    widths = np.array([int(far).bit_length() + signed for far in reach])
    steps = np.ones(len(start), np.int64)
    for field, width in given.items():
        if not 1 + signed <= width <= WIDEST:
            raise UserError(
                f"a width of {width} bits: {encoding} takes {1 + signed} to {WIDEST} for a weight"
            )
        widths[field] = width
        while (2 ** (width - signed) - 1) * steps[field] < HEADROOM * abs(start[field]):
            steps[field] *= 2
    free = np.array([i for i in range(len(start)) if i not in given], np.int64)
    if total:
        lowest = int(widths.sum() - widths[free].sum()) + (1 + signed) * len(free)
        highest = int(widths.sum() - widths[free].sum()) + WIDEST * len(free)
        if not lowest <= total <= highest:
            could = f"{lowest} bits" if lowest == highest else f"{lowest} to {highest} bits"
            raise UserError(
                f"the widths of the genome sum to {int(widths.sum())} bits, not {total}: "
                f"{len(start)} weights, {len(given)} of them with a width of their own, can have "
                f"{could}; change --bits or --width"
            )
        needed = np.maximum(HEADROOM * np.abs(start), SHORT_RANGE)
        while widths.sum() > total:
            reached = (2 ** (widths - 1 - signed) - 1) * steps  # with a bit less
            long = free[(reached >= needed)[free]]
            among = long if len(long) else free
            widest = among[np.lexsort((among, steps[among], -widths[among]))[0]]
            widths[widest] -= 1
            if not len(long):
                steps[widest] *= 2
        while widths.sum() < total:
            narrowest = free[np.lexsort((free, -steps[free], widths[free]))[0]]
            widths[narrowest] += 1
            steps[narrowest] = max(1, steps[narrowest] // 2)
    return Genome(encoding, widths, steps, np.where(start < 0, -1, 1))
