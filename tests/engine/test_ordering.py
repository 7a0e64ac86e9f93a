"""Lists of moves: in which order they are picked, and what late pruning leaves of them."""

from __future__ import annotations

import chess
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab.chess import notation
from nnuelab.chess.checks import checks_record, find_checks
from nnuelab.chess.moves import MAX_MOVES
from nnuelab.engine import ordering
from nnuelab.jit import jit
from tests.chess.test_moves import SEEDS, random_game


@jit
def _picked(position, entries, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        ordering.pick(position, entries, i, n)


@jit
def _dropped(position, entries, first, n):  # type: ignore[no-untyped-def]
    checks = checks_record()
    find_checks(position, checks)
    return ordering.drop_quiet(position, checks, entries, first, n)


@jit
def _checks(position, moves, first, n):  # type: ignore[no-untyped-def]
    checks = checks_record()
    find_checks(position, checks)
    return ordering.only_checks(position, checks, moves, first, n)


def lists(data: st.DataObject, fen: str) -> tuple[chess.Board, np.void, np.ndarray]:
    """A position of a random game, and a list of its moves with scores of quiet moves."""
    board, _ = data.draw(st.sampled_from(random_game(data.draw(st.integers(0, 1 << 32)), fen)))
    position = notation.from_fen(board.fen())
    moves = notation.moves_of(position)
    entries = np.zeros(MAX_MOVES, np.int64)
    for i, move in enumerate(moves):
        score = data.draw(st.integers(-ordering.HISTORY_LIMIT, ordering.HISTORY_LIMIT))
        entries[i] = ordering.entry_of(move, score, i)
    return board, position, entries[: len(moves)]


def told(entries: np.ndarray) -> list[tuple[int, int]]:
    """Score and move of each entry, without its place."""
    return [(ordering.score_of(int(e)), ordering.move_of(int(e))) for e in entries]


@settings(max_examples=60)
@given(st.data(), st.sampled_from(SEEDS))
def test_moves_are_picked_from_the_best_to_the_worst(data: st.DataObject, fen: str) -> None:
    _, position, entries = lists(data, fen)
    before = told(entries)
    _picked(position, entries, len(entries))
    assert told(entries) == sorted(before, reverse=True)
    assert (entries & 0xFFFF).tolist() == list(range(len(entries)))


@settings(max_examples=60)
@given(st.data(), st.sampled_from(SEEDS))
def test_late_pruning_keeps_what_takes_promotes_or_checks(data: st.DataObject, fen: str) -> None:
    board, position, entries = lists(data, fen)
    before = told(entries)
    first = data.draw(st.integers(0, len(entries)))
    end = _dropped(position, entries, first, len(entries))
    assert told(entries[:first]) == before[:first]
    kept = {
        (score, move)
        for score, move in before[first:]
        for parsed in [chess.Move.from_uci(notation.move_to_uci(move))]
        if board.is_capture(parsed) or parsed.promotion or board.gives_check(parsed)
    }
    assert set(told(entries[first:end])) == kept
    assert sorted(told(entries)) == sorted(before)
    assert (entries & 0xFFFF).tolist() == list(range(len(entries)))


@settings(max_examples=60)
@given(st.data(), st.sampled_from(SEEDS))
def test_where_quiet_moves_are_pruned_only_checks_and_promotions_are_listed(
    data: st.DataObject, fen: str
) -> None:
    board, position, entries = lists(data, fen)
    moves = np.array([move for _, move in told(entries)])
    first = data.draw(st.integers(0, len(moves)))
    before = moves.tolist()
    end = _checks(position, moves, first, len(moves))
    kept = [
        move
        for move in before[first:]
        for parsed in [chess.Move.from_uci(notation.move_to_uci(move))]
        if board.gives_check(parsed) or parsed.promotion
    ]
    assert moves[:end].tolist() == before[:first] + kept
