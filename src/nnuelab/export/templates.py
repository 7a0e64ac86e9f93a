"""Code that is exported has only what its net needs: the rest is cut out of what is here."""

from __future__ import annotations

from collections.abc import Mapping

from nnuelab.nnue.netfile import Net


def decided(source: str, known: Mapping[str, object]) -> str:
    """Code without what is behind ``#if NAME`` of a known name, and without these conditions.

    A condition is a line ``#if``, ``#else`` or ``#endif``, in Python with a space behind the sign;
    one whose name isn't known stays, for the compiler to decide.
    """
    kept: list[str] = []
    shown: list[bool | None] = []  # by condition around a line; None: stays
    cut = False  # before this line, back to the last one that has any text
    for line in source.splitlines():
        directive, *rest = line.strip().removeprefix("#").split() or [""]
        condition = line.lstrip().startswith("#") and directive.startswith(("if", "el", "endif"))
        if condition and directive.startswith("if"):
            shown.append(bool(known[rest[0]]) if rest[0] in known else None)
        hidden = condition and shown[-1] is not None
        if hidden and directive == "else":
            shown[-1] = not shown[-1]
        if condition and directive == "endif":
            shown.pop()
        if hidden or False in shown:
            cut = True
        elif line or not (cut and kept and not kept[-1]):
            kept.append(line)
            cut = cut and not line
    return "\n".join([*kept, ""])


def activations(net: Net) -> dict[str, bool]:
    """What the layers of a net have and do, of all that its code could."""
    first, squared, direct = net.layers.first, net.activation != "clipped", net.direct
    return {
        "NARROW": net.w1.itemsize == 1,
        "PAIRWISE": net.pairwise,
        "FITS_INT32": direct is not None and direct.fits_int32(net.w3, net.activation),
        "SQUARED": squared,
        "DUAL": net.activation == "dual",
        "CLIPS": first == "clipped" or net.activation != "squared",
        "MULTIPLIES": first != "clipped" or squared,
        "MULTIPLIES_FIRST": first != "clipped",
    }
