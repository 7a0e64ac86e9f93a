"""What blocks about a piece, its square and perhaps the own king have in common."""

from __future__ import annotations

import numpy as np

from nnuelab.features.concepts import (
    COLOR_NAMES,
    COLORS,
    FILES,
    RANKS,
    ROLE_NAMES,
    ROLES,
    SQUARES,
    Concept,
)


def piece_name(concepts: tuple[Concept, ...], values: tuple[int, ...], pieces: np.ndarray) -> str:
    """What a feature of one piece says; ``pieces`` (codes) are those that make it active."""
    value = dict(zip(concepts, values, strict=True))
    colors = {value[COLORS]} if COLORS in value else set((pieces % 2).tolist())
    roles = {value[ROLES]} if ROLES in value else set((pieces // 2).tolist())
    words = [COLOR_NAMES[color] for color in colors] if len(colors) == 1 else []
    words.append(
        " or ".join(ROLE_NAMES[role] for role in sorted(roles)) if 0 < len(roles) < 6 else "piece"
    )
    places = [(c.values[v], c.phrase) for c, v in value.items() if c.phrase]
    if FILES in value and RANKS in value:
        square = SQUARES.values[value[FILES] + 8 * value[RANKS]]
        places = [(square, SQUARES.phrase)] + [
            (c.values[v], c.phrase)
            for c, v in value.items()
            if c.phrase and c not in (FILES, RANKS)
        ]
    on = " and ".join(text for text, phrase in places if phrase == SQUARES.phrase)
    words += [f"on {on}"] if on else []
    words += [phrase.format(text) for text, phrase in places if phrase != SQUARES.phrase]
    return " ".join(words)
