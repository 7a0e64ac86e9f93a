"""What Neural Chess prints of a move and of a game, as text.

A block is the N-th move of a game: the board and its eight bitboards, what the policy says of each
square, the board after the move with what the walk did, and what was to be learnt of it. Boards are
drawn from White's side, White filled and Black outlined, whoever moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from nnuelab.chess.notation import PIECES, square_name
from nnuelab.chess.position import BLACK, EMPTY, WHITE
from nnuelab.policy import boards
from nnuelab.policy.maps import halves, on_board
from nnuelab.policy.policyfile import SQUARES

FILES = "abcdefgh"
RULE, TABLE, GRID, CELL = 203, 84, 12, 10  # columns
BEST, SHOWN = 10, 10  # squares in a heading, moves in a summary
_DRAWN = {"P": "♟", "N": "♞", "B": "♝", "R": "♜", "Q": "♛", "K": "♚"}
_DRAWN |= {"p": "♙", "n": "♘", "b": "♗", "r": "♖", "q": "♕", "k": "♔"}
ACCEPTED, REFUSED, TRIED_OWN, OWN, NOT_OWN, TRIED = "!csSDT"
"""On the board of squares to go to: played; canMove said no; own piece, tried; own piece, not
tried. On that of squares to go from: no own piece; tried."""


@dataclass(frozen=True)
class Targets:
    """What is to be learnt of a move: a number for each square.

    Attributes
    ----------
    start, goal : float [64]
        By square of the board.
    trained : tuple of int or None
        The squares that the policy puts first when it has learnt; None: those of the move.
    """

    start: np.ndarray
    goal: np.ndarray
    trained: tuple[int, int] | None = None


def block(
    number: int,
    before: np.void,
    after: np.void | None,
    activations: np.ndarray,
    found: np.void,
    loss: str,
    targets: Targets | None = None,
) -> str:
    """The block of a move.

    Parameters
    ----------
    number : int
        Of the move.
    before, after : POSITION record
        ``after`` is None where there is no legal move.
    activations : float32 [128] or [4096]
        Of `Mover.activations`.
    found : WALK record
        Of the walk over these.
    loss : str
        Of the policy.
    targets : Targets or None
        Left out when None.
    """
    turn = int(before["turn"])
    lines = [_rule(f"------- move {number} ", RULE)]
    lines += _beside(_grids(boards.masks(before), turn))
    start, goal = (on_board(half, turn) for half in halves(activations, loss))
    for name, half in (("from", start), ("to", goal)):
        best = ",".join(square_name(square) for square in _order(half)[:BEST])
        lines += _table(f"--p {name}, best = {best}", [dotted(x) for x in half.tolist()])
    later = before if after is None else after
    masks = boards.masks(later)
    if after is not None:  # seen by who has moved
        masks[:2] = masks[1::-1]
    tried = _tried(activations, turn, int(found["tries"]))
    grids = _grids(masks, turn)
    lines += _beside([*grids, *_actions(before, tried, played=after is not None)])
    if targets is not None and after is not None:
        lines += _targets(number, before, tried[-1], targets)
    return "\n".join(lines) + "\n"


def _targets(number: int, before: np.void, move: tuple[int, int], targets: Targets) -> list[str]:
    piece = PIECES[int(before["board"][move[0]])].upper()
    start, goal = map(square_name, move)
    trained = [square_name(square) for square in targets.trained or move]
    better = "neither" if trained == [start, goal] else "trained"
    lines = _table(
        f"--m{number}, new from, actual: {piece} {start}, trained: {trained[0]}, better: {better} ",
        [trimmed(x) for x in targets.start.tolist()],
    )
    heading = f"--m{number}, new to, actual: {piece} {goal}, trained: {piece} {trained[1]}, "
    return lines + _table(heading, [trimmed(x) for x in targets.goal.tolist()])


def _tried(activations: np.ndarray, turn: int, n: int) -> list[tuple[int, int]]:
    """The first n pairs of the walk, squares of the board."""
    if len(activations) == 2 * SQUARES:
        starts, goals = activations[:SQUARES], activations[SQUARES:]
        pairs: Iterable[tuple[int, int]] = product(_order(starts), _order(goals))
    else:
        pairs = (divmod(pair, SQUARES) for pair in _order(activations))
    return [(start ^ 56 * turn, goal ^ 56 * turn) for start, goal in islice(pairs, n)]


def _order(values: np.ndarray) -> list[int]:
    """Descending, equal ones by their places."""
    return np.argsort(-values, kind="stable").tolist()


def _actions(before: np.void, tried: list[tuple[int, int]], *, played: bool) -> list[list[str]]:
    """The boards of what the walk did; of squares to go to, with the last square to go from."""
    own = boards.masks(before)[0]
    last, goal = tried[-1]
    starts = {start for start, _ in tried}
    goals = {square for start, square in tried if start == last}

    def of_start(square: int) -> str:
        if not own >> square & 1:
            return NOT_OWN
        return TRIED if square in starts else " "

    def of_goal(square: int) -> str:
        if played and square == goal:
            return ACCEPTED
        if own >> square & 1:
            return TRIED_OWN if square in goals else OWN
        return REFUSED if square in goals else " "

    return [
        _grid("--action-f--", [of_start(square) for square in range(SQUARES)]),
        _grid("-- action-t--", [of_goal(square) for square in range(SQUARES)]),
    ]


def _grids(masks: Sequence[int], turn: int) -> list[list[str]]:
    pieces = boards.codes(masks, turn)
    color = {WHITE: "w", BLACK: "b"}[turn]
    names = [f"player {color}", *boards.NAMES[1:]]
    drawn = [" " if piece == EMPTY else _DRAWN[PIECES[piece]] for piece in pieces]
    found = [_grid(f"--game {color} u--", drawn)]
    for name, mask in zip(names, masks, strict=True):
        found.append(_grid(f"--{name}", [str(mask >> square & 1) for square in range(SQUARES)]))
    return found


def _grid(heading: str, cells: Sequence[str]) -> list[str]:
    """A board of one character a square."""
    letters = f"  {FILES}  "
    rows = [f"{r + 1} {''.join(cells[8 * r : 8 * r + 8])} {r + 1}" for r in range(7, -1, -1)]
    return [_rule(heading, GRID), letters, *rows, letters, GRID * "-"]


def _beside(grids: Sequence[list[str]]) -> list[str]:
    return [" ".join(row).rstrip() for row in zip(*grids, strict=True)]


def _table(heading: str, cells: Sequence[str]) -> list[str]:
    """A board of one number a square."""
    letters = f"  {''.join(f.center(CELL) for f in FILES)}".rstrip()
    rows = []
    for rank in range(7, -1, -1):
        numbers = "".join(cell.center(CELL) for cell in cells[8 * rank : 8 * rank + 8])
        rows.append(f"{rank + 1} {numbers} {rank + 1}")
    return [_rule(heading, TABLE), letters, *rows, letters, TABLE * "-"]


def _rule(heading: str, width: int) -> str:
    return heading.ljust(width, "-")


def dotted(value: float) -> str:
    """Six decimals, an underscore for each zero before the first other digit.

    >>> dotted(0.161353), dotted(0.002195), dotted(1.0)
    ('_.161353', '_.__2195', '1.000000')
    """
    text = f"{value:.6f}"
    kept = text.lstrip("0.")
    head = text[: len(text) - len(kept)].replace("0", "_")
    return head + kept


def trimmed(value: float) -> str:
    """As `dotted`, without zeros at its end; ``0`` for zero.

    >>> trimmed(0.1), trimmed(0.01), trimmed(0.0), trimmed(1.0)
    ('_.1', '_._1', '0', '1')
    """
    if abs(value) < 5e-7:
        return "0"
    return dotted(value).rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Played:
    """A game for its summary.

    Attributes
    ----------
    reason : tuple of str
        Why it ended, short and long.
    points : tuple of int
        What White and Black have captured.
    winner : int or None
    walks : sequence of (checks, from-rank, to-rank)
        Of White's moves.
    engine_ms, training_ms : int
    """

    reason: tuple[str, str]
    points: tuple[int, int]
    winner: int | None
    walks: Sequence[tuple[int, int, int]]
    engine_ms: int = 0
    training_ms: int = 0


def summary(games: int, played: Played) -> str:
    """The line below a block: the game's end, what it took, and how far each walk went.

    ``100x`` and ``hundred`` are the limit of 100 half-moves, 50 moves of White.
    """
    short, long = played.reason
    winner = {WHITE: "w", BLACK: "b", None: "."}[played.winner]
    moves, checks = len(played.walks), sum(walk[0] for walk in played.walks)
    walks = [f"{n}/({a}/{b})" for n, a, b in played.walks[:SHOWN]]
    more = ["..."] if moves > SHOWN else []
    white, black = played.points
    return (
        f"Games: {games} Moves: {moves} Reason: {short} {white} {black} {winner} "
        f"{played.engine_ms}ms {played.training_ms}ms {long}, {checks} canMove checks "
        f"({checks / max(moves, 1):.2f}/move): {' '.join(walks + more)}"
    )
