"""Letters, digits and chess pieces of a few pixels, drawn by hand: no font, the same everywhere."""

from __future__ import annotations

import numpy as np

from nnuelab.chess.notation import PIECES

WIDTH, HEIGHT = 7, 12  # of a character, in pixels
_PIECES = {
    "P": """
.......
...#...
..###..
..###..
..###..
...#...
..###..
.#####.
.#####.
""",
    "N": """
...#...
..####.
.######
.######
.###.##
...####
..#####
.######
.######
""",
    "B": """
...#...
..###..
..###..
.#####.
.#####.
..###..
..###..
.#####.
#######
""",
    "R": """
##.#.##
#######
#######
.#####.
.#####.
.#####.
.#####.
#######
#######
""",
    "Q": """
#..#..#
#.###.#
#######
#######
.#####.
.#####.
..###..
.#####.
#######
""",
    "K": """
...#...
..###..
...#...
.##.##.
#######
#######
.#####.
.#####.
#######
""",
}
_TEXT = {
    "1": ".#. ##. .#. .#. .#. .#. ###",
    "2": "###. ...# ...# .##. #... #... ####",
    "3": "###. ...# ...# .##. ...# ...# ###.",
    "4": "...# ..## .#.# #..# #### ...# ...#",
    "5": "#### #... ###. ...# ...# ...# ###.",
    "6": ".##. #... #... ###. #..# #..# .##.",
    "7": "#### ...# ...# ..#. ..#. .#.. .#..",
    "8": ".##. #..# #..# .##. #..# #..# .##.",
    "a": ".... .... .##. ...# .### #..# .###",
    "b": "#... #... ###. #..# #..# #..# ###.",
    "c": ".... .... .### #... #... #... .###",
    "d": "...# ...# .### #..# #..# #..# .###",
    "e": ".... .... .##. #..# #### #... .###",
    "f": "..## .#.. ###. .#.. .#.. .#.. .#..",
    "g": ".... .... .### #..# #..# .### ...# .##.",
    "h": "#... #... ###. #..# #..# #..# #..#",
}


def _bitmap(rows: list[str], top: int, left: int) -> np.ndarray:
    found = np.zeros((HEIGHT, WIDTH), np.uint8)
    for y, row in enumerate(rows):
        for x, mark in enumerate(row):
            found[top + y, left + x] = mark == "#"
    return found


def _outlined(filled: np.ndarray) -> np.ndarray:
    """Without the pixels that have others on all four sides."""
    around = np.pad(filled, 1)
    sides = around[:-2, 1:-1] & around[2:, 1:-1] & around[1:-1, :-2] & around[1:-1, 2:]
    found: np.ndarray = filled & (1 - sides)
    return found


TEXT = {letter: _bitmap(rows.split(), 3, 1) for letter, rows in _TEXT.items()}
"""uint8 [HEIGHT, WIDTH] of 1 for ink, by letter or digit."""


def _of_piece(piece: str) -> np.ndarray:
    filled = _bitmap(_PIECES[piece.upper()].split(), 2, 0)
    return filled if piece.isupper() else _outlined(filled)


DRAWN = np.array([*map(_of_piece, PIECES), np.zeros((HEIGHT, WIDTH))], np.uint8)
"""uint8 [13, HEIGHT, WIDTH], by piece code; EMPTY is blank. White is filled, Black outlined."""
