"""The C library of a net: fixed code, and a header of its sizes and tables."""

from __future__ import annotations

import zlib
from pathlib import Path
from textwrap import fill

import numpy as np

from nnuelab.export import square_code
from nnuelab.export.flat import (
    OF_TARGETS,
    Term,
    factors_of,
    found_in,
)
from nnuelab.export.templates import activations, decided
from nnuelab.nnue.netfile import Net

SOURCES = Path(__file__).parent / "c"
OPTIONAL = "LISTED", "PSQT", "SETS"
"""Sizes that no code is left to ask for where they are 0."""
_C_TYPES = {
    "classes": "uint8_t",
    "rows": "int32_t",
    "numbers": "int16_t",
    "squares": "uint8_t",
    "masks": "uint64_t",
    "chosen": "int32_t",
}
"""Of a factor's arrays, in the order of its record; the first two always, others where needed."""


def write(folder: Path, net: Net, terms: list[Term]) -> None:
    """Writes the library and its test program into a folder."""
    weights = b"".join(array.tobytes() for array in net.arrays().values())
    sizes = _sizes(net, terms, weights)
    factors = factors_of(terms)
    known = {**sizes, **activations(net), **found_in(factors)}
    known["COMPARES_ROWS"] = known["HAS_OF_NUMBERS"] or known["HAS_OF_TARGETS"]
    listed = sizes["LISTED"] and known["HAS_OF_SQUARES"]
    known["APPENDS_SQUARES"] = listed or known["HAS_OF_TARGETS"]
    known |= square_code.needed(factors)
    needed = {"nnue_squares.h": sizes["SETS"], "nnue_layers.h": net.l2, "nnue_direct.h": net.direct}
    for source in sorted(SOURCES.iterdir()):
        if not needed.get(source.name, True):
            continue
        target = folder / ("test" if source.name == "test.c" else "") / source.name
        target.parent.mkdir(exist_ok=True)
        text = filled(source.read_text(), net, terms)
        target.write_text(text if source.suffix == ".md" else decided(text, known))
    (folder / "nnue.bin").write_bytes(weights)
    (folder / "nnue_tables.h").write_text(_tables(net, terms, sizes))


def filled(text: str, net: Net, terms: list[Term]) -> str:
    """A template with what it says of the net and its terms."""
    return text.replace("@FEATURES@", net.feature_set).replace("@MOST_ACTIVE@", str(_most(terms)))


def _most(terms: list[Term]) -> int:
    """A bound of the rows that are active at once, of the set and while a factor is listed."""
    return max(sum(term.most for term in terms), *(factor.most for factor in factors_of(terms)))


def _counts(terms: list[Term]) -> list[int]:
    """By term, how many shared rows are counted."""
    return [
        int(factor.rows.max()) + 1 if term.is_direct and factor.shared else 0
        for term in terms
        for factor in [term.factors[0][0]]
    ]


def _keys(terms: list[Term]) -> np.ndarray:
    """int64[64]: the class of the own king's square, whose change changes tables."""
    classes = [factor.classes for factor in factors_of(terms) if factor.classes.size]
    return np.unique(np.array([np.zeros(64), *classes]), axis=1, return_inverse=True)[1]


def _sizes(net: Net, terms: list[Term], weights: bytes) -> dict[str, int]:
    direct = sum(term.is_direct for term in terms)
    compared = direct + sum(term.is_compared for term in terms)
    most = [term.most for term in terms]
    return {
        "FEATURES": net.n_features,
        "L1": net.l1,
        "L2": net.l2,
        "L3": net.l3,
        "BUCKETS": net.buckets,
        "OUTPUTS": net.layers.outputs,
        "PSQT": 0 if net.psqt is None else net.psqt_buckets,
        **{name.upper(): value for name, value in net.units.items()},
        "WEIGHT_BYTES": len(weights),
        "CHECKSUM": zlib.adler32(weights),
        "DIRECT": direct,
        "COMPARED": compared,
        "TERMS": len(terms),
        "COUNTED": max(sum(_counts(terms)), 1),
        "LISTED": sum(most[compared:]),
        "MOST_ACTIVE": _most(terms),
        "SETS": square_code.first_sets(factors_of(terms))[1],
        "KEYS": int(_keys(terms).max()) + 1,
    }


def _tables(net: Net, terms: list[Term], sizes: dict[str, int]) -> str:
    """The text of ``nnue_tables.h``."""
    factors = factors_of(terms)
    starts, _ = square_code.first_sets(factors)
    used = [(factor, stride) for term in terms for factor, stride in term.factors]
    lines = [f"/* Tables of {net.feature_set} for nnue.c, generated. */"]
    shown = {name: value for name, value in sizes.items() if value or name not in OPTIONAL}
    lines += [f"#define {name} {value}" for name, value in shown.items()]
    lines.append(_array("uint8_t", "keys", _keys(terms)))
    names: dict[tuple[str, bytes], str] = {}  # of arrays, by type and content
    places = [
        name
        for name in _C_TYPES
        if name in ("classes", "rows") or any(getattr(factor, name).size for factor in factors)
    ]
    records = {}
    for number, factor in enumerate(factors):
        arrays = []
        for place in places:
            values = getattr(factor, place)
            key = _C_TYPES[place], values.tobytes()
            if values.size and key not in names:
                names[key] = f"{place}_{number}"
                lines.append(_array(_C_TYPES[place], names[key], values))
            arrays.append(names[key] if values.size else "NULL")
        n = factor.rows.shape[-1 if factor.kind == OF_TARGETS else 0]
        fields = [factor.kind, str(factor.shared).lower(), *arrays, n]
        fields += [starts.get(factor, 0)] if starts else []
        fields += [factor.chosen.shape[-1]] if "chosen" in places else []
        records[factor] = f"    {{{', '.join(map(str, fields))}}},"
    lines += square_code.function(list(starts)) if starts else []
    lines.append("static const factor factors[] = {")
    lines += [records[factor] for factor, _ in used]
    lines.append("};")
    if sizes["LISTED"]:
        lines.append(_array("int32_t", "strides", np.array([stride for _, stride in used])))
    lines.append("static const term terms[] = {  /* offset, counted, first factor, factors */")
    first = counted = 0
    for term, count in zip(terms, _counts(terms), strict=True):
        start = counted if count else -1
        lines.append(f"    {{{term.offset}, {start}, {first}, {len(term.factors)}}},")
        first += len(term.factors)
        counted += count
    return "\n".join([*lines, "};", ""])


def _array(kind: str, name: str, values: np.ndarray) -> str:
    as_text = hex if kind == "uint64_t" else str  # a large decimal is no constant in C
    numbers = ", ".join(map(as_text, values.ravel().tolist())) if values.any() else "0"
    text = f"static const {kind} {name}[{values.size}] = {{{numbers}}};"
    # A break is only allowed behind a comma.
    return fill(text, 120, break_long_words=False, break_on_hyphens=False).replace(", ", ",")
