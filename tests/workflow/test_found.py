"""First layers by cost and rates by loss in the workflow: found first, and never without need."""

from __future__ import annotations

import csv
import json

import pytest

from nnuelab.nnue.netfile import read_net
from nnuelab.nnue.simd import LANES
from tests.workflow.project import Folder, tiny_project

SIZED = "results/nets/H+V,sized"
NET = f"{SIZED}/1/net.nnue"
FAIR = "results/nets/H+V,fair"
EXPERIMENT = {
    "feature_sets": ["ALL", "H+V"],
    "seeds": [1],
    "anchor": "ALL,fixed",
    "variants": {"fixed": {"l1": 512}, "sized": {"l1": "auto"}, "fair": {"learning_rate": "auto"}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The project at tiny scale, after it has trained a net whose size it had to find."""
    with tiny_project(tmp_path_factory.mktemp("project")) as (path, settings):
        settings["experiments"] = {"axis": EXPERIMENT}
    found = Folder(path)
    found.run("snakemake", NET, f"{FAIR}/1/checkpoint.pt")
    return found


def test_a_net_has_the_size_that_was_found(folder):
    l1 = json.loads((folder.path / SIZED / "size.json").read_text())["l1"]
    assert l1 in range(128, 1024 + 1, LANES)
    assert read_net(folder.path / NET).l1 == l1


def test_nets_that_find_a_setting_are_trained_for_it_alone(folder):
    """They neither play nor have to be proved; the rest of the experiment is made as any."""
    jobs = folder.would_run("nets")
    # ALL and H+V as given; ALL at its best of four rates, which are trained alone.
    assert jobs == {"train": 7, "learning_rate": 1, "quantize": 4, "verify": 5, "puzzles": 5}


def test_nets_are_trained_again_only_when_the_size_changes(folder):
    path = folder.path / SIZED / "size.json"
    before = path.read_bytes()
    path.write_bytes(before)  # measured again with the same result
    assert folder.would_run(NET) == {}
    path.write_text('{"l1": 96}')
    assert folder.would_run(NET) == {"train": 1, "quantize": 1}


def test_a_net_is_trained_at_the_best_of_the_rates_that_were_tried(folder):
    table = list(csv.DictReader((folder.path / FAIR / "rates.csv").open()))
    assert len(table) == 4
    best = min(table, key=lambda row: float(row["validation_loss"]))["learning_rate"]
    told = json.loads((folder.path / FAIR / "1/checkpoint.pt.json").read_text())
    assert told["parameters"]["learning_rate"] == float(best)
    (folder.path / FAIR / "rate.json").write_text('{"learning_rate": 0.1}')
    assert folder.would_run(f"{FAIR}/1/checkpoint.pt") == {"train": 1}
