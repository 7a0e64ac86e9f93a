"""Numbers of games for positions that come without."""

from __future__ import annotations

import numpy as np


class Numbers:
    """Tells games apart in a row of positions: one begins where the ply doesn't grow, or the result
    for White is another.

    Two games may be taken for one, which no split minds; a game is never torn apart.
    """

    def __init__(self) -> None:
        self._game, self._ply, self._white = -1, 0, 0

    def give(self, records: np.ndarray) -> np.ndarray:
        """Sets ``game`` of the next positions.

        Parameters
        ----------
        records : ndarray of RECORD [n], changed

        Returns
        -------
        ndarray of RECORD [n]
            The same.
        """
        if len(records):
            ply = np.concatenate([[self._ply], records["ply"]]).astype(np.int64)
            result = records["result"].astype(np.int64)
            white = np.where(records["flags"] & 1, -result, result)
            before = np.concatenate([[self._white], white[:-1]])
            new = (np.diff(ply) <= 0) | (white != before)
            if self._game < 0:
                new[0] = True
            records["game"] = self._game + np.cumsum(new)
            self._game, self._ply = int(records["game"][-1]), int(ply[-1])
            self._white = int(white[-1])
        return records
