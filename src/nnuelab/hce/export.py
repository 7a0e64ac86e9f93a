"""Weights of an evaluation as tables of C and Rust: ``S(mg, eg)``, as engines write them.

Each term is a constant, a table by its concepts where it has some, with their names as comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.concepts import ROLE_NAMES, SQUARES, Concept
from nnuelab.hce import grids
from nnuelab.hce.evaluation import Evaluation, Term

Order = Literal["a1", "a8"]
INDENT = "    "

C_HEAD = """\
// Two numbers in one, as many engines have them; define S and Score before for another form.
#ifndef S
#include <stdint.h>
typedef int32_t Score;
#define S(mg, eg) ((Score)((uint32_t)(eg) << 16) + (mg))
#define MG(score) ((int16_t)(uint16_t)(uint32_t)(score))
#define EG(score) ((int16_t)(uint16_t)((uint32_t)((score) + 0x8000) >> 16))
#endif
"""
RUST_HEAD = """\
/// Middlegame and endgame, centipawns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct S(pub i32, pub i32);
"""


@dataclass(frozen=True)
class Language:
    """How a language writes constants.

    Attributes
    ----------
    head : str
        What stands before the tables.
    declare : callable
        The text before and after the value of a constant, by its name, type and sizes.
    score, number : str
        The types of S(mg, eg) and of a whole number.
    brackets : (str, str)
        Around the elements of a table.
    """

    head: str
    declare: Callable[[str, str, tuple[int, ...]], str]
    score: str
    number: str
    brackets: tuple[str, str]


def _declare_c(name: str, kind: str, sizes: tuple[int, ...]) -> str:
    return f"static const {kind} {name}{''.join(f'[{size}]' for size in sizes)} = "


def _declare_rust(name: str, kind: str, sizes: tuple[int, ...]) -> str:
    for size in reversed(sizes):
        kind = f"[{kind}; {size}]"
    return f"pub static {name}: {kind} = "


LANGUAGES = {
    "c": Language(C_HEAD, _declare_c, "Score", "int", ("{", "}")),
    "rust": Language(RUST_HEAD, _declare_rust, "S", "i32", ("[", "]")),
}


def to_text(evaluation: Evaluation, language: str, order: Order = "a1") -> str:
    """Source code with a constant for each term, and PHASE, what a piece of each role counts.

    Parameters
    ----------
    evaluation : Evaluation
    language : {"c", "rust"}
    order : {"a1", "a8"}
        The square that a table of squares begins with: a1, b1, ..., h8, or the board as White sees
        it printed, a8, b8, ..., h1.

    Raises
    ------
    UserError
        When two terms would have one name.
    """
    chosen = LANGUAGES[language]
    lines = [
        f"// {_line(evaluation.name)}: S(middlegame, endgame), centipawns, made by nnuelab.",
        "// (mg * phase + eg * (24 - phase)) / 24 toward 0; phase: the sum of PHASE, at most 24.",
        "",
        *chosen.head.splitlines(),
        "",
        f"// {', '.join(ROLE_NAMES)}",
        _constant(chosen, "PHASE", chosen.number, (6,), [", ".join(map(str, evaluation.phase))]),
    ]
    names: dict[str, str] = {}
    for term in evaluation.terms:
        name = identifier(term.name)
        if (other := names.setdefault(name, term.name)) != term.name or name in ("PHASE", "S"):
            what = f"term {other}" if other != term.name else "constant"
            raise UserError(
                f"term {term.name} would be called {name}, as another {what}; rename it"
            )
        start = evaluation.starts[term.name]
        weights = evaluation.weights[start : start + term.n_weights]
        lines += ["", *_term(chosen, name, term, weights, order)]
    return "\n".join(lines) + "\n"


def identifier(name: str) -> str:
    """The name of a constant: upper case, letters, digits and _ alone.

    >>> identifier("bishop pair"), identifier("7th_rank")
    ('BISHOP_PAIR', '_7TH_RANK')
    """
    found = re.sub(r"[^A-Z0-9_]", "_", name.upper())
    return f"_{found}" if found[:1].isdigit() else found


def _line(text: str) -> str:
    """A text for a comment: one line, which no backslash continues."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split()).replace("\\", "/")


def _term(
    language: Language, name: str, term: Term, weights: np.ndarray, order: Order
) -> Iterator[str]:
    yield f"// {_line(term.features.name)}"
    found = grids.grid(term)
    if found is None:
        values = [*map(_score, weights[term.group].tolist())]
        body = [
            f"{INDENT}{value}, // {i}: {_line(term.features.feature_name(i))}"
            for i, value in enumerate(values)
        ]
        yield _constant(language, name, language.score, (len(values),), body)
        return
    table = np.where(found.cells[..., None] >= 0, weights[found.cells], 0)
    if not found.concepts:
        yield _constant(language, name, language.score, (), [_score(table.tolist())])
        return
    body = list(_body(language, found.concepts, table, order, 1))
    yield _constant(language, name, language.score, found.cells.shape, body)


def _score(weights: list[int]) -> str:
    return f"S({weights[0]}, {weights[1]})"


def _constant(
    language: Language, name: str, kind: str, sizes: tuple[int, ...], body: list[str]
) -> str:
    start, end = language.brackets
    declared = language.declare(name, kind, sizes)
    if not sizes:
        return f"{declared}{body[0]};"
    if len(body) == 1:
        return f"{declared}{start}{body[0].strip().rstrip(',')}{end};"
    return "\n".join([f"{declared}{start}", *body, f"{end};"])


def _body(
    language: Language, concepts: tuple[Concept, ...], table: np.ndarray, order: Order, depth: int
) -> Iterator[str]:
    """The elements of a table, inner ones in brackets."""
    concept, inner = concepts[0], concepts[1:]
    indent = INDENT * depth
    if not inner and concept.values == SQUARES.values:
        yield from _board(table, order, indent)
        return
    for value, cells in zip(*_ordered(concept, table, order), strict=True):
        if inner:
            start, end = language.brackets
            yield f"{indent}{start} // {_line(value)}"
            yield from _body(language, inner, cells, order, depth + 1)
            yield f"{indent}{end},"
        else:
            yield f"{indent}{_score(cells.tolist())}, // {_line(value)}"


def _ordered(
    concept: Concept, table: np.ndarray, order: Order
) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and weights of values; of squares in the order asked for."""
    if concept.values != SQUARES.values or order == "a1":
        return concept.values, table
    squares = np.arange(64) ^ 56
    return tuple(concept.values[s] for s in squares), table[squares]


def _board(table: np.ndarray, order: Order, indent: str) -> Iterator[str]:
    """A line for each rank, in columns."""
    names, table = _ordered(SQUARES, table, order)
    wide = [max(len(str(n)) for n in column) for column in table.reshape(-1, 2).T.tolist()]
    for start in range(0, 64, 8):
        cells = table[start : start + 8].tolist()
        told = ", ".join(f"S({mg:{wide[0]}}, {eg:{wide[1]}})" for mg, eg in cells)
        yield f"{indent}{told}, // {names[start]}..{names[start + 7]}"
