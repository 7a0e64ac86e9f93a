"""Memory layouts of an evaluation's computed blocks, for jitted code."""

import numpy as np

PART = np.dtype([("data", "u8"), ("first", "i8")])  # -> COMPUTED, its first row
GROUP = np.dtype([("start", "i8"), ("stop", "i8"), ("changed", "u8")])
"""Parts whose blocks have one function that tells whether they change, or none (0)."""
