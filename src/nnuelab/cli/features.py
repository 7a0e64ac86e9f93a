"""``nnuelab features``: list blocks, show active features, check a feature set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli.app import Commands, app

features_app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Feature sets: list the blocks, show active features, check the properties.",
)
app.add_typer(features_app, name="features")

Expression = Annotated[
    str, typer.Argument(metavar="EXPR", help="Blocks joined by + and *, e.g. ALL+H+V.")
]
Blocks = Annotated[
    list[Path] | None,
    typer.Option("--blocks", metavar="FILE", help="A file of your own blocks; may be repeated."),
]


@features_app.command("list")
def list_blocks(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
    blocks: Blocks = None,
) -> None:
    """Every block with its size and definition.

    Example: nnuelab features list --blocks my_blocks.py
    """
    from nnuelab.features import add_files, registry

    add_files(blocks or [])
    known = list(dict.fromkeys(registry.load().values()))
    if as_json:
        rows = [
            {
                "name": block.name,
                "aliases": list(block.aliases),
                "size": block.size,
                "concepts": [concept.name for concept in block.concepts],
                "definition": block.definition,
            }
            for block in known
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    width = max(len(block.name) for block in known)
    for block in known:
        aliases = f" (also {', '.join(block.aliases)})" if block.aliases else ""
        typer.echo(
            f"{block.name:{width}} {block.size:6}  {block.formula}: {block.definition}{aliases}"
        )


@features_app.command()
def active(
    expression: Expression,
    fen: Annotated[str, typer.Option(help="The position.")],
    names: Annotated[bool, typer.Option("--names", help="Also what each feature says.")] = False,
    blocks: Blocks = None,
) -> None:
    """Indices of the active features: of the side to move, then of the other.

    Example: nnuelab features active ALL+H --fen "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    """
    from nnuelab.chess import notation
    from nnuelab.features import add_files, check, parse

    add_files(blocks or [])
    features = parse(expression)
    position = notation.from_fen(fen)
    turn = int(position["turn"])
    for label, perspective in (("stm", turn), ("other", 1 - turn)):
        indices = check.extracted(features, position, perspective)
        typer.echo(" ".join([f"{label}:", *map(str, indices)]))
        if names:
            for index in indices:
                typer.echo(f"  {index:>8}  {features.feature_name(index)}")


@features_app.command("check")
def check_features(
    expression: Expression,
    games: Annotated[int, typer.Option(min=1, help="Random games to play.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the random games.")] = 1,
    blocks: Blocks = None,
) -> None:
    """Tries the properties that every feature set must have; exit status 1 when one fails.

    Example: nnuelab features check ALL+H+V --games 100
    """
    from nnuelab.features import add_files, check, parse

    add_files(blocks or [])
    features = parse(expression)
    played = check.random_games(games, seed)
    counts = ", ".join(f"{n} {what}" for what, n in check.census(played).items())
    typer.echo(
        f"{features.name}: {features.size} features, {len(features.dead)} of them dead, "
        f"at most {features.max_active} active"
    )
    typer.echo(f"{games} random games: {counts}")
    failures = 0
    for name, holds in check.PROPERTIES.items():
        try:
            holds(features, played)
            typer.echo(f"ok      {name}")
        except check.PropertyFailed as failure:
            failures += 1
            typer.echo(f"FAILED  {name}: {failure}")
    if failures:
        raise typer.Exit(1)
