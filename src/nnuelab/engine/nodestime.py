"""Time counted in nodes, so that games on a clock are reproducible: the UCI option ``nodestime``.

As in Stockfish, the first clock of a game is turned into nodes; later ones, which depend on the
machine, are not looked at. Each side has its own, so that one process may play both.
"""

from __future__ import annotations

RATE_MAX = 10_000  # nodes a millisecond, as in Stockfish


class NodeClock:
    """The clocks of a game in nodes.

    Parameters
    ----------
    rate : int
        Nodes that stand for a millisecond.
    """

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._left: dict[int, int] = {}  # nodes, by side

    def new_game(self) -> None:
        """The next clocks are those of a new game."""
        self._left.clear()

    def remaining(self, turn: int, told: int) -> float:
        """What a side has left, ms; ``told`` by the GUI, which counts in its first move alone."""
        return self._left.setdefault(turn, told * self.rate) / self.rate

    def charge(self, turn: int, nodes: int, increment: int) -> None:
        """Counts a search of so many nodes, if there is a clock; increment in ms."""
        if turn in self._left:
            self._left[turn] = max(self._left[turn] - nodes, 0) + increment * self.rate

    def nodes(self, milliseconds: float) -> int:
        """What a time stands for, at least one."""
        return max(int(milliseconds * self.rate), 1)
