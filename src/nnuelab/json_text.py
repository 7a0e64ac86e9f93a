"""JSON from files that anyone may have written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def load(text: str | bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a text; ValueError where it is none, also for brackets nested too deeply."""
    try:
        return json.loads(text, parse_constant=parse_constant)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


def no_number(text: str) -> float:
    """For ``parse_constant``: refuses NaN and Infinity, which Python reads, and JSON hasn't."""
    raise ValueError(f"{text} is not a number")
