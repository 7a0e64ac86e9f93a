"""A project of one's own: settings and data to begin with; the rules are the package's."""

from __future__ import annotations

from pathlib import Path

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.sources import PROJECT

COPIED = ("params.yaml", "params.schema.json", "config", "profiles", "resources")
TEMPLATE = Path(__file__).parent / "template"


def create(folder: Path) -> None:
    """Makes the folder of a project.

    Raises
    ------
    UserError
        When there is something in it, or it can't be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is there already, and not empty; name a new folder")
    if folder.exists():  # a shell may be in it: it isn't replaced
        return _fill(folder)
    with artifacts.atomic(folder, folder=True) as made:
        _fill(made)


def _fill(folder: Path) -> None:
    for source in (*(PROJECT / name for name in COPIED), *TEMPLATE.iterdir()):
        _copy(source, folder / source.name.replace("gitignore", ".gitignore"))


def _copy(source: Path, target: Path) -> None:
    # shutil.copytree gathers what goes wrong in an error that doesn't say what it was.
    if source.is_dir():
        target.mkdir()
        for inner in source.iterdir():
            if inner.name != "make":  # how the data were made stays with the repository
                _copy(inner, target / inner.name)
    else:
        target.write_bytes(source.read_bytes())
