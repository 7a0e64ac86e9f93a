"""The text of games to packed positions in one pass: tags, moves, comments, filters.

`read_games` is handed the bytes of some whole games and leaves off where it needs something that
Python does better: a start position other than the usual one. What a game is:

* Tags, then moves. It ends at an empty line behind its moves that is not inside a comment, at a
  line that begins with ``[`` and a capital letter, or where an empty line and ``[Event`` follow
  each other, even inside a comment: one that is never closed costs one game.
* The first moves only: variations are passed over. An ``[%eval]`` belongs to the position where the
  first such comment stands.
"""

import numpy as np

from nnuelab.chess import moves, movetext, planes
from nnuelab.data.pgn_bytes import (
    BASIS,
    BRACKET,
    PRIME,
    UNKNOWN,
    after_newline,
    has_digit,
    is_digit,
    is_empty_line,
    is_null_move,
    is_tag,
    line_end,
    read_result,
    skip_numbers,
    word_end,
)
from nnuelab.data.pgn_comments import NO_EVAL, read_comment, read_eval
from nnuelab.data.pgn_state import (
    AMBIGUOUS_MOVE,
    CAPTURE,
    CHECK,
    DONE,
    EARLY,
    EXTREME,
    FEW,
    FILTERS,
    GOOD,
    ILLEGAL_MOVE,
    MANY,
    MAX_PLY,
    NEEDS_START,
    NO_EVALUATION,
    NO_MOVES,
    NULL_MOVE,
    OPEN_COMMENT,
    PROMOTED,
    START_POSITION,
    UNREADABLE_MOVE,
    VARIANT,
)
from nnuelab.data.pgn_tags import filter_game, read_tags
from nnuelab.jit import at, gather_bits, inline, jit, popcount, scatter_bits

_OTHER, _LINE, _OPEN_COMMENT, _LINE_COMMENT, _OPEN, _CLOSE, _STAR, _DIGIT, _LETTER, _DASH = (
    np.arange(10)
)


def _kinds() -> np.ndarray:
    """The kind of token that each character begins."""
    found = np.zeros(256, np.uint8)
    for kind, characters in (
        (_LINE, b"\n\r"),
        (_OPEN_COMMENT, b"{"),
        (_LINE_COMMENT, b";"),
        (_OPEN, b"("),
        (_CLOSE, b")"),
        (_STAR, b"*"),
        (_DIGIT, b"0123456789"),
        (_LETTER, bytes(range(65, 91)) + bytes(range(97, 123))),
        (_DASH, b"-"),
    ):
        found[list(characters)] = kind
    return found


_KINDS = _kinds()

_NIBBLE_BITS = np.uint64(0x1111111111111111)


@inline
def _spread(plane, occupied, i):
    """The bits of a plane on occupied squares as bit i of the nibbles of two words."""
    bits = gather_bits(plane, occupied)
    places = _NIBBLE_BITS << i
    return scatter_bits(bits, places), scatter_bits(bits >> np.uint64(16), places)


@inline
def pack_board(board, record):
    """`records.pack`: bit i of the codes of all pieces at once."""
    occupied = board.occupied
    low0, high0 = _spread(board.black, occupied, np.uint64(0))
    low1, high1 = _spread(board.ones, occupied, np.uint64(1))
    low2, high2 = _spread(board.twos, occupied, np.uint64(2))
    low3, high3 = _spread(board.fours, occupied, np.uint64(3))
    record.occupied = occupied
    record.pieces_low = low0 | low1 | low2 | low3
    record.pieces_high = high0 | high1 | high2 | high3
    record.flags = board.turn | (board.castling << 1)
    record.ep = board.ep
    record.halfmove = min(board.halfmove, 255)


@inline
def _filter_position(board, move, score, options):
    """Index of the filter that leaves a position out, -1 for none."""
    if board.ply < options.min_ply:
        return EARLY
    if options.skip_check and planes.in_check(board):
        return CHECK
    if options.skip_captures:
        if board.occupied >> np.uint64(moves.target(move)) & np.uint64(1):
            return CAPTURE
        if moves.kind(move) == moves.EN_PASSANT:
            return CAPTURE
    if options.skip_promotions and moves.is_promotion(move):
        return PROMOTED
    pieces = popcount(board.occupied)
    if pieces < options.min_pieces:
        return FEW
    if pieces > options.max_pieces:
        return MANY
    if options.max_score and score != NO_EVAL and abs(score) > options.max_score:
        return EXTREME
    return np.int64(-1)


@inline
def _write(board, move, score, game, record):
    pack_board(board, record)
    record.score = score
    record.ply = min(board.ply, MAX_PLY)
    record.game = game
    record.move = move
    record.padding = 0


@jit
def _read_moves(text, end, state, options, board, records, fault):
    """Reads the moves behind the tags, or passes over them when there is a reason already.

    Sets ``state.reason``, ``place``, ``line`` and ``records``; ``fault`` tells where.
    """
    body = np.int64(state.body)
    place, line = body, np.int64(state.body_line)
    reason = np.int64(state.reason)
    reading = reason == GOOD
    count = np.int64(state.records)
    mixed = BASIS
    depth, played = np.int64(0), np.int64(0)
    score = NO_EVAL
    evaluated = over = False
    state.filtered[:] = 0
    fault.line, fault.word, fault.word_end = state.first_line, place, place
    while place < end and not (place == body and is_tag(text, place)):
        if not over:  # a number may begin another game
            place = skip_numbers(text, place)
        kind = np.int64(_KINDS[at(text[at(place)])])
        if kind in (_LETTER, _DIGIT, _DASH):
            begin = place
            if kind == _DIGIT:
                outcome = read_result(text, place)
                if outcome != UNKNOWN:
                    place += 3 if outcome else 7
                    if depth == 0:
                        over = True
                        if state.result == UNKNOWN:
                            state.result = outcome
                    continue
                castles = text[at(place)] == 0x30 and text[at(place + 1)] == 0x2D  # 0-0
                if not castles and not is_null_move(text, place):
                    while is_digit(text[at(place)]):
                        place += 1
                    # Games without tags may follow each other with nothing between.
                    first = text[at(begin)] == 0x31 and place == begin + 1
                    if over and depth == 0 and first and text[at(place)] == 0x2E:
                        place = begin
                        break
                    continue
            if not reading or depth or over:
                place += 1
                continue
            if is_null_move(text, place):
                reason, reading = NULL_MOVE, False
                fault.line, fault.word, fault.word_end = line, begin, word_end(text, begin, end)
                continue
            if kind == _DASH:
                place += 1
                continue
            role, origins, target, move_kind, place = movetext.read_move(text, place)
            move = planes.find(board, role, origins, target, move_kind)
            if move < 0:
                if role == movetext.NO_MOVE and not has_digit(text, begin, end):
                    place = max(place, begin + 1)  # "e.p.", "N" and other signs in letters
                    continue
                reason, reading = ILLEGAL_MOVE, False
                if role == movetext.NO_MOVE:
                    reason = UNREADABLE_MOVE
                elif move == planes.AMBIGUOUS:
                    reason = AMBIGUOUS_MOVE
                fault.line, fault.word, fault.word_end = line, begin, word_end(text, begin, end)
                continue
            if board.turn and score != NO_EVAL:
                score = -score
            excluded = _filter_position(board, move, score, options)
            if excluded < 0:
                _write(board, move, score, state.games, records[at(count)])
                count += 1
            else:
                state.filtered[at(excluded)] += 1
            planes.play(board, move)
            mixed = (mixed ^ np.uint64(move)) * PRIME
            played += 1
            score = NO_EVAL
        elif kind == _OTHER:
            place += 1
        elif kind == _OPEN_COMMENT:
            begin, begin_line = place, line
            place, line, score, closed = read_comment(
                text, place + 1, end, line, score, reading and depth == 0 and played > 0
            )
            evaluated |= score != NO_EVAL
            if not closed and reading:
                reason, reading = OPEN_COMMENT, False
                fault.line, fault.word, fault.word_end = begin_line, begin, begin
        elif kind == _LINE:
            place = after_newline(text, place)
            line += 1
            if is_tag(text, place) or is_empty_line(text, place, end):
                break
            if text[at(place)] == 0x25:  # a line that begins with % is a comment
                place = line_end(text, place, end)
        elif kind == _LINE_COMMENT:
            stop = line_end(text, place, end)
            while place < stop:
                if text[at(place)] == BRACKET and depth == 0 and played and score == NO_EVAL:
                    score, _ = read_eval(text, place)
                place += 1
            evaluated |= score != NO_EVAL
        elif kind == _OPEN:
            depth += 1
            place += 1
        elif kind == _CLOSE:
            depth = max(depth - 1, np.int64(0))
            place += 1
        else:
            over |= depth == 0  # *
            place += 1
    if reading and played == 0:
        reason = NO_MOVES
    elif reading and options.only_evaluated and not evaluated:
        reason = NO_EVALUATION
    state.reason = reason
    state.place, state.line = min(place, end), line
    if reason == GOOD:
        state.positions = played
        state.hash = mixed
        _set_results(records, state.records, count, np.int64(state.result))
        state.records = count


@inline
def _set_results(records, first, count, result):
    """Results for the side to move, from one for White."""
    for i in range(first, count):
        black = np.int64(records[at(i)].flags) & 1
        records[at(i)].result = result if result == UNKNOWN else result * (1 - 2 * black)


@jit
def read_games(
    text,
    end,
    state,
    options,
    positions,
    board,
    records,
    hashes,
    reasons,
    filtered,
    faults,
    ratings,
):
    """Reads games from ``state.place`` on.

    Parameters
    ----------
    text : uint8 [end + movetext.PADDING]
        Whole games, then zeros.
    state : STATE, written
        Zeros at first.
    options : OPTIONS
    positions : POSITION [2]
        The usual start position, and the one that was asked for.
    board : BOARD, scratch
    records : RECORD [at least end // 2 + 1], written
        Samples; ``game`` counts from 0.
    hashes : uint64 [as many], written
        Of the moves of each game that gave samples.
    reasons : int64 [len(REASONS)]
        Games by why they are left out are added here.
    filtered : int64 [1 + len(FILTERS)]
        Positions are added here: all of them, then those left out.
    faults : FAULT [3 * len(REASONS)], written
        The first three games of every reason.
    ratings : int64 [64]
        Players of games that gave samples are added, in steps of 100 Elo.

    Returns
    -------
    int64
        DONE, or NEEDS_START: ``state.start`` has to be set for the FEN at ``state.fen``, and
        ``positions[1]`` to its position, before this is called again.
    """
    while read_tags(text, end, state):
        state.reason = filter_game(state, options)
        which = 0
        if state.reason == GOOD and state.fen >= 0:
            if not options.start_positions:
                state.reason = START_POSITION
            elif state.start == 0:
                return NEEDS_START
            elif state.start == 1:
                which = 1
            else:
                state.reason = state.start
        planes.set_board(board, positions[which])
        before = state.records
        fault = faults[at(state.faults)]
        _read_moves(text, end, state, options, board, records, fault)
        if state.reason == GOOD:
            filtered[0] += state.positions
            for i in range(len(FILTERS)):
                filtered[1 + i] += state.filtered[i]
            if state.records > before:
                hashes[at(state.sampled)] = state.hash
                state.sampled += 1
                ratings[min(state.white // 100, 63)] += np.int64(state.white > 0)
                ratings[min(state.black // 100, 63)] += np.int64(state.black > 0)
        elif reasons[state.reason] < 3:
            fault.game, fault.reason = state.games, state.reason
            state.faults += 1
        reasons[state.reason] += 1
        state.games += 1
        state.start = 0
        if state.games == options.max_games:
            break
    return DONE


@jit
def last_start(text, end, state, options, board, records, fault):
    """Where the last game of a text begins, which may go on behind it; 0 when it has only one.

    The arguments are those of `read_games`, single ones of arrays.
    """
    start = np.int64(0)
    while True:
        begin = np.int64(state.place)
        if not read_tags(text, end, state):
            return start
        start = begin
        state.reason = VARIANT  # pass over the moves
        _read_moves(text, end, state, options, board, records, fault)
