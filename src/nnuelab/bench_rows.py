"""A measured figure beside its reference: a row of ``nnuelab bench``."""

from __future__ import annotations

from typing import Any


def row(
    name: str,
    ours: float,
    reference: float | None,
    unit: str,
    at_least: float | None = None,
    aim: float | None = None,
    *,
    ratio: float | None = None,
) -> dict[str, Any]:
    """A row of figures; the bounds are those of the ratio.

    Parameters
    ----------
    ratio : float, optional
        Where it isn't ours / reference: less is better, or it is a median of ratios.
    """
    if ratio is None and reference is not None:
        ratio = ours / reference
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "unit": unit,
        "ratio": ratio,
        "at_least": at_least,
        "aim": aim,
    }
