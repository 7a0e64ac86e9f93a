"""Games of policies and of simple movers, many boards in lockstep, in compiled code.

Each board has its own generator, so that a game depends on its seed and number alone: not on how
many others there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.moves import MAX_MOVES, legal_moves, make
from nnuelab.chess.outcome import MATE, MATERIAL, ONGOING, outcome, repetitions
from nnuelab.chess.position import POSITION
from nnuelab.data.draws import seed_of, uniform
from nnuelab.data.records import NO_SCORE, RECORD, pack
from nnuelab.jit import at, jit, local_record, popcount
from nnuelab.policy.choice import WALK, draw, walk_among, without_underpromotions
from nnuelab.policy.inference import POLICY, Inference, activations, hidden, move_logits, value
from nnuelab.policy.policyfile import SQUARES, Policy

# What ends a game besides the rules of chess
LIMIT, BLOCKED = MATERIAL + 1 + np.arange(2)  # the ply limit; the guard forbids every legal move
END_NAMES = (
    *("ongoing", "mate", "stalemate", "fifty moves", "repetition", "material"),
    *("ply limit", "blocked"),
)

MOVERS = ("random", "points", "greedy", "sampled", "walk", "value")
RANDOM, POINTS, GREEDY, SAMPLED, WALKING, VALUE = np.arange(len(MOVERS))
GUARDS = ("none", "threefold", "repeated")
NO_GUARD, THREEFOLD, REPEATED = np.arange(len(GUARDS))

PLAYER = np.dtype(
    [("mover", "i8"), ("temperature", "f8"), ("top_p", "f8"), ("policy", POLICY)], align=True
)
RULES = np.dtype([("max_plies", "i8"), ("guard", "i8")])
PLY = np.dtype(
    [
        ("record", RECORD),  # with move, ply, game and result
        ("probability", "f4"),  # of the move, by the player's softmax; 1 where it has none
        ("from_rank", "u2"),  # of the walk, as of choice.WALK; 0 for other movers
        ("to_rank", "u2"),
        ("tries", "u2"),
        ("checks", "u2"),
    ]
)
"""A half-move that was played."""

_walk = local_record(WALK)
_ZERO = np.uint64(0)
ROLE_POINTS = np.array([1, 3, 3, 5, 8, 0])
"""What the seed gives for a piece, by its role."""


@jit
def points(position, color):
    """Material of a colour, by ROLE_POINTS."""
    total = 0
    for role in range(6):
        total += ROLE_POINTS[role] * popcount(position.roles[role] & position.colors[color])
    return total


@jit
def _allowed(guard, positions, keys, ply, moves, n):
    """Leaves the moves that a guard allows, in place; returns how many remain."""
    kept = 0
    enough = 2 if guard == THREEFOLD else 1
    for i in range(n):
        make(positions[at(ply)], positions[at(ply + 1)], moves[at(i)])
        if repetitions(keys, ply + 1, positions[at(ply + 1)]) < enough:
            moves[at(kept)] = moves[at(i)]
            kept += 1
    return kept


@jit
def _best_after(player, positions, keys, ply, moves, n, state):
    """The best move by the position after it: by points or the value; equal ones are drawn."""
    best, n_best, chosen = -np.inf, 0, np.int64(0)
    replies = np.empty(MAX_MOVES, np.int64)
    us = np.int64(positions[at(ply)].turn)
    for i in range(n):
        after = positions[at(ply + 1)]
        make(positions[at(ply)], after, moves[at(i)])
        keys[at(ply + 1)] = after.key
        end = outcome(positions, keys, ply + 1, legal_moves(after, replies))
        if end == MATE:
            found = 1e9
        elif end != ONGOING or repetitions(keys, ply + 1, after) > 0:
            found = 0.0
        elif player.mover == POINTS:
            found = np.float64(points(after, us) - points(after, us ^ 1))
        else:
            hidden(player.policy, after)
            found = -np.float64(value(player.policy))
        if found > best:
            best, n_best = found, 0
        if found == best:
            n_best += 1
            if n_best == 1 or uniform(state) * n_best < 1:
                chosen = np.int64(i)
    return chosen


@jit
def _choose(player, positions, keys, ply, moves, n, state, logits, found):
    """Index of the move that a player chooses; ``found`` (PLY record) gets probability and counts.

    A walk that finds none gives -1.
    """
    position = positions[at(ply)]
    found.probability = np.float32(1)
    found.from_rank, found.to_rank, found.tries, found.checks = 0, 0, 0, 0
    if player.mover == RANDOM:
        found.probability = np.float32(1) / np.float32(n)
        return np.int64(uniform(state) * n)
    if player.mover == POINTS or player.mover == VALUE:
        return np.int64(_best_after(player, positions, keys, ply, moves, n, state))
    hidden(player.policy, position)
    if player.mover == WALKING:
        steps, values = _walk(), np.empty(SQUARES * SQUARES, np.float32)
        walked = values[: activations(player.policy, values)]
        walk_among(position, walked, moves, n, steps)
        found.from_rank, found.to_rank = steps.from_rank, steps.to_rank
        found.tries, found.checks = steps.tries, steps.checks
        for j in range(n):
            if moves[at(j)] == steps.move:
                return np.int64(j)
        return np.int64(-1)
    move_logits(player.policy, position, moves, n, logits)
    greedy = player.mover == GREEDY
    temperature = 0.0 if greedy else player.temperature
    i = draw(logits, n, temperature, player.top_p, state)
    scale, total = 1.0 if greedy else player.temperature, 0.0
    for j in range(n):
        total += np.exp((np.float64(logits[at(j)]) - np.float64(logits[at(i)])) / scale)
    found.probability = np.float32(1 / total)
    return i


@jit
def advance(first, second, alternate, rules, states, positions, keys, plies, lengths, ends):
    """Plays a half-move on each board whose game goes on; returns how many still do.

    Parameters
    ----------
    first, second : PLAYER record
        White and Black; on odd boards the other way round if ``alternate``.
    rules : RULES record
    states : uint64 [B, 1], updated
    positions, keys : POSITION, uint64 [B, max_plies + 2], written
    plies : PLY [B, max_plies], written
    lengths, ends : int64 [B], updated
    """
    moves, logits = np.empty(MAX_MOVES, np.int64), np.empty(MAX_MOVES, np.float32)
    running = 0
    for b in range(len(ends)):
        if ends[b] != ONGOING:
            continue
        ply = lengths[b]
        position = positions[b, ply]
        n = legal_moves(position, moves)
        ends[b] = outcome(positions[b], keys[b], ply, n)
        if ends[b] == ONGOING and ply == rules.max_plies:
            ends[b] = LIMIT
        if ends[b] != ONGOING:
            continue
        n = without_underpromotions(moves, n)
        if rules.guard != NO_GUARD:
            n = _allowed(rules.guard, positions[b], keys[b], ply, moves, n)
        found = plies[b, ply]
        i = np.int64(-1)
        if n > 0 and (np.int64(position.turn) ^ (b & alternate)) == 0:
            i = _choose(first, positions[b], keys[b], ply, moves, n, states[b], logits, found)
        elif n > 0:
            i = _choose(second, positions[b], keys[b], ply, moves, n, states[b], logits, found)
        if i < 0:
            ends[b] = BLOCKED
            continue
        pack(position, found.record)
        found.record.move, found.record.ply, found.record.game = moves[at(i)], ply, b
        found.record.score = NO_SCORE
        make(position, positions[b, ply + 1], moves[at(i)])
        keys[b, ply + 1] = positions[b, ply + 1].key
        lengths[b] = ply + 1
        running += 1
    return running


@dataclass
class Games:
    """Games that were played.

    Attributes
    ----------
    plies : PLY [B, max_plies]
    lengths, ends, results : int64 [B]
        Half-moves; what ended them; for White 1, 0, -1.
    points : int64 [B, 2]
        Material of White and Black at the end, by the seed's points.
    positions : POSITION [B, max_plies + 2]
    """

    plies: np.ndarray
    lengths: np.ndarray
    ends: np.ndarray
    results: np.ndarray
    points: np.ndarray
    positions: np.ndarray

    def of(self, board: int) -> np.ndarray:
        """PLY: the half-moves of a game."""
        found: np.ndarray = self.plies[board, : self.lengths[board]]
        return found

    def all(self) -> np.ndarray:
        """PLY: the half-moves of all games, one after another."""
        return np.concatenate([self.of(b) for b in range(len(self.ends))])

    def shares(self) -> dict[str, float]:
        """Share of the games by what ended them."""
        return {
            name: float(np.mean(self.ends == end))
            for end, name in enumerate(END_NAMES)
            if end != ONGOING
        }


class Player:
    """A mover, with its policy where it needs one; for one thread at a time.

    Parameters
    ----------
    mover : {"random", "points", "greedy", "sampled", "walk", "value"}
        Any legal move; the best material after it; by the policy: the likeliest, a drawn one, the
        seed's walk; the best value after it.
    """

    def __init__(
        self,
        mover: str,
        policy: Policy | None = None,
        temperature: float = 1.0,
        top_p: float = 1.0,
    ) -> None:
        self._inference = Inference(policy) if policy is not None else None
        if self._inference is None and mover not in ("random", "points"):
            raise ValueError(f"the mover {mover} needs a policy")
        if policy is not None and mover == "value" and not policy.has_value:
            raise ValueError("the mover value needs a policy with a value head")
        records = np.zeros(1, PLAYER)
        records["mover"] = MOVERS.index(mover)
        records["temperature"], records["top_p"] = temperature, top_p
        if self._inference is not None:
            records["policy"] = self._inference.record
        self.record = records[0]


def start(positions: np.ndarray, keys: np.ndarray, fen: str = notation.STARTING_FEN) -> None:
    """Sets all boards up."""
    positions[:, 0] = notation.from_fen(fen)
    keys[:, 0] = positions[0, 0]["key"]


def play(
    first: Player,
    second: Player,
    boards: int,
    seed: int,
    *,
    max_plies: int = 100,
    guard: str = "none",
    alternate: bool = False,
    number: int = 0,
    fen: str = notation.STARTING_FEN,
) -> Games:
    """Plays games from one position, all boards in lockstep.

    Parameters
    ----------
    seed, number : int
        Of the games, and the number of the first one: it has a generator of its own.
    max_plies : int
        A draw after so many half-moves: the ply limit.
    guard : {"none", "threefold", "repeated"}
        Forbids moves that bring a position a third time, or any that was there before.
    alternate : bool
        The players change colours from game to game.
    """
    positions = np.zeros((boards, max_plies + 2), POSITION)
    keys = np.zeros((boards, max_plies + 2), np.uint64)
    plies = np.zeros((boards, max_plies), PLY)
    lengths, ends = np.zeros(boards, np.int64), np.zeros(boards, np.int64)
    states = np.array([[seed_of(seed, number + b)] for b in range(boards)], np.uint64)
    rules = np.array([(max_plies, GUARDS.index(guard))], RULES)[0]
    start(positions, keys, fen)
    arrays = positions, keys, plies, lengths, ends
    players = first.record, second.record
    while advance(*players, np.int64(alternate), rules, states, *arrays):
        pass
    results, material = np.zeros(boards, np.int64), np.zeros((boards, 2), np.int64)
    _finish(positions, plies, lengths, ends, results, material)
    plies["record"]["game"] += np.uint32(number)
    return Games(plies, lengths, ends, results, material, positions)


@jit
def _finish(positions, plies, lengths, ends, results, material):
    for b in range(len(ends)):
        last = positions[b, lengths[b]]
        if ends[b] == MATE:
            results[b] = 1 if last.turn else -1
        for color in range(2):
            material[b, color] = points(last, np.int64(color))
        for ply in range(lengths[b]):
            black = positions[b, ply].turn
            plies[b, ply].record.result = -results[b] if black else results[b]


def score(games: Games) -> float:
    """The true score of the first of two players who alternated: wins by mate, draws half."""
    white = np.arange(len(games.results)) % 2 == 0
    return float(np.mean(np.where(white, games.results, -games.results)) / 2 + 0.5)
