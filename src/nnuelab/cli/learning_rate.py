"""The learning rate of a feature set: `nnuelab learning-rate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks, app
from nnuelab.settings import found


@app.command("learning-rate")
def learning_rate(
    *,
    checkpoints: Annotated[
        list[Path],
        typer.Argument(
            help="Trainings that differ in --learning-rate alone.", metavar="CHECKPOINT..."
        ),
    ],
    output: Annotated[Path, typer.Option(help="The rate, .json.")],
    losses: Annotated[Path, typer.Option(help="Rates and validation losses, .csv.")],
    blocks: Blocks = None,
) -> None:
    """Choose the learning rate with the lowest validation loss.

    One rate isn't fair to all feature sets: they differ in the one that suits them.
    nnuelab train --found trains with the rate that was chosen.

    Example: nnuelab learning-rate slow.pt fast.pt --output rate.json --losses rates.csv

    Example: nnuelab learning-rate rates/*.pt --output rate.json --losses rates.csv
    --blocks my_blocks.py
    """
    artifacts.check_apart([*checkpoints, *(blocks or [])], [output, losses])
    artifacts.check_ending(output, "a rate", ".json")
    artifacts.check_ending(losses, "a table", ".csv")
    from nnuelab.nnue import rates
    from nnuelab.report.render import print_csv

    trials = rates.read(checkpoints)
    chosen = rates.best(trials)
    rates.write(losses, trials)
    found.write(output, "learning_rate", chosen.learning_rate)
    for path in (output, losses):
        artifacts.provenance(
            path,
            inputs={str(number): path for number, path in enumerate(checkpoints, 1)},
            parameters={"rates": [trial.learning_rate for trial in trials]},
            module="nnue.rates",
        )
    ends = {trials[0]: "lowest", trials[-1]: "highest"}
    further = f"; it is the {ends[chosen]} one tried: try others" if chosen in ends else ""
    print(
        f"{output}: learning rate {chosen.learning_rate:g}, validation loss "
        f"{chosen.validation_loss:.6f}{further}",
        file=sys.stderr,
    )
    print_csv(losses.read_text())
