"""The Rust crate of a net: a safe layer over its C library."""

from __future__ import annotations

from pathlib import Path

from nnuelab.export import library
from nnuelab.export.flat import Term
from nnuelab.nnue.netfile import Net

SOURCES = Path(__file__).parent / "rust"
FOLDERS = {"lib.rs": "src", "games.rs": "tests"}
"""Of the files that aren't at the top."""


def write(folder: Path, net: Net, terms: list[Term]) -> None:
    """Writes the crate into a folder."""
    library.write(folder, net, terms)
    (folder / "test" / "test.c").unlink()  # tests/games.rs compares the same
    for source in sorted(SOURCES.iterdir()):
        target = folder / FOLDERS.get(source.name, "") / source.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(library.filled(source.read_text(), net, terms))
