"""The typer application that every command registers with, its help and its error messages."""

from __future__ import annotations

import errno
import glob
import math
import os
import select
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from nnuelab import __version__, artifacts
from nnuelab.cli import completion
from nnuelab.errors import UserError, clipped, quoted
from nnuelab.settings import LARGEST

CONTINUING = {
    "datagen",
    "download",
    "label",
    "policy",
    "puzzles",
    "search",
    "spsa",
    "texel",
    "train",
    "tournament",
}  # commands that resume an interrupted run
# Where help has each command.
PANELS = {
    "First steps": ("new", "doctor", "inspect", "diff", "unlock"),
    "Stages of the workflow, in their order": (
        *("download", "sample", "sample-part", "datagen", "label", "label-part", "size"),
        *("learning-rate", "train", "quantize", "verify", "cost", "tournament", "rate"),
        *("puzzles", "pqr", "table"),
    ),
    "What an experiment tells": (
        *("plan", "power", "contrast", "spread", "sequential", "sprt", "sprt-table"),
        *("importance", "importance-path", "ablate"),
    ),
    "Let the machine search": ("search", "search-check", "spsa"),
    "Pages, papers, archives": ("report", "serve", "paper", "crate"),
    "The engine": ("uci", "eval", "perft", "bench"),
    "Your own engine": ("export", "check-engine", "openbench"),
    "Commands with commands": ("features", "params", "data", "net", "policy", "texel"),
}
# Beside a file: downloads, journals and checkpoints; in a folder: months, and labels in a cache.
KEPT = (".part", ".partial", "/*.part", "/*.sqlite", "/*.journal")
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR),
    *(errno.ENAMETOOLONG, errno.ELOOP),
)
LOST = (errno.ENOENT, errno.EIO, errno.ESTALE)  # what was there when the command began


class Commands(TyperGroup):
    """Commands whose help ends with an example of each."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """With paragraphs as long lines: a terminal of any width breaks them.

        And with numbers that stages can compute with, whatever an option allows.
        """
        found = super().get_command(ctx, cmd_name)
        if found is not None and found.help:
            found.help = "\n\n".join(" ".join(p.split()) for p in found.help.split("\n\n"))
        for parameter in found.params if found is not None else ():
            if parameter.callback is None:
                parameter.callback = _usable
        return found

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.epilog = "\n\n".join(["Examples:", *self.shown()])
        super().format_help(ctx, formatter)

    def shown(self) -> list[str]:
        """The examples."""
        return [example for _, example in examples(self)]


class Application(Commands):
    """All commands: a failure is one line, and exit status 1."""

    def shown(self) -> list[str]:
        """Those of the first steps: each command has its own."""
        first, *_ = PANELS.values()
        return [example for name, example in examples(self) if name in first]

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of their panels."""
        placed = [name for names in PANELS.values() for name in names]
        return sorted(self.commands, key=placed.index)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for panel, names in PANELS.items():
            for name in self.commands.keys() & names:
                command: Any = self.commands[name]
                command.rich_help_panel = panel
        super().format_help(ctx, formatter)

    # Here and not around the application: typer has ends of its own for some failures.

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        with _told():
            # Python has None for a stream that was closed.
            if sys.stderr is None:
                sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (for all that follows)
            if sys.stdout is None:
                raise UserError("stdout is closed; redirect it, as in > /dev/null")
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: Any) -> Any:
        with _told():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                continues = ctx.invoked_subcommand in CONTINUING and _kept(sys.argv[1:])
                again = "; run the same command again to resume"
                _end(f"stopped{again if continues else ''}", 130)


@contextmanager
def _told() -> Iterator[None]:
    """Ends the program with one line for errors that aren't bugs."""
    try:
        yield
        sys.stdout.flush()
    except UserError as error:
        _end(f"error: {error}")
    except ImportError as error:
        # It is missing, or its installation is broken: what it imports is missing.
        places = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        if error.name != "torch" and not any("torch" in Path(place).parts for place in places):
            raise
        _end(
            f"error: this command needs torch ({error}); ./run --setup, or pip install "
            "'nnuelab[train]'"
        )
    except MemoryError as error:
        what = f"out of memory: {error}" if str(error) else "out of memory"
        _end(
            f"error: {what}; close other programs, or give this one less to do: "
            "fewer --workers, a smaller --hash, --batch-size or net"
        )
    except BrokenPipeError:
        if not _reader_left():
            _end("error: a child process has ended; run again")
        # Python would complain once more while it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich prints to stdout, and ends so
            raise SystemExit(0) from None
        raise
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        if error.errno in FULL_DISK:
            _end(f"error: {error.strerror}{place}; make room and run again")
        if error.errno in LOST:
            _end(f"error: {error.strerror}{place}; bring it back and run again")
        if error.errno not in FORBIDDEN or not place:
            raise
        _end(f"error: {error.strerror}{place}; name another place, or change its permissions")
    except KeyboardInterrupt:
        _end("stopped", 130)


def _usable(ctx: Any, parameter: Any, value: Any) -> Any:
    """The value of a parameter; BadParameter for numbers without end, or of more than 64 bits."""
    for number in value if isinstance(value, list | tuple) else (value,):
        if isinstance(number, float) and not math.isfinite(number):
            raise typer.BadParameter(f"{number} is not a finite number")
        if isinstance(number, int) and abs(number) > LARGEST:
            raise typer.BadParameter(f"it must be at most {LARGEST}")
    return value


def _kept(words: list[str]) -> bool:
    """Whether unfinished work lies beside one of the files that a command names."""
    names = [glob.escape(name) for word in words if (name := word.rpartition("=")[2])]
    return any(glob.glob(name + end) for name in names for end in KEPT)


def _end(message: str, status: int = 1) -> NoReturn:
    lines = [clipped(line) for line in message.split("\n")]
    print("nnuelab:", "\n".join(lines), file=sys.stderr)
    raise SystemExit(status) from None


def _reader_left() -> bool:
    """Whether nobody reads stdout any more: ``nnuelab ... | head`` is not a failure."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return bool(poll.poll(0))


def examples(group: TyperGroup) -> Iterator[tuple[str, str]]:
    """Name and first example of each command of a group and its subgroups, by its docstring."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from ((f"{name} {inner}", example) for inner, example in examples(command))
        else:
            first = (command.help or "").partition("Example:")[2].partition("Example:")[0]
            yield name, " ".join(first.split())


app = typer.Typer(
    name="nnuelab",
    cls=Application,
    help="Does this board encoding make a chess engine stronger, and by how much?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"nnuelab {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _add_blocks(ctx: typer.Context, files: list[Path] | None) -> list[Path] | None:
    if files and not ctx.resilient_parsing:  # a shell completes the line
        from nnuelab.features import add_files

        add_files(files)
    return files


Blocks = Annotated[
    list[Path] | None,
    typer.Option(
        "--blocks",
        metavar="FILE",
        help="A file of your own blocks; may be repeated.",
        callback=_add_blocks,
    ),
]
"""The option of every command that reads an expression or a net; the files are read by then."""

ShippedNet = Annotated[
    Path | None,
    typer.Option(
        "--net",
        help="Net of this engine, .nnue or .nn; or a hand-crafted evaluation, .yaml.",
        show_default="the shipped one",
        autocompletion=completion.nets,
    ),
]
OwnBook = Annotated[
    Path,
    typer.Option(
        help="Openings: EPD or PGN, plain, .gz, .zst or .zip.", show_default="the project's own"
    ),
]
OWN_BOOK = artifacts.RESOURCES / "embedded" / "openings.epd.gz"
Workers = Annotated[int, typer.Option(min=0, help="Processes or threads; 0: one per core.")]


def named_files(words: list[str]) -> dict[str, Path]:
    """Files by their names: NAME=FILE, or a path, which is its own name.

    The name of an existing file is a path, even with "=" in it.
    """
    found: dict[str, Path] = {}
    for word in words:
        name, mark, path = word.partition("=")
        if not mark or Path(word).is_file():
            name = path = word
        if not (name and path):
            raise UserError(f"{quoted(word)} is not a file; give a path, or NAME=PATH")
        if name in found:
            raise UserError(
                f"{name} is given twice; give the second net a name of its own: NAME=PATH"
            )
        found[name] = Path(path)
    return found
