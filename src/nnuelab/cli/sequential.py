"""Sequential tests that were made: `nnuelab sequential` of sets, `nnuelab sprt-table` of nets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import app
from nnuelab.cli.options import with_settings
from nnuelab.settings.sequential import Stopping


@app.command()
@with_settings()
def sequential(
    *,
    pgn: Annotated[
        list[Path], typer.Argument(help="Rounds so far: matches of SET#SEED and ANCHOR#SEED.")
    ],
    feature_set: Annotated[str, typer.Option("--set", help="SET or SET,VARIANT that is tested.")],
    anchor: Annotated[str, typer.Option(help="SET or SET,VARIANT it is compared with.")] = "ALL",
    settings: Stopping,
) -> None:
    """Test a feature set against another, round by round: may it end, and with which verdict?

    A round is a match of one newly trained net of each set; the rounds so far are all that the test
    knows, so it can be continued on any day. Prints CSV, a line for each round: seed, games, elo,
    mean, low, high, verdict (stronger, weaker, equivalent, or undecided after the last; empty: play
    the next round). All intervals together hold with 1 - alpha.

    Example: nnuelab sequential results/rounds/*.pgn --set ALL+MB --rounds 10 --equivalence 15

    Example: nnuelab sequential results/rounds/*.pgn --set H+V,l1-512 --anchor ALL,l1-512
    --alpha 0.01
    """
    from nnuelab.report.render import print_rows
    from nnuelab.tournament.sequential import looks, read_rounds

    found = looks(read_rounds(pgn, feature_set, anchor), settings)
    rows = []
    for look in found:
        numbers = (f"{value:.1f}" for value in (look.elo, look.mean, look.low, look.high))
        rows.append([look.seed, look.games, *numbers, look.verdict])
    print_rows(["seed", "games", "elo", "mean", "low", "high", "verdict"], rows)


@app.command("sprt-table")
def sprt_table(
    pgn: Annotated[
        list[Path], typer.Argument(help="Matches of `nnuelab tournament --sprt`, with their .json.")
    ],
    csv: Annotated[Path | None, typer.Option(help="Also write the table to this file.")] = None,
) -> None:
    """Gather sequential tests of two players each, made while they played.

    Prints CSV: player, opponent, the hypotheses elo0 and elo1 with their model, then as `nnuelab
    sprt` does. The verdict is elo0, elo1, or empty where the games ended first. The Elo of a match
    that a test ended is overstated.

    Example: nnuelab sprt-table results/tournament/sprt/mine/*/*.pgn

    Example: nnuelab sprt-table first.pgn second.pgn --csv sprt.csv
    """
    from nnuelab.report.render import print_csv
    from nnuelab.report.sprt import row, to_csv

    if csv is not None:
        artifacts.check_apart(pgn, [csv])
    table = to_csv(map(row, pgn))
    if csv is not None:
        with artifacts.atomic(csv) as temporary:
            temporary.write_text(table)
        artifacts.provenance(
            csv, inputs=artifacts.by_name(pgn), parameters={}, module="report.sprt"
        )
    print_csv(table)
