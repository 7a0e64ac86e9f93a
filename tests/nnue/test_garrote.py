"""The path of gates: what closed gates say, which close first, and what can't have a gate."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import nnuelab.cli.importance  # noqa: F401  (registers the command)
from nnuelab.cli.app import app
from nnuelab.features.groups import groups
from nnuelab.nnue.garrote import Gated, path
from nnuelab.nnue.importance import Measurement, row_sums
from nnuelab.nnue.trainer import Settings
from nnuelab.nnue.training import train
from tests.nnue.material import SETTINGS, train_on_material
from tests.nnue_data import write_datasets


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small net trained on material, and other games."""
    folder = tmp_path_factory.mktemp("garrote")
    train_on_material(folder)
    return folder


@pytest.fixture
def measured(folder: Path) -> Measurement:
    return Measurement(folder / "checkpoint.pt", folder / "validation.npy", 10_000, True)


def test_gates_multiply_rows_and_leave_the_mean_of_what_is_missing(measured: Measurement) -> None:
    """Against the measurement of importance, which masks groups one at a time."""
    sample, network = measured.test, measured.network
    assert measured.fit is not None
    np.testing.assert_allclose(Gated(measured, "role").losses(sample), measured.losses, atol=1e-6)
    for i, (name, members) in enumerate(groups(measured.checkpoint.features, "role").items()):
        gated = Gated(measured, "role")
        gated.gates[i] = 0
        group = torch.from_numpy(np.append(members, False))
        missing = row_sums(network, measured.fit) - row_sums(network, measured.fit.without(group))
        mean = missing.view(-1, SETTINGS.l1).mean(dim=0)
        sums = row_sums(network, sample.without(group)) + mean.repeat(2)
        expected = measured.losses_of(network, sums, sample)
        np.testing.assert_allclose(gated.losses(sample), expected, atol=1e-6, err_msg=name)


def test_gates_close_for_good_those_of_what_says_nothing_first(
    measured: Measurement,
) -> None:
    """Two groups have rows of zeros."""
    members = groups(measured.checkpoint.features, "term*role")
    with torch.no_grad():
        for name in ("H, queen", "H, knight"):
            measured.network.w1[torch.from_numpy(members[name])] = 0
    points = list(path(measured, "term*role"))
    gates = np.array([[gate.gate for gate in point] for point in points])
    assert [gate.group for gate in points[0]] == list(members)
    assert not gates[-1].any()
    assert (gates[:-1] > 0).any(axis=1).all()
    closed = gates == 0
    assert (closed[1:] >= closed[:-1]).all()
    first = [name for name, gate in zip(members, gates[1], strict=True) if gate == 0]
    assert {"H, queen", "H, knight"} <= set(first)
    rises = [point[0].rise for point in points]
    assert rises[0] == 0
    assert rises[-1] > points[-1][0].rise_error > 0
    assert points == list(path(measured, "term*role"))


def test_what_is_in_no_group_stays(measured: Measurement) -> None:
    gated = Gated(measured, "RANKS")
    gated.gates.zero_()
    assert gated.said(measured.test.active, measured.test.pieces).std() > 0


def test_the_command_writes_a_table_and_a_figure(folder: Path) -> None:
    output, plot = folder / "path.csv", folder / "path.svg"
    options = ["--positions", folder / "validation.npy", "--output", output, "--plot", plot]
    command = ["importance-path", folder / "checkpoint.pt", *options, "--count", "3000"]
    done = CliRunner().invoke(app, [*map(str, command)])
    assert done.exit_code == 0, done.output
    assert output.read_text() in done.output
    with output.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["group"] for row in rows[:2]] == ["ALL", "H"]
    assert {row["penalty"] for row in rows[:2]} == {"0"}
    assert plot.read_bytes().startswith(b"<svg")


def test_groups_that_share_a_feature_are_refused(folder: Path, tmp_path: Path) -> None:
    data = write_datasets(tmp_path, greedy=True)
    pairs = tmp_path / "pairs.pt"
    train(Settings("PV", l1=16, l2=8, epochs=1), *data, pairs, tmp_path / "history.csv", 1)
    command = ["importance-path", pairs, "--positions", data[1], "--by", "role"]
    done = CliRunner().invoke(app, [*map(str, command), "--output", str(tmp_path / "o.csv")])
    assert done.exit_code == 1
    assert "is in 2 groups, and can have the gate of one alone" in done.output
