"""A match with a sequential test: it ends when that has decided, and always at the same pair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nnuelab.errors import UserError
from nnuelab.settings.games import Rules
from nnuelab.tournament.headers import read_results
from nnuelab.tournament.runner import tournament
from nnuelab.tournament.schedule import Settings
from nnuelab.tournament.sprt import LEAST_PAIRS, Sprt, Tally
from nnuelab.tournament.words import Format
from tests.fake_player import RandomEntrant
from tests.tournament.test_runs import write_book, write_nets

RULES = Rules(draw_move=5, draw_plies=4, resign_plies=3, max_plies=60)
# Random players draw half of their games: 0 against -150 Elo is soon decided.
TEST = Sprt(-150, 0)


def play(folder: Path, processes: int, test: Sprt | None = TEST) -> Path:
    folder.mkdir(exist_ok=True)
    nets = write_nets(folder, "a", "a")
    output = folder / "games.pgn"
    tournament(
        {name: RandomEntrant(net) for name, net in nets.items()},
        write_book(folder / "book.epd", 300),
        output,
        Settings(600, Format.MATCH, seed=3, rules=RULES, sprt=test),
        processes=processes,
    )
    return output


def test_a_match_ends_where_its_test_decides_for_any_number_of_workers(tmp_path: Path) -> None:
    one, two = play(tmp_path / "one", 1), play(tmp_path / "two", 2)
    assert one.read_text() == two.read_text()
    results = read_results([one])
    assert 2 * LEAST_PAIRS <= len(results) < 600
    told = json.loads(one.with_name("games.pgn.json").read_text())["summary"]
    assert told["sprt"]["verdict"] == "elo1"
    assert 2 * told["sprt"]["pairs"] == len(results) == told["players"]["A#0"]["games"]
    counts = told["sprt"]["counts"]
    assert TEST.verdict(Tally(counts)) == "elo1"
    assert counts == told["players"]["A#0"]["pairs"]
    # It is the head of the match without a test.
    whole = play(tmp_path / "whole", 2, None).read_text()
    assert whole.startswith(one.read_text())


def test_a_test_of_more_than_two_players_is_refused(tmp_path: Path) -> None:
    nets = write_nets(tmp_path, "a", "a", "a")
    with pytest.raises(UserError, match="use the format match"):
        tournament(
            {name: RandomEntrant(net) for name, net in nets.items()},
            write_book(tmp_path / "book.epd", 30),
            tmp_path / "g.pgn",
            Settings(4, Format.ROUND_ROBIN, sprt=TEST),
        )
