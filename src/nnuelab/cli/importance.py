"""``nnuelab importance``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nnuelab import artifacts
from nnuelab.cli.app import OWN_BOOK, Blocks, OwnBook, Workers, app
from nnuelab.errors import UserError

if TYPE_CHECKING:
    from nnuelab.charts import Figure

Trained = Annotated[Path, typer.Argument(help="Trained net, .pt.")]
Positions = Annotated[
    Path, typer.Option(help="Dataset of games that the net didn't learn from, .npy.")
]
Output = Annotated[Path, typer.Option(help="The table to write, CSV.")]
By = Annotated[
    str,
    typer.Option(
        help="What makes groups: term, role, color, file, rank, 'files apart' (of pairs), the name "
        "of a concept, or several with * between them."
    ),
]
Count = Annotated[int, typer.Option(min=2, help="Positions, evenly spaced.")]
Plot = Annotated[Path | None, typer.Option(help="Figure: .svg, .png or .html.")]


@app.command()
def importance(
    checkpoint: Trained,
    positions: Positions,
    output: Output,
    by: By = "term",
    without: Annotated[
        list[str] | None,
        typer.Option(
            help="Group to mask; several, all together: repeat it.", show_default="each, alone"
        ),
    ] = None,
    count: Count = 50_000,
    refit: Annotated[
        bool,
        typer.Option(help="Also fit the layers behind anew, on every second game."),
    ] = True,
    plot: Plot = None,
    net: Annotated[
        Path | None,
        typer.Option(help="Its integer net, .nnue: also plays without each group, against itself."),
    ] = None,
    pgn: Annotated[
        Path | None,
        typer.Option(help="Where these games go.", show_default="the output's name, .pgn"),
    ] = None,
    games: Annotated[int, typer.Option(min=2, help="For each group; even.")] = 400,
    nodes: Annotated[int, typer.Option(min=1, help="Per move.")] = 400,
    book: OwnBook = OWN_BOOK,
    workers: Workers = 0,
    blocks: Blocks = None,
) -> None:
    """Measure what groups of features are worth to a trained net.

    Columns: by, group, features, active, share, norm; rise of the loss when the rows of the group
    are masked, as the net is and after the layers behind them are fitted anew, each with its error;
    with --net the Elo of the net without the group. Games go on when the command is given again.

    Example: nnuelab importance results/nets/ALL/1/checkpoint.pt --by 'term*role'
    --positions results/data/validation.npy --output importance.csv

    Example: nnuelab importance checkpoint.pt --positions validation.npy --output importance.csv
    --plot importance.svg --net net.nnue --games 1000
    """
    from nnuelab import charts
    from nnuelab.features.groups import alone_or_together
    from nnuelab.nnue import importance as measuring
    from nnuelab.nnue import netfile
    from nnuelab.progress import Progress
    from nnuelab.report import importance as figures
    from nnuelab.settings.games import Games
    from nnuelab.tournament import masked

    pgn = pgn or output.with_suffix(".pgn")
    outputs = [path for path in (output, plot) if path is not None]
    read = [checkpoint, positions, *(blocks or []), *([] if net is None else [net, book])]
    artifacts.check_apart(read, [*outputs, *([] if net is None else [pgn])])
    if games % 2:
        raise typer.BadParameter(f"{games} games don't form pairs; give an even number")
    if plot is not None:
        artifacts.check_ending(plot, "a figure", *charts.FORMATS)
    found = measuring.Measurement(checkpoint, positions, count, refit)
    rows = []
    together = without or []
    total = len(alone_or_together(found.checkpoint.features, by, together))
    if net is not None:
        artifacts.check_ending(pgn, "a PGN file", ".pgn")
        if (other := netfile.read_net(net).feature_set) != found.checkpoint.feature_set:
            raise UserError(f"{net} is a net of {other}, {checkpoint} of another set; give its own")
    with Progress(total, "groups", "importance") as progress:
        for row in found.of_groups(by, together):
            rows.append(row)
            progress.advance()
    if net is not None:
        playing = Games(games_per_pairing=games, nodes=nodes)
        elo = masked.play(net, by, together, book, pgn, playing, workers)
        rows = [
            replace(row, elo=value, elo_error=error)
            for row in rows
            for value, error in [elo[row.group]]
        ]
    inputs = {
        "checkpoint": checkpoint,
        "positions": positions,
        **({} if net is None else {"net": net, "games": pgn}),
    }
    parameters = {"by": by, "count": count, "refit": refit, "loss": found.loss}
    if together:
        parameters["without"] = together
    drawn = None if plot is None else figures.figure(rows, found.loss)
    _write(measuring.to_csv(rows), output, drawn, plot, inputs, parameters)
    print(f"loss {found.loss:.6f} with all features", file=sys.stderr)


@app.command("importance-path")
def importance_path(
    checkpoint: Trained,
    positions: Positions,
    output: Output,
    by: By = "term",
    count: Count = 50_000,
    plot: Plot = None,
    blocks: Blocks = None,
) -> None:
    """Let a trained net choose among groups of features, all at once.

    Each group has a gate that multiplies its rows, and open gates have a rising price: the path of
    the nonnegative garrote. Columns: penalty (the price, a share of the net's loss), by, group,
    features, gate (0: left out); rise of the loss without the groups that are left out, once biases
    and the layers behind are fitted anew, with its error. Half of the games fit, half measure.

    Example: nnuelab importance-path results/nets/ALL+PP/1/checkpoint.pt --by 'term*files apart'
    --positions results/data/validation.npy --output path.csv

    Example: nnuelab importance-path results/nets/ALL+H+V/1/checkpoint.pt
    --positions results/data/validation.npy --output path.csv --plot path.svg
    """
    from nnuelab import charts
    from nnuelab.nnue import garrote
    from nnuelab.nnue import importance as measuring
    from nnuelab.progress import Progress
    from nnuelab.report import importance as figures

    outputs = [path for path in (output, plot) if path is not None]
    artifacts.check_apart([checkpoint, positions, *(blocks or [])], outputs)
    if plot is not None:
        artifacts.check_ending(plot, "a figure", *charts.FORMATS)
    found = measuring.Measurement(checkpoint, positions, count, refit=True)
    points = []
    with Progress(len(garrote.PENALTIES), "penalties", "importance") as progress:
        for point in garrote.path(found, by):
            points.append(point)
            progress.advance()
    table = measuring.to_csv([gate for point in points for gate in point])
    inputs = {"checkpoint": checkpoint, "positions": positions}
    parameters = {"by": by, "count": count, "loss": found.loss}
    drawn = None if plot is None else figures.path_figure(points, found.loss)
    _write(table, output, drawn, plot, inputs, parameters)


def _write(
    table: str,
    output: Path,
    drawn: Figure | None,
    plot: Path | None,
    inputs: Mapping[str, Path],
    parameters: Mapping[str, Any],
) -> None:
    """Writes a table, its figure if there is one, and their provenance, and prints the table."""
    from nnuelab import charts
    from nnuelab.report.render import print_csv

    written = [output]
    with artifacts.atomic(output) as temporary:
        temporary.write_text(table)
    if drawn is not None and plot is not None:
        charts.save(plot, drawn)
        written.append(plot)
    for path in written:
        artifacts.provenance(path, inputs=inputs, parameters=parameters, module="report.importance")
    print_csv(table)
