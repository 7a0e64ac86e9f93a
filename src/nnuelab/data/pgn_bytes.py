"""The bytes of a PGN file: lines, numbers, words, and where they end."""

import numpy as np

from nnuelab.data.records import UNKNOWN_RESULT
from nnuelab.jit import at, inline, lsb, word_at

NEWLINE, RETURN, SPACE = np.int64(10), np.int64(13), np.int64(32)
BRACKET, QUOTE = np.int64(0x5B), np.int64(0x22)
UNKNOWN = np.int64(UNKNOWN_RESULT)
_BYTES = np.uint64(0x0101010101010101)
BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


def name_hash(name: bytes) -> np.uint64:
    """FNV-1a of a name, as the kernels compute it (Fowler, Noll, Vo)."""
    found = int(BASIS)
    for byte in name:
        found = (found ^ byte) * int(PRIME) % 2**64
    return np.uint64(found)


@inline
def where(word, byte):
    """The high bit of each byte of a word that has a value; above the first one, of some more."""
    different = word ^ (_BYTES * np.uint64(byte))
    return (different - _BYTES) & ~different & (_BYTES << np.uint64(7))


@inline
def line_end(text, place, end):
    """Where a line ends: at its newline, or at the end of the text."""
    while place < end:
        word = word_at(text, place)
        found = where(word, NEWLINE) | where(word, RETURN)
        if found:
            return min(place + (lsb(found) >> 3), end)
        place += 8
    return end


@inline
def after_newline(text, place):
    """Behind a line end, which may be two bytes; 0 bytes at the end of the text."""
    place += np.int64(text[at(place)] == RETURN and text[at(place + 1)] == NEWLINE)
    return place + 1


@inline
def is_empty_line(text, place, end):
    """Whether only blanks are left of the line."""
    while place < end and (text[at(place)] == SPACE or text[at(place)] == 9):
        place += 1
    return place >= end or text[at(place)] == NEWLINE or text[at(place)] == RETURN


@inline
def is_tag(text, place):
    return text[at(place)] == BRACKET and 0x41 <= text[at(place + 1)] <= 0x5A


@inline
def is_event(text, place):
    """Whether the text there begins with ``[Event`` and a space."""
    return (
        text[at(place)] == BRACKET
        and text[at(place + 1)] == 0x45
        and text[at(place + 2)] == 0x76
        and text[at(place + 3)] == 0x65
        and text[at(place + 4)] == 0x6E
        and text[at(place + 5)] == 0x74
        and text[at(place + 6)] == SPACE
    )


@inline
def is_digit(character):
    return character >= 0x30 and character <= 0x39


@inline
def read_number(text, place):
    """A number of at most nine digits, and the place behind it."""
    found, first = np.int64(0), place
    while is_digit(text[at(place)]) and place < first + 9:
        found = 10 * found + np.int64(text[at(place)]) - 0x30
        place += 1
    return found, place


@inline
def lower_hash(text, place, end):
    """Hash of a tag's value in lower case, blanks around it aside."""
    while place < end and text[at(place)] == SPACE:
        place += 1
    while end > place and text[at(end - 1)] == SPACE:
        end -= 1
    found = BASIS
    while place < end:
        character = np.uint64(text[at(place)])
        if character >= np.uint64(0x41) and character <= np.uint64(0x5A):
            character |= np.uint64(0x20)
        found = (found ^ character) * PRIME
        place += 1
    return found


@inline
def read_result(text, place):
    """Result from White's view: 1, 0, -1; UNKNOWN_RESULT when there is none."""
    first, second, third = text[at(place)], text[at(place + 1)], text[at(place + 2)]
    if first == 0x31 and second == 0x2D and third == 0x30:  # 1-0
        return np.int64(1)
    if first == 0x30 and second == 0x2D and third == 0x31:  # 0-1
        return np.int64(-1)
    if first == 0x31 and second == 0x2F and third == 0x32 and text[at(place + 3)] == 0x2D:
        return np.int64(0)  # 1/2-1/2
    return UNKNOWN


@inline
def skip_numbers(text, place):
    """Passes over blanks, dots and digits in front of a letter, eight bytes at once.

    Anything else is left where it is: signs, ends of lines, results, a number that goes on.
    """
    word = word_at(text, place)
    letters = word & (_BYTES << np.uint64(6))
    if letters:
        nibbles = word & (_BYTES * np.uint64(15))
        beyond_9 = nibbles + _BYTES * np.uint64(6)
        no_blank = nibbles + _BYTES * np.uint64(15)
        no_dot = (nibbles ^ _BYTES * np.uint64(14)) + _BYTES * np.uint64(15)
        others = ((word & beyond_9) | (~word & no_blank & no_dot)) & (_BYTES << np.uint64(4))
        others |= (word & _BYTES * np.uint64(0xA0)) ^ (_BYTES * np.uint64(0x20))
        skipped = lsb(letters) & 56
        if not others << np.uint64(1) << np.uint64(63 - skipped):
            return place + (skipped >> 3)
    return place


@inline
def word_end(text, place, end):
    while place < end and text[at(place)] > SPACE:
        place += 1
    return place


@inline
def has_digit(text, place, end):
    found = False
    while place < end and text[at(place)] > SPACE:
        found |= is_digit(text[at(place)])
        place += 1
    return found


@inline
def is_null_move(text, place):
    first, second = text[at(place)], text[at(place + 1)]
    return (
        (first == 0x2D and second == 0x2D)  # --
        or (first == 0x5A and second == 0x30)  # Z0
        or (first == 0x30 and second == 0x30 and text[at(place + 2)] == 0x30)  # 0000
    )
