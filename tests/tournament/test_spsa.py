"""Tuning by game play: on an objective whose optimum is known, and by real games at tiny scale."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nnuelab.engine.constants import CONSTANTS
from nnuelab.errors import UserError
from nnuelab.hce import evaluation
from nnuelab.hce.evaluator import HceEvaluator
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.settings.games import Rules
from nnuelab.settings.spsa import Spsa
from nnuelab.tournament import spsa_games
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.players import Defaults, read_players
from nnuelab.tournament.spsa import Gains, Parameter, Trial, figure, tune
from tests.tournament.bowl import BEST, SCALE, START, Bowl

QUICK = Spsa(iterations=60, ahead=8)

EVALUATION = """
name: two terms
terms:
  material:
    features: OWN
    by: [ROLES]
    mg: [100, 300, 300, 500, 900, 0]
    eg: [100, 300, 300, 500, 900, 0]
  files: {features: OWN, by: [FILES], mirror: true, mg: 5, eg: 7}
"""
BOOK = """\
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -
rnbqkbnr/pppp1ppp/4p3/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -
rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -
"""


def tuned(folder: Path, settings: Spsa, workers: int = 1, killed_at: int = 0) -> list[bytes]:
    """What a run writes, but for the command in the provenance."""
    folder.mkdir(exist_ok=True)
    tune(Bowl(killed_at), settings, folder / "tuned", folder / "h.csv", workers)
    written = (path for path in sorted(folder.iterdir()) if path.suffix != ".old")
    return [path.read_bytes() for path in written]


def test_it_finds_the_optimum_through_noise(tmp_path: Path) -> None:
    settings = Spsa(iterations=4000, rate=0.02, ahead=32)
    values = tune(Bowl(), settings, tmp_path / "tuned", tmp_path / "h.csv", 1)
    before, after = (((row - BEST) / SCALE) ** 2 for row in (values[0], values[-500:].mean(0)))
    assert before.min() > 3
    assert after.max() < 0.2
    found, told = json.loads((tmp_path / "tuned").read_text())
    assert found == np.rint(values[-1]).tolist()
    assert told == {"tuned_by": "nnuelab spsa", "games": 8000, "seed": 1}
    with open(tmp_path / "h.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["iteration", "games", "small", "negative", "large"]
    assert rows[0] == ["0", "0", "0.000", "30.000", "300.000"]
    assert rows[-1] == ["4000", "8000", *(f"{value:.3f}" for value in values[-1])]
    assert len(rows) == 1001


def test_gains_are_those_of_the_formulas() -> None:
    settings = Spsa(iterations=1000, rate=0.002, alpha=0.602, gamma=0.101, stability=0.1)
    gains = Gains(START, settings)
    for i, parameter in enumerate(START):
        c = parameter.step * 1000**0.101
        a = 0.002 * parameter.step**2 * (100 + 1000) ** 0.602
        for k in (1, 17, 1000):
            assert gains.look(k)[i] == pytest.approx(c / k**0.101)
            assert gains.gain(k)[i] == pytest.approx(a / (100 + k) ** 0.602)
    assert gains.look(1000).tolist() == pytest.approx([10, 10, 60])
    assert gains.gain(1000).tolist() == pytest.approx([0.2, 0.2, 7.2])


def test_a_step_goes_towards_the_winner_and_no_farther_than_the_bounds() -> None:
    values = np.array([0.0, 30.0, 1999.9])
    gains = Gains(START, replace(QUICK, rate=1.0))
    for k in range(1, 20):
        trial = gains.trial(k, values)
        sides = np.sign(np.array(trial.plus) - trial.minus)
        sides[2] = 1 if trial.minus[2] < 1999 else -1  # plus or minus stands at the bound
        won, even, lost = (gains.stepped(k, values, points) for points in (4, 2, 0))
        assert even.tolist() == values.tolist()
        free = (won > -100) & (won < 2000) & (lost < 2000)
        assert (np.sign(won - values)[free] == sides[free]).all()
        assert (won - values)[:2].tolist() == pytest.approx((values - lost)[:2].tolist())
        expected = 2 * gains.gain(k) / gains.look(k)
        assert abs(won - values)[:2].tolist() == pytest.approx(expected[:2].tolist())
        assert max(won[2], lost[2]) == 2000


def test_players_numbers_are_whole_and_right_on_average() -> None:
    fine = (replace(START[0], step=0.3), replace(START[1], start=100))
    gains = Gains(fine, replace(QUICK, iterations=4000))
    trials = [gains.trial(k, np.array([0.25, 100.0])) for k in range(1, 4001)]
    both = np.array([(trial.plus, trial.minus) for trial in trials])
    assert both.dtype == np.int64
    assert both[:, :, 0].mean() == pytest.approx(0.25, abs=0.05)
    # The mean distance is 2 c_k, 0.3 * (N / k)^gamma to both sides.
    far = np.abs(both[:, 0, 0] - both[:, 1, 0]).mean()
    assert far == pytest.approx(2 * 0.3 / (1 - 0.101), abs=0.05)
    assert both[:, :, 1].max() == 100


@pytest.mark.parametrize("ahead", [1, 8])
def test_the_number_of_workers_does_not_matter(ahead: int, tmp_path: Path) -> None:
    settings = replace(QUICK, ahead=ahead)
    one = tuned(tmp_path / "1", settings, 1)
    assert len(one) == 4
    assert tuned(tmp_path / "3", settings, 3) == one


def test_a_killed_run_continues_to_the_same_bytes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="killed"):
        tuned(tmp_path / "killed", QUICK, 2, killed_at=40)
    partial = tmp_path / "killed" / "tuned.partial"
    kept = partial.read_text().splitlines()[1:]
    assert 40 - 8 <= len(kept) < 40
    partial.write_bytes(partial.read_bytes()[:-1])  # a power cut in the middle of a line
    assert tuned(tmp_path / "killed", QUICK, 1) == tuned(tmp_path / "whole", QUICK, 2)


def test_a_run_with_other_settings_begins_anew(tmp_path: Path, capfd) -> None:
    with pytest.raises(UserError):
        tuned(tmp_path / "killed", QUICK, killed_at=40)
    other = replace(QUICK, rate=0.5)
    assert tuned(tmp_path / "killed", other) == tuned(tmp_path / "whole", other)
    assert "with other settings (settings)" in capfd.readouterr().err
    (kept,) = (tmp_path / "killed").glob("*.old")
    assert len(kept.read_text().splitlines()) > 1


def test_seeds_give_other_runs(tmp_path: Path) -> None:
    assert tuned(tmp_path / "1", QUICK) != tuned(tmp_path / "2", replace(QUICK, seed=2))


def test_figure_shows_the_way_in_steps() -> None:
    values = np.array([[0.0, 30.0, 300.0], [5.0, 20.0, 360.0]])
    rows = figure(START, values).spec["data"]["values"]
    assert [row["moved"] for row in rows] == [0, 0, 0, 0.5, -1, 1]
    assert [row["games"] for row in rows] == [0, 0, 0, 2, 2, 2]


# What is tuned ------------------------------------------------------------------------------------


@pytest.fixture
def two_terms(tmp_path: Path) -> evaluation.Evaluation:
    (tmp_path / "two.yaml").write_text(EVALUATION)
    (tmp_path / "book.epd").write_text(BOOK)
    return evaluation.read(tmp_path / "two.yaml")


def names(parameters: tuple[Parameter, ...]) -> list[str]:
    return [parameter.name for parameter in parameters]


def test_patterns_choose_by_number_label_and_term(two_terms) -> None:
    weights = spsa_games.weights
    assert names(weights(two_terms, ["material[knight] eg"])) == ["material[knight] eg"]
    assert names(weights(two_terms, ["material[knight]"])) == [
        "material[knight] mg",
        "material[knight] eg",
    ]
    assert len(weights(two_terms, ["material"])) == len(weights(two_terms, ["material[*]"])) == 12
    assert len(weights(two_terms, ["*"])) == 20
    assert len(weights(two_terms, ["files* eg"])) == 4
    assert names(weights(two_terms, ["files", "material[pawn] mg"]))[0] == "material[pawn] mg"


def test_the_last_pattern_that_matches_says_step_and_bounds(two_terms) -> None:
    knight, queen = "material[knight] mg", "material[queen] mg"
    found = {
        parameter.name: parameter
        for parameter in spsa_games.weights(
            two_terms, ["material=7", f"{knight}=2.5,-10,1000", "files"]
        )
    }
    assert found[knight] == Parameter(knight, 300, -10, 1000, 2.5)
    assert found[queen] == Parameter(queen, 900, -20000, 20000, 7.0)
    assert found["files[file a/h] eg"].step == 5
    assert spsa_games.weights(two_terms, [queen])[0].step == 90


def test_constants_have_the_bounds_of_the_search() -> None:
    (delta,) = spsa_games.constants(["delta_margin"])
    constant = CONSTANTS["delta_margin"]
    assert delta == Parameter("delta_margin", constant.default, constant.least, constant.most, 15)
    assert names(spsa_games.constants(["*"])) == list(CONSTANTS)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ([], "nothing to tune; name parameters"),
        (
            ["materiel"],
            "nothing is called materiel; did you mean material.; there are material, files$",
        ),
        (["files=0"], "step 0 must be greater"),
        (["files=nan"], "step nan must be greater"),
        (["files=a"], "files=a: write PATTERN=STEP or"),
        (["files=1,2"], "files=1,2: write PATTERN=STEP or"),
        (["material[pawn] mg=5,0,99"], "is 100, which isn't within 0 to 99; choose bounds"),
    ],
)
def test_choices_that_make_no_sense(texts: list[str], told: str, two_terms) -> None:
    with pytest.raises(UserError, match=told):
        spsa_games.weights(two_terms, texts)


def test_games_know_the_better_weights(two_terms, tmp_path: Path) -> None:
    queen = spsa_games.weights(two_terms, ["material[queen]=5"])
    games = spsa_games.Weights(
        HceEvaluator(two_terms), queen, tmp_path / "book.epd", Limit(nodes=100), 1, 1, Rules()
    )
    play = games.start()
    better = [play(Trial(k, (900, 900), (50, 50))) for k in range(1, 7)]
    worse = [play(Trial(k, (50, 50), (900, 900))) for k in range(1, 7)]
    assert sum(better) > 18
    assert [4 - points for points in worse] == better
    assert play(Trial(1, (900, 900), (900, 900))) == 2


def test_games_know_the_better_constants(two_terms, tmp_path: Path) -> None:
    late = spsa_games.constants(["late_moves", "delta_margin"])
    games = spsa_games.Constants(
        NetEvaluator(), late, tmp_path / "book.epd", Limit(depth=3), 1, 1, Rules(), {}
    )
    play = games.start()
    # At a fixed depth who prunes more sees less.
    better = [play(Trial(k, (4, 150), (1, 150))) for k in (1, 2, 3)]
    assert sum(better) > 9
    assert [4 - play(Trial(k, (1, 150), (4, 150))) for k in (1, 2, 3)] == better
    assert play(Trial(1, (4, 150), (4, 150))) == 2


# The command --------------------------------------------------------------------------------------


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "nnuelab.cli", "spsa", *arguments]
    words += ["--output", "tuned.yaml", "--history", "spsa.csv", "--book", "book.epd"]
    words += ["--iterations", "6", "--nodes", "50", "--hash", "1", "--workers", "1"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_the_command_tunes_weights(two_terms, tmp_path: Path) -> None:
    given = ["--evaluation", "two.yaml", "--tune", "files=10,0,100", "--plot", "spsa.svg"]
    done = command(tmp_path, *given)
    assert done.returncode == 0, done.stderr
    assert "files[file a/h] mg: 5 -> " in done.stderr
    found = evaluation.read(tmp_path / "tuned.yaml")
    changed = found.weights != two_terms.weights
    assert not changed[:6].any()
    assert changed[6:].any()
    told = {"start": "two terms", "tuned_by": "nnuelab spsa", "games": 12, "seed": 1}
    assert found.provenance == told
    record = json.loads((tmp_path / "tuned.yaml.json").read_text())
    assert set(record["inputs"]) == {"book", "evaluation"}
    assert record["parameters"]["parameters"][0]["name"] == "files[file a/h] mg"
    assert (tmp_path / "spsa.svg").read_text().startswith("<svg")
    assert not list(tmp_path.glob("*.partial"))


def test_the_command_tunes_constants(two_terms, tmp_path: Path) -> None:
    done = command(tmp_path, "--constant", "late_*=20", "--rate", "0.5")
    assert done.returncode == 0, done.stderr
    tuned = read_players(tmp_path / "tuned.yaml", [], Defaults({"nodes": 50}))["tuned"]
    found = tuned.settings()["constants"]
    assert list(found) == ["late_depth", "late_moves"]
    assert found != {name: CONSTANTS[name].default for name in found}
    record = tuned.start().engine.record["constants"]
    assert {name: record[name] for name in found} == found


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ("--evaluation two.yaml", 1, "there is nothing to tune"),
        ("--tune bishops --evaluation two.yaml", 1, "nothing is called bishops"),
        ("--constant delta", 1, "nothing is called delta; there are reverse_depth, "),
        ("--tune files --evaluation none.yaml", 1, "there is no evaluation none.yaml"),
        ("--tune files --constant delta_margin", 2, "not both"),
        ("--tune files --net default", 2, "--net is for --constant"),
    ],
)
def test_calls_that_make_no_sense(
    arguments: str, status: int, told: str, two_terms, tmp_path: Path
) -> None:
    done = command(tmp_path, *arguments.split())
    assert done.returncode == status
    assert told in " ".join(done.stderr.replace("│", " ").split())
    assert not (tmp_path / "tuned.yaml").exists()
