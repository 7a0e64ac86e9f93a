"""A policy that plays: one move at a time, the same one for the same game.

It draws from its probabilities, or takes the likeliest move; walks as Neural Chess does; or looks
one ply ahead with its value head.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, legal_moves, make
from nnuelab.chess.outcome import repetitions
from nnuelab.chess.position import POSITION, insufficient_material
from nnuelab.data.draws import seed_of, splitmix64
from nnuelab.errors import UserError
from nnuelab.jit import at, jit
from nnuelab.policy import choice, inference
from nnuelab.policy.inference import Inference
from nnuelab.policy.policyfile import SQUARES, Policy

UNKNOWN, WINS, DRAWS = np.arange(3)  # what the rules say of a move
_CP_PER_TENFOLD = 400  # centipawns that make the odds of winning ten times as good
_SUREST = 0.9999  # a value beyond is told as this one
_SEEDS = 1 << 64


@dataclass(frozen=True)
class Style:
    """How a policy plays.

    Attributes
    ----------
    temperature : float
        0: the best move; 1: drawn from the probabilities as they are.
    top_p : float
        Only the likeliest moves that together have this probability are drawn from.
    walk : bool
        By the walk over all pairs of squares instead of among the legal moves.
    underpromotions : bool
        Whether it may promote to other pieces than queens, as likely as to a queen.
    plies : int
        0: by its probabilities. 1: by its value head after each move, where mates count as wins,
        and as draws all draws by rule and each position that was there before.
    value_head : bool
        False: as if it had none; one ply then knows mates and draws alone, and every other value
        is 0.
    seed : int
        Of what is drawn.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    walk: bool = False
    underpromotions: bool = False
    plies: int = 0
    value_head: bool = True
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise UserError(f"{name} {value!r} is not a number")
        if not 0 <= self.temperature < math.inf:
            raise UserError(f"temperature {self.temperature!r} is not a number of at least 0")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p {self.top_p!r} is not above 0 and at most 1")
        for name in ("walk", "underpromotions", "value_head"):
            if not isinstance(getattr(self, name), bool):
                raise UserError(f"{name} {getattr(self, name)!r} is neither true nor false")
        for name, most in (("plies", 1), ("seed", _SEEDS - 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
                raise UserError(f"{name} {value!r} is not a whole number from 0 to {most}")
        if self.walk and (self.temperature > 0 or self.plies or self.underpromotions):
            raise UserError("a walk has neither a temperature nor plies nor underpromotions")


@dataclass(frozen=True)
class Candidate:
    """A move, with its probability among the legal ones.

    Attributes
    ----------
    move : int
    probability : float
    value : float or None
        Expected result after it for its player, -1..1; None without a value head.
    mates : bool
    nodes : int
        Positions that were looked at to find it.
    """

    move: int
    probability: float
    value: float | None = None
    mates: bool = False
    nodes: int = 1

    @property
    def centipawns(self) -> int | None:
        """The value as odds in the scale of Elo's formula; None for a mate and without a value."""
        if self.value is None or self.mates:
            return None
        value = min(max(self.value, -_SUREST), _SUREST)
        return round(_CP_PER_TENFOLD * math.log10((1 + value) / (1 - value)))

    @property
    def wdl(self) -> tuple[int, int, int] | None:
        """Wins, draws and losses in 1000: of all with this expected result the most even ones."""
        return None if self.value is None else wdl(self.value)


def wdl(value: float) -> tuple[int, int, int]:
    """Wins, draws and losses in 1000 whose mean is a value and whose entropy is the largest.

    A value head tells a mean alone. Their ratios are x : 1 : 1/x.

    >>> wdl(0.0), wdl(0.5), wdl(-1.0)
    ((333, 334, 333), (616, 268, 116), (0, 0, 1000))
    """
    value = min(max(value, -1.0), 1.0)
    if abs(value) > _SUREST:
        return (1000, 0, 0) if value > 0 else (0, 0, 1000)
    x = (value + math.sqrt(4 - 3 * value * value)) / (2 * (1 - value))
    total = x + 1 + 1 / x
    wins, losses = round(1000 * x / total), round(1000 / x / total)
    return wins, 1000 - wins - losses, losses


@jit
def _activations(policy, position, values):
    inference.hidden(policy, position)
    return inference.activations(policy, values)


@jit
def _logits(policy, position, moves, n, logits):
    inference.hidden(policy, position)
    inference.move_logits(policy, position, moves, n, logits)


@jit
def _after(policy, line, keys, moves, n, values, ends):
    """Values of positions after moves, for who made them, and what the rules say of these.

    Parameters
    ----------
    line : POSITION [2]
        The position, and room for the one after a move.
    keys : uint64 [m]
        Of the game up to the position.
    """
    scratch = np.empty(MAX_MOVES, np.int64)
    for i in range(n):
        make(line[0], line[1], moves[at(i)])
        child = line[1]
        values[at(i)], ends[at(i)] = np.float32(0), DRAWS
        if legal_moves(child, scratch) == 0:
            if child.checkers != 0:
                values[at(i)], ends[at(i)] = np.float32(1), WINS
            continue
        before = repetitions(keys, np.int64(keys.size), child)
        if before > 0 or child.halfmove >= 100 or insufficient_material(child):
            continue
        ends[at(i)] = UNKNOWN
        if policy.has_value:
            inference.hidden(policy, child)
            values[at(i)] = -inference.value(policy)


class Mover:
    """A policy with a style; used by one thread at a time.

    Raises
    ------
    UserError
        When the style needs a value head, and the policy has none.
    """

    _has_value: bool

    def __init__(self, policy: Policy, style: Style | None = None) -> None:
        self.policy = policy
        self._inference = Inference(policy)
        self.style = style or Style()

    @property
    def style(self) -> Style:
        """May be set anew between moves."""
        return self._style

    @style.setter
    def style(self, style: Style) -> None:
        if style.plies and style.value_head and not self.policy.has_value:
            raise UserError("plies: the policy has no value head to look ahead with")
        self._style = style
        self._has_value = self.policy.has_value and style.value_head
        self._inference.record["has_value"] = self._has_value

    def activations(self, position: np.void) -> np.ndarray:
        """What is walked, as the player to move sees it.

        Returns
        -------
        float32 [128] or float32 [4096]
            Outputs of squares to go from and to go to; logits of pairs where there are such.
        """
        values = np.empty(SQUARES * SQUARES, np.float32)
        n = _activations(self._inference.record, position, values)
        self._inference.check()
        return values[:n]

    def walked(self, position: np.void) -> np.void:
        """The walk in a position: a WALK record."""
        return walked(position, self.activations(position))

    def ranked(
        self,
        position: np.void,
        keys: Sequence[int] | np.ndarray,
        count: int = 1,
        only: Sequence[int] | None = None,
    ) -> list[Candidate]:
        """The moves, the one to play first and the others in their order.

        Parameters
        ----------
        position : POSITION record
        keys : sequence of int, or uint64 [m]
            Of the positions of the game before it.
        count : int
            So many are wanted at most.
        only : sequence of int or None
            Among these legal moves.
        """
        style, record = self.style, self._inference.record
        moves = np.empty(MAX_MOVES, np.int64)
        n = int(legal_moves(position, moves))
        if only is not None:
            n = len(only)
            moves[:n] = only
        elif not style.underpromotions:
            n = int(choice.without_underpromotions(moves, n))
        if n == 0:
            return []
        logits = np.empty(n, np.float32)
        _logits(record, position, moves, n, logits)
        order = np.argsort(-logits, kind="stable")
        moves, logits = moves[order], logits[order]
        weights = np.exp(logits.astype(float) - float(logits[0]))
        probabilities = weights / weights.sum()

        evaluated = n if style.plies else min(count, n)
        first = 0
        if style.walk:
            found = np.flatnonzero(moves == int(self.walked(position)["move"]))
            first = int(found[0]) if len(found) else 0
        elif not style.plies:
            first = choice.draw(
                *(logits, n, float(style.temperature), float(style.top_p)),
                self._state(position),
            )
        moves, probabilities = _put_first(first, moves, probabilities)
        values, ends = self._values(position, keys, moves, evaluated)
        if style.plies:
            order = np.argsort(-values, kind="stable")  # equal ones by their probabilities
            first = 0
            if style.temperature > 0 and ends[order[0]] != WINS:
                first = choice.draw(
                    *(values[order], n, float(style.temperature), float(style.top_p)),
                    self._state(position),
                )
            (order,) = _put_first(first, order)
            moves, probabilities, values, ends = (
                array[order] for array in (moves, probabilities, values, ends)
            )
        self._inference.check()
        return [
            Candidate(
                int(moves[i]),
                float(probabilities[i]),
                float(values[i]) if ends[i] != UNKNOWN or self._has_value else None,
                bool(ends[i] == WINS),
                1 + (evaluated if style.plies or self._has_value else 0),
            )
            for i in range(min(count, n))
        ]

    def _values(
        self, position: np.void, keys: Sequence[int] | np.ndarray, moves: np.ndarray, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        line = np.zeros(2, POSITION)
        line[0] = position
        known = np.append(np.asarray(keys, np.uint64), position["key"])
        values, ends = np.empty(n, np.float32), np.empty(n, np.int64)
        _after(self._inference.record, line, known, moves, n, values, ends)
        return values, ends

    def _state(self, position: np.void) -> np.ndarray:
        """Of the generator, by the seed, the position and its number in the game."""
        return state_of(position, self.style.seed)


def walked(position: np.void, values: np.ndarray) -> np.void:
    """The walk over activations: a WALK record."""
    found = np.zeros(1, choice.WALK)[0]
    choice.walk(position, values, found)
    return found


def state_of(position: np.void, seed: int) -> np.ndarray:
    """uint64 [1]: a state of splitmix64 by a seed, a position and its number in the game."""
    number = 2 * int(position["fullmove"]) + int(position["turn"])
    with np.errstate(over="ignore"):
        return np.array([splitmix64.py_func(seed_of(seed, number) ^ position["key"])], np.uint64)


def _put_first(i: int, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    order = [i, *(j for j in range(len(arrays[0])) if j != i)]
    return tuple(array[order] for array in arrays)
