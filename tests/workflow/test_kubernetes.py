"""The tiny chain in pods with a store: the same files, and what their manifests ask for."""

from __future__ import annotations

import shutil

import pytest

from tests.workflow.project import Folder, tiny_project

for plugin in ("executor_plugin_kubernetes", "storage_plugin_fs"):
    pytest.importorskip(f"snakemake_{plugin}")
pods = pytest.importorskip("tests.workflow.pods")

pytestmark = pytest.mark.slow

CHECKPOINT = "results/nets/ALL/1/checkpoint.pt"
MADE = ["results/data/sampled.npy", "results/data/train.npy", CHECKPOINT]
ON_GPU = ["--config", "train={'device': 'cuda'}", "--retries", "0"]


def tiny(folder):
    folder.mkdir()
    with tiny_project(folder) as (path, _):
        pass
    made = Folder(path)
    made.git("init", "--quiet")
    made.git("add", "--all")  # pods get what git has
    return made


def gpus(api):
    """How many each job asked for, in the order that they came."""
    pods_of = [job["spec"]["template"]["spec"] for job in api.jobs.values()]
    return [each["containers"][0]["resources"]["requests"].get(pods.GPU) for each in pods_of]


def test_pods_make_the_same_files_and_only_training_on_cuda_asks_for_a_gpu(tmp_path):
    here, there = tiny(tmp_path / "here"), tiny(tmp_path / "there")
    here.run("snakemake", CHECKPOINT)
    store = tmp_path / "store"
    shutil.copytree(there.path / "resources", store / "resources")
    command = ["snakemake", CHECKPOINT, "--workflow-profile", "profiles/kubernetes"]
    command += ["--default-storage-prefix", str(store), "--max-threads", "2"]
    with pods.cluster(tmp_path / "pods") as (api, variables):
        there.run(*command, **variables)
        assert all((here.path / f).read_bytes() == (store / f).read_bytes() for f in MADE)
        assert gpus(api) == [None] * 4
        there.run(*command, *ON_GPU, status=1, **variables)
        assert gpus(api)[4:] == ["1"]
