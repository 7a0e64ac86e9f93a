"""Holds an engine's evaluations and features against a net or a set, and shrinks what is wrong."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import chess.pgn
import numpy as np

from nnuelab import evaluator
from nnuelab.chess import notation
from nnuelab.chess.moves import NO_MOVE
from nnuelab.data.uci import UciEngine, UciError, find_engine
from nnuelab.errors import UserError
from nnuelab.export import numbering, proof
from nnuelab.features import FeatureSet
from nnuelab.features.check import Game
from nnuelab.features.tables import compiled
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.progress import Progress

PATTERN = r"evaluation[^0-9+-]*([+-]?[0-9]+(?:\.[0-9]+)?)"
"""What precedes the number in an answer to ``eval``, in any case; the last match counts."""
ROWS = r"(?:stm|other) *:((?:[ ,]*[0-9]+)*)"
"""A list of features in an answer, in any case: of the side to move, then of the other."""


WEIGHTS = "nnue.bin"  # beside an exported library


@dataclass(frozen=True)
class Reading:
    """How an engine tells its evaluation, and its features.

    Attributes
    ----------
    pattern : str
        A regular expression whose first group is the number.
    pawns : bool
        In pawns, with decimals; otherwise in centipawns.
    white : bool
        For White, and White's features first; otherwise for the side to move.
    tolerance : float
        Centipawns that it may differ: half of its last digit.
    patience : float
        Seconds for an answer.
    ask : str, optional
        Its command that lists active features.
    rows : str
        A regular expression whose first group is such a list, one match for each perspective.
    own_numbers : bool
        Whether it numbers features in a way of its own, which is found out first.
    """

    pattern: str = PATTERN
    pawns: bool = False
    white: bool = False
    tolerance: float = 0.0
    patience: float = 10.0
    ask: str | None = None
    rows: str = ROWS
    own_numbers: bool = False


@dataclass(frozen=True)
class Mistake:
    """An answer that is wrong.

    Attributes
    ----------
    fen : str
        Where the line begins.
    moves : list of str
        UCI, up to the wrong position; every position before is right.
    position : str
        FEN of the wrong one.
    fault : str
        What the engine says or does, and what it should.
    """

    fen: str
    moves: list[str]
    position: str
    fault: str

    def __str__(self) -> str:
        where = f"after {self.moves[-1]}" if self.moves else "without any move"
        line = line_of(self.fen, self.moves)
        return (
            f"{where}: {self.fault}\n"
            f"wrong position: {self.position}\n"
            f"shortest line:  position {line}"
        )


class Checked(NamedTuple):
    """What a check has found.

    Attributes
    ----------
    right : int
        Positions.
    mistake : Mistake or None
    seen, features : int
        Features that were active where rows were compared, of all.
    """

    right: int
    mistake: Mistake | None
    seen: int
    features: int


def command_of(engine: Path) -> list[str]:
    """The command of a UCI engine, or of a host for a library and the weights beside it, if any."""
    if engine.suffix != ".so":
        # A path has lost its "./", by which a shell tells a file here from a name on PATH.
        return [find_engine(engine.absolute() if engine.is_file() else engine)]
    if not engine.is_file():
        raise UserError(f"there is no {engine}; nnuelab export and make write it")
    host = [sys.executable, "-m", "nnuelab.export.host", str(engine.absolute())]
    return host + [str(engine.with_name(WEIGHTS))] * engine.with_name(WEIGHTS).is_file()


def games_of(pgn: Path) -> Iterator[Game]:
    """The games of a PGN file, without those that begin elsewhere or break off."""
    with open(pgn, errors="replace") as file:
        while (read := chess.pgn.read_game(file)) is not None:
            positions, moves = [notation.from_fen(read.board().fen())], []
            for move in read.mainline_moves():
                moves.append(notation.parse_uci(positions[-1], move.uci()))
                positions.append(notation.after(positions[-1], moves[-1]))
            yield Game(positions, moves)


def lines_of(games: Iterable[Game], nulls: bool) -> Iterator[Game]:
    """The games; without null moves, which UCI hasn't, as the parts between them."""
    for game in games:
        first = 0
        for ply, move in enumerate(game.moves):
            if move == NO_MOVE and not nulls:
                yield Game(game.positions[first : ply + 1], game.moves[first:ply])
                first = ply + 1
        yield Game(game.positions[first:], game.moves[first:])


def words_of(game: Game) -> tuple[str, list[str]]:
    """Where a game begins, and its moves."""
    return notation.to_fen(game.positions[0]), list(map(notation.move_to_uci, game.moves))


def line_of(fen: str, moves: Sequence[str]) -> str:
    """What follows `position` in UCI."""
    return f"fen {fen}" + f" moves {' '.join(moves)}" * bool(moves)


class Check:
    """An engine beside a net, or a set alone.

    Parameters
    ----------
    command : sequence of str
        Of the engine.
    right : Path or FeatureSet
        A net, or a set, whose features alone are compared.
    reading : Reading

    Raises
    ------
    UserError
        When the engine doesn't start, or the net isn't usable.
    """

    def __init__(self, command: Sequence[str], right: Path | FeatureSet, reading: Reading) -> None:
        self._reading, self._pattern = reading, re.compile(reading.pattern, re.IGNORECASE)
        self._rows = re.compile(reading.rows, re.IGNORECASE)
        self._bound = None
        if isinstance(right, FeatureSet):
            self._features = right
        else:
            evaluator_of_net = NetEvaluator(right)
            self._bound, self._features = evaluator_of_net.bind(), evaluator_of_net.net.features
        self._tables = compiled(self._features)
        self._numbers: dict[int, int] | None = None
        self._seen: set[int] = set()
        self.engine = UciEngine(command)

    def learn_numbers(self, games: Iterable[Game], progress: Progress) -> Mistake | None:
        """Finds out which of the engine's rows is which here, where it numbers them otherwise.

        Asks the engine in every position of the games, or up to the first in which it fails, which
        is returned as a mistake.

        Raises
        ------
        UserError
            When the engine doesn't start again.
        """
        theirs: list[list[int]] = []
        ours: list[list[int]] = []
        for game in games:
            fen, moves = words_of(game)
            self.engine.new_game()
            for ply, position in enumerate(game.positions):
                try:
                    answer = self._ask(self._reading.ask, line_of(fen, moves[:ply]))
                except UciError as error:
                    self._numbers = numbering.found(theirs, ours)
                    failed = Mistake(fen, moves[:ply], notation.to_fen(position), str(error))
                    return self.first_mistake(game) or failed
                for perspective, rows in self._lists(answer, position):
                    theirs.append(rows)
                    ours.append(proof.active(self._tables, position, perspective).tolist())
            progress.advance(len(game.positions))
        self._numbers = numbering.found(theirs, ours)
        return None

    def first_mistake(self, game: Game) -> Mistake | None:
        """The first wrong answer of a game, shrunk to the shortest end of it that shows it."""
        found = self._replay(game)
        if found is None:
            return None
        wrong = len(found.moves)
        for first in range(wrong, 0, -1):
            part = Game(game.positions[first : wrong + 1], game.moves[first:wrong])
            if (shrunk := self._replay(part)) is not None:
                return shrunk
        return found

    def _replay(self, game: Game) -> Mistake | None:
        fen, moves = words_of(game)
        values: Iterable[int | None] = [None] * len(game.positions)
        if self._bound is not None:
            values = evaluator.values(self._bound, game.positions)
        self.engine.new_game()
        for ply, (position, value) in enumerate(zip(game.positions, values, strict=True)):
            try:
                fault = self._fault(line_of(fen, moves[:ply]), position, value)
            except UciError as error:
                should = f", should say {value} centipawns for the side to move"
                fault = f"{error}{should * (value is not None)}"
            if fault is not None:
                return Mistake(fen, moves[:ply], notation.to_fen(position), fault)
        return None

    def _ask(self, command: str | None, line: str) -> list[str]:
        return self.engine.ask(f"position {line}\n{command}\n", self._reading.patience)

    def _fault(self, line: str, position: np.void, expected: int | None) -> str | None:
        """What is wrong with the answers, None where nothing is."""
        command = self._reading.ask
        if command is not None:
            answer = self._ask(command, line)
            if (fault := self._fault_of_rows(command, answer, position)) is not None:
                return fault
        if expected is None:
            return None
        answer = self._ask("eval", line)
        numbers = [found for text in answer if (found := self._pattern.search(text))]
        if not numbers:
            return f"no answer to eval matches {self._reading.pattern}"
        value = float(numbers[-1][1]) * (100 if self._reading.pawns else 1)
        if self._reading.white and position["turn"]:
            value = -value
        if abs(value - expected) <= self._reading.tolerance + 1e-9:
            return None
        should = f"should be {expected} centipawns for the side to move"
        return f"the engine says {value:g} centipawns, {should}"

    def _lists(self, answer: list[str], position: np.void) -> list[tuple[int, list[int]]]:
        """What the engine has active, by perspective: 0 White's, 1 Black's."""
        lists = [found[1] for text in answer for found in self._rows.finditer(text)]
        first = 0 if self._reading.white else int(position["turn"])
        # No row has more digits, and Python refuses to read thousands of them.
        numbers = [[int(number) for number in re.findall("-?[0-9]{1,18}", text)] for text in lists]
        return list(zip((first, 1 - first), numbers, strict=False)) if len(lists) == 2 else []

    def _fault_of_rows(self, command: str, answer: list[str], position: np.void) -> str | None:
        lists = self._lists(answer, position)
        if not lists:
            return (
                f"the answer to {command} has not two lists that match {self._reading.rows}, "
                "one for each perspective"
            )
        for perspective, told in lists:
            player = ("White", "Black")[perspective]
            # Numbers of rows that are none here are kept, as negative ones.
            here = self._numbers
            known = [row if here is None else here.get(row, -1 - row) for row in told]
            right = set(proof.active(self._tables, position, perspective).tolist())
            self._seen |= right
            if wrong := set(known) ^ right:
                row = min(wrong)
                name, number = self._named(row)
                word = "lacks" if row in right else "has"
                what = f"row {number} for {player} ({name})"
                hint = ""
                if len(wrong) > len(right):
                    hint = ": is it another set, or has it --own-numbers?"
                return f"the engine {word} {what}; {len(wrong)} are wrong{hint}"
            if len(known) > len(right):
                row = next(row for row in known if known.count(row) > 1)
                name, number = self._named(row)
                return f"the engine has row {number} more than once for {player} ({name})"
        return None

    def told(self, right: int, mistake: Mistake | None) -> Checked:
        """What came of so many positions."""
        return Checked(right, mistake, len(self._seen), self._features.size)

    def _named(self, row: int) -> tuple[str, str]:
        """Name of a feature, and its number in the engine where that is known."""
        if not 0 <= row < self._features.size:
            number = str(row) if self._numbers is None else f"{-1 - row} of its own"
            return "no feature of the set", number
        theirs = {ours: number for number, ours in (self._numbers or {}).items()}
        number = str(row) if self._numbers is None else f"{theirs.get(row, '?')} of its own"
        return self._features.feature_name(row), number


def check(
    engine: Path,
    right: Path | FeatureSet,
    reading: Reading,
    games: Iterable[Game],
) -> Checked:
    """Checks games, up to the first mistake.

    Raises
    ------
    UserError
        When the engine doesn't start, the net isn't usable, or an exported library has no weights.
    """
    is_library, has_weights = engine.suffix == ".so", engine.with_name(WEIGHTS).is_file()
    command = command_of(engine)
    is_set = isinstance(right, FeatureSet)
    if is_library and not (has_weights or is_set) and b"nnue_load" in engine.read_bytes():
        raise UserError(f"there is no {engine.with_name(WEIGHTS)}; nnuelab export writes it")
    if is_library and (has_weights or is_set):  # an exported one has the rows of the definition
        reading = replace(reading, ask=reading.ask or "features")
    lines = list(lines_of(games, nulls=is_library))
    checked, n_right = Check(command, right, reading), 0
    total = sum(len(line.positions) for line in lines) * (1 + reading.own_numbers)
    with checked.engine, Progress(total, "positions", "check") as progress:
        if reading.own_numbers and (mistake := checked.learn_numbers(lines, progress)):
            return checked.told(0, mistake)
        for line in lines:
            mistake = checked.first_mistake(line)
            if mistake is not None:
                return checked.told(n_right, mistake)
            n_right += len(line.positions)
            progress.advance(len(line.positions))
    return checked.told(n_right, None)
