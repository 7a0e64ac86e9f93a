"""Details of `inspect`: evaluations, traces, histories and terms of Texel tuning, residuals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.hce import evaluation as evaluations
from nnuelab.hce import trace as traces
from nnuelab.hce.evaluation import ENDINGS
from nnuelab.hce.trace import MAGIC

__all__ = [
    "ENDINGS",
    "MAGIC",
    "of_evaluation",
    "of_history",
    "of_residuals",
    "of_terms",
    "of_trace",
]

Table = list[dict[str, Any]]
GENERATIONS = 8  # of a history, evenly spaced
MOVED = 12  # weights that tuning changed most
HISTORY = ("generation", "best_so_far", "validation", "convergence_abs", "zero_weights")


def of_evaluation(path: Path) -> tuple[dict[str, Any], dict[str, Table], dict[str, Any] | None]:
    """Facts, a row for each term, and what the file says of its making."""
    read = evaluations.read(path)
    rows = []
    for term in read.terms:
        start = read.starts[term.name]
        own = read.weights[start : start + term.n_weights]
        rows.append(
            {
                "term": term.name,
                "features": term.features.name,
                "weights": term.n_weights,
                "mg": _range(own[:, 0]),
                "eg": _range(own[:, 1]),
                "zero": int((own == 0).sum()),
            }
        )
    facts = {
        "name": read.name,
        "terms": len(read.terms),
        "weights": 2 * read.n_weights,
        "zero_weights": int((read.weights == 0).sum()),
        "features": read.features.size,
        "fingerprint": read.fingerprint(),
    }
    return facts, {"terms, centipawns": rows}, dict(read.provenance) or None


def _range(weights: np.ndarray) -> str:
    low, high = int(weights.min()), int(weights.max())
    return str(low) if low == high else f"{low} to {high}"


def of_trace(path: Path) -> tuple[dict[str, Any], dict[str, Table]]:
    """Facts, and what the results of its positions are."""
    trace = traces.open(path)
    games = len(np.unique(trace.games))
    hit = trace.coverage().any(axis=1)
    facts = {
        "positions": len(trace),
        "games": games,
        "weights": trace.n_weights,
        "weights_hit": int(hit.sum()),
        "counts_per_position": round(len(trace.terms) / len(trace), 1),
        "evaluation": trace.fingerprint,
    }
    rows = []
    for text, result in (("1-0", 1.0), ("1/2-1/2", 0.5), ("0-1", 0.0)):
        own = int((trace.results == result).sum())
        rows.append({"result": text, "positions": own, "share": f"{own / len(trace):.1%}"})
    return facts, {"results": rows}


def of_history(rows: Table) -> tuple[dict[str, Any], dict[str, Table]]:
    """Facts of a run, and some of its generations."""
    last = rows[-1]
    passed = next((r["generation"] for r in rows if r["best_so_far"] < r["reference"]), None)
    facts = {
        "generations": last["generation"],
        "error": last["best_so_far"],
        "reference_error": last["reference"],
        "reference_passed_in_generation": "never" if passed is None else passed,
        "held_out_error": last["validation"],
        "k": last["k"],
        "zero_weights": last["zero_weights"],
    }
    places = np.unique(np.linspace(0, len(rows) - 1, GENERATIONS).astype(int)).tolist()
    columns = [name for name in HISTORY if last[name] is not None]
    shown = [{name: rows[i][name] for name in columns} for i in places]
    return {k: v for k, v in facts.items() if v is not None}, {"generations": shown}


def of_terms(rows: Table) -> tuple[dict[str, Any], dict[str, Table]]:
    """Facts of tuned weights, and those that moved most for how often they count."""
    facts = {
        "weights": len(rows),
        "zero": sum(row["zero"] for row in rows),
        "never_hit": sum(not row["coverage"] for row in rows),
    }
    ranked = sorted(
        (row for row in rows if row["tuned"] != row["start"]),
        key=lambda row: -abs(row["tuned"] - row["start"]) * np.sqrt(row["coverage"]),
    )
    columns = ("weight", "phase", "start", "tuned", "standard_error", "coverage")
    shown = [{name: row.get(name) for name in columns} for row in ranked[:MOVED]]
    return facts, {"weights that moved most, by how often they count": shown}


def of_residuals(content: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Table]]:
    """Facts, and groups of positions as `texel residuals` made them."""
    names = ("evaluation", "positions", "games", "error", "constant", "k", "best_k")
    facts = {name: content[name] for name in names}
    worst = [dict(row) for row in content["outliers"]]
    tables = {"by phase": content["phase"], "by material": content["material"], "outliers": worst}
    return facts, tables
