"""Puzzle scores: accuracy and solved share by rating and theme, solved rating."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np

from nnuelab import intervals
from nnuelab.tournament.puzzles import Answers, Puzzle

BAND = 200  # rating points that are counted together
SLOPE = math.log(10) / 400  # per rating point: ratings of puzzles are on the logistic scale of 400
FARTHEST = 4000.0  # rating points from the puzzles' mean, where the solved rating is looked for


@dataclass(frozen=True)
class Group:
    """Puzzles that belong together.

    Attributes
    ----------
    kind : str
        "all", "rating" or "theme".
    group : str
        Empty, "1200-1399", or the theme.
    puzzles, solved : int
        Those all of whose moves were right.
    solved_share, solved_low, solved_high : float
        Of the puzzles, with its 95 % Wilson interval.
    moves, right : int
        Moves of the solver.
    accuracy, accuracy_low, accuracy_high : float
        Right moves / moves (the study's number), with its 95 % Wilson interval; moves of one puzzle
        aren't independent, so there are counted as many as would vary as much.
    """

    kind: str
    group: str
    puzzles: int
    solved: int
    solved_share: float
    solved_low: float
    solved_high: float
    moves: int
    right: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float


COLUMNS = tuple(field.name for field in fields(Group))


def group_of(kind: str, name: str, found: Sequence[Answers]) -> Group:
    """Counts and intervals of some answers, at least one."""
    asked = np.array([each.asked for each in found], float)
    right = np.array([each.right for each in found], float)
    solved = sum(each.solved for each in found)
    accuracy = right.sum() / asked.sum()
    return Group(
        kind,
        name,
        len(found),
        solved,
        solved / len(found),
        *intervals.wilson(solved, len(found)),
        int(asked.sum()),
        int(right.sum()),
        float(accuracy),
        *intervals.clustered(asked, right),
    )


def groups(puzzles: Sequence[Puzzle], found: Sequence[Answers]) -> list[Group]:
    """All puzzles, then bands of rating upwards, then themes, the commonest first."""
    bands: defaultdict[int, list[Answers]] = defaultdict(list)
    themes: defaultdict[str, list[Answers]] = defaultdict(list)
    for puzzle, each in zip(puzzles, found, strict=True):
        bands[puzzle.rating // BAND].append(each)
        for theme in puzzle.themes:
            themes[theme].append(each)
    commonest = sorted(themes, key=lambda theme: (-len(themes[theme]), theme))
    return [
        group_of("all", "", found),
        *(
            group_of("rating", f"{band * BAND}-{(band + 1) * BAND - 1}", bands[band])
            for band in sorted(bands)
        ),
        *(group_of("theme", theme, themes[theme]) for theme in commonest),
    ]


def solved_rating(
    puzzles: Sequence[Puzzle], found: Sequence[Answers]
) -> tuple[float, float] | None:
    """The rating at which the puzzles would be solved as often as they were, and its 95 % error.

    Maximum likelihood of P(solved) = 1 / (1 + 10^((puzzle's rating - rating) / 400)), as if each
    puzzle were a game against an opponent of that rating; the error is half a 95 % interval from
    the sandwich variance. None where all puzzles were solved, or none.
    """
    from scipy.optimize import brentq

    rating = np.array([puzzle.rating for puzzle in puzzles], float)
    solved = np.array([each.solved for each in found], float)
    if solved.all() or not solved.any():
        return None

    def expected(own: float) -> np.ndarray:
        return 1 / (1 + np.exp(SLOPE * (rating - own)))

    low, high = rating.min() - FARTHEST, rating.max() + FARTHEST
    own = brentq(lambda own: float((solved - expected(own)).sum()), low, high)
    p = expected(own)
    error = math.sqrt(float(((solved - p) ** 2).sum())) / (SLOPE * float((p * (1 - p)).sum()))
    return float(own), 1.96 * error


def told(puzzles: Sequence[Puzzle], found: Sequence[Answers]) -> dict[str, Any]:
    """As JSON: the whole, with solved rating, and all groups."""
    everything = groups(puzzles, found)
    rating = solved_rating(puzzles, found)
    whole = dict(zip(COLUMNS, astuple(everything[0]), strict=True))
    del whole["kind"], whole["group"]
    return {
        **whole,
        "solved_rating": rating and rating[0],
        "solved_rating_error": rating and rating[1],
        "groups": [dict(zip(COLUMNS, astuple(group), strict=True)) for group in everything],
    }


def to_csv(everything: Iterable[Group]) -> str:
    """Groups as CSV, with the columns of `Group`; shares have four digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for group in everything:
        writer.writerow(f"{v:.4f}" if isinstance(v, float) else v for v in astuple(group))
    return text.getvalue()
