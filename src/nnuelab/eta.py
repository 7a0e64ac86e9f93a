"""How long a run still takes: by what its jobs took so far, and before that by what is usual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

# Core-seconds of a job on an older server; others are short. The workflow fills in what follows
# from its settings.
USUAL: dict[str, float] = {
    **{"sample": 40, "label": 20, "sample_moves": 60, "label_moves": 30, "puzzles": 12},
    **{"ladder_games": 20000, "generation_games": 600, "generation_tournament": 40, "report": 30},
}
SHORT = 5.0


class Eta:
    """Counts jobs by rule, and the core-seconds that they took.

    Parameters
    ----------
    usual : mapping of str to float, optional
        Core-seconds of a job by rule, as `USUAL`.

    Attributes
    ----------
    total, done : int
        Jobs of the run.
    cores : int
        On which they run side by side.
    """

    def __init__(self, usual: Mapping[str, float] = USUAL) -> None:
        self.total = self.done = 0
        self.cores = 1
        self._waiting: Counter[str] = Counter()
        self._spent: dict[str, list[float]] = {}
        self._usual = usual

    def plan(self, jobs: Mapping[str, int]) -> None:
        """Takes the number of jobs of each rule, and of all as "total"."""
        self._waiting = Counter(jobs)
        self.total = self._waiting.pop("total", 0)

    def finish(self, rule: str, spent: float) -> None:
        """Counts a job that is done, with its core-seconds."""
        self.done += 1
        self._waiting[rule] -= 1
        self._spent.setdefault(rule, []).append(spent)

    def left(self, running: Iterable[tuple[str, float, float | None]] = ()) -> float:
        """Seconds until all jobs are done.

        Parameters
        ----------
        running : iterable of (rule, core-seconds, share or None)
            Jobs that run now: how long already, and how much of each is done, if it says so.
        """
        waiting = self._waiting.copy()
        left = 0.0
        for rule, spent, share in running:
            waiting[rule] -= 1
            left += spent * (1 - share) / share if share else max(self._cost(rule) - spent, 0)
        left += sum(max(number, 0) * self._cost(rule) for rule, number in waiting.items())
        return left / self.cores

    def _cost(self, rule: str) -> float:
        """Core-seconds of a job: as others of its rule, or as usual for jobs on this machine."""
        if rule in self._spent:
            return sum(self._spent[rule]) / len(self._spent[rule])
        measured = sum(sum(times) for times in self._spent.values())
        usual = sum(len(times) * self._told(name) for name, times in self._spent.items())
        return self._told(rule) * (measured / usual if usual else 1)

    def _told(self, rule: str) -> float:
        return self._usual.get(rule, SHORT)
