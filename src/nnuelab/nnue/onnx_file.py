"""Float nets as ONNX, for programs that read it. The model takes features, not positions.

Inputs: ``own`` and ``other``, float32 [B, N], 1 for each feature that is active as the side to move
sees the board and as the other does; of a net with buckets ``pieces``, int64 [B], on the board.
Output: ``centipawns``, float32 [B], for the side to move.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.nnue.layers import LEVELS, MAX_PIECES, PRODUCT_SHIFT
from nnuelab.nnue.network import CENTIPAWNS, Network

OPSET = 18  # of the operators, of 2022


class _Graph:
    """A graph under construction: nodes by what they compute, constants by what they are."""

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self._make, self._tensor = helper.make_node, numpy_helper.from_array
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: object, dtype: type = np.float32) -> str:
        """The name of an array."""
        name = f"constant{len(self.constants)}"
        self.constants.append(self._tensor(np.asarray(value, dtype), name))
        return name

    def __call__(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """The name of what an operator computes."""
        name = name or f"value{len(self.nodes)}"
        self.nodes.append(self._make(operator, inputs, [name], **attributes))
        return name

    def halves(self, values: str) -> tuple[str, str]:
        """The names of both halves of [B, n]."""
        both = f"{values}.one", f"{values}.other"
        self.nodes.append(self._make("Split", [values], both, axis=1, num_outputs=2))
        return both


def write(path: Path, network: Network, feature_set: str) -> None:
    """Writes a float net of such features.

    Raises
    ------
    UserError
        Where onnx isn't installed, or the net learnt with the rounding of the integer net.
    """
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise UserError(f"{path} needs the package onnx; pip install 'nnuelab[onnx]'") from None
    if network.shifts:
        raise UserError(
            f"the net rounds like its integer net, which {path} can't; convert the integer net, "
            "or train with fake_quantize_epochs: 0"
        )
    layers, graph = network.layers, _Graph()
    arrays = {name: value.numpy(force=True) for name, value in network.named_parameters()}
    arrays["w1"] = network.rows().numpy(force=True)
    sides = [
        _activated(graph, _linear(graph, side, arrays["w1"].T, arrays["b1"]), layers.first)
        for side in ("own", "other")
    ]
    inputs = [
        helper.make_tensor_value_info(side, TensorProto.FLOAT, ["B", layers.n_features])
        for side in ("own", "other")
    ]
    chosen = ""
    if layers.buckets > 1:
        inputs.append(helper.make_tensor_value_info("pieces", TensorProto.INT64, ["B"]))
        chosen = _bucket(graph, layers.buckets)
    value = graph("Concat", *sides, axis=1)
    for weights, biases in (("w2", "b2"), ("wh", "bh"))[: (layers.l2 > 0) + (layers.l3 > 0)]:
        value = _linear(graph, value, arrays[weights], arrays[biases])
        value = _activated(
            graph, _of_bucket(graph, value, chosen, layers.buckets), layers.activation
        )
    last = arrays["w3"].reshape(layers.buckets, -1)
    value = _of_bucket(graph, _linear(graph, value, last, arrays["b3"]), chosen, layers.buckets)
    value = graph("Squeeze", value, graph.constant([1], np.int64))
    if layers.psqt:
        difference = graph("Sub", "own", "other")
        value = graph("Add", value, graph("MatMul", difference, graph.constant(arrays["psqt"])))
    graph("Mul", value, graph.constant(CENTIPAWNS), name="centipawns")
    output = helper.make_tensor_value_info("centipawns", TensorProto.FLOAT, ["B"])
    made = helper.make_graph(graph.nodes, "nnue", inputs, [output], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)])
    model.producer_name, model.doc_string = "nnuelab", feature_set
    with artifacts.atomic(path) as temporary:
        temporary.write_bytes(model.SerializeToString())


def _linear(graph: _Graph, inputs: str, weights: np.ndarray, biases: np.ndarray) -> str:
    return graph("Gemm", inputs, graph.constant(weights), graph.constant(biases), transB=1)


def _activated(graph: _Graph, sums: str, activation: str) -> str:
    """What the next layer gets: the formulas of :class:`nnuelab.nnue.network.Network`."""
    clipped = graph("Clip", sums, graph.constant(0), graph.constant(1))
    if activation == "clipped":
        return clipped
    if activation == "pairwise":
        return graph("Mul", *graph.halves(clipped))
    square = graph("Mul", clipped, clipped)
    if activation == "squared":
        return square
    scaled = graph("Mul", square, graph.constant(LEVELS / 2**PRODUCT_SHIFT))
    return graph("Concat", scaled, clipped, axis=1)


def _bucket(graph: _Graph, buckets: int) -> str:
    """float32 [B, buckets, 1]: 1 for the bucket of so many pieces."""
    one, count, most = (graph.constant(n, np.int64) for n in (1, buckets, MAX_PIECES))
    bucket = graph("Div", graph("Mul", graph("Sub", "pieces", one), count), most)
    chosen = graph("OneHot", bucket, count, graph.constant([0, 1]), axis=-1)
    return graph("Unsqueeze", chosen, graph.constant([2], np.int64))


def _of_bucket(graph: _Graph, values: str, chosen: str, buckets: int) -> str:
    """Of the values of all buckets, [B, buckets * n], those of the one chosen, [B, n]."""
    if not chosen:
        return values
    shape = graph.constant([0, buckets, -1], np.int64)
    masked = graph("Mul", graph("Reshape", values, shape), chosen)
    return graph("ReduceSum", masked, graph.constant([1], np.int64), keepdims=0)
