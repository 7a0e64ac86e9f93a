"""``nnuelab pqr``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks, app, named_files


@app.command()
def pqr(
    nets: Annotated[
        list[str],
        typer.Argument(metavar="NET|NAME=NET...", help="Nets, .nnue or .nn, and checkpoints, .pt."),
    ],
    positions: Annotated[
        Path, typer.Option(help="Dataset of games that the nets weren't trained on, .npy.")
    ],
    count: Annotated[int, typer.Option(min=0, help="Triplets, evenly spaced; 0: all.")] = 50_000,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    output: Annotated[
        Path | None, typer.Option(help="JSON: all figures, and values of 4,000 triplets.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="The table as CSV.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="f(P) against f(Q), f(R) - f(Q): .svg, .png or .html.")
    ] = None,
    blocks: Blocks = None,
) -> None:
    """Test whether nets tell the move played (from P to Q) from another (from P to R).

    Prints the share with the right sign of f(R) - f(Q), with 95 % Wilson intervals, and how well
    f(P) matches -f(Q), beside an untrained net and a count of material (100, 300, 300, 500, 900).

    Example: nnuelab pqr results/nets/ALL/1/net.nnue --positions results/data/validation.npy
    --plot pqr.svg

    Example: nnuelab pqr scores=scores.pt tuned=tuned.pt --positions test.npy --count 0
    --csv pqr.csv
    """
    import json as encoder

    from nnuelab import charts
    from nnuelab.nnue import pqr as triplets
    from nnuelab.report import inspect, render
    from nnuelab.report import pqr as figures

    files = named_files(nets)
    outputs = [path for path in (output, csv, plot) if path is not None]
    artifacts.check_apart([*files.values(), positions, *(blocks or [])], outputs)
    if plot is not None:
        artifacts.check_ending(plot, "a figure", *charts.FORMATS)
    asked = triplets.held_out(positions, count)
    said = triplets.values(files, asked)
    found = [triplets.judge(name, values, asked.games) for name, values in said.items()]
    told = figures.content(found, {name: said[name] for name in files})
    if output is not None:
        artifacts.write_json(output, told)
    if csv is not None:
        with artifacts.atomic(csv) as temporary:
            temporary.write_text(figures.to_csv(found))
    if plot is not None:
        charts.save(plot, figures.figure(told["pqr_centipawns"]))
    for path in outputs:
        artifacts.provenance(
            path,
            inputs={"positions": positions, **files},
            parameters={"count": count},
            module="report.pqr",
        )
    if json:
        print(encoder.dumps({"triplets": len(asked), "nets": told["nets"]}, indent=2))
    else:
        with render.output() as console:
            render.show(inspect.of_triplets(output or positions, told), console)
