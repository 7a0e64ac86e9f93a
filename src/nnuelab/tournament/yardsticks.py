"""What the games of an experiment may be played at: each makes a PGN, ratings, and an Elo."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Yardstick:
    """A kind of limit under which all nets of an experiment play each other.

    Attributes
    ----------
    folder : str
        Of its games, below results/tournament; "" for that itself.
    column : str
        Of the table, with the Elo there; its errors are ``{column}_error``, ...
    title : str
        What the games are played at; see `at`.
    deep, at_cost : bool
        Whether there are more nodes than at the first; whether each node has its price.
    """

    folder: str
    column: str
    title: str
    deep: bool = False
    at_cost: bool = False

    @property
    def p(self) -> str:
        """Column of the p-values of that Elo, adjusted for the number of sets."""
        return f"{self.column.replace('elo', 'p')}_adjusted"

    def at(self, deep: int) -> str:
        """What the games are played at, where the nodes of the second limit are known; 0: unknown.

        >>> DEEP.at(5000), DEEP_COST.at(5000), DEEP_COST.at(0), COST.at(5000)
        ('5,000 nodes', 'equal cost, 5,000 nodes', 'equal cost, more nodes', 'equal cost')
        """
        return self.title.replace("more", f"{deep:,}") if deep else self.title

    def played(self, experiment: str) -> str:
        """Name of the games of an experiment, without an ending.

        >>> COST.played("axis"), NODES.played("axis")
        ('cost/axis', 'axis')
        """
        return f"{self.folder}/{experiment}" if self.folder else experiment


NODES = Yardstick("", "elo", "fixed nodes")
COST = Yardstick("cost", "elo_cost", "equal cost", at_cost=True)
DEEP = Yardstick("deep", "elo_deep", "more nodes", deep=True)
DEEP_COST = Yardstick(
    "deep-cost", "elo_deep_cost", "equal cost, more nodes", deep=True, at_cost=True
)
TIME = Yardstick("time", "elo_time", "fixed time")
ALL = (NODES, COST, DEEP, DEEP_COST, TIME)
