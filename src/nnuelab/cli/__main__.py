"""``python -m nnuelab.cli`` and the entry point ``nnuelab``."""

import importlib
import pkgutil

import typer

import nnuelab.cli
from nnuelab.cli.app import app


def application() -> typer.Typer:
    """The application with the commands of every module of this room."""
    for module in sorted(m.name for m in pkgutil.iter_modules(nnuelab.cli.__path__)):
        if module not in ("app", "__main__"):
            importlib.import_module(f"nnuelab.cli.{module}")
    return app


def run() -> None:
    """Runs the command that was called."""
    application()()


if __name__ == "__main__":
    run()
