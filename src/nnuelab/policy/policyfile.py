"""Policy files (``.policy``), a :mod:`nnuelab.learning.container` of float arrays.

This module needs neither numba nor torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts, features
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.learning import container

MAGIC = b"NNUEPOL\0"
VERSION = 1
ENDING = ".policy"
SQUARES = 64
HEADS = ("fromto", "product", "pair")
ACTIVATIONS = ("relu", "sigmoid")
LOSSES = ("mse", "softmax", "masked")
MAX_HIDDEN = 4  # layers
MAX_WIDTH = 1 << 14


def outputs_of(head: str, rank: int) -> int:
    """How many numbers a head gives: O."""
    return {
        "fromto": 2 * SQUARES,
        "product": 2 * SQUARES * (1 + rank),
        "pair": SQUARES * SQUARES,
    }[head]


@dataclass(frozen=True, eq=False)
class Policy:
    """A net from features to a number for each pair of squares, and perhaps a value::

        h0     = the active features, seen by the side to move   (N, zeros and ones)
        h(i+1) = activation(h(i) @ weights[i] + biases[i])       (hidden layers, maybe none)
        out    = h(last) @ output + output_bias                  (O)
        value  = tanh(h(last) @ value_weights + value_bias)      (-1..1, expected result)

    The *logit* of a move from square s to square t, both as the player to move sees the board
    (Black's is turned over: square ^ 56), by the head::

        fromto     out[s] + out[64 + t]
        product    out[s] + out[64 + t] + u[s] . v[t]
        pair       out[64 s + t]

    Here u is out[128 : 128 + 64 r] as [64, r], and v the rest as [64, r].

    A net trained with the loss ``mse`` has outputs between 0 and 1, the sigmoids of ``out``.

    Attributes
    ----------
    feature_set : str
        Canonical expression; its size is N.
    weights, biases : list of float32 [inputs, outputs], float32 [outputs]
        Of the hidden layers; the first has N inputs.
    output, output_bias : float32 [H, O], float32 [O]
        H is the width of the last hidden layer, N without any.
    head : {"fromto", "product", "pair"}
    activation : {"relu", "sigmoid"}
    loss : {"mse", "softmax", "masked"}
        What it was trained with.
    rank : int
        r of ``product``, else 0.
    value_weights, value_bias : float32 [H], float32 [1], or None
    provenance : dict
        Free-form JSON.
    files, blocks : dict
        As in :class:`nnuelab.nnue.netfile.Net`.
    """

    feature_set: str
    weights: list[np.ndarray]
    biases: list[np.ndarray]
    output: np.ndarray
    output_bias: np.ndarray
    head: str = "pair"
    activation: str = "relu"
    loss: str = "masked"
    rank: int = 0
    value_weights: np.ndarray | None = None
    value_bias: np.ndarray | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value, known in (
            ("head", self.head, HEADS),
            ("activation", self.activation, ACTIVATIONS),
            ("loss", self.loss, LOSSES),
        ):
            if value not in known:
                raise ValueError(f"its {name} is {value!r}, not one of {', '.join(known)}")
        is_rank = isinstance(self.rank, int) and self.rank >= 0
        if not is_rank or (self.head == "product") != (self.rank > 0):
            raise ValueError(f"a head {self.head} with the rank {self.rank} makes no sense")
        if len(self.weights) > MAX_HIDDEN or len(self.biases) != len(self.weights):
            raise ValueError(
                f"it has {len(self.weights)} hidden layers with {len(self.biases)} biases; "
                f"there may be {MAX_HIDDEN}, each with its biases"
            )
        width = self.n_features
        for i, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            _check(f"weights of layer {i + 1}", weights, (width, len(biases)))
            _check(f"biases of layer {i + 1}", biases, (len(biases),))
            width = len(biases)
        outputs = outputs_of(self.head, self.rank)
        _check("output", self.output, (width, outputs))
        _check("output_bias", self.output_bias, (outputs,))
        if (self.value_weights is None) != (self.value_bias is None):
            raise ValueError("it has only half of a value head")
        if self.value_weights is not None and self.value_bias is not None:
            _check("value_weights", self.value_weights, (width,))
            _check("value_bias", self.value_bias, (1,))

    @property
    def features(self) -> features.FeatureSet:
        """The feature set, as it was when the policy was made."""
        return features.parse(self.feature_set, self.files)

    @property
    def n_features(self) -> int:
        """N."""
        return int((self.weights[0] if self.weights else self.output).shape[0])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Widths of the hidden layers."""
        return tuple(len(biases) for biases in self.biases)

    @property
    def has_value(self) -> bool:
        """Whether it says what result it expects."""
        return self.value_weights is not None

    @property
    def parameters(self) -> int:
        """How many numbers it has learnt."""
        return sum(array.size for array in self.arrays().values())

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, in the order of the file."""
        found: dict[str, np.ndarray] = {}
        for i, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            found |= {f"w{i}": weights, f"b{i}": biases}
        found |= {"output": self.output, "output_bias": self.output_bias}
        if self.value_weights is not None and self.value_bias is not None:
            found |= {"value_weights": self.value_weights, "value_bias": self.value_bias}
        return found


def _check(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.dtype != np.float32 or array.shape != shape or max(shape) < 1:
        raise ValueError(
            f"{name} is {array.dtype}{list(array.shape)}, should be float32{list(shape)}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has values that are no numbers")


_NAMES = (
    *(f"{kind}{i}" for i in range(MAX_HIDDEN) for kind in "wb"),
    *("output", "output_bias", "value_weights", "value_bias"),
)
_KNOWN = dict.fromkeys(_NAMES, ("<f4",))


def write_policy(path: Path | str, policy: Policy) -> None:
    """Writes the file, atomically. The same policy gives the same bytes."""
    header = {
        "feature_set": policy.feature_set,
        "blocks": dict(policy.blocks),
        "head": policy.head,
        "rank": policy.rank,
        "activation": policy.activation,
        "loss": policy.loss,
        "arrays": container.listed(policy.arrays()),
        "provenance": dict(policy.provenance),
    }
    if policy.files:
        header["files"] = dict(policy.files)
    content = container.packed(MAGIC, VERSION, header, policy.arrays())
    with artifacts.atomic(Path(path)) as temporary:
        temporary.write_bytes(content)


def read_policy(path: Path | str) -> Policy:
    """Reads a policy.

    Raises
    ------
    UserError
        When the file is missing, damaged, of another version, or doesn't fit the feature set that
        it names: the blocks are not there, or defined otherwise now.
    """
    path = Path(path)
    content = container.content_of(path, "policy", ENDING)
    with container.usable(path, "policy", "nnuelab policy train"):
        if content[: len(MAGIC)] != MAGIC:
            raise ValueError(f"it is no {ENDING} file")
        policy = _policy(*container.unpacked(content, VERSION, _KNOWN))
        feature_set = policy.features
        fingerprint.check(feature_set, policy.blocks)
    if policy.n_features != feature_set.size:
        raise UserError(
            f"{path} has rows for {policy.n_features} features, but its feature set "
            f"{policy.feature_set} has {feature_set.size}; make it again with nnuelab policy train"
        )
    return policy


def _policy(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Policy:
    hidden = sum(f"w{i}" in arrays for i in range(MAX_HIDDEN))
    return Policy(
        header["feature_set"],
        weights=[arrays[f"w{i}"] for i in range(hidden)],
        biases=[arrays[f"b{i}"] for i in range(hidden)],
        output=arrays["output"],
        output_bias=arrays["output_bias"],
        value_weights=arrays.get("value_weights"),
        value_bias=arrays.get("value_bias"),
        provenance=header["provenance"],
        files=header.get("files", {}),
        blocks=header.get("blocks", {}),
        **{name: header[name] for name in ("head", "activation", "loss", "rank")},
    )
