"""The resolution of a net's weights: the largest shifts with which nothing overflows.

`quantize` rounds by them, and so does training in its last epochs (fake quantization).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nnuelab.features import FeatureSet
from nnuelab.nnue.layers import LEVELS, Layers
from nnuelab.nnue.network import HIDDEN, Network

INT8, INT16 = np.iinfo(np.int8), np.iinfo(np.int16)
L1_SHIFTS = (3, 2, 1, 0)
L2_SHIFTS = (8, 7, 6)
OUT_SHIFTS = tuple(range(12, 3, -1))


def shifts_of(network: Network, feature_set: FeatureSet) -> dict[str, int]:
    """The shifts of the hidden layers that `quantize` would choose now: l1_shift, l2_shift...

    What is rounded by them is what fake quantization rounds.
    """
    w = {name: tensor.cpu().double().numpy() for name, tensor in network.state_dict().items()}
    rows = network.rows().detach().cpu().double().numpy()
    rounds = network.layers.first == "clipped"
    return hidden_shifts(w, network.layers, safe_l1_shift(rows, w["b1"], feature_set, rounds))


def hidden_shifts(w: Mapping[str, np.ndarray], layers: Layers, l1_shift: int) -> dict[str, int]:
    """The largest shifts of the layers behind the first with which their weights fit int8.

    Parameters
    ----------
    w : mapping of str to ndarray
        The weights by name, as floats.
    layers : Layers
    l1_shift : int
        Of the first layer; it is among them.
    """
    return {"l1_shift": l1_shift} | {
        shift: largest(L2_SHIFTS, w[name], layers.scale(name, 0), np.int8)
        for name, shift in HIDDEN.items()
        if name in w
    }


@dataclass(frozen=True)
class AccumulatorRange:
    """Bounds of all accumulators over every position that the rules allow.

    Attributes
    ----------
    low, high : int
        The least and the largest value of any neuron.
    outside : int
        Neurons that could leave int16.
    """

    low: int
    high: int
    outside: int

    @property
    def fits(self) -> bool:
        return self.outside == 0


def accumulator_range(w1: np.ndarray, b1: np.ndarray, feature_set: FeatureSet) -> AccumulatorRange:
    """How far the accumulators of a quantized first layer can go.

    For each neuron and each term of the feature set, as many rows as can be active at once with the
    largest (or least) weights; dead features don't count. The bound is safe, not tight.

    Parameters
    ----------
    w1 : int16 [N, M]
    b1 : int16 [M]
    """
    alive = np.ones(feature_set.size, bool)
    alive[feature_set.dead] = False
    high, low = b1.astype(np.int64), b1.astype(np.int64)
    for offset, term in zip(feature_set.offsets, feature_set.terms, strict=True):
        rows = w1[offset : offset + term.size][alive[offset : offset + term.size]]
        k = min(term.max_active, len(rows))
        if k == 0:
            continue
        most = np.partition(rows, len(rows) - k, axis=0)[len(rows) - k :].astype(np.int64)
        least = np.partition(rows, k - 1, axis=0)[:k].astype(np.int64)
        # At most k rows are active, so a row of the wrong sign need not be.
        high += np.maximum(most, 0).sum(axis=0)
        low += np.minimum(least, 0).sum(axis=0)
    outside = int(np.count_nonzero((high > INT16.max) | (low < INT16.min)))
    return AccumulatorRange(int(low.min()), int(high.max()), outside)


def safe_l1_shift(w1: np.ndarray, b1: np.ndarray, feature_set: FeatureSet, rounds: bool) -> int:
    """The largest shift of the first layer with which no accumulator can overflow, else 0.

    The biases hold half a unit of it where it ``rounds``.
    """
    for shift in L1_SHIFTS:
        scale = LEVELS * 2.0**shift
        half = 2.0**shift / 2 if rounds else 0
        rows, bias = np.rint(w1 * scale), np.rint(b1 * scale + half)
        if max(np.abs(rows).max(), np.abs(bias).max()) > INT16.max:
            continue
        if accumulator_range(rows.astype(np.int16), bias.astype(np.int16), feature_set).fits:
            return shift
    return 0


def narrow_l1_shift(w1: np.ndarray, safest: int) -> int:
    """The shift of the first layer, of those that are safe, that suits int8 best.

    It has the least squared error: a large one clips weights, a small one rounds more off.
    """

    def error(shift: int) -> float:
        return float(np.square(narrow(w1, shift) / (LEVELS * 2.0**shift) - w1).sum())

    return min((shift for shift in L1_SHIFTS if shift <= safest), key=error)


def narrow(w1: np.ndarray, shift: int) -> np.ndarray:
    """First-layer weights in units of a shift, rounded and clipped to int8."""
    return np.clip(np.rint(w1 * (LEVELS * 2.0**shift)), INT8.min, INT8.max)


def largest(shifts: tuple[int, ...], weights: np.ndarray, scale: float, dtype: type) -> int:
    """The first of the shifts, in descending order, with which all weights fit; else the last."""
    limit = np.iinfo(dtype).max
    for shift in shifts:
        if np.abs(np.rint(weights * scale * 2.0**shift)).max() <= limit:
            return shift
    return shifts[-1]
