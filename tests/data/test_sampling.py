"""PGN of every dialect becomes samples, or a count with its reason, or one clear line."""

from __future__ import annotations

import bz2
import errno
import gzip
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import chess.pgn
import numpy as np
import pytest
import zstandard

from nnuelab import data
from nnuelab.artifacts import sha256
from nnuelab.data import pgn, sampling
from nnuelab.data.records import NO_SCORE, UNKNOWN_RESULT, captures
from nnuelab.data.sampling import sample
from nnuelab.errors import UserError
from nnuelab.settings.sample import Sampling
from tests.naive import data as naive

TAGS = b'[Event "?"]\n[White "J\xe9r\xf4me"]\n[Result "1-0"]\n'
MOVES = (
    b"1. e4 { [%eval 0.3] } e5 { [%eval 0.25] } 2. Nf3 { [%eval #-4] } (2. f4 exf4 {[%eval 9.0]}) "
    b"2... Nc6 { [%eval 0.1,12] } 3. Bb5 $1 a6 {no word} 4. Ba4 Nf6 1-0\n"
)
GAME = TAGS + b"\n" + MOVES
ANY = Sampling(
    min_ply=0,
    skip_check=False,
    skip_captures=False,
    skip_promotions=False,
    max_unreadable=1,
)


def take(
    path: Path, tmp_path: Path, options: Sampling = ANY, workers: int = 1, **more
) -> tuple[np.ndarray, Counter]:
    output = tmp_path / "sampled.npy"
    found = sample([path], output, replace(options, **more), workers)
    return np.load(output), found.counts


def of_game(text: bytes, options: Sampling = ANY) -> np.ndarray:
    """The samples of one game."""
    return sampling.Worker(options)((Path("game.pgn"), text)).records


@pytest.mark.parametrize("skip_check", [True, False])
@pytest.mark.parametrize("skip_captures", [True, False])
def test_samples_are_those_of_the_game_tree(
    shared, tmp_path, skip_check: bool, skip_captures: bool
) -> None:
    path = shared / "data/games/fixture_evals_200.pgn"
    texts = [text.decode() for text in pgn.texts(path)]
    assert len(texts) == 200
    options = Sampling(
        16, skip_check=skip_check, skip_captures=skip_captures, skip_promotions=skip_captures
    )
    for text in texts[:40]:
        found = of_game(text.encode(), options)
        expected = naive.samples(text, 16, skip_check, skip_captures)
        frame = data.Dataset(path, (found,)).to_pandas()
        assert frame["fen"].tolist() == [fen for fen, *_ in expected]
        assert frame["move"].tolist() == [move for *_, move in expected]
        scores = [NO_SCORE if score is None else score for _, score, _ in expected]
        assert frame["score"].tolist() == scores


def test_captures_of_records_are_those_of_python_chess(shared) -> None:
    text = next(pgn.texts(shared / "data/games/fixture_evals_200.pgn"))
    for game in (text, TAGS + b"\n1. e4 a6 2. e5 d5 3. exd6 a5 4. dxc7 a4 5. cxb8=Q a3 *\n"):
        everything = of_game(game)
        quiet = of_game(game, replace(ANY, skip_captures=True, skip_promotions=True))
        assert 0 < len(quiet) < len(everything)
        kept = everything[~captures(everything, everything["move"])]
        assert np.array_equal(kept, quiet)


def test_result_is_that_of_the_side_to_move() -> None:
    white_wins = of_game(GAME)
    assert white_wins["result"].tolist() == [1, -1] * 4
    unknown = of_game(GAME.replace(b"1-0", b"*"))
    assert (unknown["result"] == UNKNOWN_RESULT).all()


def test_evaluations_of_variations_and_missing_ones_are_no_scores() -> None:
    found = of_game(GAME)
    assert found["score"].tolist() == [NO_SCORE, -30, 25, 31_996, 10] + [NO_SCORE] * 3


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + GAME,
        GAME.replace(b"\n", b"\r\n"),
        GAME.replace(b'"]\n[', b'"]\n\n['),
        GAME.replace(b"{no word}", b"{a comment\n\n[over] three lines}"),
        GAME.replace(b"{no word}", b"; with { inside\n"),
        b"\n\n" + GAME.rstrip(b"\n"),
    ],
)
def test_dialects_give_the_same_samples(tmp_path, text: bytes) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(text + b"\n\n" + GAME)
    found, counts = take(path, tmp_path)
    assert counts["games"] == 2
    plain = of_game(GAME)
    first = found[found["game"] == 0]
    assert np.array_equal(first, plain)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TAGS + b'[Variant "Atomic"]\n\n' + MOVES, "variant"),
        (TAGS + b'[Variant "Chess960"]\n\n' + MOVES, "Chess960"),
        (TAGS + b'[FEN "nrkbbqnr/8/8/8/8/8/8/NRKBBQNR w HBhb - 0 1"]\n\n' + MOVES, "Chess960"),
        (TAGS + b'[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n\n' + MOVES, "illegal start position"),
        (TAGS + b'[FEN "nonsense"]\n\n' + MOVES, "illegal start position"),
        (TAGS + b"\n1. e4 Ke3 2. d4 *\n", "illegal move"),
        (TAGS + b"\n1. e4 -- 2. d4 *\n", "null move"),
        (TAGS + b"\n1-0\n", "no moves"),
    ],
)
def test_a_game_that_is_no_standard_chess_is_counted(tmp_path, text: bytes, reason: str) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(text + b"\n" + GAME)
    found, counts = take(path, tmp_path)
    assert counts[f"skipped: {reason}"] == 1
    assert set(found["game"]) == {1}


def test_real_odd_games_are_read_to_the_end(shared, tmp_path) -> None:
    for path in sorted((shared / "data/games/edge").glob("*.pgn")):
        with path.open(encoding="latin-1") as file:
            expected = 0
            while chess.pgn.read_headers(file) is not None:
                expected += 1
        try:
            _, counts = take(path, tmp_path, Sampling(max_unreadable=1))
            assert counts["games"] == expected, path
        except UserError as error:  # files without any moves
            assert re.search(  # noqa: PT017
                rf"{path.name}, game \d+, line \d+: (no moves|illegal move)", str(error)
            )


def test_compressed_files_in_several_frames_are_one_file(tmp_path) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(GAME + b"\n" + GAME)
    plain, _ = take(path, tmp_path)
    frames = [zstandard.compress(GAME + b"\n"), zstandard.compress(GAME)]
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"  # pzstd writes such frames in between
    for name, packed in (
        ("games.pgn.zst", skippable + frames[0] + skippable + frames[1]),
        ("games.pgn.gz", gzip.compress(GAME + b"\n") + gzip.compress(GAME)),
        ("games.pgn.bz2", bz2.compress(GAME + b"\n") + bz2.compress(GAME)),
    ):
        (tmp_path / name).write_bytes(packed)
        found, _ = take(tmp_path / name, tmp_path)
        assert np.array_equal(found, plain), name


@pytest.mark.parametrize("suffix", ["zst", "gz", "bz2"])
def test_a_truncated_file_is_one_line_and_no_output(tmp_path, suffix: str) -> None:
    pack = {"zst": zstandard.compress, "gz": gzip.compress, "bz2": bz2.compress}[suffix]
    path = tmp_path / f"games.pgn.{suffix}"
    path.write_bytes(pack(GAME * 50)[:-9])
    with pytest.raises(UserError, match=rf"games\.pgn\.{suffix} is cut off or damaged"):
        take(path, tmp_path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "has no games"), (b"\n\n", "has no games"), ("a".encode("utf-16"), "UTF-16")],
)
def test_a_file_without_games_is_one_line_and_no_output(tmp_path, content, words) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(content)
    with pytest.raises(UserError, match=words):
        take(path, tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file_is_one_line(tmp_path) -> None:
    with pytest.raises(UserError, match="there is no file"):
        take(tmp_path / "nowhere.pgn", tmp_path)


def test_a_full_disk_is_one_line_and_no_output(tmp_path, monkeypatch) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(GAME)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("nnuelab.data.dataset.Writer.append", full)
    with pytest.raises(UserError, match="No space left"):
        take(path, tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_workers_change_nothing(shared, tmp_path) -> None:
    path = shared / "data/games/fixture_evals_200.pgn"
    options = Sampling(min_ply=20, per_game=2, seed=7)
    one, counts = take(path, tmp_path, options)
    two, same = take(path, tmp_path, options, workers=2)
    assert np.array_equal(one, two)
    assert counts == same
    assert np.bincount(one["game"]).max() == 2


def test_another_seed_draws_other_positions_of_the_same_games(shared, tmp_path) -> None:
    path = shared / "data/games/fixture_evals_200.pgn"
    one, _ = take(path, tmp_path, Sampling(per_game=1, seed=1), max_positions=50)
    two, _ = take(path, tmp_path, Sampling(per_game=1, seed=2), max_positions=50)
    assert np.array_equal(one["game"], two["game"])
    assert (one["ply"] != two["ply"]).mean() > 0.8


def test_numbers_go_on_over_files_and_the_limit_holds(tmp_path) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(GAME)
    output = tmp_path / "sampled.npy"
    sample([path, path], output, ANY, workers=1)
    assert sorted(set(np.load(output)["game"])) == [0, 1]
    sample([path, path], output, replace(ANY, max_positions=11), workers=1)
    assert len(np.load(output)) == 11


def test_the_output_tells_files_of_one_name_apart(tmp_path) -> None:
    paths = [tmp_path / folder / "games.pgn" for folder in "ab"]
    for path, text in zip(paths, (GAME, GAME + b"\n" + GAME), strict=True):
        path.parent.mkdir()
        path.write_bytes(text)
    output = tmp_path / "sampled.npy"
    sample(paths, output, ANY, workers=1)
    inputs = json.loads((tmp_path / "sampled.npy.json").read_text())["inputs"]
    hashes = {name: recorded["sha256"] for name, recorded in inputs.items()}
    expected = {"games.pgn": sha256(paths[0]), "games.pgn#2": sha256(paths[1])}
    assert hashes == expected


def test_games_without_evaluations_can_be_left_out(tmp_path) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(GAME.replace(b"[%eval", b"[%clk") + b"\n" + GAME)
    found, counts = take(path, tmp_path, replace(ANY, only_evaluated=True))
    assert counts["skipped: no evaluation"] == 1
    assert set(found["game"]) == {1}


def test_the_output_tells_what_was_left_out(tmp_path) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(GAME)
    _, counts = take(path, tmp_path, Sampling(min_ply=2))
    assert counts["filtered: too early"] == 2
    assert "sampled" in sampling.summary(counts)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (replace(ANY, min_ply=10**20), "min_ply 100000000000000000000 is too large"),
        (replace(ANY, terminations=("Normal",) * 17), "17 are given, at most 16"),
    ],
)
def test_options_beyond_what_they_can_be_are_one_line(
    tmp_path, options: Sampling, told: str
) -> None:
    (tmp_path / "games.pgn").write_bytes(GAME)
    with pytest.raises(UserError, match=told):
        take(tmp_path / "games.pgn", tmp_path, options)
    assert not (tmp_path / "sampled.npy").exists()
