"""``nnuelab policy``: nets that choose moves."""

from __future__ import annotations

import typer

from nnuelab.cli.app import Commands, app

policy_app = typer.Typer(
    cls=Commands, no_args_is_help=True, help="Policies: nets that choose moves by their squares."
)
app.add_typer(policy_app, name="policy")
