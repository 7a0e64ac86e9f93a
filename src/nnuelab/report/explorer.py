"""Positions: active features by name, every net's evaluation, and what moves change of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nnuelab import features
from nnuelab.chess import notation
from nnuelab.chess.san import replay, sans
from nnuelab.data.feature_counts import played_refreshes
from nnuelab.data.records import RECORD, from_fen
from nnuelab.features.kernels import feature_set as kernels
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
    sets : mapping of str to FeatureSet
        By name, beside those of the nets.
    """

    def __init__(
        self,
        nets: Sequence[NetFiles],
        policies: Mapping[str, Mover] | None = None,
        sets: Mapping[str, features.FeatureSet] | None = None,
    ) -> None:
        self._policies = policies or {}
        self.sets = {**(sets or {}), **{net.net.feature_set: net.net.features for net in nets}}
        self._set_of = {net.player: net.net.feature_set for net in nets}
        self._evaluators = {net.player: Inference(net.net) for net in nets}

    def look(self, positions: Mapping[str, str]) -> dict[str, Any]:
        """Everything as JSON: by position, and by term of the feature sets.

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

    def moves(self, name: str, fen: str) -> dict[str, Any]:
        """What each legal move changes for a feature set and its nets, as JSON.

        Parameters
        ----------
        name : str
            One of ``sets``.
        fen : str

        Returns
        -------
        dict
            That of `changes`, with the centipawns of each net for White: of the position and,
            in each move, of the position after it.

        Raises
        ------
        UserError
            When a block of a user's breaks its bounds, or the FEN is not a legal position.
        """
        found = changes(self.sets[name], fen)
        nets = {n: self._evaluators[n] for n, of in self._set_of.items() if of == name}
        found["centipawns"] = {n: _for_white(net, [fen])[0] for n, net in nets.items()}
        fens = [move["fen"] for move in found["moves"].values()]
        values = {n: _for_white(net, fens) for n, net in nets.items()}
        for i, move in enumerate(found["moves"].values()):
            move["centipawns"] = {n: of_net[i] for n, of_net in values.items()}
        return found


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


def changes(feature_set: features.FeatureSet, fen: str) -> dict[str, Any]:
    """What the engine's update of the accumulators adds and removes for each legal move, as JSON.

    Returns
    -------
    dict
        ``names``, of all features named, by index. ``moves`` by UCI: ``san``; ``fen``, of the
        position after it; ``sides``, of White's and of Black's accumulator: features that go
        ``on`` and ``off``, ascending, how many are ``active`` after the move, and whether the
        engine makes a ``refresh`` instead of an update.
    """
    tables, old = compiled(feature_set), notation.from_fen(fen)
    on, off = np.empty((2, feature_set.max_active), np.int32)
    before = [int(kernels.active(tables.record, old, perspective, on)) for perspective in range(2)]
    record = np.zeros(1, RECORD)
    record[0] = from_fen(fen)
    named: set[int] = set()
    moves = {}
    for move in sorted(notation.moves_of(old)):
        new = notation.after(old, move)
        record["move"] = move
        refreshes = played_refreshes(feature_set, record)
        sides = []
        for perspective in range(2):
            n_on, n_off = kernels.changes(tables.record, old, new, perspective, on, off)
            lists = sorted(on[:n_on].tolist()), sorted(off[:n_off].tolist())
            named.update(*lists)
            sides.append(
                {
                    "on": lists[0],
                    "off": lists[1],
                    "active": int(before[perspective] + n_on - n_off),
                    "refresh": bool(refreshes[perspective]),
                }
            )
        moves[notation.move_to_uci(move)] = {
            "san": sans(np.array([old, new]), [move])[0],
            "fen": notation.to_fen(new),
            "sides": sides,
        }
    tables.check()
    names = {str(index): feature_set.feature_name(index) for index in sorted(named)}
    return {"names": names, "moves": moves}


def _for_white(net: Inference, fens: Sequence[str]) -> list[int]:
    values = net.evaluate_fens(fens)
    return [v if fen.split()[1] == "w" else -v for fen, v in zip(fens, values, strict=True)]


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
