"""What a move is rewarded with, each term by a switch, and the targets that a net is fitted to.

The terms are those of Neural Chess, whose author tried them one by one. All amounts are settings;
0 turns a term off. By default the values are those of its listing: captures count by the piece, and
whoever wins, or is ahead in a game without a winner, gets 100 for every move.
"""

from __future__ import annotations

import numpy as np

from nnuelab.chess.moves import CASTLING, EN_PASSANT, PROMOTION, kind, make, origin, target
from nnuelab.chess.position import EMPTY, PAWN, POSITION
from nnuelab.data.records import unpack
from nnuelab.jit import at, jit
from nnuelab.policy.games import PLY, ROLE_POINTS, points
from nnuelab.policy.inference import seen
from nnuelab.policy.policyfile import SQUARES
from nnuelab.settings.policy_selfplay import Rewards

FACTS = np.dtype(
    [
        ("turn", "i8"),
        ("piece", "i8"),  # role that moved
        ("captured", "i8"),  # points that the move took
        ("promotion", "i8"),
        ("castling", "i8"),
        ("centre", "i8"),  # it went to d4, e4, d5 or e5
        ("ahead", "i8"),  # points of the player who moved less those of the other, after it
        ("start", "i8"),  # squares as the player sees them
        ("square", "i8"),
        ("own", "u8"),  # its pieces before the move, as it sees them
    ]
)
"""What rewards need to know of a move."""

_CENTRE = np.array([27, 28, 35, 36])


@jit
def _read(plies, scratch, found):
    for i in range(len(plies)):
        record = plies[at(i)].record
        position, after, fact = scratch[0], scratch[1], found[at(i)]
        unpack(record, position)
        move, us = np.int64(record.move), np.int64(position.turn)
        make(position, after, move)
        taken = np.int64(position.board[target(move)])
        fact.turn, fact.piece = us, position.board[origin(move)] >> 1
        fact.captured = ROLE_POINTS[taken >> 1] if taken != EMPTY else 0
        if kind(move) == EN_PASSANT:
            fact.captured = ROLE_POINTS[PAWN]
        fact.promotion, fact.castling = kind(move) >= PROMOTION, kind(move) == CASTLING
        fact.centre = 0
        for square in _CENTRE:
            fact.centre |= square == target(move)
        fact.ahead = points(after, us) - points(after, us ^ 1)
        fact.start, fact.square = seen(origin(move), us), seen(target(move), us)
        own = np.uint64(0)
        for square in range(SQUARES):
            if position.colors[us] >> np.uint64(square) & np.uint64(1):
                own |= np.uint64(1) << np.uint64(seen(square, us))
        fact.own = own


def facts(plies: np.ndarray) -> np.ndarray:
    """FACTS [n] of the half-moves (PLY) of games."""
    found = np.zeros(len(plies), FACTS)
    _read(plies, np.zeros(2, POSITION), found)
    return found


def credits(n: int, how: str, decay: float) -> np.ndarray:
    """What share of its reward a move gets, by its place in the game, float64 [n].

    ``fixed``: all the same; ``linear``: (i + 1) / n; ``gradual``: decay^(moves that came after).
    """
    if how == "linear":
        return np.arange(1, n + 1) / max(n, 1)
    if how == "gradual":
        found: np.ndarray = decay ** np.arange(n - 1, -1, -1)
        return found
    return np.ones(n)


def terms(
    plies: np.ndarray, result: int, settings: Rewards, evaluations: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Each term's part in the rewards of a game, before credit and scale; float64 [n] by name.

    Parameters
    ----------
    plies : ndarray of PLY [n]
        A whole game.
    result : int
        For White by the rules: 1, 0, -1.
    evaluations : float [n], optional
        Of the positions after each move, for the player who moved; points ahead without them.
    """
    assert plies.dtype == PLY
    s, known, n = settings, facts(plies), len(plies)
    turn = known["turn"]
    if result == 0 and s.material_wins and n:
        white_ahead = known["ahead"][-1] * (1 - 2 * turn[-1])
        result = int(np.sign(white_ahead))
    won = result * (1 - 2 * turn)
    mated = np.zeros(n)
    if n and np.any(plies["record"]["result"] != 0):  # the rules know of a winner
        mated[-1] = 1
    taken = known["captured"].astype(float)
    lost = np.append(taken[1:], 0.0)[:n]
    invalid = np.maximum(plies["tries"].astype(float) - 1, 0)
    evaluation = known["ahead"].astype(float) if evaluations is None else evaluations
    return {
        "win": np.where(won > 0, s.win, 0.0),
        "lose": np.where(won < 0, -s.lose, 0.0),
        "mate": s.mate * mated,
        "capture": s.capture * taken,
        "loss": -s.loss * lost,
        "promotion": s.promotion * known["promotion"],
        "pawn": s.pawn * (known["piece"] == PAWN),
        "pattern": s.pattern * (known["centre"] | known["castling"]),
        "efficiency": s.efficiency / np.maximum(plies["tries"], 1),
        "invalid": -s.invalid * invalid,
        "duration": np.full(n, -s.duration * n),
        "evaluation": s.evaluation * evaluation,
    }


def rewards(
    plies: np.ndarray, result: int, settings: Rewards, evaluations: np.ndarray | None = None
) -> np.ndarray:
    """The reward of each half-move of a game, float64 [n]; as `terms`.

    A win is worth ``win`` whatever else a move did, as in the seed, if ``win_replaces``.
    """
    s, parts = settings, terms(plies, result, settings, evaluations)
    found: np.ndarray = np.sum([*parts.values()], axis=0)
    if s.win_replaces and s.win:
        found = np.where(parts["win"] > 0, parts["win"], found)
    found = found * credits(len(plies), s.credit, s.decay)
    return np.clip(found / s.best, 0, 1) if s.normalised else found


def learnt(plies: np.ndarray, settings: Rewards) -> np.ndarray:
    """Which half-moves are trained on, bool [n]."""
    black = (plies["record"]["flags"] & 1).astype(bool)
    return ~black if settings.white_only else np.ones(len(plies), bool)


def targets(
    plies: np.ndarray,
    amounts: np.ndarray,
    settings: Rewards,
    predictions: np.ndarray | None = None,
) -> np.ndarray:
    """What the outputs of a net should have been, float32 [n, 128 or 4096].

    The chosen squares get the reward, own squares to go from ``own``, all others 0, or what they
    were if ``leave``. Of outputs for pairs, the chosen pair gets the reward.

    Parameters
    ----------
    amounts : float64 [n]
        Rewards.
    predictions : float32 [n, 128 or 4096], optional
        Outputs of the net; 128 zeros without them.
    """
    s, known, n = settings, facts(plies), len(plies)
    width = 2 * SQUARES if predictions is None else predictions.shape[1]
    found = np.zeros((n, width), np.float32)
    if s.leave and predictions is not None:
        found[:] = predictions
    rows = np.arange(n)
    if width == 2 * SQUARES:
        own = known["own"][:, None] >> np.arange(SQUARES, dtype=np.uint64) & np.uint64(1)
        found[:, :SQUARES][own.astype(bool)] = s.own / (s.best if s.normalised else 1)
        found[rows, known["start"]] = amounts
        found[rows, SQUARES + known["square"]] = amounts
    else:
        found[rows, SQUARES * known["start"] + known["square"]] = amounts
    return found
