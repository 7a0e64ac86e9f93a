"""Float inference of a policy for single positions, in jitted code.

Each output is summed in the order of the inputs, and multiplication and addition stay apart: the
numbers are the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from nnuelab.chess.moves import origin, target
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.records import FEATURES
from nnuelab.features.tables import compiled
from nnuelab.jit import address, aligned, at, inline, jit, owning, view
from nnuelab.policy.policyfile import ACTIVATIONS, HEADS, MAX_HIDDEN, SQUARES, Policy
from nnuelab.vectors import I32, I64

FROMTO, PRODUCT, PAIR = np.arange(len(HEADS))
RELU, SIGMOID = np.arange(len(ACTIVATIONS))
LANES = 8  # partial sums of a dot product

LAYER = np.dtype([("weights", "u8"), ("biases", "u8"), ("outputs", "i8")], align=True)
"""Addresses of float32[inputs, outputs] and float32[outputs]."""

POLICY = np.dtype(
    [
        ("features", FEATURES),
        ("max_active", "i8"),
        ("layers", LAYER, MAX_HIDDEN),  # hidden ones
        ("n_layers", "i8"),
        ("last", "i8"),  # H, inputs of the output layer
        ("output", LAYER),
        ("by_pair", "u8"),  # -> float32[O, H], the weights of the output layer turned, if PAIR
        ("head", "i8"),
        ("rank", "i8"),
        ("activation", "i8"),
        ("has_value", "i8"),
        ("value_weights", "u8"),  # -> float32[H]
        ("value_bias", "u8"),  # -> float32[1]
        ("active", "u8"),  # scratch: int32[max_active]
        ("n_active", "u8"),  # scratch: int64[1]
        ("hidden", "u8"),  # scratch: float32[2, widest]
        ("widest", "i8"),
        ("out", "u8"),  # scratch: float32[O]
    ],
    align=True,
)
"""A policy for jitted code. The scratch makes it usable by one thread at a time."""


class Inference:
    """Owns the memory of a policy and hands it to jitted code as ``record``.

    Parameters
    ----------
    policy : Policy

    Attributes
    ----------
    record : np.void of POLICY
        Keeps the memory alive by itself; used by one thread at a time.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        feature_set = policy.features
        self._tables = compiled(feature_set)
        widest = max(policy.sizes, default=1)
        memory: dict[str, np.ndarray] = {
            "active": np.zeros(feature_set.max_active, np.int32),
            "n_active": np.zeros(1, np.int64),
            "hidden": aligned((2, widest), np.float32),
            "out": aligned(policy.output.shape[1], np.float32),
        }
        if policy.head == "pair":
            memory["by_pair"] = _aligned(policy.output.T)
        if policy.value_weights is not None and policy.value_bias is not None:
            memory["value_weights"] = _aligned(policy.value_weights)
            memory["value_bias"] = _aligned(policy.value_bias)
        layers = [*zip(policy.weights, policy.biases, strict=True)]
        layers.append((policy.output, policy.output_bias))
        arrays = [(_aligned(weights), _aligned(biases)) for weights, biases in layers]
        record = owning(POLICY, memory, arrays, self._tables)
        told = [(address(w), address(b), len(b)) for w, b in arrays]
        record["layers"][0, : len(told) - 1] = told[:-1]
        record["output"] = told[-1]
        fields: Mapping[str, int] = {
            "max_active": feature_set.max_active,
            "n_layers": len(policy.weights),
            "last": len(policy.output),
            "head": HEADS.index(policy.head),
            "rank": policy.rank,
            "activation": ACTIVATIONS.index(policy.activation),
            "has_value": int(policy.has_value),
            "widest": widest,
            **{name: address(array) for name, array in memory.items()},
        }
        record["features"] = self._tables.record
        for name, value in fields.items():
            record[name] = value
        self.record = record[0]

    def check(self) -> None:
        """Raises UserError when a block of a user's has broken its bounds since the last time."""
        self._tables.check()


def _aligned(array: np.ndarray) -> np.ndarray:
    found = aligned(array.shape, np.float32)
    found[...] = array
    return found


@inline
def seen(square, turn):
    """A square as the player to move sees it, or back again."""
    return square ^ (56 * turn)


@inline
def _activate(policy, sums):
    """In place."""
    if policy.activation == RELU:
        for j in range(sums.size):
            sums[at(j)] = max(sums[at(j)], np.float32(0))
    else:
        for j in range(sums.size):
            sums[at(j)] = np.float32(1) / (np.float32(1) + np.exp(-sums[at(j)]))


@inline
def _sum_rows(policy, layer, out):
    """Biases and the rows of the active features."""
    active = view(policy.active, policy.max_active, np.int32)
    biases = view(layer.biases, layer.outputs, np.float32)
    weights = view(layer.weights, (policy.features.size, layer.outputs), np.float32)
    out[:] = biases
    for k in range(view(policy.n_active, 1, np.int64)[0]):
        row = weights[at(active[at(k)])]
        for j in range(out.size):
            out[at(j)] += row[at(j)]


@inline
def _multiply(layer, inputs, out):
    """Biases and inputs @ weights."""
    biases = view(layer.biases, layer.outputs, np.float32)
    weights = view(layer.weights, (inputs.size, layer.outputs), np.float32)
    out[:] = biases
    for i in range(inputs.size):
        x = inputs[at(i)]
        if x != 0:
            row = weights[at(i)]
            for j in range(out.size):
                out[at(j)] += x * row[at(j)]


@jit
def hidden(policy, position):
    """Computes the last hidden layer of a position, which is kept for the functions below.

    Parameters
    ----------
    policy : POLICY record
    position : POSITION record
    """
    active = view(policy.active, policy.max_active, np.int32)
    turn = np.int64(position.turn)
    view(policy.n_active, 1, np.int64)[0] = kernels.active(policy.features, position, turn, active)
    layers = view(policy.hidden, (2, policy.widest), np.float32)
    for i in range(policy.n_layers):
        layer = policy.layers[at(i)]
        out = layers[at(i & 1)][: layer.outputs]
        if i == 0:
            _sum_rows(policy, layer, out)
        else:
            _multiply(layer, layers[at(i & 1 ^ 1)][: policy.layers[at(i - 1)].outputs], out)
        _activate(policy, out)


@inline
def _last(policy):
    """float32[H], the last hidden layer."""
    hidden_layers = view(policy.hidden, (2, policy.widest), np.float32)
    return hidden_layers[at(policy.n_layers - 1 & 1)][: policy.last]


@jit
def outputs(policy):
    """All outputs, float32[O], of the position that `hidden` has seen; valid until the next."""
    out = view(policy.out, policy.output.outputs, np.float32)
    if policy.n_layers == 0:
        _sum_rows(policy, policy.output, out)
    else:
        _multiply(policy.output, _last(policy), out)
    return out


@jit
def value(policy):
    """The expected result of the position that `hidden` has seen, -1..1; 0 without a value head."""
    if policy.has_value == 0:
        return np.float32(0)
    weights = view(policy.value_weights, policy.last, np.float32)
    total = view(policy.value_bias, 1, np.float32)[0]
    if policy.n_layers == 0:
        active = view(policy.active, policy.max_active, np.int32)
        for k in range(view(policy.n_active, 1, np.int64)[0]):
            total += weights[at(active[at(k)])]
    else:
        total += dot(_last(policy), weights)
    return np.tanh(total)


@intrinsic
def _dot_of_whole(typing_context: Any, a: Any, b: Any, n: Any) -> Any:
    """`dot` of a[:n] and b[:n] in a vector register; n is a multiple of LANES."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = context.get_value_type(a.dtype)
        lanes = ir.VectorType(number, LANES)
        rows = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[:2], args[:2], strict=True)
        ]
        sums = cgutils.alloca_once(builder, lanes)
        builder.store(ir.Constant(lanes, [0.0] * LANES), sums)
        steps = builder.udiv(args[2], I64(LANES))
        with cgutils.for_range(builder, steps) as loop:
            place = builder.mul(loop.index, I64(LANES))
            x, y = (
                builder.load(
                    builder.bitcast(builder.gep(row, [place]), lanes.as_pointer()), align=4
                )
                for row in rows
            )
            builder.store(builder.fadd(builder.load(sums), builder.fmul(x, y)), sums)
        total, found = ir.Constant(number, 0.0), builder.load(sums)
        for lane in range(LANES):
            total = builder.fadd(total, builder.extract_element(found, I32(lane)))
        return total

    return a.dtype(a, b, n), generate


@inline
def dot(a, b):
    """Their scalar product, summed in LANES lanes whatever the CPU has."""
    whole = a.size & ~(LANES - 1)
    total = _dot_of_whole(a, b, whole)
    for i in range(whole, a.size):
        total += a[at(i)] * b[at(i)]
    return total


@inline
def pair_logit(policy, out, start, square):
    """The logit of a pair of squares, both as the player to move sees them, from all outputs."""
    if policy.head == PAIR:
        return out[at(SQUARES * start + square)]
    total = out[at(start)] + out[at(SQUARES + square)]
    rank = policy.rank
    u, v = 2 * SQUARES + start * rank, 2 * SQUARES + (SQUARES + square) * rank
    for k in range(rank):
        total += out[at(u + k)] * out[at(v + k)]
    return total


@jit
def activations(policy, values):
    """What a policy's walk goes through (`choice.walk`), of the position that `hidden` has seen.

    Parameters
    ----------
    values : float32 [4096], written

    Returns
    -------
    int
        How many: 128 for squares to go from and to go to, 4096 for pairs.
    """
    out = outputs(policy)
    if policy.head == PRODUCT:
        for pair in range(SQUARES * SQUARES):
            values[at(pair)] = pair_logit(policy, out, pair >> 6, pair & 63)
        return SQUARES * SQUARES
    values[: out.size] = out
    return out.size


@jit
def move_logits(policy, position, moves, n, logits):
    """The logits of moves in a position that `hidden` has seen.

    Parameters
    ----------
    policy : POLICY record
    position : POSITION record
    moves : int64 [at least n]
    logits : float32 [at least n], written
    """
    turn = np.int64(position.turn)
    if policy.head != PAIR or policy.n_layers == 0:
        out = outputs(policy)
        for i in range(n):
            start, square = seen(origin(moves[at(i)]), turn), seen(target(moves[at(i)]), turn)
            logits[at(i)] = pair_logit(policy, out, start, square)
        return
    by_pair = view(policy.by_pair, (SQUARES * SQUARES, policy.last), np.float32)
    biases = view(policy.output.biases, policy.output.outputs, np.float32)
    last = _last(policy)
    for i in range(n):
        start, square = seen(origin(moves[at(i)]), turn), seen(target(moves[at(i)]), turn)
        pair = SQUARES * start + square
        logits[at(i)] = biases[at(pair)] + dot(last, by_pair[at(pair)])
