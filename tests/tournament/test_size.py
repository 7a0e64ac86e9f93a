"""The first layer that costs what the anchor's does: by measured costs, its file, its net."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from nnuelab.cli import size as _size  # noqa: F401 (registers it)
from nnuelab.cli.app import app
from nnuelab.errors import UserError
from nnuelab.nnue.netfile import write_net
from nnuelab.nnue.simd import LANES
from nnuelab.settings import found
from nnuelab.settings.games import Pricing
from nnuelab.tournament import cost, size
from tests.nnue_data import write_datasets
from tests.nnue_nets import random_net


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_datasets(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def positions(datasets: tuple[Path, Path]) -> Path:
    return datasets[1]


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The anchor, and nets of a set that differ in l1 alone."""
    folder = tmp_path_factory.mktemp("nets")
    made = {"anchor": random_net("ALL", l1=256)}
    made |= {f"{l1}": random_net("ALL+MB", l1=l1) for l1 in (64, 128, 256, 512)}
    paths = {name: folder / f"{name}.nnue" for name in made}
    for name, net in made.items():
        write_net(paths[name], net)
    return paths


# By costs ----------------------------------------------------------------------------------------


@given(
    smallest=st.integers(1, 16),
    steps=st.lists(st.integers(1, 16), min_size=1, max_size=5),
    base=st.floats(0.05, 0.9),
    slope=st.floats(0.01, 0.3),
    random=st.randoms(),
)
def test_a_line_is_followed_to_the_nearest_multiple(
    smallest: int, steps: list[int], base: float, slope: float, random: np.random.Generator
) -> None:
    """Where a node costs base + slope for each LANES neurons, in whatever order nets are given."""
    lanes = list(np.cumsum([smallest, *steps]))
    assume(base + slope * lanes[0] <= size.DEAREST)
    exact = min(max((1 - base) / slope, lanes[0]), lanes[-1])
    random.shuffle(lanes)
    found = size.fitted([n * LANES for n in lanes], [base + slope * n for n in lanes])
    assert found.exact == pytest.approx(exact * LANES)
    assert found.l1 % LANES == 0
    assert abs(found.l1 - found.exact) <= LANES / 2 + 1e-6
    assert found.cost == pytest.approx(base + slope * found.l1 / LANES)


@given(st.lists(st.floats(0.3, size.DEAREST), min_size=2, max_size=5))
def test_noise_never_leads_out_of_what_was_measured(costs: list[float]) -> None:
    sizes = [LANES * 2**i for i in range(len(costs))]
    found = size.fitted(sizes, costs)
    assert sizes[0] <= found.l1 <= sizes[-1]
    assert min(costs) <= found.cost <= max(costs)


def test_sizes_count_as_what_the_engine_pads_them_to() -> None:
    assert size.fitted([80, 160, 320], [0.7, 0.9, 1.3]) == size.fitted(
        [128, 192, 320], [0.7, 0.9, 1.3]
    )


def test_a_set_that_costs_too_much_at_any_size_is_told() -> None:
    with pytest.raises(UserError, match=r"^even with 64 neurons a node costs 1\.20 times .*$"):
        size.fitted([128, 64], [1.5, 1.2])


# By nets -----------------------------------------------------------------------------------------


def priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine where a node of ALL takes 1, and one of ALL+MB .5 and .35 for each 100 neurons."""

    def seconds(_engine: object, evaluator: object, _searched: np.ndarray) -> float:
        net = evaluator.net  # type: ignore[attr-defined]
        return 1.0 if net.feature_set == "ALL" else 0.5 + 0.35 * net.l1 / 100

    monkeypatch.setattr(cost, "_seconds_per_node", seconds)


def test_the_command_tells_the_size_and_keeps_what_it_measured(
    monkeypatch: pytest.MonkeyPatch, nets: dict[str, Path], positions: Path, tmp_path: Path
) -> None:
    priced(monkeypatch)
    output, costs = tmp_path / "size.json", tmp_path / "size.csv"
    done = call("size", *nets.values(), "--positions", positions, "--output", output,
                "--costs", costs)  # fmt: skip
    assert done.exit_code == 0, done.output
    told = "128 neurons of ALL+MB, whose node costs 0.95 times that of ALL with 256; 143 would cost"
    assert f"{told} the same (costs are known to 0.0%)" in done.stderr
    assert json.loads(output.read_text()) == {"l1": 128}
    assert found.read(output) == ("l1", 128)
    assert cost.read(costs) == {
        "anchor": 1.0,
        **{f"ALL+MB,l1-{l1}": pytest.approx(0.5 + 0.0035 * l1) for l1 in (64, 128, 256, 512)},
    }
    made = json.loads(output.with_name("size.json.json").read_text())
    assert made["inputs"].keys() == {"positions", *cost.read(costs)}
    assert made["parameters"]["exact"] == pytest.approx(50 / 0.35)
    before = output.read_bytes()
    call("size", *nets.values(), "--positions", positions, "--output", output, "--costs", costs,
         "--seed", 2)  # fmt: skip
    assert output.read_bytes() == before


def test_nets_that_do_not_tell_a_size_are_told(
    nets: dict[str, Path], positions: Path, tmp_path: Path
) -> None:
    for chosen, said in (
        ([nets["64"], nets["anchor"]], "differ by more than the size of their first layers"),
        ([nets["64"]], "give two or more nets of the set"),
        ([nets["64"], nets["64"]], "each with another size"),
    ):
        with pytest.raises(UserError, match=said):
            size.measure(
                nets["anchor"], chosen, positions, Pricing(rounds=1), tmp_path / "size.csv"
            )
