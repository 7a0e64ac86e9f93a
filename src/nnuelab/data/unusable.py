"""Unusable parts of an input: counted up to a limit, with a few examples."""

from __future__ import annotations

from pathlib import Path

from nnuelab.errors import UserError

EXAMPLES = 3


class Unusable:
    """Counts lines (or blocks) of a file that can't be used.

    Parameters
    ----------
    path : Path
    limit : int
        The work stops with more than these.
    """

    def __init__(self, path: Path | str, limit: int) -> None:
        self.path, self.limit = path, limit
        self.count = 0
        self.examples: list[str] = []

    def add(self, where: str, reason: str) -> None:
        """Counts one.

        Parameters
        ----------
        where, reason : str
            "line 12", "no FEN".

        Raises
        ------
        UserError
            When there are too many; the message names the first of them.
        """
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(f"{where}: {reason}")
        if self.count > self.limit:
            raise UserError(
                f"{self.path}: {self.summary()}; repair the file, or allow more with --max-unusable"
            )

    def summary(self) -> str:
        """The count and the examples in one line.

        >>> found = Unusable("x.csv", 5)
        >>> found.add("line 3", "no FEN")
        >>> found.summary()
        '1 unusable (line 3: no FEN)'
        """
        more = "; ..." if self.count > len(self.examples) else ""
        return f"{self.count:,} unusable ({'; '.join(self.examples)}{more})"
