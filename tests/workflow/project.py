"""A copy of the project in a folder of its own, and what runs there print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from nnuelab.params import merge

ROOT = Path(__file__).resolve().parents[2]
NOTHING = "Nothing to be done"
# Rules without jobs of their own
TARGETS = {
    "all",
    "all_experiments",
    "data",
    "generations",
    "nets",
    "policy",
    "policy_selfplay",
    "statistics",
    "texel",
    "tournaments",
}


@dataclass
class Folder:
    """A copy of the project with its own results."""

    path: Path

    def start(self, *command, **variables):
        """A command that runs here; ``PYTHONPATH=src`` runs the copy's own package."""
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "DVC_NO_ANALYTICS": "1",
            "NNUELAB_BLOCKS": "",
            **variables,
        }
        return subprocess.Popen(
            command,
            cwd=self.path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *command, status=0, **variables):
        """What a command printed."""
        process = self.start(*command, **variables)
        printed, _ = process.communicate()
        assert process.returncode == status, printed
        return printed

    def would_run(self, *arguments, **variables):
        """Rules that a dry run names, with their number of jobs."""
        found = self.run("snakemake", "-n", *arguments, **variables)
        jobs = re.findall(r"^(\w+) +(\d+)$", found, re.MULTILINE)
        assert jobs or NOTHING in found, found
        return {rule: int(count) for rule, count in jobs if rule not in {"total", *TARGETS}}

    def git(self, *arguments):
        self.run("git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "state", "--allow-empty")


def ran(output):
    """Rules whose jobs ran, by the lines of a run without a terminal."""
    return set(
        re.findall(r"^\[[\d:]+\] \d+/\d+ jobs.*: (\w+), [\d:]+, done$", output, re.MULTILINE)
    )


def project(path):
    """The files of the working tree in a git repository of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path / name)
    return path


@contextmanager
def tiny_project(folder):
    """The project in a new folder, and its settings at tiny scale, which are then written."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    path = project(folder)
    settings = yaml.safe_load((path / "params.yaml").read_text())
    merge(settings, yaml.safe_load((path / "config/tiny.yaml").read_text()))
    yield path, settings
    (path / "params.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))


def change(folder, section, key, value):
    settings = yaml.safe_load((folder.path / "params.yaml").read_text())
    (settings if section is None else settings[section])[key] = value
    (folder.path / "params.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
