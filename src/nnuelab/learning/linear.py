"""A dense layer for autograd on a CPU by the kernels of :mod:`dense`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from nnuelab.jit import jit
from nnuelab.learning.dense import add_product, rounded_up
from nnuelab.learning.simd import LANES, ROWS


@jit
def _add_product(a, b, c):
    add_product(a, b, c)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b, float32."""
    rows, columns = a.shape[0], b.shape[1]
    c = np.zeros((rounded_up(rows, ROWS), rounded_up(columns, LANES)), np.float32)
    of_a, of_b = np.zeros((len(c), a.shape[1]), np.float32), np.zeros((len(b), c.shape[1]), c.dtype)
    of_a[:rows], of_b[:, :columns] = a, b
    _add_product(of_a, of_b, c)
    return c[:rows, :columns]


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *given: torch.Tensor) -> torch.Tensor:
        inputs, weights, biases = given
        ctx.save_for_backward(inputs, weights)
        return (
            torch.from_numpy(_product(inputs.detach().numpy(), weights.detach().numpy().T)) + biases
        )

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        inputs, weights = (tensor.detach().numpy() for tensor in ctx.saved_tensors)
        dz = gradients[0].numpy()
        back, of_weights = _product(dz, weights), _product(dz.T, inputs)
        return torch.from_numpy(back), torch.from_numpy(of_weights), gradients[0].sum(0)


def linear(inputs: torch.Tensor, weights: torch.Tensor, biases: torch.Tensor) -> torch.Tensor:
    """inputs @ weights.T + biases, [B, O]; of float32 on a CPU the same bits on every one.

    Parameters
    ----------
    inputs : float [B, I]
    weights : float [O, I]
    biases : float [O]
    """
    if inputs.device.type != "cpu" or inputs.dtype != torch.float32:
        return torch.addmm(biases, inputs, weights.T)
    found: torch.Tensor = _Linear.apply(inputs, weights, biases)
    return found
