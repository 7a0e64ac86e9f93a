"""Puzzles in the CSV of the Lichess database: reading them, and letting a player solve them.

The study's rule: the first move is the opponent's, the solver's follow at the odd places. A move is
right when it is the expected one, or when it mates where the expected one mates. After a wrong move
the puzzle goes on with the expected one, so that every move of the solver is asked for. Guarantees:
under a limit of nodes or depth the answers are the same for any number of workers, and with or
without a kill in between.
"""

from __future__ import annotations

import csv
import itertools
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from nnuelab import artifacts
from nnuelab.chess import notation
from nnuelab.data.journal import Journal
from nnuelab.data.parallel import cores
from nnuelab.data.streams import lines
from nnuelab.errors import UserError
from nnuelab.progress import Progress
from nnuelab.tournament import workers
from nnuelab.tournament.game import Failure, Fault, Line, Player
from nnuelab.tournament.limits import Clock, Limit, Turn
from nnuelab.tournament.players import Entrant, modules

# The full schema; older files end after the rating, or have no head at all.
COLUMNS = (
    *("PuzzleId", "FEN", "Moves", "Rating", "RatingDeviation", "Popularity", "NbPlays"),
    *("Themes", "GameUrl", "OpeningTags"),
)
NEEDED = COLUMNS[:4]
NAMED = 5  # broken lines that a message names
CHUNK = 16  # puzzles that a worker is given at once


@dataclass(frozen=True)
class Puzzle:
    """A sound line of the CSV.

    Attributes
    ----------
    name : str
        Its PuzzleId.
    fen : str
    moves : tuple of str
        UCI, the opponent's first; an even number of them.
    rating : int
    themes : tuple of str
        None in the short schema.
    """

    name: str
    fen: str
    moves: tuple[str, ...]
    rating: int
    themes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answers:
    """What a player answered to one puzzle.

    Attributes
    ----------
    asked, right : int
        Moves of the solver, and those that were right.
    missed : list of (int, str, str)
        For each wrong one its number from 1, the expected move, and what the player said: a move,
        or why there is none.
    """

    asked: int
    right: int
    missed: list[tuple[int, str, str]]

    @classmethod
    def of_json(cls, entry: Mapping[str, Any]) -> Self:
        """What a journal kept."""
        missed = [(number, expected, said) for number, expected, said in entry["missed"]]
        return cls(entry["asked"], entry["right"], missed)

    @property
    def solved(self) -> bool:
        """Whether all moves were right."""
        return self.right == self.asked


def read(path: Path | str) -> list[Puzzle]:
    """The puzzles of a CSV file, plain or compressed, short or full schema.

    Lines that are broken are left out; how many, and the first ones with the reason, is told on
    stderr.

    Raises
    ------
    UserError
        When the file can't be read, columns are missing, or no line is sound.
    """
    path = Path(path)
    rows: Iterator[list[str]] = csv.reader(line.decode("utf-8", "replace") for line in lines(path))
    first = 2
    try:
        head = [name.strip() for name in next(rows, [])]
        if len(head) >= len(NEEDED) and _is_fen(head[1]):  # a puzzle, not a head
            rows, head, first = itertools.chain([head], rows), list(COLUMNS[: len(head)]), 1
        if missing := [name for name in NEEDED if name not in head]:
            raise UserError(
                f"{path} has no column {', '.join(missing)}; puzzles are a CSV with the columns "
                f"{','.join(NEEDED)} and, if known, {','.join(COLUMNS[len(NEEDED) :])}"
            )
        found: list[Puzzle] = []
        broken: list[str] = []
        for number, row in enumerate(rows, first):
            if not row:
                continue
            try:
                found.append(_puzzle(dict(zip(head, row, strict=False))))
            except ValueError as error:
                broken.append(f"line {number} ({error})")
    except csv.Error as error:
        raise UserError(f"{path} is not a CSV file: {error}") from None
    told = "; ".join(broken[:NAMED]) + ("; ..." if len(broken) > NAMED else "")
    if not found:
        raise UserError(f"{path} has no puzzle" + (f"; {told}" if broken else ""))
    if broken:
        of = len(broken) + len(found)
        print(f"{path}: {len(broken):,} of {of:,} puzzles are left out: {told}", file=sys.stderr)
    return found


def _is_fen(text: str) -> bool:
    try:
        notation.from_fen(text)
    except ValueError:
        return False
    return True


def _puzzle(row: dict[str, str]) -> Puzzle:
    """A puzzle from a row; ValueError when it is invalid."""
    if missing := [name for name in NEEDED if not row.get(name, "").strip()]:
        raise ValueError(f"no {', '.join(missing)}")
    moves = tuple(row["Moves"].split())
    if len(moves) % 2:
        raise ValueError(f"{len(moves)} moves: there must be an even number")
    position = notation.from_fen(row["FEN"])
    for move in moves:
        position = notation.after(position, notation.parse_uci(position, move))
    try:
        rating = round(float(row["Rating"]))
    except (ValueError, OverflowError):
        raise ValueError(f"rating {row['Rating']!r} is not a number") from None
    themes = tuple((row.get("Themes") or "").split())
    return Puzzle(row["PuzzleId"], row["FEN"], moves, rating, themes)


def _mates(position: Any, move: int) -> bool:
    after = notation.after(position, move)
    return bool(after["checkers"]) and not notation.moves_of(after)


def solve(player: Player, limit: Limit, puzzle: Puzzle) -> Answers:
    """Asks a player, whose memory is cleared first, for every move of the solver.

    What comes later than the limit and its margin is no answer.
    """
    line = Line(puzzle.fen, len(puzzle.moves))
    clock = Clock(limit)
    turn = Turn(limit, clock.left, clock.left, limit.increment)
    missed: list[tuple[int, str, str]] = []
    fresh = False
    for i, text in enumerate(puzzle.moves):
        expected = notation.parse_uci(line.position, text)
        if i % 2:
            try:
                if not fresh:
                    player.new_game()
                    fresh = True
                began = time.perf_counter()
                answer = player.search(line, turn)
                taken = (time.perf_counter() - began) * 1e3
                if clock.overstepped(taken - answer.idle):
                    raise Failure(Fault.TIME, f"late: {taken:.0f} ms")
                move, said = answer.move, notation.move_to_uci(answer.move)
            except Failure as failure:
                move, said, fresh = 0, str(failure), False
            right = move == expected or (
                move in notation.moves_of(line.position)
                and _mates(line.position, expected)
                and _mates(line.position, move)
            )
            if not right:
                missed.append(((i + 1) // 2, text, said))
        line.push(expected)
    asked = len(puzzle.moves) // 2
    return Answers(asked, asked - len(missed), missed)


def answers(
    puzzles: Sequence[Puzzle],
    entrant: Entrant,
    *,
    source: Path,
    partial_file: Path | None = None,
    processes: int = 0,
) -> list[Answers]:
    """A player's answers to all puzzles, in their order, by several processes.

    Parameters
    ----------
    puzzles : sequence of Puzzle
    entrant : Entrant
        Pickled to the workers.
    source : path
        The puzzles' file, whose content is part of what a journal belongs to.
    partial_file : path, optional
        Where finished work is kept until the end; without it, a run that is killed begins anew.
    processes : int
        Workers; 0 for one per core.

    Raises
    ------
    UserError
        For a player that doesn't start.
    """
    entrant.start().close()  # broken ones are told at once, and kernels compiled for all workers
    chunks = [list(puzzles[i : i + CHUNK]) for i in range(0, len(puzzles), CHUNK)]
    found: dict[int, list[Answers]] = {}
    if partial_file is None:
        _ask(chunks, entrant, processes, found, None)
    else:
        files = {kind: artifacts.sha256(file) for kind, file in entrant.files().items()}
        identity = {
            "player": entrant.settings(),
            "files": files,
            "puzzles": [artifacts.sha256(source), len(puzzles)],
            "code": artifacts.code_hash(["tournament.puzzles", *modules([entrant])]),
        }
        with Journal(partial_file, identity) as journal:
            for number, chunk in journal:
                found[number] = [Answers.of_json(each) for each in chunk]
            _ask(chunks, entrant, processes, found, journal)
            journal.remove()
    return [each for number in range(len(chunks)) for each in found[number]]


def _ask(
    chunks: list[list[Puzzle]],
    entrant: Entrant,
    processes: int,
    found: dict[int, list[Answers]],
    journal: Journal | None,
) -> None:
    """Fills ``found`` with the answers to the chunks that aren't there yet, by number."""
    left = [(number, chunk) for number, chunk in enumerate(chunks) if number not in found]
    done = sum(map(len, found.values()))
    solved = sum(each.solved for chunk in found.values() for each in chunk)
    with Progress(sum(map(len, chunks)), "puzzles", "puzzles", done) as progress:
        for number, chunk in _answered(left, entrant, min(processes or cores(), len(left))):
            if journal is not None:
                journal.append([number, [asdict(each) for each in chunk]])
            found[number] = chunk
            done += len(chunk)
            solved += sum(each.solved for each in chunk)
            progress.advance(len(chunk), solved=f"{solved / done:.1%}")


def _answered(
    chunks: list[tuple[int, list[Puzzle]]], entrant: Entrant, processes: int
) -> Iterator[tuple[int, list[Answers]]]:
    pinned = entrant.limit.is_time
    if processes != 1 or pinned:
        yield from workers.run(chunks, partial(Solver, entrant), processes, pinned=pinned)
        return
    with closing(Solver(entrant)) as solver:
        yield from map(solver, chunks)


class Solver:
    """A player that answers chunks of puzzles when called."""

    def __init__(self, entrant: Entrant) -> None:
        self._player, self._limit = entrant.start(), entrant.limit

    def __call__(self, task: tuple[int, list[Puzzle]]) -> tuple[int, list[Answers]]:
        number, chunk = task
        return number, [solve(self._player, self._limit, puzzle) for puzzle in chunk]

    def close(self) -> None:
        """Ends the player."""
        self._player.close()


def missed(puzzles: Sequence[Puzzle], found: Sequence[Answers]) -> Iterator[dict[str, int | str]]:
    """Every wrong answer as JSON: puzzle, number of the solver's move, expected and said."""
    for puzzle, each in zip(puzzles, found, strict=True):
        for number, expected, said in each.missed:
            yield {"puzzle": puzzle.name, "move": number, "expected": expected, "said": said}
