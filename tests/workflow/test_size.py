"""First layers by cost through the workflow: measured before training, and never without need."""

from __future__ import annotations

import json

import pytest

from nnuelab.nnue.netfile import read_net
from nnuelab.nnue.simd import LANES
from tests.workflow.project import Folder, tiny_project

SIZED = "results/nets/H+V,sized"
NET = f"{SIZED}/1/net.nnue"
EXPERIMENT = {
    "feature_sets": ["ALL", "H+V"],
    "seeds": [1],
    "anchor": "ALL,fixed",
    "variants": {"fixed": {"l1": 512}, "sized": {"l1": "auto"}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The project at tiny scale, after it has trained a net whose size it had to find."""
    with tiny_project(tmp_path_factory.mktemp("project")) as (path, settings):
        settings["experiments"] = {"axis": EXPERIMENT}
    found = Folder(path)
    found.run("snakemake", NET)
    return found


def test_a_net_has_the_size_that_was_found(folder):
    l1 = json.loads((folder.path / SIZED / "size.json").read_text())["l1"]
    assert l1 in range(128, 1024 + 1, LANES)
    assert read_net(folder.path / NET).l1 == l1


def test_probes_are_trained_for_the_size_alone(folder):
    """They neither play nor have to be proved; the rest of the experiment is made as any."""
    jobs = folder.would_run("nets")
    assert jobs == {"train": 2, "quantize": 2, "verify": 3, "puzzles": 3}


def test_nets_are_trained_again_only_when_the_size_changes(folder):
    path = folder.path / SIZED / "size.json"
    before = path.read_bytes()
    path.write_bytes(before)  # measured again with the same result
    assert folder.would_run(NET) == {}
    path.write_text('{"l1": 96}')
    assert folder.would_run(NET) == {"train": 1, "quantize": 1}
