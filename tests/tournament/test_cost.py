"""What a node costs: the measurement, its file, and games that depend on nothing else of it."""

from __future__ import annotations

import csv
import json
import os
import random
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np
import pytest
from scipy.stats import quantile_test
from typer.testing import CliRunner, Result

from nnuelab import data, intervals
from nnuelab.build import SIMD
from nnuelab.cli import cost as _cost  # noqa: F401 (registers it)
from nnuelab.cli import tournament as _tournament  # noqa: F401
from nnuelab.cli.app import app
from nnuelab.data.journal import Journal
from nnuelab.data.records import RECORD, from_fen
from nnuelab.errors import UserError
from nnuelab.nnue.netfile import read_net, write_net
from nnuelab.settings.games import Pricing
from nnuelab.tournament import cost
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.players import Defaults, read_players
from tests.nnue_nets import random_net

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "resources/embedded/openings.epd.gz"
TRUE = {"ALL": 1.0, "H+V": 0.8, "ALL+MB": 1.85}


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def positions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of positions of random games."""
    rng, records = random.Random(3), np.zeros(40, RECORD)
    for i in range(len(records)):
        board = chess.Board()
        for _ in range(12 + i % 5):
            board.push(rng.choice(list(board.legal_moves)))
        records[i] = from_fen(board.fen())
    path = tmp_path_factory.mktemp("positions") / "validation.npy"
    with data.dataset.writing(path) as writer:
        writer.append(records)
    return path


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("nets")
    paths = {name: folder / f"{name}.nnue" for name in TRUE}
    for name, path in paths.items():
        write_net(path, random_net(name, l1=16))
    return paths


def machine_of(
    monkeypatch: pytest.MonkeyPatch, noise: Callable[[np.random.Generator], float]
) -> list[str]:
    """A machine where a node takes what `TRUE` says times noise; returns who searched, in order."""
    rng, searched = np.random.default_rng(5), []

    def seconds(_engine: object, evaluator: object, searched_: np.ndarray) -> float:
        name = evaluator.net.feature_set  # type: ignore[attr-defined]
        searched.append(name)
        assert len(searched_) == cost.POSITIONS
        return 1e-6 * TRUE[name] * noise(rng)

    monkeypatch.setattr(cost, "_seconds_per_node", seconds)
    return searched


def test_costs_are_found_through_noise_and_interruptions(
    monkeypatch: pytest.MonkeyPatch, nets: dict[str, Path], positions: Path, tmp_path: Path
) -> None:
    """A tenth of the times is threefold, as when the machine does other work."""

    def noise(rng: np.random.Generator) -> float:
        return float(rng.lognormal(0, 0.02) * (3 if rng.random() < 0.1 else 1))

    machine_of(monkeypatch, noise)
    found = cost.measure(nets, positions, "ALL", Pricing(rounds=400), tmp_path / "cost.csv")
    for each in found:
        assert each.cost == pytest.approx(TRUE[each.name], rel=2 * 0.01)
        assert each.error <= 0.01
    assert found[0].cost == 1
    assert found[0].error == 0


def test_it_ends_as_soon_as_all_are_precise_and_nobody_always_comes_first(
    monkeypatch: pytest.MonkeyPatch, nets: dict[str, Path], positions: Path, tmp_path: Path
) -> None:
    searched = machine_of(monkeypatch, lambda _: 1.0)
    found = cost.measure(nets, positions, "H+V", Pricing(), tmp_path / "cost.csv")
    assert [each.rounds for each in found] == [cost.LEAST] * 3
    assert {e.name: e.cost for e in found} == {n: pytest.approx(c / 0.8) for n, c in TRUE.items()}
    assert [e.nodes_per_second for e in found] == pytest.approx([1e6 / c for c in TRUE.values()])
    assert set(searched[::3]) == set(TRUE)
    assert all(set(searched[i : i + 3]) == set(TRUE) for i in range(0, len(searched), 3))


def test_what_is_not_precise_enough_is_told_and_kept(
    monkeypatch: pytest.MonkeyPatch, nets: dict[str, Path], positions: Path, tmp_path: Path
) -> None:
    machine_of(monkeypatch, lambda rng: float(rng.lognormal(0, 0.3)))
    output = tmp_path / "cost.csv"
    named = [f"{name}#1={path}" for name, path in nets.items()]
    done = call("cost", *named, "--positions", positions, "--output", output, "--rounds", 30)
    assert done.exit_code == 0
    assert re.search(r"costs are known to \d+\.\d%, not to 1\.0%, after 30 rounds", done.stderr)
    with open(output, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == list(TRUE)
    assert cost.read(output) == {row["name"]: float(row["cost"]) for row in rows}
    told = json.loads(output.with_name("cost.csv.json").read_text())
    assert told["parameters"]["machine"]["simd"] == SIMD
    assert told["parameters"]["machine"]["cpu"]
    assert set(told["parameters"]["layers"]) == {name.partition("=")[0] for name in named}
    assert told["inputs"].keys() == {"positions", *told["parameters"]["layers"]}


@pytest.mark.parametrize("killed_after", [1, 4, 59, 60])
def test_a_measurement_that_is_killed_goes_on(
    monkeypatch: pytest.MonkeyPatch,
    nets: dict[str, Path],
    positions: Path,
    tmp_path: Path,
    killed_after: int,
) -> None:
    """Of 20 rounds with three nets; the round that was cut off is searched anew."""
    output, searched = tmp_path / "cost.csv", machine_of(monkeypatch, lambda _: 1.0)
    whole = cost.measure(nets, positions, "ALL", Pricing(), output)
    names, seconds = searched.copy(), cost._seconds_per_node
    searched.clear()

    def killed(*arguments: Any) -> float:
        if len(searched) == killed_after:
            raise KeyboardInterrupt
        return seconds(*arguments)

    monkeypatch.setattr(cost, "_seconds_per_node", killed)
    with suppress(KeyboardInterrupt):
        cost.measure(nets, positions, "ALL", Pricing(), output)
    monkeypatch.setattr(cost, "_seconds_per_node", seconds)
    searched.clear()
    assert cost.measure(nets, positions, "ALL", Pricing(), output) == whole
    assert searched == names[killed_after // 3 * 3 % 60 :]
    assert list(tmp_path.iterdir()) == [output]


def test_what_was_measured_of_other_nets_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
    nets: dict[str, Path],
    positions: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output, searched = tmp_path / "cost.csv", machine_of(monkeypatch, lambda _: 1.0)
    monkeypatch.setattr(Journal, "remove", lambda _: None)
    cost.measure(nets, positions, "ALL", Pricing(), output)
    searched.clear()
    other = {**nets, "H+V": read_net(nets["H+V"])}
    cost.measure(other, positions, "ALL", Pricing(), output)
    assert len(searched) == 60
    assert "run with other settings (nets); it is kept as" in capsys.readouterr().err


def test_a_set_with_many_changes_costs_more(
    nets: dict[str, Path], positions: Path, tmp_path: Path
) -> None:
    """By the searches of the engine themselves; mobility changes ten times the rows of ALL."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    found = {
        c.name: c
        for c in cost.measure(nets, positions, "ALL", Pricing(rounds=7), tmp_path / "cost.csv")
    }
    assert found["ALL+MB"].cost > 1
    assert before is None or os.sched_getaffinity(0) == before


@pytest.mark.parametrize("count", [6, 7, 20, 41, 150])
def test_the_interval_of_a_median_is_that_of_scipy(count: int) -> None:
    values = np.random.default_rng(count).standard_cauchy(count)
    middle, low, high = intervals.median(values)
    assert middle == np.median(values)
    oracle = quantile_test(values, q=0, p=0.5).confidence_interval(0.95)
    assert (low, high) == (oracle.low, oracle.high)


def test_five_values_leave_a_median_open() -> None:
    assert intervals.median(np.arange(5.0)) == (2, -np.inf, np.inf)


@pytest.mark.parametrize(
    ("names", "anchor", "said"),
    [
        (["ALL", "H+V"], "KA", r"the anchor KA is none of the nets: ALL, H\+V"),
        (["ALL#1", "ALL#2"], "ALL", "two nets of one feature set"),
    ],
)
def test_nets_that_cannot_be_compared_are_told(
    nets: dict[str, Path],
    positions: Path,
    tmp_path: Path,
    names: list[str],
    anchor: str,
    said: str,
) -> None:
    given = {name: nets[name.partition("#")[0]] for name in names}
    with pytest.raises(UserError, match=said):
        cost.measure(given, positions, anchor, Pricing(rounds=1), tmp_path / "cost.csv")


# The file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "can't read the costs in FILE: No such file"),
        ("", "holds no costs"),
        ("name,elo\nALL,1\n", "it needs the columns name and cost"),
        ("name,cost\nALL,1\nH+V,fast\n", "FILE, line 3: 'H[+]V' with the cost 'fast'"),
        ("name,cost\nALL,1\nH+V,0\n", "FILE, line 3"),
        ("name,cost\nALL,inf\n", "FILE, line 2"),
        ("name,cost\nALL\n", "FILE, line 2"),
        ("name,cost\nALL,1\nALL,2\n", "a name that no other line has"),
    ],
)
def test_a_bad_file_is_told_in_one_line(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "cost.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=said.replace("FILE", re.escape(str(path)))) as error:
        cost.read(path)
    assert "\n" not in str(error.value)


def test_nodes_are_divided_by_the_cost() -> None:
    defaults = Defaults({"nodes": 400, "margin": None}, costs=TRUE)
    words = ["ALL#1=default", "H+V#2=default", "ALL+MB#1={net: default}"]
    found = read_players(None, [*words, "H+V={net: default, nodes: 9}"], defaults)
    assert [player.limit.nodes for player in found.values()] == [400, 500, 216, 9]
    assert Limit(nodes=1).divided_by(5).nodes == 1
    with pytest.raises(UserError, match="player KA: what a node of KA costs was not measured"):
        read_players(None, ["KA=default"], defaults)


# Games -------------------------------------------------------------------------------------------


def test_games_depend_on_the_costs_alone(nets: dict[str, Path], tmp_path: Path) -> None:
    """Whatever else is in the file, and however many workers there are; headers tell the nodes."""
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    costs = {"ALL": "1.0000", "ALL+MB": "1.8500"}
    first.write_text("name,cost\n" + "".join(f"{n},{c}\n" for n, c in costs.items()))
    second.write_text(
        "name,cost,error,nodes_per_second,rounds\nH+V,2.0,,1,1\n"
        + "".join(f"{n},{c},0.009,123456,30\n" for n, c in costs.items())
    )
    named = [f"{name}#{seed}={nets[name]}" for name in costs for seed in (1, 2)]
    limits = ["--nodes", 40, "--games-per-pairing", 2, "--max-plies", 40]
    for workers, file in enumerate((first, second), 1):
        output = tmp_path / f"{workers}.pgn"
        done = call("tournament", *named, "--book", BOOK, "--output", output, *limits,
                    "--cost", file, "--workers", workers)  # fmt: skip
        assert done.exit_code == 0, done.output
    assert (tmp_path / "1.pgn").read_bytes() == (tmp_path / "2.pgn").read_bytes()
    told = json.loads((tmp_path / "1.pgn.json").read_text())
    assert told["inputs"]["costs"]["path"] == str(first)

    afford = {"ALL": 40, "ALL+MB": 22}
    pgn = (tmp_path / "1.pgn").open()
    games = list(iter(lambda: chess.pgn.read_game(pgn), None))
    assert len(games) == 2 * 6
    for game in games:
        tags, nodes = game.headers, {}
        for side in ("White", "Black"):
            nodes[side] = afford[tags[side].partition("#")[0]]
            same = tags.get("TimeControl") or tags[f"{side}TimeControl"]
            assert same == f"{nodes[side]} nodes"
        for node in game.mainline():
            searched = re.search(r"n=(\d+)", node.comment)
            assert searched is not None
            assert int(searched[1]) <= nodes["White" if node.ply() % 2 else "Black"]


def test_equal_limits_at_fixed_nodes_are_not_told(nets: dict[str, Path], tmp_path: Path) -> None:
    """The games at fixed nodes stay what they were."""
    output = tmp_path / "games.pgn"
    call("tournament", *(f"{n}#1={p}" for n, p in nets.items()), "--book", BOOK, "--output", output,
         "--nodes", 20, "--games-per-pairing", 2, "--max-plies", 20)  # fmt: skip
    assert "TimeControl" not in output.read_text()


@pytest.mark.parametrize("limit", [("--movetime", 5), ("--depth", 2)])
def test_costs_divide_nodes_alone(tmp_path: Path, limit: tuple[str, int]) -> None:
    done = call("tournament", "a=default", "b=default", "--book", BOOK, *limit,
                "--cost", tmp_path / "c.csv", "--output", tmp_path / "g.pgn")  # fmt: skip
    assert done.exit_code == 2
    assert "--cost divides --nodes" in done.output
