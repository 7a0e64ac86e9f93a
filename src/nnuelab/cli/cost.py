"""What a node costs: `nnuelab cost`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app, named_files
from nnuelab.cli.options import with_settings
from nnuelab.settings.games import Pricing


@app.command()
@with_settings()
def cost(
    *,
    nets: Annotated[
        list[str],
        typer.Argument(
            help="A trained net of each feature set, all of one seed.",
            metavar="NAME=NET...",
            autocompletion=completion.nets,
        ),
    ],
    positions: Annotated[Path, typer.Option(help="Dataset of positions to search, .npy.")],
    output: Annotated[Path, typer.Option(help="The costs, .csv.")],
    anchor: Annotated[str, typer.Option(help="SET or SET,VARIANT whose cost is 1.")] = "ALL",
    settings: Pricing,
    blocks: Blocks = None,
) -> None:
    """Measure what a node costs with each net: CPU time in searches, relative to the anchor's.

    All nets search the same positions in turn, on one core, until the costs are known to 1 %; a
    measurement that is killed continues.
    Writes CSV: name, cost, error (95 %, a share of the cost), nodes_per_second, rounds. Tournaments
    at equal cost divide the nodes of each player by its cost: `nnuelab tournament --cost`.

    Example: nnuelab cost ALL=results/nets/ALL/1/net.nnue H+V=results/nets/H+V/1/net.nnue
    --positions results/data/validation.npy --output cost.csv

    Example: nnuelab cost HALFKP=halfkp.nnue ALL+H+V=lines.nnue --positions validation.npy
    --output cost.csv --anchor HALFKP --precision 0.005
    """
    from nnuelab.nnue.netfile import read_net
    from nnuelab.report.render import print_csv
    from nnuelab.tournament import cost as costs

    paths = named_files(nets)
    artifacts.check_apart([*paths.values(), positions, *(blocks or [])], [output])
    artifacts.check_ending(output, "a table", ".csv")
    found = costs.measure(paths, positions, anchor, settings, output)
    headers = {name: read_net(path) for name, path in paths.items()}
    artifacts.provenance(
        output,
        inputs={"positions": positions, **paths},
        parameters={
            "anchor": anchor,
            "precision": settings.precision,
            "nodes": costs.NODES,
            "machine": costs.machine(),
            "layers": {name: str(net.layers) for name, net in headers.items()},
        },
        seed=settings.seed,
        module="tournament.cost",
    )
    if (widest := max(each.error for each in found)) > settings.precision:
        print(
            f"{output}: costs are known to {widest:.1%}, not to {settings.precision:.1%}, after "
            f"{found[0].rounds} rounds; measure again on a quieter machine, or with more --rounds",
            file=sys.stderr,
        )
    print_csv(output.read_text())
