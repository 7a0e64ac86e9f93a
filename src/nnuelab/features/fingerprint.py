"""Fingerprints: what the features of a block mean, as a hash that every net carries.

Weights belong to features as they were when the net was trained; the file that defines a block may
have been edited since. So a net has the fingerprint of each of its blocks, and is refused where it
is another one now.

A definition that comes down to a table is hashed as that table: however it is written, the same
features have the same fingerprint. A definition that is a function is hashed as its source, without
comments, docstring, annotations and layout, and with all values and functions that it uses. Kernels
of the package are taken by their names, those in files of blocks aside: they change often, and
tests hold what they do.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.algebra import Block, FeatureSet
from nnuelab.sources import PACKAGE, closure, content_hash

_BLOCKS = PACKAGE / "features" / "blocks"
LENGTH = 16  # hexadecimal digits: two definitions by chance the same are out of the question


def check(features: FeatureSet, before: Mapping[str, str]) -> None:
    """Checks that the blocks of a net mean what they meant when it was trained.

    Parameters
    ----------
    before : dict
        Their fingerprints then (:func:`of_blocks`). Nets of older versions have none: of the
        package's own blocks none has changed since, of a user's nobody knows.

    Raises
    ------
    UserError
        With the block, its file, and what to do.
    """
    for block in _all_blocks(features):
        then = before.get(block.name)
        if then is None and not block.file.is_relative_to(PACKAGE):
            raise UserError(
                f"it was made by an older version, which didn't record the block {block.name} "
                f"of {block.file}; train it again"
            )
        if then is not None and then != of(block):
            raise UserError(
                f"the block {block.name} of {block.file} has changed since this net "
                "was trained; undo the edit, or train the net again"
            )


def of_blocks(features: FeatureSet) -> dict[str, str]:
    """The fingerprint of each block by its name, of those within sums and phases, too."""
    return {block.name: of(block) for block in _all_blocks(features)}


def code(features: FeatureSet) -> str:
    """A hash of what jitted code finds of a set: what its blocks mean, their hints, their kernels.

    A job's code hash has it: an edit of one block, or of what only its kind needs, doesn't remake
    what other blocks are in.
    """
    found = hashlib.sha256()
    for block in _all_blocks(features):
        files = {f for m in block.jitted for f in closure(f"nnuelab.features.kernels.{m}")}
        for text in (of(block), *_told(block.hints(), set()), content_hash(files)):
            found.update(text.encode() + b"\0")
    return found.hexdigest()[:LENGTH]


def _all_blocks(features: FeatureSet) -> Iterator[Block]:
    for block in features.blocks:
        yield block
        if block.parts is not None:
            yield from _all_blocks(block.parts)


@cache
def of(block: Block) -> str:
    """The fingerprint of a block: the same in every process, on every machine."""
    digest = hashlib.sha256(f"{type(block).__name__} {block.size}".encode())
    for text in _told(block.meaning(), set()):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:LENGTH]


def _told(value: Any, seen: set[CodeType]) -> Iterator[str]:
    """A value as text that doesn't depend on the process or the versions of libraries."""
    if isinstance(value, np.ndarray):
        yield f"{value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, np.generic):
        yield f"{value.dtype.str} {value.item()!r}"
    elif isinstance(value, bool | int | float | complex | str | bytes | None):
        yield repr(value)
    elif isinstance(value, Mapping):
        yield from _told(list(value.items()), seen)
    elif isinstance(value, list | tuple):
        yield f"{len(value)} values"
        for item in value:
            yield from _told(item, seen)
    elif isinstance(value, set | frozenset):
        yield from sorted("\0".join(_told(item, seen)) for item in value)
    elif isinstance(function := _plain(value), FunctionType):
        yield from _function(function, seen)
    else:  # a type, a module, or a kernel of the package
        yield str(getattr(value, "__name__", type(value).__qualname__))


def _plain(value: Any) -> Any:
    """The Python function behind a jitted or cached one; a kernel of the package stays itself."""
    if hasattr(value, "py_func"):
        function = value.py_func
        file = Path(function.__code__.co_filename)
        return value if file.is_relative_to(PACKAGE) and file.parent != _BLOCKS else function
    return inspect.unwrap(value) if callable(value) else value


def _function(function: FunctionType, seen: set[CodeType]) -> Iterator[str]:
    if function.__code__ in seen:
        return
    seen.add(function.__code__)
    yield _source(function.__code__)
    yield from _told(function.__defaults__, seen)
    yield from _told(function.__kwdefaults__, seen)
    for name, value in sorted(used_by(function).items()):
        yield name
        yield from _told(value, seen)


def used_by(function: Any) -> dict[str, Any]:
    """What a function names that stands outside of it, by name: globals and enclosing variables."""
    found = {
        name: function.__globals__[name]
        for name in _names(function.__code__)
        if name in function.__globals__
    }
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not assigned yet
            found[name] = cell.cell_contents
    return found


def _names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


# Sources -----------------------------------------------------------------------------------------


@cache
def tree(file: Path) -> ast.Module:
    """The syntax tree of a file as it was when this process first read it.

    Files of blocks are run from this tree: what is hashed is what runs, also after an edit.

    Raises
    ------
    SyntaxError, ValueError, OSError
        When it is no Python source, or can't be read.
    """
    return ast.parse(file.read_bytes(), str(file))


def _source(code: CodeType) -> str:
    """What stands in a function's definition, behind its name."""
    found = []
    for node in ast.walk(tree(Path(code.co_filename))):
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            continue
        lines = [node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]
        if (getattr(node, "name", "<lambda>"), min(lines)) != (code.co_name, code.co_firstlineno):
            continue
        if isinstance(node, ast.Lambda):
            found.append(_dump(node))
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        found += [_dump(node.args), *map(_dump, body)]
    return " ".join(found)


def _dump(node: Any) -> str:
    """A syntax tree as text; ``ast.dump`` has another for each version of Python."""
    if isinstance(node, ast.AST):
        fields = (
            f"{name}={_dump(value)}"
            for name, value in ast.iter_fields(node)
            if name not in ("annotation", "returns", "type_params", "kind")
        )
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return f"[{','.join(map(_dump, node))}]"
    return repr(node)
