"""Beside the ratings: draws and superiority as Ordo has them, meetings by pairs, the command."""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from nnuelab import artifacts
from nnuelab.cli import report as _commands  # noqa: F401 (registers them)
from nnuelab.cli import tournament as _more  # noqa: F401
from nnuelab.cli.app import app
from nnuelab.tournament import details, model
from nnuelab.tournament.headers import Results, read_results
from tests.simulated import simulate


@pytest.fixture(scope="module")
def ordo_games(shared: Path) -> tuple[Results, model.Fit]:
    results = read_results([shared / "data/ratings/A_rr7_10k.pgn.zst"])
    return results, model.fit(results)


def test_draw_rate_of_equals_is_that_of_ordo(ordo_games: tuple[Results, model.Fit]) -> None:
    rate, error = details.equal_draw_rate(*ordo_games)
    assert rate == pytest.approx(0.3966, abs=5e-5)
    assert error == pytest.approx(1.96 * 0.0053, rel=0.1)


def test_superiority_is_that_of_ordo(shared: Path, ordo_games: tuple[Results, model.Fit]) -> None:
    """Ordo simulates how often each player comes before the next one; in whole percents."""
    with open(shared / "data/ratings/A_rr7_10k.sim.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    fitted = ordo_games[1]
    surely = details.superiority(fitted)
    for above, below in itertools.pairwise(rows):
        i, j = (fitted.players.index(row["PLAYER"]) for row in (above, below))
        assert 100 * surely[i, j] == pytest.approx(float(above["CFS(%)"]), abs=1)
    np.testing.assert_allclose(surely + surely.T, 1, atol=1e-12)


@given(st.floats(0.01, 0.99), st.floats(0.02, 0.98))
def test_draws_follow_davidson(expected: float, equal: float) -> None:
    def ratio(score: float, draws: float) -> float:
        return (score - draws / 2) * (1 - score - draws / 2) / draws**2

    draws = float(details.draw_rate(np.array([expected]), equal)[0])
    assert 0 < draws <= 2 * min(expected, 1 - expected)
    assert ratio(expected, draws) == pytest.approx(ratio(0.5, equal), rel=1e-6)


def test_draw_rate_is_found_again() -> None:
    rng = np.random.default_rng(4)
    elo = np.array([80.0, 0.0, -80.0])
    shares = []
    for _ in range(40):
        results = simulate(rng, elo, 60, davidson=0.3)
        rate, error = details.equal_draw_rate(results, model.fit(results))
        shares.append(abs(rate - 0.3) < error)
    assert np.mean(shares) > 0.85


def test_meetings_count_every_game_once() -> None:
    rng = np.random.default_rng(9)
    results = simulate(rng, np.array([50.0, 0.0, -50.0]), 20)
    meetings = list(details.head_to_head(results))
    assert [(m.player, m.opponent) for m in meetings] == [("p0", "p1"), ("p0", "p2"), ("p1", "p2")]
    for meeting in meetings:
        i, j = (results.players.index(name) for name in (meeting.player, meeting.opponent))
        pairs: Counter[int] = Counter()
        games: Counter[float] = Counter()
        for white, black, points, cluster in zip(
            results.white, results.black, results.points, results.cluster, strict=True
        ):
            if {white, black} == {i, j}:
                own = points if white == i else 1 - points
                pairs[cluster] += int(2 * own)
                games[own] += 1
        assert (meeting.losses, meeting.draws, meeting.wins) == (games[0], games[0.5], games[1])
        assert meeting.tally.counts == [list(pairs.values()).count(k) for k in range(5)]


def test_games_that_do_not_pair_are_counted_one_by_one() -> None:
    rng = np.random.default_rng(9)
    results = simulate(rng, np.array([10.0, -10.0]), 20)
    alone = Results(
        results.players,
        results.white,
        results.black,
        results.points,
        np.arange(len(results), dtype=np.int32),
    )
    (meeting,) = details.head_to_head(alone)
    assert meeting.tally.counts == [meeting.losses, meeting.draws, meeting.wins]


def test_a_game_without_a_partner_leaves_the_pairs_as_they_are() -> None:
    results = simulate(np.random.default_rng(9), np.array([10.0, -10.0]), 20)
    (whole,) = details.head_to_head(results)
    more = replace(
        results,
        **{name: np.append(getattr(results, name), 0) for name in ("white", "points")},
        black=np.append(results.black, 1),
        cluster=np.append(results.cluster, 1000),
    )
    (meeting,) = details.head_to_head(more)
    assert meeting.losses == whole.losses + 1
    assert meeting.tally == whole.tally


def write_sets(path: Path) -> Path:
    """A round robin of two sets with two nets each, by opening pairs."""
    rng = np.random.default_rng(2)
    results = simulate(rng, np.array([30.0, 10.0, -10.0, -40.0]), 20)
    names = ["ALL#1", "ALL#2", "H+V#1", "H+V#2"]
    text = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}
    path.write_text(
        "".join(
            f'[White "{names[w]}"]\n[Black "{names[b]}"]\n[Round "{c + 1}.{1 + (w > b)}"]\n'
            f'[Result "{text[p]}"]\n\n{text[p]}\n\n'
            for w, b, p, c in zip(
                results.white, results.black, results.points, results.cluster, strict=True
            )
        )
    )
    return path


def test_the_command_writes_what_inspect_shows(tmp_path: Path) -> None:
    games, out = write_sets(tmp_path / "g.pgn"), tmp_path / "details.json"
    net = tmp_path / "net.nnue"
    net.write_text("weights")
    artifacts.provenance(games, inputs={"book": games, "net ALL#2": net})
    command = [sys.executable, "-m", "nnuelab.cli", "rate", str(games)]
    done = subprocess.run(
        [*command, "--details", str(out), "--sets", "ALL"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert [row["name"] for row in found["players"]] == [
        row["name"] for row in csv.DictReader(done.stdout.splitlines())
    ]
    assert len(found["head_to_head"]) == 6
    assert {sum(meeting["counts"]) for meeting in found["head_to_head"]} == {20}
    hashed = {"player": "ALL#2", "file": "net", "sha256": artifacts.sha256(net)}
    assert found["files"] == [hashed]
    sets = {row["feature_set"]: row for row in found["feature_sets"]}
    assert sets["ALL"]["elo"] == 0
    # A table's Elo and its error of the games follow from the nets and their covariance.
    contrast = np.array([row["name"].startswith("H+V") for row in found["players"]]) - 0.5
    elo = np.array([row["elo"] for row in found["players"]])
    assert sets["H+V"]["elo"] == pytest.approx(contrast @ elo)
    error = 1.96 * np.sqrt(contrast @ np.array(found["covariance"]) @ contrast)
    assert sets["H+V"]["elo_error_games"] == pytest.approx(error, rel=1e-4)
    assert sets["H+V"]["elo_error"] >= sets["H+V"]["elo_error_games"] > 0
    assert (tmp_path / "details.json.json").is_file()
    shown = CliRunner().invoke(app, ["inspect", str(out), "--json"], catch_exceptions=False)
    assert json.loads(shown.stdout)["kind"] == "rating details"
    shown = CliRunner().invoke(app, ["inspect", str(out)], catch_exceptions=False)
    assert "draw rate of equals" in shown.stdout.replace("_", " ")
    refused = subprocess.run([*command, "--sets", "ALL"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--details" in refused.stderr
