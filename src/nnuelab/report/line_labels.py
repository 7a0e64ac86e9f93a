"""Names of lines beside their ends, which are read more easily than a legend of seven colours."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from nnuelab.names import labels

LONGEST = 22  # letters of a line
TEXT = 15  # pixels of a line of text


def short(names: Sequence[str]) -> Any:
    """The `labels` of names, by ``datum.label``, as an expression of Vega."""
    return _told(labels(names))


def stacked(names: Collection[str]) -> Any:
    """The same for the rows of an axis: a long one is in two lines, else its end would be cut."""
    return _told(texts(names))


def texts(names: Collection[str]) -> dict[str, list[str]]:
    """The lines of each of the `labels`."""
    return {name: _lines(text) for name, text in labels(names).items()}


def _told(called: Mapping[str, str | list[str]]) -> Any:
    if all(text in (name, [name]) for name, text in called.items()):
        return alt.Undefined
    return f"({json.dumps(called)})[datum.label]"


def _lines(text: str) -> list[str]:
    """A text, or its halves, divided behind the comma that leaves the shortest ones.

    >>> _lines("ALL,fair"), _lines("epochs-6,schedule-cosine,average-0.2")
    (['ALL,fair'], ['epochs-6,schedule-cosine,', 'average-0.2'])
    """
    places = [i for i, letter in enumerate(text, 1) if letter == "," and i < len(text)]
    if len(text) <= LONGEST or not places:
        return [text]
    half = min(places, key=lambda i: max(i, len(text) - i))
    return [text[:half], text[half:]]


@dataclass(frozen=True)
class Direct:
    """Names beside the ends of lines.

    Attributes
    ----------
    heights : dict of str to float
        Where each name stands, on the axis of the lines.
    domain : (float, float)
        That the axis has to have.
    """

    heights: dict[str, float]
    domain: tuple[float, float]


def direct(
    ends: Mapping[str, float], values: Sequence[float], height: int, most: float | None = None
) -> Direct | None:
    """Names of lines that end at ``ends``, moved apart where they would lie on each other.

    ``most`` is where the axis ends, at the latest. None where they are too many or too long: then
    a legend is easier to read.
    """
    called = texts(ends)
    lines = [line for text in called.values() for line in text]
    if not lines or len(lines) * TEXT > height or max(map(len, lines)) > LONGEST:
        return None
    low, high = min(values), max(values)
    room = (high - low) * 0.05 or 1.0
    low = max(low - room, 0.0) if low >= 0 else low - room  # nothing below what can't be
    high = high + room if most is None else min(high + room, most)
    names = sorted(ends, key=lambda name: ends[name])
    half = [(high - low) * TEXT / height * len(called[name]) / 2 for name in names]
    places = [ends[name] for name in names]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + half[i - 1] + half[i])
    over = max(places[-1] - high, 0.0)
    for i in reversed(range(len(places))):
        above = i + 1
        highest = places[above] - half[above] - half[i] if above < len(places) else places[i] - over
        places[i] = min(places[i], highest)
    return Direct(dict(zip(names, places, strict=True)), (low, high))


def named(
    beside: Direct,
    x: Any,
    y: str,
    drawn: Any,
    of: str = "set",
    more: Mapping[str, Mapping[str, float]] | None = None,
) -> Any:
    """A layer with the names of lines beside their ends.

    ``x`` is the channel where the lines end, ``y`` the field of the other axis, ``drawn`` the
    channel of their colours, by the names in the field ``of``; ``more`` are further fields by name.
    """
    points = [{of: n, y: height, **(more or {}).get(n, {})} for n, height in beside.heights.items()]
    base = alt.Chart(alt.Data(values=points)).encode(drawn, x=x, y=f"{y}:Q")
    return beside_marks(base, stacked(beside.heights), of, align="left", dx=8, clip=False)


def beside_marks(base: Any, said: Any, of: str, **look: Any) -> Any:
    """A layer with names, which the field ``of`` has, as `stacked` says them."""
    shown = f"datum.{of}" if said is alt.Undefined else said.replace("datum.label", f"datum.{of}")
    told = base.transform_calculate(called=shown).encode(text="called:N")
    return told.mark_text(lineBreak="\n", lineHeight=TEXT, aria=False, **look)
