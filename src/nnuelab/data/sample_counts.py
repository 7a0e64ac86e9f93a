"""What a sample counts: of its games, of its positions, and of those that were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nnuelab.data import pgn_state
from nnuelab.data.reader import RATINGS
from nnuelab.errors import UserError

CHECKED = 1000  # games, before which a high share of unreadable ones doesn't stop the work
EXAMPLES = 3  # of games that were left out, by reason
UNREADABLE = {pgn_state.REASONS[i] for i in pgn_state.UNREADABLE}


@dataclass
class Sample:
    """Counts of a sample.

    Attributes
    ----------
    counts : Counter of str
        Games, skipped games by reason, positions, filtered positions by filter, sampled ones.
    ratings : ndarray of int64 [RATINGS]
        Players of games that gave samples, by steps of `reader.RATING_STEP` Elo.
    examples : dict of str to list of str
        Skipped games by reason: file, number of the game (from 1), line; the first ones.
    """

    counts: Counter[str] = field(default_factory=Counter)
    ratings: np.ndarray = field(default_factory=lambda: np.zeros(RATINGS, np.int64))
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, further: Sample) -> None:
        """Adds the counts of further games."""
        self.counts.update(further.counts)
        self.ratings += further.ratings
        for reason, places in further.examples.items():
            known = self.examples.setdefault(reason, [])
            known += places[: EXAMPLES - len(known)]

    def check(self, most: float) -> None:
        """Raises UserError when more than a share of the games can't be read."""
        counts = self.counts
        unreadable = sum(counts[f"skipped: {reason}"] for reason in UNREADABLE)
        if unreadable > most * counts["games"]:
            raise UserError(
                f"{unreadable:,} of {counts['games']:,} games can't be read, more than "
                f"{most:.0%} (--max-unreadable): {self.told(UNREADABLE)}"
            )

    def told(self, reasons: Iterable[str] | None = None) -> str:
        """Skipped games in one line, the first ones of each reason."""
        found = self.examples
        chosen = [found[reason] for reason in found if reasons is None or reason in reasons]
        return "; ".join(place for places in chosen for place in places)

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "counts": dict(sorted(self.counts.items())),
            "ratings": self.ratings.tolist(),
            "examples": self.examples,
        }

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Sample:
        """What `to_json` gave; ValueError and its like for anything else."""
        counts = Counter({str(name): _count(n) for name, n in told["counts"].items()})
        ratings = np.array([_count(n) for n in told["ratings"]], np.int64)
        examples = {str(k): [str(place) for place in v] for k, v in told["examples"].items()}
        if ratings.shape != (RATINGS,):
            raise ValueError(f"{len(ratings)} steps of ratings")
        return cls(counts, ratings, examples)


def _count(n: object) -> int:
    if not isinstance(n, int) or not 0 <= n < 1 << 62:
        raise ValueError(f"{n!r} is no count")
    return n


def summary(counts: Mapping[str, int]) -> str:
    """The counts in one line."""
    return ", ".join(f"{name} {n:,}" for name, n in sorted(counts.items()))
