"""The report of a sample: what was left out and what the positions are like, as JSON and figure."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts, data
from nnuelab.data.description import describe
from nnuelab.data.reader import RATING_STEP
from nnuelab.data.sampling import Sample

FORMATS = (".svg", ".png")
DESCRIBED = 200_000  # positions at most, evenly spaced
ROLE_NAMES = dict(zip("PNBRQK", ("pawn", "knight", "bishop", "rook", "queen", "king"), strict=True))


def report(sampled: Path, sample: Sample) -> dict[str, Any]:
    """What is to tell of a sample that was written: counts, examples, ratings, distributions."""
    positions = data.open(sampled)
    ratings = np.trim_zeros(sample.ratings, "b").tolist()
    return {
        "counts": dict(sorted(sample.counts.items())),
        "examples": sample.examples,
        "ratings": {"first": 0, "step": RATING_STEP, "counts": ratings},
        **describe(positions.spaced(DESCRIBED), len(positions)),
    }


def plot(path: Path, found: dict[str, Any]) -> None:
    """Draws a report."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    artifacts.check_ending(path, "a figure", *FORMATS)
    figure = Figure(figsize=(13, 9.5), layout="constrained")
    axes = figure.subplots(3, 3).ravel()
    for ax, name, label in zip(
        axes,
        ("ply", "material", "score", "ratings"),
        ("ply", "material of both sides (pawns)", "score (centipawns, side to move)", "Elo"),
        strict=False,
    ):
        ax.stairs(*_steps(found[name]), fill=True)
        ax.set_xlabel(label)
    axes[4].bar(list(found["result"]), list(found["result"].values()))
    axes[4].set_xlabel("result")
    for side, distribution in found["legal_moves"].items():
        axes[5].stairs(*_steps(distribution), label=f"{side} to move")
    axes[5].set_xlabel("legal moves")
    axes[5].legend()
    for letter, distribution in found["mobility"]["own"].items():
        axes[6].stairs(*_steps(distribution), label=ROLE_NAMES[letter])
    axes[6].set_xlabel("mobility of the side to move (squares)")
    axes[6].set_xlim(0, 40)
    axes[6].legend()
    left_out = {k: v for k, v in found["counts"].items() if k.startswith(("filtered", "skipped"))}
    axes[7].barh(list(left_out), list(left_out.values()))
    axes[7].invert_yaxis()
    axes[7].set_xlabel("games skipped, positions filtered")
    for side, by_turn in found["legal_moves_by_turn"].items():
        (line,) = axes[8].plot(by_turn["turn"], by_turn["median"], label=f"{side} to move")
        axes[8].fill_between(
            by_turn["turn"], by_turn["lower"], by_turn["upper"], color=line.get_color(), alpha=0.2
        )
    axes[8].set_xlabel("move number")
    axes[8].set_ylabel("legal moves: median, half of the positions")
    axes[8].set_ylim(bottom=0)
    axes[8].legend()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    kind = path.suffix[1:]
    out = io.BytesIO()
    # Without date, versions and random names inside, the same figures give the same bytes.
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with rc_context({"svg.hashsalt": "nnuelab"}):
        figure.savefig(out, format=kind, dpi=120, metadata=metadata)
    with artifacts.atomic(path) as temporary:
        temporary.write_bytes(out.getvalue())


def _steps(distribution: dict[str, Any]) -> tuple[list[int], np.ndarray]:
    """Heights and edges."""
    counts = distribution["counts"] or [0]
    edges = distribution["first"] + distribution["step"] * np.arange(len(counts) + 1)
    return counts, edges
