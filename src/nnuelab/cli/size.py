"""The first layer that costs what another net's does: `nnuelab size`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.cli.options import with_settings
from nnuelab.settings import found as found_settings
from nnuelab.settings.games import Pricing


@app.command()
@with_settings()
def size(
    *,
    anchor: Annotated[
        Path,
        typer.Argument(help="Net whose node costs 1.", autocompletion=completion.nets),
    ],
    nets: Annotated[
        list[Path],
        typer.Argument(
            help="Nets of one feature set that differ in --l1 alone.",
            metavar="NET...",
            autocompletion=completion.nets,
        ),
    ],
    positions: Annotated[Path, typer.Option(help="Dataset of positions to search, .npy.")],
    output: Annotated[Path, typer.Option(help="The size, .json.")],
    costs: Annotated[Path, typer.Option(help="What the nets cost, .csv.")],
    settings: Pricing,
    blocks: Blocks = None,
) -> None:
    """Find the first layer with which a node of a feature set costs what the anchor's does.

    Measures what a node costs with the anchor and with nets of some sizes (as nnuelab cost does),
    draws lines between them, and rounds to what the engine pads first layers to. Short trainings
    will do. nnuelab train --found trains a net of that size.

    Example: nnuelab size ALL.nnue MB-64.nnue MB-128.nnue MB-256.nnue --positions validation.npy
    --output size.json --costs size.csv

    Example: nnuelab size ALL.nnue RING-64.nnue RING-256.nnue --positions validation.npy
    --output size.json --costs size.csv --precision 0.005 --blocks my_blocks.py
    """
    from nnuelab.nnue.netfile import read_net
    from nnuelab.report.render import print_csv
    from nnuelab.tournament import cost
    from nnuelab.tournament import size as sizes

    artifacts.check_apart([anchor, *nets, positions, *(blocks or [])], [output, costs])
    artifacts.check_ending(output, "a size", ".json")
    artifacts.check_ending(costs, "a table", ".csv")
    found, measured = sizes.measure(anchor, nets, positions, settings, costs)
    found_settings.write(output, "l1", found.l1)
    inputs = {"positions": positions, sizes.ANCHOR: anchor}
    inputs |= {each.name: net for each, net in zip(measured[1:], nets, strict=True)}
    for path in (output, costs):
        artifacts.provenance(
            path,
            inputs=inputs,
            parameters={
                "precision": settings.precision,
                "nodes": cost.NODES,
                "machine": cost.machine(),
                **asdict(found),
            },
            seed=settings.seed,
            module="tournament.size",
        )
    first, widest = read_net(anchor), max(each.error for each in measured)
    print(
        f"{output}: {found.l1} neurons of {read_net(nets[0]).feature_set}, whose node costs "
        f"{found.cost:.2f} times that of {first.feature_set} with {first.l1}; "
        f"{found.exact:.0f} would cost the same (costs are known to {widest:.1%})",
        file=sys.stderr,
    )
    print_csv(costs.read_text())
