"""``nnuelab policy agreement``: what policies say of the moves that others played."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks, named_files
from nnuelab.cli.policy import policy_app
from nnuelab.settings import MAX_SEED


@policy_app.command()
def agreement(
    policies: Annotated[
        list[str], typer.Argument(metavar="POLICY|NAME=POLICY...", help="Policies, .policy.")
    ],
    games: Annotated[
        list[Path], typer.Option(help="Games of a tournament, .pgn; may be repeated.")
    ],
    csv: Annotated[Path, typer.Option(help="A row for each policy and player, .csv.")],
    count: Annotated[int, typer.Option(min=1, help="Games, drawn from all.")] = 300,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of that draw.")] = 1,
    blocks: Blocks = None,
) -> None:
    """Measure which share of a player's moves policies would have chosen.

    Example: nnuelab policy agreement pair=results/policy/nets/pair/1/net.policy
    --games results/tournament/axis.pgn --csv agreement.csv

    Example: nnuelab policy agreement first.policy second.policy --games axis.pgn
    --games pairwise.pgn --count 1000 --csv agreement.csv
    """
    from nnuelab.policy.policyfile import read_policy
    from nnuelab.report import agreement as report

    files = named_files(policies)
    artifacts.check_ending(csv, "a table", ".csv")
    artifacts.check_apart([*files.values(), *games, *(blocks or [])], [csv])
    read = {name: read_policy(path) for name, path in files.items()}
    rows = report.measure(read, report.drawn(games, count, seed))
    with artifacts.atomic(csv) as temporary:
        temporary.write_text(report.to_csv(rows))
    artifacts.provenance(
        csv,
        inputs={**files, **artifacts.by_name(games)},
        parameters={"count": count},
        seed=seed,
        module="report.agreement",
    )
    players = len({row["player"] for row in rows})
    typer.echo(f"{csv}: {players} players, {len(read)} policies", err=True)
