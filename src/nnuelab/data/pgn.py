"""PGN as a stream: chunks of whole games for the reader, and the texts of single games."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nnuelab.data.comments import open_comment
from nnuelab.data.reader import last_start
from nnuelab.data.streams import blocks, lines
from nnuelab.errors import UserError

CHUNK = 1 << 21  # bytes that the reader is given at once, or some more: its tables get cold between
LONGEST = 1 << 26  # bytes without an end of a game: that is no PGN


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
            comment = open_comment(line, comment)
        game.append(line)
    if game:
        yield b"".join(game)
        found += 1
    if not found:
        raise UserError(f"{path} has no games; give a PGN file (.pgn, .pgn.zst, .gz or .bz2)")


def chunks(path: Path | str, size: int = CHUNK) -> Iterator[bytes]:
    """A file in pieces of some whole games.

    What `reader.Reader` finds in them doesn't depend on where they were cut.

    Raises
    ------
    UserError
        When the file can't be read to its end, is empty, or no game ends within LONGEST bytes.
    """
    waiting: list[bytes] = []
    length, wanted = 0, size
    begun = False
    for block in blocks(path):
        waiting.append(block)
        length += len(block)
        begun = begun or not block.isspace()
        if length < wanted:
            continue
        text = b"".join(waiting)
        cut = _last_start(text)
        if cut:
            yield text[:cut]
            waiting, length, wanted = [text[cut:]], len(text) - cut, size
        elif length >= LONGEST:
            raise UserError(f"{path} is no PGN: no game ends within {LONGEST >> 20} MB")
        else:
            waiting, wanted = [text], 2 * length
    if not begun:
        raise UserError(f"{path} has no games; give a PGN file (.pgn, .pgn.zst, .gz or .bz2)")
    if length:
        yield b"".join(waiting)


def _last_start(text: bytes) -> int:
    """Where the last game of a text begins that surely begins there; 0 when there is none."""
    # What `pgn_kernels` takes for the begin of a game even inside a comment.
    places = (text.rfind(b"\n\n[Event ") + 2, text.rfind(b"\n\r\n[Event ") + 3)
    if max(places) > 3:
        return max(places)
    return last_start(text)
