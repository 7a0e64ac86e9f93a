"""What Texel tuning left in results/texel: runs, their terms, the match, boards for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.hce import evaluation, grids
from nnuelab.hce.evaluation import Evaluation
from nnuelab.report import reading
from nnuelab.report.grids import Grid

NEEDED = ("generation", "best_so_far", "reference", "k")
TERMS = ("term", "weight", "phase", "start", "tuned", "coverage", "zero")
ERRORS = "errors.csv"
HISTOGRAM = "bit_histogram"  # of a history's record
MOST_WEIGHTS = 32  # of a term whose weights are listed; others are boards, or too many to read
ROLES = ("pawn", "knight", "bishop", "rook", "queen", "king")


def read_history(path: Path) -> list[dict[str, Any]]:
    """Rows of `nnuelab texel tune` as numbers, without what is empty; raises UserError."""
    rows = reading.read_csv(path, NEEDED)
    return [{name: float(cell) for name, cell in row.items() if cell} for row in rows]


def has_bits(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the run was one of bit strings."""
    return "entropy_log10_sum" in rows[-1]


def read_bits(path: Path) -> list[int]:
    """How many bits of a history's run ended in each of the 51 columns; raises UserError."""
    record = path.with_name(path.name + ".json")
    counts = reading.read_json(record, HISTOGRAM)[HISTOGRAM]
    if not isinstance(counts, list) or not all(isinstance(n, int) for n in counts) or not counts:
        raise UserError(f"{record} is damaged (its {HISTOGRAM} is no list of counts); tune again")
    return counts


@dataclass(frozen=True)
class Run:
    """A run of an optimizer, and what it left.

    Attributes
    ----------
    name : str
    folder : Path
        ``results/texel/NAME``.
    """

    name: str
    folder: Path

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """Of `read_history`."""
        return read_history(self.folder / "history.csv")

    @cached_property
    def terms(self) -> list[dict[str, str]]:
        """Rows of terms.csv, cells as text."""
        return reading.read_csv(
            self.folder / "terms.csv", TERMS[3:], texts=("term", "weight", "phase")
        )

    @cached_property
    def tuned(self) -> Evaluation:
        """The evaluation with its tuned weights."""
        return evaluation.read(self.folder / "tuned.yaml")

    @cached_property
    def residuals(self) -> dict[str, Any]:
        """Of `texel_residuals.content`."""
        return reading.read_json(
            self.folder / "residuals.json", "k_curve", "phase", "material", "outliers", "constant"
        )

    @property
    def weights(self) -> list[tuple[str, str]]:
        """What its rows of terms.csv are about."""
        return [(row["weight"], row["phase"]) for row in self.terms]


def runs(folder: Path) -> list[Run]:
    """The finished runs below ``results/texel``, the lowest held-out error first."""
    found = [Run(path.parent.name, path.parent) for path in sorted(folder.glob("*/tuned.yaml"))]
    return sorted(found, key=lambda run: (_held_out(run), run.name))


def _held_out(run: Run) -> float:
    last = run.history[-1]
    return float(last.get("validation", last["best_so_far"]))


def words(found: Sequence[Run]) -> list[str]:
    """What the runs came to, in sentences."""
    best = found[0]
    said = [
        f"{best.name} has the lowest error on {_positions(best)}: {_held_out(best):.5f}"
        f"{_against(best, found)}."
    ]
    last = best.history[-1]
    passed = next((r for r in best.history if r["best_so_far"] < r["reference"]), None)
    if passed is not None:
        said.append(
            f"It passed the reference error, {last['reference']:.5f} on the positions it learnt "
            f"from, in generation {passed['generation']:.0f}."
        )
    return said


def _positions(run: Run) -> str:
    return "held-out games" if "validation" in run.history[-1] else "the positions it learnt from"


def _against(best: Run, found: Sequence[Run]) -> str:
    """How far it is below each run of other terms."""
    others = [run for run in found if run.weights != best.weights]
    told = [
        f"{100 * (1 - _held_out(best) / _held_out(run)):.1f} % below {run.name}" for run in others
    ]
    return "".join(f", {text}" for text in told)


def summary_grid(found: Sequence[Run], label: Any) -> Grid:
    """A row for each run: errors, K, and how many weights are 0."""
    columns = {
        "run": "run",
        "generations": "generations",
        "reference": "reference error",
        "train": "error",
        "held_out": "held-out error",
        "k": "K",
        "weights": "weights",
        "zero": "of them 0",
    }
    rows = []
    for run in found:
        last = run.history[-1]
        cells = [
            f"{last['generation']:.0f}",
            f"{last['reference']:.6f}",
            f"{last['best_so_far']:.6f}",
            f"{last['validation']:.6f}" if "validation" in last else "",
            f"{last['k']:.4f}",
            str(len(run.terms)),
            str(sum(row["zero"] == "1" for row in run.terms)),
        ]
        rows.append([run.name, *cells])
    sources = [{"": [label(run.folder / "history.csv"), label(run.folder / "terms.csv")]}
               for run in found]  # fmt: skip
    return Grid(
        "texel-runs", "Runs of the optimizers, the lowest error first", [*columns.items()], rows,
        sources,
    )  # fmt: skip


def match_grid(path: Path, label: Any) -> Grid:
    """The match, Elo relative to the untuned evaluation."""
    found = reading.read_ratings(path)
    titles = {"name": "player", "elo": "Elo", "error": "\u00b1"}
    return Grid(
        "texel-match",
        "Match of the evaluations, Elo relative to untuned, with the 95 % interval of the games",
        [(name, titles.get(name, name)) for name in found[0]],
        [list(row.values()) for row in found],
        [{"": [label(path)]}] * len(found),
    )


def read_errors(path: Path) -> list[dict[str, str]]:
    """Rows of `nnuelab texel errors`; raises UserError."""
    return reading.read_csv(path, ("name", "error", "k", "difference", "half_width"), ("name",))


def in_errors(path: Path, run: str) -> list[str]:
    """How far a run is from the first that was compared, which it may have begun with."""
    rows = read_errors(path)
    return [
        f"On the same positions {run} errs {abs(float(row['difference'])):.4f} "
        f"\u00b1{float(row['half_width']):.4f} {'less' if row['difference'][0] == '-' else 'more'} "
        f"than {rows[0]['name']} (95\u00a0%, those of a game taken together)."
        for row in rows[1:]
        if row["name"] == run
    ]


def errors_grid(path: Path, label: Any) -> Grid:
    """Held-out errors of all that play, nets among them."""
    found = read_errors(path)
    first = found[0]["name"]
    columns = [
        *(("name", "player"), ("error", "held-out error"), ("k", "K")),
        *(("difference", f"less that of {first}"), ("half_width", "\u00b1")),
    ]
    return Grid(
        "texel-errors",
        "Error of the static evaluations on the held-out positions, each with the K that fits it; "
        "a net may have learnt from these games",
        columns,
        [[row[name] for name, _ in columns] for row in found],
        [{"": [label(path)]}] * len(found),
    )


def terms_grid(found: Sequence[Run], label: Any) -> Grid | None:
    """Each weight at the start and as runs with the same terms tuned it; of short terms alone."""
    first = found[0]
    same = [run for run in found if run.weights == first.weights]
    sizes: dict[str, int] = {}
    for row in first.terms:
        sizes[row["term"]] = sizes.get(row["term"], 0) + (row["phase"] == "mg")
    shown = [i for i, row in enumerate(first.terms) if sizes[row["term"]] <= MOST_WEIGHTS]
    if not shown:
        return None
    rows = []
    for i in shown:
        row = first.terms[i]
        coverage = f"{100 * float(row['coverage']):.2f}"
        tuned = [_with_error(run.terms[i]) for run in same]
        zero = " ".join(run.name for run in same if run.terms[i]["zero"] == "1")
        rows.append([f"{row['weight']} {row['phase']}", coverage, row["start"], *tuned, zero])
    names = [(run.name, run.name) for run in same]
    left_out = [name for name, size in sizes.items() if size > MOST_WEIGHTS]
    more = f" (not shown: {', '.join(left_out)})" if left_out else ""
    return Grid(
        "texel-terms",
        "Weights in centipawns with standard errors in brackets, where they are known; coverage is "
        f"the share of positions in which a weight counts{more}",
        [("weight", "weight"), ("coverage", "coverage %"), ("start", "start"), *names,
         ("zero", "0 by")],
        rows,
        [{"": [label(run.folder / "terms.csv") for run in same]}] * len(rows),
    )  # fmt: skip


def _with_error(row: Mapping[str, str]) -> str:
    error = row.get("standard_error")
    return f"{row['tuned']} [{float(error):.1f}]" if error else row["tuned"]


def boards(found: Sequence[Run]) -> dict[str, Any]:
    """For the page: what each piece is worth on each square, by run; worst positions of the best.

    ``runs`` is, by name, a list of ``{title, mean, values}`` with the 64 squares from a1, relative
    to their mean, null where no piece can stand.
    """
    drawn: dict[str, Any] = {}
    for run in found:
        values = grids.piece_squares(run.tuned)
        pictures = []
        for phase, name in enumerate(("middlegame", "endgame")):
            for role, of_role in enumerate(values[phase]):
                legal = np.arange(64) if role else np.arange(8, 56)
                mean = round(float(of_role[legal].mean()))
                cells = [int(of_role[s]) - mean if s in legal else None for s in range(64)]
                pictures.append({"title": f"{ROLES[role]}, {name}", "mean": mean, "values": cells})
        drawn[run.name] = pictures
    return {"runs": drawn, "outliers": found[0].residuals["outliers"], "of": found[0].name}
