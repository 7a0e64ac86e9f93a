"""Attack sets as bitboards: leapers from tables, sliders by their blockers.

A bitboard has bit ``file + 8 * rank`` set for each square in the set (a1 = 0, h8 = 63).
Tables are filled once at import; jitted code reaches them by name (``jit.table``).

A slider's set is looked up by the occupancy of the squares that matter. Where the CPU gathers bits
at once, these are the index as they are, and of a set only the squares on the slider's lines are
kept: 16 bits instead of 64 (210 KB in all) leave more of the second level of the cache to the net
and the histories. Elsewhere a magic multiplication makes the index of whole sets.
"""

import numpy as np

from nnuelab.chess.magics import MAGICS
from nnuelab.jit import BMI2, at, gather_bits, inline, jit, popcount, scatter_bits, table

_KNIGHT = np.zeros(64, np.uint64)
_KING = np.zeros(64, np.uint64)
_PAWN = np.zeros((2, 64), np.uint64)  # squares that a pawn of that colour attacks
_BETWEEN = np.zeros((64, 64), np.uint64)  # squares strictly between two on one line
_LINE = np.zeros((64, 64), np.uint64)  # the whole line through two squares, 0 if there is none
_DIAGONAL = np.zeros((2, 64), np.uint64)  # the whole diagonal a1-h8, h1-a8 that a square is on
_LOOKUP = np.zeros(
    (2, 64),  # [bishop, rook]; together, so that a lookup reads one cache line
    [
        ("mask", "u8"),  # squares whose occupancy matters
        ("rays", "u8"),  # all squares of the lines
        ("magic", "u8"),
        ("offset", "i8"),  # of a square's block in _SLIDER
    ],
)
# Sum of 2^popcount(mask) over squares: bishop, rook
_SLIDER = np.zeros(5248 + 102400, np.uint16 if BMI2 else np.uint64)

_knight_table = table("knight", _KNIGHT)
_king_table = table("king", _KING)
_pawn_table = table("pawn", _PAWN)
_between_table = table("between", _BETWEEN)
_line_table = table("line", _LINE)
_diagonal_table = table("diagonal", _DIAGONAL)
_lookup_table = table("slider_lookup", _LOOKUP)
_slider_table = table("slider", _SLIDER)

BISHOP_LINES, ROOK_LINES = 0, 1


@inline
def bit(square):
    """The bitboard of one square."""
    return np.uint64(1) << np.uint64(square)


@inline
def knight(square):
    """Squares a knight on ``square`` attacks."""
    return _knight_table()[square]


@inline
def king(square):
    """Squares a king on ``square`` attacks."""
    return _king_table()[square]


@inline
def pawn(color, square):
    """Squares a pawn of ``color`` on ``square`` attacks."""
    return _pawn_table()[color, square]


@inline
def between(a, b):
    """Squares strictly between two squares on one line, else the empty set."""
    return _between_table()[a, b]


@inline
def line(a, b):
    """All squares of the line through two squares, else the empty set."""
    return _line_table()[a, b]


@inline
def diagonal(square):
    """All squares of the diagonal through ``square`` that runs like a1-h8."""
    return _diagonal_table()[0, square]


@inline
def antidiagonal(square):
    """All squares of the diagonal through ``square`` that runs like h1-a8."""
    return _diagonal_table()[1, square]


@inline
def _slot(lookup, occupied):
    """Where in _SLIDER the attacks of a square are found."""
    if BMI2:
        return at(lookup.offset) + gather_bits(occupied, lookup.mask)
    index = (occupied & lookup.mask) * lookup.magic
    return at(lookup.offset) + (index >> np.uint64(64 - popcount(lookup.mask)))


@inline
def _slider(lines, square, occupied):
    lookup = _lookup_table()[lines, square]
    found = np.uint64(_slider_table()[_slot(lookup, occupied)])
    return scatter_bits(found, lookup.rays) if BMI2 else found


@inline
def bishop(square, occupied):
    """Squares a bishop on ``square`` attacks when ``occupied`` squares block."""
    return _slider(BISHOP_LINES, square, occupied)


@inline
def rook(square, occupied):
    """Squares a rook on ``square`` attacks when ``occupied`` squares block."""
    return _slider(ROOK_LINES, square, occupied)


@inline
def queen(square, occupied):
    """Squares a queen on ``square`` attacks when ``occupied`` squares block."""
    return bishop(square, occupied) | rook(square, occupied)


@jit
def _walk(lines, square, occupied):
    """Slider attacks step by step; fills the tables."""
    attacks = np.uint64(0)
    for direction in range(4):
        along = 1 if direction % 2 else -1
        across = 1 if direction // 2 else -1
        if lines == BISHOP_LINES:
            df, dr = along, across
        elif direction < 2:
            df, dr = along, 0
        else:
            df, dr = 0, along
        f, r = square % 8 + df, square // 8 + dr
        while 0 <= f < 8 and 0 <= r < 8:
            attacks |= bit(f + 8 * r)
            if occupied & bit(f + 8 * r):
                break
            f += df
            r += dr
    return attacks


@jit
def _fill_leapers(knight_sets, king_sets, pawn_sets):
    for square in range(64):
        f0, r0 = square % 8, square // 8
        for target in range(64):
            f, r = abs(target % 8 - f0), abs(target // 8 - r0)
            if f * r == 2:
                knight_sets[square] |= bit(target)
            if max(f, r) == 1:
                king_sets[square] |= bit(target)
            if f == 1 and r == 1:
                pawn_sets[0 if target > square else 1, square] |= bit(target)


@jit
def _fill_lines(between_sets, line_sets):
    nothing = np.uint64(0)
    for a in range(64):
        for lines in range(2):
            for b in range(64):
                if _walk(lines, a, nothing) & bit(b):
                    between_sets[a, b] = _walk(lines, a, bit(b)) & _walk(lines, b, bit(a))
                    line_sets[a, b] = (
                        (_walk(lines, a, nothing) & _walk(lines, b, nothing)) | bit(a) | bit(b)
                    )


@jit
def _fill_diagonals(diagonals):
    for a in range(64):
        for b in range(64):
            if b % 8 - a % 8 == b // 8 - a // 8:
                diagonals[0, a] |= bit(b)
            if b % 8 - a % 8 == a // 8 - b // 8:
                diagonals[1, a] |= bit(b)


@jit
def _fill_sliders(lookups, sliders):
    offset = 0
    inner_files = ~np.uint64(0x8181818181818181)
    inner_ranks = ~np.uint64(0xFF000000000000FF)
    for lines in range(2):
        for square in range(64):
            # The last square of a ray is attacked whether it is occupied or not.
            own_file = np.uint64(0x0101010101010101) << np.uint64(square % 8)
            own_rank = np.uint64(0xFF) << np.uint64(8 * (square // 8))
            inner = (inner_files | own_file) & (inner_ranks | own_rank)
            rays = _walk(lines, square, np.uint64(0))
            mask = rays & inner
            size = 1 << popcount(mask)
            lookup = lookups[lines, square]
            lookup.mask, lookup.rays = mask, rays
            lookup.offset = offset
            subset = np.uint64(0)
            for _ in range(size):
                found = _walk(lines, square, subset)
                kept = gather_bits(found, rays) if BMI2 else found
                sliders[_slot(lookup, subset)] = kept
                subset = (subset - mask) & mask
            offset += size


_fill_leapers(_KNIGHT, _KING, _PAWN)
_fill_lines(_BETWEEN, _LINE)
_fill_diagonals(_DIAGONAL)
_LOOKUP["magic"] = MAGICS
_fill_sliders(_LOOKUP, _SLIDER)
