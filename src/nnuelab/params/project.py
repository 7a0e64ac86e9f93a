"""A project of one's own: settings and data to begin with; the rules are the package's."""

from __future__ import annotations

import shutil
from pathlib import Path

from nnuelab.errors import UserError
from nnuelab.sources import PROJECT

COPIED = ("params.yaml", "params.schema.json", "config", "profiles", "resources")
TEMPLATE = Path(__file__).parent / "template"


def create(folder: Path) -> None:
    """Makes the folder of a project.

    Raises
    ------
    UserError
        When there is something in it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is there already, and not empty; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    for source in (*(PROJECT / name for name in COPIED), *TEMPLATE.iterdir()):
        target = folder / source.name.replace("gitignore", ".gitignore")
        if source.is_dir():
            # How the data were made stays with the repository.
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("make"))
        else:
            shutil.copyfile(source, target)
