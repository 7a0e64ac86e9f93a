"""Wheel and sdist work without the repository: `nnuelab new` makes a project of their rules."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from nnuelab import __version__
from tests.workflow.project import ROOT, Folder, project

TINY = ("--configfile", "config/tiny.yaml")
LARGEST = 10_000_000  # bytes of a wheel


def wheel_of(source, folder):
    """The wheel that is built from a folder or from an sdist."""
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    subprocess.run([sys.executable, "-m", "pip", *words, source], check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A copy: building leaves its own folders behind."""
    return project(tmp_path_factory.mktemp("built") / "clone")


@pytest.fixture(scope="module")
def wheel(clone, tmp_path_factory):
    return wheel_of(clone, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(clone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=clone, check=True, capture_output=True)
    (found,) = folder.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def made(wheel, tmp_path_factory):
    """A new project, and what lets commands find the unpacked wheel before any clone."""
    site = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(site)
    folder = Folder(tmp_path_factory.mktemp("mine") / "encodings")
    environment = {"PYTHONPATH": str(site)}
    Folder(site).run("nnuelab", "new", str(folder.path), **environment)
    return folder, environment


def test_a_wheel_is_small(wheel):
    assert wheel.stat().st_size < LARGEST


def test_a_wheel_has_the_version_of_the_package(wheel):
    assert wheel.name.startswith(f"nnuelab-{__version__}-")


def test_an_sdist_gives_the_same_wheel(wheel, sdist, tmp_path):
    files = [
        {entry.filename: entry.CRC for entry in zipfile.ZipFile(path).infolist()}
        for path in (wheel, wheel_of(sdist, tmp_path))
    ]
    assert files[1] == files[0]


def test_an_sdist_holds_only_what_is_needed(sdist):
    """Of the tests, setuptools would take a part."""
    with tarfile.open(sdist) as archive:
        parts = [name.split("/")[1:] for name in archive.getnames()]
    assert {"LICENSE", "README.md", "CITATION.cff"} < {path[0] for path in parts if path}
    assert not [path for path in parts if "tests" in path[:1] or "make" in path]


def test_a_project_plans_the_jobs_of_the_clone(made):
    folder, environment = made
    jobs = folder.would_run(*TINY, **environment)
    assert jobs.pop("default") == 1
    assert jobs == Folder(ROOT).would_run("--forceall", *TINY)
    assert not (folder.path / "rules").exists()
    assert not (folder.path / "resources/make").exists()


def test_a_project_takes_nothing_from_the_clone(made):
    folder, environment = made
    found = folder.run("snakemake", "-n", "-p", *TINY, **environment)
    assert str(ROOT) not in found


def test_what_snakedeploy_writes_plans_the_jobs_of_the_clone(tmp_path):
    """By the module that config/README.md shows, of a repository that Snakemake has fetched."""
    folder = Folder(tmp_path / "mine")
    shutil.copytree(ROOT / "config", folder.path / "config")
    shutil.copy(ROOT / "params.yaml", folder.path / "config/config.yaml")
    shutil.copytree(ROOT / "resources", folder.path / "resources")
    (module,) = re.findall(r"(?s)```python\n(.*?)```", (ROOT / "config/README.md").read_text())
    (folder.path / "workflow").mkdir()
    (folder.path / "workflow/Snakefile").write_text(module)
    source = Folder(project(tmp_path / "source"))
    source.git("init", "--quiet", "--initial-branch", "main")
    source.commit()
    fetched = "snakemake/snakemake/source-cache/snakemake-git-cache/github.com/OWNER/nnuelab"
    source.git("clone", "--quiet", "--bare", ".", str(tmp_path / fetched))
    jobs = folder.would_run(*TINY, XDG_CACHE_HOME=str(tmp_path))
    assert jobs.pop("default") == 1
    assert jobs == Folder(ROOT).would_run("--forceall", *TINY)


def test_a_folder_with_something_in_it_is_left_alone(made):
    folder, environment = made
    before = sorted(folder.path.rglob("*"))
    told = folder.run("nnuelab", "new", ".", status=1, **environment)
    assert "is there already, and not empty; name a new folder" in told
    assert sorted(folder.path.rglob("*")) == before


@pytest.mark.slow
def test_a_project_makes_what_the_clone_makes(made, tmp_path):
    folder, environment = made
    folder.run("snakemake", *TINY, **environment)
    clone = Folder(project(tmp_path / "clone"))
    clone.run("snakemake", *TINY, PYTHONPATH="src")
    for file in ("tournament/axis.pgn", "nets/ALL/1/net.nnue"):
        assert (folder.path / "results-tiny" / file).read_bytes() == (
            clone.path / "results-tiny" / file
        ).read_bytes()
