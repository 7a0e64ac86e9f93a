"""Files with weights, as settings and commands name them: FILE or FILE=WEIGHT."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def weighted(words: Iterable[str]) -> dict[Path, float]:
    """Files and their weights, 1 where none is given.

    Raises
    ------
    ValueError
        For a file that is named twice.

    >>> weighted(["a.npy", "b.bf=0.5", "c=d.plain"])
    {PosixPath('a.npy'): 1.0, PosixPath('b.bf'): 0.5, PosixPath('c=d.plain'): 1.0}
    """
    found: dict[Path, float] = {}
    for word in words:
        name, _, weight = word.rpartition("=")
        try:
            path, value = (Path(name), float(weight)) if name else (Path(word), 1.0)
        except ValueError:
            path, value = Path(word), 1.0  # a name with an equals sign
        if path in found:
            raise ValueError(f"{path} is given twice; name it once")
        found[path] = value
    return found
