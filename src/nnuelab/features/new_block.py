"""A file of a new block and its test, to begin with."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.features import registry
from nnuelab.features.algebra import NAME

TEMPLATE = Path(__file__).parent / "template"


def create(name: str, folder: Path) -> tuple[Path, Path]:
    """Writes ``name.py`` and ``test_name.py`` in lower case; returns their paths.

    Raises
    ------
    UserError
        When it is no name of a block, is taken, or one of the files is there with another text.
    """
    name = name.upper()
    if not NAME.fullmatch(name):
        raise UserError(f"{name} is no name of a block; take letters, digits and _, a letter first")
    if name in registry.load():
        raise UserError(f"the name {name} is taken by a block; choose another")
    block, test = folder / f"{name.lower()}.py", folder / f"test_{name.lower()}.py"
    texts = {}
    for path, template in ((block, "block.py"), (test, "test_block.py")):
        text = (TEMPLATE / template).read_text().replace('"FILE"', f'"{block.name}"')
        texts[path] = text.replace('"NAME"', f'"{name}"').replace(" NAME:", f" {name}:")
        if path.exists() and path.read_bytes() != texts[path].encode():
            raise UserError(f"{path} is there already; choose another name, or remove it")
    with ExitStack() as written:  # both, or on a full disk none
        for path, text in texts.items():
            written.enter_context(artifacts.atomic(path)).write_text(text)
    return block, test
