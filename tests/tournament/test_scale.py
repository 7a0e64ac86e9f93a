"""Tournaments of tens of thousands of games: memory, and how long a resume takes."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path

import chess
import pytest

from nnuelab.data.journal import Journal
from nnuelab.tournament import runner
from nnuelab.tournament.openings import Book
from nnuelab.tournament.schedule import Settings, schedule
from tests.tournament.test_runs import RULES, entrants, write_nets

GAMES = 50_400


def write_book(path: Path, openings: int) -> Path:
    lines: dict[str, None] = {}
    board = chess.Board()
    for first in list(board.legal_moves):
        board.push(first)
        for second in list(board.legal_moves):
            board.push(second)
            for third in list(board.legal_moves):
                board.push(third)
                lines[board.epd()] = None
                board.pop()
            board.pop()
        board.pop()
    path.write_text("\n".join(list(lines)[:openings]) + "\n")
    return path


@pytest.mark.slow
def test_fifty_thousand_games_are_continued_in_seconds(tmp_path: Path, monkeypatch) -> None:
    nets = write_nets(tmp_path, "a", "a", "a", "a")
    settings = Settings(GAMES // 6, seed=1, rules=RULES)
    book, output = write_book(tmp_path / "book.epd", GAMES // 12), tmp_path / "g.pgn"

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runner.workers, "run", killed)
        with pytest.raises(KeyboardInterrupt):
            runner.tournament(entrants(nets), book, output, settings, processes=1)
    pairs = schedule(list(nets), Book(book), settings)
    assert 2 * len(pairs) == GAMES
    table = runner.Table(entrants(nets), settings)
    played = table(pairs[0])
    comments = "\n\n" + 20 * "{as long as a real game is} "
    long = [game.replace("\n\n", comments, 1) for game in played["games"]]
    partial = tmp_path / "g.pgn.partial"
    with Journal(partial, json.loads(partial.read_text())) as journal:
        for pair in pairs[:-8]:
            outcome = {**played["outcome"], "first": pair.first, "second": pair.second}
            journal.append({"pair": pair.number, "games": long, "outcome": outcome})
    began = time.process_time()
    summary = runner.tournament(entrants(nets), book, output, settings, processes=1)
    assert time.process_time() - began < 20  # 4 s on one core of a server of 2024
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1_000_000  # kB
    assert sum(sum(score.games) for score in summary.scores.values()) == 2 * GAMES
    assert output.read_text().count("[Event ") == GAMES
