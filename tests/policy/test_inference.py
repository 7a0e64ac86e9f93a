"""Inference in jitted code against numpy, for each head."""

from __future__ import annotations

import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.chess.moves import MAX_MOVES, legal_moves
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.policy import inference
from nnuelab.policy.policyfile import HEADS, SQUARES
from tests.naive import policy as naive
from tests.policy.policies import random_policy
from tests.positions import random_fens


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    ("sizes", "activation", "feature_set"),
    [((), "relu", "YACGE"), ((16,), "sigmoid", "YACGE"), ((21, 9), "relu", "ALL+KING")],
)
def test_outputs_logits_and_value_are_those_of_numpy(
    head: str, sizes: tuple[int, ...], activation: str, feature_set: str
) -> None:
    policy = random_policy(head, sizes, activation=activation, feature_set=feature_set, scale=0.3)
    record = inference.Inference(policy).record
    moves, active = np.empty(MAX_MOVES, np.int64), np.empty(512, np.int32)
    for fen in random_fens(2, 40):
        position = notation.from_fen(fen)
        turn = int(position["turn"])
        n_active = kernels.active(record["features"], position, turn, active)
        out, value = naive.outputs(policy, active[:n_active].tolist())
        inference.hidden(record, position)
        assert inference.outputs(record) == pytest.approx(out, rel=1e-4, abs=1e-4)
        assert inference.value(record) == pytest.approx(value, rel=1e-4, abs=1e-4)
        n = legal_moves(position, moves)
        logits = np.empty(MAX_MOVES, np.float32)
        inference.move_logits(record, position, moves, n, logits)
        for move, logit in zip(moves[:n].tolist(), logits[:n].tolist(), strict=True):
            start, square = (s ^ 56 * turn for s in (move & 63, move >> 6 & 63))
            assert logit == pytest.approx(
                naive.logit(policy, out, start, square), rel=1e-3, abs=1e-3
            )


def test_a_policy_without_a_value_head_says_nothing() -> None:
    record = inference.Inference(random_policy(value=False)).record
    inference.hidden(record, notation.from_fen(notation.STARTING_FEN))
    assert inference.value(record) == 0


def test_black_sees_the_board_turned_over() -> None:
    policy = random_policy("fromto")
    record = inference.Inference(policy).record
    for fen in random_fens(3, 50):
        position = notation.from_fen(fen)
        board, turn, *_ = fen.split()
        mirrored = "/".join(reversed(board.split("/"))).swapcase()
        other = notation.from_fen(f"{mirrored} {'w' if turn == 'b' else 'b'} - - 0 1")
        seen = []
        for one in (position, other):
            inference.hidden(record, one)
            seen.append(inference.outputs(record).copy())
        # Up to the order of the sums.
        assert seen[0] == pytest.approx(seen[1], rel=1e-4, abs=1e-5)
        assert seen[0].shape == (2 * SQUARES,)
