"""What a move does to the squares that it has to do with, by which a kept change is known; jitted.

What is done with it: :mod:`nnuelab.features.kernels.revision`.
"""

import numpy as np

from nnuelab.jit import at, inline

_ZERO = np.uint64(0)
PLACED = 16
"""First words of a change: what stood and stands on the squares that a move has to do with."""


@inline
def is_of(words, changed, old, new):
    """Whether a kept change is of this move, wherever it was made.

    Parameters
    ----------
    words : uint64[>= PLACED]
    changed : uint64
        The squares whose content differs between ``old`` and ``new``.
    """
    difference = _ZERO
    for role in range(6):
        difference |= words[at(role)] ^ (old.roles[at(role)] & changed)
        difference |= words[at(8 + role)] ^ (new.roles[at(role)] & changed)
    for color in range(2):
        difference |= words[at(6 + color)] ^ (old.colors[at(color)] & changed)
        difference |= words[at(14 + color)] ^ (new.colors[at(color)] & changed)
    return difference == _ZERO


@inline
def begin(words, changed, old, new):
    """Makes a kept change one of this move, in which no set has changed yet."""
    words[:] = _ZERO
    for role in range(6):
        words[at(role)] = old.roles[at(role)] & changed
        words[at(8 + role)] = new.roles[at(role)] & changed
    for color in range(2):
        words[at(6 + color)] = old.colors[at(color)] & changed
        words[at(14 + color)] = new.colors[at(color)] & changed
