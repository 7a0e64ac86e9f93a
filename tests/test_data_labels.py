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
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab import artifacts
from nnuelab.data import engines, labels
from nnuelab.data.dataset import writing
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT, from_fen, pack_move, to_fen
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


def test_labels_at_another_place_than_their_own_are_not_taken(tmp_path, monkeypatch) -> None:
    samples(tmp_path / "sampled.npy", 100)
    expected = run(tmp_path, labels.pgn)
    given: list[int] = []

    def stops(batches):
        for batch, scores in zip(batches, labels.pgn(batches), strict=False):
            given.append(int(batch["score"][0]) // 10)
            yield scores
            if len(given) == 4:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stops, resumable=True)
    journal = tmp_path / "train.npy.partial"
    head, first, second, third, *_ = journal.read_text().splitlines(keepends=True)
    for entries in ([first, first, second, second], [first, third, second], [second]):
        journal.write_text("".join([head, *entries]))
        assert all(map(np.array_equal, run(tmp_path, labels.pgn, resumable=True), expected))


def test_files_that_would_overwrite_each_other_are_refused(tmp_path) -> None:
    sampled = tmp_path / "sampled.npy"
    sampled.write_bytes(b"precious")
    for train, validation in (("t.npy", "t.npy"), ("sampled.npy", "v.npy")):
        with pytest.raises(UserError, match="would overwrite"):
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
        file.write(b'{"scores": [7')  # half a line
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    for name, expected in zip(("train.npy", "validation.npy"), whole, strict=True):
        assert np.array_equal(np.load(killed / name), expected)
    assert not journal.exists()


def test_a_journal_of_other_settings_or_other_code_gives_way(tmp_path, capsys, monkeypatch) -> None:
    samples(tmp_path / "sampled.npy", 60)
    expected = run(tmp_path, labels.pgn)
    journal = tmp_path / "train.npy.partial"

    def stops_after_a_batch(batches):
        yield next(labels.result(batches))
        raise KeyboardInterrupt

    code = artifacts.code_hash("data.labels")
    for before, settings in (
        (code, {"parameters": {"limit": "depth 3"}}),
        (code, {"name": "other"}),
        ("other", {}),
    ):
        monkeypatch.setattr(artifacts, "code_hash", lambda _, before=before: before)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, stops_after_a_batch, resumable=True, **settings)
        monkeypatch.setattr(artifacts, "code_hash", lambda _: code)
        assert journal.exists()
        capsys.readouterr()
        found = run(tmp_path, labels.pgn, resumable=True)
        assert "starting anew" in capsys.readouterr().err
        assert all(map(np.array_equal, found, expected))
        assert not journal.exists()


def test_captures_are_judged_by_the_best_move_or_else_by_the_one_played(tmp_path) -> None:
    fen = "4k2r/8/8/8/8/8/8/4K2R w - - 3 20"
    records = np.repeat(np.array([from_fen(fen)], RECORD), 60)
    records["game"], records["score"] = np.arange(60), 10
    # Played: quiet, unknown, a capture.
    records["move"] = np.resize([7 | 15 << 6, 0, 7 | 63 << 6], 60)
    with writing(tmp_path / "sampled.npy") as writer:
        writer.append(records)
    train, validation = run(tmp_path, labels.pgn, skip_captures=True)
    assert len(train) + len(validation) == 40

    def engine(*moves: int) -> labels.Labeller:
        def label(batches):
            for records in batches:
                yield np.zeros(len(records), np.int16), np.resize(np.uint16(moves), len(records))

        return label

    train, validation = run(tmp_path, engine(7 | 63 << 6, 7 | 15 << 6), skip_captures=True)
    assert len(train) + len(validation) == 30
    assert set(train["move"]) == {0, 7 | 15 << 6, 7 | 63 << 6}  # still those played
    with pytest.raises(UserError, match="train set is empty"):
        run(tmp_path, engine(7 | 63 << 6), skip_captures=True)


def test_an_engine_gives_its_best_moves(tmp_path) -> None:
    records = samples(tmp_path / "sampled.npy", 4)
    path, limit = fake_engine(tmp_path, 0), chess.engine.Limit(depth=1)
    (found,) = engines.labels([records], path, limit, 1)
    engine = chess.engine.SimpleEngine.popen_uci(path)
    for record, score, move in zip(records, *found, strict=True):
        board = chess.Board(to_fen(record))
        answer = engine.play(board, limit, info=chess.engine.INFO_SCORE)
        assert move == pack_move(board, answer.move)
        assert score == answer.info["score"].relative.score()
    engine.quit()


def test_a_hanging_engine_is_killed_and_asked_once_more(tmp_path) -> None:
    records = samples(tmp_path / "sampled.npy", 6)
    limit, patience = chess.engine.Limit(nodes=10), 2.0
    expected = list(engines.labels([records], fake_engine(tmp_path, 0), limit, 1))
    once = fake_engine(tmp_path, 0, f"hangs-once={tmp_path / 'hung'}")
    found = list(engines.labels([records], once, limit, 1, patience))
    assert np.array_equal(found, expected)
    for fault, reason in (("hangs", "no answer for 2 s"), ("dies", "died")):
        path = fake_engine(tmp_path, 0, fault)
        with pytest.raises(UserError) as error:
            list(engines.labels([records], path, limit, 1, patience))
        assert "\n" not in str(error.value)
        assert "failed twice on '" in str(error.value)
        assert reason in str(error.value)
    commands = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]
    assert not [command for command in commands if str(tmp_path) in command]


def test_an_engine_that_does_not_quit_has_a_name_nevertheless(tmp_path) -> None:
    assert engines.engine_name(fake_engine(tmp_path, 0, "stays")) == "Fake 1.0"


def test_an_engine_without_scores_is_one_line(tmp_path) -> None:
    records = samples(tmp_path / "sampled.npy", 1)
    path = fake_engine(tmp_path, 0, "silent")
    with pytest.raises(UserError, match="no move with a score on 'rnbqkbnr"):
        list(engines.labels([records], path, chess.engine.Limit(depth=1), 1))


@pytest.mark.parametrize("engine", ["no-such-engine", "/etc/passwd"])
def test_a_missing_engine_is_one_line_with_the_remedy(engine: str) -> None:
    with pytest.raises(UserError, match=f"no engine {engine}.*install it"):
        engines.find_engine(engine)


def test_a_program_that_is_no_engine_is_one_line() -> None:
    with pytest.raises(UserError, match="doesn't start as a UCI engine"):
        engines.engine_name("/bin/true")
