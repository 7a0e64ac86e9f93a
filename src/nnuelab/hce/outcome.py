"""What a run of tuning leaves: the evaluation, a row for each weight, and a few lines to read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nnuelab import artifacts
from nnuelab.hce.evaluation import Evaluation

TERM_COLUMNS = (
    "term",
    "weight",
    "phase",
    "start",
    "tuned",
    "standard_error",
    "coverage",
    "zero",
)


@dataclass(frozen=True)
class Tuned:
    """A finished run.

    Attributes
    ----------
    evaluation : Evaluation
        With whole centipawns.
    rows : list of dict
        The history.
    error, reference : float
        On the positions that were fitted: of ``evaluation``, and of the reference; with ``k``.
    validation, validation_reference : float or None
        The same on held-out ones.
    k : float
    free : int
        Numbers that were tuned.
    bits : int
        Of the genome; 0 without one.
    never_hit : list of str
        Labels of weights that no position hits.
    at_the_end : list of str
        Labels of weights that are as large as their bits allow.
    """

    evaluation: Evaluation
    rows: list[dict[str, Any]]
    error: float
    reference: float
    validation: float | None
    validation_reference: float | None
    k: float
    free: int
    bits: int
    never_hit: list[str]
    at_the_end: list[str]

    @property
    def passed(self) -> int | None:
        """The first generation below the reference error."""
        return next((r["generation"] for r in self.rows if r["best"] < r["reference"]), None)


def write_terms(
    path: Path, start: Evaluation, made: Evaluation, errors: np.ndarray, coverage: np.ndarray
) -> None:
    """Writes the table of terms: two rows for each weight, columns TERM_COLUMNS.

    ``errors`` and ``coverage`` are float64 [n_weights, 2]: standard errors, nan where unknown, and
    the share of positions in which a cell counts.
    """
    rows, labels = [], made.labels
    for term in made.terms:
        for weight in made.starts[term.name] + np.arange(term.n_weights):
            for phase, name in enumerate(("mg", "eg")):
                tuned = int(made.weights[weight, phase])
                begun = int(start.weights[weight, phase])
                known = errors[weight, phase], coverage[weight, phase]
                rows.append((term.name, labels[weight], name, begun, tuned, *known, tuned == 0))
    table = pd.DataFrame(rows, columns=list(TERM_COLUMNS)).astype({"zero": int})
    with artifacts.atomic(path) as temporary:
        table.to_csv(temporary, index=False, float_format="%.6g", lineterminator="\n")


def summary(tuned: Tuned) -> list[str]:
    """A run in a few lines."""
    last = tuned.rows[-1]
    gained = 100 * (tuned.error / tuned.reference - 1)
    lines = [
        f"{len(tuned.rows)} generations, error {tuned.error:.6f}, reference {tuned.reference:.6f} "
        f"({gained:+.2f} %), k {tuned.k:.4f}"
    ]
    if tuned.validation is not None and tuned.validation_reference is not None:
        gained = 100 * (tuned.validation / tuned.validation_reference - 1)
        lines.append(
            f"held out: error {tuned.validation:.6f}, reference {tuned.validation_reference:.6f} "
            f"({gained:+.2f} %)"
        )
    passed = tuned.passed
    lines.append(
        "the reference error wasn't reached"
        if passed is None
        else f"below the reference error from generation {passed} on"
    )
    bits = ""
    if tuned.bits:
        low, high = last["bits_at_0"], last["bits_at_1"]
        bits = f", {tuned.bits} bits, {low:.0%} of them at 0, {high:.0%} at 1"
    lines.append(f"{tuned.free} numbers tuned{bits}; {last['zero_weights']} weights are 0")
    for labels, what in (
        (tuned.never_hit, "stay at their start, for no position hits them"),
        (tuned.at_the_end, "are as large as their bits allow; give them more with --width"),
    ):
        if labels:
            named = ", ".join(labels[:3]) + (", ..." if len(labels) > 3 else "")
            lines.append(f"{len(labels)} weights {what}: {named}")
    return lines
