"""What a policy plays, and what it says of moves."""

from __future__ import annotations

from typing import Any

import chess
import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.errors import UserError
from nnuelab.policy import inference
from nnuelab.policy.mover import Candidate, Mover, Style, wdl
from nnuelab.policy.policyfile import HEADS
from tests.naive import policy as naive
from tests.policy.policies import random_policy
from tests.positions import random_fens


def going_on(seed: int, n: int) -> list[str]:
    """FENs with a legal move."""
    return [fen for fen in random_fens(seed, n) if any(chess.Board(fen).legal_moves)]


def played(mover: Mover, fen: str, *, keys: tuple[int, ...] = ()) -> str:
    return notation.move_to_uci(mover.ranked(notation.from_fen(fen), keys)[0].move)


@pytest.mark.parametrize("head", HEADS)
def test_moves_are_ranked_by_their_probabilities(head: str) -> None:
    policy = random_policy(head)
    mover, record = Mover(policy), inference.Inference(policy).record
    for fen in going_on(4, 60):
        position, board = notation.from_fen(fen), chess.Board(fen)
        turn = int(position["turn"])
        inference.hidden(record, position)
        out = inference.outputs(record).astype(float)
        legal = [m for m in board.legal_moves if m.promotion in (None, chess.QUEEN)]
        logits = {
            m.uci(): naive.logit(policy, out, m.from_square ^ 56 * turn, m.to_square ^ 56 * turn)
            for m in legal
        }
        total = sum(np.exp(list(logits.values())))
        ranked = mover.ranked(position, [], count=500)
        assert sorted(logits) == sorted(notation.move_to_uci(c.move) for c in ranked)
        for candidate in ranked:
            expected = np.exp(logits[notation.move_to_uci(candidate.move)]) / total
            assert candidate.probability == pytest.approx(expected, rel=1e-3, abs=1e-9)
        probabilities = [c.probability for c in ranked]
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) == pytest.approx(1)


@pytest.mark.parametrize("head", HEADS)
def test_the_walk_is_played_when_asked(head: str) -> None:
    mover = Mover(random_policy(head), Style(walk=True))
    for fen in going_on(5, 60):
        position, board = notation.from_fen(fen), chess.Board(fen)
        values = mover.activations(position)
        literal = naive.walk if head == "fromto" else naive.walk_pairs
        assert played(mover, fen) == literal(board, values)[0].uci()


def test_games_depend_on_the_seed_alone() -> None:
    policy = random_policy(scale=0.1)
    fens = going_on(6, 40)
    drawn = [
        [played(Mover(policy, Style(temperature=1.0, seed=seed)), fen) for fen in fens]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    best = [played(Mover(policy), fen) for fen in fens]
    assert best != drawn[0]
    assert [played(Mover(policy, Style(temperature=1.0, top_p=1e-9)), fen) for fen in fens] == best


def test_one_ply_finds_mates_and_avoids_draws() -> None:
    mover = Mover(random_policy(), Style(plies=1))
    fen = "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1"
    ranked = mover.ranked(notation.from_fen(fen), [], 3)
    assert notation.move_to_uci(ranked[0].move) == "a1a8"
    assert (ranked[0].mates, ranked[0].value, ranked[0].centipawns) == (True, 1.0, None)
    # Qf7 is stalemate: a value of 0.
    position = notation.from_fen("7k/8/6K1/8/8/8/5Q2/8 w - - 0 1")
    values = {notation.move_to_uci(c.move): c for c in mover.ranked(position, [], 99)}
    assert values["f2f7"].value == 0
    assert values["f2f8"].mates


def test_a_position_that_was_there_before_is_a_draw() -> None:
    mover = Mover(random_policy(), Style(plies=1))
    position, keys = notation.from_fen("7k/8/6K1/8/8/8/8/1R6 w - - 10 80"), []
    for uci in ("b1b2", "h8g8", "b2b1", "g8h8"):
        keys.append(int(position["key"]))
        position = notation.after(position, notation.parse_uci(position, uci))
    found = {notation.move_to_uci(c.move): c.value for c in mover.ranked(position, keys, 99)}
    assert found["b1b2"] == 0
    assert found["b1b3"] != 0


def test_underpromotions_are_played_only_when_asked() -> None:
    position = notation.from_fen("8/P6k/8/8/8/8/8/K7 w - - 0 1")
    for style, n in ((Style(), 1), (Style(underpromotions=True), 4)):
        ranked = Mover(random_policy(), style).ranked(position, [], 99)
        names = [notation.move_to_uci(c.move) for c in ranked]
        assert sum(name.startswith("a7a8") for name in names) == n


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temperature": -1}, "temperature -1"),
        ({"temperature": "hot"}, "temperature 'hot' is not a number"),
        ({"temperature": float("nan")}, "temperature nan"),
        ({"top_p": 0}, "top_p 0"),
        ({"plies": 2}, "plies 2"),
        ({"walk": "yes"}, "walk 'yes' is neither true nor false"),
        ({"value_head": 0}, "value_head 0 is neither true nor false"),
        ({"seed": -1}, "seed -1"),
        ({"walk": True, "temperature": 1}, "a walk has neither"),
    ],
)
def test_styles_that_can_t_be_are_told(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Style(**settings)


def test_looking_ahead_needs_a_value_head() -> None:
    with pytest.raises(UserError, match="no value head"):
        Mover(random_policy(value=False), Style(plies=1))
    ranked = Mover(random_policy(value=False)).ranked(notation.from_fen(chess.STARTING_FEN), [], 3)
    assert [c.value for c in ranked] == [None] * 3


def test_without_its_value_head_one_ply_knows_mates_and_draws_alone() -> None:
    mover = Mover(random_policy(), Style(plies=1, value_head=False))
    mating = notation.from_fen("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1")
    assert notation.move_to_uci(mover.ranked(mating, [])[0].move) == "a1a8"
    start = notation.from_fen(chess.STARTING_FEN)
    by_probability = Mover(random_policy(value=False)).ranked(start, [], 99)
    for policy in (random_policy(), random_policy(value=False)):
        found = Mover(policy, Style(plies=1, value_head=False)).ranked(start, [], 99)
        assert [c.move for c in found] == [c.move for c in by_probability]
        assert {c.value for c in found} == {None}
    mover.style = Style(plies=1)
    assert {c.value for c in mover.ranked(start, [], 99)} != {None}


def test_wins_draws_and_losses_have_the_value_as_their_mean() -> None:
    for value in np.linspace(-1, 1, 41):
        wins, draws, losses = wdl(float(value))
        assert wins + draws + losses == 1000
        assert min(wins, draws, losses) >= 0
        assert (wins - losses) / 1000 == pytest.approx(value, abs=0.0016)
    assert Candidate(1, 1.0, 0.0).centipawns == 0
    assert Candidate(1, 1.0, 1.0).centipawns == -Candidate(1, 1.0, -1.0).centipawns
