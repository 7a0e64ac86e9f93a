"""``python -m nnuelab.cli`` and the entry point ``nnuelab``."""

import importlib
import pkgutil

import nnuelab.cli
from nnuelab.cli.app import app


def run() -> None:
    """Registers the commands of every module of this room, then runs the one that was called."""
    for module in sorted(m.name for m in pkgutil.iter_modules(nnuelab.cli.__path__)):
        if module not in ("app", "__main__"):
            importlib.import_module(f"nnuelab.cli.{module}")
    app()


if __name__ == "__main__":
    run()
