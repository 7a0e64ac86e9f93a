"""``nnuelab texel``: tune a hand-crafted evaluation on results of games."""

from __future__ import annotations

import typer

from nnuelab.cli.app import Commands, app

texel_app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Texel tuning: weights of a hand-crafted evaluation, from results of games.",
)
app.add_typer(texel_app, name="texel")
