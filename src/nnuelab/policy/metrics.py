"""How well a policy knows the moves that were played, by the code that plays with it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, NO_MOVE, origin, target
from nnuelab.chess.position import POSITION
from nnuelab.data import validation
from nnuelab.data.records import UNKNOWN_RESULT, unpack
from nnuelab.errors import UserError
from nnuelab.jit import at, jit
from nnuelab.policy import choice, inference
from nnuelab.policy.choice import WALK
from nnuelab.policy.inference import FROMTO, PAIR, Inference, seen
from nnuelab.policy.labels import pairs_of, played
from nnuelab.policy.policyfile import SQUARES, Policy, read_policy

MEASURED = np.dtype(
    [
        ("tries", "i8"),
        ("checks", "i8"),
        ("first", "i8"),  # pair of the walk
        ("walked", "i8"),  # pair that the walk plays
        ("best", "i8"),  # likeliest legal pair
        ("legal", "f8"),  # probability on legal pairs
        ("value", "f8"),
    ]
)
"""What is measured of a position."""

_PAIRS = SQUARES * SQUARES


@dataclass(frozen=True)
class Metrics:
    """Means over positions; a share is 0..1.

    Attributes
    ----------
    positions : int
    legal_first : float
        Share whose first pair in the walk is legal.
    illegal_probability : float
        Probability on pairs that aren't legal; of sigmoid outputs, which are none, their share.
    from_accuracy, accuracy : float
        Share whose first pair in the walk begins as the move played does; is the move played.
    walk_accuracy, legal_accuracy : float
        Share where the walk plays the move that was played; where the likeliest legal pair is it.
    mean_tries, median_tries : float
        Pairs that the walk looks at until one is legal.
    mean_checks : float
        Of these, pairs from an own piece to a square without one: canMove.
    value_error : float
        Mean squared error of the value head; nan without one.
    """

    positions: int
    legal_first: float
    illegal_probability: float
    from_accuracy: float
    accuracy: float
    walk_accuracy: float
    legal_accuracy: float
    mean_tries: float
    median_tries: float
    mean_checks: float
    value_error: float


COLUMNS = tuple(field.name for field in fields(Metrics))


@jit
def _first(values, start, stop):
    """Where the largest of values[start:stop] is, seen from ``start``; the first of equal ones."""
    best = start
    for i in range(start + 1, stop):
        if values[at(i)] > values[at(best)]:
            best = i
    return best - start


@jit
def _legal_share(values, pairs, n):
    """The softmax of all pairs, summed over the legal ones."""
    highest = values[at(_first(values, 0, values.size))]
    total = legal = 0.0
    for i in range(values.size):
        total += np.exp(np.float64(values[at(i)] - highest))
    for i in range(n):
        legal += np.exp(np.float64(values[at(pairs[at(i)])] - highest))
    return legal / total


@jit
def _log_sigmoid(x):
    return min(x, np.float32(0)) - np.log1p(np.exp(-abs(x)))


@jit
def measure(policy, sigmoid, records, position, found, measured):
    """Measures a policy on positions with legal moves.

    Parameters
    ----------
    policy : POLICY record
    sigmoid : bool
        Whether its outputs are sigmoids.
    records : RECORD [n]
    position, found : POSITION and WALK records, scratch
    measured : MEASURED [n], written
    """
    legal, moves = np.empty(MAX_MOVES, np.int64), np.empty(MAX_MOVES, np.int64)
    logits = np.empty(MAX_MOVES, np.float32)
    values = np.empty(_PAIRS, np.float32)
    for i in range(len(records)):
        unpack(records[i], position)
        inference.hidden(policy, position)
        out = inference.outputs(policy)
        row = measured[i]
        for pair in range(_PAIRS):
            values[pair] = inference.pair_logit(policy, out, pair >> 6, pair & 63)
        if policy.head == FROMTO:
            choice.walk(position, out, found)
            row.first = SQUARES * _first(out, 0, SQUARES) + _first(out, SQUARES, 2 * SQUARES)
        else:
            choice.walk(position, values, found)
            row.first = _first(values, 0, _PAIRS)
        turn = np.int64(position.turn)
        walked = seen(origin(found.move), turn) * SQUARES + seen(target(found.move), turn)
        row.walked = walked if found.move != NO_MOVE else -1
        row.tries, row.checks = found.tries, found.checks
        n = pairs_of(position, moves, legal)
        inference.move_logits(policy, position, moves, n, logits)
        row.best = legal[_first(logits, 0, n)] if n else -1
        if sigmoid:
            for pair in range(_PAIRS):
                if policy.head == PAIR:
                    values[pair] = _log_sigmoid(values[pair])
                else:
                    start, square = pair >> 6, SQUARES + (pair & 63)
                    values[pair] = _log_sigmoid(out[at(start)]) + _log_sigmoid(out[at(square)])
        row.legal = _legal_share(values, legal, n)
        row.value = inference.value(policy)


def measured(policy: Policy, records: np.ndarray) -> np.ndarray:
    """What a policy makes of each position, MEASURED [n]."""
    found = np.zeros(len(records), MEASURED)
    owner = Inference(policy)
    scratch = np.zeros(1, POSITION)[0], np.zeros(1, WALK)[0]
    measure(owner.record, policy.loss == "mse", records, *scratch, found)
    owner.check()
    return found


def evaluate(policy: Policy, records: np.ndarray) -> Metrics:
    """Measures a policy on positions with the move that was played."""
    found = measured(policy, records)
    start, square = played(records)
    pair, known = SQUARES * start + square, records["result"] != UNKNOWN_RESULT
    errors = (found["value"] - records["result"])[known] ** 2
    return Metrics(
        positions=len(records),
        legal_first=float((found["tries"] == 1).mean()),
        illegal_probability=float(1 - found["legal"].mean()),
        from_accuracy=float((found["first"] >> 6 == start).mean()),
        accuracy=float((found["first"] == pair).mean()),
        walk_accuracy=float((found["walked"] == pair).mean()),
        legal_accuracy=float((found["best"] == pair).mean()),
        mean_tries=float(found["tries"].mean()),
        median_tries=float(np.median(found["tries"])),
        mean_checks=float(found["checks"].mean()),
        value_error=float(errors.mean()) if policy.has_value and len(errors) else float("nan"),
    )


def positions_of(path: Path, count: int) -> np.ndarray:
    """Up to ``count`` positions of a dataset, evenly spaced, those with a move; 0: all.

    Raises
    ------
    UserError
        When there is none, or the data are damaged.
    """
    records = validation.spaced(path, count or 1 << 62)
    records = records[records["move"] != 0]
    if not len(records):
        raise UserError(f"{path} has no position with the move played; sample it from games")
    return records


def row_of(path: Path, records: np.ndarray) -> dict[str, object]:
    """What a policy file is, and its metrics."""
    policy = read_policy(path)
    return {
        "policy": str(path),
        "feature_set": policy.feature_set,
        "inputs": policy.provenance.get("inputs", "features"),
        "head": policy.head,
        "loss": policy.loss,
        "layers": "-".join(map(str, policy.sizes)),
        "activation": policy.activation if policy.sizes else "",
        "parameters": policy.provenance.get("parameters", policy.parameters),
        **vars(evaluate(policy, records)),
    }
