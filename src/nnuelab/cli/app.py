"""The typer application that every command registers with, and how its errors look."""

from __future__ import annotations

import errno
import os
import sys

import typer

from nnuelab.errors import UserError

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

app = typer.Typer(
    name="nnuelab",
    help="Does this board encoding make a chess engine stronger, and by how much?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Entry point of ``nnuelab``: exit status 0 done, 1 the work failed, 2 the call was wrong."""
    try:
        app()
    except UserError as error:
        print(f"nnuelab: error: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        # The reader (head, less) has gone; python would complain once more while it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        place = f" ({error.filename})" if error.filename else ""
        print(f"nnuelab: error: {error.strerror}{place}; make room and run again", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("nnuelab: stopped; run the same command again to continue", file=sys.stderr)
        sys.exit(130)
