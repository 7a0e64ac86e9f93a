"""Command sample: positions from games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Seed, Workers, app
from nnuelab.errors import UserError


@app.command()
def sample(
    pgn: Annotated[list[Path], typer.Argument(help="Games: .pgn, .pgn.zst, .gz, .bz2.")],
    output: Annotated[Path, typer.Option(help="Samples, .npy.")],
    min_ply: Annotated[int, typer.Option(min=0, help="Plies played before, at least.")] = 16,
    per_game: Annotated[int, typer.Option(min=0, help="Drawn from each game; 0: all.")] = 0,
    skip_check: Annotated[bool, typer.Option(help="Leave out positions in check.")] = True,
    skip_captures: Annotated[
        bool, typer.Option(help="Leave out positions before a capture.")
    ] = True,
    skip_promotions: Annotated[
        bool, typer.Option(help="Leave out positions before a promotion.")
    ] = True,
    skip_duplicates: Annotated[
        bool, typer.Option(help="Leave out positions that were seen before.")
    ] = False,
    min_pieces: Annotated[int, typer.Option(min=2, max=32, help="On the board, at least.")] = 2,
    max_pieces: Annotated[int, typer.Option(min=2, max=32, help="On the board, at most.")] = 32,
    max_score: Annotated[
        int, typer.Option(min=0, help="Leave out a larger |[%eval]|, centipawns; 0: none.")
    ] = 0,
    only_evaluated: Annotated[bool, typer.Option(help="Skip games without any [%eval].")] = False,
    start_positions: Annotated[
        bool, typer.Option(help="Take games from other start positions, too.")
    ] = True,
    min_rating: Annotated[int, typer.Option(min=0, help="Elo of both players; 0: any.")] = 0,
    max_rating: Annotated[int, typer.Option(min=0, help="Elo of both players; 0: any.")] = 0,
    min_seconds: Annotated[
        int, typer.Option(min=0, help="Time of a player for 40 moves; 0: any.")
    ] = 0,
    max_seconds: Annotated[
        int, typer.Option(min=0, help="Time of a player for 40 moves; 0: any.")
    ] = 0,
    terminations: Annotated[
        list[str] | None, typer.Option(help="Tag Termination of a game (again for more); any.")
    ] = None,
    quiet_only: Annotated[
        bool, typer.Option(help="Leave out positions that a capture or a promotion improves.")
    ] = False,
    max_unreadable: Annotated[
        float, typer.Option(min=0, max=1, help="Share of unreadable games that is accepted.")
    ] = 0.1,
    max_positions: Annotated[int, typer.Option(min=0, help="Stop after so many; 0: never.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Counts and distributions, .json.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="The report as a figure, .svg, .png or .html.")
    ] = None,
    seed: Seed = 1,
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
    options = sampling.Sampling(
        min_ply=min_ply,
        per_game=per_game,
        skip_check=skip_check,
        skip_captures=skip_captures,
        skip_promotions=skip_promotions,
        skip_duplicates=skip_duplicates,
        min_pieces=min_pieces,
        max_pieces=max_pieces,
        max_score=max_score,
        only_evaluated=only_evaluated,
        start_positions=start_positions,
        min_rating=min_rating,
        max_rating=max_rating,
        min_seconds=min_seconds,
        max_seconds=max_seconds,
        terminations=tuple(terminations or ()),
        max_unreadable=max_unreadable,
        seed=seed,
    )
    quiet: sampling.QuietFilter | None = None
    if quiet_only:
        from nnuelab.selfplay.quiet import quiet as is_quiet  # it brings the engine: slow to load

        quiet = is_quiet
    found = sampling.sample(pgn, output, options, max_positions, workers, quiet)
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
