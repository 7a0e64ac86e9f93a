"""Generated games: what they are depends on player, parameters and seed, and on nothing else."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import chess
import chess.pgn
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from nnuelab import __version__
from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import write_net
from nnuelab.selfplay import openings
from nnuelab.selfplay.datagen import FIRST_PLY, RULES, Parameters, Source, datagen
from nnuelab.tournament.game import Line, Seat
from nnuelab.tournament.limits import Limit, Turn
from tests.data.labelling import fake_engine
from tests.nnue_nets import random_net

LIMIT = Limit(nodes=10)
PARAMETERS = Parameters(LIMIT, random_plies=6, max_opening_score=50, seed=3)
SHORT = replace(PARAMETERS, rules=replace(RULES, max_plies=10))
OURS = Parameters(Limit(nodes=100), random_plies=8, max_opening_score=100, seed=1)


def text(path: Path) -> str:
    with zstandard.open(path, "rt", encoding="ascii") as file:
        return file.read()


def games(path: Path) -> list[chess.pgn.Game]:
    stream, found = io.StringIO(text(path)), []
    while (game := chess.pgn.read_game(stream)) is not None:
        found.append(game)
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve games by the fake engine, one worker."""
    folder = tmp_path_factory.mktemp("datagen")
    output = folder / "games.pgn.zst"
    datagen(output, Source(fake_engine(folder, 0)), 12, PARAMETERS, workers=1)
    return output


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty games by this engine with the shipped net, one worker."""
    output = tmp_path_factory.mktemp("ours") / "games.pgn.zst"
    datagen(output, Source(NetEvaluator()), 40, OURS, workers=1)
    return output


def said(game: chess.pgn.Game) -> list[tuple[chess.Move | None, object]]:
    """Of each searched position: what was played, and its evaluation from White's view."""
    return [
        (node.next().move if node.next() else None, node.eval())
        for node in game.mainline()
        if node.eval() is not None
    ]


def test_evaluation_of_a_move_is_that_of_the_position_after_it(played: Path, tmp_path) -> None:
    with Source(fake_engine(tmp_path, 0)).start(LIMIT).player as engine:
        engine.new_game()
        for game in games(played)[:3]:
            evaluated = [node for node in game.mainline() if node.eval() is not None]
            assert evaluated[0].ply() in (6, 7)  # the last move of the opening
            for node in evaluated:
                board = node.board()
                line = Line(notation.STARTING_FEN, 0, ours_of(board))
                found = engine.search(line, Turn(LIMIT, 0, 0, 0))
                score = chess.engine.PovScore(chess.engine.Cp(found.score_cp or 0), board.turn)
                assert node.eval() == score
                assert node.next().move == chess.Move.from_uci(notation.move_to_uci(found.move))


def ours_of(board: chess.Board) -> list[int]:
    """The moves of a board in our layout."""
    position, moves = openings.START, []
    for move in board.move_stack:
        moves.append(notation.parse_uci(position, move.uci()))
        position = notation.after(position, moves[-1])
    return moves


def test_games_of_this_engine_are_those_that_it_plays_move_by_move(ours: Path) -> None:
    engine = Engine(NetEvaluator(), hash_mb=4)
    for game in games(ours)[:3]:
        engine.new_game()
        nodes = list(game.mainline())
        first = next(i for i, node in enumerate(nodes) if node.eval() is not None)
        for node in nodes[first:]:
            line = Line(notation.STARTING_FEN, 0, ours_of(node.board()))
            if node.next() is None:
                assert node.eval() is None  # nothing was to be searched any more
                break
            found = engine.search(line.position, line.history, nodes=100)
            assert node.next().move.uci() == notation.move_to_uci(found.move)
            score = node.eval().relative
            assert (score.score(), score.mate()) == (
                None if found.mate else found.score_cp,
                found.mate,
            )


def test_games_are_legal_distinct_and_end_as_their_tags_say(played: Path, ours: Path) -> None:
    for path, number, player in (
        (played, 12, "Fake 1.0"),
        (ours, 40, f"nnuelab {__version__} ALL"),
    ):
        found = games(path)
        assert len(found) == number
        assert len({str(game.mainline_moves()) for game in found}) == number
        ends = set()
        for game in found:
            assert not game.errors
            board, end = game.end().board(), game.headers["Termination"]
            over = board.outcome(claim_draw=False)
            drawn = board.is_repetition(3) or board.halfmove_clock >= 100
            expected = over.result() if over and over.winner is not None else "1/2-1/2"
            ends.add(end)
            if end == "normal":
                assert over is not None or drawn
                assert game.headers["Result"] == expected
            else:
                assert end == "adjudication"
                assert over is None
                assert not drawn
            assert game.headers["White"] == player
        assert "normal" in ends
        record = json.loads(path.with_name(path.name + ".json").read_text())
        assert record["games"] == sum(record["results"].values()) == number
        assert record["player"] == player
        assert record["evaluations"] == sum(len(said(game)) for game in found)


def test_the_speed_counts_what_sampling_keeps(tmp_path) -> None:
    output = tmp_path / "games.pgn.zst"
    _, speed = datagen(output, Source(NetEvaluator()), 6, OURS, workers=1)
    searched = kept = 0
    for game in games(output):
        for node in [game, *game.mainline()]:
            board, move = node.board(), node.next().move if node.next() else None
            searched += node.eval() is not None
            kept += (
                move is not None
                and node.ply() >= FIRST_PLY
                and not board.is_check()
                and not board.is_capture(move)
                and not move.promotion
            )
    assert (speed.searched, speed.kept, speed.nodes) == (searched, kept, 100 * searched)
    assert 0 < speed.thinking < speed.cpu
    assert "of the CPU time in search" in str(speed)


def command(output: Path, *more: object) -> list[str]:
    return [
        *(sys.executable, "-m", "nnuelab.cli", "datagen", "--output", str(output)),
        *map(str, more),
    ]


def test_a_killed_run_continues_with_any_number_of_workers(played: Path, tmp_path) -> None:
    output = tmp_path / "games.pgn.zst"
    call = command(
        output,
        *("--games", 12, "--nodes", 10, "--random-plies", 6, "--max-opening-score", 50),
        *("--seed", 3, "--workers", 2, "--engine", fake_engine(tmp_path, 0.002)),
    )
    journal = tmp_path / "games.pgn.zst.partial"
    process = subprocess.Popen(call, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") > 3:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert journal.exists()
    assert not output.exists()
    with journal.open("ab") as file:
        file.write(b'{"number": 99, "open')  # half a line
    subprocess.run(call, check=True, stderr=subprocess.DEVNULL)
    assert output.read_bytes() == played.read_bytes()
    assert not journal.exists()


def test_another_net_plays_other_games_and_stands_in_the_record(ours: Path, tmp_path) -> None:
    net = tmp_path / "other.nnue"
    write_net(net, random_net("H+V", l1=16))
    output = tmp_path / "games.pgn.zst"
    datagen(output, Source(NetEvaluator(net)), 2, replace(OURS, max_opening_score=3000), workers=1)
    record = json.loads(output.with_name(output.name + ".json").read_text())
    assert set(record["inputs"]) == {"net"}
    assert record["player"] == f"nnuelab {__version__} H+V"
    assert text(output)[:400] != text(ours)[:400]


def test_a_run_of_other_parameters_or_other_code_gives_way(tmp_path, capsys, monkeypatch) -> None:
    output, engine = tmp_path / "games.pgn.zst", Source(fake_engine(tmp_path, 0))
    datagen(output, engine, 2, SHORT, workers=1)
    expected = output.read_bytes()
    journal = tmp_path / "games.pgn.zst.partial"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for other, code in ((replace(SHORT, seed=4), None), (SHORT, "other")):
        with monkeypatch.context() as patch:
            patch.setattr("nnuelab.selfplay.datagen._write", killed)
            if code:
                patch.setattr("nnuelab.artifacts.code_hash", lambda *_, code=code, **__: code)
            with pytest.raises(KeyboardInterrupt):
                datagen(output, engine, 1, other, workers=1)
        assert journal.exists()
        capsys.readouterr()
        datagen(output, engine, 2, SHORT, workers=1)
        assert "starts anew" in capsys.readouterr().err
        assert output.read_bytes() == expected
        assert not journal.exists()


def test_openings_that_run_out_are_one_line(tmp_path, monkeypatch) -> None:
    """There are 21 positions after no or one ply."""
    engine, output = fake_engine(tmp_path, 0), tmp_path / "output"
    monkeypatch.setattr("nnuelab.selfplay.datagen.MAX_REPEATED", 4)
    few = replace(SHORT, random_plies=0, max_opening_score=60)
    with pytest.raises(UserError, match="4 openings in a row have been played before, after"):
        datagen(output, Source(engine), 22, few, workers=1)
    monkeypatch.setattr(openings, "MAX_REJECTED", 100)
    with (
        Source(engine).start(LIMIT).player as player,
        pytest.raises(UserError, match="none of 100 positions after 6 or 7 random plies is within"),
    ):
        openings.opening(Seat(player, LIMIT), 1, 1, 6, -1)
    assert not output.exists()


@pytest.mark.parametrize(("fault", "words"), [("dies", "crashes"), ("silent", "without a score")])
def test_a_broken_engine_is_one_line(tmp_path, fault: str, words: str) -> None:
    output = tmp_path / "games.pgn.zst"
    with pytest.raises(UserError, match=words):
        datagen(output, Source(fake_engine(tmp_path, 0, fault)), 1, PARAMETERS, workers=1)
    assert not output.exists()


def test_wrong_calls_are_refused(tmp_path) -> None:
    output, net = tmp_path / "games.pgn.zst", tmp_path / "a.nnue"
    net.write_text("no net")
    for more, status, words in (
        (("--net", net, "--engine", "stockfish"), 2, "not both"),
        (("--net", net), 1, "a.nnue"),
        (("--net", tmp_path / "none.nnue"), 1, "none.nnue"),
        (("--nodes", 5, "--depth", 5), 2, "not both"),
    ):
        done = subprocess.run(command(output, *more), capture_output=True, text=True)
        assert done.returncode == status
        assert words in done.stderr
        assert list(tmp_path.iterdir()) == [net]
    for part in ("0/2", "3/2", "2"):
        call = command(tmp_path / "a.part", "--part", part)
        done = subprocess.run(call, capture_output=True, text=True)
        assert done.returncode == 1
        assert f"part '{part}': it must be I/N" in done.stderr
        assert list(tmp_path.iterdir()) == [net]
    done = subprocess.run(command(net, "--net", net), capture_output=True, text=True)
    assert done.returncode == 1
    assert "would overwrite" in done.stderr


@given(st.integers(0, 2**32), st.integers(1, 10**6), st.integers(0, 12))
def test_an_opening_is_a_function_of_its_numbers(seed: int, number: int, plies: int) -> None:
    found = openings.candidate(seed, number, 0, plies)
    assert found.moves == openings.candidate(seed, number, 0, plies).moves
    board, position = chess.Board(), openings.START
    for move in found.moves:
        board.push(chess.Move.from_uci(notation.move_to_uci(move)))
        assert board.is_valid()
        position = notation.after(position, move)
    assert position == found.position
    assert notation.to_fen(position) == board.fen(en_passant="legal")
    assert len(found.moves) in (plies, plies + 1) or board.is_game_over()
    assert openings.usable(position) == (any(board.legal_moves) and not board.is_check())


def test_every_move_is_drawn_as_often() -> None:
    """The 20 first moves, within five standard deviations; half of the openings are odd."""
    seeds = 4000
    found = [openings.candidate(seed, 1, 0, 1).moves for seed in range(seeds)]
    counts = [[moves[0] for moves in found].count(move) for move in {m[0] for m in found}]
    assert len(counts) == 20
    assert all(abs(count - seeds / 20) < 5 * (seeds / 20) ** 0.5 for count in counts)
    assert abs(sum(len(moves) for moves in found) - 1.5 * seeds) < 2.5 * seeds**0.5
