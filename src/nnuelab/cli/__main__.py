"""``python -m nnuelab.cli`` and the entry point ``nnuelab``."""

import importlib
import locale
import os
import pkgutil
import sys

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
    """Runs the command that was called, in UTF-8 whatever the locale: so are all its files."""
    if locale.getpreferredencoding(False).lower() not in ("utf-8", "utf8"):
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "nnuelab.cli", *sys.argv[1:]])
    application()()


if __name__ == "__main__":
    run()
