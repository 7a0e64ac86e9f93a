"""Commands of the engine: uci, eval."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.errors import UserError

if TYPE_CHECKING:
    import numpy as np

NetFile = Annotated[
    Path | None,
    typer.Option(
        "--net",
        help="Net file (.nnue or .nn); default: the shipped one.",
        autocompletion=completion.nets,
    ),
]


@app.command()
def uci(net: NetFile = None, blocks: Blocks = None) -> None:
    """Play: speak UCI on stdin and stdout, for a GUI or a bridge.

    Example: nnuelab uci --net results/nets/ALL/1/net.nnue
    """
    from nnuelab.engine.uci import Uci

    if sys.stdin is None:  # closed: the end of the conversation
        return
    if net is not None:
        from nnuelab.nnue.netfile import read_net

        read_net(net)  # a broken one ends here, not in the middle of a game
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a stray byte is no reason to end
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # nor is a letter that can't be shown
    Uci(net).run(iter(sys.stdin.readline, ""))


@app.command(name="eval")
def evaluate(
    net: NetFile = None,
    fen: Annotated[
        str | None, typer.Option(help="Position; without it, FENs from stdin, one a line.")
    ] = None,
    blocks: Blocks = None,
) -> None:
    """Print what the net says: centipawns for the side to move, one integer a line.

    Example: nnuelab eval --fen "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    """
    from nnuelab.chess import notation
    from nnuelab.evaluator import values
    from nnuelab.nnue.evaluator import NetEvaluator

    if fen is None and sys.stdin is None:
        raise UserError("stdin is closed; send FENs there, one a line, or give --fen")

    def positions() -> Iterator[np.void]:
        for number, line in enumerate([fen] if fen is not None else sys.stdin, start=1):
            if not line.strip():
                continue
            try:
                yield notation.from_fen(line.strip())
            except notation.FenError as error:
                raise error if fen is not None else UserError(f"line {number}: {error}") from None

    for value in values(NetEvaluator(net).bind(), positions()):
        print(value)
