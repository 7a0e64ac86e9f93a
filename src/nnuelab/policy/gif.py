"""Many games at once as an animated GIF, as Neural Chess shows them: 10 x 5 boards.

A game that is over holds its last position; the pictures end when no game has a new one. The file
is written here, with glyphs of our own: its bytes depend on the games alone, on no font and no
version of a library.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np

from nnuelab.jit import at, jit
from nnuelab.policy.glyphs import DRAWN, HEIGHT, TEXT, WIDTH

COLUMNS, ROWS = 10, 5
CELL_WIDTH, CELL_HEIGHT = 80, 130  # pixels
MARGIN = 5
DELAY = 150  # ms
_WHITE, _BLACK, _KEPT = range(3)  # _KEPT is transparent: the pixel of the picture before
_PALETTE = bytes([255, 255, 255, 0, 0, 0, 128, 128, 128, 0, 0, 0])
_BITS = 2  # of a pixel
_FULL = 1 << 12  # codes that a table of LZW has at most
_HEADER = struct.pack("<6sHHBBB", b"GIF89a", COLUMNS * CELL_WIDTH, ROWS * CELL_HEIGHT, 0x91, 0, 0)
_FOREVER = b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"


def frames(games: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """The pictures: uint8 [650, 800], 1 for black.

    Parameters
    ----------
    games : sequence of uint8 [n, 64]
        Piece codes by square of each position of a game, of the first 50 games.
    """
    shown = games[: COLUMNS * ROWS]
    picture = np.full((ROWS * CELL_HEIGHT, COLUMNS * CELL_WIDTH), _WHITE, np.uint8)
    for number in range(max((len(game) for game in shown), default=0)):
        for i, game in enumerate(shown):
            if number < len(game):
                y, x = (i // COLUMNS) * CELL_HEIGHT, (i % COLUMNS) * CELL_WIDTH
                picture[y : y + CELL_HEIGHT, x : x + CELL_WIDTH] = board(game[number])
        yield picture


def board(pieces: np.ndarray) -> np.ndarray:
    """uint8 [130, 80]: a board from White's side, with its letters and numbers."""
    cell = np.zeros((CELL_HEIGHT, CELL_WIDTH), np.uint8)

    def put(row: int, column: int, glyph: np.ndarray) -> None:
        y, x = MARGIN + row * HEIGHT, MARGIN + column * WIDTH
        cell[y : y + HEIGHT, x : x + WIDTH] = glyph

    for file, letter in enumerate("abcdefgh"):
        put(0, file + 1, TEXT[letter])
        put(9, file + 1, TEXT[letter])
    for rank in range(8):
        put(8 - rank, 0, TEXT[str(rank + 1)])
        put(8 - rank, 9, TEXT[str(rank + 1)])
        for file in range(8):
            put(8 - rank, file + 1, DRAWN[pieces[8 * rank + file]])
    return cell


def gif(games: Sequence[np.ndarray]) -> bytes:
    """The file; see `frames`. The same games give the same bytes."""
    content = [_HEADER, _PALETTE, _FOREVER]
    before = None
    for picture in frames(games):
        content.append(_image(before, picture))
        before = picture.copy()
    return b"".join([*content, b";"])


def _image(before: np.ndarray | None, picture: np.ndarray) -> bytes:
    """A frame: the smallest rectangle around what has changed."""
    top, left = 0, 0
    pixels = picture
    if before is not None:
        changed = before != picture
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        top, bottom = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 1)
        left, right = (int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 1)
        window = slice(top, bottom), slice(left, right)
        pixels = np.where(changed[window], picture[window], _KEPT).astype(np.uint8)
    height, width = pixels.shape
    flat = np.ascontiguousarray(pixels).ravel()
    out = np.zeros(2 * len(flat) + 16, np.uint8)
    data = out[: _compress(flat, out)].tobytes()
    blocks = [data[i : i + 255] for i in range(0, len(data), 255)]
    return b"".join(
        [
            struct.pack("<BBBBHBB", 0x21, 0xF9, 4, 1 << 2 | 1, DELAY // 10, _KEPT, 0),
            struct.pack("<BHHHHBB", 0x2C, left, top, width, height, 0, _BITS),
            *(bytes([len(block)]) + block for block in blocks),
            b"\0",
        ]
    )


@jit
def _put(out, state, code, size):
    """Appends a code of ``size`` bits; state: bytes written, bits that wait, how many these are."""
    state[1] |= code << state[2]
    state[2] += size
    while state[2] >= 8:
        out[at(state[0])] = np.uint8(state[1] & 255)
        state[0] += 1
        state[1] >>= 8
        state[2] -= 8


@jit
def _compress(pixels, out):
    """GIF's LZW of pixels of _BITS; returns the number of bytes."""
    clear = np.int64(1 << _BITS)
    children = np.zeros((_FULL, 1 << _BITS), np.int64)
    state = np.zeros(3, np.int64)
    size, new = np.int64(_BITS + 1), clear + 2
    _put(out, state, clear, size)
    prefix = np.int64(pixels[0])
    for i in range(1, len(pixels)):
        pixel = np.int64(pixels[at(i)])
        known = children[at(prefix), at(pixel)]
        if known != 0:
            prefix = known
            continue
        _put(out, state, prefix, size)
        if new == _FULL:
            _put(out, state, clear, size)
            children[:] = 0
            size, new = np.int64(_BITS + 1), clear + 2
        else:
            children[at(prefix), at(pixel)] = new
            if new == 1 << size:
                size += 1
            new += 1
        prefix = pixel
    _put(out, state, prefix, size)
    if new == 1 << size and size < 12:  # the reader has made the table's next code by now
        size += 1
    _put(out, state, clear + 1, size)
    _put(out, state, np.int64(0), (8 - state[2]) & 7)
    return state[0]
