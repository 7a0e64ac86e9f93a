"""Games in one call of compiled code: the same as those played move by move, and how they end."""

from __future__ import annotations

import random

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab.chess import notation, outcome
from nnuelab.chess.san import replay, sans
from nnuelab.engine import match
from nnuelab.engine.search import Engine
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.settings.games import Rules
from nnuelab.tournament.game import Game, Line, Seat
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.pgn import to_pgn
from nnuelab.tournament.play import EnginePlayer, by_moves, play
from tests.nnue_nets import random_net
from tests.tournament.test_runs import ENDGAMES

OPEN = Rules(draw_move=8, draw_plies=6, draw_score=60, resign_score=400, max_plies=90)


@pytest.fixture(scope="module")
def engines() -> tuple[Engine, Engine]:
    """Two nets that think differently."""
    return tuple(
        Engine(NetEvaluator(random_net(name, l1=16)), hash_mb=1) for name in ("ALL", "H+V")
    )


def both(
    engines: tuple[Engine, Engine],
    limits: tuple[Limit, Limit],
    fen: str,
    rules: Rules,
    moves: list[int],
) -> tuple[Game, Game]:
    """A game at once, and move by move."""
    seats = [Seat(EnginePlayer(e), limit) for e, limit in zip(engines, limits, strict=True)]
    return play(*seats, fen, rules, moves), by_moves(
        *seats, Line(fen, rules.max_plies, moves), rules
    )


def same(one: Game, other: Game, fen: str) -> bool:
    return to_pgn(one, "A", "B", fen, "1") == to_pgn(other, "A", "B", fen, "1")


@pytest.mark.parametrize("fen", [notation.STARTING_FEN, *(f"{fen} 0 1" for fen in ENDGAMES)])
def test_a_game_at_once_is_the_game_move_by_move(engines, fen: str) -> None:
    fen = fen if fen.count(" ") == 5 else " ".join(fen.split()[:6])
    for limits in [
        (Limit(nodes=150), Limit(nodes=60)),
        (Limit(depth=2), Limit(nodes=1)),
    ]:
        for rules in (OPEN, Rules(draw_plies=0, resign_plies=0, max_plies=150)):
            one, other = both(engines, limits, fen, rules, [])
            assert same(one, other, fen)
            assert (one.thinking is None, other.thinking is None) == (False, True)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 30))
def test_moves_played_before_count_for_repetitions_only(engines, seed: int, plies: int) -> None:
    """Knights to and fro among random moves: positions of before come up again."""
    choose, position, moves = random.Random(seed), notation.from_fen(notation.STARTING_FEN), []
    for _ in range(plies):
        knights = [m for m in notation.moves_of(position) if position["board"][m & 63] // 2 == 1]
        legal = knights or notation.moves_of(position)
        moves.append(choose.choice(legal))
        position = notation.after(position, moves[-1])
    one, other = both(
        engines, (Limit(nodes=20), Limit(depth=1)), notation.STARTING_FEN, OPEN, moves
    )
    assert same(one, other, notation.STARTING_FEN)
    assert len(one.moves) <= OPEN.max_plies


def test_one_engine_may_play_both_sides(engines) -> None:
    engine = engines[0]
    limits = (Limit(nodes=100), Limit(nodes=100))
    assert same(*both((engine, engine), limits, notation.STARTING_FEN, OPEN, []), "8/8/8/8 w - 0 1")


def test_a_pause_between_moves_changes_nothing(engines, monkeypatch) -> None:
    limits = (Limit(nodes=300), Limit(nodes=300))
    whole, _ = both(engines, limits, notation.STARTING_FEN, OPEN, [])
    calls, inner = [], match._play_on

    def counted(*arguments):
        calls.append(arguments)
        return inner(*arguments)

    monkeypatch.setattr(match, "_play_on", counted)
    monkeypatch.setattr(match, "PAUSE", 1)  # ns: after each move
    parts, _ = both(engines, limits, notation.STARTING_FEN, OPEN, [])
    assert len(calls) >= len(parts.moves) > 10
    assert same(whole, parts, notation.STARTING_FEN)


def expected(board: chess.Board) -> int:
    if board.is_checkmate():
        return int(outcome.MATE)
    if board.is_stalemate():
        return int(outcome.STALEMATE)
    if board.halfmove_clock >= 100:
        return int(outcome.FIFTY_MOVES)
    if board.is_repetition(3):
        return int(outcome.REPETITION)
    return int(outcome.MATERIAL if board.is_insufficient_material() else outcome.ONGOING)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([chess.STARTING_FEN, *ENDGAMES]))
def test_ends_and_san_are_those_of_python_chess(seed: int, start: str) -> None:
    choose = random.Random(seed)
    board = chess.Board()
    board.set_epd(start) if start.count(" ") == 3 else board.set_fen(start)
    position, fen = notation.from_fen(board.fen()), board.fen()
    moves, texts, found = [], [], []
    for _ in range(200):
        found.append(expected(board))
        legal = notation.moves_of(position)
        if not legal:
            break
        moves.append(choose.choice(legal))
        texts.append(board.san(move := chess.Move.from_uci(notation.move_to_uci(moves[-1]))))
        board.push(move)
        position = notation.after(position, moves[-1])
    positions = replay(notation.from_fen(fen), moves)
    assert sans(positions, moves) == texts
    keys = positions["key"].copy()
    counts = [len(notation.moves_of(position)) for position in positions]
    assert [
        int(outcome.outcome(positions, keys, ply, counts[ply])) for ply in range(len(found))
    ] == found
