"""Tuned evaluations on the page, in figures and by `inspect`: the numbers of the files."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import chess
import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab import charts, data
from nnuelab.chess import notation
from nnuelab.cli.__main__ import application
from nnuelab.data.records import to_fen
from nnuelab.errors import UserError
from nnuelab.evaluator import values
from nnuelab.hce import evaluation, grids, trace
from nnuelab.hce.error import sigmoid
from nnuelab.hce.evaluator import HceEvaluator
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.report import inspect as summaries
from nnuelab.report import page, results, texel, texel_plots, texel_residuals
from tests import report_results
from tests.naive import hce as naive
from tests.nnue_data import VALUES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report_results.make_tuned(tmp_path_factory.mktemp("project") / "results")


def call(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(application(), [str(word) for word in arguments])
    assert done.exit_code == status, done.output
    return done.output


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def built(folder: Path) -> page.Page:
    return page.build(results.gather(folder, []))


# The page


def test_the_page_shows_runs_match_and_terms(folder: Path) -> None:
    found = built(folder.parent)
    figures = {name for name in found.figures if name.startswith("texel-")}
    assert figures == {
        f"texel-{name}"
        for name in (
            *("error", "error-log", "error-elo", "entropy", "bits", "k"),
            *("residuals-phase", "residuals-material"),
        )
    }
    for table in ("texel-runs", "texel-errors", "texel-match", "texel-terms"):
        assert f'<table id="{table}"' in found.html
    assert 'href="#/texel"' in found.html
    assert 'id="blob-texel"' in found.html


def test_without_tuned_evaluations_there_is_no_section(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    html = built(tmp_path / "results").html
    assert "texel-title" not in html
    assert "texel-runs" not in html


@pytest.mark.parametrize(
    ("damaged", "said", "left"),
    [
        ("pbil/history.csv", "history.csv", {"texel-match"}),
        ("match_table.csv", "match_table.csv", {"texel-runs", "texel-terms"}),
        ("pbil/history.csv.json", "history.csv.json", {"texel-runs", "texel-match"}),
        ("squares/terms.csv", "terms.csv", {"texel-match"}),
    ],
)
def test_a_damaged_file_costs_its_own_part(
    folder: Path, tmp_path: Path, damaged: str, said: str, left: set[str]
) -> None:
    copy = tmp_path / "results"
    shutil.copytree(folder, copy / "texel")
    (copy / "texel" / damaged).write_text("{}\n")
    html = built(copy).html
    assert f"{said} " in html[html.index('id="/texel"') :]
    for table in left:
        assert f'<table id="{table}"' in html


def test_runs_stand_in_the_order_of_their_held_out_errors(folder: Path) -> None:
    found = texel.runs(folder)
    errors = [float(rows(run.folder / "history.csv")[-1]["validation"]) for run in found]
    assert errors == sorted(errors)
    assert {run.name for run in found} == set(report_results.RUNS)
    grid = texel.summary_grid(found, str)
    assert [row[0] for row in grid.rows] == [run.name for run in found]
    assert [float(row[4]) for row in grid.rows] == pytest.approx(errors, abs=1e-6)
    zeros = [sum(r["tuned"] == "0" for r in rows(run.folder / "terms.csv")) for run in found]
    assert [int(row[7]) for row in grid.rows] == zeros


def test_the_best_run_is_compared_with_those_of_other_terms(folder: Path) -> None:
    found = texel.runs(folder)
    best = found[0]
    others = {run.name for run in found if run.weights != best.weights}
    said = texel.words(found)[0]
    assert said.startswith(f"{best.name} has the lowest error on held-out games")
    assert all(f"% below {name}" in said for name in others)
    assert others in ({"material"}, {"squares", "pbil"})


def test_terms_tell_start_tuned_error_and_zeros_of_runs_with_the_same_terms(folder: Path) -> None:
    found = [run for run in texel.runs(folder) if run.name != "material"]
    grid = texel.terms_grid(found, str)
    assert grid is not None
    assert [name for name, _ in grid.columns[3:-1]] == [run.name for run in found]
    assert "squares" in grid.caption  # too many to list
    material = [r for r in rows(folder / "pbil/terms.csv") if r["term"] == "material"]
    assert [row[0] for row in grid.rows] == [f"{r['weight']} {r['phase']}" for r in material]
    place = 3 + [run.name for run in found].index("squares")
    for row, told in zip(grid.rows, material, strict=True):
        assert row[2] == told["start"]
        assert row[place].split(" ")[0] == told["tuned"]  # frozen
    alone = [run for run in texel.runs(folder) if run.name == "material"]
    grid = texel.terms_grid(alone, str)
    assert grid is not None
    assert any("[" in row[3] for row in grid.rows), "standard errors of gauss-newton"


def test_boards_hold_the_sums_of_all_terms_about_a_piece(folder: Path) -> None:
    found = texel.boards(texel.runs(folder))
    tuned = evaluation.read(folder / "squares/tuned.yaml")
    term = next(t for t in tuned.terms if t.name == "squares")
    knight_e4 = tuned.starts["squares"] + term.labels.index("knight, rank 4, file e")
    for phase, name in enumerate(("middlegame", "endgame")):
        picture = next(p for p in found["runs"]["squares"] if p["title"] == f"knight, {name}")
        worth = tuned.weights[knight_e4, phase] + tuned.weights[1, phase]
        assert picture["values"][chess.E4] + picture["mean"] == worth
        pawn = next(p for p in found["runs"]["squares"] if p["title"] == f"pawn, {name}")
        assert [i for i, v in enumerate(pawn["values"]) if v is None] == [
            *range(8),
            *range(56, 64),
        ]


def test_what_a_piece_is_worth_counts_both_views(tmp_path: Path) -> None:
    """A block may have features of enemy pieces: against whoever sees them."""
    path = tmp_path / "both.yaml"
    path.write_text("terms: {both: {features: ALL, by: [ROLES, COLORS, RANKS], mg: 0, eg: 0}}\n")
    read = evaluation.read(path)
    weights = np.zeros(read.weights.shape)
    for label, worth in (("rank 3, knight, own", 30), ("rank 6, knight, enemy", -7)):
        weights[read.labels.index(f"both[{label}]")] = worth
    found = grids.piece_squares(read.with_weights(weights))
    expected = np.zeros((8, 8), np.int64)
    expected[2] = 37
    assert (found[0, 1].reshape(8, 8) == expected).all()
    assert not np.delete(found, 1, axis=1).any()


# Residuals


def test_residuals_are_those_of_the_plain_sums(folder: Path) -> None:
    content = json.loads((folder / "squares/residuals.json").read_text())
    tuned = evaluation.read(folder / "squares/tuned.yaml")
    traced = trace.open(folder / "traces/squares/validation.trace", tuned)
    k, n = content["k"], content["positions"]
    assert k == tuned.provenance["k"]
    assert content["error"] == pytest.approx(naive.squared_error(traced, k, tuned.weights), 1e-5)
    expected = [naive.expected(traced, k, tuned.weights, i) for i in range(n)]
    records = np.array(data.open(folder / "validation.npy").records)
    by_phase: dict[int, list[float]] = {}
    by_material: dict[int, list[float]] = {}
    for i, record in enumerate(records):
        board = chess.Board(to_fen(record))
        residual = float(traced.results[i]) - expected[i]
        more = sum(
            value // 100 * (len(board.pieces(role, True)) - len(board.pieces(role, False)))
            for role, value in VALUES.items()
        )
        by_phase.setdefault(int(traced.phase[i]), []).append(residual)
        by_material.setdefault(min(max(more, -9), 9), []).append(residual)
    for found, groups in ((by_phase, content["phase"]), (by_material, content["material"])):
        assert [group["value"] for group in groups] == sorted(found)
        for group in groups:
            own = found[group["value"]]
            assert group["positions"] == len(own)
            assert group["residual"] == pytest.approx(np.mean(own), abs=1e-5)
            assert group["error"] == pytest.approx(np.mean(np.square(own)), abs=1e-5)
    ks, errors = zip(*content["k_curve"], strict=True)
    assert min(errors) == errors[len(errors) // 2]
    assert ks[len(ks) // 2] == pytest.approx(content["best_k"])
    worst = content["outliers"][0]
    largest = max(abs(float(traced.results[i]) - expected[i]) for i in range(n))
    assert abs(worst["result"] - worst["expected"]) == pytest.approx(largest, abs=1e-5)


def test_positions_of_a_game_are_taken_together() -> None:
    rng = np.random.default_rng(2)
    of_game = np.repeat(rng.normal(0, 1, 400), 10)
    games = np.repeat(np.arange(400), 10)
    (group,) = texel_residuals.groups(np.zeros(4000, np.int64), of_game, games)
    assert group["half_width"] == pytest.approx(1.96 / np.sqrt(400), rel=0.15)
    (alone,) = texel_residuals.groups(np.zeros(4000, np.int64), of_game, np.arange(4000))
    assert alone["half_width"] < group["half_width"] / 3


# Errors of whatever plays


def test_errors_are_those_of_the_static_evaluation_in_whole_centipawns(folder: Path) -> None:
    found = {row["name"]: row for row in rows(folder / "errors.csv")}
    assert list(found) == ["untuned", *report_results.RUNS, "net"]
    records = np.array(data.open(folder / "validation.npy").records)
    black = (records["flags"] & 1).astype(bool)
    results = (np.where(black, -records["result"], records["result"]) + 1) / 2
    for name, evaluator in (
        ("squares", HceEvaluator(folder / "squares/tuned.yaml")),
        ("net", NetEvaluator(None)),
    ):
        positions = [notation.from_fen(to_fen(record)) for record in records]
        scores = np.array(list(values(evaluator.bind(), positions)))
        scores[black] *= -1
        k, told = float(found[name]["k"]), float(found[name]["error"])
        errors = [float(np.square(results - sigmoid(scores, x)).mean()) for x in (k, k * 1.02)]
        assert told == pytest.approx(errors[0], abs=1e-6)
        assert errors[0] <= errors[1]
        difference = told - float(found["untuned"]["error"])
        assert float(found[name]["difference"]) == pytest.approx(difference, abs=2e-7)
    assert float(found["untuned"]["half_width"]) == 0


def test_the_best_run_is_told_from_the_first_with_an_error(folder: Path, tmp_path: Path) -> None:
    first, *others = rows(folder / "errors.csv")
    for row in others:
        (said,) = texel.in_errors(folder / "errors.csv", row["name"])
        way = "less" if float(row["error"]) < float(first["error"]) else "more"
        less, half = (f"{abs(float(row[name])):.4f}" for name in ("difference", "half_width"))
        assert f"{row['name']} errs {less} \u00b1{half} {way} than untuned" in said
    assert texel.in_errors(folder / "errors.csv", "untuned") == []


def test_the_command_errors_takes_players_that_are_no_engines(folder: Path, tmp_path: Path) -> None:
    words = ["untuned={hce: default}", f"squares={folder / 'squares/tuned.yaml'}"]
    call("texel", "errors", folder / "validation.npy", *words, "--csv", tmp_path / "e.csv")
    assert rows(tmp_path / "e.csv") == [
        row for row in rows(folder / "errors.csv") if row["name"] in ("untuned", "squares")
    ]
    told = call("texel", "errors", folder / "validation.npy", "a=sh", status=1)
    assert "player a is an engine; give nets and evaluations" in told


def test_elo_stands_against_error_of_those_that_have_both(folder: Path) -> None:
    errors, rated = rows(folder / "errors.csv"), rows(folder / "match_table.csv")
    drawn = texel_plots.error_and_elo(errors, rated[1:])
    assert drawn is not None
    shown = {value["set"]: value for value in drawn.spec["layer"][0]["data"]["values"]}
    assert shown.keys() == {row["name"] for row in rated[1:]}
    for row in rated[1:]:
        assert shown[row["name"]]["elo"] == float(row["elo"])
    assert texel_plots.error_and_elo(errors, rated[:1]) is None


# Figures and commands


@pytest.mark.parametrize("suffix", charts.FORMATS)
def test_histories_are_drawn(folder: Path, tmp_path: Path, suffix: str) -> None:
    error, entropy, bits = (tmp_path / f"{name}{suffix}" for name in ("error", "entropy", "bits"))
    history = folder / "pbil/history.csv"
    call("texel", "plot", history, "--error", error, "--entropy", entropy, "--bits", bits)
    runs = [f"{name}={folder / name / 'history.csv'}" for name in report_results.RUNS]
    call("texel", "plot", *runs, "--error", tmp_path / f"log{suffix}", "--scale", "log")
    start = {".svg": b"<svg", ".png": b"\x89PNG", ".html": b"<!DOCTYPE html>"}[suffix]
    for path in (error, entropy, bits, tmp_path / f"log{suffix}"):
        assert path.read_bytes().startswith(start)
        assert path.with_name(path.name + ".json").is_file()


def test_the_reference_is_a_line_and_bits_are_counted(folder: Path) -> None:
    runs = {run.name: run.history for run in texel.runs(folder)}
    spec = texel_plots.error(runs).spec
    lines, rule, names = spec["layer"]
    assert {value["run"] for value in names["data"]["values"]} == set(runs)
    drawn = [value["error"] for value in rule["data"]["values"]]
    assert drawn == sorted({rows[0]["reference"] for rows in runs.values()})
    last = {v["run"]: v["error"] for v in lines["data"]["values"] if v["of"] == "held out"}
    assert last == {name: rows[-1]["validation"] for name, rows in runs.items()}
    counts = texel.read_bits(folder / "pbil/history.csv")
    assert (len(counts), sum(counts)) == (51, 1472)
    told = rows(folder / "pbil/history.csv")[-1]
    assert sum(counts[:5]) / 1472 == pytest.approx(float(told["bits_at_0"]))
    above = texel_plots.error(runs, "log").spec["layer"][0]["data"]["values"]
    assert min(value["error"] for value in above) > 0


def test_a_long_history_is_thinned_and_keeps_its_ends() -> None:
    history = [
        {"generation": float(i), "best_so_far": 1 / i, "reference": 1} for i in range(1, 5000)
    ]
    values = texel_plots.error({"a": history}).spec["layer"][0]["data"]["values"]
    assert len(values) <= texel_plots.MOST_POINTS + 1
    assert (values[0]["generation"], values[-1]["generation"]) == (1, 4999)


def test_what_cannot_be_drawn_is_one_line(folder: Path, tmp_path: Path) -> None:
    told = call(
        *("texel", "plot", folder / "material/history.csv", "--bits", tmp_path / "b.svg"), status=1
    )
    assert "has no bits: only the optimizers pbil and ga do" in told
    call("texel", "plot", folder / "material/history.csv", status=2)
    told = call(
        *("texel", "residuals", folder / "traces/squares/validation.trace"),
        *("--positions", folder / "train.npy", "--output", tmp_path / "r.json"),
        *("--evaluation", folder / "squares/tuned.yaml"),
        status=1,
    )
    assert "train.npy has other positions than" in told
    assert not list(tmp_path.iterdir())


def test_the_command_residuals_writes_what_the_page_reads(folder: Path, tmp_path: Path) -> None:
    output, k, plot = tmp_path / "r.json", tmp_path / "k.svg", tmp_path / "r.svg"
    call(
        *("texel", "residuals", folder / "traces/squares/validation.trace"),
        *("--positions", folder / "validation.npy", "--evaluation", folder / "squares/tuned.yaml"),
        *("--output", output, "--k-plot", k, "--plot", plot),
    )
    assert json.loads(output.read_text()) == json.loads(
        (folder / "squares/residuals.json").read_text()
    )
    assert k.read_text().startswith("<svg")
    assert plot.read_text().startswith("<svg")


def test_the_command_match_table_writes_both_forms(folder: Path, tmp_path: Path) -> None:
    text, table = tmp_path / "match.txt", tmp_path / "match.csv"
    command = ("texel", "match-table", folder / "games.pgn")
    told = call(*command, "--output", text, "--csv", table, "--anchor", "untuned")
    assert text.read_text() in told
    assert table.read_text() == (folder / "match_table.csv").read_text()
    lines = text.read_text().splitlines()
    assert lines[0].startswith("Rank Name")
    assert [line.split()[1] for line in lines[1:]] == [row["name"] for row in rows(table)]
    call(*command, "--anchor", "untuned", status=2)
    assert 'no player "nobody"' in call(*command, "--csv", table, "--anchor", "nobody", status=1)


def test_the_command_export_writes_a_file_or_the_terminal(folder: Path, tmp_path: Path) -> None:
    tuned, output = folder / "squares/tuned.yaml", tmp_path / "terms.rs"
    call("texel", "export", tuned, "--language", "rust", "--output", output, "--order", "a8")
    assert "pub static SQUARES: [[S; 64]; 6]" in output.read_text()
    assert json.loads((tmp_path / "terms.rs.json").read_text())["parameters"]["order"] == "a8"
    assert "static const Score MATERIAL[5]" in call("texel", "export", tuned)


# inspect


def test_inspect_knows_the_files_of_tuning(folder: Path) -> None:
    tuned = summaries.inspect(folder / "squares/tuned.yaml")
    assert (tuned.kind, tuned.facts["weights"]) == ("evaluation", 746)
    assert tuned.provenance is not None
    assert tuned.provenance["optimizer"] == "gauss-newton"
    (terms,) = tuned.tables.values()
    assert [row["term"] for row in terms] == ["material", "squares"]
    traced = summaries.inspect(folder / "traces/squares/train.trace")
    assert (traced.kind, traced.facts["games"]) == ("trace", 60)
    assert sum(row["positions"] for row in traced.tables["results"]) == traced.facts["positions"]
    history = summaries.inspect(folder / "pbil/history.csv")
    assert (history.kind, history.facts["generations"]) == ("tuning", 5)
    assert "convergence_abs" in history.tables["generations"][0]
    plain = summaries.inspect(folder / "material/history.csv")
    assert "convergence_abs" not in plain.tables["generations"][0]
    found = summaries.inspect(folder / "material/terms.csv")
    (moved,) = found.tables.values()
    assert found.facts["weights"] == 10
    assert all(row["start"] != row["tuned"] for row in moved)
    residuals = summaries.inspect(folder / "pbil/residuals.json")
    assert residuals.kind == "residuals"
    assert len(residuals.tables["outliers"]) == 12


def test_names_in_brackets_are_shown_whole(folder: Path) -> None:
    assert "material[pawn]" in call("inspect", folder / "material/terms.csv")


def test_inspect_tells_what_is_wrong_with_an_evaluation(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("terms: {a: {features: OWNN}}\n")
    with pytest.raises(UserError, match=r"broken.yaml: term a: .*OWNN"):
        summaries.inspect(broken)
    cut = tmp_path / "cut.trace"
    cut.write_bytes((folder / "traces/squares/train.trace").read_bytes()[:5000])
    with pytest.raises(UserError, match=r"cut.trace is damaged or cut off"):
        summaries.inspect(cut)
