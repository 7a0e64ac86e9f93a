"""What `spsa` tunes: weights of a hand-crafted evaluation, or constants of the search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from nnuelab import artifacts
from nnuelab.engine.constants import CONSTANTS
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError, nearest
from nnuelab.evaluator import Evaluator
from nnuelab.hce.evaluation import LARGEST_WEIGHT, Evaluation, write
from nnuelab.hce.evaluator import HceEvaluator
from nnuelab.settings.games import Rules
from nnuelab.tournament.game import Seat
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.openings import Book
from nnuelab.tournament.play import EnginePlayer, half_points
from nnuelab.tournament.spsa import Parameter, Trial

PHASES = ("mg", "eg")
STEP_SHARE = 0.1  # of the start value is the default step


@dataclass(frozen=True)
class Choice:
    """Names by a pattern, with step and bounds where they aren't the default ones."""

    pattern: str
    step: float | None = None
    bounds: tuple[int, int] | None = None

    @classmethod
    def read(cls, text: str) -> Choice:
        """``PATTERN``, ``PATTERN=STEP`` or ``PATTERN=STEP,MIN,MAX``; UserError for others."""
        pattern, mark, numbers = text.rpartition("=")
        if not mark:
            return cls(text)
        try:
            step, *bounds = numbers.split(",")
            if len(bounds) not in (0, 2):
                raise ValueError
            return cls(pattern, float(step), (int(bounds[0]), int(bounds[1])) if bounds else None)
        except ValueError:
            raise UserError(
                f"{text}: write PATTERN=STEP or PATTERN=STEP,MIN,MAX, as in bishop_pair=10,0,200"
            ) from None

    def matches(self, name: str) -> bool:
        """``*`` stands for any letters; all others, brackets too, for themselves."""
        return re.fullmatch(".*".join(map(re.escape, self.pattern.split("*"))), name) is not None


def chosen(known: Mapping[Parameter, Sequence[str]], texts: Sequence[str]) -> tuple[Parameter, ...]:
    """The parameters that patterns choose, in their order; the last pattern that matches counts.

    Parameters
    ----------
    known : mapping
        To all names that a parameter is chosen by, the last one that of its group.

    Raises
    ------
    UserError
        No pattern, one that matches nothing, or bounds and steps that make no sense.
    """
    if not texts:
        raise UserError("there is nothing to tune; name parameters, as in --tune 'bishop_pair*'")
    found = {}
    for choice in map(Choice.read, texts):
        matching = [
            parameter for parameter, names in known.items() if any(map(choice.matches, names))
        ]
        if not matching:
            near = nearest(choice.pattern, (name for names in known.values() for name in names))
            groups = dict.fromkeys(names[-1] for names in known.values())
            raise UserError(
                f"nothing is called {choice.pattern}{near}; there are {', '.join(groups)}"
            )
        for parameter in matching:
            least, most = choice.bounds or (parameter.least, parameter.most)
            step = parameter.step if choice.step is None else choice.step
            found[parameter.name] = replace(parameter, least=least, most=most, step=step)
    return tuple(found[p.name] for p in known if p.name in found)


def _step(start: int, least: float) -> float:
    return max(least, STEP_SHARE * abs(start))


@dataclass(frozen=True)
class Games:
    """An engine against itself with other numbers: one opening, colours swapped.

    Attributes
    ----------
    evaluator : Evaluator
    parameters : tuple of Parameter
    book : Path
        Each opening is played once before one is played again.
    limit : Limit
        Nodes or depth.
    hash_mb, seed : int
    rules : Rules
    """

    evaluator: Evaluator
    parameters: tuple[Parameter, ...]
    book: Path
    limit: Limit
    hash_mb: int
    seed: int
    rules: Rules

    def load(self, engine: Engine, numbers: Sequence[int]) -> None:
        """Makes an engine play with these numbers."""
        raise NotImplementedError

    def start(self) -> Callable[[Trial], int]:
        """Plays trials with two engines."""
        engines = [Engine(self.evaluator, self.hash_mb) for _ in range(2)]
        first, second = (Seat(EnginePlayer(engine), self.limit) for engine in engines)
        book = Book(self.book)

        @lru_cache(maxsize=2)
        def order(turn: int) -> list[int]:
            random = np.random.default_rng([self.seed, 0, turn])  # no trial has the number 0
            return random.permutation(len(book)).tolist()

        def play(trial: Trial) -> int:
            for engine, numbers in zip(engines, (trial.plus, trial.minus), strict=True):
                self.load(engine, numbers)
            turn, place = divmod(trial.number - 1, len(book))
            return half_points(first, second, book.fen(order(turn)[place]), self.rules)

        return play

    def inputs(self) -> dict[str, Path]:
        """Book and evaluator's files."""
        return {"book": self.book, **self.evaluator.files()}

    def code(self) -> str:
        """Of the games and the evaluator."""
        return artifacts.code_hash("tournament.spsa_games", more=[self.evaluator.code()])


@dataclass(frozen=True)
class Weights(Games):
    """Tunes weights of the evaluation that both players have."""

    evaluator: HceEvaluator

    @cached_property
    def _places(self) -> list[int]:
        """Of the parameters, in the weights row by row."""
        names = list(weight_names(self.evaluator.evaluation))
        return [names.index(parameter.name) for parameter in self.parameters]

    def _with(self, numbers: Sequence[int] | np.ndarray, **provenance: Any) -> Evaluation:
        evaluation = self.evaluator.evaluation
        weights = evaluation.weights.copy()
        weights.reshape(-1)[self._places] = numbers
        return evaluation.with_weights(weights, **provenance)

    def load(self, engine: Engine, numbers: Sequence[int]) -> None:
        """An evaluation of its own."""
        engine.set_evaluator(HceEvaluator(self._with(numbers)))

    def write(self, path: Path, numbers: np.ndarray, provenance: Mapping[str, Any]) -> None:
        """The evaluation."""
        write(path, self._with(numbers, **{"start": self.evaluator.name, **provenance}))


@dataclass(frozen=True)
class Constants(Games):
    """Tunes constants of the search; both players have the same evaluator.

    Attributes
    ----------
    player : mapping
        As a player's settings name the evaluator: ``{net: default}``.
    """

    player: Mapping[str, str]

    def load(self, engine: Engine, numbers: Sequence[int]) -> None:
        """Into the record of its search."""
        engine.set_constants(self._named(numbers))

    def _named(self, numbers: Iterable[int]) -> dict[str, int]:
        return {p.name: number for p, number in zip(self.parameters, numbers, strict=True)}

    def write(self, path: Path, numbers: np.ndarray, provenance: Mapping[str, Any]) -> None:
        """A file of players (`players`) with one, ``tuned``."""
        tuned = {**self.player, "constants": self._named(numbers.tolist())}
        content = {"players": {"tuned": tuned}, "provenance": dict(provenance)}
        with artifacts.atomic(path) as temporary:
            temporary.write_text(yaml.safe_dump(content, sort_keys=False))


def weight_names(evaluation: Evaluation) -> dict[str, tuple[str, str, str]]:
    """Each number of an evaluation, row by row: ``mobility[knight, 4] mg``, its label and term."""
    terms = [term.name for term in evaluation.terms for _ in term.labels]
    return {
        f"{label} {phase}": (f"{label} {phase}", label, term)
        for label, term in zip(evaluation.labels, terms, strict=True)
        for phase in PHASES
    }


def weights(evaluation: Evaluation, texts: Sequence[str]) -> tuple[Parameter, ...]:
    """The weights that patterns choose (`chosen`), by number's name, label or term."""
    bounds = -LARGEST_WEIGHT, LARGEST_WEIGHT
    values = evaluation.weights.reshape(-1).tolist()
    known = {
        Parameter(names[0], value, *bounds, _step(value, 5.0)): names
        for names, value in zip(weight_names(evaluation).values(), values, strict=True)
    }
    return chosen(known, texts)


def constants(texts: Sequence[str]) -> tuple[Parameter, ...]:
    """The constants of the search that patterns choose (`chosen`)."""
    known = {
        Parameter(name, c.default, c.least, c.most, _step(c.default, 1.0)): (name,)
        for name, c in CONSTANTS.items()
    }
    return chosen(known, texts)
