"""``nnuelab export``: a net as code for other engines."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app


class Language(StrEnum):
    """Of the code."""

    C = "c"
    CPP = "cpp"
    RUST = "rust"
    PYTHON = "python"


@app.command()
def export(
    net: Annotated[
        Path,
        typer.Argument(metavar="NET", help="Net, .nnue or .nn.", autocompletion=completion.nets),
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write, a new one.")],
    lang: Annotated[
        Language,
        typer.Option(help="c, also for C++ (cpp is the same); rust; python to read, with numpy."),
    ] = Language.C,
    games: Annotated[int, typer.Option(min=1, help="Random games of its tests.")] = 100,
    blocks: Blocks = None,
) -> None:
    """Write a net as code for other engines, with its tests.

    Example: nnuelab export results/nets/ALL+H+V/1/net.nnue my-engine/nnue

    Example: nnuelab export net.nnue my-crate --lang rust --games 500
    """
    from nnuelab.export import folder as exported
    from nnuelab.nnue.netfile import read_net

    artifacts.check_apart([net, *(blocks or [])], [folder])
    language = "c" if lang == Language.CPP else lang.value
    read = read_net(net)
    exported.write(folder, read, language, games)
    test = f"python {folder / 'nnue.py'}" if lang == Language.PYTHON else f"make -C {folder} test"
    typer.echo(f"{folder}: {read.feature_set}, {read.layers}; test it with {test}", err=True)
