"""Labels: the right score for every sample, and no game on both sides of the split."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import chess
import chess.engine
import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.data import labels, uci
from nnuelab.data.cache import Cache
from nnuelab.data.dataset import writing
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT, from_fen, to_fen
from nnuelab.data.searching import Searching
from nnuelab.errors import UserError
from tests.data.labelling import FENS, counting, distinct, fake_engine, found_by, run, samples
from tests.nnue_data import pack_move


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1), st.integers(0, 2**40))
def test_a_game_is_on_one_side_wherever_it_stands(games: list[int], seed: int) -> None:
    together = labels.part_of(np.array(games, np.uint32), (0.3, 0.2), seed)
    alone = [labels.part_of(np.array([game], np.uint32), (0.3, 0.2), seed)[0] for game in games]
    assert together.tolist() == alone


@given(st.integers(0, 1000))
def test_the_shares_of_games_are_those_asked_for(seed: int) -> None:
    parts = labels.part_of(np.arange(20_000, dtype=np.uint32), (0.1, 0.2), seed)
    shares = np.bincount(parts, minlength=3) / 20_000
    assert np.abs(shares - [0.7, 0.1, 0.2]).max() < 0.018  # 5.6 standard deviations
    without = labels.part_of(np.arange(20_000, dtype=np.uint32), (0.1, 0), seed)
    assert np.array_equal(without == 1, parts == 1)  # a test takes from the training set alone


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
    with pytest.raises(UserError, match="--labeller stockfish, engine or result"):
        run(tmp_path, labels.pgn, name="pgn")
    assert not list(tmp_path.glob("*train*"))


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
    train, validation = run(tmp_path, labels.stockfish(path, "depth 1", 1))
    assert not train["score"].any()
    assert not validation["score"].any()


def test_labels_do_not_depend_on_workers_and_survive_a_kill(tmp_path) -> None:
    distinct(tmp_path / "sampled.npy", 240)
    whole = run(tmp_path, labels.stockfish(fake_engine(tmp_path, 0), "depth 1", 1))
    killed = tmp_path / "killed"
    killed.mkdir()
    path = fake_engine(tmp_path, 0.02)
    command = [
        *(sys.executable, "-m", "nnuelab.cli", "label", str(tmp_path / "sampled.npy")),
        *("--train", str(killed / "train.npy"), "--validation", str(killed / "validation.npy")),
        *("--labeller", "stockfish", "--engine", path, "--depth", "1", "--workers", "2"),
        *("--validation-share", "0.3"),
    ]
    partial = killed / "train.npy.partial"
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while process.poll() is None and kept(partial) < 20:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (killed / "train.npy").exists()
    before = kept(partial)
    assert 20 <= before < 120
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert "240/240 positions" in told
    for name, expected in zip(("train.npy", "validation.npy"), whole, strict=True):
        assert np.array_equal(np.load(killed / name), expected)
    names = ["train.npy", "train.npy.json", "validation.npy", "validation.npy.json"]
    assert sorted(file.name for file in killed.iterdir()) == names


def kept(path: Path) -> int:
    """Labels in a cache that another process is writing."""
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute("select count(*) from labels").fetchone()[0]
    except sqlite3.Error:  # not yet a database
        return 0


def test_a_damaged_cache_is_one_line_and_says_what_to_do(tmp_path: Path) -> None:
    path, key = tmp_path / "cache", bytes(27)
    with Cache(path, {}) as cache:
        cache.put(key, (1, 2))
        cache.flush()
    whole = path.read_bytes()
    for word in (b"CREATE TABLE labels", b"SQLite"):
        path.write_bytes(whole.replace(word, word.replace(b"L", b"\xf8")))
        with pytest.raises(UserError, match="delete it, it is only a cache"), Cache(path, {}):
            pass
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(UserError, match="delete it, it is only a cache"), Cache(path, {}) as cache:
        cache.get([key])


def test_no_position_is_searched_twice_by_one_labeller(tmp_path: Path) -> None:
    distinct(tmp_path / "sampled.npy", 200)  # each position in two games
    cache, seen = tmp_path / "cache", []
    first = run(tmp_path, counting(seen), cache=cache)
    assert len(seen) == len(set(seen)) == 100
    again = run(tmp_path, counting(seen), cache=cache)
    assert len(seen) == 100
    assert all(map(np.array_equal, first, again))
    other, _ = run(tmp_path, counting(seen, 9), cache=cache)
    assert len(seen) == 200
    assert set(other["score"]) == {9}
    run(tmp_path, counting(seen))  # without a folder nothing is kept
    run(tmp_path, counting(seen))
    assert len(seen) == 400
    assert not list(tmp_path.glob("*.partial*"))


def test_a_run_that_stops_loses_nothing_that_was_found(tmp_path: Path) -> None:
    distinct(tmp_path / "sampled.npy", 200)
    seen: list[bytes] = []

    class Stops:
        def __call__(self, record: np.void) -> tuple[int, int]:
            if len(seen) >= 50:
                raise UserError("it is over")
            return counting(seen).make()(record)

        def close(self) -> None:
            pass

    with pytest.raises(UserError, match="it is over"):
        run(tmp_path, Searching(Stops, {"score": 7}, 2))
    assert not (tmp_path / "train.npy").exists()
    run(tmp_path, counting(seen))
    assert len(seen) == len(set(seen)) == 100


def test_two_runs_do_not_share_what_is_not_finished(tmp_path: Path) -> None:
    distinct(tmp_path / "sampled.npy", 20)
    with (
        Cache(tmp_path / "train.npy.partial", {}, exclusive=True),
        pytest.raises(UserError, match="is in use"),
    ):
        run(tmp_path, counting([]))
    (tmp_path / "train.npy.partial").write_bytes(b"no database" * 1000)
    with pytest.raises(UserError, match="delete it"):
        run(tmp_path, counting([]))


def test_a_third_set_tests(tmp_path: Path) -> None:
    samples(tmp_path / "sampled.npy", 600)
    test = tmp_path / "test.npy"
    for alone in ({"test_share": 0.3}, {"test": test}):
        with pytest.raises(UserError, match="give both --test and --test-share"):
            run(tmp_path, labels.pgn, **alone)
    options = {"test_share": 0.3, "test": test, "max_score": 32_000}
    sets = [*run(tmp_path, labels.pgn, **options), np.load(test)]
    games = [set(part["game"]) for part in sets]
    assert sum(map(len, sets)) == 600
    assert not games[0] & games[1]
    assert not (games[0] | games[1]) & games[2]
    # Of no games, it takes the place of an earlier one.
    assert sum(map(len, run(tmp_path, labels.pgn, **options | {"test_share": 0.0}))) == 600
    assert len(np.load(test)) == 0


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
    found = found_by(labels.stockfish(path, "depth 1", 1), records, tmp_path)
    engine = chess.engine.SimpleEngine.popen_uci(path)
    for record, score, move in zip(records, *found, strict=True):
        board = chess.Board(to_fen(record))
        board.fullmove_number = 1
        answer = engine.play(board, limit, info=chess.engine.INFO_SCORE)
        assert move == pack_move(board, answer.move)
        assert score == answer.info["score"].relative.score()
    engine.quit()


def test_a_hanging_engine_is_killed_and_asked_once_more(tmp_path) -> None:
    records = samples(tmp_path / "sampled.npy", 6)

    def labeller(engine: str) -> Searching:
        return labels.stockfish(engine, "nodes 10", 1, patience=2.0)

    expected = found_by(labeller(fake_engine(tmp_path, 0)), records, tmp_path)
    once = fake_engine(tmp_path, 0, f"hangs-once={tmp_path / 'hung'}")
    assert np.array_equal(found_by(labeller(once), records, tmp_path), expected)
    for fault, reason in (("hangs", "no answer within 2 s"), ("dies", "died")):
        with pytest.raises(UserError) as error:
            found_by(labeller(fake_engine(tmp_path, 0, fault)), records, tmp_path)
        assert "\n" not in str(error.value)
        assert "failed twice on '" in str(error.value)
        assert reason in str(error.value)
    # A position on which an engine hangs is left out, where that is allowed.
    some = found_by(labeller(fake_engine(tmp_path, 0, "hangs")), records, tmp_path, 3)[0]
    assert some.tolist() == [
        NO_SCORE if i % 2 else score for i, score in enumerate(expected[0].tolist())
    ]
    commands = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]
    assert not [command for command in commands if str(tmp_path) in command]


def test_an_engine_that_does_not_quit_has_a_name_nevertheless(tmp_path) -> None:
    assert uci.UciEngine([fake_engine(tmp_path, 0, "stays")]).name == "Fake 1.0"


def test_an_engine_without_scores_is_one_line(tmp_path) -> None:
    records = samples(tmp_path / "sampled.npy", 1)
    path = fake_engine(tmp_path, 0, "silent")
    with pytest.raises(UserError, match=r"failed twice on 'rnbqkbnr.* a move without a score"):
        found_by(labels.stockfish(path, "depth 1", 1), records, tmp_path)


def test_positions_that_are_over_have_no_score(tmp_path: Path) -> None:
    mated = from_fen("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3")
    records = np.array([from_fen(FENS[0]), mated], RECORD)
    scores, _ = found_by(
        labels.stockfish(fake_engine(tmp_path, 0), "depth 1", 1), records, tmp_path
    )
    assert scores[0] != NO_SCORE
    assert scores[1] == NO_SCORE


def test_options_reach_the_engine_or_are_refused(tmp_path: Path) -> None:
    path = fake_engine(tmp_path, 0)
    labels.stockfish(path, "depth 1", options={"hash": "8"})
    with pytest.raises(UserError, match=r"Fake 1\.0 has no option 'Skill Level'"):
        labels.stockfish(path, "depth 1", options={"Skill Level": "3"})


def labelled(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """What `nnuelab label` says when the fake engine labels sampled.npy."""
    command = [
        *(sys.executable, "-m", "nnuelab.cli", "label", "sampled.npy", "--labeller", "stockfish"),
        *("--engine", folder / "fake", "--train", "train.npy", "--validation", "validation.npy"),
        *("--validation-share", "0.3", "--workers", "1", *arguments),
    ]
    return subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True)


def test_options_and_a_time_reach_the_engine_and_stand_in_the_provenance(tmp_path: Path) -> None:
    samples(tmp_path / "sampled.npy", 60)
    net, log = tmp_path / "mine.nnue", tmp_path / "log"
    net.write_bytes(b"a net")
    fake_engine(tmp_path, 0, f"log={log}")
    settings = ["--movetime", "7", "--option", f"EvalFile={net}", "--option", "Hash=16"]
    done = labelled(tmp_path, *settings, "--cache", "kept")
    assert done.returncode == 0, done.stderr
    said = log.read_text().splitlines()
    assert {f"setoption name EvalFile value {net}", "setoption name Hash value 16"} < {*said}
    assert [line for line in said if line.startswith("go")] == ["go movetime 7"] * 2
    parameters = json.loads((tmp_path / "train.npy.json").read_text())["parameters"]
    assert parameters["limit"] == "movetime 7"
    assert parameters["options"] == {**uci.DEFAULTS, "Hash": "16", "EvalFile": str(net)}

    def searches(*settings: str) -> int:
        log.unlink()
        done = labelled(tmp_path, *settings, "--cache", "kept")
        assert done.returncode == 0, done.stderr
        return log.read_text().count("go ")

    # The cache knows what changes a label, and nothing else.
    assert searches(*settings, "--patience", "60") == 0
    assert searches(*settings[:-1], "Hash=8") == 2
    assert searches("--movetime", "8", *settings[2:]) == 2
    net.write_bytes(b"another net")
    assert searches(*settings) == 2


def test_patience_is_the_time_until_an_engine_counts_as_hanging(tmp_path: Path) -> None:
    samples(tmp_path / "sampled.npy", 60)
    fake_engine(tmp_path, 0, "hangs")
    done = labelled(tmp_path, "--depth", "1", "--patience", "1", "--max-unusable", "0")
    assert done.returncode == 1
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("nnuelab:"))
    assert "no answer within 1 s" in line


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("--movetime", "9", "--depth", "9"), 2, "one limit, not depth and movetime"),
        (("--movetime", "2000", "--patience", "2"), 2, "movetime is longer"),
        (("--option", "Hash"), 1, "write NAME=VALUE, as in Hash=16"),
        (("--option", "Hash=1\nquit"), 1, "one line of text"),
        (("--option", "Contempt=3"), 1, "Fake 1.0 has no option 'Contempt'"),
    ],
)
def test_settings_of_an_engine_that_make_no_sense(
    tmp_path: Path, arguments: tuple[str, ...], status: int, told: str
) -> None:
    samples(tmp_path / "sampled.npy", 60)
    fake_engine(tmp_path, 0)
    done = labelled(tmp_path, *arguments)
    assert done.returncode == status
    assert told in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "train.npy").exists()


@pytest.mark.parametrize("engine", ["no-such-engine", "/etc/passwd"])
def test_a_missing_engine_is_one_line_with_the_remedy(engine: str) -> None:
    with pytest.raises(UserError, match=f"no engine {engine}.*install it"):
        uci.find_engine(engine)


def test_a_program_that_is_no_engine_is_one_line() -> None:
    with pytest.raises(UserError, match="doesn't start as a UCI engine"):
        uci.UciEngine(["/bin/true"])
