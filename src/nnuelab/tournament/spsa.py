"""Tuning by game play: simultaneous perturbation stochastic approximation (SPSA).

Two players whose numbers are moved from the current ones by the same random step, one forth and
one back, play a pair of games: one measurement for any number of parameters (J. C. Spall,
*Implementation of the Simultaneous Perturbation Algorithm for Stochastic Optimization*, 1998).
Gains are given as on fishtest, by what they are at the end (`Gains`).

Guarantees, each with a test: the same inputs and seed give the same bytes, for any number of
workers and with or without a kill in between.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nnuelab import artifacts
from nnuelab.data.journal import Journal
from nnuelab.data.parallel import cores, ordered
from nnuelab.errors import UserError
from nnuelab.progress import Progress
from nnuelab.settings.spsa import Spsa

if TYPE_CHECKING:  # it is slow to load
    from nnuelab.charts import Figure

ROWS = 1000  # of the history, about


@dataclass(frozen=True)
class Parameter:
    """A number that is tuned; players have it as a whole one.

    Attributes
    ----------
    name : str
    start, least, most : int
    step : float
        How far the last iterations look to both sides, c_end: some Elo should be in it.
    """

    name: str
    start: int
    least: int
    most: int
    step: float

    def __post_init__(self) -> None:
        if not self.least <= self.start <= self.most:
            raise UserError(
                f"{self.name} is {self.start}, which isn't within {self.least} to {self.most}; "
                "choose bounds around it"
            )
        if not 0 < self.step < np.inf:
            raise UserError(f"{self.name}: the step {self.step:g} must be greater than 0")


@dataclass(frozen=True)
class Trial:
    """What an iteration plays: two lists of numbers, in the order of the parameters."""

    number: int  # from 1
    plus: tuple[int, ...]
    minus: tuple[int, ...]


class Subject(Protocol):
    """What is tuned, and the games that it plays; pickled to the workers."""

    @property
    def parameters(self) -> Sequence[Parameter]:
        """At least one."""

    def start(self) -> Callable[[Trial], int]:
        """In a worker: plays trials, returns the half points of ``plus`` out of two games, 0..4."""

    def inputs(self) -> Mapping[str, Path]:
        """The files that its games depend on, each with a word for what it is."""

    def code(self) -> str:
        """A hash of the code that they depend on."""

    def write(self, path: Path, numbers: np.ndarray, provenance: Mapping[str, Any]) -> None:
        """Writes a file with other numbers, int64 [n]."""


class Gains:
    """How far iteration k = 1..N looks, c_k, and how much it counts, a_k (`Spsa`).

    With c and a such that c_N = c_end, the parameter's step, and a_N = r_end * c_end^2::

        c_k = c / k^gamma          c = c_end * N^gamma
        a_k = a / (A + k)^alpha    a = r_end * c_end^2 * (A + N)^alpha
    """

    def __init__(self, parameters: Sequence[Parameter], settings: Spsa) -> None:
        self._settings, self._n = settings, settings.iterations
        self._step = np.array([parameter.step for parameter in parameters])
        self._least = np.array([parameter.least for parameter in parameters])
        self._most = np.array([parameter.most for parameter in parameters])

    def look(self, k: int) -> np.ndarray:
        """c_k of each parameter."""
        return self._step * (self._n / k) ** self._settings.gamma

    def gain(self, k: int) -> np.ndarray:
        """a_k of each parameter."""
        stability = self._settings.stability * self._n
        decay = ((stability + self._n) / (stability + k)) ** self._settings.alpha
        return self._settings.rate * self._step**2 * decay

    def _flips(self, k: int) -> tuple[np.ndarray, np.random.Generator]:
        random = np.random.default_rng([self._settings.seed, k])
        return random.choice([-1.0, 1.0], len(self._step)), random

    def trial(self, k: int, values: np.ndarray) -> Trial:
        """What iteration k plays around ``values`` [n].

        Numbers are rounded at random, up as often as their fraction says and both players alike:
        on the average a step shorter than 1 isn't lost.
        """
        flips, random = self._flips(k)
        up = random.random(len(flips))
        plus, minus = (
            np.floor(np.clip(values + sign * self.look(k) * flips, self._least, self._most) + up)
            for sign in (1, -1)
        )
        return Trial(k, *(tuple(numbers.astype(int).tolist()) for numbers in (plus, minus)))

    def stepped(self, k: int, values: np.ndarray, half_points: int) -> np.ndarray:
        """The values [n] after iteration k, whose plus player has won so many half points."""
        flips, _ = self._flips(k)
        gained = self.gain(k) / self.look(k) * (half_points - 2) * flips
        return np.clip(values + gained, self._least, self._most)


_play: Callable[[Trial], int]  # of this worker process


def _start_worker(subject: Subject) -> None:
    global _play
    _play = subject.start()


def _played(trial: Trial) -> int:
    return _play(trial)


def tune(
    subject: Subject, settings: Spsa, output: Path, history: Path, workers: int = 0
) -> np.ndarray:
    """Tunes the numbers of a subject; writes it with them, and a CSV of their way there.

    An iteration sees the results of all but the last ``settings.ahead`` iterations before it: so
    many are in play at once, whoever plays them. Results are kept in ``<output>.partial`` until
    the end; started again after a kill with the same inputs, settings and code, it continues.

    Parameters
    ----------
    output, history : Path
        With provenance beside them.
    workers : int
        Processes, no more than ``settings.ahead``; 0 for one per core.

    Returns
    -------
    ndarray of float64 [iterations + 1, n]
        The values after each iteration; the last row, rounded, is written.
    """
    inputs, parameters = subject.inputs(), [asdict(p) for p in subject.parameters]
    identity = {
        "parameters": parameters,
        "settings": asdict(settings),
        "files": {name: artifacts.sha256(file) for name, file in inputs.items()},
        "code": subject.code(),
    }
    with Journal(output.with_name(output.name + ".partial"), identity) as journal:
        values = _tuned(subject, settings, journal, workers)
        told = {"tuned_by": "nnuelab spsa", "games": 2 * settings.iterations, "seed": settings.seed}
        subject.write(output, np.rint(values[-1]).astype(np.int64), told)
        write_history(history, subject.parameters, values)
        for path in (output, history):
            artifacts.provenance(
                path,
                inputs=inputs,
                parameters={"parameters": parameters, **asdict(settings)},
                seed=settings.seed,
                code=identity["code"],
            )
        journal.remove()
    return values


def _tuned(subject: Subject, settings: Spsa, journal: Journal, workers: int) -> np.ndarray:
    parameters, n, done = subject.parameters, settings.iterations, len(journal)
    gains = Gains(parameters, settings)
    values = np.full((n + 1, len(parameters)), np.nan)
    values[0] = [parameter.start for parameter in parameters]
    for k, half_points in enumerate(journal, 1):
        values[k] = gains.stepped(k, values[k - 1], half_points)
    if done == n:
        return values
    trials = (gains.trial(k, values[max(0, k - settings.ahead)]) for k in range(done + 1, n + 1))
    workers = min(workers or cores(), settings.ahead)
    ahead = settings.ahead // workers - 1
    with (
        Progress(2 * n, "games", "spsa", 2 * done) as progress,
        closing(ordered(_played, trials, workers, _start_worker, (subject,), ahead)) as results,
    ):
        for k, half_points in enumerate(results, done + 1):
            journal.append(half_points)
            values[k] = gains.stepped(k, values[k - 1], half_points)
            progress.advance(2, farthest=_farthest(parameters, values[k]))
    return values


def _farthest(parameters: Sequence[Parameter], values: np.ndarray) -> str:
    """The parameter that has moved farthest, in its steps."""
    moved = [abs(value - p.start) / p.step for p, value in zip(parameters, values, strict=True)]
    i = int(np.argmax(moved))
    return f"{parameters[i].name} {parameters[i].start} -> {values[i]:.1f}"


def _shown(values: np.ndarray) -> Iterable[int]:
    """About `ROWS` of the iterations, among them the first and the last."""
    last = len(values) - 1
    return (*range(0, last, max(1, last // ROWS)), last)


def write_history(path: Path, parameters: Sequence[Parameter], values: np.ndarray) -> None:
    """CSV: iteration, games and the values after it, of about `ROWS` iterations."""
    with artifacts.atomic(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["iteration", "games", *(parameter.name for parameter in parameters)])
        for k in _shown(values):
            writer.writerow([k, 2 * k, *(f"{value:.3f}" for value in values[k])])


def figure(parameters: Sequence[Parameter], values: np.ndarray) -> Figure:
    """The way of each parameter from its start, in its steps."""
    import altair as alt

    from nnuelab import charts

    rows = [
        {
            "games": 2 * k,
            "parameter": parameter.name,
            "value": round(float(value), 2),
            "moved": round(float(value - parameter.start) / parameter.step, 3),
        }
        for k in _shown(values)
        for parameter, value in zip(parameters, values[k], strict=True)
    ]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line()
        .encode(
            x=alt.X("games:Q").title("games"),
            y=alt.Y("moved:Q").title("moved, in steps (c_end)"),
            color=alt.Color("parameter:N").sort([parameter.name for parameter in parameters]),
            tooltip=["parameter:N", "games:Q", "value:Q"],
        )
    )
    caption = "Each line is a parameter; it has settled where it stays within about a step."
    return charts.figure("spsa", "Parameters tuned by game play", caption, chart)
