"""Commands of the room ``chess``."""

from __future__ import annotations

from typing import Annotated

import typer

from nnuelab.cli.app import app


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
