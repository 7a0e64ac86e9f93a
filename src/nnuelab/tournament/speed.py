"""How fast players searched, out of the comments of games at fixed time."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from nnuelab.data.pgn import texts

_TAG = re.compile(rb'^\[(White|Black|FEN) "((?:[^"\\]|\\.)*)"\]', re.MULTILINE)
_COMMENT = re.compile(rb"\{([^{}]*)\}")
_SPEED = re.compile(rb"\s(\d+\.\d+)s,\s+n=(\d+)\Z")


def nodes_and_seconds(pgn: Path | str) -> dict[str, tuple[int, float]]:
    """Nodes and seconds of each player's moves, by name; wall time, as `pgn.to_pgn` writes it.

    Left out are moves without times or nodes, and those that the machine made late.
    """
    nodes: defaultdict[str, int] = defaultdict(int)
    seconds: defaultdict[str, float] = defaultdict(float)
    for text in texts(pgn):
        tags = {name: value.decode("utf-8", "replace") for name, value in _TAG.findall(text)}
        players = [tags.get(b"White", "?"), tags.get(b"Black", "?")]
        if tags.get(b"FEN", "- w").split()[1] == "b":
            players.reverse()
        # Each move has one comment, and so has the end of the game.
        for ply, comment in enumerate(_COMMENT.findall(text)[:-1]):
            if found := _SPEED.search(comment):
                player = players[ply % 2].replace('\\"', '"').replace("\\\\", "\\")
                nodes[player] += int(found[2])
                seconds[player] += float(found[1])
    return {player: (nodes[player], seconds[player]) for player in nodes if seconds[player]}
