"""Feature statistics: counts against python-chess, what a game refreshes, what is printed."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import chess
import chess.pgn
import numpy as np
import pytest
from typer.testing import CliRunner

import nnuelab.cli.features  # noqa: F401  (registers the command)
from nnuelab import features
from nnuelab.chess import notation
from nnuelab.cli.app import app
from nnuelab.data import feature_counts, records
from nnuelab.data.dataset import write_index
from nnuelab.data.sampling import sample
from nnuelab.features import check, registry
from nnuelab.nnue import inference, replay
from nnuelab.report import feature_statistics as statistics
from nnuelab.settings.sample import Sampling
from tests.naive import statistics as naive
from tests.nnue_nets import random_games

FENS = [*check.STARTS, *random.Random(2).sample(random_games(4), 20)]
KINGS = """
from nnuelab.features import *

@piece_square("OWNKING", SQUARES)
def own_king(square, role, color):
    \"\"\"The own king stands on the square.\"\"\"
    return square if (role, color) == (KING, OWN) else None
"""


def packed(fens: list[str]) -> np.ndarray:
    return np.array([records.from_fen(fen) for fen in fens])


@pytest.fixture
def king_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the own king's square, the factor that makes refreshes due."""
    path = tmp_path / "kings.py"
    path.write_text(KINGS)
    monkeypatch.setenv(registry.VARIABLE, str(path))
    return path


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """Three random games as PGN, that castle as soon as they can."""
    path, rng = tmp_path / "games.pgn", random.Random(5)
    with path.open("w") as file:
        for _ in range(3):
            game = chess.pgn.Game()
            node: chess.pgn.GameNode = game
            while node.ply() < 90 and not node.board().is_game_over():
                legal = list(node.board().legal_moves)
                castling = [move for move in legal if node.board().is_castling(move)]
                node = node.add_variation(castling[0] if castling else rng.choice(legal))
            print(game, file=file, end="\n\n")
    return path


def stats(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["features", "stats", *map(str, arguments)])


# Counts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", ["ALL", "H+V", "ALL+D1+D2", "H*V"])
def test_counts_are_those_of_python_chess(expression: str) -> None:
    found, seen = feature_counts.count(features.parse(expression), packed(FENS))
    for row, (side, wanted) in zip(found, naive.counts(expression, FENS).items(), strict=True):
        assert {name: row[name] for name in wanted} == wanted, side
        assert row["refreshes"] == 0
    assert set(np.flatnonzero(seen).tolist()) == naive.seen(expression, FENS)


def test_each_move_adds_a_feature_of_all() -> None:
    """The published table has 0.98: the mean of counts that are 1, or 2 for castling."""
    found, _ = feature_counts.count(features.parse("ALL"), packed(FENS))
    assert (found["added"] >= found["moves"]).all()
    assert (found["removed"] >= found["added"]).all()


def test_a_refresh_touches_all_that_is_active(king_blocks: Path) -> None:
    """Only the mover's own king makes one due, and then each of its features is made anew."""
    fen = "4k3/8/8/8/8/8/P7/R3K3 w Q - 0 1"
    (mover, other), _ = feature_counts.count(features.parse("OWNKING*ALL"), packed([fen]))
    board = chess.Board(fen)
    king_moves = [m for m in board.legal_moves if m.from_square == chess.E1]
    assert (mover["refreshes"], other["refreshes"]) == (len(king_moves), 0)
    assert mover["touched"] == 4 * len(king_moves) + 2 * (board.legal_moves.count() - 6)
    assert other["touched"] == other["added"] + other["removed"]


def test_repeats_are_the_pieces() -> None:
    positions = packed(FENS)
    pieces = np.mean([len(chess.Board(fen).piece_map()) for fen in FENS])
    for expression, each in ("ALL", 1), ("H", 1), ("H+V+D1", 3):
        found = feature_counts.with_repeats(features.parse(expression), positions)
        assert found == pytest.approx(each * pieces)
    for expression in ("ALL+H*V", "MB", "PP"):
        assert feature_counts.with_repeats(features.parse(expression), positions) is None


def test_repeats_of_neighbours_are_the_pairs() -> None:
    """On a line stands one pair less than pieces."""
    lines = {
        "PH": chess.square_rank,
        "PV": chess.square_file,
        "PD1": lambda square: chess.square_rank(square) - chess.square_file(square),
        "PD2": lambda square: chess.square_rank(square) + chess.square_file(square),
    }
    pairs = dict.fromkeys(lines, 0.0)
    for fen in FENS:
        squares = list(chess.Board(fen).piece_map())
        for name, line in lines.items():
            pairs[name] += (len(squares) - len(set(map(line, squares)))) / len(FENS)
    positions = packed(FENS)
    for name in ("PH", "PV", "PD1+PD2", "PH+PV"):  # Black sees the other diagonals as PD1
        found = feature_counts.with_repeats(features.parse(name), positions)
        assert found == pytest.approx(sum(pairs[term] for term in name.split("+")))


@pytest.mark.parametrize("name", ["KA", "KP", "KB(16)"])
def test_no_two_pieces_share_a_feature_of_a_square(name: str) -> None:
    feature_set, positions = features.parse(name), packed(FENS)
    both, _ = feature_counts.count(feature_set, positions)
    active = np.mean([side["active"] / side["positions"] for side in both])
    assert feature_counts.with_repeats(feature_set, positions) == pytest.approx(active)


def test_repeats_are_seen_from_each_side(king_blocks: Path) -> None:
    """A block that holds for one colour has one piece from either side."""
    found = feature_counts.with_repeats(features.parse("OWNKING"), packed(FENS))
    assert found == 1


# Games -------------------------------------------------------------------------------------------


def test_refreshes_of_a_game_are_its_king_moves(king_blocks: Path, games: Path) -> None:
    moved = [0, 0]
    with games.open() as file:
        while game := chess.pgn.read_game(file):
            for node in game.mainline():
                board = node.parent.board()  # type: ignore[union-attr]
                moved[not board.turn] += board.piece_type_at(node.move.from_square) == chess.KING
    assert min(moved) > 3
    positions = statistics.load(games, 1000)
    assert positions.games == 3
    found = feature_counts.played_refreshes(features.parse("OWNKING*ALL"), positions.played)
    assert found.tolist() == moved


def test_a_game_that_is_cut_does_not_count_as_one(games: Path) -> None:
    whole = statistics.load(games, 1000)
    cut = statistics.load(games, len(whole.records) - 5)
    assert (whole.games, cut.games) == (3, 2)
    assert len(cut.records) == len(whole.records) - 5
    assert set(cut.played["game"]) == {0, 1}


def test_a_dataset_of_whole_games_is_told_from_others(tmp_path: Path, games: Path) -> None:
    for every in True, False:
        path = tmp_path / f"{every}.npy"
        options = Sampling(min_ply=0 if every else 4, skip_check=False, skip_captures=False)
        sample([games], path, options)
        assert statistics.load(path, 50).games == (3 if every else None)
        assert len(statistics.load(path, 50).records) == 50
    sample([games], path, Sampling(min_ply=0))
    assert statistics.load(path, 50).games is None


def test_an_index_is_one_dataset(tmp_path: Path, games: Path) -> None:
    parts, index = [tmp_path / "a.npy", tmp_path / "b.npy"], tmp_path / "all.shards"
    for least, part in zip((0, 4), parts, strict=True):
        sample([games], part, Sampling(min_ply=least))
    write_index(index, parts)
    found = statistics.load(index, 50)
    assert len(found.records) == 50
    np.testing.assert_array_equal(found.played, np.concatenate([*map(np.load, parts)]))


# Times -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", ["ALL", "H+V", "OWNKING*ALL"])
def test_what_is_timed_is_what_the_search_does(king_blocks: Path, expression: str) -> None:
    net = replay.any_net(expression, 64)
    positions = [notation.from_fen(fen) for fen in FENS if chess.Board(fen).legal_moves.count()]
    moves = replay.Moves.of(positions)
    replayed = replay.Replay(net, moves)
    counts, _ = feature_counts.count(features.parse(expression), packed(FENS))
    assert replayed.rows == counts["touched"].sum()
    assert moves.updates == counts["moves"].sum()
    replayed.evaluate()
    last = notation.after(positions[-1], int(moves.moves[-1]))
    wanted = np.zeros((2, 64), np.int16)
    record = inference.Inference(net).record
    for perspective in range(2):
        inference.refresh(record, last, perspective, wanted[perspective])
    np.testing.assert_array_equal(replayed.bound.memory["accumulators"][1], wanted)
    assert wanted.any()


def test_times_are_split_into_rows_and_the_rest() -> None:
    moves = replay.Moves.of([notation.from_fen(FENS[0])])
    seconds = np.array([[1e-9], [401e-9], [40e-9], [200e-9]])
    cost = replay.Replay(replay.any_net("ALL", 64), moves).cost(seconds)
    assert cost.rows == 2
    assert cost.row_ns == pytest.approx(2)
    assert cost.predicted_ns == pytest.approx(5)
    assert cost.measured_ns == pytest.approx(10)


# The command -------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "ROUNDS", 1)
    monkeypatch.setattr(statistics, "SECONDS", 0.0)


@pytest.mark.usefixtures("quick")
def test_figures_come_as_table_csv_and_figure(tmp_path: Path, games: Path) -> None:
    table, figure = tmp_path / "out.csv", tmp_path / "out.svg"
    done = stats("h+all", games, "--l1", "64", "--csv", table, "--plot", figure)
    assert done.exit_code == 0, done.output
    for name in ("H ", "ALL ", "H+ALL "):
        assert done.stdout.count(f"\n{name}") == (3 if "+" in name else 4)
    with table.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert tuple(found[0]) == statistics.COLUMNS
    assert [row["feature_set"] for row in found] == 3 * ["H"] + 3 * ["ALL"] + 3 * ["H+ALL"]
    assert [row["perspective"] for row in found[:3]] == ["both", "mover", "other"]
    first, middle, last = (found[i] for i in (0, 3, 6))
    assert first["published_active"] == "14.68"
    assert last["published_active"] == ""
    assert last["weight_bytes"] == str(2 * 64 * 864)
    for name in ("active", "added", "removed", "touched", "active_with_repeats"):
        total = float(first[name]) + float(middle[name])
        assert float(last[name]) == pytest.approx(total, rel=1e-4)
    assert float(last["measured_ns"]) > 0
    assert ElementTree.parse(figure).getroot().tag.endswith("svg")
    for path in (table, figure):
        told = json.loads(path.with_name(path.name + ".json").read_text())
        assert told["parameters"]["feature_set"] == "H+ALL"


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.html", b"<!DOCTYPE html>")])
def test_figures_of_other_kinds(tmp_path: Path, games: Path, name: str, start: bytes) -> None:
    assert stats("V", games, "--l1", "64", "--plot", tmp_path / name).exit_code == 0
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.usefixtures("quick")
def test_a_dataset_without_whole_games_is_said_to_be_one(tmp_path: Path, games: Path) -> None:
    path = tmp_path / "sampled.npy"
    sample([games], path, Sampling(min_ply=4))
    done = stats("ALL", path, "--l1", "64", "--csv", tmp_path / "a.csv")
    assert "by legal move only" in done.stderr
    with (tmp_path / "a.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["refreshes_per_game"] == ""


@pytest.mark.usefixtures("quick")
def test_a_first_layer_that_no_machine_holds_is_not_timed(
    monkeypatch: pytest.MonkeyPatch, games: Path
) -> None:
    monkeypatch.setattr(statistics, "LARGEST_TIMED", 1000)
    done = stats("ALL", games)
    assert done.exit_code == 0
    assert "393,216" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ALL", "nowhere.pgn"), "there is no file nowhere.pgn"),
        (("ALX", "games.pgn"), "did you mean ALL"),
        (("ALL", "games.pgn", "--csv", "games.pgn"), "would overwrite"),
        (("ALL", "empty.pgn"), "has no games"),
        (("ALL", "broken.npy"), "is not a dataset"),
    ],
)
def test_wrong_calls_are_one_line(
    games: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(games.parent)
    Path("empty.pgn").write_bytes(b"\n")
    Path("broken.npy").write_bytes(b"nothing")
    done = stats(*arguments)
    assert done.exit_code == 1
    errors = [line for line in done.stderr.splitlines() if not line.startswith("sample:")]
    assert len(errors) == 1
    assert said in errors[0]


def test_the_published_table_is_that_of_the_reference(shared: Path) -> None:
    text = (shared / "reference" / "nnue_study.md").read_text()
    line = next(line for line in text.splitlines() if line.startswith("Feature statistics as"))
    found = {}
    for part in line.partition("): ")[2].rstrip(".").split("; "):
        active, added, removed = map(float, re.findall(r"\d+\.\d+", part))
        for name in re.findall(r"\b(ALL|H|V|D1|D2|PH|PV|MB|MC)\b", part):
            found[name] = (active, added, removed)
    assert found == statistics.PUBLISHED


# Damage ------------------------------------------------------------------------------------------


def _zeroed(records: np.ndarray, rng: np.random.Generator) -> None:
    records[:] = 0


def _random(records: np.ndarray, rng: np.random.Generator) -> None:
    records.view(np.uint8)[:] = rng.integers(256, size=records.nbytes)


def _a_bit_of_each(records: np.ndarray, rng: np.random.Generator) -> None:
    raw = records.view(np.uint8).reshape(len(records), -1)
    bits = rng.integers(8 * raw.shape[1], size=len(raw))
    raw[np.arange(len(raw)), bits // 8] ^= (1 << bits % 8).astype(np.uint8)


def _other_side(records: np.ndarray, rng: np.random.Generator) -> None:
    records["flags"], records["ep"] = records["flags"] & 1 ^ 1, 64


def _other_moves(records: np.ndarray, rng: np.random.Generator) -> None:
    records["move"] = rng.integers(1, 2**16, size=len(records))


@pytest.mark.parametrize(
    "damage",
    [_zeroed, _random, _a_bit_of_each, _other_side, _other_moves],
    ids=lambda f: f.__name__,
)
def test_damaged_datasets_stop_before_the_kernels(
    tmp_path: Path, games: Path, damage: Callable[[np.ndarray, np.random.Generator], None]
) -> None:
    path = tmp_path / "set.npy"
    sample([games], path, Sampling(min_ply=0, skip_check=False))
    records = np.load(path)
    damage(records, np.random.default_rng(1))
    np.save(path, records)
    done = stats("ALL", path, "--l1", "64")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "make the dataset again" in done.stderr
    if damage is not _other_moves:
        out = tmp_path / "out.csv"
        done = CliRunner().invoke(app, ["features", "topk", str(path), "--output", str(out)])
        assert (done.exit_code, done.stderr.count("\n"), out.exists()) == (1, 1, False)


def test_of_a_large_dataset_the_first_games_are_those_played(
    tmp_path: Path, games: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "set.npy"
    sample([games], path, Sampling(min_ply=0, skip_check=False, skip_captures=False))
    records = np.load(path)
    first = int(np.count_nonzero(records["game"] == records["game"][0]))
    monkeypatch.setattr(statistics, "PLAYED", first + 5)
    found = statistics.load(path, 50)
    assert (len(found.played), found.games, len(found.records)) == (first, 1, 50)
