"""What this machine has: `nnuelab doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli.app import app
from nnuelab.errors import escaped

COLORS = {"slow": "yellow", "needed": "red"}


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Say what this machine has, what is missing or slow, and what to do about it.

    Ends with status 1 where something that the default run needs is missing.

    Example: nnuelab doctor

    Example: nnuelab doctor --json
    """
    from nnuelab.report import machine

    findings = list(machine.examine(Path.cwd()))
    for each in findings:
        if as_json:
            print(json.dumps(asdict(each)))
            continue
        mark = each.verdict.replace("absent", "-")
        typer.secho(f"{mark:7}", nl=False, fg=COLORS.get(each.verdict))
        print(f"{each.name:14}{escaped(each.found)}")
        if each.remedy:
            print(f"{'':21}{each.remedy}")
    if any(each.verdict == "needed" for each in findings):
        raise typer.Exit(1)
