"""The fast PGN reader: from chunks of text to samples and counts (see `pgn_kernels`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from nnuelab.chess import movetext, notation
from nnuelab.chess.planes import BOARD
from nnuelab.chess.position import POSITION
from nnuelab.data import pgn_kernels, pgn_state
from nnuelab.data.pgn_bytes import name_hash
from nnuelab.data.records import RECORD
from nnuelab.data.streams import blocks
from nnuelab.errors import UserError

CHUNK = 1 << 21  # bytes that the reader is given at once, or some more: its tables get cold between
LONGEST = 1 << 26  # bytes without an end of a game: that is no PGN
RATING_STEP = 100  # Elo
RATINGS = 64  # steps that are counted
_STANDARD_START = notation.from_fen(notation.STARTING_FEN)


@dataclass(frozen=True)
class Fault:
    """A game that was left out, and where: numbers from 0, within the chunk."""

    game: int
    line: int
    reason: str
    word: str


@dataclass
class Games:
    """Samples and counts of a chunk of text.

    Attributes
    ----------
    records : ndarray of RECORD
        Samples in their order; ``game`` counts from 0.
    hashes : ndarray of uint64
        Of the moves of each game that gave samples.
    games, lines : int
    skipped, filtered : Counter of str
        Games and positions that were left out, by reason.
    positions : int
        In good games.
    faults : list of Fault
        The first three games of each reason.
    ratings : ndarray of int64 [RATINGS]
        Players of games that gave samples, by RATING_STEP.
    """

    records: np.ndarray
    hashes: np.ndarray
    games: int
    lines: int
    positions: int
    skipped: Counter[str]
    filtered: Counter[str]
    ratings: np.ndarray
    faults: list[Fault] = field(default_factory=list)


def kernel_options(chosen: Mapping[str, object]) -> np.ndarray:
    """OPTIONS [1] from values by name; ``terminations`` are names, in any case.

    Raises
    ------
    UserError
        When there are too many names, or a number is too large.
    """
    options = np.zeros(1, pgn_state.OPTIONS)
    for name, value in chosen.items():
        if name != "terminations":
            try:
                options[name] = value
            except OverflowError:
                raise UserError(f"{name} {value} is too large; write a smaller number") from None
    names = chosen.get("terminations", ())
    assert isinstance(names, list | tuple)
    if len(names) > (most := options["termination"].shape[1]):
        raise UserError(f"terminations: {len(names)} are given, at most {most} may be; name fewer")
    for i, name in enumerate(names):
        options["termination"][0, i] = name_hash(str(name).strip().lower().encode())
    options["terminations"] = len(names)
    return options


@lru_cache(4096)
def _start(fen: str) -> np.void | int:
    """The position of a FEN, or why its game is left out."""
    try:
        return notation.from_fen(fen)
    except notation.Chess960Error:
        return int(pgn_state.CHESS960)
    except notation.FenError:
        return int(pgn_state.ILLEGAL_START)


class Reader:
    """Reads chunks of games, one thread at a time.

    Each call uses the same memory, since fresh pages cost as much as reading: what `read` returns
    is valid until the next one.

    Parameters
    ----------
    options : ndarray of OPTIONS [1]
        See `kernel_options`.
    """

    def __init__(self, options: np.ndarray) -> None:
        self._options = options.copy()
        self._positions = np.zeros(2, POSITION)
        self._positions[0] = _STANDARD_START
        self._board = np.zeros(1, BOARD)
        self._records = np.empty(0, RECORD)
        self._hashes = np.empty(0, np.uint64)
        self._text = np.empty(0, np.uint8)

    def read(self, text: bytes, max_games: int = 0) -> Games:
        """Samples of ``text``, some whole games; of the first ``max_games`` only (0: all)."""
        size = len(text) // 2 + 1
        if len(self._records) < size:
            self._records, self._hashes = np.empty(size, RECORD), np.empty(size, np.uint64)
        if len(self._text) < len(text) + movetext.PADDING:
            self._text = np.empty(len(text) + movetext.PADDING, np.uint8)
        self._text[: len(text)] = np.frombuffer(text, np.uint8)
        self._text[len(text) : len(text) + movetext.PADDING] = 0
        state = np.zeros(1, pgn_state.STATE)
        now = state[0]
        reasons = np.zeros(len(pgn_state.REASONS), np.int64)
        filtered = np.zeros(1 + len(pgn_state.FILTERS), np.int64)
        faults = np.zeros(3 * len(pgn_state.REASONS), pgn_state.FAULT)
        ratings = np.zeros(RATINGS, np.int64)
        self._options["max_games"] = max_games
        while pgn_kernels.read_games(
            self._text,
            len(text),
            now,
            self._options[0],
            self._positions,
            self._board[0],
            self._records,
            self._hashes,
            reasons,
            filtered,
            faults,
            ratings,
        ):
            found = _start(text[now["fen"] : now["fen_end"]].decode("latin-1"))
            if isinstance(found, int):
                now["start"] = found
            else:
                self._positions[1], now["start"] = found, 1
        return Games(
            self._records[: now["records"]],
            self._hashes[: now["sampled"]],
            int(now["games"]),
            text.count(b"\n"),
            int(filtered[0]),
            _named(pgn_state.REASONS[1:], reasons[1:]),
            _named(pgn_state.FILTERS, filtered[1:]),
            ratings,
            [
                Fault(
                    int(fault["game"]),
                    int(fault["line"]),
                    pgn_state.REASONS[fault["reason"]],
                    text[fault["word"] : fault["word_end"]][:20].decode("utf-8", "replace"),
                )
                for fault in faults[: now["faults"]]
            ],
        )


def chunks(path: Path | str, size: int = CHUNK) -> Iterator[bytes]:
    """A file in pieces of some whole games.

    What `Reader` finds in them doesn't depend on where they were cut.

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
            raise UserError(f"{path} is not a PGN file: no game ends within {LONGEST >> 20} MB")
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
    state, options = np.zeros(1, pgn_state.STATE), np.zeros(1, pgn_state.OPTIONS)
    board, fault = np.zeros(1, BOARD), np.zeros(1, pgn_state.FAULT)
    padded = np.frombuffer(bytearray(text + bytes(movetext.PADDING)), np.uint8)
    return int(
        pgn_kernels.last_start(
            padded, len(text), state[0], options[0], board[0], np.empty(0, RECORD), fault[0]
        )
    )


def _named(names: tuple[str, ...], counts: np.ndarray) -> Counter[str]:
    return Counter({name: int(count) for name, count in zip(names, counts, strict=True) if count})
