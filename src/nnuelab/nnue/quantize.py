"""From the float net to integers: scales, rounding, and checks that nothing can overflow.

=============  ====================================  ============================================
layer          study                                 fine, int8
=============  ====================================  ============================================
w1, b1         round(127 w)                          round(127 * 2^l1_shift w), the largest safe
                                                     shift up to 3; int8: w1 clipped to int8, the
                                                     shift with the least squared error
w2             round(64 w)                           round(2^l2_shift w), the largest shift from 6
                                                     to 8 that fits int8
b2             round(64 * 127 b)                     round(2^l2_shift * 127 b), less what rounding
                                                     w2 adds at the mean activations
w3             round(600 * 16 / 127 w), int8         round(600 * 2^out_shift / 127 w), int16, the
                                                     largest shift up to 12 that fits
b3, psqt       round(600 * 16 b)                     round(600 * 2^out_shift b)
wh, bh                                               as w2 and b2, by l3_shift
before shifts  nothing: they round down              half a unit in the biases: they round to
                                                     nearest
=============  ====================================  ============================================

Squared activations and products of pairs of 1.0 are 127^2 / 128 instead of 127, so weights of such
inputs are 128 / 127 as large, and sums round when they are multiplied. The study's scheme is for
its own layers alone.

A net that was trained to round (fake quantization) keeps the shifts that it was trained with, and
its biases know already what rounding adds.

The neurons of the first layer are sorted by their mean activations, so that those that are often
zero stand together: the second layer skips four zeros at a time. Pairs stay pairs.

Without a second layer the integers are bullet's (`layers.Direct`): w1 and b1 are round(255 w), or
round(127 w) where that could overflow, and the unit of w3 is the largest power of two, up to 1024,
with which it and b3 fit int16, as bullet's files have them, and sums int32.

What is left of a mean error, from clipping what was rounded, `centred` takes out of b3 by the data:
the correction of biases that post-training quantization knows (Nagel et al. 2019).

Rounding is to nearest even. Sources: the study's `.nn` format; bullet and nnue-pytorch for larger
first-layer scales.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.inference import integer_outputs
from nnuelab.nnue.layers import LEVELS, USUAL, Direct, Layers, bucket_of
from nnuelab.nnue.netfile import STUDY_SHIFTS, Net, no_second_layer
from nnuelab.nnue.network import CENTIPAWNS
from nnuelab.nnue.scales import (
    OUT_SHIFTS,
    AccumulatorRange,
    accumulator_range,
    hidden_shifts,
    largest,
    narrow,
    narrow_l1_shift,
    safe_l1_shift,
)
from nnuelab.nnue.verify import float_outputs

ONES = (255, 127)  # activations of 1.0 without a second layer
WEIGHTS = tuple(1 << places for places in range(10, -1, -1))  # and weights of 1.0
FEW = 100  # positions: a mean of fewer is noise


def quantize(checkpoint: Checkpoint, scheme: str = "fine") -> Net:
    """The integer net of a trained one.

    Parameters
    ----------
    checkpoint : Checkpoint
    scheme : {"fine", "int8", "study"}
        int8 is fine with first-layer weights of int8, half the memory of a row.

    Raises
    ------
    UserError
        When a weight doesn't fit its type, or an accumulator could leave int16: with layer, count
        and range.
    """
    if scheme not in ("fine", "int8", "study"):
        raise ValueError(f"no scheme {scheme!r}")
    fine = scheme != "study"
    network = checkpoint.network()
    layers = network.layers
    unusual = any(getattr(layers, name) != usual for name, usual in USUAL.items())
    if not fine and (unusual or not layers.l2):
        raise UserError(
            f"the study's scheme is for nets N -> M x2 -> O -> 1, not for {layers}; "
            "quantize with --scheme fine"
        )
    w = {name: tensor.double().numpy() for name, tensor in checkpoint.model.items()}
    w["w1"] = network.rows().detach().double().numpy()
    if not layers.l2:
        return _direct(checkpoint, layers, w, scheme)
    activations = checkpoint.activations.double().numpy().reshape(2, -1)
    order = np.argsort(activations.sum(axis=0), kind="stable")
    neurons = np.concatenate([order + i for i in range(0, layers.l1, layers.inputs)])
    w["w1"], w["b1"] = w["w1"][:, neurons], w["b1"][neurons]
    w["w2"] = w["w2"].reshape(-1, *activations.shape)[:, :, order].reshape(w["w2"].shape)
    feature_set = checkpoint.features
    if fine:
        safest = safe_l1_shift(w["w1"], w["b1"], feature_set, layers.first == "clipped")
        shifts = checkpoint.shifts or hidden_shifts(w, layers, safest)
        l1_shift, l2_shift = min(shifts["l1_shift"], safest), shifts["l2_shift"]
        l3_shift = shifts.get("l3_shift", 0)
        out_shift = largest(OUT_SHIFTS, w["w3"], CENTIPAWNS / layers.unit("w3"), np.int16)
    else:
        l1_shift, l2_shift, out_shift = STUDY_SHIFTS.values()
        l3_shift = 0

    def half(shift: int, activation: str) -> float:
        """Turns a shift, which rounds down, into one that rounds to nearest."""
        return 2.0**shift / 2 if fine and shift > 0 and activation == "clipped" else 0

    def dense(layer: str, weights: str, biases: str, shift: int, means: np.ndarray | None) -> None:
        """Adds a layer of int8 weights to ``arrays``; ``means`` are those of its inputs."""
        scale = layers.scale(weights, shift)
        rounded = _fit(f"{layer}-layer weights", np.rint(w[weights] * scale), np.int8)
        totals = w[biases] * 2.0**shift
        if fine and means is not None and not checkpoint.shifts:
            # Rounded once: a product of BLAS differs in its last bits from CPU to CPU.
            errors = (rounded - w[weights] * scale) * means * (layers.unit(weights) / LEVELS)
            totals -= [math.fsum(of_neuron) for of_neuron in errors.tolist()]
        totals = np.rint(totals * LEVELS + half(shift, layers.activation))
        arrays[weights] = rounded
        arrays[biases] = _fit(f"{layer}-layer biases", totals, np.int32)

    if scheme == "int8":
        l1_shift = narrow_l1_shift(w["w1"], l1_shift)
    first, last = LEVELS * 2.0**l1_shift, CENTIPAWNS * 2.0**out_shift
    arrays: dict[str, Any] = {}
    if scheme == "int8":
        w1 = _fit("first-layer weights", narrow(w["w1"], l1_shift), np.int8)
    else:
        w1 = _fit("first-layer weights", np.rint(w["w1"] * first), np.int16)
    b1 = _fit(
        "first-layer biases", np.rint(w["b1"] * first + half(l1_shift, layers.first)), np.int16
    )
    dense("second", "w2", "b2", l2_shift, activations[:, order].ravel())
    if layers.l3:
        dense("third", "wh", "bh", l3_shift, None)
    accumulators = accumulator_range(w1, b1, feature_set)
    _checked(accumulators, checkpoint)
    w3_type = np.int16 if fine else np.int8
    if layers.psqt:
        arrays["psqt"] = _fit("values of features", np.rint(w["psqt"] * last), np.int32)
    w3 = _fit("output weights", np.rint(w["w3"] * last / layers.unit("w3")), w3_type).astype(
        np.int16
    )
    b3 = np.rint(w["b3"] * last + half(out_shift, "clipped"))
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
        activation=layers.activation,
        buckets=layers.buckets,
        pairwise=layers.pairwise,
        **_told(checkpoint, scheme, accumulators),
    )


def _direct(checkpoint: Checkpoint, layers: Layers, w: dict[str, np.ndarray], scheme: str) -> Net:
    """Of a net without a second layer."""
    if scheme == "int8":
        raise UserError(
            "a net without a second layer has first-layer weights of int16: "
            "quantize with --scheme fine"
        )
    feature_set, scale = checkpoint.features, CENTIPAWNS / Direct.centipawns
    for one in ONES:
        w1, b1 = np.rint(w["w1"] * one), np.rint(w["b1"] * one)
        accumulators = accumulator_range(w1, b1, feature_set)
        if accumulators.fits:
            break
    _checked(accumulators, checkpoint)
    for weight in WEIGHTS:
        direct = Direct(one, weight)
        w3, b3 = np.rint(w["w3"] * scale * weight), np.rint(w["b3"] * scale * one * weight)
        fits = np.abs(w3).max() < 1 << 15 and direct.fits_int32(w3, layers.activation)
        if fits and np.abs(b3).max() < 1 << 14:  # `centred` moves it a little
            break
    arrays: dict[str, Any] = no_second_layer(layers.l1)
    return Net(
        feature_set.name,
        w1=_fit("first-layer weights", w1, np.int16),
        b1=_fit("first-layer biases", b1, np.int16),
        w3=_fit("output weights", w3, np.int16),
        b3=_fit("output bias", b3, np.int32),
        activation=layers.activation,
        direct=direct,
        **arrays,
        **_told(checkpoint, scheme, accumulators),
    )


def _checked(accumulators: AccumulatorRange, checkpoint: Checkpoint) -> None:
    if not accumulators.fits:
        of = f"{checkpoint.layers.l1} accumulators of {checkpoint.feature_set}"
        raise UserError(
            f"{accumulators.outside} of {of} could overflow int16 ({accumulators.low} to "
            f"{accumulators.high} with the largest active rows); "
            "train with a smaller learning rate or fewer epochs"
        )


def _told(checkpoint: Checkpoint, scheme: str, accumulators: AccumulatorRange) -> dict[str, Any]:
    """What a net says of where it comes from."""
    return {
        "provenance": {
            "scheme": scheme,
            "epochs": checkpoint.epoch,
            "settings": checkpoint.settings,
            "checkpoint_digest": checkpoint.digest(),
            "accumulators": [accumulators.low, accumulators.high],
        },
        "files": checkpoint.files,
        "blocks": checkpoint.blocks,
    }


def centred(net: Net, checkpoint: Checkpoint, chosen: np.ndarray) -> Net:
    """The net without the mean of its integer error over some positions, in each bucket.

    Parameters
    ----------
    net : Net
        What `quantize` made of the checkpoint.
    checkpoint : Checkpoint
    chosen : ndarray of RECORD
        Others than the net is verified by. Buckets with less than `FEW` stay as they are.
    """
    error = integer_outputs(net, chosen) - float_outputs(
        checkpoint.features, checkpoint.network(), chosen
    )
    bucket = bucket_of(np.bitwise_count(chosen["occupied"]), net.buckets)
    n = np.bincount(bucket, minlength=net.buckets)
    mean = np.where(n < FEW, 0, np.bincount(bucket, error, net.buckets) / np.maximum(n, 1))
    unit = net.scales["output_per_cp"] if net.direct else 2.0**net.out_shift
    b3 = _fit("output bias", net.b3 - np.rint(mean * unit), np.int32)
    told = {"positions": len(chosen), "mean_cp": mean.round(3).tolist()}
    return replace(net, b3=b3, provenance={**net.provenance, "centred": told})


def _fit(layer: str, values: np.ndarray, dtype: type) -> np.ndarray:
    """Integers of ``dtype``; raises when one doesn't fit."""
    limits = np.iinfo(dtype)
    outside = np.count_nonzero(~((values >= limits.min) & (values <= limits.max)))
    if outside:
        raise UserError(
            f"{outside} of {values.size} {layer} don't fit int{limits.bits}: they range "
            f"from {values.min():.0f} to {values.max():.0f}, the type from {limits.min} to "
            f"{limits.max}; "
            "quantize with --scheme fine, or train with a smaller learning rate"
        )
    return values.astype(dtype)
