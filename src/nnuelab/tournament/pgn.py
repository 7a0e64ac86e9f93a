"""A game as PGN: moves with ``{score/depth}`` in the mover's view, nothing that depends on time."""

from __future__ import annotations

from nnuelab.tournament.game import Game, Move

WIDTH = 80  # columns: the export format of the PGN standard


def to_pgn(game: Game, white: str, black: str, fen: str, round_: str) -> str:
    """The text of a game, ending with an empty line."""
    tags = {
        "Event": "nnuelab",
        "Site": "?",
        "Date": "????.??.??",
        "Round": round_,
        "White": white,
        "Black": black,
        "Result": game.result,
        "SetUp": "1",
        "FEN": fen,
        "PlyCount": str(len(game.moves)),
        "Termination": "adjudication" if game.adjudicated else "normal",
    }
    head = "".join(f'[{name} "{_escaped(value)}"]\n' for name, value in tags.items())
    return f"{head}\n{_wrapped(_movetext(game, fen))}\n\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _comment(move: Move) -> str:
    if move.mate is not None:
        return f"{'+' if move.mate > 0 else '-'}M{abs(move.mate)}/{move.depth}"
    return f"{move.score_cp / 100:+.2f}/{move.depth}"


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
    return [*words, f"{{{game.reason}}}", game.result]


def _wrapped(words: list[str]) -> str:
    lines, line = [], words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) < WIDTH:
            line += " " + word
        else:
            lines.append(line)
            line = word
    return "\n".join([*lines, line])
