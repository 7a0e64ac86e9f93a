"""Files that the stages make: written whole or not at all, each with its provenance beside it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from nnuelab import __version__
from nnuelab.errors import UserError

PACKAGE = Path(__file__).resolve().parent
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


def sources(modules: Iterable[str]) -> list[Path]:
    """The Python files of modules or packages of nnuelab, sorted.

    Parameters
    ----------
    modules : iterable of str
        Dotted names below ``nnuelab`` ("features", "nnue.training"); a package stands for all of
        its files.
    """
    files: set[Path] = set()
    for module in modules:
        place = PACKAGE.joinpath(*module.split("."))
        if place.is_dir():
            files.update(place.rglob("*.py"))
        elif place.with_suffix(".py").is_file():
            files.add(place.with_suffix(".py"))
        else:
            raise ValueError(f"no module nnuelab.{module}")
    return sorted(files)


def code_hash(modules: Iterable[str], files: Iterable[Path | str] = ()) -> str:
    """A short content hash of the package's modules and of a user's own files (feature blocks).

    Snakemake rules carry it as a parameter, so that an edit of the code that a job runs remakes
    what the job made, and an edit elsewhere doesn't.
    """
    digest = hashlib.sha256()
    for path in [*sources(modules), *map(Path, files)]:
        name = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else Path(path.name)
        digest.update(f"{name.as_posix()}\0".encode())
        digest.update(path.read_bytes())
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
    modules: Iterable[str] = (),
    **more: Any,
) -> dict[str, Any]:
    """Writes ``<path>.json``: how the artifact was made, enough to make it again.

    Nothing in it depends on time or place, so the same inputs give the same file.

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
        "code": code_hash(modules) if modules else None,
        **more,
    }
    write_json(path.with_name(path.name + ".json"), record)
    return record
