"""Blocks about two neighbouring pieces on a line: nothing stands between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from nnuelab.errors import UserError, raised
from nnuelab.features.algebra import Block, check_rows, kernels_by
from nnuelab.features.answers import Kernels
from nnuelab.features.concepts import (
    COLOR_NAMES,
    DIAGS1,
    DIAGS2,
    FILES,
    KING,
    RANKS,
    ROLE_NAMES,
    Concept,
    diagonal1_of,
    diagonal2_of,
    file_of,
    rank_of,
    stride_index,
)
from nnuelab.features.legality import LEGAL_PLACES, Seen
from nnuelab.features.records import LINES, MOST_PIECES, PIECES, SQUARES_ON_BOARD

NeighboursPredicate = Callable[[int, int, int, int, int], "tuple[int, ...] | int | None"]

LINE_OF: dict[Concept, tuple[Callable[[int], int], str]] = {
    RANKS: (rank_of, "left of"),
    FILES: (file_of, "below"),
    DIAGS1: (diagonal1_of, "left of"),
    DIAGS2: (diagonal2_of, "left of"),
}
"""What a concept of lines calls the line of a square, and the first of two pieces on it.

Squares of a line are in ascending order of files, on a file of ranks.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Neighbours(Block):
    """A block of features of two neighbouring pieces on a line.

    Attributes
    ----------
    along : Concept
        The lines: FILES, RANKS, DIAGS1 or DIAGS2.
    rows : int32[lines, 12, 12]
        Feature by line, first and second piece (role * 2 + colour), -1 for none.
    """

    jitted = ("lines",)

    along: Concept
    rows: np.ndarray = field(repr=False)

    def lines(self) -> tuple[list[list[int]], np.ndarray]:
        return self._lines, self.rows

    @cached_property
    def _lines(self) -> list[list[int]]:
        """The squares of each line, in order."""
        line_of, _ = LINE_OF[self.along]
        squares = sorted(range(SQUARES_ON_BOARD), key=lambda s: (file_of(s), rank_of(s)))
        return [[s for s in squares if line_of(s) == line] for line in range(self.along.size)]

    @cached_property
    def max_active(self) -> int:
        """As many pairs, equal ones counted, as 32 pieces make when they crowd on full lines."""
        pairs, left = 0, MOST_PIECES
        for length in sorted(map(len, self._lines), reverse=True):
            pairs += max(min(length, left) - 1, 0)
            left -= min(length, left)
        return pairs

    def alive(self) -> np.ndarray:
        alive = np.zeros(self.size, dtype=bool)
        for rows, squares in zip(self.rows, self._lines, strict=True):
            legal = LEGAL_PLACES[:, squares].astype(int)
            # A pair needs two squares in order, two kings one between them, too.
            order = np.triu(np.ones((len(squares), len(squares)), int), 1)
            possible = legal @ order @ legal.T > 0
            kings = slice(2 * KING, 2 * KING + 2)
            possible[kings, kings] = len(squares) > 2
            possible[np.arange(2 * KING, PIECES), np.arange(2 * KING, PIECES)] = False
            alive[rows[possible & (rows >= 0)]] = True
        return alive

    @property
    def alive_is_exact(self) -> bool:
        return True

    @cached_property
    def _makers(self) -> dict[int, np.ndarray]:
        """The (line, first, second) that make a feature active."""
        lines, firsts, seconds = np.nonzero(self.rows >= 0)
        features = self.rows[lines, firsts, seconds]
        order = np.argsort(features, kind="stable")
        makers = np.stack([lines, firsts, seconds], axis=1)[order]
        indices, starts = np.unique(features[order], return_index=True)
        return dict(zip(indices.tolist(), np.split(makers, starts[1:]), strict=True))

    def feature_name(self, index: int) -> str:
        """``own rook left of enemy pawn on rank 4``."""
        makers = self._makers.get(index)
        if makers is None:
            values = zip(self.concepts, self.values(index), strict=True)
            return "no pair: " + ", ".join(concept.values[value] for concept, value in values)
        lines, firsts, seconds = (set(column.tolist()) for column in makers.T)
        words = [_piece(firsts), LINE_OF[self.along][1], _piece(seconds)]
        if len(lines) < self.along.size:
            words += ["on", " or ".join(self.along.values[line] for line in sorted(lines))]
        return " ".join(words)

    def defined(self, seen: Seen) -> list[int]:
        codes = {square: 2 * role + color for square, (role, color) in seen.pieces.items()}
        found = (
            int(self.rows[line, first, second])
            for line, squares in enumerate(self._lines)
            for first, second in pairwise(codes[s] for s in squares if s in codes)
        )
        return list({feature for feature in found if feature >= 0})

    def meaning(self) -> tuple[Any, ...]:
        return self.along.name, self.rows

    def kernels(self) -> Kernels:
        from nnuelab.jit import address

        lines = np.zeros((2, len(self._lines)), np.uint64)
        line_of = np.zeros((2, SQUARES_ON_BOARD), np.int64)
        other = np.arange(PIECES) ^ 1
        rows = np.stack([self.rows, self.rows[:, other][:, :, other]])
        for perspective in range(2):
            for number, squares in enumerate(self._lines):
                real = [square ^ 56 * perspective for square in squares]
                lines[perspective, number] = sum(1 << square for square in real)
                line_of[perspective, real] = number
                if real != sorted(real):  # the kernels meet the first piece last
                    rows[perspective, number] = rows[perspective, number].T.copy()
        jitted = kernels_by("lines")
        data = np.zeros(1, LINES)
        data["n"] = len(self._lines)
        data["lines"], data["line_of"] = address(lines), address(line_of)
        data["rows"] = address(rows)
        owned = (lines, line_of, rows)
        used = self.rows[self.rows >= 0]
        if len(np.unique(used)) < len(used):  # pairs of different kinds or lines share a feature
            return Kernels(jitted.active_shared, None, data, owned=owned)
        return Kernels(jitted.active, jitted.changes, data, turned=self._turned(), owned=owned)

    def _turned(self) -> np.ndarray | None:
        """Black's features by those of White; None for diagonals, where they see other lines."""
        if self.along in (DIAGS1, DIAGS2) or (np.unique(self.rows) < 0).any():
            return None
        other = np.arange(PIECES) ^ 1
        seen = self.rows[:, other][:, :, other]
        seen = seen[::-1] if self.along is RANKS else seen.swapaxes(1, 2)
        turned = np.zeros(self.size, np.int32)
        turned[self.rows] = seen
        return turned


def _piece(pieces: set[int]) -> str:
    colors, roles = {piece % 2 for piece in pieces}, {piece // 2 for piece in pieces}
    words = [COLOR_NAMES[color] for color in colors] if len(colors) == 1 else []
    words.append(" or ".join(ROLE_NAMES[r] for r in sorted(roles)) if len(roles) < 6 else "piece")
    return " ".join(words)


def neighbours(
    name: str, *concepts: Concept, along: Concept, aliases: tuple[str, ...] = ()
) -> Callable[[NeighboursPredicate], Neighbours]:
    """Makes a block of a function that says which feature two neighbours on a line make active.

    The function takes (line, role and colour of the first piece, role and colour of the second),
    seen from the perspective: the first stands left of the second, on a file below it, and nothing
    stands between them. It returns one value for each concept, in their order, or None. Equal pairs
    on one line are one feature.

    Parameters
    ----------
    along : Concept
        The lines: FILES, RANKS, DIAGS1 or DIAGS2.

    >>> @neighbours("PH", RANKS, ROLES, COLORS, ROLES, COLORS, along=RANKS)
    ... def ph(line, role, color, other_role, other_color):
    ...     \"\"\"On rank k, piece 1 stands left of piece 2 and no piece stands between them.\"\"\"
    ...     return line, role, color, other_role, other_color

    Raises
    ------
    UserError
        When the name is malformed, a value is out of its concept's range, or all are None.
    """

    def own(what: str, predicate: NeighboursPredicate) -> Mapping[str, Any]:
        if not concepts or along not in LINE_OF:
            raise UserError(
                f"{what}: name at least one concept, and the lines by "
                f"along={', along='.join(concept.name for concept in LINE_OF)}"
            )
        rows = np.full((along.size, PIECES, PIECES), -1, dtype=np.int32)
        for line, first, second in np.ndindex(*rows.shape):
            try:
                values = predicate(line, *divmod(first, 2), *divmod(second, 2))
                if values is not None:
                    rows[line, first, second] = stride_index(concepts, values)
            except Exception as error:
                raise UserError(
                    f"{what}, {_piece({first})} and {_piece({second})} on "
                    f"{along.values[line]}: {raised(error, predicate)}"
                ) from error
        check_rows(what, rows, predicate)
        return {"along": along, "rows": rows}

    return Neighbours.define(name, concepts, aliases, own)
