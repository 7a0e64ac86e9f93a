"""Ratings: agreement with Ordo, refusals, the wrapper around ordo, errors that cover the truth."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import chess
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from nnuelab.cli import tournament as _commands  # noqa: F401 (registers them)
from nnuelab.cli.app import app
from nnuelab.data import pgn
from nnuelab.errors import UserError
from nnuelab.tournament import model, ratings
from nnuelab.tournament.headers import read_results
from nnuelab.tournament.ratings import FEW
from tests.naive import tournament as naive
from tests.simulated import simulate

pytestmark = pytest.mark.usefixtures("no_ordo")

RESULTS = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}


def write_pgn(path: Path, games: list[tuple[str, str, str]], extra: str = "") -> Path:
    path.write_text(
        "".join(
            f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{extra}\n{result}\n\n'
            for white, black, result in games
        )
    )
    return path


def ordo_table(path: Path) -> dict[str, dict[str, str]]:
    with open(path, newline="") as file:
        return {row["PLAYER"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    ("games", "table", "anchor"),
    [
        ("A_rr7_10k.pgn.zst", "A_rr7_10k.sim.csv", None),
        ("A_rr7_10k.pgn.zst", "A_rr7_10k.anchor.csv", "hv"),
        ("B_small60.pgn", "B_small60.sim.csv", None),
    ],
)
def test_ratings_and_errors_are_those_of_ordo(
    shared: Path, games: str, table: str, anchor: str | None
) -> None:
    folder = shared / "data" / "ratings"
    expected = ordo_table(folder / table)
    rows = ratings.rate(folder / games, anchor)
    assert [row.name for row in rows] == list(expected)
    for row in rows:
        assert row.elo == pytest.approx(float(expected[row.name]["RATING"]), abs=0.05)
        assert row.points == float(expected[row.name]["POINTS"])
        assert row.games == int(expected[row.name]["PLAYED"])
        if row.name == anchor:
            assert row.elo == row.error == 0
        else:
            assert row.error == pytest.approx(float(expected[row.name]["ERROR"]), rel=0.10)


def test_white_advantage_is_that_of_ordo(shared: Path) -> None:
    fitted = model.fit(read_results([shared / "data" / "ratings" / "A_rr7_10k.pgn.zst"]))
    assert fitted.white_advantage == pytest.approx(30.79, abs=0.01)
    assert fitted.white_advantage_error == pytest.approx(1.96 * 2.88, rel=0.10)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("C_allloss.pgn", ["zero", "lost every game"]),
        ("D_disconnected.pgn", ["g1a", "g2a", "never met"]),
    ],
)
def test_what_cannot_be_rated_is_one_line_and_status_1(
    shared: Path, tmp_path: Path, name: str, said: list[str]
) -> None:
    table = tmp_path / "ratings.csv"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "nnuelab.cli",
            "rate",
            str(shared / "data/ratings" / name),
            "--csv",
            str(table),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("nnuelab: error: ")
    assert len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in said)
    assert list(tmp_path.glob("ratings*")) == []


def test_the_command_prints_the_table_and_writes_it_with_provenance(tmp_path: Path) -> None:
    games = write_pgn(
        tmp_path / "g.pgn", [("a, 1", "b", "1-0"), ("b", "a, 1", "1-0"), ("a, 1", "b", "1/2-1/2")]
    )
    (tmp_path / "other").mkdir()
    more = write_pgn(tmp_path / "other/g.pgn", [("a, 1", "b", "1/2-1/2")])
    table = tmp_path / "ratings.csv"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "nnuelab.cli",
            "rate",
            str(games),
            str(more),
            "--anchor",
            "b",
            "--csv",
            str(table),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == table.read_text()
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert list(rows[0]) == ["name", "elo", "error", "points", "games", "score"]
    assert {row["name"]: (row["points"], row["games"]) for row in rows} == {
        "a, 1": ("2.0", "4"),
        "b": ("2.0", "4"),
    }
    inputs = json.loads((tmp_path / "ratings.csv.json").read_text())["inputs"]
    assert {name: Path(file["path"]) for name, file in inputs.items()} == {
        "g.pgn": games,
        "g.pgn#2": more,
    }


# --- refusals


def test_one_group_that_beat_the_other_always_is_named(tmp_path: Path) -> None:
    games = [
        ("a", "b", "1-0"),
        ("b", "a", "1-0"),
        ("c", "d", "1-0"),
        ("d", "c", "1-0"),
        ("a", "c", "1-0"),
    ]
    with pytest.raises(UserError, match=r"\{a, b\}.*\{c, d\}"):
        ratings.rate(write_pgn(tmp_path / "g.pgn", games))


def test_colour_that_decides_every_game_leaves_the_advantage_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games = [("a", "b", "1-0"), ("b", "a", "1-0")] * 5
    rows = ratings.rate(write_pgn(tmp_path / "g.pgn", games))
    assert [row.elo for row in rows] == pytest.approx([0, 0])
    assert "can't be told" in capsys.readouterr().err


def test_one_pair_of_colours_leaves_the_advantage_out(tmp_path: Path) -> None:
    games = [("a", "b", "1-0"), ("a", "b", "0-1"), ("a", "b", "1-0"), ("a", "b", "1/2-1/2")]
    fitted = model.fit(read_results([write_pgn(tmp_path / "g.pgn", games)]))
    assert fitted.white_advantage == 0
    assert model.SLOPE * (fitted.elo[0] - fitted.elo[1]) == pytest.approx(np.log(2.5 / 1.5))


def test_foreign_result_names_file_and_game(tmp_path: Path) -> None:
    games = [("a", "b", "1-0"), ("b", "a", "0:1")]
    with pytest.raises(UserError, match=r"g\.pgn, game 2: result .0:1."):
        ratings.rate(write_pgn(tmp_path / "g.pgn", games))


def test_odd_games_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    good = [("a", "b", "1-0"), ("b", "a", "1-0"), ("a", "b", "1/2-1/2")]
    odd = [("a", "b", "0:1"), ("a", "a", "1-0"), ("", "b", "1-0"), ("a", "b", "\x1b[2J" * 10_000)]
    path = write_pgn(tmp_path / "g.pgn", [good[0], *odd, *good[1:]])
    call = ["rate", str(path), "--max-unusable"]
    done = CliRunner().invoke(app, [*call, "4"])
    alone = CliRunner().invoke(app, ["rate", str(write_pgn(tmp_path / "good.pgn", good))])
    assert (done.exit_code, done.stdout) == (0, alone.stdout)
    assert "4 unusable" in done.stderr
    assert "game 2: result '0:1'" in done.stderr
    few = CliRunner().invoke(app, [*call, "3"])
    assert (few.exit_code, few.stdout, few.stderr.count("\n")) == (1, "", 1)
    assert "allow more with --max-unusable" in few.stderr
    assert "\x1b" not in few.stderr
    assert len(few.stderr) < 1000


def test_unfinished_games_are_counted_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games = [("a", "b", "1-0"), ("b", "a", "*"), ("b", "a", "1-0"), ("a", "b", "1/2-1/2")]
    results = read_results([write_pgn(tmp_path / "g.pgn", games)])
    assert (len(results), results.unfinished) == (3, 1)
    assert "1 unfinished" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no games"),
        ("just words\n", "no finished game"),
        ('[White "a"]\n[Black "b"]\n\n1-0\n', "no Result tag"),
        ('[White "a"]\n[Result "1-0"]\n\n1-0\n', "no Black tag"),
        ('[White "a"]\n[Black "a"]\n[Result "1-0"]\n\n1-0\n', "against itself"),
    ],
)
def test_useless_pgn_is_said_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "g.pgn"
    path.write_text(text)
    with pytest.raises(UserError, match=said):
        ratings.rate(path)


def test_unknown_anchor_gets_the_nearest_name(tmp_path: Path) -> None:
    path = write_pgn(tmp_path / "g.pgn", [("ALL+H", "ALL", "1-0"), ("ALL", "ALL+H", "1-0")])
    with pytest.raises(UserError, match=r"did you mean ALL\+H\?"):
        ratings.rate(path, "ALLH")


def test_truncated_zst_and_missing_file_are_said(tmp_path: Path) -> None:
    path = tmp_path / "g.pgn.zst"
    rng = np.random.default_rng(1)
    text = "".join(
        f'[White "{w}"]\n[Black "x"]\n[Result "1-0"]\n\n1-0\n\n'
        for w in rng.integers(0, 10**9, 5000)
    )
    whole = zstandard.compress(text.encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="cut off"):
        read_results([path])
    with pytest.raises(UserError, match="no file"):
        read_results([tmp_path / "absent.pgn"])


# --- headers


def test_headers_are_those_that_python_chess_reads(shared: Path) -> None:
    import chess.pgn

    path = shared / "data/games/fixture_evals_200.pgn"
    with open(path) as file:
        expected = []
        while found := chess.pgn.read_headers(file):
            expected.append((found["White"], found["Black"], found["Result"]))
    assert [(t["White"], t["Black"], t["Result"]) for t, _ in pgn.games(path)] == expected


def test_comments_and_escapes_do_not_confuse_the_scanner(tmp_path: Path) -> None:
    path = tmp_path / "g.pgn"
    path.write_bytes(
        b'\xef\xbb\xbf[White "a \\"quoted\\""]\r\n[Black "\xe9"]\r\n[Result "1-0"]\r\n\r\n'
        b'1. e4 { said\n[White "no tag"]\n} e5\n[%eval 0.3] 1-0\n\n'
        b'[White "b"]\n[Black "c"]\n[Result "*"]\n*'
    )
    assert [tags for tags, _ in pgn.games(path)] == [
        {"White": 'a "quoted"', "Black": "é", "Result": "1-0"},
        {"White": "b", "Black": "c", "Result": "*"},
    ]


@pytest.mark.parametrize(
    ("extra", "clusters"),
    [
        ('[FEN "8/8/8/8/8/8/8/K1k5 w - - 0 1"]\n', 1),
        ('[Round "3.1"]\n', 1),
        ('[Round "3"]\n', 2),
        ("", 2),
        ('[FEN "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"]\n', 2),
    ],
)
def test_opening_pairs_are_told_by_position_or_round(
    tmp_path: Path, extra: str, clusters: int
) -> None:
    path = write_pgn(tmp_path / "g.pgn", [("a", "b", "1-0"), ("b", "a", "1-0")], extra)
    assert len(set(read_results([path]).cluster)) == clusters


@given(st.text("a{};", max_size=12), st.booleans())
def test_open_comments_are_those_found_letter_by_letter(line: str, comment: bool) -> None:
    still = comment
    for letter in line:
        if letter == ";" and not still:
            break
        still = letter == "{" or (still and letter != "}")
    assert pgn.open_comment(line.encode(), comment) == still


def test_games_from_one_position_cluster_whoever_played_them(tmp_path: Path) -> None:
    games = [("a", "b", "1-0"), ("b", "a", "1-0"), ("a", "c", "1-0"), ("c", "a", "1/2-1/2")]
    extra = '[FEN "8/8/8/8/8/8/8/K1k5 w - - 0 1"]\n[Round "3.1"]\n'
    results = read_results([write_pgn(tmp_path / "g.pgn", games, extra)])
    assert results.cluster.tolist() == [0, 0, 0, 0]
    assert results.pair.tolist() == [0, 0, 1, 1]


def test_rounds_of_different_files_are_different_openings(tmp_path: Path) -> None:
    games = [("a", "b", "1-0"), ("b", "a", "1-0")]
    paths = [write_pgn(tmp_path / name, games, '[Round "3.1"]\n') for name in ("g.pgn", "h.pgn")]
    assert read_results(paths).cluster.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("slices", [1, 7, 50])
def test_slices_are_rated_as_the_whole(slices: int, tmp_path: Path) -> None:
    """Whole pairs are in one slice, as parts of a tournament have it."""
    rng = random.Random(0)
    pairs = []
    for square in range(8, 64):
        board = chess.Board(None)
        board.set_piece_map({0: chess.Piece.from_symbol("K"), square: chess.Piece.from_symbol("k")})
        games = [
            f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n'
            f'[FEN "{board.fen()}"]\n\n{result}'
            for white, black in permutations(rng.sample("abcd", 2))
            for result in rng.sample(sorted(RESULTS.values()), 1)
        ]
        pairs.append("\n\n".join(games) + "\n\n")
    whole, paths = tmp_path / "whole.pgn", [tmp_path / f"{i}.pgn" for i in range(slices)]
    whole.write_text("".join(pairs))
    for i, path in enumerate(paths):
        start, end = (len(pairs) * j // slices for j in (i, i + 1))
        path.write_text("".join(pairs[start:end]))
    assert ratings.to_csv(ratings.rate(paths)) == ratings.to_csv(ratings.rate(whole))


@pytest.mark.parametrize("movetext", ["1. e4 ; an idea { of", "%{", '1. e4 {;} {\n[Site "no"]\n}'])
def test_braces_that_open_no_comment_hide_no_game(tmp_path: Path, movetext: str) -> None:
    path = tmp_path / "g.pgn"
    game = '[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n{}\n1-0\n\n'
    path.write_text(game.format(movetext) + game.format("1. d4"))
    assert len(read_results([path])) == 2
    assert len(list(pgn.texts(path))) == 2


def test_few_pairs_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for pairs, few in ((FEW // 2 - 1, True), (FEW, False)):  # lone games, so twice as many
        ratings.rate(set_games(tmp_path, ["a", "b"], np.array([20.0, -20.0]), pairs, 1))
        assert ("are few" in capsys.readouterr().err) == few


# --- simulated tournaments of known strength


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(30, 60))
def test_fit_equals_the_naive_twin(seed: int, players: int, pairs: int) -> None:
    rng = np.random.default_rng(seed)
    results = simulate(rng, rng.normal(0, 60, players), pairs)
    fitted = model.fit(results)
    elo, covariance, advantage = naive.fit(
        players, results.white, results.black, results.points, results.cluster
    )
    np.testing.assert_allclose(fitted.elo, elo, atol=1e-6)
    np.testing.assert_allclose(fitted.covariance, covariance, rtol=1e-6, atol=1e-6)
    assert fitted.white_advantage == pytest.approx(advantage, abs=1e-6)


def test_anchoring_moves_ratings_and_keeps_differences(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    results = simulate(rng, np.array([50.0, 0.0, -50.0]), 100)
    games = [
        (results.players[w], results.players[b], RESULTS[p])
        for w, b, p in zip(results.white, results.black, results.points, strict=True)
    ]
    path = write_pgn(tmp_path / "g.pgn", games)
    free = {row.name: row.elo for row in ratings.rate(path)}
    assert sum(free.values()) == pytest.approx(0, abs=1e-9)
    for row in ratings.rate(path, "p1"):
        assert row.elo == pytest.approx(free[row.name] - free["p1"], abs=1e-9)


# --- feature sets


def set_games(tmp_path: Path, names: list[str], elo: np.ndarray, pairs: int, seed: int) -> Path:
    results = simulate(np.random.default_rng(seed), elo, pairs)
    games = [
        (names[w], names[b], RESULTS[p])
        for w, b, p in zip(results.white, results.black, results.points, strict=True)
    ]
    return write_pgn(tmp_path / "sets.pgn", games)


def test_feature_sets_are_means_of_their_nets_relative_to_the_anchor(tmp_path: Path) -> None:
    names = ["ALL#1", "ALL#2", "H+V#1", "H+V#2", "D1+D2#1", "D1+D2#2"]
    path = set_games(tmp_path, names, np.array([60.0, 20, -100, -60, 10, 30]), 60, 5)
    nets = {row.name: row.elo for row in ratings.rate(path)}
    sets = ratings.feature_sets({"nodes": path})["nodes"]
    mean = {name: (nets[f"{name}#1"] + nets[f"{name}#2"]) / 2 for name in sets}
    scatter = sum((nets[f"{name}#1"] - nets[f"{name}#2"]) ** 2 / 2 for name in sets)
    for name, row in sets.items():
        assert row.elo == pytest.approx(mean[name] - mean["ALL"], abs=1e-9)
        assert row.seeds == 2
        if name == "ALL":
            assert row.elo_error_games == row.elo_error_seeds == 0
        else:
            # Student's t of 3 degrees of freedom: 3.182.
            assert row.elo_error_seeds == pytest.approx(3.18245 * np.sqrt(scatter / 3), rel=1e-4)
            assert 5 < row.elo_error_games < 60
    assert list(sets) == sorted(sets, key=lambda name: -sets[name].elo)


def test_one_seed_leaves_the_error_of_seeds_blank(tmp_path: Path) -> None:
    path = set_games(tmp_path, ["ALL#1", "H+V#1"], np.array([50.0, -50.0]), 100, 6)
    sets = ratings.feature_sets({"nodes": path})["nodes"]
    nets = {row.name: row for row in ratings.rate(path, "ALL#1")}
    assert {row.elo_error_seeds for row in sets.values()} == {None}
    assert sets["H+V"].elo == pytest.approx(nets["H+V#1"].elo)
    assert sets["H+V"].elo_error_games == pytest.approx(nets["H+V#1"].error)


def test_anchor_set_that_did_not_play_is_named(tmp_path: Path) -> None:
    path = set_games(tmp_path, ["ALL#1", "H+V#1"], np.array([50.0, -50.0]), 20, 7)
    with pytest.raises(UserError, match='anchor set "D1"'):
        ratings.feature_sets({"nodes": path}, "D1")
