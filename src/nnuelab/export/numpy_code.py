"""The numpy reference of a net: one short file, and an archive of its tables and weights."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.export.flat import Term, factors_of, found_in
from nnuelab.export.templates import activations, decided
from nnuelab.features.fingerprint import used_by
from nnuelab.features.kinds import sources
from nnuelab.features.records import GATE
from nnuelab.nnue.netfile import Net

SOURCE = Path(__file__).parent / "numpy" / "nnue.py"
OPERATIONS = "PIECE", "UNION", "GATE", "AND", "OR", "MINUS"
"""As in :mod:`nnuelab.features.records`."""


def write(folder: Path, net: Net, terms: list[Term]) -> None:
    """Writes ``nnue.py`` and ``nnue.npz`` into a folder, and ``squares.py`` where it is needed."""
    factors = factors_of(terms)
    known = {
        **found_in(factors),
        **activations(net),
        "SETS": any(factor.sets for factor in factors),
        "L2": net.l2,
        "L3": net.l3,
        "PSQT": net.psqt is not None,
    }
    (folder / "nnue.py").write_text(decided(SOURCE.read_text(), known))
    arrays: dict[str, Any] = {
        f"{name}_{number}": getattr(factor, name)
        for number, factor in enumerate(factors)
        for name in ("rows", "classes", "numbers", "squares", "masks", "chosen")
    }
    told = {
        "feature_set": net.feature_set,
        "terms": [
            [term.offset, [[factors.index(factor), stride] for factor, stride in term.factors]]
            for term in terms
        ],
        "kinds": [factor.kind for factor in factors],
        "sets": [
            [[(OPERATIONS[kind], *rest) for kind, *rest in code] for code in factor.sets]
            for factor in factors
        ],
        "buckets": net.buckets,
        "activations": [net.layers.first, net.activation],
        "direct": asdict(net.direct) if net.direct else {},
        "shifts": [net.l1_shift, net.l2_shift, net.l3_shift, net.out_shift],
    }
    arrays |= {"about": np.array(json.dumps(told)), **net.arrays()}
    np.savez(folder / "nnue.npz", **arrays)
    codes = [code for factor in factors for code in factor.sets]
    names = {name for code in codes for kind, name, _ in code if kind <= GATE}
    if names:
        (folder / "squares.py").write_text(_with_all_that_they_use(sorted(names)))


def _with_all_that_they_use(names: Iterable[str]) -> str:
    """The text of sources (:mod:`nnuelab.features.kinds.sources`), without any import of ours."""
    head = '"""Squares that the piece on a square has to do with; pieces are (role, colour)."""\n\n'
    head += "from __future__ import annotations\n\nfrom functools import cache\n\n"
    head += "Pieces = dict[int, tuple[int, int]]  # by square\n"
    texts: dict[str, str] = {}

    def add(name: str, value: Any) -> None:
        if name in texts:
            return
        if not callable(value):
            texts[name] = f"{name} = {value!r}"
            return
        function = inspect.unwrap(value)
        for other, used in sorted(used_by(function).items()):
            add(other, used)
        lines = inspect.getsource(function).splitlines()
        texts[name] = "\n".join(line for line in lines if not line.startswith("@source"))

    for name in names:
        add(name, getattr(sources, name))
    return "\n\n".join([head.rstrip(), *texts.values(), ""])
