"""Files that the stages make: written whole or not at all, each with its provenance beside it."""

from __future__ import annotations

import fcntl
import glob
import hashlib
import itertools
import json
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from nnuelab import __version__
from nnuelab.errors import UserError
from nnuelab.sources import PACKAGE, PROJECT, closure, closure_of_file, content_hash

RESOURCES = PROJECT / "resources"
LIBRARIES = ("numpy", "numba", "torch", "chess", "pandas", "statsmodels")


@contextmanager
def atomic(path: Path | str, *, folder: bool = False) -> Iterator[Path]:
    """A temporary path beside ``path``: renamed to it when the block ends well, removed otherwise.

    It is a file, or a folder, which may replace an empty one only.

    A reader therefore sees the old file or the new one, never half of one, and a killed job leaves
    nothing that the workflow could take for its output. Two writers of one file don't meet: the
    last one to end wins. What killed writers of the same file left behind is removed first. A link
    is replaced, and what it leads to, maybe a file of DVC's cache, stays as it was.

    Raises
    ------
    UserError
        When the disk is full, the folder can't be made or written, or the name is a device's.
    """
    path = Path(path)
    _check_kind(path)
    make_parent(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        _remove_abandoned(path)
        if folder:
            temporary.mkdir()
        flags = os.O_RDONLY if folder else os.O_RDWR | os.O_CREAT | os.O_EXCL
        descriptor = os.open(temporary, flags, 0o666)
        try:
            # Locks end with their process: that tells an abandoned file from one being written.
            with suppress(OSError):  # a file system without locks: then nothing is removed, either
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield temporary
            os.fsync(descriptor)
            os.replace(temporary, path)
        finally:
            os.close(descriptor)
    except OSError as error:
        own = error.filename in (None, str(path), str(path.parent))
        if not own and not str(error.filename).startswith(str(temporary)):
            raise
        raise UserError(
            f"can't write {path}: {error.strerror or error}; nothing was changed, "
            "make room or choose another place and run again"
        ) from error
    finally:
        _remove(temporary)


def _check_kind(path: Path) -> None:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UserError(f"can't write {path}: it is a device or pipe; choose another place")


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _remove_abandoned(path: Path) -> None:
    """Removes the temporary files and folders of `path` whose writers were killed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with suppress(OSError):
            descriptor = os.open(left, os.O_RDONLY if left.is_dir() else os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(left)
            finally:
                os.close(descriptor)


def lock(file: IO[Any], path: Path) -> None:
    """Takes an open file for this process, until it is closed; two writers would mix it up.

    Raises
    ------
    UserError
        When another process has it, or has just removed it; the file is closed then.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        free = False
    except OSError:
        free = True  # a file system without locks
    if not free:
        file.close()
        raise UserError(
            f"{path} is in use: the same command runs already; wait for it, or choose another "
            "output"
        )


def make_parent(path: Path | str) -> None:
    """Makes the folder of ``path``, with its parents.

    Raises
    ------
    UserError
        When it can't be made: a file of that name, no permission, a disk that is full.
    """
    parent = Path(path).parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"can't write {path}: the folder {parent} can't be made ({error.strerror or error}); "
            "choose another place"
        ) from error


def check_apart(inputs: Iterable[Path | str], outputs: Iterable[Path | str]) -> None:
    """Checks that no output, nor the provenance beside it, is an input or another output.

    Nor a folder or a device, nor in a folder that can't be written.

    Raises
    ------
    UserError
        Before anything is written: with the two names of the file.
    """
    taken = [(_identity(path), path) for path in inputs]
    for output in map(Path, outputs):
        if os.path.isdir(output):
            raise UserError(f"can't write {output}: it is a folder; name a file in it")
        _check_kind(output)
        there = next((folder for folder in output.parents if folder.exists()), output)
        if not os.access(there, os.W_OK):
            raise UserError(
                f"can't write {output}: the folder {there} is read-only; choose another place"
            )
        for path in (output, output.with_name(output.name + ".json")):
            for identity, other in taken:
                if identity == _identity(path):
                    raise UserError(
                        f"{path} would overwrite {other}; choose another name for the output"
                    )
            taken.append((_identity(path), path))


def check_ending(path: Path, what: str, *endings: str) -> None:
    """Checks that a name has the ending that the file's readers go by.

    Raises
    ------
    UserError
        Before anything is written: with the endings that it may have.
    """
    if not path.name.endswith(endings):
        raise UserError(f"{path}: the name of {what} ends in {', '.join(endings)}")


def logs_of(results: Path | str) -> Path:
    """Where the logs of a run are, by the folder of its results.

    >>> str(logs_of("results")), str(logs_of("results-tiny"))
    ('logs', 'logs-tiny')
    """
    folder = Path(results)
    return folder.with_name(folder.name.replace("results", "logs", 1))


def times_of(history: Path) -> Path:
    """Where a training says how long its epochs took: apart, since equal runs take other times.

    >>> str(times_of(Path("net/history.csv")))
    'net/history_times.csv'
    """
    return history.with_name(f"{history.stem}_times.csv")


def timed(history: Path) -> Path:
    """The file that has the seconds of a training: a history of earlier versions has its own."""
    times = times_of(history)
    return times if times.is_file() else history


def first_repeated(paths: Iterable[Path | str]) -> Path | str | None:
    """The first path that names a file named before, by links or other spellings, too."""
    seen: list[Any] = []
    for path in paths:
        if _identity(path) in seen:
            return path
        seen.append(_identity(path))
    return None


def _identity(path: Path | str) -> Any:
    """The same for two names of a file, by links, too."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


def write_json(path: Path | str, value: Any) -> None:
    """Writes ``value`` as indented JSON, atomically."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def sha256(path: Path | str) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_hash(
    modules: str | Iterable[str] | None,
    files: Iterable[Path | str] = (),
    more: Iterable[str] = (),
) -> str:
    """A short content hash of what a job runs: modules, if any, and files, with their imports.

    Snakemake rules carry it as a parameter, so that an edit of the code that a job runs remakes
    what the job made, and an edit elsewhere doesn't. It depends on contents and on names below the
    package, not on where the project lies.

    Parameters
    ----------
    more : iterable of str
        Hashes of what is found by name: feature blocks (``features.fingerprint.code``), evaluators.
    """
    used = {Path(file).resolve() for file in files}
    used = used.union(*(closure_of_file(file) for file in used if file.suffix == ".py"))
    names = [modules] if isinstance(modules, str) else modules or ()
    used = used.union(*(closure(f"nnuelab.{name}") for name in names))
    # An engine without terms of its search is other code.
    return content_hash(used, os.environ.get("NNUELAB_WITHOUT", ""), *more)


def _versions() -> dict[str, str]:
    import importlib.metadata  # slow to load, and few commands write an artifact
    import platform

    found = {"nnuelab": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        # Only what this process has really loaded has a say in what it made.
        if library in sys.modules:
            with suppress(importlib.metadata.PackageNotFoundError):
                found[library] = importlib.metadata.version(library)
    return found


def by_name(paths: Iterable[Path | str]) -> dict[str, Path]:
    """Files keyed for `provenance`, in their order: by name alone, so on every machine the same.

    Further files of a name, in other folders or the same file again, are numbered.

    >>> list(by_name(["a/games.pgn", "b/games.pgn", "c.pgn"]))
    ['games.pgn', 'games.pgn#2', 'c.pgn']
    """
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        numbers = itertools.count(2)
        key = path.name
        while key in found:
            key = f"{path.name}#{next(numbers)}"
        found[key] = path
    return found


def _told(place: Path | str) -> str:
    """A path as a record names it: files of the project by their place in it, on all machines."""
    within = Path(place).resolve()
    for own in (PACKAGE, RESOURCES):
        if within.is_relative_to(own):
            return str(within.relative_to(own.parent))
    return str(place)


def told_input(place: Path | str) -> dict[str, str]:
    """An input as `provenance` tells it: path and sha256."""
    return {"path": _told(place), "sha256": sha256(place)}


def provenance(
    path: Path | str,
    *,
    inputs: Mapping[str, Path | str | Mapping[str, str]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    module: str | Iterable[str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Writes ``<path>.json``: how the artifact was made, enough to make it again.

    ``inputs`` are files, or what `told_input` told of them. ``module`` is what did the work, one or
    several, for the code hash. Nothing in the record depends on time, so the same command on the
    same inputs gives the same file.

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
            name: told_input(file) if isinstance(file, Path | str) else dict(file)
            for name, file in (inputs or {}).items()
        },
        "parameters": dict(parameters or {}),
        "seed": seed,
        "versions": _versions(),
        "code": code_hash(module) if module else None,
        **more,
    }
    write_json(path.with_name(path.name + ".json"), record)
    return record
