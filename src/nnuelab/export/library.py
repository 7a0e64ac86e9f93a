"""The C library of a net: fixed code, and a header of its sizes and tables."""

from __future__ import annotations

import zlib
from pathlib import Path
from textwrap import fill

import numpy as np

from nnuelab.export.flat import Factor, Term
from nnuelab.nnue.netfile import Net

SOURCES = Path(__file__).parent / "c"
_C_TYPES = {"rows": "int32_t", "classes": "uint8_t", "numbers": "int16_t", "squares": "uint8_t"}


def write(folder: Path, net: Net, terms: list[Term]) -> None:
    """Writes the library and its test program into a folder."""
    for source in sorted(SOURCES.iterdir()):
        target = folder / ("test" if source.name == "test.c" else "") / source.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(source.read_text().replace("@FEATURES@", net.feature_set))
    weights = b"".join(array.tobytes() for array in net.arrays().values())
    (folder / "nnue.bin").write_bytes(weights)
    (folder / "nnue_tables.h").write_text(tables(net, terms, weights))


def tables(net: Net, terms: list[Term], weights: bytes) -> str:
    """The text of ``nnue_tables.h``."""
    direct = [term for term in terms if term.is_direct]
    listed = terms[len(direct) :]
    counted, starts = 0, []
    for term in direct:
        factor = term.factors[0][0]
        starts.append(counted if factor.shared else -1)
        counted += int(factor.rows.max()) + 1 if factor.shared else 0
    starts += [-1] * len(listed)
    n_listed = sum(term.most for term in listed)
    factors = list(dict.fromkeys(factor for term in terms for factor, _ in term.factors))
    widest = max(factor.most for factor in factors)
    by_king = [factor.classes for factor in factors if factor.classes.size]
    _, keys = np.unique(np.array([np.zeros(64), *by_king]), axis=1, return_inverse=True)
    most_active = max(n_listed + sum(term.most for term in direct), widest)
    sizes = {
        "FEATURES": net.n_features,
        "L1": net.l1,
        "L2": net.l2,
        "L3": net.l3,
        "BUCKETS": net.buckets,
        "SQUARED": int(net.activation == "squared"),
        "SHIFT1": net.l1_shift,
        "SHIFT2": net.l2_shift,
        "SHIFT3": net.l3_shift,
        "SHIFT_OUT": net.out_shift,
        "WEIGHT_BYTES": len(weights),
        "CHECKSUM": f"{zlib.adler32(weights)}u",
        "DIRECT": len(direct),
        "TERMS": len(terms),
        "COUNTED": max(counted, 1),
        "LISTED": max(n_listed, 1),
        "MOST_ACTIVE": most_active,
        "KEYS": int(keys.max()) + 1,
    }
    lines = [f"/* Tables of {net.feature_set} for nnue.c, generated. */"]
    lines += [f"#define {name} {value}" for name, value in sizes.items()]
    lines.append(_array("uint8_t", "keys", keys))
    used = [(factor, stride) for term in terms for factor, stride in term.factors]
    for number, factor in enumerate(factors):
        lines += _arrays(number, factor)
    lines.append("static const factor factors[] = {")
    lines += [_record(factors.index(factor), factor) for factor, _ in used]
    lines += ["};", _array("int32_t", "strides", np.array([stride for _, stride in used]))]
    lines.append("static const term terms[] = {  /* offset, counted, first factor, factors */")
    first = 0
    for term, start in zip(terms, starts, strict=True):
        lines.append(f"    {{{term.offset}, {start}, {first}, {len(term.factors)}}},")
        first += len(term.factors)
    return "\n".join([*lines, "};", ""])


def _arrays(number: int, factor: Factor) -> list[str]:
    return [
        _array(kind, f"{name}_{number}", getattr(factor, name))
        for name, kind in _C_TYPES.items()
        if getattr(factor, name).size
    ]


def _array(kind: str, name: str, values: np.ndarray) -> str:
    numbers = ",".join(map(str, values.ravel().tolist()))
    # A break is only allowed behind a comma.
    text = fill(numbers.replace(",", ", "), 100, break_long_words=False, break_on_hyphens=False)
    return f"static const {kind} {name}[{values.size}] = {{\n{text.replace(', ', ',')}\n}};"


def _record(number: int, factor: Factor) -> str:
    names = [
        f"{name}_{number}" if getattr(factor, name).size else "NULL"
        for name in ("classes", "rows", "numbers", "squares")
    ]
    shared = str(factor.shared).lower()
    return f"    {{{factor.kind}, {shared}, {', '.join(names)}, {len(factor.rows)}}},"
