"""Which of an engine's rows is which feature here, whatever numbers it gives them.

Two rows are the same feature where they are active in the same positions. A wrong row differs in
some of them, so the one that it shares most positions with is what it was meant to be.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain

LEAST = 0.5  # of the positions in which one of two rows is active, both are


def found(theirs: Sequence[Sequence[int]], ours: Sequence[Sequence[int]]) -> dict[int, int]:
    """Numbers here, by those of the engine.

    Parameters
    ----------
    theirs, ours : sequence of sequence of int
        Active rows of the same positions, from the same perspectives; equally many.

    Returns
    -------
    dict of int to int
        No number comes twice; rows that share less than half of their positions with every row
        here are left out.

    Examples
    --------
    >>> found([[7, 9], [7], [9, 3]], [[0, 1], [0], [1, 2]])
    {3: 2, 7: 0, 9: 1}
    """
    their, our = _where(theirs), _where(ours)
    alike = defaultdict(list)
    for row, where in our.items():
        alike[where].append(row)
    numbers = {row: alike[where].pop(0) for row, where in their.items() if alike[where]}
    taken = set(numbers.values())
    left = [[row for row in rows if row not in taken] for rows in ours]
    shares = []
    for row, where in their.items():
        if row not in numbers:
            for other, both in Counter(chain.from_iterable(left[i] for i in where)).items():
                share = both / (len(where) + len(our[other]) - both)
                shares += [(-share, row, other)] * (share >= LEAST)
    for _, row, other in sorted(shares):
        if row not in numbers and other not in taken:
            numbers[row] = other
            taken.add(other)
    return dict(sorted(numbers.items()))


def _where(lists: Sequence[Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """The positions in which a row is active."""
    places = defaultdict(list)
    for i, rows in enumerate(lists):
        for row in set(rows):
            places[row].append(i)
    return {row: tuple(where) for row, where in places.items()}
