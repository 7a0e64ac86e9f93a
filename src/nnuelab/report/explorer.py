"""Positions with their active features by name, and every net's evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nnuelab import features
from nnuelab.chess import notation
from nnuelab.chess.san import replay, sans
from nnuelab.data.records import RECORD, from_fen
from nnuelab.features.tables import compiled
from nnuelab.nnue.inference import Inference
from nnuelab.policy.mover import Mover
from nnuelab.report.results import NetFiles

MOVES = 5  # of a position, with their probabilities
KNOWN = {
    "the initial position": "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "an open game": "r1bqk2r/pppp1ppp/2n2n2/2b1p3/2B1P3/2N2N2/PPPP1PPP/R1BQK2R w KQkq - 6 5",
    "a blocked centre": "r1bq1rk1/ppp1npbp/3p1np1/3Pp3/2P1P3/2N2N2/PP2BPPP/R1BQ1RK1 w - - 1 9",
    "a rook ending": "8/5pk1/6p1/R7/1P5P/6P1/r4PK1/8 b - - 0 40",
    "Black is a queen up": "4k3/8/8/8/8/8/3q4/7K w - - 0 1",
}


class Explorer:
    """Nets that evaluate positions, and policies that choose moves there, one thread at a time.

    Parameters
    ----------
    nets : sequence of NetFiles
    policies : mapping of str to Mover
        By name.
    """

    def __init__(
        self, nets: Sequence[NetFiles], policies: Mapping[str, Mover] | None = None
    ) -> None:
        self._policies = policies or {}
        self.sets = {net.net.feature_set: net.net.features for net in nets}
        self._evaluators = {net.player: Inference(net.net) for net in nets}

    def look(self, positions: Mapping[str, str]) -> dict[str, Any]:
        """Everything as JSON: by position, and by term of the nets' feature sets.

        Parameters
        ----------
        positions : dict of str to str
            Legal FENs by what they are.

        Raises
        ------
        nnuelab.chess.notation.FenError
            When a FEN is not a legal position.
        """
        fens = list(positions.values())
        records = np.zeros(len(fens), RECORD)
        for i, fen in enumerate(fens):
            records[i] = from_fen(fen)
        terms: dict[str, list[list[list[str]]]] = {}
        for feature_set in self.sets.values():
            terms |= active(feature_set, records)
        return {
            "positions": [{"name": name, "fen": fen} for name, fen in positions.items()],
            "sets": {n: [term.name for term in found.terms] for n, found in self.sets.items()},
            "terms": terms,
            "evaluations": {n: e.evaluate_fens(fens) for n, e in self._evaluators.items()},
            "moves": {n: [likeliest(m, fen) for fen in fens] for n, m in self._policies.items()},
        }


def likeliest(mover: Mover, fen: str) -> list[tuple[str, float]]:
    """Up to `MOVES` legal moves in SAN with their probabilities, the likeliest first."""
    position = notation.from_fen(fen)
    found = mover.ranked(position, [], MOVES)
    return [
        (
            sans(replay(position, [candidate.move]), [candidate.move])[0],
            round(candidate.probability, 4),
        )
        for candidate in found
    ]


def active(
    feature_set: features.FeatureSet, records: np.ndarray
) -> dict[str, list[list[list[str]]]]:
    """Names of the active features by term, position and side (to move, other), by index."""
    shape = (2, len(records), feature_set.max_active)
    rows, counts = np.empty(shape, np.int32), np.empty((2, len(records)), np.int64)
    features.batch(compiled(feature_set), records, rows[0], rows[1], counts[0], counts[1])
    found: dict[str, list[list[list[str]]]] = {}
    for term, offset in zip(feature_set.terms, feature_set.offsets, strict=True):
        found[term.name] = [
            [_names(term, rows[side, p, : counts[side, p]] - offset) for side in range(2)]
            for p in range(len(records))
        ]
    return found


def _names(term: features.Product, indices: Iterable[int]) -> list[str]:
    return [term.feature_name(int(i)) for i in sorted(indices) if 0 <= i < term.size]
