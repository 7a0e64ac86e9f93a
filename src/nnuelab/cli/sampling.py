"""Command sample: positions from games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Workers, app
from nnuelab.cli.options import with_settings
from nnuelab.errors import UserError
from nnuelab.settings.sample import Sampling


@app.command()
@with_settings()
def sample(
    *,
    pgn: Annotated[list[Path], typer.Argument(help="Games: .pgn, .pgn.zst, .gz, .bz2.")],
    output: Annotated[Path, typer.Option(help="Samples, .npy.")],
    settings: Sampling,
    report: Annotated[Path | None, typer.Option(help="Counts and distributions, .json.")] = None,
    plot: Annotated[Path | None, typer.Option(help="The report as a figure, .svg or .png.")] = None,
    workers: Workers = 0,
) -> None:
    """Sample positions from games.

    Example: nnuelab sample games.pgn.zst --output sampled.npy
    """
    from nnuelab.data import sampling

    outputs = [path for path in (output, report, plot) if path is not None]
    if plot is not None:
        from nnuelab import charts

        artifacts.check_ending(plot, "a figure", *charts.FORMATS)
    artifacts.check_apart(pgn, outputs)
    if (path := artifacts.first_repeated(pgn)) is not None:
        # Its games would be split twice, and train and validate.
        raise UserError(f"{path} is given twice; name it once")
    quiet: sampling.QuietFilter | None = None
    if settings.quiet_only:
        from nnuelab.nnue.evaluator import NetEvaluator
        from nnuelab.selfplay.quiet import Quiet  # it brings the engine: slow to load

        quiet = Quiet(NetEvaluator())
    found = sampling.sample(pgn, output, settings, workers, quiet)
    if report is not None or plot is not None:
        from nnuelab.report import sample as sample_report

        told = sample_report.report(output, found)
        if report is not None:
            artifacts.write_json(report, told)
        if plot is not None:
            sample_report.plot(plot, told)
    for name, count in sorted(found.counts.items()):
        typer.echo(f"{name}: {count:,}", err=True)
    for places in found.examples.values():
        typer.echo(f"skipped: {places[0]}", err=True)
