"""Commands of positions: uci, eval, perft."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnuelab import artifacts, files
from nnuelab.cli.app import Blocks, ShippedNet, app
from nnuelab.errors import UserError

if TYPE_CHECKING:
    import numpy as np


Hce = Annotated[
    Path | None,
    typer.Option(
        "--hce", help="Hand-crafted evaluation instead of a net; default: the shipped one."
    ),
]


def _file(net: Path | None, hce: Path | None) -> Path | None:
    """The file of the evaluator that two options name."""
    if hce is None:
        return net
    if net is not None:
        raise typer.BadParameter("give --net or --hce, not both")
    from nnuelab.hce.evaluation import DEFAULT, ENDINGS

    if str(hce) == "default":
        return DEFAULT
    artifacts.check_ending(hce, "a hand-crafted evaluation", *ENDINGS)
    return hce


@app.command()
def uci(
    net: ShippedNet = None,
    hce: Hce = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="A policy plays, by its probabilities alone, .policy."),
    ] = None,
    ordering: Annotated[
        Path | None,
        typer.Option("--ordering", help="A policy orders the moves of the search, .policy."),
    ] = None,
    blocks: Blocks = None,
) -> None:
    """Run the engine: UCI on stdin and stdout, for a GUI or a bridge.

    Example: nnuelab uci --net results/nets/ALL/1/net.nnue

    Example: nnuelab uci --net results/nets/ALL+RING/1/net.nnue --blocks my_blocks.py
    """
    from nnuelab.engine.protocol import Conversation
    from nnuelab.engine.uci import Uci, read_evaluator, read_orderer

    if sys.stdin is None:  # closed: the end of the conversation
        return
    file = _file(net, hce)
    if policy is not None:
        if file is not None or ordering is not None:
            raise typer.BadParameter(
                "a policy plays without a search; give --policy, or an evaluation and --ordering"
            )
        from nnuelab.engine.policy_uci import PolicyUci
        from nnuelab.policy.policyfile import read_policy

        read_policy(policy)  # a broken one ends here, not in the middle of a game
        conversation: Conversation = PolicyUci(policy)
    else:
        conversation = Uci(file, ordering=ordering)
    # A broken file ends here, not in the middle of a game.
    if file is not None:
        read_evaluator(file)
    read_orderer(ordering)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a stray byte is no reason to end
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # nor is a letter that can't be shown
    conversation.run(files.lines(sys.stdin, "stdin"))


@app.command(name="eval")
def evaluate(
    net: ShippedNet = None,
    hce: Hce = None,
    fen: Annotated[
        list[str] | None,
        typer.Option(help="Position, repeatable; without it, FENs from stdin, one a line."),
    ] = None,
    max_unusable: Annotated[
        int,
        typer.Option(min=0, help="Broken FENs of stdin that are left out, and told at the end."),
    ] = 0,
    blocks: Blocks = None,
) -> None:
    """Evaluate positions: centipawns for the side to move, one integer a line.

    Example: nnuelab eval --fen "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"

    Example: nnuelab eval --net results/nets/ALL/1/net.nnue --max-unusable 10 < fens.txt
    """
    from nnuelab.chess import notation
    from nnuelab.data.unusable import Unusable
    from nnuelab.evaluator import read, values

    if not fen and sys.stdin is None:
        raise UserError("stdin is closed; send FENs there, one a line, or give --fen")

    unusable = Unusable("stdin", max_unusable)

    def positions() -> Iterator[np.void]:
        for number, line in enumerate(fen or files.lines(sys.stdin, "stdin"), start=1):
            if not line.strip():
                continue
            try:
                yield notation.from_fen(line.strip())
            except notation.FenError as error:
                if fen:
                    raise
                unusable.add(f"line {number}", str(error))

    for value in values(read(_file(net, hce)).bind(), positions()):
        print(value)
    if unusable.count:
        typer.echo(f"stdin: {unusable.summary()}", err=True)


@app.command()
def perft(
    fen: Annotated[str, typer.Argument(help="Position as FEN, or 'startpos'.")],
    depth: Annotated[int, typer.Argument(min=0, max=32, help="Plies.")],
    divide: Annotated[
        bool, typer.Option("--divide", help="Also the count below each move.")
    ] = False,
) -> None:
    """Count the leaf nodes of the legal move tree.

    Example: nnuelab perft startpos 5 --divide

    Example: nnuelab perft "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1" 4
    """
    from nnuelab.chess import notation
    from nnuelab.chess import perft as perft_module

    position = notation.from_fen(notation.STARTING_FEN if fen == "startpos" else fen)
    if divide and depth:
        counts = perft_module.divide(position, depth)
        for uci, count in sorted((notation.move_to_uci(m), n) for m, n in counts.items()):
            print(f"{uci}: {count}")
        print(sum(counts.values()))
    else:
        print(perft_module.perft(position, depth))
