"""From the float net to integers: scales, rounding, and the proof that nothing overflows.

=============  ====================================  ============================================
layer          study                                 fine
=============  ====================================  ============================================
w1, b1         round(127 w)                          round(127 * 2^l1_shift w), the largest safe
                                                     shift up to 3
w2             round(64 w)                           round(2^l2_shift w), the largest shift from 6
                                                     to 8 that fits int8
b2             round(64 * 127 b)                     round(2^l2_shift * 127 b), less what rounding
                                                     w2 adds at the mean activations
w3             round(600 * 16 / 127 w), int8         round(600 * 2^out_shift / 127 w), int16, the
                                                     largest shift up to 12 that fits
b3             round(600 * 16 b)                     round(600 * 2^out_shift b)
wh, bh                                               as w2 and b2, by l3_shift
before shifts  nothing: they round down              half a unit in the biases: they round to
                                                     nearest
=============  ====================================  ============================================

Squared activations of 1.0 are 127^2 / 128 instead of 127, so w2, wh and w3 are 128 / 127 as large,
and their sums round when they are squared. The study's scheme is for its own layers alone.

A net that was trained to round (fake quantization) keeps the shifts that it was trained with, and
its biases know already what rounding adds.

The neurons of the first layer are sorted by their mean activations, so that those that are often
zero stand together: the second layer skips four zeros at a time.

Rounding is to nearest even. Sources: the study's `.nn` format; bullet and nnue-pytorch for larger
first-layer scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nnuelab import features
from nnuelab.errors import UserError
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.netfile import LEVELS, STUDY_SHIFTS, Net, unit
from nnuelab.nnue.network import CENTIPAWNS, Network

INT16 = np.iinfo(np.int16)
FINE_L1_SHIFTS = (3, 2, 1, 0)
FINE_L2_SHIFTS = (8, 7, 6)
FINE_OUT_SHIFTS = tuple(range(12, 3, -1))


def quantize(checkpoint: Checkpoint, scheme: str = "fine") -> Net:
    """The integer net of a trained one.

    Parameters
    ----------
    checkpoint : Checkpoint
    scheme : {"fine", "study"}

    Raises
    ------
    UserError
        When a weight doesn't fit its type, or an accumulator could leave int16: with layer, count
        and range.
    """
    if scheme not in ("fine", "study"):
        raise ValueError(f"no scheme {scheme!r}")
    fine = scheme == "fine"
    network = checkpoint.network()
    squared, one = network.activation == "squared", unit(network.activation)
    if not fine and (squared or network.l3 or network.buckets > 1):
        raise UserError(
            f"the study's scheme is for nets N -> M x2 -> O -> 1, not for {network.layers}; "
            "quantize with --scheme fine"
        )
    w = {name: tensor.double().numpy() for name, tensor in checkpoint.model.items()}
    w["w1"] = network.rows().detach().double().numpy()
    activations = checkpoint.activations.double().numpy().reshape(2, -1)
    order = np.argsort(activations.sum(axis=0), kind="stable")
    w["w1"], w["b1"] = w["w1"][:, order], w["b1"][order]
    w["w2"] = w["w2"].reshape(-1, *activations.shape)[:, :, order].reshape(w["w2"].shape)
    feature_set = checkpoint.features
    if fine:
        safest = _safe_l1_shift(w["w1"], w["b1"], feature_set, squared)
        shifts = checkpoint.shifts or _shifts(w, network, safest)
        l1_shift, l2_shift = min(shifts["l1_shift"], safest), shifts["l2_shift"]
        l3_shift = shifts.get("l3_shift", 0)
        out_shift = _largest(FINE_OUT_SHIFTS, w["w3"], CENTIPAWNS / one, np.int16)
    else:
        l1_shift, l2_shift, out_shift = STUDY_SHIFTS.values()
        l3_shift = 0

    def half(shift: int, before_square: bool = squared) -> float:
        """Turns a shift, which rounds down, into one that rounds to nearest."""
        return 2.0**shift / 2 if fine and shift > 0 and not before_square else 0

    def dense(layer: str, weights: str, biases: str, shift: int, means: np.ndarray | None) -> None:
        """Adds a layer of int8 weights to ``arrays``; ``means`` are those of its inputs."""
        scale = network.scale(shift)
        rounded = _fit(f"{layer}-layer weights", np.rint(w[weights] * scale), np.int8)
        totals = w[biases] * 2.0**shift
        if fine and means is not None and not checkpoint.shifts:
            totals -= (rounded - w[weights] * scale) @ means * (one / LEVELS)
        totals = np.rint(totals * LEVELS + half(shift))
        arrays[weights] = rounded
        arrays[biases] = _fit(f"{layer}-layer biases", totals, np.int32)

    first, last = LEVELS * 2.0**l1_shift, CENTIPAWNS * 2.0**out_shift
    arrays: dict[str, np.ndarray] = {}
    w1 = _fit("first-layer weights", np.rint(w["w1"] * first), np.int16)
    b1 = _fit("first-layer biases", np.rint(w["b1"] * first + half(l1_shift)), np.int16)
    dense("second", "w2", "b2", l2_shift, activations[:, order].ravel())
    if network.l3:
        dense("third", "wh", "bh", l3_shift, None)
    accumulators = accumulator_range(w1, b1, feature_set)
    if not accumulators.fits:
        raise UserError(
            f"{accumulators.outside} of {b1.size} accumulators of {feature_set.name} could "
            f"overflow int16 ({accumulators.low} to {accumulators.high} with the largest active "
            "rows); "
            "train with a smaller learning rate or fewer epochs"
        )
    w3_type = np.int16 if fine else np.int8
    w3 = _fit("output weights", np.rint(w["w3"] * last / one), w3_type).astype(np.int16)
    b3 = np.rint(w["b3"] * last + half(out_shift, before_square=False))
    return Net(
        feature_set.name,
        w1=w1,
        b1=b1,
        w3=w3,
        b3=_fit("output bias", b3, np.int32),
        **arrays,
        l1_shift=l1_shift,
        l2_shift=l2_shift,
        l3_shift=l3_shift,
        out_shift=out_shift,
        activation=network.activation,
        buckets=network.buckets,
        provenance={
            "scheme": scheme,
            "epochs": checkpoint.epoch,
            "settings": checkpoint.settings,
            "checkpoint_digest": checkpoint.digest(),
            "accumulators": [accumulators.low, accumulators.high],
        },
        files=checkpoint.files,
        blocks=checkpoint.blocks,
    )


def shifts_of(network: Network, feature_set: features.FeatureSet) -> dict[str, int]:
    """The shifts of the hidden layers that `quantize` would choose now: l1_shift, l2_shift...

    What is rounded by them is what fake quantization rounds.
    """
    w = {name: tensor.cpu().double().numpy() for name, tensor in network.state_dict().items()}
    rows = network.rows().detach().cpu().double().numpy()
    squared = network.activation == "squared"
    return _shifts(w, network, _safe_l1_shift(rows, w["b1"], feature_set, squared))


def _shifts(w: Mapping[str, np.ndarray], network: Network, l1_shift: int) -> dict[str, int]:
    scale = network.scale(0)
    found = {"l1_shift": l1_shift, "l2_shift": _largest(FINE_L2_SHIFTS, w["w2"], scale, np.int8)}
    if network.l3:
        found["l3_shift"] = _largest(FINE_L2_SHIFTS, w["wh"], scale, np.int8)
    return found


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


def accumulator_range(
    w1: np.ndarray, b1: np.ndarray, feature_set: features.FeatureSet
) -> AccumulatorRange:
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


def _safe_l1_shift(
    w1: np.ndarray, b1: np.ndarray, feature_set: features.FeatureSet, squared: bool
) -> int:
    """The largest shift with which no accumulator can overflow; 0 when none is safe."""
    for shift in FINE_L1_SHIFTS:
        scale = LEVELS * 2.0**shift
        half = 0 if squared else 2.0**shift / 2
        rows, bias = np.rint(w1 * scale), np.rint(b1 * scale + half)
        if max(np.abs(rows).max(), np.abs(bias).max()) > INT16.max:
            continue
        if accumulator_range(rows.astype(np.int16), bias.astype(np.int16), feature_set).fits:
            return shift
    return 0


def _largest(shifts: tuple[int, ...], weights: np.ndarray, scale: float, dtype: type) -> int:
    """The first of the shifts, in descending order, with which all weights fit; else the last."""
    limit = np.iinfo(dtype).max
    for shift in shifts:
        if np.abs(np.rint(weights * scale * 2.0**shift)).max() <= limit:
            return shift
    return shifts[-1]


def _fit(layer: str, values: np.ndarray, dtype: type) -> np.ndarray:
    """Integers of ``dtype``; raises when one doesn't fit."""
    limits = np.iinfo(dtype)
    outside = np.count_nonzero(~((values >= limits.min) & (values <= limits.max)))
    if outside:
        raise UserError(
            f"{outside} of {values.size} {layer} don't fit int{limits.bits}: they go "
            f"from {values.min():.0f} to {values.max():.0f}, the type from {limits.min} to "
            f"{limits.max}; "
            "quantize with --scheme fine, or train with a smaller learning rate"
        )
    return values.astype(dtype)
