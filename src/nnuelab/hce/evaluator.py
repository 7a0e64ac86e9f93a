"""A hand-crafted evaluation as the evaluator of a search.

Where a piece stands is summed in one table, for both players at once, and updated along the line
of the search, like the accumulators of a net but with a single number. A term whose block tells
what changes between two positions is updated as well: pawn structure, say, is found anew only when
a pawn has moved, and not even then if a position with the same pawns is remembered. All other terms
are found anew in each position that is evaluated, those of tables by the own king's square, too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import types

from nnuelab import artifacts
from nnuelab.chess.position import POSITION
from nnuelab.errors import UserError
from nnuelab.evaluator import EVALUATOR, PLIES
from nnuelab.features import fingerprint
from nnuelab.features.legality import seen_by
from nnuelab.features.records import PIECES, SQUARES_ON_BOARD
from nnuelab.hce.evaluation import DEFAULT, Evaluation, read
from nnuelab.hce.evaluator_kernels import HCE, REMEMBERED, SLOTS, evaluate
from nnuelab.hce.parts import Parts
from nnuelab.jit import address, aligned, entry, record_type


def packed(weights: np.ndarray) -> np.ndarray:
    """Middlegame and endgame, int64 [..., 2], as the sums of the kernels, int64 [...]."""
    return (weights[..., 0] << 32) + weights[..., 1]


class _Sums:
    """An evaluation with what is kept of a line: :class:`nnuelab.evaluator.Bound`."""

    def __init__(self, evaluation: Evaluation) -> None:
        starts, weights = evaluation.members
        sums = np.zeros(evaluation.features.size, np.int64)
        of = np.repeat(np.arange(len(sums)), np.diff(starts))
        np.add.at(sums, of, packed(evaluation.weights)[weights])
        self._parts = found = Parts(evaluation.features, sums)
        squares = np.zeros((PIECES, SQUARES_ON_BOARD), np.int64)
        for table, own in found.placed:
            for sign, perspective in ((1, 0), (-1, 1)):
                rows = seen_by(table, perspective)
                squares += sign * np.where(rows >= 0, own[rows], 0)
        groups, parts = found.groups()
        tables, n = found.tables.record, int(found.tables.record["n_called"])
        width = max((block.max_active for block, _, _ in found.computed), default=1)
        self.memory = {
            "squares": squares,
            "groups": groups,
            "parts": parts,
            "weights": found.rows,
            "lists": np.zeros((2, max(width, int(tables["max_active"]))), np.int32),
            "placed": np.zeros(PLIES, np.int64),
            "kept": np.zeros((PLIES, len(groups)), np.int64),
            "called": np.zeros((PLIES, n), np.int64),
            "turned": aligned(PLIES, POSITION),
            "remembered": np.zeros(SLOTS, REMEMBERED),
            "remembered_sums": np.zeros((SLOTS, len(groups)), np.int64),
        }
        data = np.zeros(1, HCE)
        data["features"], data["phase"] = tables, evaluation.phase
        data["width"] = self.memory["lists"].shape[1]
        for name in ("groups", "parts", "weights"):
            data[f"n_{name}"] = len(self.memory[name])
        for name, array in self.memory.items():
            data[name] = address(array)
        arguments = record_type(HCE), types.uint64, types.int64
        self.data, self.record = data[0], np.zeros(1, EVALUATOR)[0]
        self.record["evaluate"], self.record["data"] = entry(evaluate, *arguments), address(data)

    def check(self) -> None:
        """Raises UserError when a block of a user's has broken its bounds since the last time."""
        try:
            self._parts.check()
        except UserError:
            self.memory["remembered"]["is_used"] = 0  # nothing is kept of what it has left out
            raise


class HceEvaluator:
    """A hand-crafted evaluation as an :class:`nnuelab.evaluator.Evaluator`.

    Parameters
    ----------
    evaluation : Evaluation, path or None
        None: the one that ships with the package.

    Raises
    ------
    UserError
        When there is no such file or it isn't usable.
    """

    def __init__(self, evaluation: Evaluation | Path | str | None = None) -> None:
        self._file: Path | None = None
        if not isinstance(evaluation, Evaluation):
            self._file = Path(evaluation or DEFAULT)
            evaluation = read(self._file)
        self.evaluation = evaluation

    @property
    def name(self) -> str:
        """That of the evaluation."""
        return self.evaluation.name

    def files(self) -> dict[str, Path]:
        """The evaluation's, if it comes from one."""
        return {} if self._file is None else {"evaluation": self._file}

    def code(self) -> str:
        """Of this module and of the blocks of its terms."""
        blocks = fingerprint.code(self.evaluation.features)
        return artifacts.code_hash("hce.evaluator", more=[blocks])

    def bind(self) -> _Sums:
        """The evaluation in the layout of the kernels, with what is kept of a line."""
        return _Sums(self.evaluation)
