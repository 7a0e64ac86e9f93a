"""The sequential test between two feature sets: `nnuelab sequential`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    """
    from nnuelab.tournament.sequential import looks, read_rounds

    found = looks(read_rounds(pgn, feature_set, anchor), settings)
    print("seed,games,elo,mean,low,high,verdict")
    for look in found:
        numbers = ",".join(f"{value:.1f}" for value in (look.elo, look.mean, look.low, look.high))
        print(f"{look.seed},{look.games},{numbers},{look.verdict}")
