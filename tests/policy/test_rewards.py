"""Each term of the rewards, credit, scale, and the targets of a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.data.records import from_fen
from nnuelab.policy.games import PLY
from nnuelab.policy.rewards import credits, learnt, rewards, targets, terms
from nnuelab.settings.policy_selfplay import Rewards

NONE = Rewards(
    win=0, capture=0, material_wins=False, white_only=False, normalised=False, win_replaces=False
)


def game(*moves: str, fen: str = notation.STARTING_FEN, result: int = 0) -> np.ndarray:
    """A game as PLYs; ``result`` is White's."""
    plies, position = np.zeros(len(moves), PLY), notation.from_fen(fen)
    for ply, text in zip(plies, moves, strict=True):
        ply["record"] = from_fen(notation.to_fen(position))
        move = notation.parse_uci(position, text)
        ply["record"]["move"] = move
        ply["record"]["result"] = -result if position["turn"] else result
        ply["tries"] = 4
        position = notation.after(position, move)
    return plies


def of(plies: np.ndarray, result: int = 0, **on: Any) -> list[float]:
    """Rewards with some terms on."""
    return [float(x) for x in rewards(plies, result, replace(NONE, **on))]


OPENING = "e2e4", "d7d5", "e4d5", "d8d5"  # Black has taken as much as White


def test_nothing() -> None:
    assert of(game(*OPENING)) == [0, 0, 0, 0]


def test_win_and_lose() -> None:
    mate = game("f2f3", "e7e5", "g2g4", "d8h4", result=-1)
    assert of(mate, -1, win=100) == [0, 100, 0, 100]
    assert of(mate, -1, lose=7) == [-7, 0, -7, 0]


def test_mate() -> None:
    mate = game("f2f3", "e7e5", "g2g4", "d8h4", result=-1)
    assert of(mate, -1, mate=1) == [0, 0, 0, 1]
    assert of(game("f2f3"), 0, mate=1) == [0]


def test_captures_by_the_seeds_points() -> None:
    assert of(game(*OPENING), capture=1) == [0, 0, 1, 1]
    for piece, points in zip("qrnbp", (8, 5, 3, 3, 1), strict=True):
        fen = f"k7/8/8/3{piece}4/8/8/8/K2R4 w - - 0 1"
        assert of(game("d1d5", fen=fen), capture=1) == [points]


def test_en_passant_is_a_capture() -> None:
    fen = "k7/8/8/3pP3/8/8/8/K7 w - d6 0 1"
    assert of(game("e5d6", fen=fen), capture=1) == [1]


def test_lost_material() -> None:
    assert of(game(*OPENING), loss=2) == [0, -2, -2, 0]


def test_promotion() -> None:
    fen = "k7/7P/8/8/8/8/8/K7 w - - 0 1"
    assert of(game("h7h8q", "a8a7", fen=fen), promotion=1) == [1, 0]


def test_pawn_moves() -> None:
    assert of(game("e2e4", "g8f6", "g1f3"), pawn=1) == [1, 0, 0]


def test_pattern() -> None:
    fen = "k7/8/8/8/8/8/8/4K2R w K - 0 1"
    assert of(game("e2e4", "g8f6", "a2a3"), pattern=1) == [1, 0, 0]
    assert of(game("e1g1", fen=fen), pattern=1) == [1]


def test_efficiency_and_invalid_moves() -> None:
    plies = game("e2e4", "e7e5")
    assert of(plies, efficiency=1) == [0.25, 0.25]
    assert of(plies, invalid=1) == [-3, -3]


def test_duration() -> None:
    assert of(game(*OPENING), duration=0.5) == [-2, -2, -2, -2]


def test_evaluation() -> None:
    plies = game(*OPENING)
    assert of(plies, evaluation=1) == [0, 0, 1, 0]
    given = rewards(plies, 0, replace(NONE, evaluation=2), np.arange(4.0))
    assert given.tolist() == [0, 2, 4, 6]


def test_material_advantage_is_a_win_in_a_draw() -> None:
    plies = game("e2e4", "d7d5", "e4d5")
    assert of(plies, win=100, material_wins=True) == [100, 0, 100]
    assert of(plies, win=100) == [0, 0, 0]
    assert of(game(*OPENING), win=100, material_wins=True) == [0, 0, 0, 0]


def test_a_win_counts_alone_as_in_the_seed() -> None:
    plies = game("e2e4", "d7d5", "e4d5")
    assert of(plies, win=100, capture=1, material_wins=True) == [100, 0, 101]
    assert of(plies, win=100, capture=1, material_wins=True, win_replaces=True)[2] == 100


def test_white_only() -> None:
    assert learnt(game(*OPENING), Rewards()).tolist() == [True, False, True, False]
    assert learnt(game(*OPENING), NONE).all()


def test_normalised() -> None:
    plies = game("e2e4", "d7d5", "e4d5")
    assert of(plies, win=100, material_wins=True, normalised=True) == [1, 0, 1]
    assert of(plies, invalid=1, normalised=True) == [0, 0, 0]


def test_credit() -> None:
    assert credits(4, "fixed", 0.5).tolist() == [1, 1, 1, 1]
    assert credits(4, "linear", 0.5).tolist() == [0.25, 0.5, 0.75, 1]
    assert credits(4, "gradual", 0.5).tolist() == [0.125, 0.25, 0.5, 1]
    assert of(game("e2e4", "e7e5"), pawn=1, credit="linear") == [0.5, 1]


def test_targets_of_the_seeds_knight_move() -> None:
    plies = game("b1c3")
    made = targets(plies, np.ones(1), Rewards())[0]
    assert made[1] == 1
    assert made[64 + 18] == 1
    assert made[:16].tolist() == pytest.approx([0.01, 1] + [0.01] * 14)
    assert made.sum() == pytest.approx(2.15)


def test_targets_may_leave_the_others() -> None:
    predictions = np.full((1, 128), 0.5, np.float32)
    made = targets(game("b1c3"), np.ones(1), Rewards(leave=True), predictions)[0]
    assert (made[16:64] == 0.5).all()
    assert made[64 + 18] == 1


def test_targets_are_turned_for_black() -> None:
    made = targets(game("e2e4", "b8c6"), np.ones(2), Rewards())[1]
    assert made[1] == made[64 + 18] == 1


def test_targets_of_pairs() -> None:
    made = targets(game("b1c3"), np.ones(1), Rewards(), np.zeros((1, 4096), np.float32))[0]
    assert np.flatnonzero(made).tolist() == [64 + 18]


def test_all_terms_are_known() -> None:
    amounts = {"win", "lose", "mate", "capture", "loss", "promotion", "pawn", "pattern"}
    amounts |= {"efficiency", "invalid", "duration", "evaluation"}
    assert set(terms(game("e2e4"), 0, NONE)) == amounts
