"""Puts what projects are made of into wheels, as nnuelab/project; `nnuelab new` copies it."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PROJECT = (
    "Snakefile",
    "params.yaml",
    "params.schema.json",
    "rules",
    "config",
    "profiles",
    "resources",
)


class Build(build_py):
    """The package, and the files of a project beside it; an editable one has the clone's."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "nnuelab", "project")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name in PROJECT:
            if Path(name).is_dir():
                shutil.copytree(
                    name, target / name, ignore=shutil.ignore_patterns("make", "__pycache__")
                )
            else:
                shutil.copy(name, target)


setup(cmdclass={"build_py": Build})
