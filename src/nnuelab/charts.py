"""Figures as Vega-Lite, made with Altair, and the files that they are saved as.

A figure holds its data and no style: that is the report page's, or the default in a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import altair as alt

from nnuelab import artifacts

FORMATS = (".svg", ".png", ".html")
SHARE_TICKS = 5  # few enough for their words on a phone
ALMOST = 0.9  # a share, from which on an axis would go beyond 1 to the next round number
HEIGHT, WIDTH = 340, 640  # pixels; the width is that of a file, a page has its own
# A figure in a column of a paper, in points. Its colours differ in lightness, and so in grey, too.
# It has one font in one weight: several would be numbered in an order that changes.
PAPER_WIDTH = 240
_PAPER = {
    "font": "Liberation Sans",
    "axis": {"labelFontSize": 7, "titleFontSize": 8, "titleFontWeight": "normal"},
    "legend": {
        **{"labelFontSize": 7, "titleFontSize": 7, "titleFontWeight": "normal"},
        **{"orient": "bottom", "columns": 2, "labelLimit": 110},
    },
    "header": {"labelFontSize": 7, "titleFontSize": 8, "titleFontWeight": "normal"},
    "text": {"fontSize": 7},
    "range": {
        "category": [
            *("#000000", "#e07b1a", "#0b4f8a", "#e8c83a"),
            *("#1b8a5a", "#4b1d6b", "#5ab4e0", "#a23b3b"),
        ]
    },
}
_RESOURCES = re.compile(rb"(?:^ +/[a-z]+\d+ \d+ 0 R\n){2,}", re.MULTILINE)
# The page zooms by buttons, and with the wheel only while shift is held: else it scrolls.
_ZOOM = "wheel![event.shiftKey]"


@dataclass(frozen=True)
class Figure:
    """A plot.

    Attributes
    ----------
    name : str
        Part of its id on the page.
    title, caption : str
        What it shows, and how to read it.
    spec : dict
        Vega-Lite.
    """

    name: str
    title: str
    caption: str
    spec: dict[str, Any]


def figure(name: str, title: str, caption: str, chart: Any, height: int = HEIGHT) -> Figure:
    """A chart as wide as its place; ``height`` in pixels."""
    chart = chart.properties(width="container", height=height, description=f"{title}. {caption}")
    spec = chart.to_dict()
    _share_tooltips(spec, None)
    return Figure(name, title, caption, spec)


def _share_tooltips(spec: dict[str, Any], data: Any, told: Any = None) -> None:
    """Marks of the same data tell the same numbers: lines and intervals those of their dots."""
    data = spec.get("data", data)
    told = _tooltips(spec, data) if told is None else told
    for part in spec.get("layer", []):
        _share_tooltips(part, data, told)
    if "mark" in spec and spec["mark"].get("aria", True):
        for shared, tooltip in told:
            if shared == data:
                spec["encoding"].setdefault("tooltip", tooltip)


def _tooltips(spec: dict[str, Any], data: Any) -> list[tuple[Any, Any]]:
    """Data with the tooltips of the marks that draw them."""
    data = spec.get("data", data)
    own = [(data, spec["encoding"]["tooltip"])] if "tooltip" in spec.get("encoding", {}) else []
    return own + [found for part in spec.get("layer", []) for found in _tooltips(part, data)]


def zoom(*channels: Literal["x", "y"]) -> Any:
    """Channels (default: both) that can be moved and zoomed."""
    return alt.selection_interval(
        name="zoom", encodings=list(channels or ("x", "y")), bind="scales", zoom=_ZOOM
    )


def fitted(domain: tuple[float, float] | None, padding: Any = alt.Undefined) -> Any:
    """The scale of an axis of just this domain; else of what is drawn, which may begin above 0."""
    if domain is None:
        return alt.Scale(zero=False, padding=padding)
    return alt.Scale(domain=domain, nice=False)


def share_scale(values: Iterable[float]) -> Any:
    """The scale of an axis of shares 0..1: one that comes near 100 % ends there.

    It begins at one of about `SHARE_TICKS` round shares, so that 100 % is one of them, too.
    """
    if max(values, default=0) > ALMOST:
        return alt.Scale(zero=False, domainMax=1, nice=SHARE_TICKS)
    return alt.Scale(zero=False)


def histogram(
    axis: str, edges: Sequence[float], counts: Sequence[int], what: str = "positions"
) -> Any:
    """A chart of bars: how many positions have a value; ``axis`` is its name and unit."""
    values = [
        {"low": low, "high": high, "count": count}
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
    return (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("low:Q").bin("binned").title(axis),
            x2="high:Q",
            y=alt.Y("count:Q").title(what),
            tooltip=[
                alt.Tooltip("low:Q", title=f"{axis}, from", format=".6~g"),
                alt.Tooltip("high:Q", title="to", format=".6~g"),
                alt.Tooltip("count:Q", title=what, format=","),
            ],
        )
    )


def save(path: Path, drawn: Figure) -> None:
    """Writes a figure as SVG, PNG or HTML, by the ending of its name."""
    import vl_convert

    artifacts.check_ending(path, "a figure", *FORMATS)
    spec = {**drawn.spec, "title": drawn.title, "background": "white"}
    if spec.get("width") == "container":
        spec["width"] = WIDTH
    if path.suffix == ".svg":
        content = vl_convert.vegalite_to_svg(spec).encode()
    elif path.suffix == ".png":
        content = vl_convert.vegalite_to_png(spec, scale=2)
    else:
        content = vl_convert.vegalite_to_html(spec, bundle=True).encode()
    with artifacts.atomic(path) as temporary:
        temporary.write_bytes(content)


def pdf(drawn: Figure) -> bytes:
    """A figure as wide as a column of a paper, without its title, which is its caption there."""
    import vl_convert

    spec = {name: value for name, value in drawn.spec.items() if name != "width"}
    if "width" in drawn.spec:
        spec |= {"width": PAPER_WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}}
    if isinstance(spec.get("height"), int):
        spec["height"] //= 2
    spec |= {"background": "white", "config": {**spec.get("config", {}), **_PAPER}}
    made: bytes = vl_convert.svg_to_pdf(vl_convert.vegalite_to_svg(spec))
    # Entries of a dictionary of resources come in any order; sorted they keep their total length,
    # and the table of objects its offsets.
    return _RESOURCES.sub(lambda found: b"".join(sorted(found[0].splitlines(True))), made)
