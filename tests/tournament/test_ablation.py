"""What a term is worth: the numbers against other formulas, and a real match at tiny scale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.tournament.ablation import HASH_MB, LEAST_PAIRS, RemoteEngine, ablate, is_decided
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
    position = notation.from_fen(notation.STARTING_FEN)
    whole, remote = RemoteEngine(None, []), RemoteEngine(None, GUESSES.split(","))
    here = Engine(hash_mb=HASH_MB).search(position, nodes=50_000)
    there, without = (engine.search(position, [], nodes=50_000) for engine in (whole, remote))
    assert (there.pv, there.depth, there.score_cp) == (here.pv, here.depth, here.score_cp)
    assert (without.pv, without.depth, without.score_cp) != (here.pv, here.depth, here.score_cp)
    remote._process.kill()
    with pytest.raises(UserError, match=f"without {GUESSES}"):
        remote.new_game()
    assert whole._process.stdin is not None
    whole._process.stdin.close()
    assert whole._process.wait(30) == 0


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
