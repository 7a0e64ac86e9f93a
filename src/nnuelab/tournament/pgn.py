"""Games as PGN, and how fast players searched by the comments of such games.

A game of a tournament has ``{score/depth, n=nodes}`` behind each move, in the mover's view. Times
and dates stand there only where a limit is a time: otherwise nothing depends on them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from nnuelab.chess.position import BLACK, WHITE
from nnuelab.data import pgn
from nnuelab.errors import UserError
from nnuelab.tournament.game import Game, Move
from nnuelab.tournament.limits import Limit

EVENT = "nnuelab"
WIDTH = 80  # columns: the export format of the PGN standard
_COMMENT = re.compile(rb"\{([^{}]*)\}")
_SPEED = re.compile(rb"\s(\d+\.\d+)s,\s+n=(\d+)\Z")


def game_text(
    tags: Mapping[str, str],
    sans: Iterable[str],
    comments: Iterable[str],
    *,
    ply: int = 0,
    ending: str | None = None,
    lichess: bool = False,
) -> str:
    """The text of a game, ending with an empty line.

    Parameters
    ----------
    tags : mapping
        With the ``Result``.
    sans, comments : iterable of str
        Moves, and what stands behind each of them; ``""`` is no comment.
    ply : int
        Half-moves before the first one.
    ending : str or None
        A comment before the result.
    lichess : bool
        In one line with blanks inside braces, and Black's numbers behind comments, as Lichess
        writes it; otherwise in lines of WIDTH.
    """
    head = "".join(f'[{name} "{_escaped(value)}"]\n' for name, value in tags.items())
    words: list[str] = []
    numbered = True
    for number, (san, comment) in enumerate(zip(sans, comments, strict=True), ply):
        if number % 2 == WHITE:
            words.append(f"{number // 2 + 1}.")
        elif numbered:
            words.append(f"{number // 2 + 1}...")
        words.append(san)
        if comment:
            words.append(f"{{ {comment} }}" if lichess else f"{{{comment}}}")
        numbered = lichess and bool(comment)
    if ending is not None:
        words.append(f"{{{ending}}}")
    words.append(tags["Result"])
    return f"{head}\n{' '.join(words) if lichess else _wrapped(words)}\n\n"


def to_pgn(
    game: Game,
    white: str,
    black: str,
    fen: str,
    round_: str,
    limits: tuple[Limit, Limit] | None = None,
    date: str = "????.??.??",
) -> str:
    """The text of a tournament's game, ending with an empty line.

    ``limits`` are those of White and Black, where they are to be told.
    """
    tags = {
        "Event": EVENT,
        "Site": "?",
        "Date": date,
        "Round": round_,
        "White": white,
        "Black": black,
        "Result": game.result,
        "SetUp": "1",
        "FEN": fen,
        "PlyCount": str(len(game.moves)),
        "Termination": game.termination,
    }
    if limits is not None:
        if limits[0] == limits[1]:
            tags["TimeControl"] = str(limits[0])
        else:
            tags["WhiteTimeControl"], tags["BlackTimeControl"] = map(str, limits)
    _, turn, *_, first = fen.split()
    return game_text(
        tags,
        (move.san for move in game.moves),
        map(_comment, game.moves),
        ply=2 * (int(first) - 1) + (BLACK if turn == "b" else WHITE),
        # What an engine has said may be part of the reason.
        ending=" ".join(game.reason.replace("}", ")").split()),
    )


def nodes_and_seconds(path: Path | str) -> dict[str, tuple[int, float]]:
    """Nodes and seconds of each player's moves, by name; wall time, as `to_pgn` writes it.

    Left out are moves without times or nodes, and those that the machine made late. Raises
    UserError for a start that doesn't say whose turn it is.
    """
    nodes: defaultdict[str, int] = defaultdict(int)
    seconds: defaultdict[str, float] = defaultdict(float)
    for tags, text in pgn.games(path):
        players = [tags.get("White", "?"), tags.get("Black", "?")]
        start = tags.get("FEN", "- w").split()
        if len(start) < 2:
            raise UserError(f"{path} is damaged (the start {tags['FEN']!r} says no turn)")
        if start[1] == "b":
            players.reverse()
        # Each move has one comment, and so has the end of the game.
        for ply, comment in enumerate(_COMMENT.findall(text)[:-1]):
            if found := _SPEED.search(comment):
                nodes[players[ply % 2]] += int(found[2])
                seconds[players[ply % 2]] += float(found[1])
    return {player: (nodes[player], seconds[player]) for player in nodes if seconds[player]}


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _comment(move: Move) -> str:
    """As fastchess writes it, with what is not known left out: ``+0.31/12 0.101s, n=45123``."""
    score = ""
    if move.mate is not None:
        score = f"{'+' if move.mate > 0 else '-'}M{abs(move.mate)}"
    elif move.score_cp is not None:
        score = f"{move.score_cp / 100:+.2f}"
    taken = f" {move.taken / 1e3:.3f}s" if move.taken is not None else ""
    said = [f"{score}/{'' if move.depth is None else move.depth}{taken}"]
    if move.nodes is not None:
        said.append(f"n={move.nodes}")
    if move.stalled is not None:
        said.append(f"the machine stalled for {move.stalled / 1e3:.3f}s")
    return ", ".join(said)


def _wrapped(words: list[str]) -> str:
    lines, line = [], words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) < WIDTH:
            line += " " + word
        else:
            lines.append(line)
            line = word
    return "\n".join([*lines, line])
