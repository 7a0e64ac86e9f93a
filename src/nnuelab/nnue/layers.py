"""The layers of a net, in one description, and their activations in integers.

The float net, its quantization, integer inference and net files all read what a net has from it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

ACTIVATIONS = {  # names in files
    "clipped": "clipped relu",
    "squared": "squared clipped relu",
    "dual": "squared clipped relu, then clipped relu",
}
LEVELS = 127  # a sum of 1.0 as an integer, and a clipped activation
PRODUCT_SHIFT = 7  # of the product of two sums: 1.0 is 127 * 127 >> 7
MAX_PIECES = 32


@dataclass(frozen=True)
class Layers:
    """N -> M x2 -> O [-> P] -> 1, or N -> M x2 -> 1.

    Attributes
    ----------
    n_features, l1, l2, l3 : int
        N, M, O and P; P is 0 without a further hidden layer, O without any (see `Direct`).
    activation : {"clipped", "squared", "dual"}
        Of the hidden layers. Of ``dual``, layers behind the first give both of the others, so twice
        as many numbers as they have neurons.
    buckets : int
        Nets behind the first layer, of which the number of pieces chooses one.
    pairwise : bool
        The second layer gets products of two neurons of an accumulator each, i and i + M / 2, in
        place of their activations.
    psqt : bool
        Each feature has a value of its own, which is added behind the last layer: those of the side
        to move, less those of the other.
    """

    n_features: int
    l1: int
    l2: int
    l3: int = 0
    activation: str = "clipped"
    buckets: int = 1
    pairwise: bool = False
    psqt: bool = False

    def __str__(self) -> str:
        """Sizes and what is unusual, for people.

        >>> str(Layers(768, 256, 16)), str(Layers(768, 256, 16, 32, "squared", 8))
        ('768 -> 256 x2 -> 16 -> 1', '768 -> 256 x2 -> 16 -> 32 -> 1, squared, 8 buckets')
        """
        sizes = (f" -> {size}" for size in (self.l2, self.l3) if size)
        text = f"{self.n_features} -> {self.l1} x2{''.join(sizes)} -> 1"
        text += ", pairwise" if self.pairwise else ""
        text += "" if self.activation == "clipped" else f", {self.activation}"
        text += f", {self.buckets} buckets" if self.buckets > 1 else ""
        return text + (", psqt" if self.psqt else "")

    @property
    def first(self) -> str:
        """The activation of accumulators."""
        plain = "clipped" if self.activation == "dual" else self.activation
        return "pairwise" if self.pairwise else plain

    @property
    def outputs(self) -> int:
        """What a neuron behind the first layer gives to the next one: 1 or 2 numbers."""
        return 2 if self.activation == "dual" else 1

    @property
    def inputs(self) -> int:
        """What the layer behind gets of each perspective."""
        return self.l1 // 2 if self.pairwise else self.l1

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all arrays of one bucket: weights and then biases of each layer, then ``psqt``."""
        shapes: dict[str, tuple[int, ...]] = {"w1": (self.n_features, self.l1), "b1": (self.l1,)}
        shapes |= {"w2": (self.l2, 2 * self.inputs), "b2": (self.l2,)}
        if self.l3:
            shapes |= {"wh": (self.l3, self.outputs * self.l2), "bh": (self.l3,)}
        last = self.outputs * (self.l3 or self.l2) or 2 * self.inputs
        shapes |= {"w3": (last,), "b3": (1,)}
        return shapes | {"psqt": (self.n_features,)} if self.psqt else shapes

    def unit(self, weights: str) -> float:
        """What an input of 1.0 of these weights (w2, wh or w3) is as an integer."""
        activation = self.first if weights == "w2" else self.activation
        return LEVELS if activation in ("clipped", "dual") else LEVELS**2 / 2**PRODUCT_SHIFT

    def scale(self, weights: str, shift: int) -> float:
        """What 1.0 of these weights (w2 or wh), whose layer has that shift, is as an integer."""
        return 2.0**shift * LEVELS / self.unit(weights)


@dataclass(frozen=True)
class Direct:
    """What the integers of a net without a second layer mean, as in the trainer bullet.

    Attributes
    ----------
    one : int
        An activation of 1.0, to which accumulators are clipped.
    weight : int
        A weight of 1.0 of the last layer, whose bias counts ``one * weight``.
    centipawns : int
        An output of 1.0.
    """

    one: int = 255
    weight: int = 64
    centipawns: int = 400

    def __post_init__(self) -> None:
        for name, most in (("one", 255), ("weight", 1 << 15), ("centipawns", 1 << 15)):
            if not 1 <= getattr(self, name) <= most:
                raise ValueError(f"{name} is {getattr(self, name)}, should be 1 to {most}")

    def fits_int32(self, weights: np.ndarray, activation: str) -> bool:
        """Whether sums of activations times these weights of the last layer do, in any order."""
        most = self.one ** (2 if activation == "squared" else 1)
        return int(np.abs(weights.astype(np.int64)).sum()) * most < 1 << 31


OF_FEATURES = ("w1", "b1", "psqt")
"""Arrays that all buckets share."""
USUAL = {field.name: field.default for field in fields(Layers)[3:]}
"""What only some nets have, and what the others have instead."""


def activated(sums: np.ndarray, shift: int, activation: str) -> np.ndarray:
    """What a layer gives to the next one: the formulas of :class:`nnuelab.nnue.netfile.Net`.

    Parameters
    ----------
    sums : int array [..., neurons]
    shift : int
        Of the layer.
    activation : {"clipped", "squared", "dual", "pairwise"}

    Returns
    -------
    int64 [..., neurons], for dual twice as many, for products of pairs half
    """
    sums = sums.astype(np.int64)
    if activation == "dual":
        rounding = sums + ((1 << shift) >> 1)
        both = activated(sums, shift, "squared"), activated(rounding, shift, "clipped")
        return np.concatenate(both, -1)
    if activation == "clipped":
        return np.clip(sums >> shift, 0, LEVELS)
    limited = np.clip(sums, 0, LEVELS << shift)
    one, other = np.split(limited, 2, axis=-1) if activation == "pairwise" else (limited, limited)
    half = 1 << (PRODUCT_SHIFT - 1 + 2 * shift)
    return np.asarray((one * other + half) >> (PRODUCT_SHIFT + 2 * shift))


def bucket_of(pieces: np.ndarray, buckets: int) -> np.ndarray:
    """int64: the layer stack that positions with so many pieces use."""
    return (pieces.astype(np.int64) - 1) * buckets // MAX_PIECES
