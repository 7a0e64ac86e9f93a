"""Work that several jobs share out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nnuelab import files
from nnuelab.errors import UserError

Things = TypeVar("Things", list[Any], range)


@dataclass(frozen=True)
class Part:
    """Of c things those from ``c * (i - 1) // n`` up to ``c * i // n``, 1 <= i <= n."""

    i: int
    n: int

    def of(self, things: Things) -> Things:
        """Those of all, in their order.

        >>> Part(2, 3).of(range(10))
        range(3, 6)
        """
        return things[len(things) * (self.i - 1) // self.n : len(things) * self.i // self.n]

    @classmethod
    def parse(cls, text: str) -> Part:
        """``I/N``, 1 <= I <= N; UserError for anything else."""
        numbers = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text, re.ASCII)
        i, n = map(int, numbers.groups()) if numbers else (0, 0)
        if not 1 <= i <= n:
            raise UserError(f"part {text!r}: it must be I/N with I from 1 to N, such as 2/7")
        return cls(i, n)


@contextmanager
def whole(path: Path, what: str) -> Iterator[None]:
    """What a damaged part raises while it is read, ``what`` in words, as a UserError."""
    try:
        files.require(path)
        yield
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror or error}; check its name") from error
    except Exception as error:
        # Damaged bytes make zipfile and numpy, which parses headers as Python, raise what there is.
        raise UserError(f"{path} is damaged, or no {what}; make it again") from error
