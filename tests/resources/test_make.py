"""What makes the puzzles and openings that come with the project, and the puzzles themselves."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import random
import shutil
import sys
from pathlib import Path

import chess
import chess.engine
import pytest

from nnuelab.chess import notation
from nnuelab.data import pgn
from nnuelab.data.records import MATE
from nnuelab.data.uci import find_engine
from nnuelab.errors import UserError
from nnuelab.selfplay import openings
from nnuelab.tournament import puzzles
from nnuelab.tournament.limits import Limit
from resources.make import puzzles as generator
from resources.make.book import book
from tests.data.labelling import fake_engine

ROOT = Path(__file__).resolve().parents[2]
EMBEDDED = ROOT / "resources/embedded/puzzles.csv.gz"
LIMIT = Limit(nodes=10)
HAS_STOCKFISH = shutil.which("stockfish", path="/usr/games:/usr/bin:/usr/local/bin") is not None
needs_stockfish = pytest.mark.skipif(not HAS_STOCKFISH, reason="no stockfish")

# Black's queen goes where a knight forks it with the king.
BLUNDER = """[Event "?"]
[FEN "6k1/5ppp/8/3q4/4N3/8/5PPP/3R2K1 b - - 0 1"]
[SetUp "1"]
[Result "1-0"]

1... Qe5 1-0
"""


@pytest.fixture(scope="module")
def embedded() -> list[dict[str, str]]:
    with gzip.open(EMBEDDED, "rt", newline="") as file:
        return list(csv.DictReader(file))


def test_the_embedded_puzzles_are_sound_and_small(embedded: list[dict[str, str]]) -> None:
    assert EMBEDDED.stat().st_size < 300_000
    found = puzzles.read(EMBEDDED)
    assert len(found) == len(embedded) >= 100
    assert tuple(embedded[0]) == generator.COLUMNS == puzzles.COLUMNS
    assert len({row["PuzzleId"] for row in embedded}) == len({row["FEN"] for row in embedded})
    for row in embedded:
        board = chess.Board(row["FEN"])
        moves = [chess.Move.from_uci(move) for move in row["Moves"].split()]
        board.push(moves[0])
        assert row["Themes"] == generator.themes(board, moves[1:])
        assert len(moves) >= 4 or "mate" in row["Themes"].split()
        assert board.legal_moves.count() > 1
        # Taking back is no puzzle.
        assert moves[1].to_square != moves[0].to_square


def test_the_rule_that_makes_them_names_what_made_them() -> None:
    record = json.loads(EMBEDDED.with_name(EMBEDDED.name + ".json").read_text())
    assert list(record["inputs"]) == ["games.pgn.zst"]
    assert record["engine"].startswith("Stockfish")


@needs_stockfish
@pytest.mark.slow
def test_stockfish_finds_them_with_more_nodes(embedded: list[dict[str, str]]) -> None:
    """Ten times the nodes that they were made with: first moves stay the best, and far ahead."""
    chosen = random.Random(1).sample(embedded, 60)
    agreed = 0
    with chess.engine.SimpleEngine.popen_uci(find_engine("stockfish")) as engine:
        for row in chosen:
            board = chess.Board(row["FEN"])
            first, answer = row["Moves"].split()[:2]
            board.push_uci(first)
            found = engine.analyse(board, chess.engine.Limit(nodes=200_000), multipv=2)
            best, second = (
                generator.chance(line["score"].relative.score(mate_score=MATE)) for line in found
            )
            agreed += found[0]["pv"][0].uci() == answer and best - second > 0.25
    assert agreed >= 0.9 * len(chosen)


@pytest.mark.parametrize(
    ("fen", "moves", "expected"),
    [
        ("k7/7p/1K6/8/8/8/8/5QR1 w - - 0 40", "f1f8", "endgame mate mateIn1 oneMove"),
        ("8/P6k/8/8/8/8/8/K7 w - - 0 40", "a7a8q h7g7 a8a7", "endgame promotion quietMove short"),
        (
            "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
            "h5f7",
            "mate mateIn1 oneMove opening",
        ),
    ],
)
def test_themes_are_told(fen: str, moves: str, expected: str) -> None:
    board = chess.Board(fen)
    line = [chess.Move.from_uci(move) for move in moves.split()]
    assert set(generator.themes(board, line).split()) == set(expected.split())


def test_candidates_are_won_by_a_mistake_of_the_side_before() -> None:
    evals = {12: 0, 13: -200, 14: 300, 15: -149, 16: 150, 17: 140, 18: 170, 19: 170, 20: 900}
    # Behind an even number of moves it is White's move. At 17 White was as good as won before.
    assert list(generator.candidates(evals, 40)) == [12, 13, 15, 19]
    assert list(generator.candidates({14: 300, 15: 300, 16: 300}, 40)) == []  # 13 isn't known


@pytest.fixture
def own_engine(tmp_path: Path) -> str:
    """This engine as a program."""
    path = tmp_path / "engine"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} -m nnuelab.cli uci\n")
    path.chmod(0o755)
    return str(path)


def test_a_few_games_give_the_same_puzzles_for_any_number_of_workers(
    tmp_path: Path, own_engine: str
) -> None:
    texts = itertools.islice(pgn.texts(ROOT / "resources/embedded/games.pgn.zst"), 80, 83)
    games = tmp_path / "games.pgn"
    games.write_bytes(b"\n".join(texts))
    made = []
    for workers in (1, 2):
        output = tmp_path / f"{workers}.csv"
        assert generator.puzzles(games, output, own_engine, 9, 20_000, workers) >= 1
        assert puzzles.read(output)
        made.append(output.read_bytes())
    assert made[0] == made[1]


def test_games_without_evaluations_have_no_puzzle(tmp_path: Path, own_engine: str) -> None:
    games = tmp_path / "g.pgn"
    games.write_text(BLUNDER)
    with pytest.raises(UserError, match=r"needs \[%eval\]"):
        generator.puzzles(games, tmp_path / "p.csv", own_engine, 1, 1000, 1)


def test_a_book_has_each_position_once_and_is_the_same_again(tmp_path) -> None:
    engine = fake_engine(tmp_path, 0)
    for name, workers in (("one.epd.gz", 1), ("two.epd.gz", 2)):
        book(tmp_path / name, str(engine), 60, LIMIT, 2, 30, seed=5, workers=workers)
    data = (tmp_path / "one.epd.gz").read_bytes()
    assert data == (tmp_path / "two.epd.gz").read_bytes()
    epds = gzip.decompress(data).decode().splitlines()
    assert len(epds) == len(set(epds)) == 60
    for epd in epds:
        assert openings.usable(notation.from_fen(epd))


def test_a_book_that_has_no_more_openings_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are 21 positions after no or one ply."""
    monkeypatch.setattr(openings, "MAX_REJECTED", 100)
    output, engine = tmp_path / "o.epd.gz", str(fake_engine(tmp_path, 0))
    with pytest.raises(UserError, match="100 candidates in a row are no new openings, after 21 of"):
        book(output, engine, 22, LIMIT, 0, 60, seed=5, workers=1)
    assert not output.exists()
