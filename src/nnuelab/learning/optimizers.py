"""AdamW: for dense parameters, and for the first layer, where a batch has few rows' gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.optim.adamw import adamw

from nnuelab.jit import at, jit
from nnuelab.learning.first_layer import FirstLayers
from nnuelab.learning.simd import COLUMNS

BETAS, EPS = (0.9, 0.999), 1e-8  # torch's defaults
_CHUNK = 512  # rows of one task


@jit
def adam(weight, m, v, seen, gradient, spans, ranks, start, stop, keep, rate, root, betas, eps):
    """A step of AdamW (Loshchilov and Hutter, 2019) for rows start..stop.

    A row without a gradient has one of 0: its moments decay, and it goes on by them. Only a row
    that never had one stays where it is, but for the decay of weights.

    Parameters
    ----------
    weight, m, v : float32[N, M], changed
    seen : bool[N], changed
        Rows that ever had a gradient.
    gradient : float32[panels, D, 64]
    spans : int64[panels, 2]
        First column of each panel, and how many it has.
    ranks : int32[N]
        Which row of the gradient is whose; -1 for none.
    keep : float32
        1 - learning rate * weight decay.
    rate : float32
        Learning rate / (1 - beta1^t).
    root : float32
        sqrt(1 - beta2^t).
    betas : float32[4]
        beta1, 1 - beta1, beta2, 1 - beta2.
    """
    beta1, rest1, beta2, rest2 = betas[0], betas[1], betas[2], betas[3]
    columns = weight.shape[1]
    nothing = np.zeros(COLUMNS, np.float32)
    for f in range(start, stop):
        rank = np.int64(ranks[f])
        if rank < 0 and not seen[f]:
            if keep != 1:
                for j in range(columns):
                    weight[f, at(j)] *= keep
            continue
        seen[f] = True
        for panel in range(gradient.shape[0]):
            first, n = spans[panel]
            g = gradient[panel, rank] if rank >= 0 else nothing
            w_part, m_part, v_part = weight[f, first:], m[f, first:], v[f, first:]
            for j in range(n):
                k = at(j)
                m_part[k] = beta1 * m_part[k] + rest1 * g[k]
                v_part[k] = beta2 * v_part[k] + rest2 * g[k] * g[k]
                step = rate * m_part[k] / (np.sqrt(v_part[k]) / root + eps)
                w_part[k] = keep * w_part[k] - step


@jit
def rowwise_adam(weight, m, v, present, gradient, spans, start, stop, keep, rate, root, betas, eps):
    """A step for rows present[start:stop], with one second moment for a whole row (``v``, float32
    [N]): the mean of its squares. Rows without a gradient stay as they are, moments included. See
    `adam`.
    """
    beta1, rest1, beta2, rest2 = betas[0], betas[1], betas[2], betas[3]
    columns = weight.shape[1]
    for rank in range(start, stop):
        f = np.int64(present[rank])
        total = np.float32(0)
        for panel in range(gradient.shape[0]):
            g = gradient[panel, rank]
            for j in range(COLUMNS):
                total += g[at(j)] * g[at(j)]
        if total == 0:  # small tables, and those of several processes, are taken as a whole
            continue
        v[f] = beta2 * v[f] + rest2 * total / np.float32(columns)
        factor = rate / (np.sqrt(v[f]) / root + eps)
        for panel in range(gradient.shape[0]):
            first, n = spans[panel]
            g = gradient[panel, rank]
            w_part, m_part = weight[f, first:], m[f, first:]
            for j in range(n):
                k = at(j)
                m_part[k] = beta1 * m_part[k] + rest1 * g[k]
                w_part[k] = keep * w_part[k] - factor * m_part[k]


class RowAdam:
    """AdamW for a table of rows, or the row-wise variant; the same bits for any number of threads.

    ``rowwise-adam`` is another optimizer, for tables of tens of thousands of rows: rows that a
    batch doesn't have are left alone (as in torch's SparseAdam), and the second moment is one
    number for each row (as in FBGEMM's partial row-wise Adam).

    Parameters
    ----------
    weight : float32 [N, M]
    rowwise : bool
    decay : float
        Of weights.
    """

    def __init__(self, weight: torch.Tensor, rowwise: bool, decay: float = 0.0) -> None:
        self.weight, self.rowwise, self.decay, self.steps = weight, rowwise, decay, 0
        n = weight.shape[0]
        self.m = np.zeros(weight.shape, np.float32)
        self.v = np.zeros(n if rowwise else weight.shape, np.float32)
        self._seen = np.zeros(n, np.bool_)

    def step(self, layers: FirstLayers, rate: float) -> None:
        """One step by the gradient that ``layers`` holds."""
        self.steps += 1
        weight = self.weight.detach().numpy()
        beta1, beta2 = BETAS
        betas = np.array([beta1, 1 - beta1, beta2, 1 - beta2], np.float32)
        with np.errstate(over="ignore"):  # the loss will tell of a rate that is beyond all measure
            scaled = np.float32(rate / (1 - beta1**self.steps))
            keep = np.float32(1 - rate * self.decay)
        scalars = keep, scaled, np.float32((1 - beta2**self.steps) ** 0.5), betas, np.float32(EPS)

        def some(start: int) -> None:
            if self.rowwise:
                rows = self.m, self.v, layers.present, layers.gradient, layers.spans
                stop = min(start + _CHUNK, len(layers.present))
                rowwise_adam(weight, *rows, start, stop, *scalars)
            else:
                rest = self.m, self.v, self._seen, layers.gradient, layers.spans, layers.ranks
                adam(weight, *rest, start, min(start + _CHUNK, len(weight)), *scalars)

        count = len(layers.present) if self.rowwise else len(weight)
        for _ in layers.threads.map(some, range(0, count, _CHUNK)):
            pass

    def state_dict(self) -> dict[str, int | torch.Tensor]:
        """All that the next step depends on."""
        m, v = torch.from_numpy(self.m), torch.from_numpy(self.v)
        return {"steps": self.steps, "m": m, "v": v, "seen": torch.from_numpy(self._seen)}

    def load_state_dict(self, state: dict[str, int | torch.Tensor]) -> None:
        """Goes on from there."""
        self.steps = int(state["steps"])
        for name, array in (("m", self.m), ("v", self.v), ("seen", self._seen)):
            tensor = state[name]
            assert isinstance(tensor, torch.Tensor)
            array[:] = tensor.numpy()


class DenseAdam:
    """`torch.optim.AdamW` by its own fused kernel, bit for bit, with the same state in checkpoints.

    To make one of torch's takes two seconds, in which torch imports its compiler.

    Parameters
    ----------
    parameters : iterable of Tensor
        Those that are moved; one without a gradient stays as it is.
    rate : float
        Learning rate; on a GPU it is kept there, where a graph of steps reads it.
    decay : float
        Of weights.
    """

    def __init__(
        self,
        parameters: Iterable[torch.Tensor],
        rate: float,
        decay: float = 0.0,
    ) -> None:
        self.parameters, self.decay = list(parameters), decay
        device = self.parameters[0].device
        self._rate = torch.tensor(rate, device=device) if device.type == "cuda" else rate
        self._state = [
            {
                "step": torch.zeros((), device=each.device),
                "exp_avg": torch.zeros_like(each, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(each, requires_grad=False),
            }
            for each in self.parameters
        ]

    def set_rate(self, rate: float) -> None:
        """Sets the learning rate of the steps from now on."""
        if isinstance(self._rate, torch.Tensor):
            self._rate.fill_(rate)
        else:
            self._rate = rate

    def zero_grad(self) -> None:
        """Forgets the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Moves each parameter against its gradient."""
        moved = [
            (parameter, parameter.grad, *state.values())
            for parameter, state in zip(self.parameters, self._state, strict=True)
            if parameter.grad is not None
        ]
        parameters, gradients, steps, m, v = map(list, zip(*moved, strict=True))
        adamw(
            parameters,
            gradients,
            m,
            v,
            [],
            steps,
            fused=True,
            capturable=isinstance(self._rate, torch.Tensor),
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=self._rate,
            weight_decay=self.decay,
            eps=EPS,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """All that the next step depends on, under torch's names."""
        return {"state": {i: dict(state) for i, state in enumerate(self._state)}}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Goes on from there."""
        for i, state in saved["state"].items():
            for name, tensor in self._state[i].items():
                tensor.copy_(state[name])
