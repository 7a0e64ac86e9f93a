"""``nnuelab importance``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks, app
from nnuelab.cli.nnue import need_torch

By = Annotated[
    str,
    typer.Option(
        help="What makes groups: term, role, color, file, rank, 'files apart' (of pairs), the name "
        "of a concept, or several with * between them."
    ),
]


@app.command()
def importance(
    checkpoint: Annotated[Path, typer.Argument(help="Trained net, .pt.")],
    positions: Annotated[
        Path, typer.Option(help="Dataset of games that the net didn't learn from, .npy.")
    ],
    output: Annotated[Path, typer.Option(help="The table to write, CSV.")],
    by: By = "term",
    count: Annotated[int, typer.Option(min=2, help="Positions, evenly spaced.")] = 50_000,
    refit: Annotated[
        bool,
        typer.Option(help="Also fit the layers behind anew, on every second game."),
    ] = True,
    plot: Annotated[Path | None, typer.Option(help="Figure: .svg, .png or .html.")] = None,
    blocks: Blocks = None,
) -> None:
    """Measure what groups of features are worth to a trained net.

    Columns: by, group, features, active, share, norm; rise of the loss when the rows of the group
    are masked, as the net is and after the layers behind them are fitted anew, each with its error.

    Example: nnuelab importance results/nets/ALL/1/checkpoint.pt --by 'term*role'
    --positions results/data/validation.npy --output importance.csv
    """
    need_torch()
    from nnuelab import charts
    from nnuelab.features.groups import groups
    from nnuelab.nnue import importance as measuring
    from nnuelab.progress import Progress
    from nnuelab.report import importance as figures

    outputs = [path for path in (output, plot) if path is not None]
    artifacts.check_apart([checkpoint, positions, *(blocks or [])], outputs)
    if plot is not None:
        artifacts.check_ending(plot, "a figure", *charts.FORMATS)
    found = measuring.Measurement(checkpoint, positions, count, refit)
    rows = []
    total = len(groups(found.checkpoint.features, by))
    with Progress(total, "groups", "importance") as progress:
        for row in found.of_groups(by):
            rows.append(row)
            progress.advance()
    table = measuring.to_csv(rows)
    with artifacts.atomic(output) as temporary:
        temporary.write_text(table)
    if plot is not None:
        charts.save(plot, figures.figure(rows, found.loss))
    for path in outputs:
        artifacts.provenance(
            path,
            inputs={"checkpoint": checkpoint, "positions": positions},
            parameters={"by": by, "count": count, "refit": refit, "loss": found.loss},
            module="report.importance",
        )
    sys.stdout.write(table)
    print(f"loss {found.loss:.6f} with all features", file=sys.stderr)
