"""The tags of a game, and the filters that need no more of it."""

import numpy as np

from nnuelab.data.pgn_bytes import (
    NEWLINE,
    QUOTE,
    RETURN,
    UNKNOWN,
    after_newline,
    is_empty_line,
    is_event,
    is_tag,
    line_end,
    lower_hash,
    name_hash,
    read_number,
    read_result,
)
from nnuelab.data.pgn_state import CHESS960, GOOD, RATING, TERMINATION, TIME_CONTROL, VARIANT
from nnuelab.jit import at, inline, jit, word_at

# The first eight bytes of tag names, with the blank behind short ones
_WHITE_ELO, _BLACK_ELO, _TIME_CONTROL, _TERMINATION, _VARIANT, _RESULT, _FEN = (
    np.uint64(int.from_bytes(name, "little"))
    for name in (
        b"WhiteElo",
        b"BlackElo",
        b"TimeCont",
        b"Terminat",
        b"Variant ",
        b"Result ",
        b"FEN ",
    )
)
_FOUR_BYTES, _SEVEN_BYTES = np.uint64(2**32 - 1), np.uint64(2**56 - 1)
_STANDARD_NAMES = "", "standard", "chess", "classical", "normal", "illegal", "from position"
_CHESS960_NAMES = "chess960", "chess 960", "fischerandom", "fischerrandom", "fischer random"
_STANDARD = np.array([name_hash(name.encode()) for name in _STANDARD_NAMES])
_CHESS960 = np.array([name_hash(name.encode()) for name in _CHESS960_NAMES])


@inline
def _contains(names, name):
    found = False
    for i in range(len(names)):
        found |= names[i] == name
    return found


@inline
def _seconds(text, place):
    """Seconds that a player has for 40 moves; -1 where that is unknown.

    ``600+5``; ``300``; ``40/9000`` (of several periods, the first); ``-`` is unlimited.
    """
    moves_given = np.int64(40)
    found, after = read_number(text, place)
    if after == place:
        return np.int64(-1)
    if text[at(after)] == 0x2F:  # /
        moves_given = max(found, np.int64(1))
        place = after + 1
        found, after = read_number(text, place)
        found = found * 40 // moves_given
    if text[at(after)] == 0x2B:  # +
        increment, _ = read_number(text, after + 1)
        found += 40 * increment
    return found


@jit
def read_tags(text, end, state):
    """Reads the tags of the game at ``state.place`` into ``state``; False when none is left."""
    place, line = state.place, state.line
    state.reason, state.result = GOOD, UNKNOWN
    state.white = state.black = 0
    state.seconds = -1
    state.termination = lower_hash(text, np.int64(0), np.int64(0))
    state.fen = state.fen_end = -1
    found = event = blank = False
    while place < end:
        character = text[at(place)]
        if character in (NEWLINE, RETURN):
            place = after_newline(text, place)
            line += 1
            blank = True
            continue
        if character == 0x25 or character == 0x3B:  # % and ; are comments up to the line's end
            place = line_end(text, place, end)
            place = after_newline(text, place)
            line += 1
            continue
        if not is_tag(text, place):
            if is_empty_line(text, place, end):
                place = line_end(text, place, end)
                continue
            break
        if found and is_event(text, place) and (blank or event):
            break
        if not found:
            state.first_line = line
        found = True
        blank = False
        stop = line_end(text, place, end)
        event |= is_event(text, place)
        _set_tag(text, place + 1, stop, state)
        place = after_newline(text, stop)
        line += 1
    place = min(place, end)
    if not found:
        state.first_line = line
    state.body, state.body_line = place, line
    return found or place < end


@inline
def _set_tag(text, place, stop, state):
    """Stores the value of a tag; its name begins at ``place``, its line ends at ``stop``."""
    name = word_at(text, place)
    if name == _WHITE_ELO:
        state.white, _ = read_number(text, _value(text, place, stop))
    elif name == _BLACK_ELO:
        state.black, _ = read_number(text, _value(text, place, stop))
    elif name & _SEVEN_BYTES == _RESULT:
        state.result = read_result(text, _value(text, place, stop))
    elif name == _TIME_CONTROL:
        state.seconds = _seconds(text, _value(text, place, stop))
    elif name == _TERMINATION:
        begin = _value(text, place, stop)
        state.termination = lower_hash(text, begin, _value_end(text, begin, stop))
    elif name & _FOUR_BYTES == _FEN:
        state.fen = _value(text, place, stop)
        state.fen_end = _value_end(text, state.fen, stop)
    elif name == _VARIANT:
        begin = _value(text, place, stop)
        variant = lower_hash(text, begin, _value_end(text, begin, stop))
        if _contains(_CHESS960, variant):
            state.reason = CHESS960
        elif not _contains(_STANDARD, variant):
            state.reason = VARIANT


@inline
def _value(text, place, stop):
    while place < stop and text[at(place)] != QUOTE:
        place += 1
    return min(place + 1, stop)


@inline
def _value_end(text, place, stop):
    while stop > place and text[at(stop)] != QUOTE:
        stop -= 1
    return stop


@inline
def filter_game(state, options):
    """The reason to leave out a game by its tags."""
    if state.reason != GOOD:
        return state.reason
    low, high = min(state.white, state.black), max(state.white, state.black)
    if low < options.min_rating or (options.max_rating and (high > options.max_rating or low == 0)):
        return RATING
    seconds = state.seconds
    if seconds < options.min_seconds and options.min_seconds:
        return TIME_CONTROL
    if options.max_seconds and (seconds < 0 or seconds > options.max_seconds):
        return TIME_CONTROL
    if options.terminations:
        allowed = False
        for i in range(options.terminations):
            allowed |= options.termination[i] == state.termination
        if not allowed:
            return TERMINATION
    return GOOD
