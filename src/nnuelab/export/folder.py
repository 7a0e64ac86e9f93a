"""The folder that a net is exported to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.export import flat, library, numpy_code, proof, rust_code
from nnuelab.nnue.netfile import Net

WRITERS: dict[str, Callable[[Path, Net, list[flat.Term]], None]] = {
    "c": library.write,
    "rust": rust_code.write,
    "python": numpy_code.write,
}
"""What writes the code, by language."""


def write(folder: Path, net: Net, language: str, games: int) -> list[flat.Term]:
    """Writes code, weights and tests; all of it or nothing. Returns the terms of the set.

    Raises
    ------
    UserError
        When the net can't be exported, or the folder has something in it or can't be written.
    """
    terms = flat.terms_of(net.features)
    if not folder.name or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UserError(f"{folder} is there already; name a new folder, or remove it")
    with artifacts.atomic(folder, folder=True) as temporary:
        WRITERS[language](temporary, net, terms)
        (temporary / "test").mkdir(exist_ok=True)
        with (temporary / "test" / "games.txt").open("w") as file:
            file.writelines(f"{line}\n" for line in proof.lines(net, games))
    return terms
