"""Games of PGN files one by one, with their tags; `reader` is for samples of millions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nnuelab.data.journal import read_part
from nnuelab.data.streams import lines
from nnuelab.errors import UserError

# Possessive: what it could go back to would take 166 bytes of memory for each byte of a long tag.
_TAG = re.compile(rb'\s*\[\s*(\w+)\s+"((?:[^"\\]++|\\.)*+)"\s*\]')
_COMMENT_TOKEN = re.compile(rb"[{};]")


def games(path: Path | str) -> Iterator[tuple[dict[str, str], bytes]]:
    """The tags and the text of every game of a file, or part of a tournament, in order.

    A game ends at an empty line after its moves that isn't inside a comment, and where a tag stands
    behind its moves or one that it already has. Where an empty line and the tag ``Event`` follow
    each other, a comment that was never closed ends, too: it costs one game.

    Raises
    ------
    UserError
        When the file can't be read to its end, or has no games.
    """
    tags: dict[str, str] = {}
    game: list[bytes] = []
    moves = comment = blank = False  # moves were seen; a comment is open; the last line was empty
    found = 0
    is_part = str(path).endswith(".part")
    for line in _lines_of_part(Path(path)) if is_part else lines(path):
        tag = None
        if not comment or (blank and line.startswith(b"[Event ")):
            tag = _TAG.match(line)
        name = tag[1].decode("ascii", "replace") if tag else ""
        blank = not line.strip()
        if game and (name in tags or (moves and (tag or (blank and not comment)))):
            yield tags, b"".join(game)
            found += 1
            tags, game, moves, comment = {}, [], False, False
        if tag:
            tags[name] = _tag_text(tag[2])
        elif blank and not comment:
            continue
        elif comment or not line.startswith(b"%"):
            moves = True
            comment = open_comment(line, comment)
        game.append(line)
    if game:
        yield tags, b"".join(game)
        found += 1
    if not found and not is_part:  # of many parts some may be empty
        raise UserError(f"{path} has no games; give a PGN file (.pgn, .pgn.zst, .gz or .bz2)")


def _lines_of_part(path: Path) -> Iterator[bytes]:
    for entry in read_part(path):
        try:
            games = [game.encode() for game in entry["games"]]
        except (AttributeError, LookupError, TypeError):
            raise UserError(f"{path} is no part of a tournament; give that, or games") from None
        for game in games:
            yield from (*game.splitlines(keepends=True), b"\n")


def texts(path: Path | str) -> Iterator[bytes]:
    """The text of every game of a file, tags and moves; see `games`."""
    return (text for _, text in games(path))


def _tag_text(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("latin-1")  # the PGN standard's own character set
    return text.replace('\\"', '"').replace("\\\\", "\\")


def open_comment(line: bytes, comment: bool) -> bool:
    """Whether a ``{`` comment is open at the end of a line that began inside one or not."""
    if b";" not in line:  # most lines: the last brace says it, in half the time
        opens, closes = line.rfind(b"{"), line.rfind(b"}")
        return comment if opens == closes else opens > closes
    for token in _COMMENT_TOKEN.findall(line):
        if token == b"}":
            comment = False
        elif token == b"{":
            comment = True
        elif not comment:
            break  # the rest of the line is a ; comment
    return comment
