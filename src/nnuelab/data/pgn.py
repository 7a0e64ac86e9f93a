"""PGN as a stream: the texts of single games, and what a visitor reads out of one.

Splitting is cheap and done in one process; parsing (python-chess) costs a thousand times as much
and is done by workers, chunk by chunk.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import chess
import chess.pgn
from chess.pgn import EVAL_REGEX as EVAL

from nnuelab.data.records import mate_score
from nnuelab.data.streams import lines
from nnuelab.errors import UserError

STANDARD = {"", *(alias.lower() for alias in chess.Board.aliases)}
CHESS960 = {"chess960", "chess 960", "fischerandom", "fischerrandom", "fischer random"}
CHUNK = 64  # games that a worker is given at once

_TOKENS = re.compile(rb"[{};]")


def texts(path: Path | str) -> Iterator[bytes]:
    """The text of every game of a file, in order, tags and moves.

    A game ends at an empty line after its moves that isn't inside a comment, or where the tag
    ``Event`` opens the next one.

    Raises
    ------
    UserError
        When the file can't be read to its end, or has no games.
    """
    game: list[bytes] = []
    moves = comment = False  # whether moves of the game were seen; whether a comment is open
    found = 0
    for line in lines(path):
        blank = not line.strip()
        if game and ((line.startswith(b"[Event ") and moves) or (blank and moves and not comment)):
            yield b"".join(game)
            found += 1
            game, moves, comment = [], False, False
        if blank and not comment:
            continue
        if comment or not line.startswith((b"[", b"%")):
            moves = True
            comment = _open_comment(line, comment)
        game.append(line)
    if game:
        yield b"".join(game)
        found += 1
    if not found:
        raise UserError(f"{path} has no games; give a PGN file (.pgn, .pgn.zst, .gz or .bz2)")


def _open_comment(line: bytes, comment: bool) -> bool:
    """Whether a ``{`` comment is open at the end of a line that began inside one or not."""
    for token in _TOKENS.findall(line):
        if token == b"}":
            comment = False
        elif token == b"{":
            comment = True
        elif not comment:
            break  # the rest of the line is a ; comment
    return comment


def chunks(paths: Iterable[Path | str]) -> Iterator[tuple[int, list[bytes]]]:
    """Games of several files in chunks: (number of the first game, texts).

    Numbers count all games of all files from 0.
    """
    games = (text for path in paths for text in texts(path))
    first = 0
    while chunk := list(islice(games, CHUNK)):
        yield first, chunk
        first += len(chunk)


def centipawns(comment: str) -> int | None:
    """The score of an ``[%eval]`` comment from White's view, mates by `mate_score`; None without.

    >>> centipawns("[%eval -0.35] [%clk 0:01:00]"), centipawns("[%eval #3]"), centipawns("good")
    (-35, 31997, None)
    """
    found = EVAL.search(comment)
    if found is None:
        return None
    if found["mate"] is None:
        return round(float(found["cp"]) * 100)
    moves = int(found["mate"])
    return mate_score(moves) if moves else None  # "#0": over, and the sign of 0 is lost


class Visitor(chess.pgn.BaseVisitor[None]):
    """Walks one main line; a subclass overrides `position`.

    Attributes
    ----------
    skipped : str
        Why the game has to be left out; empty for a good one. Known after the walk only, so
        that what `position` collected is dropped then.
    outcome : str
        "1-0", "0-1", "1/2-1/2" or "*".
    evals : dict of int to int
        By ply: score of the position, centipawns from White's view.
    """

    def position(self, board: chess.Board, move: chess.Move) -> None:
        """Called for each position that has a next move; ``board`` must not be changed."""

    def begin_game(self) -> None:
        self.skipped, self.outcome = "", "*"
        self.evals: dict[int, int] = {}
        self._ply = -1
        self._tags: dict[str, str] = {}

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        self._tags[tagname] = tagvalue

    def begin_headers(self) -> None:
        return None

    def end_headers(self) -> Any:
        self.outcome = self._tags.get("Result", "*")
        self.skipped = self._odd()
        return chess.pgn.SKIP if self.skipped else None

    def _odd(self) -> str:
        variant = self._tags.get("Variant", "").strip().lower()
        if variant in CHESS960:
            return "Chess960"
        if variant not in STANDARD:
            return "variant"
        fen = self._tags.get("FEN")
        if fen is None:
            return ""
        try:
            board = chess.Board(fen, chess960=True)
        except ValueError:
            return "illegal start position"
        if board.has_chess960_castling_rights():
            return "Chess960"
        board.chess960 = False
        # More pieces than a set has: legal for python-chess' parser, too many for a record.
        return "" if board.is_valid() else "illegal start position"

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        if not move:
            self.skipped = "null move"
        if not self.skipped:
            self.position(board, move)
            self._ply = board.ply() + 1

    def visit_comment(self, comment: str) -> None:
        if self._ply not in self.evals and (score := centipawns(comment)) is not None:
            self.evals[self._ply] = score

    def visit_result(self, result: str) -> None:
        if self.outcome == "*":
            self.outcome = result

    def begin_variation(self) -> Any:
        return chess.pgn.SKIP

    def handle_error(self, error: Exception) -> None:
        self.skipped = "illegal move"

    def end_game(self) -> None:
        if self._ply < 0 and not self.skipped:
            self.skipped = "no moves"

    def result(self) -> None:
        """Nothing: the caller keeps the visitor."""


def walk(text: bytes, visitor: Visitor) -> Visitor:
    """Sends ``visitor`` through the game of ``text``.

    Only names may hold letters beyond ASCII, and they are not used, so any encoding is fine.
    """
    chess.pgn.read_game(io.StringIO(text.decode("latin-1")), Visitor=lambda: visitor)
    return visitor
