"""Files that the stages make: written whole or not at all, each with its provenance beside it."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from nnuelab import __version__
from nnuelab.errors import UserError

PACKAGE = Path(__file__).resolve().parent
# How artifacts are written and progress is shown changes nothing in them.
WITHOUT_EFFECT = {"nnuelab.artifacts", "nnuelab.errors", "nnuelab.progress"}
LIBRARIES = ("numpy", "numba", "torch", "chess", "pandas", "statsmodels")


@contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """A temporary path beside ``path``: renamed to it when the block ends well, removed otherwise.

    A reader therefore sees the old file or the new one, never half of one, and a killed job leaves
    nothing that the workflow could take for its output.

    Raises
    ------
    UserError
        When the disk is full or the folder can't be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if error.filename not in (None, str(temporary), str(path), str(path.parent)):
            raise
        raise UserError(
            f"can't write {path}: {error.strerror or error}; nothing was changed, "
            "make room or choose another place and run again"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_json(path: Path | str, value: Any) -> None:
    """Writes ``value`` as indented JSON, atomically."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def sha256(path: Path | str) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _source(name: str) -> Path | None:
    """The file of a dotted module name, None when it is no module of the package."""
    place = PACKAGE.parent.joinpath(*name.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def _imported(file: Path) -> frozenset[str]:
    """Modules of the package that a file imports, inside functions, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            inner = {part for part in parts if _source(part)}
            found |= inner if inner == parts else inner | {node.module}
    return frozenset(part for part in found if part.startswith("nnuelab.")) - WITHOUT_EFFECT


def sources(module: str) -> set[Path]:
    """The file of a module and of all modules of the package that it reaches by imports.

    Parameters
    ----------
    module : str
        Dotted, below ``nnuelab``: "nnue.training".
    """
    reached: dict[str, Path] = {}
    waiting = [f"nnuelab.{module}"]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        file = _source(name)
        if file is None:
            raise ValueError(f"there is no module {name}")
        reached[name] = file
        waiting += _imported(file)
    return set(reached.values())


def code_hash(module: str | None, files: Iterable[Path | str] = ()) -> str:
    """A short content hash of what a job runs: a module with its imports, and files of the user's.

    Snakemake rules carry it as a parameter, so that an edit of the code that a job runs remakes
    what the job made, and an edit elsewhere doesn't. It depends on contents and on names below the
    package, not on where the project lies.
    """
    used = (sources(module) if module else set()) | {Path(file).resolve() for file in files}
    named = sorted(
        (file.relative_to(PACKAGE).as_posix() if file.is_relative_to(PACKAGE) else file.name, file)
        for file in used
    )
    digest = hashlib.sha256()
    for name, file in named:
        digest.update(f"{name}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _versions() -> dict[str, str]:
    found = {"nnuelab": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        # Only what this process has really loaded has a say in what it made.
        if library in sys.modules:
            with suppress(importlib.metadata.PackageNotFoundError):
                found[library] = importlib.metadata.version(library)
    return found


def provenance(
    path: Path | str,
    *,
    inputs: Mapping[str, Path | str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    module: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Writes ``<path>.json``: how the artifact was made, enough to make it again.

    ``module`` is the one that did the work, for the code hash. Nothing in the record depends on
    time, so the same command on the same inputs gives the same file.

    Returns
    -------
    dict
        What was written: artifact's sha256, command, inputs' sha256, parameters, seed, versions,
        code hash.
    """
    path = Path(path)
    record = {
        "artifact": path.name,
        "sha256": sha256(path),
        "command": shlex.join(["nnuelab", *sys.argv[1:]]),
        "inputs": {
            name: {"path": str(place), "sha256": sha256(place)}
            for name, place in (inputs or {}).items()
        },
        "parameters": dict(parameters or {}),
        "seed": seed,
        "versions": _versions(),
        "code": code_hash(module) if module else None,
        **more,
    }
    write_json(path.with_name(path.name + ".json"), record)
    return record
