"""``nnuelab policy``: nets that choose moves by the squares they go from and to."""

from __future__ import annotations

import typer

from nnuelab.cli.app import Commands, app

policy = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Policies: nets that choose moves by the squares they go from and to.",
)
app.add_typer(policy, name="policy")
