"""A hand-crafted evaluation as the evaluator of a search.

Where a piece stands is summed in one table, for both players at once, and updated along the line
of the search, like the accumulators of a net but with a single number. A term whose block tells
what changes between two positions is updated as well: pawn structure, say, is found anew only when
a pawn has moved. All other terms are found anew in each position that is evaluated.

A sum holds the middlegame in its high and the endgame in its low 32 bits: both are added at once,
as in Stockfish and its like.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numba import types

from nnuelab import artifacts
from nnuelab.chess.position import EMPTY, POSITION
from nnuelab.evaluator import EVALUATOR, PLIES, ply_at
from nnuelab.features import FeatureSet, Product, fingerprint
from nnuelab.features.kernels.computed import found, turn_over
from nnuelab.features.kernels.lists import place, unpack
from nnuelab.features.kernels.piece_square import active_rows, changed_squares
from nnuelab.features.kinds.computed import Computed
from nnuelab.features.legality import seen_by
from nnuelab.features.records import (
    COMPUTED,
    FEATURES,
    FROM_SCRATCH,
    PIECES,
    SQUARES_ON_BOARD,
    TERM,
)
from nnuelab.features.tables import Tables
from nnuelab.hce.evaluation import DEFAULT, FULL, Evaluation, read
from nnuelab.jit import (
    address,
    aligned,
    at,
    call,
    entry,
    inline,
    lsb,
    popcount,
    record_type,
    view,
)

PART = np.dtype([("data", "u8"), ("offset", "i8")])  # -> COMPUTED, its first weight
GROUP = np.dtype([("start", "i8"), ("stop", "i8"), ("changed", "u8")])
"""Parts whose blocks have one function that tells whether they change, or none."""

HCE = np.dtype(
    [
        ("squares", "u8"),  # -> int64[12, 64]: sums for White by piece and square
        ("n_groups", "i8"),
        ("groups", "u8"),  # -> GROUP[n_groups]
        ("n_parts", "i8"),
        ("parts", "u8"),  # -> PART[n_parts]: terms of blocks that are computed
        ("features", FEATURES),  # of all others
        ("n_weights", "i8"),
        ("weights", "u8"),  # -> int64[n_weights], sums: of the features, then of the parts
        ("phase", "i8", 6),  # what a piece of each role counts
        ("width", "i8"),
        ("lists", "u8"),  # -> int32[2, width], scratch
        # By ply, where PLY.computed[0] says so; each is White's less Black's sum:
        ("placed", "u8"),  # -> int64[PLIES]: over `squares`
        ("kept", "u8"),  # -> int64[PLIES, n_groups]
        ("called", "u8"),  # -> int64[PLIES, features.n_called]
        ("turned", "u8"),  # -> POSITION[PLIES]: as Black sees the position
    ],
    align=True,
)
"""An evaluation and what is kept of a line."""

_ONE = np.uint64(1)
_LOW = np.int64(0xFFFFFFFF)
_HIGH = np.int64(32)


def packed(weights: np.ndarray) -> np.ndarray:
    """Middlegame and endgame, int64 [..., 2], as sums, int64 [...]."""
    return (weights[..., 0] << 32) + weights[..., 1]


@inline
def _tapered(total, phase):
    """Centipawns of a sum, by phase."""
    endgame = np.int64(np.int32(total & _LOW))
    middlegame = (total - endgame) >> _HIGH
    value = middlegame * phase + endgame * (FULL - phase)
    return value // FULL if value >= 0 else -(-value // FULL)


@inline
def _phase(a, position):
    found = np.int64(0)
    for role in range(6):
        found += a.phase[at(role)] * np.int64(popcount(position.roles[at(role)]))
    return min(found, np.int64(FULL))


@inline
def _sum(weights, features, n, offset):
    """Of some features of a term that begins at ``offset``."""
    total = np.int64(0)
    for i in range(n):
        total += weights[at(features[at(i)] + offset)]
    return total


@inline
def _squares_changed(a, old, new):
    """What the changed squares add to the sum over all squares."""
    squares = view(a.squares, (PIECES, SQUARES_ON_BOARD), np.int64)
    total, changed = np.int64(0), changed_squares(old, new)
    while changed:
        square = lsb(changed)
        changed &= changed - _ONE
        before, after = np.int64(old.board[square]), np.int64(new.board[square])
        if before != EMPTY:
            total -= squares[at(before), square]
        if after != EMPTY:
            total += squares[at(after), square]
    return total


@inline
def _squares(a, position):
    squares = view(a.squares, (PIECES, SQUARES_ON_BOARD), np.int64)
    total, occupied = np.int64(0), position.colors[0] | position.colors[1]
    while occupied:
        square = lsb(occupied)
        occupied &= occupied - _ONE
        total += squares[np.int64(position.board[square]), square]
    return total


@inline
def _difference(term, weights, list, n):
    """White's sum less Black's of features as White sees them, by the table of their like."""
    total = np.int64(0)
    for i in range(n):
        feature = np.int64(list[at(i)])
        other = np.int64(view(term.turned, feature + 1, np.int32)[at(feature)])
        total += weights[at(feature + term.offset)] - weights[at(other + term.offset)]
    return total


@inline
def _active(a, term, position, turned):
    """White's sum less Black's of a called term."""
    weights = view(a.weights, a.n_weights, np.int64)
    list = view(a.lists, a.width, np.int32)
    n = call(term.active, term.data, position, np.int64(0), place(list, 0))
    if term.turned != 0:
        return _difference(term, weights, list, n)
    total = _sum(weights, list, n, term.offset)
    # What Black sees is what White would see of the board turned over, which is done once.
    n = call(term.active, term.data, turned, np.int64(0), place(list, 0))
    return total - _sum(weights, list, n, term.offset)


@inline
def _seen(a, term, old, new, added, removed):
    """What changes as White sees it; FROM_SCRATCH where a term doesn't know."""
    return call(term.changes, term.data, old, new, np.int64(0), place(added, 0), place(removed, 0))


@inline
def _changed(a, term, old, new, turned_old, turned_new, before):
    """White's sum less Black's of a term that was ``before``; updated where that is known."""
    lists = view(a.lists, (2, a.width), np.int32)
    weights = view(a.weights, a.n_weights, np.int64)
    added, removed = lists[0], lists[1]
    counts = _seen(a, term, old, new, added, removed)
    if counts == FROM_SCRATCH:
        return _active(a, term, new, turned_new)
    more, less = unpack(counts)
    if term.turned != 0:
        plus = _difference(term, weights, added, more)
        return before + plus - _difference(term, weights, removed, less)
    total = before + _sum(weights, added, more, term.offset)
    total -= _sum(weights, removed, less, term.offset)
    counts = _seen(a, term, turned_old, turned_new, added, removed)
    if counts == FROM_SCRATCH:
        return _active(a, term, new, turned_new)
    more, less = unpack(counts)
    total -= _sum(weights, added, more, term.offset)
    return total + _sum(weights, removed, less, term.offset)


@inline
def _rows(a, position):
    """White's sum less Black's of the piece-square terms that are not in one table."""
    features = a.features
    if features.terms.n == 0:
        return np.int64(0)
    weights = view(a.weights, a.n_weights, np.int64)
    list = view(a.lists, a.width, np.int32)
    n = active_rows(features.terms, position, np.int64(0), list)
    total = _sum(weights, list, n, np.int64(0))
    n = active_rows(features.terms, position, np.int64(1), list)
    return total - _sum(weights, list, n, np.int64(0))


@inline
def _group(a, group, position, turned):
    """White's sum less Black's of a group."""
    parts = view(a.parts, a.n_parts, PART)
    weights = view(a.weights, a.n_weights, np.int64)
    list = view(a.lists, a.width, np.int32)
    total = np.int64(0)
    for i in range(group.start, group.stop):
        part = parts[at(i)]
        data = view(part.data, 1, COMPUTED)[0]
        n = found(data, position, list, place(list, 0))
        total += _sum(weights, list, n, part.offset)
        n = found(data, turned, list, place(list, 0))
        total -= _sum(weights, list, n, part.offset)
    return total


@inline
def _source(line, ply):
    """The nearest ply whose sums are kept, -1 when there is none."""
    source = ply
    while source >= 0 and ply_at(line, source).computed[0] == 0:
        source -= 1
    return source


@inline
def _update_groups(a, ply, source, old, position, turned_old, turned):
    """Of each group, the sum at ``source`` where it is the same, or else anew."""
    groups = view(a.groups, a.n_groups, GROUP)
    kept = view(a.kept, (PLIES, a.n_groups), np.int64)
    for i in range(a.n_groups):
        group = groups[at(i)]
        if (
            source >= 0
            and group.changed != 0
            and call(group.changed, old, position) == 0
            and call(group.changed, turned_old, turned) == 0
        ):
            kept[at(ply), at(i)] = kept[at(source), at(i)]
        else:
            kept[at(ply), at(i)] = _group(a, group, position, turned)


@inline
def _update_called(a, ply, source, old, position, turned_old, turned):
    """The same for the terms that are called, some of which tell what changes."""
    n = a.features.n_called
    called = view(a.called, (PLIES, n), np.int64)
    terms = view(a.features.called, n, TERM)
    for i in range(n):
        term = terms[at(i)]
        if source >= 0 and term.changes != 0:
            before = called[at(source), at(i)]
            called[at(ply), at(i)] = _changed(a, term, old, position, turned_old, turned, before)
        else:
            called[at(ply), at(i)] = _active(a, term, position, turned)


@inline
def _update_to(a, line, ply, source):
    """Computes what is kept of ``ply`` from what is kept of ``source``, -1 for nothing."""
    placed = view(a.placed, PLIES, np.int64)
    boards = view(a.turned, PLIES, POSITION)
    position, turned = ply_at(line, ply).position, boards[at(ply)]
    turn_over(position, turned)
    known = max(source, np.int64(0))  # no matter which where there is none
    old, turned_old = ply_at(line, known).position, boards[at(known)]
    if source >= 0:
        placed[at(ply)] = placed[at(source)] + _squares_changed(a, old, position)
    else:
        placed[at(ply)] = _squares(a, position)
    _update_groups(a, ply, source, old, position, turned_old, turned)
    _update_called(a, ply, source, old, position, turned_old, turned)
    ply_at(line, ply).computed[0] = 1


def _evaluate(a, line, ply):
    source = _source(line, ply)
    if source != ply:
        _update_to(a, line, ply, source)
    position = ply_at(line, ply).position
    total = view(a.placed, PLIES, np.int64)[at(ply)] + _rows(a, position)
    kept = view(a.kept, (PLIES, a.n_groups), np.int64)
    for i in range(a.n_groups):
        total += kept[at(ply), at(i)]
    n = a.features.n_called
    called = view(a.called, (PLIES, n), np.int64)
    for i in range(n):
        total += called[at(ply), at(i)]
    value = _tapered(total, _phase(a, position))
    return value if position.turn == 0 else -value


class _Sums:
    """An evaluation with what is kept of a line: :class:`nnuelab.evaluator.Bound`."""

    def __init__(self, evaluation: Evaluation) -> None:
        starts, weights = evaluation.members
        sums = np.zeros(evaluation.features.size, np.int64)
        of = np.repeat(np.arange(len(sums)), np.diff(starts))
        np.add.at(sums, of, packed(evaluation.weights)[weights])
        squares = np.zeros((PIECES, SQUARES_ON_BOARD), np.int64)
        computed: dict[Any, list[tuple[Computed, np.ndarray]]] = {}
        others, rest = [], [np.zeros(0, np.int64)]
        features = evaluation.features
        for product, offset in zip(features.terms, features.offsets, strict=True):
            own, block = sums[offset : offset + product.size], product.factors[0]
            if (table := one_table(product)) is not None:
                for sign, perspective in ((1, 0), (-1, 1)):
                    rows = seen_by(table, perspective)
                    squares += sign * np.where(rows >= 0, own[rows], 0)
            elif len(product.factors) == 1 and isinstance(block, Computed):
                computed.setdefault(block.changed, []).append((block, own))
            else:
                others.append(product)
                rest.append(own)
        self._tables = Tables(FeatureSet(tuple(others)))
        groups, parts, width = self._grouped(computed, sum(map(len, rest)))
        rest += [own for group in computed.values() for _, own in group]
        n = int(self._tables.record["n_called"])
        self.memory = {
            "squares": squares,
            "groups": groups,
            "parts": parts,
            "weights": np.concatenate(rest),
            "lists": np.zeros((2, max(width, int(self._tables.record["max_active"]))), np.int32),
            "placed": np.zeros(PLIES, np.int64),
            "kept": np.zeros((PLIES, len(groups)), np.int64),
            "called": np.zeros((PLIES, n), np.int64),
            "turned": aligned(PLIES, POSITION),
        }
        data = np.zeros(1, HCE)
        data["features"], data["phase"] = self._tables.record, evaluation.phase
        data["width"] = self.memory["lists"].shape[1]
        for name in ("groups", "parts", "weights"):
            data[f"n_{name}"] = len(self.memory[name])
        for name, array in self.memory.items():
            data[name] = address(array)
        arguments = record_type(HCE), types.uint64, types.int64
        self.data, self.record = data[0], np.zeros(1, EVALUATOR)[0]
        self.record["evaluate"], self.record["data"] = entry(_evaluate, *arguments), address(data)

    def _grouped(
        self, computed: Mapping[Any, list[tuple[Computed, np.ndarray]]], start: int
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """GROUP, PART and the longest list of computed blocks, whose weights begin at ``start``."""
        groups: list[tuple[int, int, int]] = []
        parts: list[tuple[int, int]] = []
        width = 1
        self._kernels = []
        for blocks in computed.values():
            begin, changed = len(parts), 0
            for block, own in blocks:
                kernels = block.kernels()
                self._kernels.append(kernels)
                parts.append((address(kernels.data), start))
                changed = int(kernels.data["changed"][0])
                start += len(own)
                width = max(width, block.max_active)
            groups.append((begin, len(parts), changed))
        return np.array(groups, GROUP), np.array(parts, PART), width

    def check(self) -> None:
        """Raises UserError when a block of a user's has broken its bounds since the last time."""
        self._tables.check()
        for kernels in self._kernels:
            if kernels.check is not None:
                kernels.check()


def one_table(product: Product) -> np.ndarray | None:
    """int32[12, 64] of a product whose features are each of one piece on one square."""
    found = product.factors[0].tabulated() if len(product.factors) == 1 else None
    if found is None or len(found.tables) > 1:
        return None
    rows = found.tables[0][found.tables[0] >= 0]
    return found.tables[0] if len(np.unique(rows)) == len(rows) else None


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
