"""The spread of equal trainings, against loops over pairs of nets."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import nnuelab.cli.net  # noqa: F401  (registers the command)
from nnuelab.cli.app import app
from nnuelab.nnue.netfile import write_net
from nnuelab.nnue.spread import of_values
from tests.nnue_data import write_datasets
from tests.nnue_nets import random_net


@given(st.integers(2, 5), st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_it_is_that_of_all_pairs(nets: int, positions: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-2000, 2000, (nets, positions))
    scores = [[1 / (1 + np.exp(-cp / 361)) for cp in net] for net in values]
    found = of_values(values)
    assert (found.nets, found.positions) == (nets, positions)
    for rms, said in ((found.rms_cp, values), (found.rms_score, scores)):
        squares = [(x - y) ** 2 for a, b in combinations(said, 2) for x, y in zip(a, b)]  # noqa: B905
        assert rms == pytest.approx(np.mean(squares) ** 0.5)


def test_the_command_compares_nets(tmp_path: Path) -> None:
    _, positions = write_datasets(tmp_path)
    nets = [tmp_path / f"{seed}.nnue" for seed in (0, 1)]
    for seed, path in enumerate(nets):
        write_net(path, random_net(seed=seed))

    def spread(*paths: Path) -> str:
        chosen = ["--positions", str(positions), "--count", "200", "--json"]
        done = CliRunner().invoke(app, ["net", "spread", *map(str, paths), *chosen])
        assert (done.exit_code == 0) == (len(paths) > 1), done.output
        return done.stdout if len(paths) > 1 else done.output

    assert json.loads(spread(nets[0], nets[0]))["rms_cp"] == 0
    found, more = json.loads(spread(*nets)), json.loads(spread(*nets, nets[0]))
    assert 0 < found["rms_cp"] < 2 * found["sd_cp"]
    # Of three pairs two are this one, and one differs in nothing.
    assert more["rms_cp"] == pytest.approx(found["rms_cp"] * (2 / 3) ** 0.5)
    assert "two or more" in spread(nets[0])
