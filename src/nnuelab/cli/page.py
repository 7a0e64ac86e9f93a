"""Commands that show all results: report, paper, serve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.errors import UserError, clipped, nearest

ResultsFolder = Annotated[
    Path, typer.Option("--results", metavar="FOLDER", help="Where the workflow put its files.")
]


@app.command()
def report(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments, in order; default: all that have a table.",
            autocompletion=completion.experiments,
        ),
    ] = None,
    results: ResultsFolder = Path("results"),
    output: Annotated[Path, typer.Option(help="The page.")] = Path("results/report.html"),
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Its figures as SVG, too.")
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Its tables for `dvc metrics`: EXPERIMENT/SET.json."),
    ] = None,
    blocks: Blocks = None,
) -> None:
    """Make one HTML page of all results; missing parts are reported in their place.

    Example: nnuelab report axis pairwise --output results/report.html

    Example: nnuelab report --results results-tiny --output results-tiny/report.html
    --figures results-tiny/figures
    """
    from nnuelab import artifacts
    from nnuelab.report import export, page
    from nnuelab.report import results as found

    if not results.is_dir():
        raise UserError(f"there is no folder {results}; make some results: snakemake")
    gathered = found.gather(results, experiments or [])
    artifacts.check_apart([*gathered.files, *(blocks or [])], [output])
    missing = [e.name for e in gathered.experiments if not e.rows]
    known = [*completion.experiments(""), *(e.name for e in gathered.experiments if e.rows)]
    asked = [name + (nearest(name, known) if name not in known else "") for name in missing]
    if experiments and not any(experiment.name in known for experiment in gathered.experiments):
        problems = (problem for each in gathered.experiments for problem in each.problems)
        told = (problem.partition("; make it: ")[0] for problem in problems)  # it has no target
        raise UserError(f"no table of {', '.join(asked)}: {'; '.join(told)}")
    built = page.build(gathered)
    with artifacts.atomic(output) as temporary:
        temporary.write_text(built.html)
    more: dict[str, str] = {}
    if figures is not None:
        more |= export.figures(built.figures, figures)
    if metrics is not None:
        more |= export.metrics(gathered.experiments, metrics)
    artifacts.provenance(
        output,
        inputs={str(path): path for path in gathered.files},
        parameters={"experiments": [experiment.name for experiment in gathered.experiments]},
        module="report.page",
        also=more,
    )
    said = f"; not made yet: {', '.join(asked)}" if missing else ""
    typer.echo(f"{output}: {len(built.html.encode()) / 1e6:.1f} MB{said}", err=True)


@app.command()
def paper(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments, in order; default: all that have a table.",
            autocompletion=completion.experiments,
        ),
    ] = None,
    results: ResultsFolder = Path("results"),
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="For the files.")] = Path(
        "results/paper"
    ),
    blocks: Blocks = None,
) -> None:
    """Make the tables (LaTeX, CSV) and figures (PDF, CSV) of a paper, and a paper.tex of them.

    Example: nnuelab paper axis pairwise --output results/paper

    Example: nnuelab paper --results results-tiny --output results-tiny/paper
    """
    from nnuelab import artifacts
    from nnuelab.report import paper
    from nnuelab.report import results as found

    if not results.is_dir():
        raise UserError(f"there is no folder {results}; make some results: snakemake")
    gathered = found.gather(results, experiments or [])
    for experiment in gathered.experiments:
        if not experiment.rows:
            raise UserError("; ".join([f"{experiment.name} has no table", *experiment.problems]))
    if not gathered.experiments:
        raise UserError(f"there is no table in {results}; make one: snakemake")
    made = paper.make(gathered, output)
    artifacts.provenance(
        output / "paper.tex",
        inputs={str(path): path for path in gathered.files},
        parameters={"experiments": [experiment.name for experiment in gathered.experiments]},
        module="report.paper",
        also=made,
    )
    typer.echo(f"{output}: {len(made)} files", err=True)


@app.command()
def serve(
    results: ResultsFolder = Path("results"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    policy: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="A policy to play against, besides those of the results."
        ),
    ] = None,
    blocks: Blocks = None,
) -> None:
    """Serve the page on this machine, and a board to play against policies.

    The page lets the engine analyse positions of your own, and shows a run of the workflow live.

    Example: nnuelab serve --port 8001 --policy net.policy

    Example: nnuelab serve --results results-tiny
    """
    from nnuelab.report import play
    from nnuelab.report import results as found
    from nnuelab.report.live import Live
    from nnuelab.report.serve import HOST, Answers, Server

    gathered = found.gather(results, [])
    policies, broken = play.gather(results, policy or [])
    told = [*gathered.problems, *(p for e in gathered.experiments for p in e.problems), *broken]
    for problem in told:
        typer.echo(clipped(problem), err=True)
    opponents = play.Opponents(policies) if policies else None
    live = Live(results)
    answers = Answers(gathered.nets, results / "report.html", opponents, live)
    with Server(answers, port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        typer.echo(f"{address} (stop with Ctrl-C)", err=True)
        if live.has_run:
            typer.echo(f"{address}#/live: the run of the workflow", err=True)
        if opponents:
            typer.echo(f"{address}play: a game with {', '.join(opponents.names)}", err=True)
        server.serve_forever()
