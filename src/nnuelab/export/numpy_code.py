"""The numpy reference of a net: one short file, and an archive of its tables and weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.export.flat import Term, factors_of
from nnuelab.nnue.netfile import Net

SOURCE = Path(__file__).parent / "numpy" / "nnue.py"


def write(folder: Path, net: Net, terms: list[Term]) -> None:
    """Writes ``nnue.py`` and ``nnue.npz`` into a folder."""
    (folder / "nnue.py").write_text(SOURCE.read_text())
    factors = factors_of(terms)
    arrays: dict[str, Any] = {
        f"{name}_{number}": getattr(factor, name)
        for number, factor in enumerate(factors)
        for name in ("rows", "classes", "numbers", "squares")
    }
    told = {
        "feature_set": net.feature_set,
        "terms": [
            [term.offset, [[factors.index(factor), stride] for factor, stride in term.factors]]
            for term in terms
        ],
        "kinds": [factor.kind for factor in factors],
        "buckets": net.buckets,
        "squared": net.activation == "squared",
        "shifts": [net.l1_shift, net.l2_shift, net.l3_shift, net.out_shift],
    }
    arrays |= {"about": np.array(json.dumps(told)), **net.arrays()}
    np.savez(folder / "nnue.npz", **arrays)
