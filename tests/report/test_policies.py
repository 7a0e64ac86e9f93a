"""Policies on the page: the numbers of the files, games as boards, agreement with players."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab.cli.__main__ import application
from nnuelab.data import pgn
from nnuelab.data.records import from_fen
from nnuelab.errors import UserError
from nnuelab.policy.policyfile import read_policy
from nnuelab.report import agreement, diff, explorer, page, policies, policy_games, policy_plots
from nnuelab.report import results as found_results
from tests import report_results
from tests.naive import policy as naive
from tests.report.conftest import watched

RUNS = report_results.SELFPLAY


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = report_results.make(tmp_path_factory.mktemp("project"))
    report_results.make_policies(found)
    return found


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def built(folder: Path) -> page.Page:
    return page.build(found_results.gather(folder, []))


@pytest.fixture(scope="module")
def made(folder: Path) -> page.Page:
    return built(folder)


def blob(html: str, name: str):
    packed = re.search(rf'id="blob-{name}">([^<]*)<', html)
    assert packed is not None
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


# The section


def test_the_page_shows_tables_curves_and_games(made: page.Page) -> None:
    figures = {name for name in made.figures if name.startswith("policies-")}
    of_runs = {f"selfplay-{name}-{what}" for name in RUNS for what in ("scores", "ends")}
    assert figures == {
        f"policies-{name}"
        for name in (*of_runs, "selfplay-entropy", "choices", "loss-softmax", "loss-mse")
    } | {"policies-accuracy"}
    for table in ("policies-table", "policies-scores", "policies-agreement"):
        assert f'<table id="{table}"' in made.html
    assert 'href="#/policies"' in made.html
    assert "isn't of this version" not in made.html, "the table is no experiment's"
    assert 'id="experiment-policy"' not in made.html


def test_without_policies_there_is_no_section(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    html = built(tmp_path / "results").html
    assert "policies-title" not in html
    assert "blob-policies" not in html


@pytest.mark.parametrize(
    ("damaged", "left"),
    [
        ("policy_table.csv", ("policies-scores", "policies-agreement")),
        ("policy/nets/pair/2/history.csv", ("policies-table", "policies-scores")),
        ("policy/selfplay/expert/1/history.csv", ("policies-table", "policies-scores")),
        ("policy/vs_random.csv", ("policies-table", "policies-agreement")),
        ("policy_agreement.csv", ("policies-table", "policies-scores")),
        ("policy/vs_random.pgn", ("policies-table", "policies-scores")),
    ],
)
@pytest.mark.parametrize("content", ["", "a,b\n1\n", "name,iteration,epoch\nx,1,nan\n"])
def test_a_damaged_file_costs_its_own_part(
    folder: Path, tmp_path: Path, damaged: str, left: tuple[str, ...], content: str
) -> None:
    copy = tmp_path / "results"
    for name in ("policy", "policy_table.csv", "policy_agreement.csv"):
        one = folder / name
        shutil.copytree(one, copy / name) if one.is_dir() else shutil.copy(one, copy / name)
    (copy / damaged).write_text(content)
    found = policies.find(copy, str)
    assert found is not None
    (said,) = found.section.problems
    assert Path(damaged).name in said
    assert "\n" not in said
    names = {grid.name for grid in found.section.grids}
    assert {*left} <= names


def test_a_broken_policy_costs_the_moves_alone(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    known = found_results.gather(copy, [])
    assert found_results.outdated(known) == []
    for file in copy.glob("policy/nets/*/1/net.policy"):
        file.write_bytes(b"NNUEPOL\0")
    html = built(copy).html
    assert "net.policy" in html[html.index('id="/policies"') : html.index('id="/methods"')]
    assert blob(html, "explorer")["moves"] == {}
    for file in copy.glob("policy/nets/*/1/net.policy"):
        file.unlink()
    assert "net.policy" in " ".join(policies.find(copy, str).section.problems)


def test_a_run_of_other_columns_costs_its_own_figures(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results"
    shutil.copytree(folder / "policy", copy / "policy")
    for seed in report_results.SEEDS:
        history = copy / "policy/selfplay/expert" / str(seed) / "history.csv"
        history.write_text(history.read_text().replace("mates", "others"))
    section = policies.find(copy, str).section
    (said,) = section.problems
    assert said.startswith("self-play expert can't be shown: a file holds something unexpected")
    names = {figure.name for figure in section.figures}
    assert {"selfplay-gradient-ends", "selfplay-seed-scores", "selfplay-entropy"} <= names
    assert "selfplay-expert-ends" not in names


def test_a_table_changed_by_hand_is_told(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    table = copy / "policy_table.csv"
    table.write_text(table.read_text().replace("softmax", "masked"))
    told = ["results/policy_table.csv was changed after it was made"]
    assert list(map(str, found_results.outdated(found_results.gather(copy, [])))) == told


def test_runs_of_two_folders_are_compared_without_their_policies(folder: Path) -> None:
    assert [one.name for one, _ in diff.pairs(folder, folder)] == ["axis_table.csv"]


def test_the_table_has_the_numbers_of_the_file_the_answers_first(folder: Path) -> None:
    expected = rows(folder / "policy_table.csv")
    grid = policies.grid(policies.read_table(folder / "policy_table.csv"), folder, str)
    assert [name for name, _ in grid.columns[:6]] == [
        *("name", "legal_first", "accuracy", "legal_accuracy", "mean_tries", "train_seconds")
    ]
    assert {*expected[0]} == {
        *(name for name, _ in grid.columns),
        *(f"{name}_sd" for name in policies.MEASURES if name != "train_seconds"),
    }
    for row, cells in zip(expected, grid.rows, strict=True):
        for (name, title), cell in zip(grid.columns, cells, strict=True):
            if name not in policies.MEASURES:
                assert cell == row[name]
                continue
            scale = 100 if title.endswith("%") else 1
            value, _, spread = cell.rstrip("]").partition(" [")
            assert float(value) == pytest.approx(scale * float(row[name]), abs=0.51)
            if name != "train_seconds":
                assert float(spread) == pytest.approx(scale * float(row[f"{name}_sd"]), abs=0.051)
    assert "history.csv" in grid.sources[0]["train_seconds"][1]
    said = policies.words(expected)
    best = max(expected, key=lambda row: float(row["legal_accuracy"]))
    assert f"likeliest legal move of {best['name']} is the one played" in said[0]
    assert f"{100 * float(best['legal_accuracy']):.1f}" in said[0]


def test_untrained_policies_have_no_curve_and_no_problem(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results"
    shutil.copytree(folder / "policy", copy / "policy")
    told = rows(folder / "policy_table.csv")
    told[1]["train_seconds"] = "0"
    with open(copy / "policy_table.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, [*told[0]])
        writer.writeheader()
        writer.writerows(told)
    for history in (copy / "policy/nets" / told[1]["name"]).glob("*/history.csv"):
        history.write_text("epoch,train_loss\n")
    found = policies.find(copy, str)
    assert found is not None
    assert found.section.problems == []
    assert "loss-mse" not in {figure.name for figure in found.section.figures}


def test_scores_are_those_of_the_file(folder: Path) -> None:
    expected = rows(folder / "policy/vs_random.csv")
    grid = policies.scores_grid(folder / "policy/vs_random.csv", str)
    columns = [name for name, _ in grid.columns]
    first = [name for name in columns if name not in ("opponent", "true_low", "true_high")]
    assert first[:5] == ["player", "games", "true_score", "adjudicated_score", "material"]
    assert {*columns} == {name for name in expected[0] if any(row[name] for row in expected)}
    shares = [name for name, title in grid.columns if title.endswith("%")]
    assert {*shares} > {"true_score", "true_low", "end_mate"}
    told = [{**row, **{n: f"{100 * float(row[n]):.1f}" for n in shares}} for row in expected]
    assert grid.rows == [[row[name] for name in columns] for row in told]


def test_each_pairing_is_listed_once(tmp_path: Path) -> None:
    path = tmp_path / "vs_random.csv"
    head = "player,opponent,games,true_score,adjudicated_score,material"
    pairings = [("random", "a#1"), ("a#1", "random"), ("b#1", "a#1"), ("a#1", "b#1"), ("b#1", "")]
    path.write_text("\n".join([head, *(f"{a},{b},9,0.5,0.5,0" for a, b in pairings)]) + "\n")
    grid = policies.scores_grid(path, str)
    assert [tuple(row[:2]) for row in grid.rows] == [pairings[i] for i in (1, 2, 4)]


def test_deviations_are_columns_of_their_own_where_a_table_is_taken_away(
    folder: Path, made: page.Page, tmp_path: Path, browser: Any
) -> None:
    path = tmp_path / "report.html"
    path.write_text(made.html)
    with watched(browser, path, 60_000) as view:
        view.goto(f"{path.as_uri()}#/policies")
        sheet = view.locator(".sheet").filter(has=view.locator("#policies-table"))
        sheet.get_by_text("CSV").click()
        found = csv.DictReader(view.locator("#record textarea").input_value().splitlines())
        for own, row in zip(found, rows(folder / "policy_table.csv"), strict=True):
            assert own["legal_first"] == f"{100 * float(row['legal_first']):.1f}"
            assert own["legal_first_sd"] == f"{100 * float(row['legal_first_sd']):.1f}"
        view.keyboard.press("Escape")
        sheet.get_by_text("LaTeX").click()
        lines = view.locator("#record textarea").input_value().splitlines()
        assert "first pair legal \\% & first pair legal \\% sd" in lines[2]
        assert "[" not in "".join(lines[4:-2])


# Figures


def values(figure, layer: int):
    return figure.spec["layer"][layer]["data"]["values"]


def test_thick_lines_are_means_of_thin_ones(made: page.Page, folder: Path) -> None:
    figure = made.figures["policies-accuracy"]
    thin, thick = values(figure, 0), values(figure, 1)
    assert len(thin) == 2 * len(thick) == 12
    for mean in thick:
        own = [v["accuracy"] for v in thin
               if (v["policy"], v["epoch"]) == (mean["policy"], mean["epoch"])]  # fmt: skip
        assert mean["accuracy"] == pytest.approx(np.mean(own))
    told = rows(folder / "policy_table.csv")
    alone = [policies.trained(folder / "policy/nets", row)[0] for row in told]
    drawn = policy_plots.training(alone, {"pair": "softmax", "seed": "mse"})
    line, dots, names = drawn[-1].spec["layer"]  # of one seed a single line
    assert line["data"] == dots["data"]
    assert {value["policy"] for value in names["data"]["values"]} == {"pair", "seed"}


def test_an_untrained_run_has_no_curve(tmp_path: Path) -> None:
    folder = tmp_path / "untrained/1"
    folder.mkdir(parents=True)
    (folder / "history.csv").write_text("iteration\n")
    assert policies.runs(tmp_path) == []
    (folder / "history.csv").write_text("iteration,games\n")
    assert [run.name for run in policies.runs(tmp_path)] == ["untrained"]


def test_scores_of_self_play_are_those_of_its_history(made: page.Page, folder: Path) -> None:
    for name in RUNS:
        expected = Counter()
        for history in (folder / "policy/selfplay" / name).glob("*/history.csv"):
            for row in rows(history):
                for column, cell in row.items():
                    mover, _, opponent = column.partition("_")
                    if opponent in policy_plots.OPPONENTS and cell:
                        against = policy_plots.OPPONENTS[opponent]
                        shown = policy_plots.MOVERS[mover]
                        expected[float(row["iteration"]), against, shown, float(cell)] += 1
        thin = values(made.figures[f"policies-selfplay-{name}-scores"], 1)
        assert expected == Counter(
            (v["iteration"], v["against"], v["player"], v["score"]) for v in thin
        )


def test_ends_of_games_add_up_to_all_of_them(made: page.Page, folder: Path) -> None:
    for name in RUNS:
        bars: dict[float, float] = {}
        mates = 0.0
        for value in made.figures[f"policies-selfplay-{name}-ends"].spec["data"]["values"]:
            bars[value["from"]] = bars.get(value["from"], 0) + value["share"]
            mates += value["share"] * (value["end"] == "mate")
        histories = [*(folder / "policy/selfplay" / name).glob("*/history.csv")]
        iterations = {row["iteration"] for path in histories for row in rows(path)}
        assert len(bars) == len(iterations)
        assert [*bars.values()] == pytest.approx([1] * len(bars))
        every = [row for path in histories for row in rows(path)]
        told = [float(r["mates"] if "mates" in r else r["end"] == "mate") for r in every]
        assert mates == pytest.approx(sum(told) / len(histories))


def test_a_long_run_has_as_many_bars_as_can_be_seen(tmp_path: Path) -> None:
    history = [{"iteration": float(i + 1), "games": 1.0, "plies": 9.0,
                "end": "mate" if i % 4 == 0 else "ply_limit"} for i in range(500)]  # fmt: skip
    run = policies.Run("long", tmp_path / "1")
    run.__dict__["history"] = history
    (ends,) = policy_plots.selfplay("long", [run])
    bars = ends.spec["data"]["values"]
    assert len(bars) == 2 * policy_plots.MOST_BARS
    assert np.mean([v["share"] for v in bars if v["end"] == "mate"]) == pytest.approx(0.25)


# Games


def replayed(game: dict[str, str]) -> list[str]:
    """All positions as 64 letters, by python-chess."""
    board = chess.Board(game["fen"])

    def letters() -> str:
        pieces = (board.piece_at(square ^ 56) for square in range(64))
        return "".join(piece.symbol() if piece else " " for piece in pieces)

    found = [letters()]
    for move in game["moves"].split():
        board.push_uci(move)
        found.append(letters())
    return found


def test_the_panel_has_the_games_of_all_pairings(folder: Path) -> None:
    path = folder / "policy/vs_random.pgn"
    found = policy_games.packed(path)["games"]
    assert len(found) == policy_games.MOST_GAMES
    pairings = Counter(frozenset((game["white"], game["black"])) for game in found)
    assert len(pairings) == 3
    every = Counter(frozenset((t["White"], t["Black"])) for t, _ in pgn.games(path))
    most = max(pairings.values())
    assert all(n in (most, every[pairing]) or n == min(pairings.values())
               for pairing, n in pairings.items())  # fmt: skip
    texts = {}
    with open(path) as file:
        while game := chess.pgn.read_game(file):
            line = " ".join(move.uci() for move in game.mainline_moves())
            texts[game.board().fen(), line] = game.headers["Result"]
    for game in found:
        assert texts[game["fen"], game["moves"]] == game["result"]
        replayed(game)


def test_long_games_are_cut(tmp_path: Path) -> None:
    game = chess.pgn.Game()
    node: chess.pgn.GameNode = game
    for i in range(policy_games.MOST_PLIES + 10):
        node = node.add_variation(chess.Move.from_uci(("g1f3", "g8f6", "f3g1", "f6g8")[i % 4]))
    (tmp_path / "long.pgn").write_text(f"{game}\n")
    (found,) = policy_games.packed(tmp_path / "long.pgn")["games"]
    assert len(found["moves"].split()) == policy_games.MOST_PLIES
    assert found["end"] == "fifty"


def test_games_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.pgn"
    path.write_text('[White "a"]\n[Black "b"]\n\n1. e5 *\n')
    with pytest.raises(UserError, match=r"broken.pgn has a game that can't be read") as raised:
        policy_games.packed(path)
    assert "\n" not in str(raised.value)


# Agreement


def test_agreement_is_that_of_a_literal_count(folder: Path) -> None:
    policy = read_policy(folder / "policy/nets/pair/1/net.policy")
    games = agreement.drawn([folder / "tournament/axis.pgn"], 15, 3)
    asked, right = Counter(), Counter()
    played_in: dict[str, set[int]] = {}
    for number, text in enumerate(games):
        game = chess.pgn.read_game(io.StringIO(text.decode()))
        assert game is not None
        board = game.board()
        for move in game.mainline_moves():
            out, _ = naive.outputs_of(policy, from_fen(board.fen()))
            logits = naive.pairs(policy, out)
            turned = 0 if board.turn else 56
            pairs = {
                64 * (m.from_square ^ turned) + (m.to_square ^ turned): m
                for m in board.legal_moves
                if m.promotion in (None, chess.QUEEN)
            }
            player = game.headers["White" if board.turn else "Black"]
            asked[player] += 1
            right[player] += pairs[max(pairs, key=lambda pair: logits[pair])] == move
            played_in.setdefault(player, set()).add(number)
            board.push(move)
    found = agreement.measure({"pair": policy}, games)
    assert {row["player"]: row["positions"] for row in found} == asked
    for row in found:
        player = str(row["player"])
        assert row["games"] == len(played_in[player])
        assert row["agreement"] == pytest.approx(right[player] / asked[player])
        assert 0 <= row["low"] <= row["agreement"] <= row["high"] <= 1


def test_every_game_is_drawn_as_often_as_any_other(tmp_path: Path) -> None:
    files = [tmp_path / f"{i}.pgn" for i in range(2)]
    for i, path in enumerate(files):
        path.write_text("".join(f'[Round "{5 * i + n}"]\n\n1. e4 *\n\n' for n in range(5)))
    counts = Counter()
    for seed in range(600):
        drawn = agreement.drawn(files, 3, seed)
        assert len({*drawn}) == 3
        counts.update(drawn)
    assert len(counts) == 10
    assert all(abs(n - 180) < 5 * np.sqrt(600 * 0.3 * 0.7) for n in counts.values())
    assert len(agreement.drawn(files, 100, 1)) == 10
    assert agreement.drawn(files, 3, 7) == agreement.drawn(files, 3, 7)


def test_the_command_writes_what_the_page_shows(folder: Path, tmp_path: Path) -> None:
    named = [f"{n}={folder / 'policy/nets' / n / '1/net.policy'}" for n in report_results.POLICIES]
    games, output = folder / "tournament/axis.pgn", tmp_path / "a.csv"
    words = ["policy", "agreement", *named, "--games", games, "--csv", output, "--count", 40]
    done = CliRunner().invoke(application(), [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert output.read_text() == (folder / "policy_agreement.csv").read_text()
    record = json.loads((tmp_path / "a.csv.json").read_text())
    assert [*record["inputs"]] == [*report_results.POLICIES, "axis.pgn"]
    expected = rows(output)
    grid = agreement.grid(output, str)
    assert [name for name, _ in grid.columns[3:]] == [*report_results.POLICIES]
    assert len(grid.rows) * len(report_results.POLICIES) == len(expected)
    shares = {(row["player"], row["policy"]): 100 * float(row["agreement"]) for row in expected}
    for player, _, _, *cells in grid.rows:
        for policy, cell in zip(report_results.POLICIES, cells, strict=True):
            assert float(cell.split(" [")[0]) == pytest.approx(shares[player, policy], abs=0.051)
    games = tmp_path / "broken.pgn"
    games.write_text('[White "a"]\n[Black "b"]\n\n1. e5 *\n')
    words = ["policy", "agreement", *named, "--games", games, "--csv", tmp_path / "b.csv"]
    done = CliRunner().invoke(application(), [str(word) for word in words])
    assert done.exit_code == 1
    assert "can't be read or has no move" in done.output
    assert not (tmp_path / "b.csv").exists()


# Moves of positions


def test_positions_show_the_likeliest_moves_of_the_best_policy(made: page.Page, folder) -> None:
    told = rows(folder / "policy_table.csv")
    best = max(told, key=lambda row: float(row["legal_accuracy"]))["name"]
    shown = blob(made.html, "explorer")
    assert [*shown["moves"]] == [best]
    policy = read_policy(folder / "policy/nets" / best / "1/net.policy")
    for place, moves in zip(shown["positions"], shown["moves"][best], strict=True):
        board = chess.Board(place["fen"])
        legal = [m for m in board.legal_moves if m.promotion in (None, chess.QUEEN)]
        out, _ = naive.outputs_of(policy, from_fen(place["fen"]))
        logits = naive.pairs(policy, out)
        turned = 0 if board.turn else 56
        own = np.array(
            [logits[64 * (m.from_square ^ turned) + (m.to_square ^ turned)] for m in legal]
        )
        shares = np.exp(own - own.max()) / np.exp(own - own.max()).sum()
        order = np.argsort(-shares)[: explorer.MOVES]
        assert [san for san, _ in moves] == [board.san(legal[i]) for i in order]
        assert [p for _, p in moves] == pytest.approx(shares[order], abs=1e-3)
