"""What a shell completes: names that are read off files, by nothing that is slow to load."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import typer

BLOCKS = Path(__file__).parents[1] / "features" / "blocks"


def feature_sets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Expressions with their last word completed, by the blocks of the package and one's own."""
    start = max(map(incomplete.rfind, "+*(,")) + 1
    before, word = incomplete[:start], incomplete[start:]
    own = [
        *(ctx.params.get("blocks") or ()),
        *os.environ.get("NNUELAB_BLOCKS", "").split(os.pathsep),
    ]
    files = [*BLOCKS.glob("*.py"), *(Path(name) for name in own if name)]
    names = sorted({name for file in files for name in _blocks(file)})
    if word.islower():
        names = [name.lower() for name in names]
    return [before + name for name in names if name.startswith(word)]


def nets(incomplete: str) -> list[str]:
    """The nets that were made here; where none fits, shells complete any file."""
    found = sorted(str(path) for path in Path().glob("results*/**/*.nnue"))
    return [path for path in found if path.startswith(incomplete)]


def players(incomplete: str) -> list[str]:
    """The same, and the net of the package."""
    return [name for name in ("default", *nets("")) if name.startswith(incomplete)]


def experiments(incomplete: str) -> list[str]:
    """Those of params.yaml, and those with a table."""
    import yaml

    names = {path.name.removesuffix("_table.csv") for path in Path("results").glob("*_table.csv")}
    with suppress(OSError, KeyError, TypeError, yaml.YAMLError):  # no place to complain
        names |= set(yaml.safe_load(Path("params.yaml").read_bytes())["experiments"])
    return [name for name in sorted(names) if name.startswith(incomplete)]


def _blocks(file: Path) -> Iterator[str]:
    """Names of the blocks that a file of blocks defines, but for those with parameters."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in tree.body:
        made = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.Assign):
            made = [node.value]
        for call in made:
            match call:
                case ast.Call(ast.Name("family" | "Concept")):
                    pass
                case ast.Call(ast.Name(), [ast.Constant(str(name)), *_]) if name.isupper():
                    yield name
