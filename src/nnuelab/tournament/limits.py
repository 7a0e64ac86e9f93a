"""How long a player may think, and the clock that holds it to that. Times are milliseconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from nnuelab.errors import UserError, quoted
from nnuelab.settings import MOST

KINDS = ("nodes", "depth", "movetime", "clock")
MARGIN = 20.0  # ms
_CLOCK = re.compile(r"(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Limit:
    """What ends a player's thinking: one of nodes, depth, movetime and clock.

    Attributes
    ----------
    nodes, depth : int or None
        Of each move.
    movetime : float or None
        For each move, ms.
    clock : float or None
        For the whole game, ms; each move brings ``increment``.
    increment : float
        ms.
    margin : float
        So much later than a time limit allows, a move is still in time, ms.
    """

    nodes: int | None = None
    depth: int | None = None
    movetime: float | None = None
    clock: float | None = None
    increment: float = 0.0
    margin: float = MARGIN

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Self:
        """A limit from settings: one of KINDS, and ``margin`` if the limit is a time.

        ``clock`` is a text like ``100+20``.

        Raises
        ------
        UserError
            None of them, more than one, or a value that is no positive number.
        """
        given = [kind for kind in KINDS if settings.get(kind) is not None]
        if len(given) != 1:
            raise UserError(
                f"one limit is needed, {', '.join(KINDS[:-1])} or {KINDS[-1]}; there "
                f"{'is none' if not given else 'are ' + ' and '.join(given)}"
            )
        kind = given[0]
        margin = settings.get("margin")
        if margin is None:
            margin = MARGIN
        elif kind in ("nodes", "depth"):
            raise UserError(f"a margin needs a time limit (movetime, clock), not {kind}")
        margin = _number(margin, "margin", zero=True)
        value = settings[kind]
        if kind == "clock":
            match = _CLOCK.fullmatch(str(value).replace(" ", ""))
            if match is None:
                raise UserError(
                    f"clock {quoted(value)} is not of the form TIME+INCREMENT, in ms (100+20)"
                )
            start = _number(float(match[1]), "clock")
            return cls(clock=start, increment=float(match[2] or 0), margin=margin)
        if kind == "movetime":
            return cls(movetime=_number(value, kind), margin=margin)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
            raise UserError(f"{kind} {quoted(value)}: it must be a whole number of 1 to {MOST:,}")
        return cls(**{kind: value})

    def divided_by(self, cost: float) -> Self:
        """As many nodes as cost together what these do, where each is ``cost`` times as dear.

        >>> Limit(nodes=400).divided_by(1.61).nodes
        248
        """
        assert self.nodes is not None
        return replace(self, nodes=max(1, round(self.nodes / cost)))

    @property
    def is_time(self) -> bool:
        """Whether games under this limit depend on the speed of the machine."""
        return self.movetime is not None or self.clock is not None

    def told(self) -> dict[str, Any]:
        """What is set of it, as JSON."""
        told = asdict(self)
        if not self.is_time:
            del told["margin"], told["increment"]
        return {name: value for name, value in told.items() if value is not None}

    def __str__(self) -> str:
        """As in PGN's tag TimeControl, which counts in seconds: ``0.1+0.02``, ``0.1/move``."""
        if self.clock is not None:
            return f"{self.clock / 1000:g}+{self.increment / 1000:g}"
        if self.movetime is not None:
            return f"{self.movetime / 1000:g}/move"
        return f"{self.nodes} nodes" if self.nodes is not None else f"depth {self.depth}"


def _number(value: Any, name: str, *, zero: bool = False) -> float:
    right = isinstance(value, int | float) and not isinstance(value, bool)
    if not right or not (0 < value < float("inf") or (zero and value == 0)):
        least = "not be negative" if zero else "be positive"
        raise UserError(f"{name} {quoted(value)}: it must be a number of ms and {least}")
    return float(value)


class Clock:
    """The time of one side in one game.

    Attributes
    ----------
    left : float
        What a move may take now, ms; infinite where the limit is none of time.
    """

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.left = float("inf")
        if limit.is_time:
            self.left = limit.clock if limit.clock is not None else limit.movetime or 0.0

    def overstepped(self, taken: float) -> bool:
        """Whether a move that took this many ms is late."""
        return taken > self.left + self.limit.margin

    def charge(self, taken: float) -> None:
        """Counts a move in time of this many ms."""
        if self.limit.clock is not None:
            self.left = max(self.left - taken, 0.0) + self.limit.increment


@dataclass(frozen=True)
class Turn:
    """What a player knows when it is to move.

    Attributes
    ----------
    limit : Limit
        Its own.
    left, opponent_left : float
        ms on both clocks; infinite for a side without one.
    opponent_increment : float
        ms.
    """

    limit: Limit
    left: float
    opponent_left: float
    opponent_increment: float
