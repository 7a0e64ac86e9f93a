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


@inline
def read_eval(text, place):
    """Score of ``[%eval`` at ``place`` from White's view, in centipawns; NO_SCORE when it is none.

    Just what python-chess takes for one: ``0.35``, ``-1.2,18``, ``#-3``, in brackets.
    """
    found = NO_EVAL
    if not (
        text[at(place + 1)] == 0x25
        and text[at(place + 2)] == 0x65
        and text[at(place + 3)] == 0x76
        and text[at(place + 4)] == 0x61
        and text[at(place + 5)] == 0x6C
        and (text[at(place + 6)] == SPACE or 9 <= text[at(place + 6)] <= 13)
    ):
        return found
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
            return NO_EVAL
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
            return NO_EVAL
    if text[at(place)] == 0x2C:  # the depth
        _, place = read_number(text, place + 1)
    if text[at(place)] != 0x5D:
        return NO_EVAL
    found = max(min(found, _SCORE_LIMIT), -_SCORE_LIMIT)
    return -found if negative else found


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
    while place < end:
        word = word_at(text, place)
        found = where(word, 0x7D) | where(word, BRACKET) | where(word, NEWLINE)
        if not found:
            place += 8
            continue
        place += lsb(found) >> 3
        character = np.int64(text[at(place)])
        if place >= end:
            break
        place += 1
        if character == 0x7D:
            return place, line, score, True
        if character == BRACKET:
            if wanted and score == NO_EVAL:
                score = read_eval(text, place - 1)
        else:
            line += 1
            empty = place + np.int64(text[at(place)] == RETURN)
            if text[at(empty)] == NEWLINE and is_event(text, empty + 1):
                return empty, line, score, False
    return min(place, end), line, score, False
