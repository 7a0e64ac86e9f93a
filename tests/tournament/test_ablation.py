"""What a term is worth: the numbers against other formulas, and a real match at tiny scale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.tournament.ablation import HASH_MB, LEAST_PAIRS, ablate, is_decided, without_terms
from nnuelab.tournament.sprt import Tally
from tests.naive.engine import GUESSES


def test_nothing_is_decided_by_few_pairs() -> None:
    assert not is_decided(Tally([0, 0, 0, 0, LEAST_PAIRS - 1]))
    assert not is_decided(Tally([0, 0, LEAST_PAIRS, 0, 0]))
    assert is_decided(Tally([10, 20, 300, 400, 200]))


def test_an_engine_against_itself_splits_every_pair(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n")
    assert ablate([], book, games=2, nodes=200, net=None, processes=1).counts == [0, 0, 1, 0, 0]


def test_the_other_engine_lacks_the_term() -> None:
    found = Engine(NetEvaluator(), hash_mb=HASH_MB).search(
        notation.from_fen(notation.STARTING_FEN), nodes=50_000
    )
    here = found.depth, found.score_cp, [notation.move_to_uci(move) for move in found.pv]
    for terms, same in (([], True), (GUESSES.split(","), False)):
        with without_terms(None, terms) as player:
            reply = player.engine.search("startpos", "nodes 50000")
        assert ((reply.depth, reply.variations[0].cp, reply.variations[0].moves) == here) == same


def test_a_group_of_terms_is_measured_by_games(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_text(
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n"
        "rnbqkbnr/pppp1ppp/4p3/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n"
    )
    group = GUESSES.replace(",", "+")
    command = [sys.executable, "-m", "nnuelab.cli", "ablate", group, "--book", str(book)]
    done = subprocess.run(
        [*command, "--games", "4", "--nodes", "50"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    header, row = done.stdout.splitlines()
    assert header == "term,elo,error,games,llr"
    assert row.startswith(f"{group},")
    assert row.split(",")[3] == "4"
    refused = subprocess.run([*command, "futlity"], capture_output=True, text=True)
    assert refused.returncode == 2
