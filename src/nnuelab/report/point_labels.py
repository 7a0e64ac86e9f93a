"""Names beside points, which are read more easily than a legend of seven colours."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from nnuelab.charts import HEIGHT
from nnuelab.report.line_labels import TEXT, beside_marks, stacked, texts

NARROWEST, WIDEST = 250, 1000  # pixels of a plot, on a phone and elsewhere
LETTER, DOT = 7, 6  # pixels: of a letter, and from the middle of a point to its edge
ASIDE = 9  # pixels from the middle of a point to its name
STEP = 3  # pixels between the places that are tried above and below a point,
MOST_STEPS = 40  # so many each way
LED = 13  # pixels from a point, from which on a line leads to its name
LEFT, ON_A_RULE = 4, 25  # what is as bad as so many pixels up or down
ROOM = 0.06  # of an axis beyond its points


@dataclass(frozen=True)
class Point:
    """Where it is on both axes, the ends of its upright interval, and half of that across."""

    x: float
    y: float
    low: float
    high: float
    aside: float = 0.0


@dataclass(frozen=True)
class Box:
    """Pixels: from ``left`` to ``right`` of an ``x`` that is further off where a plot is wider."""

    x: float
    left: float
    right: float
    top: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether they overlap in a plot of this width or of any larger one."""
        if self.top >= other.bottom or other.top >= self.bottom:
            return False
        apart = self.x - other.x
        is_right = apart >= 0 and apart >= other.right - self.left
        is_left = apart <= 0 and apart <= other.left - self.right
        return not (is_right or is_left)


@dataclass(frozen=True)
class Beside:
    """Names of points, and the axes that they are placed for.

    Attributes
    ----------
    values : list of dict
        ``set``, ``x``, ``y``; the name's ``height`` on the axis, ``side``, and whether it is
        ``led`` to.
    across, up : (float, float)
        Domains of both axes.
    points : list of str
        Names of all points, by which those that are written are told from the others.
    """

    values: list[dict[str, Any]]
    across: tuple[float, float]
    up: tuple[float, float]
    points: list[str]


def beside(
    points: Mapping[str, Point],
    only: Collection[str] = (),
    up: tuple[float, float] | None = None,
    height: int = HEIGHT,
) -> Beside | None:
    """Places for the names, none of which lies on another or on a point, however wide a plot is.

    None where there is no room for all: then a legend is easier to read.

    Parameters
    ----------
    points : mapping of str to Point
    only : collection of str, optional
        Those that are named; else all are.
    up : (float, float), optional
        Domain of the upright axis; else as large as the intervals.
    height : int
        Of the plot, pixels.
    """
    if len(points) < 2 or len({point.x for point in points.values()}) < 2:
        return None
    across = _domain([x for p in points.values() for x in (p.x - p.aside, p.x + p.aside)])
    up = up or _domain([e for p in points.values() for e in (p.low, p.y, p.high)])

    def over(value: float) -> float:
        return NARROWEST * (value - across[0]) / (across[1] - across[0])

    def down(value: float) -> float:
        return height * (up[1] - value) / (up[1] - up[0])

    dots, rules = [], []
    for point in points.values():
        x, y = over(point.x), down(point.y)
        dots.append(Box(x, -DOT, DOT, y - DOT, y + DOT))
        rules.append(Box(x, -2, 2, down(point.high), down(point.low)))
        wide = WIDEST * point.aside / (across[1] - across[0])
        rules.append(Box(x, -wide, wide, y - 2, y + 2))
    names = [name for name in points if not only or name in only]
    called = texts(points)
    taken: list[Box] = []
    values = []
    for name in sorted(names, key=lambda name: -points[name].y):
        point = points[name]
        x, y = over(point.x), down(point.y)
        found = min(
            (
                (cost + ON_A_RULE * sum(box.meets(rule) for rule in rules), moved, side, box)
                for cost, moved, side, box in _places(x, y, called[name])
                if x + box.left >= 0 and x + box.right <= NARROWEST
                and box.top >= 0 and box.bottom <= height
                and not any(box.meets(other) for other in (*taken, *dots))
            ),
            key=lambda place: place[0],
            default=None,
        )  # fmt: skip
        if found is None:
            return None
        _, moved, side, box = found
        taken.append(box)
        lies = point.y - moved * (up[1] - up[0]) / height
        values.append(
            {"set": name, "x": point.x, "y": point.y, "height": lies, "side": side,
             "led": abs(moved) > LED}
        )  # fmt: skip
    return Beside(values, across, up, list(points))


def _domain(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * ROOM or 1.0
    return low - room, high + room


def _places(x: float, y: float, lines: list[str]) -> Iterator[tuple[float, float, str, Box]]:
    """What a place costs, how far down it is, its side, and the box of the name there."""
    width, height = LETTER * max(map(len, lines)), TEXT * len(lines)
    for step in range(MOST_STEPS):
        for moved in {STEP * step, -STEP * step}:
            top, bottom = y + moved - height / 2, y + moved + height / 2
            yield math.fabs(moved), moved, "right", Box(x, ASIDE, ASIDE + width, top, bottom)
            far = math.fabs(moved) + LEFT
            yield far, moved, "left", Box(x, -ASIDE - width, -ASIDE, top, bottom)


def named(found: Beside, drawn: Any, x: str, y: str, of: str = "set") -> list[Any]:
    """Layers with the names of points, and lines to those that stand further off.

    ``x`` and ``y`` are the fields of the axes, which zoom together with these; ``drawn`` is the
    channel of their colours, by the names in the field ``of``.
    """
    layers = []
    said = stacked(found.points)
    for side, sign, align in (("right", 1, "left"), ("left", -1, "right")):
        values = [
            {of: v["set"], x: v["x"], y: v["height"], "at": v["y"], "led": v["led"]}
            for v in found.values
            if v["side"] == side
        ]
        if not values:
            continue
        base = alt.Chart(alt.Data(values=values)).encode(drawn, x=f"{x}:Q", y=f"{y}:Q")
        layers.append(beside_marks(base, said, of, align=align, dx=sign * ASIDE, clip=True))
        led = base.mark_rule(xOffset=sign * (ASIDE - 1), opacity=0.7, aria=False)
        if any(value["led"] for value in values):
            layers.append(led.transform_filter("datum.led").encode(x2=f"{x}:Q", y2="at:Q"))
    return layers
