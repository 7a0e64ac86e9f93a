"""Opening books, EPD or PGN, and which openings a pairing plays."""

from __future__ import annotations

import io
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nnuelab.chess import notation
from nnuelab.data import streams
from nnuelab.errors import UserError

LARGEST = 1 << 30  # bytes of an unpacked book; the largest in use have a fifth of it
CHECKED_WHOLE = 20_000  # openings; of a bigger EPD book only those that are drawn are checked


class Book:
    """The openings of a file: EPD (or FEN) lines, or PGN games whose last position counts.

    Plain, .gz, .bz2, .zst, or a .zip of one such file. Lines that are equal count once.

    Raises
    ------
    UserError
        When the file can't be read, is larger than LARGEST, holds no opening or an illegal one.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        text = [line.decode("utf-8", "replace") for line in _lines(self.path)]
        first = next((line for line in text if line.strip()), "")
        self._is_pgn = first.lstrip().startswith("[")
        entries = _games(text) if self._is_pgn else _positions(text)
        # Of equal openings the first stands for all; its number is for messages.
        self._openings: dict[str, int] = {}
        for number, entry in entries:
            self._openings.setdefault(entry, number)
        if not self._openings:
            raise UserError(f"the book {self.path} has no opening")
        self._entries = list(self._openings)
        self._fens: dict[int, str] = {}
        if not self._is_pgn and len(self) <= CHECKED_WHOLE:
            for i in range(len(self)):
                self.fen(i)

    def __len__(self) -> int:
        return len(self._entries)

    def fen(self, i: int) -> str:
        """The FEN of opening ``i``, checked: a legal position with a legal move."""
        if i not in self._fens:
            entry = self._entries[i]
            where = f"{self.path}, {'game' if self._is_pgn else 'line'} {self._openings[entry]}"
            try:
                position = notation.from_fen(_last_position(entry) if self._is_pgn else entry)
            except ValueError as error:
                raise UserError(f"{where}: {error}") from None
            fen = notation.to_fen(position)
            if not notation.moves_of(position):
                raise UserError(f"{where}: the game is over in {fen}")
            self._fens[i] = fen
        return self._fens[i]

    def draw(self, n: int, seed: int, pairing: int) -> list[str]:
        """``n`` different openings for one pairing, as FENs, without replacement.

        The first of them are the same for every larger ``n``. Openings that transpose into each
        other are one.

        Raises
        ------
        UserError
            When the book has fewer than ``n`` different openings.
        """
        drawn: dict[str, str] = {}
        if n <= len(self):
            for i in np.random.default_rng([seed, pairing]).permutation(len(self)).tolist():
                fen = self.fen(i)
                drawn.setdefault(fen.rsplit(" ", 2)[0], fen)
                if len(drawn) == n:
                    return list(drawn.values())
        raise UserError(
            f"each opening is played once per pairing: {2 * n} games need {n} openings, and the "
            f"book {self.path} has {len(drawn) or len(self)}; give a bigger book or fewer games"
        )


def _lines(path: Path) -> Iterator[bytes]:
    if path.suffix.lower() != ".zip":
        yield from _bounded(path, streams.lines(path))
        return
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
            members = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(members) != 1:
                raise UserError(f"{path} holds {len(members)} files; a book must have one")
            if members[0].file_size > LARGEST:  # no more than this is unpacked, even if it lies
                raise _too_large(path)
            yield from streams.lines(archive.extract(members[0], folder))
    except FileNotFoundError:
        raise UserError(f"there is no file {path}; check its name") from None
    except OSError as error:  # a place outside of the file, too; a full disk where it is unpacked
        reason = error.strerror or error
        raise UserError(f"can't unpack {path} ({reason}); fetch it again, or make room") from error
    except (EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path} is damaged ({error}); fetch it again") from error


def _bounded(path: Path, lines: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for line in lines:
        size += len(line)
        if size > LARGEST:
            raise _too_large(path)
        yield line


def _too_large(path: Path) -> UserError:
    return UserError(f"{path} has more than {LARGEST >> 20} MB of openings; give a smaller book")


def _positions(text: list[str]) -> Iterator[tuple[int, str]]:
    """Line numbers and FENs: four fields of an EPD, and the move counters where they follow."""
    for number, line in enumerate(text, 1):
        fields = line.split(";")[0].split()
        if fields and not fields[0].startswith("#"):
            counters = fields[4:6]
            whole = len(counters) == 2 and all(field.isdigit() for field in counters)
            yield number, " ".join(fields[:6] if whole else fields[:4])


def _games(text: list[str]) -> Iterator[tuple[int, str]]:
    """Numbers and texts of the games of a PGN: of the tags only FEN, then the movetext."""
    number, in_moves = 0, False
    game: list[str] = []
    for line in [*text, "["]:
        if line.startswith("["):
            if in_moves:
                number += 1
                yield number, "".join(game)
                game, in_moves = [], False
            if line.startswith("[FEN "):
                game.append(line)
        elif line.strip():
            if not in_moves:
                game.append("\n")
            game.append(line)
            in_moves = True


def _last_position(game: str) -> str:
    import chess.pgn

    read = chess.pgn.read_game(io.StringIO(game))
    if read is None:
        raise ValueError("no game")
    if read.errors:
        raise ValueError(str(read.errors[0]))
    return read.end().board().fen()
