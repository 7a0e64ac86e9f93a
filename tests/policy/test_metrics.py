"""Metrics of policies: against a literal walk, and the table made of them."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from nnuelab import features
from nnuelab.cli.__main__ import application
from nnuelab.errors import UserError
from nnuelab.policy import metrics, table
from nnuelab.policy.labels import legal_pairs, played
from nnuelab.policy.policyfile import Policy, write_policy
from nnuelab.policy.trainer import made
from nnuelab.report.inspect import inspect
from nnuelab.settings.policy import PolicyTraining
from tests.naive import policy as naive
from tests.nnue_data import games

SHAPES = [
    PolicyTraining(layers=[8], head="pair", value_weight=1.0),
    PolicyTraining(layers=[8], head="pair", loss="mse"),
    PolicyTraining(layers=[8], head="fromto"),
    PolicyTraining(layers=[8], head="fromto", loss="mse", activation="sigmoid"),
    PolicyTraining(layers=[], head="product", rank=2),
]


def policy_of(shape: PolicyTraining, seed: int = 1) -> Policy:
    generator = torch.Generator().manual_seed(seed)
    return made(features.parse("ALL"), shape, generator).policy(shape.loss, {})


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.head}-{s.loss}")
def test_metrics_are_those_of_a_literal_walk(shape: PolicyTraining) -> None:
    records = games(3)[::7]
    policy = policy_of(shape)
    found = metrics.measured(policy, records)
    start, square = played(records)
    pairs, counts = legal_pairs(records)
    walks, on_legal, best = [], [], []
    for i, record in enumerate(records):
        out, worth = naive.outputs_of(policy, record)
        out = out.astype(np.float32).astype(np.float64)
        logits = naive.pairs(policy, out)
        weights = np.exp(logits)
        if policy.loss == "mse":
            half = naive.sigmoid(out)
            weights = half if policy.head == "pair" else np.outer(half[:64], half[64:]).ravel()
        legal = pairs[i, : counts[i]]
        walks.append(naive.walked(policy, record, out))
        on_legal.append(weights[legal].sum() / weights.sum())
        best.append(legal[np.argmax(logits[legal])])
        assert abs(found["value"][i] - worth) < 1e-5
    first, walked, tries, checks = (np.array(column) for column in zip(*walks, strict=True))
    assert (found["first"] == first).all()
    assert (found["walked"] == walked).all()
    assert (found["tries"] == tries).all()
    assert (found["checks"] == checks).all()
    assert (found["best"] == best).all()
    assert np.allclose(found["legal"], on_legal, atol=1e-5)
    told = metrics.evaluate(policy, records)
    move = 64 * start + square
    assert told.positions == len(records)
    assert told.legal_first == pytest.approx((tries == 1).mean())
    assert told.accuracy == pytest.approx((first == move).mean())
    assert told.walk_accuracy == pytest.approx((walked == move).mean())
    assert told.legal_accuracy == pytest.approx((np.array(best) == move).mean())
    assert told.from_accuracy == pytest.approx((first // 64 == start).mean())
    assert told.mean_tries == pytest.approx(tries.mean())
    assert told.median_tries == np.median(tries)
    assert told.mean_checks == pytest.approx(checks.mean())
    assert told.illegal_probability == pytest.approx(1 - np.mean(on_legal), abs=1e-5)
    if policy.has_value:
        expected = np.mean((found["value"] - records["result"]) ** 2)
        assert told.value_error == pytest.approx(expected)
    else:
        assert np.isnan(told.value_error)


def call(*words: object) -> str:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(application(), [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_policies_of_several_seeds_are_a_row_of_the_table(tmp_path: Path) -> None:
    np.save(tmp_path / "positions.npy", games(2))
    folders = []
    for name, shape in (("pair", SHAPES[0]), ("seed", SHAPES[3])):
        for seed in (1, 2):
            folder = tmp_path / name / str(seed)
            folder.mkdir(parents=True)
            folders.append(folder)
            write_policy(folder / "net.policy", policy_of(shape, seed))
            call(
                *("policy", "evaluate", folder / "net.policy"),
                *("--positions", tmp_path / "positions.npy", "--count", 50),
                *("--csv", folder / "evaluation.csv"),
            )
            (folder / "history.csv").write_text("epoch,seconds\n1,2.5\n2,1.5\n")
    told = call("policy", "table", *folders, "--csv", tmp_path / "table.csv")
    assert [line.split()[0] for line in told.splitlines()] == ["pair", "seed"]
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["pair", "seed"]
    for row in rows:
        seeds = []
        for number in ("1", "2"):
            with open(tmp_path / row["name"] / number / "evaluation.csv", newline="") as file:
                seeds += [float(next(csv.DictReader(file))["mean_tries"])]
        assert float(row["mean_tries"]) == pytest.approx(np.mean(seeds), rel=1e-5)
        assert float(row["mean_tries_sd"]) == pytest.approx(np.std(seeds, ddof=1), rel=1e-4)
        assert (row["seeds"], row["positions"], row["train_seconds"]) == ("2", "50", "4")
        assert row["layers"] == "8"
    assert rows[0]["value_error"]
    assert not rows[1]["value_error"]
    assert inspect(tmp_path / "table.csv").facts["rows"] == 2


def test_a_table_tells_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"can't read .*evaluation\.csv"):
        table.rows_of([tmp_path])
    (tmp_path / "evaluation.csv").write_text("a\n1\n")
    (tmp_path / "history.csv").write_text("\n")
    with pytest.raises(UserError, match="is not of one policy"):
        table.rows_of([tmp_path])
    names = (*table.FACTS, *table.MEASURES[:-1], "positions")
    for value, seconds in (("inf", "1"), ("x", "1"), ("1", "nan"), ("1", "x")):
        table.write(tmp_path / "evaluation.csv", [dict.fromkeys(names, value)])
        (tmp_path / "history.csv").write_text(f"seconds\n{seconds}\n")
        with pytest.raises(UserError, match=r"history\.csv is damaged"):
            table.rows_of([tmp_path])
    (tmp_path / "history.csv").write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"can't read .*history\.csv"):
        table.rows_of([tmp_path])


def test_positions_without_moves_are_told(tmp_path: Path) -> None:
    records = games(1).copy()
    records["move"] = 0
    np.save(tmp_path / "none.npy", records)
    with pytest.raises(UserError, match="has no position with the move played"):
        metrics.positions_of(tmp_path / "none.npy", 0)


def test_inspect_shows_a_policy(tmp_path: Path) -> None:
    shape = replace(SHAPES[4], value_weight=1.0)
    write_policy(tmp_path / "a.policy", policy_of(shape))
    summary = inspect(tmp_path / "a.policy")
    assert summary.kind == "policy"
    assert summary.facts["head"] == "product"
    assert summary.facts["parameters"] == policy_of(shape).parameters
    assert [row["array"] for row in summary.tables["arrays"]] == [
        *("output", "output_bias", "value_weights", "value_bias")
    ]
