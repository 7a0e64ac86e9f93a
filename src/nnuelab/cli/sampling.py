"""Commands sample and sample-part: positions from games."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Workers, app
from nnuelab.cli.options import with_settings
from nnuelab.errors import UserError
from nnuelab.settings.sample import Sampling

if TYPE_CHECKING:
    from nnuelab.data.sampling import QuietFilter


@app.command()
@with_settings()
def sample(
    *,
    pgn: Annotated[
        list[Path] | None, typer.Argument(help="Games: .pgn, .pgn.zst, .gz, .bz2.")
    ] = None,
    parts: Annotated[
        list[Path] | None,
        typer.Option(help="Instead: files of sample-part, in the order of their games."),
    ] = None,
    output: Annotated[Path, typer.Option(help="Samples, .npy.")],
    settings: Sampling,
    report: Annotated[Path | None, typer.Option(help="Counts and distributions, .json.")] = None,
    plot: Annotated[Path | None, typer.Option(help="The report as a figure, .svg or .png.")] = None,
    workers: Workers = 0,
) -> None:
    """Sample positions from games.

    Example: nnuelab sample games.pgn.zst --output sampled.npy

    Example: nnuelab sample games.pgn.zst --output sampled.npy --per-game 10 --min-rating 2000
    --plot sampled.svg
    """
    from nnuelab.data import sampling

    if bool(pgn) == bool(parts):
        raise UserError("give files of games, or --parts of them: one of both")
    outputs = [path for path in (output, report, plot) if path is not None]
    if plot is not None:
        from nnuelab import charts

        artifacts.check_ending(plot, "a figure", *charts.FORMATS)
    _check(pgn or parts or [], outputs)
    if parts:
        found = sampling.join(parts, output, settings)
    else:
        found = sampling.sample(pgn or [], output, settings, workers, _quiet(settings))
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


@app.command("sample-part")
@with_settings()
def sample_part(
    *,
    pgn: Annotated[list[Path], typer.Argument(help="Games: .pgn, .pgn.zst, .gz, .bz2.")],
    output: Annotated[Path, typer.Option(help="Their samples, .sample, for sample --parts.")],
    settings: Sampling,
    workers: Workers = 0,
) -> None:
    """Sample positions from some of the games, on one of several machines.

    `nnuelab sample --parts`, with the same options, leaves out duplicates and writes the same file
    as one job.

    Example: nnuelab sample-part 2024-01.pgn.zst --output 2024-01.sample

    Example: nnuelab sample-part 2024-01.pgn.zst --output 2024-01.sample --only-evaluated
    --min-rating 2000
    """
    from nnuelab.data import sampling

    _check(pgn, [output])
    sampling.sample_part(pgn, output, settings, workers, _quiet(settings))


def _check(paths: list[Path], outputs: list[Path]) -> None:
    """Whether files are named once, and none of them is to be written."""
    artifacts.check_apart(paths, outputs)
    if (path := artifacts.first_repeated(paths)) is not None:
        # Its games would be split twice, and train and validate.
        raise UserError(f"{path} is given twice; name it once")


def _quiet(settings: Sampling) -> QuietFilter | None:
    """Which positions are quiet, if that is wanted."""
    if not settings.quiet_only:
        return None
    from nnuelab.nnue.evaluator import NetEvaluator
    from nnuelab.selfplay.quiet import Quiet  # it brings the engine: slow to load

    return Quiet(NetEvaluator())
