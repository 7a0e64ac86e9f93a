"""Details of `inspect`: a dataset's boards, a net's neurons, a tournament's cross table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.data import validation
from nnuelab.data.dataset import evenly
from nnuelab.nnue.netfile import Net
from nnuelab.report import reading, table
from nnuelab.report.games import cross_table
from nnuelab.report.neurons import POSITIONS, activity, strongest
from nnuelab.tournament.headers import read_results

Table = list[dict[str, Any]]

BOARDS = 3
NEURONS, FEATURES = 5, 8
MOST_PLAYERS = 30  # of a cross table for a terminal


def boards(records: np.ndarray) -> Table:
    """Sample positions: FEN, and the board as lines of letters."""
    from nnuelab.chess import notation
    from nnuelab.data.records import NO_SCORE, to_fen

    found = []
    for record in records[evenly(len(records), BOARDS)]:
        fen = to_fen(record)
        score = int(record["score"])
        found.append(
            {
                "board": board(fen),
                "fen": fen,
                "score": None if score == NO_SCORE else score,
                "move": notation.move_to_uci(int(record["move"])) if record["move"] else None,
            }
        )
    return found


def board(fen: str) -> str:
    """Eight lines of pieces, White below, capital letters."""
    rows = fen.split()[0].split("/")
    wide = ("".join("." * int(c) if c.isdigit() else c for c in row) for row in rows)
    return (
        "\n".join(f"{8 - i} {' '.join(row)}" for i, row in enumerate(wide)) + "\n  a b c d e f g h"
    )


def neurons(net: Net, positions: Path) -> tuple[dict[str, Any], Table]:
    """Facts about the first layer on positions of a dataset, and its most influential neurons."""
    found = activity(net, validation.spaced(positions, POSITIONS))
    facts = {
        "dead_neurons": f"{int(found.dead.sum())} of {len(found.dead)}, on {positions.name}",
        "neurons_always_at_the_limit": int(found.constant.sum()),
        "mean_active": f"{found.active.mean():.1%}",
    }
    rows = [
        {
            "neuron": int(j),
            "influence_cp": round(float(found.influence[j]), 2),
            "active": f"{found.active[j]:.1%}",
            "strongest_features": ", ".join(
                f"{n} {w:+.2f}" for n, w in strongest(net, found.seen, int(j), 3)
            ),
        }
        for j in found.order[:NEURONS]
    ]
    return facts, rows


def features(net: Net) -> tuple[dict[str, Any], Table]:
    """Rows of zeros, and the features with the largest weights over all neurons, by name."""
    size = np.sqrt((net.w1.astype(np.float64) ** 2).sum(axis=1)) / net.scales["w1"]
    order = np.argsort(-size, kind="stable")[:FEATURES]
    rows = [
        {"feature": net.features.feature_name(int(i)), "norm": round(float(size[i]), 3)}
        for i in order
    ]
    return {"features_without_weights": int((size == 0).sum())}, rows


def cross(pgn: Path, order: list[str]) -> Table:
    """Percent of the points, row against column; columns are numbers where names are too wide."""
    scores = cross_table(read_results([pgn]), order)
    names = scores.names[:MOST_PLAYERS]
    rows = []
    for i, name in enumerate(names):
        row: dict[str, Any] = {"": i + 1, "player": name}
        for j in range(len(names)):
            games = scores.games[i, j]
            row[str(j + 1)] = f"{100 * scores.points[i, j] / games:.0f}" if games else ""
        rows.append(row)
    return rows


def of_table(path: Path, rows: list[dict[str, str]]) -> dict[str, Any]:
    """Facts of the table of an experiment."""
    sizes = {f"{row['l1']} x2 -> {row['l2']} -> 1".replace("-> 0 ", "") for row in rows}
    facts: dict[str, Any] = {"feature_sets": len({row["feature_set"] for row in rows})}
    facts |= {"variants": len({row["variant"] for row in rows})} if "variant" in rows[0] else {}
    facts |= {"layers": ", ".join(sorted(sizes))}
    if anchor := table.anchor_of(rows):
        facts["elo"] = table.relative(rows, anchor)
    deep = reading.parameters_of(path).get("nodes_deep")
    return facts | ({"nodes_deep": deep} if isinstance(deep, int) else {})


def of_policy(path: Path) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]], dict[str, Any]]:
    """Facts, arrays and provenance of a policy file."""
    from nnuelab.policy.policyfile import read_policy

    policy = read_policy(path)
    facts = {
        "feature_set": policy.feature_set,
        "layers": ", ".join(map(str, policy.sizes)) or "none hidden",
        "activation": policy.activation,
        "head": policy.head,
        "rank": policy.rank,
        "loss": policy.loss,
        "value_head": policy.has_value,
        "parameters": policy.parameters,
    }
    rows = [
        {
            "array": name,
            "shape": " x ".join(map(str, array.shape)),
            "mean": round(float(array.mean()), 5),
            "sd": round(float(array.std()), 5),
            "max_abs": round(float(np.abs(array).max()), 5),
        }
        for name, array in policy.arrays().items()
    ]
    return facts, {"arrays": rows}, dict(policy.provenance)
