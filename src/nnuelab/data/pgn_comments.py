"""Comments of a game, and the evaluations in them."""

import numpy as np

from nnuelab.data.pgn_bytes import (
    BRACKET,
    NEWLINE,
    RETURN,
    SPACE,
    is_digit,
    is_event,
    read_number,
    where,
)
from nnuelab.data.records import MATE, NO_SCORE
from nnuelab.jit import at, inline, lsb, word_at

_SCORE_LIMIT = np.int64(32_700)  # [%eval 999.99] of a foreign tool has to fit int16 too
NO_EVAL = np.int64(NO_SCORE)
_MATE = np.int64(MATE)
_EVAL = np.uint64(int.from_bytes(b"[%eval", "little"))
_SIX_BYTES = np.uint64(2**48 - 1)


@inline
def read_eval(text, place):
    """The ``[%eval`` that may stand at ``place``.

    Just what python-chess takes for one: ``0.35``, ``-1.2,18``, ``#-3``, in brackets.

    Returns
    -------
    score : int64
        From White's view, in centipawns; NO_SCORE when there is none.
    place : int64
        Behind its number; where it was when there is none.
    """
    begin = place
    blank = text[at(place + 6)]
    if word_at(text, place) & _SIX_BYTES != _EVAL or not (blank == SPACE or 9 <= blank <= 13):
        return NO_EVAL, begin
    place += 7
    mate = text[at(place)] == 0x23  # "#"
    place += np.int64(mate)
    negative = text[at(place)] == 0x2D
    place += np.int64(negative or text[at(place)] == 0x2B)
    whole, after = read_number(text, place)
    digits = after - place
    place = after
    if mate:
        found = _MATE - whole  # "#0" is over, and the sign of 0 is lost
        if digits == 0 or whole == 0:
            return NO_EVAL, begin
    else:
        found = 100 * whole
        if text[at(place)] == 0x2E:
            place += 1
            decimals = np.int64(0)
            while is_digit(text[at(place)]) and decimals < 2:
                found += (10 - 9 * decimals) * (np.int64(text[at(place)]) - 0x30)
                decimals += 1
                place += 1
            digits += decimals
        if digits == 0:
            return NO_EVAL, begin
    if text[at(place)] == 0x2C:  # the depth
        _, place = read_number(text, place + 1)
    if text[at(place)] != 0x5D:
        return NO_EVAL, begin
    found = max(min(found, _SCORE_LIMIT), -_SCORE_LIMIT)
    return -found if negative else found, place


@inline
def read_comment(text, place, end, line, score, wanted):
    """Passes over a comment from behind its ``{``; the first ``[%eval`` in it is the score.

    Returns
    -------
    place, line : int64
        Behind its ``}``; where the next game begins when there is none.
    score : int64
        NO_SCORE without any, or the one that was handed in.
    closed : bool
    """
    wanted = wanted and score == NO_EVAL
    if wanted and text[at(place + 1)] == BRACKET and place < end:  # where Lichess has it
        score, place = read_eval(text, place + 1)
        wanted = score == NO_EVAL
    while place < end:
        word = word_at(text, place)
        found = where(word, 0x7D) | where(word, NEWLINE)
        if wanted:
            found |= where(word, BRACKET)
        if not found:
            place += 8
            continue
        place += lsb(found) >> 3
        if place >= end:
            break
        character = np.int64(text[at(place)])
        if character == 0x7D:
            return place + 1, line, score, True
        if character == BRACKET:
            score, place = read_eval(text, place)
            wanted = score == NO_EVAL
            place += 1
        else:
            line += 1
            place += 1
            empty = place + np.int64(text[at(place)] == RETURN)
            if text[at(empty)] == NEWLINE and is_event(text, empty + 1):
                return empty, line, score, False
    return min(place, end), line, score, False
