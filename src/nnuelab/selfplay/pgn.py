"""Generated games as PGN, with evaluations as Lichess writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from nnuelab.chess.position import WHITE
from nnuelab.tournament.game import Game, Move
from nnuelab.tournament.pgn import head

FIRST_PLY = 16  # where `sample` begins by default


def to_pgn(game: Game, before: Sequence[str], tags: Mapping[str, str]) -> str:
    """The text of a game from the initial position, ending with an empty line.

    The comment ``[%eval]`` of a move is the score of the position after it, found by the search
    for the reply: pawns from White's view, ``#n`` for mates. What is not searched has none.

    Parameters
    ----------
    before : sequence of str
        The opening's moves in SAN.
    """
    words, evaluations = [], [""] * len(before)
    turns = range(len(before), len(before) + len(game.moves))
    comments = [_comment(move, ply % 2) for ply, move in zip(turns, game.moves, strict=True)]
    # Each comment stands behind the move before its search.
    evaluations = [*evaluations[:-1], *comments, ""] if before else [*comments[1:], ""]
    moves = [*before, *(move.san for move in game.moves)]
    commented = True  # Black's number follows a comment
    for ply, (san, comment) in enumerate(zip(moves, evaluations, strict=False)):
        if ply % 2 == WHITE:
            words.append(f"{ply // 2 + 1}.")
        elif commented:
            words.append(f"{ply // 2 + 1}...")
        words.append(san)
        commented = bool(comment)
        if comment:
            words.append(comment)
    return f"{head(tags)}\n{' '.join([*words, game.result])}\n\n"


def _comment(move: Move, turn: int) -> str:
    sign = 1 if turn == WHITE else -1
    if move.mate is not None:
        return f"{{ [%eval #{sign * move.mate}] }}"
    return "" if move.score_cp is None else f"{{ [%eval {sign * move.score_cp / 100:.2f}] }}"


def kept(game: Game, before: Sequence[str]) -> int:
    """How many positions of a game `sample` takes by default.

    Not those of the first plies, nor in check, nor before a capture or a promotion.
    """
    moves = [*before, *(move.san for move in game.moves)]
    return sum(
        ply >= FIRST_PLY and last[-1] != "+" and "x" not in san and "=" not in san
        for ply, (last, san) in enumerate(pairwise(moves), 1)
    )
