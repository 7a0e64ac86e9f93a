"""What the games of a PGN are worth by mates alone, and by material: players that rarely mate.

The *true* score counts mates alone, and every other end as half a point. The *adjudicated* score
counts who is ahead in material where no mate ended the game as the winner.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import chess
import chess.pgn
import numpy as np

from nnuelab import artifacts, intervals
from nnuelab.chess.position import EMPTY
from nnuelab.data import pgn
from nnuelab.errors import UserError
from nnuelab.tournament.headers import POINTS, name_of, opening_pair

ENDS = ("mate", "stalemate", "threefold", "fifty", "material", "ply limit", "other")
VALUES = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9}
BOTH = ("White", "Black")


@dataclass
class Tally:
    """Sums of a player's games; scores are points, material is pawns ahead at the end.

    ``pairs`` are games and true points by opening pair.
    """

    results: Counter[float] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    true: float = 0.0
    pairs: dict[tuple[object, ...], tuple[int, float]] = field(default_factory=dict)
    adjudicated: float = 0.0
    material: int = 0

    @property
    def games(self) -> int:
        """How many."""
        return self.results.total()

    @property
    def interval(self) -> tuple[float, float]:
        """Of the true score: 95 %, the games of an opening pair being one observation."""
        games, points = zip(*self.pairs.values(), strict=True)
        return intervals.clustered(np.array(games), np.array(points))


class _Reader(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Keeps errors and tells nobody."""

    def handle_error(self, error: Exception) -> None:
        self.game.errors.append(error)


def replayed(path: Path | str) -> Iterator[tuple[chess.pgn.Game, list[chess.Board]]]:
    """The games of a PGN, each with all its positions; UserError for one that can't be read."""
    for number, (_, text) in enumerate(pgn.games(path), 1):
        game = chess.pgn.read_game(io.StringIO(text.decode("utf-8", "replace")), Visitor=_Reader)
        if game is None or game.errors:
            said = game.errors[0] if game is not None else "no game"
            raise UserError(f"{path}: game {number} can't be read: {' '.join(str(said).split())}")
        board = game.board()
        boards = [board.copy(stack=False)]
        for move in game.mainline_moves():
            board.push(move)
            boards.append(board.copy(stack=False))
        boards[-1] = board  # with its moves: repetitions are seen by them
        yield game, boards


def codes(boards: list[chess.Board]) -> np.ndarray:
    """uint8 [n, 64]: the piece code on each square of each board."""
    found = np.full((len(boards), 64), EMPTY, np.uint8)
    for row, board in zip(found, boards, strict=True):
        for square, piece in board.piece_map().items():
            row[square] = 2 * (piece.piece_type - 1) + (not piece.color)
    return found


def end_of(game: chess.pgn.Game, board: chess.Board) -> str:
    """One of ENDS, by the last position; a limit of plies by what the game says of its end."""
    if board.is_checkmate():
        return "mate"
    if board.is_stalemate():
        return "stalemate"
    if board.halfmove_clock >= 100:
        return "fifty"
    if board.is_repetition(3):
        return "threefold"
    if board.is_insufficient_material():
        return "material"
    return "ply limit" if "maximum length" in game.end().comment else "other"


def balance(board: chess.Board) -> int:
    """White's material less Black's, in pawns."""
    return sum(
        value * (len(board.pieces(kind, chess.WHITE)) - len(board.pieces(kind, chess.BLACK)))
        for kind, value in VALUES.items()
    )


def tally(
    paths: Collection[Path | str], against: Collection[str] = ()
) -> dict[tuple[str, str], Tally]:
    """Each player's games, by name, in the order of their first ones.

    Parameters
    ----------
    paths : collection of path
        PGN files.
    against : collection of str
        Only games against these players count, and each of them has a tally of its own.

    Returns
    -------
    dict
        Tallies by player and opponent; the opponent is empty where all count.
    """
    found: dict[tuple[str, str], Tally] = {}
    for path in paths:
        for number, (game, boards) in enumerate(replayed(path), 1):
            board, tags = boards[-1], game.headers
            result = POINTS.get(tags.get("Result", "*"))
            if result is None:
                raise UserError(f"{path}: game {number} has no result")
            for color in BOTH:
                name_of(tags, color, f"{path}, game {number}")
            end, ahead = end_of(game, board), balance(board)
            true = result if end == "mate" else 0.5
            adjudicated = true if end == "mate" else (np.sign(ahead) + 1) / 2
            pair = opening_pair(tags, path, number)
            for name, other, sign in ((*BOTH, 1), (*BOTH[::-1], -1)):
                if against and tags[other] not in against:
                    continue
                own = found.setdefault((tags[name], tags[other] if against else ""), Tally())
                points = true if sign > 0 else 1 - true
                games, sum_of = own.pairs.get(pair, (0, 0.0))
                own.pairs[pair] = games + 1, sum_of + points
                own.results[result if sign > 0 else 1 - result] += 1
                own.ends[end] += 1
                own.true += points
                own.adjudicated += float(adjudicated if sign > 0 else 1 - adjudicated)
                own.material += sign * ahead
    met = {opponent for _, opponent in found}
    for name in against:
        if name not in met:
            raise UserError(f"nobody plays against {name} in {', '.join(map(str, paths))}")
    return found


def write(path: Path, tallies: dict[tuple[str, str], Tally]) -> None:
    """A row for each tally: scores and shares are between 0 and 1, material is a mean."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            *("player", "opponent", "games", "wins", "draws", "losses"),
            *("true_score", "true_low", "true_high", "adjudicated_score"),
            *("material", *(f"end_{end.replace(' ', '_')}" for end in ENDS)),
        ]
    )
    for (name, opponent), own in tallies.items():
        n = own.games
        results = [own.results[points] for points in (1.0, 0.5, 0.0)]
        scores = [own.true / n, *own.interval, own.adjudicated / n, own.material / n]
        shares = [own.ends[end] / n for end in ENDS]
        writer.writerow([name, opponent, n, *results, *(f"{x:.4f}" for x in scores + shares)])
    with artifacts.atomic(path) as temporary:
        temporary.write_text(text.getvalue())
