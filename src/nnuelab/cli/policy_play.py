"""Commands of ``nnuelab policy`` about games: watch one, show many, score them."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks
from nnuelab.cli.policy import policy_app
from nnuelab.errors import UserError

Games = Annotated[Path, typer.Argument(help="Games, .pgn; also .zst, .gz, .bz2.")]
_CLEAR = "\x1b[H\x1b[J"


@policy_app.command()
def watch(
    file: Annotated[Path, typer.Argument(metavar="POLICY", help="A policy, .policy.")],
    plies: Annotated[int, typer.Option(min=1, max=10_000, help="Half-moves at most.")] = 100,
    move: Annotated[int, typer.Option(min=1, help="Shown with its targets at the end.")] = 1,
    live: Annotated[bool, typer.Option(help="Show every move when it is made.")] = True,
    delay: Annotated[float, typer.Option(min=0, help="Seconds between moves.")] = 0.1,
    blocks: Blocks = None,
) -> None:
    """Watch a policy play against itself by the walk, as Neural Chess shows it.

    Example: nnuelab policy watch results/policy/nets/seed/1/net.policy --move 1

    Example: nnuelab policy watch net.policy --plies 60 --move 10 --no-live
    """
    from nnuelab.policy import console
    from nnuelab.policy import watch as watching
    from nnuelab.policy.mover import Mover
    from nnuelab.policy.policyfile import read_policy

    mover = Mover(read_policy(file))
    next(watching.play(mover, 1))  # compiles, which the time of the summary leaves out
    loss, steps, spent = mover.policy.loss, [], 0.0
    clear = _CLEAR if sys.stdout.isatty() else ""
    game = watching.play(mover, plies)
    while True:
        began = time.perf_counter()
        step = next(game, None)
        spent += time.perf_counter() - began
        if step is None:
            break
        steps.append(step)
        if live:
            shown = (step.before, step.after, step.activations, step.found, loss)
            typer.echo(clear + console.block(step.ply // 2 + 1, *shown))
            time.sleep(delay)
    end = watching.played(steps, plies, round(1000 * spent))
    if 2 * (move - 1) >= len(steps):
        raise UserError(f"White made {-(-len(steps) // 2)} moves; choose a --move up to that")
    step = steps[2 * (move - 1)]
    shown = (step.before, step.after, step.activations, step.found, loss)
    targets = watching.targets(step, end) if step.after is not None else None
    typer.echo(clear + console.block(step.ply // 2 + 1, *shown, targets), nl=False)
    typer.echo(console.summary(1, end))


@policy_app.command()
def gif(
    games: Games,
    output: Annotated[Path, typer.Option(help="Moving picture of the first 50 games, .gif.")],
) -> None:
    """Show many games at once: 10 x 5 boards, 150 ms a half-move.

    Example: nnuelab policy gif games.pgn --output games.gif

    Example: nnuelab policy gif generated.pgn.zst --output generated.gif
    """
    from itertools import islice

    from nnuelab.policy import gif as pictures
    from nnuelab.tournament import true_scores

    artifacts.check_ending(output, "a moving picture", ".gif")
    artifacts.check_apart([games], [output])
    most = pictures.COLUMNS * pictures.ROWS
    shown = [true_scores.codes(boards) for _, boards in islice(true_scores.replayed(games), most)]
    content = pictures.gif(shown)
    with artifacts.atomic(output) as temporary:
        temporary.write_bytes(content)
    longest = max(map(len, shown))
    typer.echo(f"{output}: {len(shown)} games, {longest} frames, {len(content):,} bytes", err=True)


@policy_app.command()
def score(
    games: Annotated[
        list[Path], typer.Argument(metavar="GAMES...", help="Games, .pgn; also .zst, .gz, .bz2.")
    ],
    csv: Annotated[Path, typer.Option("--csv", help="A row for each player, .csv.")],
    against: Annotated[
        list[str] | None,
        typer.Option(help="Only games against this player; repeat for a row for each."),
    ] = None,
) -> None:
    """Score games by mates alone, and by material where none ended them.

    Example: nnuelab policy score games.pgn --csv scores.csv

    Example: nnuelab policy score games.pgn --against random --against material --csv scores.csv
    """
    from nnuelab.tournament import true_scores

    artifacts.check_ending(csv, "a table", ".csv")
    artifacts.check_apart(games, [csv])
    tallies = true_scores.tally(games, against or ())
    true_scores.write(csv, tallies)
    artifacts.provenance(
        csv,
        inputs=artifacts.by_name(games),
        parameters={"against": against or []},
        module="tournament.true_scores",
    )
    for (name, opponent), own in tallies.items():
        met = f" against {opponent}" if opponent else ""
        typer.echo(
            f"{name}{met}: {own.games} games, true score {own.true / own.games:.3f}, "
            f"adjudicated {own.adjudicated / own.games:.3f}",
            err=True,
        )
