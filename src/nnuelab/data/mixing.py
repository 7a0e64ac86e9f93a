"""What is drawn depends on names and numbers alone, which are hashed: no generator has a state."""

import numpy as np

from nnuelab.jit import inline

STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: from one word to the next


@inline
def splitmix64(word):  # type: ignore[no-untyped-def]
    """Mix a 64-bit word, so that neighbouring ones give unrelated ones.

    The finalizer of Steele, Lea and Flood (2014), without the step before it.

    Parameters
    ----------
    word : uint64, or an ndarray of it outside of jitted code (``splitmix64.py_func``)

    Returns
    -------
    uint64, or ndarray of uint64
    """
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
