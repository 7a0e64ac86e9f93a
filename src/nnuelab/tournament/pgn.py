"""A game as PGN: moves with ``{score/depth, n=nodes}`` in the mover's view.

Times and dates stand there only where a limit is a time: otherwise nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping

from nnuelab.tournament.game import Game, Move
from nnuelab.tournament.limits import Limit

EVENT = "nnuelab"
WIDTH = 80  # columns: the export format of the PGN standard


def to_pgn(
    game: Game,
    white: str,
    black: str,
    fen: str,
    round_: str,
    limits: tuple[Limit, Limit] | None = None,
    date: str = "????.??.??",
) -> str:
    """The text of a game, ending with an empty line.

    ``limits`` are those of White and Black, told where one of them is a time.
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
    if limits is not None and any(limit.is_time for limit in limits):
        if limits[0] == limits[1]:
            tags["TimeControl"] = str(limits[0])
        else:
            tags["WhiteTimeControl"], tags["BlackTimeControl"] = map(str, limits)
    return f"{head(tags)}\n{_wrapped(_movetext(game, fen))}\n\n"


def head(tags: Mapping[str, str]) -> str:
    """The tags of a game, a line each."""
    return "".join(f'[{name} "{_escaped(value)}"]\n' for name, value in tags.items())


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


def _movetext(game: Game, fen: str) -> list[str]:
    """The words of the movetext; a comment that says why the game ended is the last but one."""
    _, turn, *_, first = fen.split()
    ply = 2 * (int(first) - 1) + (turn == "b")
    words: list[str] = []
    for i, move in enumerate(game.moves):
        if (ply + i) % 2 == 0:
            words.append(f"{(ply + i) // 2 + 1}.")
        elif i == 0:
            words.append(f"{ply // 2 + 1}...")
        words += [move.san, f"{{{_comment(move)}}}"]
    # What an engine has said may be part of the reason.
    reason = " ".join(game.reason.replace("}", ")").split())
    return [*words, f"{{{reason}}}", game.result]


def _wrapped(words: list[str]) -> str:
    lines, line = [], words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) < WIDTH:
            line += " " + word
        else:
            lines.append(line)
            line = word
    return "\n".join([*lines, line])
