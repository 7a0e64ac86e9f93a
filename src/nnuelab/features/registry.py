"""Every block that an expression can name: those of the package and those in a user's own files."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from nnuelab.errors import UserError, line_in, one_line
from nnuelab.features import fingerprint
from nnuelab.features.algebra import Block
from nnuelab.features.family import Family

BUILT_IN = Path(__file__).parent / "blocks"
VARIABLE = "NNUELAB_BLOCKS"  # a user's files, separated like PATH; child processes inherit it

_SO_FAR: ContextVar[dict[str, Block | Family] | None] = ContextVar("so_far", default=None)
"""The blocks that a file may name while it is read: those of the files before it."""


def load() -> dict[str, Block | Family]:
    """All blocks and families by name and alias, also of the files in ``NNUELAB_BLOCKS``.

    Raises
    ------
    UserError
        A file is missing, broken, defines no block, or a name that is taken.
    """
    so_far = _SO_FAR.get()
    return _load(tuple(_user_files())) if so_far is None else so_far


def add_files(files: Iterable[Path | str]) -> None:
    """Adds a user's files of blocks, for this process and those that it starts."""
    wanted = [*_user_files(), *(Path(file).resolve() for file in files)]
    os.environ[VARIABLE] = os.pathsep.join(str(file) for file in dict.fromkeys(wanted))
    load()


def _user_files() -> list[Path]:
    text = os.environ.get(VARIABLE, "")
    return [Path(name).resolve() for name in text.split(os.pathsep) if name]


@lru_cache
def _load(user_files: tuple[Path, ...]) -> dict[str, Block | Family]:
    built_in = sorted(path for path in BUILT_IN.glob("*.py") if path.name != "__init__.py")
    blocks: dict[str, Block | Family] = {}
    reading = _SO_FAR.set(blocks)
    try:
        for path in [*built_in, *user_files]:
            for block in _blocks_of(path):
                for name in (block.name, *block.aliases):
                    if name in blocks:
                        raise UserError(
                            f"{path}: the name {name} is taken by the block {blocks[name].name} "
                            f"of {blocks[name].file}; choose another"
                        )
                    blocks[name] = block
    finally:
        _SO_FAR.reset(reading)
    return blocks


def _blocks_of(path: Path) -> list[Block | Family]:
    """Runs a file and gathers the blocks that it defines, in order."""
    if not path.is_file():
        raise UserError(f"there is no file of feature blocks {path}")
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise UserError(f"{path} is not a Python file; the name of a file of blocks ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where numba looks for it when it loads what it has compiled
    try:
        # Not by the loader: its compiled files miss a second edit within one second.
        code = compile(fingerprint.tree(path), str(path), "exec", dont_inherit=True)
        exec(code, vars(module))
    except UserError as error:
        raise UserError(one_line(error)) from error
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise UserError(f"{error.filename or path}{line}: {one_line(error.msg)}") from error
    except SystemExit as error:
        raise UserError(
            f"{_place(path, error)}: it ends the program; a file of blocks only defines them"
        ) from error
    except Exception as error:
        raise UserError(
            f"{_place(path, error)}: {type(error).__name__}: {one_line(error)}"
        ) from error
    blocks = [
        value
        for value in vars(module).values()
        if isinstance(value, Block | Family)
        # What a user's file imports from the package is known already.
        and (value.file == path or not value.file.is_relative_to(BUILT_IN))
    ]
    if not blocks:
        raise UserError(f"{path} defines no feature block: decorate a function with @piece_square")
    return list(dict.fromkeys(blocks))


def _module_name(path: Path) -> str:
    """What its compiled functions call the module that they come from.

    Those of the package are kept for the package wherever it lies, so theirs is the name by which
    any process can import it.
    """
    if path.parent == BUILT_IN:
        return f"nnuelab.features.blocks.{path.stem}"
    place = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    return f"nnuelab_blocks_{path.stem}_{place}"


def _place(path: Path, error: BaseException) -> str:
    """The file, and its line that led to an error, where one did."""
    line = line_in(path, error)
    return f"{path}, line {line}" if line else str(path)
