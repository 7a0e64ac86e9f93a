"""HTML documents that need no other file: a template, with style, scripts and pieces in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nnuelab import __version__

FOLDER = Path(__file__).parent


def html(template: str, *, styles: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """A document.

    Parameters
    ----------
    template, styles, scripts : str, sequences of str
        Files, below `FOLDER`.
    values
        What the template names besides ``version``, ``style``, ``scripts`` and ``pieces``.
    """
    import jinja2
    from markupsafe import Markup, escape

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.tests["number"] = _is_number
    environment.filters["address"] = lambda path: link(*path)
    # Names of sets and variants break behind a sign, in sentences as words do; never at a hyphen.
    environment.filters["breakable"] = lambda text: Markup(
        re.sub(r"[+,/_]", r"\g<0><wbr>", str(escape(text)))
    )
    environment.filters["unbroken"] = lambda text: Markup(
        re.sub(r"[\w.]+(-[\w.]+)+", r'<span class="whole">\g<0></span>', str(escape(text)))
    )
    return environment.get_template(template).render(
        version=__version__,
        pieces=_pieces(),
        style="".join((FOLDER / name).read_text() for name in styles),
        scripts=[(FOLDER / name).read_text() for name in scripts],
        **values,
    )


def link(*parts: str) -> str:
    """The address of a view by its path, as ``id`` and ``href="#..."`` have it.

    >>> link("set", "ALL+H+V"), link("net", "ALL#1"), link()
    ('#/set/ALL+H+V', '#/net/ALL%231', '#/')
    """
    return "#/" + "/".join(quote(part, safe="+*(),=") for part in parts)


def _pieces() -> str:
    """SVG of the twelve pieces, to be used by id: python-chess has them."""
    import chess.svg

    return "".join(chess.svg.PIECES.values())


def _is_number(text: str) -> bool:
    """Whether it is empty or a number, with an interval or an error in brackets or without."""
    try:
        float(text.partition(" [")[0])
    except ValueError:
        return not text
    return True
