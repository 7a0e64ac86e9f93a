"""The history of a run: a row per generation, with the state of the bits in every reading.

The post shows "Convergence: 79.35%" and "Entropy: 57.93" and never says how they are made. So each
definition that fits one of them is a column (p: probability of a bit to be 1, H: its entropy):

========================  =======================================================================
``entropy_bits_mean``     mean of H in bits, 0 to 1
``entropy_percent``       100 times that
``entropy_log2_sum``      sum of H in bits
``entropy_ln_sum``        sum of H with the natural logarithm
``entropy_log10_sum``     sum of H with the decimal logarithm; the console block shows it
``convergence_max``       mean of max(p, 1 - p), 0.5 to 1
``convergence_abs``       mean of abs(2p - 1), 0 to 1; the console block shows it in percent
``bits_at_0``             share of the bits with p below 0.1
``bits_at_1``             share of the bits with p above 0.9
========================  =======================================================================
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nnuelab import artifacts

BIT_COLUMNS = (
    "entropy_bits_mean",
    "entropy_log2_sum",
    "entropy_ln_sum",
    "entropy_log10_sum",
    "entropy_percent",
    "convergence_max",
    "convergence_abs",
    "bits_at_0",
    "bits_at_1",
)
COLUMNS = (
    "generation",
    "best",
    "mean",
    "best_so_far",
    "reference",
    "validation",
    "k",
    *BIT_COLUMNS,
    "zero_weights",
)
DIGITS = 9  # significant ones in the file
NEAR_0, NEAR_1 = 0.1, 0.9


def of_bits(probabilities: np.ndarray | None) -> dict[str, float]:
    """The columns of a vector of bit probabilities, float64 [bits]; none of None."""
    if probabilities is None:
        return {}
    p = np.asarray(probabilities, np.float64)
    nats = -(_x_log_x(p) + _x_log_x(1 - p))
    mean = float(nats.mean()) / math.log(2)
    return {
        "entropy_bits_mean": mean,
        "entropy_log2_sum": float(nats.sum()) / math.log(2),
        "entropy_ln_sum": float(nats.sum()),
        "entropy_log10_sum": float(nats.sum()) / math.log(10),
        "entropy_percent": 100 * mean,
        "convergence_max": float(np.maximum(p, 1 - p).mean()),
        "convergence_abs": float(np.abs(2 * p - 1).mean()),
        "bits_at_0": float((p < NEAR_0).mean()),
        "bits_at_1": float((p > NEAR_1).mean()),
    }


def _x_log_x(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0)


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The CSV of rows; what a row lacks stays empty."""
    table = pd.DataFrame(list(rows), columns=list(COLUMNS))
    file = io.StringIO()
    table.to_csv(file, index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")
    return file.getvalue()


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes the file, atomically."""
    with artifacts.atomic(path) as temporary:
        temporary.write_text(text(rows))
