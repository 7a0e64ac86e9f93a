"""What a module is made of: its own file, and those of the package that it imports, transitively.

Jobs carry a hash of it (:func:`nnuelab.artifacts.code_hash`), and so does each folder of compiled
kernels (:mod:`nnuelab.build`): an edit remakes what it can change, and nothing else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# Workflow, settings and embedded data: those of a wheel, or else of the clone.
PROJECT = PACKAGE / "project" if (PACKAGE / "project").is_dir() else PACKAGE.parents[1]
# How artifacts are written and progress is shown changes nothing in them.
WITHOUT_EFFECT = {"nnuelab.artifacts", "nnuelab.errors", "nnuelab.progress", "nnuelab.sources"}

# A pattern, since parsing all files takes longer than the engine may take to start. What it finds
# in a docstring is one module too many at worst.
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(nnuelab[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)"
    rb"|import[ \t]+(nnuelab[\w.]*))",
    re.MULTILINE,
)
_COMMENT = re.compile(rb"#.*")
_NAME = re.compile(rb"(\w+)(?:\s+as\s+\w+)?")


@cache
def file_of(name: str) -> Path | None:
    """The file of a dotted module name, None when it is no module of the package."""
    place = PACKAGE.parent.joinpath(*name.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def imported(file: Path) -> frozenset[str]:
    """Modules of the package that a file imports, inside functions, too."""
    return _imported(file) if file.is_relative_to(PACKAGE) else _imported.__wrapped__(file)


@cache
def _imported(file: Path) -> frozenset[str]:
    found: set[str] = set()
    for module, names, whole in _IMPORT.findall(file.read_bytes()):
        if whole:
            found.add(whole.decode())
            continue
        parts = {f"{module.decode()}.{n.decode()}" for n in _NAME.findall(_COMMENT.sub(b"", names))}
        inner = {part for part in parts if file_of(part)}
        found |= inner if inner == parts else inner | {module.decode()}
    return frozenset(name for name in found if name != "nnuelab") - WITHOUT_EFFECT


@cache
def closure(module: str) -> frozenset[Path]:
    """The file of a module and of all modules of the package that it reaches by imports.

    Parameters
    ----------
    module : str
        Dotted: "nnuelab.nnue.training".
    """
    reached: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        file = file_of(name)
        if file is None:
            raise ValueError(f"there is no module {name}")
        reached[name] = file
        waiting += imported(file)
    return frozenset(reached.values())


def closure_of_file(file: Path) -> frozenset[Path]:
    """The same for any Python file, in the package or not."""
    modules = (name for name in imported(file) if file_of(name))
    return frozenset({file}).union(*map(closure, modules))


def digest(file: Path) -> bytes:
    """SHA-256 of a file; those of the package are read once."""
    return _digest(file) if file.is_relative_to(PACKAGE) else _digest.__wrapped__(file)


@cache
def _digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


def content_hash(files: Iterable[Path], *more: str) -> str:
    """16 hexadecimal digits of names below the package and contents, wherever the project lies."""
    found = hashlib.sha256("\0".join(more).encode())
    # By content where two files outside have the same name in different folders.
    named = (
        (f.relative_to(PACKAGE).as_posix() if f.is_relative_to(PACKAGE) else f.name, digest(f))
        for f in files
    )
    for name, content in sorted(named):
        found.update(f"{name}\0".encode())
        found.update(content)
    return found.hexdigest()[:16]


def _name(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix() if file.is_relative_to(PACKAGE) else file.name
