"""The moving picture of many games."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from nnuelab.policy import gif
from nnuelab.tournament import true_scores
from tests.naive.policy import gif_frames


def random_games(n: int, most: int, seed: int = 1) -> list[chess.pgn.Game]:
    choose, games = random.Random(seed), []
    for _ in range(n):
        board = chess.Board()
        for _ in range(choose.randint(1, most)):
            board.push(choose.choice(list(board.legal_moves)))
        game = chess.pgn.Game.from_board(board)
        game.headers["Result"] = "1/2-1/2"
        games.append(game)
    return games


def positions(game: chess.pgn.Game) -> np.ndarray:
    boards = [game.board(), *(node.board() for node in game.mainline())]
    return true_scores.codes(boards)


def test_every_frame_is_there_and_finished_games_hold_their_last() -> None:
    games = [positions(game) for game in random_games(53, 40)]
    content = gif.gif(games)
    size, frames = gif_frames(content)
    assert size == (800, 650)
    assert len(frames) == max(map(len, games[:50]))
    assert {delay for delay, _ in frames} == {150}
    for number, (_, picture) in enumerate(frames):
        assert set(np.unique(picture)) == {0, 1}
        for i in (0, 7, 23, 49):
            y, x = 130 * (i // 10), 80 * (i % 10)
            shown = games[i][min(number, len(games[i]) - 1)]
            assert (picture[y : y + 130, x : x + 80] == gif.board(shown)).all()
    assert gif.gif(games) == content


def test_pillow_reads_the_same_frames() -> None:
    image_module = pytest.importorskip("PIL.Image")
    games = [positions(game) for game in random_games(12, 30, seed=2)]
    content = gif.gif(games)
    image = image_module.open(io.BytesIO(content))
    _, frames = gif_frames(content)
    assert (image.size, image.n_frames) == ((800, 650), len(frames))
    for number, (_, picture) in enumerate(frames):
        image.seek(number)
        assert image.info["duration"] == 150
        assert (np.asarray(image.convert("L")) == np.where(picture == 0, 255, 0)).all()


def test_noise_survives_the_compression() -> None:
    """Boards are too regular to fill the table of codes."""
    rng = np.random.default_rng(1)
    picture = rng.integers(0, 2, (650, 800)).astype(np.uint8)
    header = gif._HEADER + gif._PALETTE
    _, frames = gif_frames(header + gif._image(None, picture) + b";")
    assert (frames[0][1] == picture).all()


def test_each_piece_has_its_own_sign() -> None:
    drawn = {glyph.tobytes() for glyph in gif.DRAWN}
    assert len(drawn) == 13
    assert len({glyph.tobytes() for glyph in gif.TEXT.values()}) == 16


def test_the_command_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    games = random_games(3, 12)
    pgn.write_text("\n\n".join(map(str, games)) + "\n")
    command = [sys.executable, "-m", "nnuelab.cli", "policy", "gif", str(pgn), "--output"]
    contents = []
    for name in ("a.gif", "b.gif"):
        done = subprocess.run([*command, str(tmp_path / name)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1] == gif.gif([positions(game) for game in games])
    pgn.write_text('[Event "?"]\n\n1. e4 e5 2. Ke3 *\n')
    done = subprocess.run([*command, str(tmp_path / "c.gif")], capture_output=True, text=True)
    assert done.returncode == 1
    assert "game 1 can't be read: illegal san" in done.stderr
    assert len(done.stderr.splitlines()) == 1
