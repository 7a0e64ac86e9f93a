"""A policy as what orders the quiet moves of a search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import types

from nnuelab import artifacts
from nnuelab.chess.moves import MAX_MOVES
from nnuelab.evaluator import ply_at
from nnuelab.features import fingerprint
from nnuelab.jit import address, at, entry, record_type, view
from nnuelab.orderer import ORDERER, SCORE_LIMIT
from nnuelab.policy.inference import POLICY, Inference, hidden, move_logits
from nnuelab.policy.policyfile import Policy, read_policy

PER_LOGIT = 4000  # a quarter of the largest history; 1,500 plays as well

DATA = np.dtype([("policy", POLICY), ("logits", "u8")], align=True)
"""A policy, and scratch: float32[MAX_MOVES]."""

_PER_LOGIT, _LIMIT = np.float32(PER_LOGIT), np.float32(SCORE_LIMIT)


def _order(o, line, ply, moves, n, scores):  # type: ignore[no-untyped-def]
    position = ply_at(line, ply).position
    logits = view(o.logits, MAX_MOVES, np.float32)
    hidden(o.policy, position)
    move_logits(o.policy, position, view(moves, n, np.int64), n, logits)
    out = view(scores, n, np.int64)
    for i in range(n):
        score = _PER_LOGIT * logits[at(i)]
        out[at(i)] = np.int64(min(max(score, -_LIMIT), _LIMIT))
    return np.int64(0)


class _Scores:
    """A policy with its memory: :class:`nnuelab.orderer.Bound`."""

    def __init__(self, policy: Policy) -> None:
        self._inference = Inference(policy)
        self._logits = np.zeros(MAX_MOVES, np.float32)
        self._data = data = np.zeros(1, DATA)
        data["policy"], data["logits"] = self._inference.record, address(self._logits)
        word, number = types.uint64, types.int64
        arguments = record_type(DATA), word, number, word, number, word
        self.record: np.void = np.zeros(1, ORDERER)[0]
        self.record["order"], self.record["data"] = entry(_order, *arguments), address(data)

    def check(self) -> None:
        """Raises UserError when a block of a user's has broken its bounds since the last time."""
        self._inference.check()


class PolicyOrderer:
    """A policy as an :class:`nnuelab.orderer.Orderer`.

    Parameters
    ----------
    policy : Policy or path

    Raises
    ------
    UserError
        When there is no such file or it isn't usable.
    """

    def __init__(self, policy: Policy | Path | str) -> None:
        self._file = None if isinstance(policy, Policy) else Path(policy)
        self.policy = policy if isinstance(policy, Policy) else read_policy(policy)

    def files(self) -> dict[str, Path]:
        """The policy's, if it comes from one."""
        return {} if self._file is None else {"ordering": self._file}

    def code(self) -> str:
        """Of this module and of the blocks of its features."""
        return artifacts.code_hash("policy.orderer", more=[fingerprint.code(self.policy.features)])

    def bind(self) -> _Scores:
        """The policy in the layout of the kernels."""
        return _Scores(self.policy)
