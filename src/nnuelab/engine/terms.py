"""The parts of the search that can be left out, so that each can be shown to earn its place.

``NNUELAB_WITHOUT=null-move,razoring`` makes an engine without these; ``nnuelab ablate`` plays it
against the whole one. A term is a constant of the compiled search: what is there costs no test.
"""

from __future__ import annotations

from nnuelab.build import WITHOUT
from nnuelab.errors import UserError

TERMS = {
    "aspiration": "iterations search a narrow window around the last score",
    "transposition": "a bound found before settles a node (its move and evaluation are kept)",
    "table-evaluation": "and otherwise stands for the evaluation where it says more",
    "null-move": "a position that is good enough even after passing is good enough",
    "reverse-futility": "a shallow search isn't made where the evaluation is far above beta",
    "razoring": "nor, but for quiescence, where it is far below alpha",
    "internal-reduction": "a node without a move from the table is searched a ply less",
    "check": "an answer to check is searched a ply deeper",
    "late-pruning": "late quiet moves of a shallow search are left out",
    "futility": "quiet moves that could hardly come up to alpha are left out",
    "exchange-pruning": "moves that lose much material are left out of a shallow search",
    "late-reduction": "late moves are searched less deeply, and again if they are good",
    "butterfly": "quiet moves are ordered by how their squares have done",
    "continuation": "and by how piece and target have done after the two moves before",
    "capture-history": "captures of equal victims are ordered by how they have done",
    "exchange-ordering": "captures that lose material are tried last",
    "delta": "quiescence leaves out captures that could hardly come up to alpha",
    "late-evasions": "and late quiet answers to a check once one has held",
    "improving": "more is pruned where the evaluation has fallen since the last move",
}


def has(name: str) -> bool:
    """Whether this engine has a term.

    Raises
    ------
    UserError
        When the variable names a term that there isn't.
    """
    if unknown := set(WITHOUT) - set(TERMS):
        raise UserError(
            f"NNUELAB_WITHOUT names {', '.join(sorted(unknown))}; terms are {', '.join(TERMS)}"
        )
    assert name in TERMS
    return name not in WITHOUT
