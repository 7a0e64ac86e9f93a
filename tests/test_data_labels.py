"""Labels: the right score for every sample, and no game on both sides of the split."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import chess.engine
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.data import engines, labels
from nnuelab.data.dataset import writing
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT, from_fen
from nnuelab.errors import UserError

FENS = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "4k3/8/8/8/8/8/8/4K2R w K - 3 20",
]


def fake_engine(folder: Path, *arguments: object) -> str:
    """A program that runs the fake engine with these arguments."""
    path = folder / "fake"
    script = Path(__file__).with_name("fake_engine.py")
    path.write_text(
        f"#!/bin/sh\nexec {shlex.join([sys.executable, str(script), *map(str, arguments)])}\n"
    )
    path.chmod(0o755)
    return str(path)


def samples(path: Path, n: int, per_game: int = 5) -> np.ndarray:
    records = np.zeros(n, RECORD)
    for i in range(n):
        records[i] = from_fen(FENS[i % 2])
    records["game"] = np.arange(n) // per_game
    records["score"] = np.arange(n) * 10
    records["result"] = np.arange(n) % 4 - 1  # 2 is an unknown one
    with writing(path) as writer:
        writer.append(records)
    return records


def run(folder: Path, labeller: labels.Labeller, **more) -> tuple[np.ndarray, np.ndarray]:
    train, validation = folder / "train.npy", folder / "validation.npy"
    more = {"name": "test", "validation_share": 0.3} | more
    labels.label(folder / "sampled.npy", train, validation, labeller, **more)
    return np.load(train), np.load(validation)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1), st.integers(0, 2**40))
def test_a_game_is_on_one_side_wherever_it_stands(games: list[int], seed: int) -> None:
    together = labels.is_validation(np.array(games, np.uint32), 0.4, seed)
    alone = [labels.is_validation(np.array([game], np.uint32), 0.4, seed)[0] for game in games]
    assert together.tolist() == alone


@given(st.integers(0, 1000))
def test_the_share_of_games_is_the_one_asked_for(seed: int) -> None:
    share = labels.is_validation(np.arange(20_000, dtype=np.uint32), 0.1, seed).mean()
    assert abs(share - 0.1) < 0.012  # 5.6 standard deviations


def test_every_sample_is_in_one_set_and_no_game_in_both(tmp_path) -> None:
    records = samples(tmp_path / "sampled.npy", 300)
    train, validation = run(tmp_path, labels.pgn)
    assert not set(train["game"]) & set(validation["game"])
    both = np.concatenate([train, validation])
    assert sorted(both["score"]) == sorted(records["score"])


def test_scores_beyond_the_limit_and_missing_ones_are_dropped(tmp_path) -> None:
    records = samples(tmp_path / "sampled.npy", 300)
    records["score"][:100] = NO_SCORE
    with writing(tmp_path / "sampled.npy") as writer:
        writer.append(records)
    train, validation = run(tmp_path, labels.pgn, max_score=2000)
    both = np.concatenate([train, validation])
    assert (both["score"].min(), both["score"].max()) == (1000, 2000)


def test_no_evaluation_at_all_is_one_line_with_the_remedy(tmp_path) -> None:
    records = samples(tmp_path / "sampled.npy", 30)
    records["score"] = NO_SCORE
    with writing(tmp_path / "sampled.npy") as writer:
        writer.append(records)
    with pytest.raises(UserError, match="--labeller stockfish or --labeller result"):
        run(tmp_path, labels.pgn, name="pgn")
    assert not list(tmp_path.glob("*train*"))


def test_files_that_would_overwrite_each_other_are_refused(tmp_path) -> None:
    sampled = tmp_path / "sampled.npy"
    sampled.write_bytes(b"precious")
    for train, validation in (("t.npy", "t.npy"), ("sampled.npy", "v.npy")):
        with pytest.raises(UserError, match="three files"):
            labels.label(sampled, tmp_path / train, tmp_path / validation, labels.pgn, name="pgn")
    assert sampled.read_bytes() == b"precious"


def test_one_game_can_not_be_split(tmp_path) -> None:
    samples(tmp_path / "sampled.npy", 5)
    with pytest.raises(UserError, match="set is empty"):
        run(tmp_path, labels.pgn)


def test_results_become_scores(tmp_path) -> None:
    records = samples(tmp_path / "sampled.npy", 300)
    train, validation = run(tmp_path, labels.result)
    both = np.concatenate([train, validation])
    assert len(both) == (records["result"] != UNKNOWN_RESULT).sum()
    assert (both["score"] == both["result"].astype(int) * labels.WIN_SCORE).all()


def test_an_engine_forgets_between_positions(tmp_path) -> None:
    samples(tmp_path / "sampled.npy", 60)
    path = fake_engine(tmp_path, 0, "sticky")
    limit = chess.engine.Limit(depth=1)
    train, validation = run(tmp_path, labels.stockfish(path, limit, 1))
    assert not train["score"].any()
    assert not validation["score"].any()


def test_labels_do_not_depend_on_workers_and_survive_a_kill(tmp_path) -> None:
    samples(tmp_path / "sampled.npy", 120)
    limit = chess.engine.Limit(depth=1)
    whole = run(tmp_path, labels.stockfish(fake_engine(tmp_path, 0), limit, 1))
    killed = tmp_path / "killed"
    killed.mkdir()
    path = fake_engine(tmp_path, 0.02)
    command = [
        *(sys.executable, "-m", "nnuelab.cli", "label", str(tmp_path / "sampled.npy")),
        *("--train", str(killed / "train.npy"), "--validation", str(killed / "validation.npy")),
        *("--labeller", "stockfish", "--engine", path, "--depth", "1", "--workers", "2"),
        *("--validation-share", "0.3"),
    ]
    journal = killed / "train.npy.partial"
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 300):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (killed / "train.npy").exists()
    with journal.open("ab") as file:
        file.write(b"\x07")  # half a value
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    for name, expected in zip(("train.npy", "validation.npy"), whole, strict=True):
        assert np.array_equal(np.load(killed / name), expected)
    assert not journal.exists()


def test_a_journal_of_another_run_is_not_continued(tmp_path) -> None:
    samples(tmp_path / "sampled.npy", 60)
    (tmp_path / "train.npy.partial").write_bytes(b"{}\n\0\0")
    with pytest.raises(UserError, match="another labeller"):
        run(tmp_path, labels.pgn, resumable=True)


@pytest.mark.parametrize("engine", ["no-such-engine", "/etc/passwd"])
def test_a_missing_engine_is_one_line_with_the_remedy(engine: str) -> None:
    with pytest.raises(UserError, match=f"no engine {engine}.*install it"):
        engines.find_engine(engine)


def test_a_program_that_is_no_engine_is_one_line() -> None:
    with pytest.raises(UserError, match="doesn't start as a UCI engine"):
        engines.engine_name("/bin/true")
