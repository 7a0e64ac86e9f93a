"""Games in lockstep against python-chess, their guards, limits and seeds."""

from __future__ import annotations

import chess
import numpy as np
import pytest
import torch

from nnuelab import features
from nnuelab.chess import notation
from nnuelab.data.records import to_fen
from nnuelab.policy.games import END_NAMES, Games, Player, play, score
from nnuelab.policy.mover import Mover
from nnuelab.policy.network import Network
from nnuelab.policy.policyfile import Policy

MATES = "7k/8/6K1/8/8/8/8/RQ6 w - - 0 1"
BARE = "8/8/4k3/8/8/3K4/8/6NR w - - 0 1"
LOCKED = "8/8/4k3/p1p1p1p1/P1P1P1P1/4K3/8/8 w - - 0 1"  # nobody can get through
BLOCKED = "k7/P7/2K5/8/8/8/8/8 w - - 90 80"


def untrained(head: str = "pair", value: bool = True) -> Policy:
    generator = torch.Generator().manual_seed(1)
    network = Network(
        features.parse("YACGE"), generator, layers=[16], head=head, rank=3, value=value
    )
    return network.policy("masked", {})


def replayed(games: Games, board: int, fen: str) -> chess.Board:
    """The game on python-chess's board: raises where a move isn't legal."""
    found = chess.Board(fen)
    for ply in games.of(board):
        move = chess.Move.from_uci(notation.move_to_uci(int(ply["record"]["move"])))
        assert move in found.legal_moves
        assert END_NAMES.index(_end(found)) == 0  # it went on
        assert bool(ply["record"]["flags"] & 1) == (found.turn == chess.BLACK)
        found.push(move)
    return found


def _end(board: chess.Board) -> str:
    if board.is_checkmate():
        return "mate"
    if board.is_stalemate():
        return "stalemate"
    if board.halfmove_clock >= 100:
        return "fifty moves"
    if board.is_repetition(3):
        return "repetition"
    return "material" if board.is_insufficient_material() else "ongoing"


@pytest.mark.parametrize("fen", [notation.STARTING_FEN, MATES, BARE, BLOCKED])
def test_games_end_as_python_chess_says(fen: str) -> None:
    player = Player("random")
    games = play(player, player, 120, 3, max_plies=300, fen=fen)
    for b, end in enumerate(games.ends):
        board = replayed(games, b, fen)
        wanted = _end(board)
        assert END_NAMES[end] == (wanted if wanted != "ongoing" else "ply limit")
        assert END_NAMES[end] != "ply limit" or games.lengths[b] == 300
        winner = {"1-0": 1, "0-1": -1}.get(board.result(), 0) if end == 1 else 0
        assert games.results[b] == winner
        black = games.of(b)["record"]["flags"] & 1
        assert (games.of(b)["record"]["result"] == np.where(black, -winner, winner)).all()
        assert notation.to_fen(games.positions[b, games.lengths[b]]) == board.fen()


def test_every_reason_is_seen() -> None:
    player, seen = Player("random"), set()
    for fen in (notation.STARTING_FEN, MATES, BARE, BLOCKED):
        seen |= set(play(player, player, 120, 3, max_plies=300, fen=fen).ends)
    assert {END_NAMES[end] for end in seen} == set(END_NAMES) - {"ongoing", "blocked"}


def test_guards() -> None:
    player = Player("random")
    shares = {}
    for guard in ("none", "threefold", "repeated"):
        games = play(player, player, 60, 1, max_plies=150, guard=guard, fen=LOCKED)
        shares[guard] = games.shares()
        if guard == "repeated":
            for b, length in enumerate(games.lengths):
                keys = games.positions[b, : length + 1]["key"]
                assert len(np.unique(keys)) == len(keys)
    assert shares["none"]["repetition"] > 0
    assert shares["threefold"]["repetition"] == shares["repeated"]["repetition"] == 0
    assert shares["repeated"]["fifty moves"] > shares["none"]["fifty moves"]


def test_guard_may_leave_no_move() -> None:
    # The king can only go back to where it came from, and that position was there before.
    fen = "7k/5K1p/7P/8/8/8/8/8 w - - 0 1"
    player = Player("random")
    games = play(player, player, 200, 1, max_plies=100, guard="repeated", fen=fen)
    assert games.shares()["blocked"] > 0
    for b in np.flatnonzero(games.ends == END_NAMES.index("blocked")):
        board = replayed(games, int(b), fen)
        assert any(board.legal_moves)
        assert games.results[b] == 0


def test_ply_limit() -> None:
    player = Player("random")
    games = play(player, player, 20, 1, max_plies=11)
    assert (games.lengths == 11).all()
    assert {END_NAMES[end] for end in games.ends} == {"ply limit"}


@pytest.mark.parametrize("mover", ["random", "points", "greedy", "sampled", "walk", "value"])
def test_a_game_depends_on_its_number_alone(mover: str) -> None:
    player = Player(mover, untrained())
    together = play(player, player, 5, 9, max_plies=60)
    again = play(player, player, 5, 9, max_plies=60)
    assert together.plies.tobytes() == again.plies.tobytes()
    alone = play(player, player, 1, 9, max_plies=60, number=3)
    assert alone.of(0).tobytes() == together.of(3).tobytes()


@pytest.mark.parametrize("head", ["fromto", "product", "pair"])
def test_walk_counts(head: str) -> None:
    policy = untrained(head)
    player, mover = Player("walk", policy), Mover(policy)
    plies = play(player, player, 1, 1, max_plies=20).of(0)
    assert (plies["tries"] >= 1).all()
    assert (plies["tries"] <= 4096).all()
    assert (plies["checks"] <= plies["tries"]).all()
    assert (plies["checks"] >= 1).all()
    for ply in plies:
        found = mover.walked(notation.from_fen(to_fen(ply["record"])))
        assert found["move"] == ply["record"]["move"]
        assert (found["tries"], found["checks"]) == (ply["tries"], ply["checks"])


def test_probability_of_a_drawn_move() -> None:
    player = Player("sampled", untrained(), temperature=1e6)
    plies = play(player, player, 1, 1, max_plies=1).of(0)
    assert plies["probability"][0] == pytest.approx(1 / 20, rel=1e-3)


def test_points_beats_random() -> None:
    games = play(Player("points"), Player("random"), 40, 1, max_plies=300, alternate=True)
    assert score(games) > 0.9


def test_points_mates_and_avoids_stalemate() -> None:
    games = play(Player("points"), Player("random"), 20, 1, max_plies=1, fen=MATES)
    assert (games.results == 1).all()


def test_a_mover_without_a_policy() -> None:
    with pytest.raises(ValueError, match="greedy needs a policy"):
        Player("greedy")
    with pytest.raises(ValueError, match="needs a policy with a value head"):
        Player("value", untrained(value=False))
