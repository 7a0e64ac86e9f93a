"""Definitions about squares as straight-line C code, from their traced instructions."""

from __future__ import annotations

from collections.abc import Iterable

from nnuelab.export.flat import OF_TARGETS, Factor
from nnuelab.features.kinds.tracing import Operation
from nnuelab.features.records import AND, GATE, MINUS, OR, PIECE, PIECES

_SIGNS = {AND: "& ", OR: "| ", MINUS: "& ~"}
OF_ONE = {"attacks": "attacks_from", "moves": "moves_from"}
"""Sources that one piece can be asked for by itself, which takes less time."""
NEEDS = {
    "moves": ("attacks",),
    "moves_from": ("attacks_from",),
    "safe_moves": ("moves", "attacks", "pinned"),
}
"""Sources that others are made of in ``nnue_squares.h``."""
SOURCES = (
    *("attackers", "attacks", "double_steps", "moves", "pinned", "safe_moves", "xrays"),
    *OF_ONE.values(),
)
"""Those that are left out where they aren't needed."""


def needed(factors: list[Factor]) -> dict[str, bool]:
    """By the names of conditions in ``nnue_squares.h``, whether they hold."""
    used = set(_sources(code for factor in factors for code in _codes(factor)))
    used |= {inner for name in used for inner in NEEDS.get(name, ())}
    return {f"USES_{name.upper()}": name in used for name in SOURCES}


def first_sets(factors: list[Factor]) -> tuple[dict[Factor, int], int]:
    """Where the bitboards of factors of squares begin among those of a position, and how many."""
    starts, n = {}, 0
    for factor in factors:
        if factor.sets:
            starts[factor] = n
            n += 64 if factor.kind == OF_TARGETS else len(factor.sets)
    return starts, n


def function(factors: list[Factor]) -> list[str]:
    """The lines of a function that finds the sets of all factors."""
    starts, _ = first_sets(factors)
    of_all = _sources(
        [operation]
        for factor in starts
        for code in factor.sets
        for operation in code
        if operation[0] != PIECE or factor.kind != OF_TARGETS
    )
    one_by_one = not set(OF_ONE.values()).isdisjoint(
        _sources(code for factor in starts for code in _codes(factor))
    )
    lines = [
        "/* Sets by their definitions, in order; those of targets by the square of their piece. */",
        "static void find_sets(const uint64_t *pieces, uint64_t *sets) {",
        *["    uint64_t all = occupied(pieces);"] * one_by_one,
        *_asked(of_all, "all", "EVERYWHERE", "    "),
    ]
    for factor, start in starts.items():
        if factor.kind != OF_TARGETS:
            lines += [
                f"    sets[{start + i}] = {_expression(code, 'all')};"
                for i, code in enumerate(factor.sets)
            ]
            continue
        lines.append(f"    memset(&sets[{start}], 0, 64 * sizeof *sets);")
        for piece, code in enumerate(_codes(factor)):
            of_one = _sources([op] for op in code if op[0] == PIECE)
            lines += [
                f"    for (uint64_t left = pieces[{piece}]; left; left &= left - 1) {{",
                *["        uint64_t from = left & -left;"] * bool(of_one),
                *_asked([n for n in of_one if n not in OF_ONE.values()], "one", "from", "        "),
                f"        sets[{start} + lowest(left)] = {_expression(code, 'one')};",
                "    }",
            ]
    return [*lines, "}"]


def _codes(factor: Factor) -> list[list[Operation]]:
    """The instructions of a factor, which ask a piece by itself where they can."""
    one = OF_ONE if factor.kind == OF_TARGETS else {}
    return [
        [
            (kind, one.get(name, name) if kind == PIECE else name, pieces)
            for kind, name, pieces in code
        ]
        for code in factor.sets
    ]


def _sources(codes: Iterable[Iterable[Operation]]) -> list[str]:
    """The sources that instructions name, each once."""
    return list(dict.fromkeys(name for code in codes for kind, name, _ in code if kind <= GATE))


def _asked(names: list[str], whose: str, movers: str, indent: str) -> list[str]:
    """Asks sources for the sets of all pieces, or of one."""
    return [
        f"{indent}uint64_t {of}[{PIECES}]; {name}(pieces, {movers}, {of});"
        for name in names
        for of in [f"{name}_of_{whose}"]
    ]


def _expression(code: Iterable[Operation], whose: str) -> str:
    """Instructions as an expression in C; ``whose`` sets a PIECE has."""
    stack: list[str] = []
    for kind, name, pieces in code:
        if kind in _SIGNS:
            right = stack.pop()
            stack.append(f"({stack.pop()} {_SIGNS[kind]}{right})")
            continue
        of = f"{name}_of_{whose if kind == PIECE else 'all'}"
        numbers = [i for i in range(PIECES) if pieces >> i & 1]
        by_piece = (
            f"{name}(pieces, all, {i}, from)" if name in OF_ONE.values() else f"{of}[{i}]"
            for i in numbers
        )
        union = " | ".join(by_piece) or "0"
        union = f"({union})" if len(numbers) > 1 else union
        stack.append(f"({union} ? {stack.pop()} : 0)" if kind == GATE else union)
    (found,) = stack
    return found
