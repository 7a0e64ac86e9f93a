"""The block and the summary of Neural Chess, from the seed's own numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import chess
import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.policy import console, maps, watch
from nnuelab.policy.mover import Mover, walked
from nnuelab.policy.policyfile import HEADS, write_policy
from tests.policy.policies import (
    MOVE_1_FROM,
    MOVE_1_TO,
    SECOND_FROM,
    SECOND_TO,
    random_policy,
    table,
)

GOLDEN = Path(__file__).with_name("move_1.txt")
SUMMARY = (
    "Games: 5430 Moves: 50 Reason: 100x 0 0 . 59ms 77ms hundred, 546 canMove checks (10.92/move): "
    "9/(1/11) 8/(1/9) 6/(2/6) 6/(2/6) 13/(2/19) 1/(3/1) 3/(4/3) 2/(3/3) 3/(6/4) 13/(4/19) ..."
)


def logits(start: str, goal: str) -> np.ndarray:
    """What gives printed sigmoids."""
    printed = np.concatenate([table(start), table(goal)]).astype(float)
    return np.log(printed / (1 - printed)).astype(np.float32)


def move_1() -> str:
    before = notation.from_fen(notation.STARTING_FEN)
    values = logits(MOVE_1_FROM, MOVE_1_TO)
    found = walked(before, values)
    after = notation.after(before, int(found["move"]))
    targets = watch.rewarded(before, (chess.A2, chess.A3), 10)
    return console.block(1, before, after, values, found, "mse", targets)


def test_the_block_of_move_1_is_the_golden_text() -> None:
    """As the seed prints it, with the blanks that its page has lost, but where it errs.

    It draws the kings as rooks and so on: here each piece has its own sign. Its board of squares to
    go from has a second T on rank 1, where a walk of rank 1 has tried one square. Its table of
    targets has the number of a3 on b3.
    """
    assert move_1() == GOLDEN.read_text()


def test_the_golden_text_has_the_seed_s_own_lines() -> None:
    lines = GOLDEN.read_text().split("\n")
    assert [len(line) for line in lines[:2]] == [203, 116]
    for heading in (
        "--p from, best = a2,d2,b2,h3,c2,e2,d3,f1,b3,g2--------------------------------------",
        "--p to, best = b3,c3,e3,a2,d3,f3,b4,h3,e4,b2----------------------------------------",
        "--m1, new from, actual: P a2, trained: a2, better: neither -------------------------",
        "--m1, new to, actual: P a3, trained: P a3, -----------------------------------------",
    ):
        assert heading in lines
    assert lines[1] == (
        "--game w u-- --player w-- --opponent-- --kings----- --queens---- --rooks----- "
        "--bishops--- --knights--- --pawns-----"
    )
    squeezed = [" ".join(line.split()) for line in lines]
    for row in filter(None, (MOVE_1_FROM + MOVE_1_TO).split("\n")):
        assert any(row in line for line in squeezed)
    # Tries and refusals, ranks 4 to 1 of the last two boards.
    assert [line[-12:] for line in lines if "DDDDDDDD 3" in line] == ["3 !ccccc c 3"]
    assert [line[-12:] for line in lines if line.endswith("ssSSSSSS 2")] == ["2 ssSSSSSS 2"]
    assert any(line.endswith("DDDDDDDD 4 4  c  c    4") for line in lines)
    assert any(line.endswith("1 SSSSSSSS 1") for line in lines)


def test_the_second_table_has_its_heading() -> None:
    """The seed's own heading puts e2 before g1, against the numbers below it."""
    before = notation.from_fen(notation.STARTING_FEN)
    values = logits(SECOND_FROM, SECOND_TO)
    values[chess.H1] += 1e-5  # more than d1 by less than the six decimals that are printed
    found = walked(before, values)
    text = console.block(1, before, None, values, found, "mse")
    assert "--p from, best = b1,a1,c3,e1,h1,d1,b2,g1,e2,c1---" in text
    assert "--p to, best = c1,b1,d1,g3,e3,f3,h3,f2,a2,d3---" in text


def test_the_knight_s_targets_are_those_of_the_seed() -> None:
    before = notation.from_fen(notation.STARTING_FEN)
    found = watch.rewarded(before, (chess.B1, chess.C3), 100)
    expected = np.zeros(64)
    expected[:16], expected[chess.B1] = 0.01, 1
    assert found.start == pytest.approx(expected)
    assert np.flatnonzero(found.goal).tolist() == [chess.C3]
    assert found.goal[chess.C3] == 1


def test_the_summary_is_the_seed_s_line() -> None:
    walks = [(9, 1, 11), (8, 1, 9), (6, 2, 6), (6, 2, 6), (13, 2, 19), (1, 3, 1), (3, 4, 3)]
    walks += [(2, 3, 3), (3, 6, 4), (13, 4, 19)]
    walks += [(12, 1, 1)] * 39 + [(14, 1, 1)]
    assert sum(walk[0] for walk in walks) == 546
    played = console.Played(("100x", "hundred"), (0, 0), None, walks, 59, 77)
    assert console.summary(5430, played) == SUMMARY


@pytest.mark.parametrize("head", HEADS)
def test_a_game_is_shown_for_each_head(head: str) -> None:
    mover = Mover(random_policy(head, scale=0.2))
    steps = list(watch.play(mover, 40))
    board = chess.Board()
    for step in steps:
        if step.after is None:
            break
        start, goal = step.squares
        text = console.block(
            *(step.ply // 2 + 1, step.before, step.after, step.activations, step.found),
            mover.policy.loss,
        )
        # The last two boards' accepted square is where the move goes.
        last = [line for line in text.split("\n") if "!" in line]
        assert len(last) == 1
        assert last[0].split()[0] == str(goal // 8 + 1)
        board.push(
            next(m for m in board.legal_moves if (m.from_square, m.to_square) == (start, goal))
        )
        # The walk promotes to queens, python-chess lists them first.
        assert notation.to_fen(step.after).split()[0] == board.fen().split()[0]
        for half in maps.halves(step.activations, mover.policy.loss):
            assert half.shape == (64,)
            assert half.sum() == pytest.approx(1)
    end = watch.played(steps, 40, 5)
    assert len(end.walks) == 20 or end.reason[0] != "40x"
    assert re.match(
        r"Games: 1 Moves: \d+ Reason: \S+ \d+ \d+ [wb.] 5ms 0ms ", console.summary(1, end)
    )


def test_watch_prints_each_move_and_the_summary(tmp_path: Path) -> None:
    path = tmp_path / "a.policy"
    write_policy(path, random_policy("fromto", loss="mse", activation="sigmoid"))
    command = [sys.executable, "-m", "nnuelab.cli", "policy", "watch", str(path), "--plies", "6"]
    done = subprocess.run([*command, "--delay", "0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("------- move ") == 7
    assert done.stdout.count("new from, actual") == 1
    assert "Games: 1 Moves: 3 Reason: 6x" in done.stdout.split("\n")[-2]
    done = subprocess.run(
        [*command[:-3], str(tmp_path / "b.policy")], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
