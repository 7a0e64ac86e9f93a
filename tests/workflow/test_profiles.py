"""Profiles for clusters: what they name exists, and what they repeat is the same."""

from __future__ import annotations

import re
import shutil
import sys

import pytest
import yaml

from tests.workflow.project import ROOT, Folder

CLUSTERS = {"slurm": "executor_plugin_slurm", "kubernetes": "executor_plugin_kubernetes"}
# The GPUs that jobs ask for, as planned: <rule> <number> <maker>
PLAN = """
import sys
from pathlib import Path
from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings
device, *targets = sys.argv[1:]
config = ConfigSettings({"train": {"device": device}}, [Path("config/tiny.yaml")])
with SnakemakeApi(OutputSettings()) as api:
    workflow = api.workflow(ResourceSettings(cores=2), config_settings=config)
    workflow.dag(DAGSettings(targets=set(targets))).execute_workflow("dryrun")
    for job in workflow._workflow_store.dag.jobs:
        asked = dict(job.resources)
        print("planned", job.rule.name, asked.get("gpu"), asked.get("gpu_manufacturer"))
"""
RULES = {
    name
    for path in (ROOT / "rules").glob("*.smk")
    for name in re.findall(r"^(?:use )?rule (?:\w+ as )?(\w+)", path.read_text(), re.MULTILINE)
}


def profile(name):
    return yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_rule_that_a_profile_names_is_there(name):
    found = profile(name)
    grouped = dict(word.split("=") for word in found["groups"])
    assert {*found["set-resources"], *grouped} <= RULES
    assert {word.split("=")[0] for word in found["group-components"]} <= set(grouped.values())


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_profile_has_the_settings_of_the_default_one(name):
    found, default = profile(name), profile("default")
    del default["cores"]  # of the machine that submits, to which threads would be cut
    assert default.items() <= found.items()
    assert "cores" not in found


@pytest.mark.parametrize("name", CLUSTERS)
def test_jobs_of_all_cores_get_those_of_a_node(name, tmp_path):
    """As Snakemake plans it with the executor's plugin, where that is installed."""
    pytest.importorskip(f"snakemake_{CLUSTERS[name]}")
    options = ["--configfile", "config/tiny.yaml", "--workflow-profile", f"profiles/{name}"]
    if name == "kubernetes":
        pytest.importorskip("snakemake_storage_plugin_fs")
        shutil.copytree(ROOT / "resources", tmp_path / "resources")
        options += ["--default-storage-prefix", str(tmp_path)]
    told = Folder(ROOT).run("snakemake", "-n", "--cores", "99", "data", *options)
    assert re.search(r"nnuelab sample .* --workers 16 ", told)


@pytest.mark.parametrize(("device", "asked"), [("cpu", "None None"), ("cuda", "1 nvidia")])
def test_training_on_cuda_alone_asks_for_a_gpu(device, asked):
    """Kubernetes refuses 0 of them, and 1 without its maker."""
    nets = [f"results-tiny/{net}/1/checkpoint.pt" for net in ("nets/ALL", "selfplay/1")]
    told = Folder(ROOT).run(sys.executable, "-c", PLAN, device, *nets)
    planned = dict(re.findall(r"^planned (\w+) (.+)$", told, re.MULTILINE))
    assert planned.pop("train") == planned.pop("generation_train") == asked
    assert planned.keys() >= {"sample", "label", "generation_games"}
    assert set(planned.values()) == {"None None"}
