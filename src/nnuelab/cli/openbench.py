"""``nnuelab openbench``: settings and nets for OpenBench, after a trial of the engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import app

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
REPOSITORY = re.compile(r"https://github\.com/[A-Za-z0-9-]+/[A-Za-z0-9_.-]+/?")


@app.command()
def openbench(
    source: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The engine's repository, as it is here.")
    ],
    files: Annotated[
        list[Path],
        typer.Option("--net", help="What EVALFILE may be: the net to test, then the base's."),
    ],
    name: Annotated[str, typer.Option(help="The engine's.")],
    repository: Annotated[str, typer.Option(help="Its address on GitHub.")],
    output: Annotated[Path, typer.Option(help="Folder for Engines/ and Networks/.")],
    path: Annotated[
        str, typer.Option(help="Where the Makefile lies in it; in its root if empty.")
    ] = "",
    branch: Annotated[str, typer.Option(help="What tests compare with.")] = "main",
    compiler: Annotated[str, typer.Option(help="For CXX, or for CC where it has no ++.")] = "g++",
    book: Annotated[
        str, typer.Option(help="One of OpenBench's books.")
    ] = "UHO_Lichess_4852_v1.epd",
    sprt: Annotated[str, typer.Option(help="Hypotheses of its tests, ELO0,ELO1.")] = "0,5",
) -> None:
    """Write what OpenBench needs to test nets in your engine, after a trial of its Makefile.

    Builds a copy of FOLDER with each net as OpenBench does (`make EXE=... EVALFILE=...`) and checks
    what its workers rely on: the program, its `bench`, its options Threads and Hash, and that the
    net is built in. Then writes Engines/NAME.json, and each net under its name in Networks.

    Example: nnuelab openbench ../mine --path src --net nnue.bin --name Mine --repository
    https://github.com/me/mine --output openbench

    Example: nnuelab openbench ../mine --net new.bin --net old.bin --name Mine
    --repository https://github.com/me/mine --output openbench --compiler clang++ --sprt 0,3
    """
    from nnuelab.export.openbench import Project, net_name, write
    from nnuelab.tournament.sprt import read_test
    from nnuelab.tournament.words import Model

    if not NAME.fullmatch(name):
        raise typer.BadParameter(f"--name {name!r}: letters, digits, dots and hyphens, as MyEngine")
    if not REPOSITORY.fullmatch(repository):
        raise typer.BadParameter(
            f"--repository {repository!r}: OpenBench takes https://github.com/USER/REPOSITORY alone"
        )
    test = read_test(sprt, Model.NORMALIZED)
    project = Project(name, repository, path, branch, compiler, book, (test.elo0, test.elo1))
    nps = write(output, source, project, files)
    artifacts.provenance(
        output / "Engines" / f"{name}.json",
        inputs=artifacts.by_name(files),
        parameters={"source": str(source), "nps": nps},
        module="export.openbench",
    )
    nets = ", ".join(map(net_name, files))
    typer.echo(f"{output}: {name}, {nps:,} nodes/s, nets {nets}", err=True)
