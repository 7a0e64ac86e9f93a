"""``python -m nnuelab.cli`` and the entry point ``nnuelab``."""

import ctypes
import importlib
import locale
import os
import pkgutil
import signal
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


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def _cut_off(_: int) -> None:
    # Nothing can be cleaned up here: the next run removes what this one was writing.
    said = "error: a file was cut off while it was read; make it again, and run again"
    os.write(2, f"nnuelab: {said}\n".encode())
    os._exit(1)


def tell_of_cut_files() -> None:
    """Ends the program with one line where a file that is mapped into memory becomes shorter.

    The system tells that by SIGBUS, in the middle of a kernel; handlers of Python would wait for it
    to end, which it never does.
    """
    ctypes.CDLL(None).signal(signal.SIGBUS, _cut_off)


def run() -> None:
    """Runs the command that was called, in UTF-8 whatever the locale: so are all its files."""
    if locale.getpreferredencoding(False).lower() not in ("utf-8", "utf8"):
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "nnuelab.cli", *sys.argv[1:]])
    tell_of_cut_files()
    application()()


if __name__ == "__main__":
    run()
