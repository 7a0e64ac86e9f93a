"""What is listed for a kept change makes it another one, of whatever positions it was."""

from __future__ import annotations

from collections import Counter

import chess
import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.features import FeatureSet, parse
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.kernels import moved
from nnuelab.features.kernels.moved import PLACED
from nnuelab.features.kernels.piece_square import changed_squares
from nnuelab.features.kinds.square_set import SquareSet
from nnuelab.features.records import COUNTS, KEPT
from nnuelab.features.revision import Revision
from nnuelab.features.tables import compiled
from nnuelab.jit import address, call, jit

LOW = (1 << 32) - 1


@jit
def _revise(function, old, new, at_old, at_new, terms, n, words, more, less, width, counts):
    call(function, old, new, at_old, at_new, terms, n, words, more, less, width, counts)


def positions(seed: int, plies: int = 120) -> list[np.void]:
    rng, board = np.random.default_rng(seed), chess.Board()
    found = [notation.from_fen(board.fen())]
    while len(found) <= plies and not board.is_game_over():
        moves = list(board.legal_moves)
        board.push(moves[rng.integers(len(moves))])
        found.append(notation.from_fen(board.fen()))
    return found


def of_sets(features: FeatureSet, position: np.void, perspective: int) -> Counter[int]:
    """Active features of the terms that are sets of squares, from scratch."""
    out = np.empty(features.max_active, np.int32)
    n = kernels.active(compiled(features).record, position, perspective, out)
    inside = np.zeros(features.size, bool)
    for offset, term in zip(features.offsets, features.terms, strict=True):
        inside[offset : offset + term.size] = isinstance(term.factors[0], SquareSet)
    return Counter(out[:n][inside[out[:n]]].tolist())


@pytest.mark.parametrize("expression", ["MB", "H+MB+AC+ALL", "SC+MB+MC+KA"])
def test_revised_changes_are_those_between_two_positions(expression: str) -> None:
    features = parse(expression)
    revision = Revision(features, compiled(features))
    width = 2 * features.max_active
    words = np.zeros(revision.words - PLACED, np.uint64)
    more, less = np.zeros((2, 2, width), np.int32)
    counts = np.zeros(1, COUNTS)[0]
    rng, game = np.random.default_rng(1), positions(2)
    changes: list[Counter[int]] = [Counter(), Counter()]
    for i in range(400):
        # A move, as mostly, or two positions of the game that have little to do with each other
        at = int(rng.integers(len(game) - 1))
        old, new = game[at], game[at + 1 if i % 4 else int(rng.integers(len(game)))]
        _revise(
            np.uint64(revision.function),
            *(old, new, i % KEPT, (i + 1) % KEPT, revision.terms, revision.n, address(words)),
            *(address(more), address(less), width, counts),
        )
        for perspective, change in enumerate(changes):
            for listed, n, add in (
                (more, counts["added"], change.update),
                (less, counts["removed"], change.subtract),
            ):
                add(listed[perspective, : int(n) >> 32 * perspective & LOW].tolist())
            wanted = of_sets(features, new, perspective)
            wanted.subtract(of_sets(features, old, perspective))
            assert change == wanted  # Counters are equal where the counts that aren't 0 are


@jit
def _is_of(words, old, new):
    return moved.is_of(words, changed_squares(old, new), old, new)


@jit
def _begin(words, old, new):
    moved.begin(words, changed_squares(old, new), old, new)


def test_a_kept_change_is_known_by_what_stood_and_stands_where_something_moved() -> None:
    first = "4k3/8/8/3n4/8/4N3/8/4K2R w K - 0 1"
    elsewhere = "r3k3/8/8/3n4/8/4N3/PP6/4K2R w Kq - 0 1"  # the same moves, among other pieces
    other = "4k3/8/8/3b4/8/4N3/8/4K2R w K - 0 1"
    words = np.zeros(PLACED, np.uint64)

    def pair(fen: str, move: str) -> tuple[np.void, np.void]:
        position = notation.from_fen(fen)
        return position, notation.after(position, notation.parse_uci(position, move))

    taken = pair(first, "e3d5")
    _begin(words, *taken)
    known = {
        (fen, move): bool(_is_of(words, *pair(fen, move)))
        for fen in (first, elsewhere, other)
        for move in ("e3d5", "e3c4", "e1g1")
    }
    assert {key for key, found in known.items() if found} == {
        (first, "e3d5"),
        (elsewhere, "e3d5"),
    }
    assert not _is_of(words, *taken[::-1])


def test_changes_are_kept_where_a_set_has_squares_and_of_blocks_without_shared_features() -> None:
    found = {}
    for expression in ("ALL", "ALL+MC", "ALL+MB", "SC+MB", "MB+H+ALL"):
        features = parse(expression)
        revision = Revision(features, compiled(features))
        found[expression] = revision.n, int(revision.pieces["n"]), bool(revision.rest_is_empty)
    assert found == {
        "ALL": (0, 1, False),
        "ALL+MC": (0, 1, False),
        "ALL+MB": (1, 1, True),
        "SC+MB": (1, 0, False),
        "MB+H+ALL": (1, 0, False),
    }
