"""``nnuelab policy selfplay``: policies that learn from their own games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks, Commands, Workers
from nnuelab.cli.options import with_settings
from nnuelab.cli.policy import policy_app
from nnuelab.settings.policy_selfplay import (
    Episodes,
    Expert,
    Gradient,
    GradientRewards,
    Learning,
    Rewards,
)

selfplay_app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Policies that learn from own games: as the seed did, by policy gradient, by search.",
)
policy_app.add_typer(selfplay_app, name="selfplay")

Output = Annotated[Path, typer.Option(help="The policy, .policy.")]
History = Annotated[Path | None, typer.Option(help="A table with a row for each iteration, .csv.")]


@selfplay_app.command()
@with_settings()
def seed(
    *,
    output: Output,
    history: History = None,
    settings: Episodes,
    terms: Rewards,
    blocks: Blocks = None,
) -> None:
    """Learn as Neural Chess did: a game by the walk, rewards, one fit; it fails, and shows why.

    An interrupted run resumes.

    Example: nnuelab policy selfplay seed --output seed.policy --history episodes.csv

    Example: nnuelab policy selfplay seed --output seed.policy --games 8 --temperature 1
    --guard threefold
    """
    _learn(output, history, settings, terms, blocks)


@selfplay_app.command()
@with_settings()
def gradient(
    *,
    output: Output,
    history: History = None,
    settings: Gradient,
    terms: GradientRewards,
    blocks: Blocks = None,
) -> None:
    """Learn by policy gradient, with a mask of legal moves and a pool of past selves.

    An interrupted run resumes.

    Example: nnuelab policy selfplay gradient --output gradient.policy --history gradient.csv

    Example: nnuelab policy selfplay gradient --output gradient.policy --baseline value
    --iterations 400 --games 512
    """
    _learn(output, history, settings, terms, blocks)


@selfplay_app.command()
@with_settings()
def expert(
    *,
    output: Output,
    history: History = None,
    settings: Expert,
    workers: Workers = 0,
    blocks: Blocks = None,
) -> None:
    """Learn by expert iteration: a small search that the policy guides teaches the policy.

    An interrupted run resumes; the file is the same for any number of workers.

    Example: nnuelab policy selfplay expert --output expert.policy --history expert.csv

    Example: nnuelab policy selfplay expert --output expert.policy --simulations 96 --iterations 100
    --workers 8
    """
    _learn(output, history, settings, None, blocks, workers)


def _learn(
    output: Path,
    history: Path | None,
    settings: Learning,
    terms: Rewards | None,
    blocks: list[Path] | None,
    workers: int = 0,
) -> None:
    from nnuelab.policy.policyfile import ENDING
    from nnuelab.policy.selfplay import learn

    artifacts.check_ending(output, "a policy", ENDING)
    outputs = [output]
    if history is not None:
        artifacts.check_ending(history, "a history", ".csv")
        outputs += [history, artifacts.times_of(history)]
    artifacts.check_apart(blocks or [], outputs)
    rows = learn(output, history, settings, terms, workers)
    games, plies = (sum(row[name] for row in rows) for name in ("games", "plies"))
    typer.echo(f"{output}: {games:,} games, {plies:,} half-moves", err=True)
    for name, value in (rows[-1] if rows else {}).items():
        if name.startswith(("greedy_", "value_", "walk_")):
            mover, opponent = name.split("_", 1)
            if opponent in ("random", "points"):
                typer.echo(f"{mover} against {opponent}: {value:.3f}", err=True)
