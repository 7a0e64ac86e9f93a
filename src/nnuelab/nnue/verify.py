"""Verification that a quantized net matches its float net within a bound, on real positions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nnuelab.data import records, validation
from nnuelab.errors import UserError
from nnuelab.features import FeatureSet
from nnuelab.features.tables import compiled
from nnuelab.jit import jit
from nnuelab.learning import memory
from nnuelab.learning.loader import extract
from nnuelab.learning.parallel import Threads
from nnuelab.learning.sparse import Batch
from nnuelab.nnue import netfile
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.inference import integer_outputs
from nnuelab.nnue.network import Network

CLOSE = 50  # centipawns; the study asks that most differences be within this
WORST = 10  # positions listed
TOLD = 3  # of them, when the error is beyond the bounds
PART = 4096  # positions evaluated at once by the float net
ABSURD = 1e6  # centipawns
BINS = 2  # centipawns of a histogram's bin


def verify(net_path: Path, checkpoint_path: Path, dataset: Path, count: int) -> dict[str, Any]:
    """Compares integer and float outputs.

    Parameters
    ----------
    net_path : Path
        Quantized net.
    checkpoint_path : Path
        The float net.
    dataset : Path
        Positions, ``.npy`` of RECORD; ``count`` of them are taken, evenly spaced.

    Returns
    -------
    dict
        n, mean_cp, sd_cp, rms_cp, max_cp (of integer - float), share_within_50, saturated
        (positions where an accumulator leaves int16), worst (fen, float_cp, int_cp), and the
        histogram's bins.

    Raises
    ------
    UserError
        When the two nets have different feature sets or layers, or positions are missing or
        damaged.
    """
    net, checkpoint = netfile.read_net(net_path), Checkpoint.read(checkpoint_path)
    theirs = f"{net.feature_set}, {net.layers}"
    ours = f"{checkpoint.feature_set}, {checkpoint.network().layers}"
    if theirs != ours:
        raise UserError(
            f"{net_path} is {theirs}, {checkpoint_path} is {ours}: "
            "give the checkpoint that the net was made from"
        )
    chosen = validation.spaced(dataset, count)
    floats = float_outputs(checkpoint.features, checkpoint.network(), chosen)
    if not (np.abs(floats) < ABSURD).all():
        raise UserError(
            f"{checkpoint_path} gives values up to {np.abs(floats).max():g} centipawns: training "
            "diverged; train again with a smaller --learning-rate"
        )
    integers = integer_outputs(net, chosen)
    difference = integers - floats
    worst = np.argsort(-np.abs(difference), kind="stable")[:WORST]
    edge = BINS * (int(np.abs(difference).max()) // BINS + 1)
    counts, edges = np.histogram(difference, np.arange(-edge, edge + BINS, BINS))
    return {
        "n": len(chosen),
        "mean_cp": float(difference.mean()),
        "sd_cp": float(difference.std(ddof=1)) if len(chosen) > 1 else 0.0,
        "rms_cp": float(np.sqrt((difference**2).mean())),
        "max_cp": float(np.abs(difference).max()),
        "share_within_50": float((np.abs(difference) <= CLOSE).mean()),
        "saturated": saturated(net, chosen),
        "worst": [
            {
                "fen": records.to_fen(chosen[i]),
                "float_cp": round(float(floats[i]), 2),
                "int_cp": int(integers[i]),
            }
            for i in worst
        ],
        "histogram": {"edges_cp": edges.tolist(), "counts": counts.tolist()},
    }


def float_outputs(feature_set: FeatureSet, network: Network, chosen: np.ndarray) -> np.ndarray:
    """Centipawns of a float net, float64 [n]."""
    threads = Threads(1)
    with torch.no_grad():
        parts = [network(batch, threads) for batch in _batches(feature_set, chosen)]
    return torch.cat(parts).double().numpy()


def saturated(net: netfile.Net, chosen: np.ndarray) -> int:
    """Positions in which an accumulator leaves int16."""
    return sum(
        _overflowing(net.w1, net.b1, batch.rows, batch.n)
        for batch in _batches(net.features, chosen)
    )


def _batches(feature_set: FeatureSet, chosen: np.ndarray) -> Iterator[Batch]:
    step = memory.positions_at_once(feature_set, PART)
    for i in range(0, len(chosen), step):
        yield extract(compiled(feature_set), chosen[i : i + step], feature_set.max_active)


@jit
def _overflowing(w1, b1, rows, n):
    """Positions in which a sum of rows leaves int16, by exact sums."""
    total = np.zeros(b1.size, np.int32)
    found = 0
    for p in range(rows.shape[1]):
        outside = False
        for side in range(2):
            for i in range(total.size):
                total[i] = b1[i]
            for k in range(n[side, p]):
                row = w1[rows[side, p, k]]
                for i in range(total.size):
                    total[i] += row[i]
            outside |= total.max() > 32767 or total.min() < -32768
        if outside:
            found += 1
    return found


def check(figures: dict[str, Any], max_abs_mean: float, min_share: float) -> None:
    """Raises UserError, with the worst positions, when the figures are beyond the bounds."""
    failures = []
    if not abs(figures["mean_cp"]) <= max_abs_mean:
        failures.append(f"mean {figures['mean_cp']:+.2f} cp, allowed +-{max_abs_mean:g}")
    if not figures["share_within_50"] >= min_share:
        failures.append(
            f"{100 * figures['share_within_50']:.6g} % within {CLOSE} cp, "
            f"at least {100 * min_share:.6g} % wanted"
        )
    if failures:
        # The workflow removes the files of a job that fails: what helps has to be said here.
        worst = "; ".join(
            f"{position['fen']}: float {position['float_cp']:.2f}, integer {position['int_cp']}"
            for position in figures["worst"][:TOLD]
        )
        raise UserError(
            f"quantization error beyond the bounds: {', '.join(failures)}; worst (cp): {worst}"
        )


def plot(path: Path, figures: dict[str, Any]) -> None:
    """Draws the histogram of integer - float."""
    import altair as alt

    from nnuelab import charts

    histogram = figures["histogram"]
    bars = charts.histogram(
        "integer - float (centipawns)", histogram["edges_cp"], histogram["counts"]
    )
    zero = alt.Chart(alt.Data(values=[{}])).mark_rule().encode(x=alt.datum(0))
    title = (
        f"Quantization error: mean {figures['mean_cp']:+.2f}, rms {figures['rms_cp']:.2f}, "
        f"max {figures['max_cp']:.0f} cp (n = {figures['n']:,})"
    )
    charts.save(path, charts.figure("error", title, "", bars + zero))
