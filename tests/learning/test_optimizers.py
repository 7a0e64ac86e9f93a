"""Optimizers against torch's AdamW, and against slow twins."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from nnuelab.learning.first_layer import FirstLayers
from nnuelab.learning.optimizers import BETAS, EPS, DenseAdam, RowAdam
from nnuelab.learning.parallel import Threads
from nnuelab.learning.simd import COLUMNS

N, M = 1300, 100


def layers_with(rows: np.ndarray, gradient: np.ndarray, threads: int = 1) -> FirstLayers:
    """As a batch leaves them whose rows have this gradient [D, M]."""
    layers = FirstLayers(N, M, 8, Threads(threads))
    layers.present = rows.astype(np.int32)
    layers.ranks[:] = -1
    layers.ranks[rows] = np.arange(len(rows))
    layers.gradient = np.zeros((-(-M // COLUMNS), len(rows), COLUMNS), np.float32)
    for first in range(0, M, COLUMNS):
        part = gradient[:, first : first + COLUMNS]
        layers.gradient[first // COLUMNS, :, : part.shape[1]] = part
    return layers


def steps(count: int) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Rows, their gradient and the learning rate: some rows never come, some come once."""
    rng = np.random.default_rng(0)
    found = []
    for step in range(count):
        rows = np.sort(rng.choice(N // 2, 40, replace=False))
        gradient = (rng.standard_normal((40, M)) * 10.0 ** rng.integers(-6, 2)).astype(np.float32)
        found.append((rows, gradient, 1e-3 * 0.9**step))
    return found


@pytest.mark.parametrize("decay", [0.0, 3.0])
def test_adam_is_adamw_of_torch(decay: float) -> None:
    weight = torch.randn(N, M, generator=torch.Generator().manual_seed(1))
    theirs = weight.clone().requires_grad_()
    oracle = torch.optim.AdamW([theirs], betas=BETAS, eps=EPS, weight_decay=decay)
    ours = RowAdam(weight, rowwise=False, decay=decay)
    for rows, gradient, rate in steps(30):
        theirs.grad = torch.zeros(N, M)
        theirs.grad[rows] = torch.from_numpy(gradient)
        oracle.param_groups[0]["lr"] = rate
        oracle.step()
        ours.step(layers_with(rows, gradient), rate)
    torch.testing.assert_close(weight, theirs.detach(), rtol=1e-5, atol=1e-7)
    state = oracle.state[theirs]
    torch.testing.assert_close(torch.from_numpy(ours.m), state["exp_avg"], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(torch.from_numpy(ours.v), state["exp_avg_sq"], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("decay", [0.0, 3.0])
def test_dense_adam_has_the_bits_of_torch(decay: float) -> None:
    """Also where a parameter has no gradient for some steps, and after its state was kept."""
    generator = torch.Generator().manual_seed(2)
    ours = [torch.randn(shape, generator=generator) for shape in ((40, 7), (7,), (3,))]
    theirs = [each.clone().requires_grad_() for each in ours]
    for each in ours:
        each.requires_grad_()
    options = {"betas": BETAS, "eps": EPS, "weight_decay": decay, "fused": True}
    oracle, optimizer = torch.optim.AdamW(theirs, **options), DenseAdam(ours, 1e-3, decay)
    for step in range(30):
        optimizer.zero_grad()
        oracle.zero_grad()
        oracle.param_groups[0]["lr"] = rate = 1e-2 * 0.9**step
        optimizer.set_rate(rate)
        for i, (own, other) in enumerate(zip(ours, theirs, strict=True)):
            if i < 2 or step % 3:
                own.grad = torch.randn(own.shape, generator=generator)
                other.grad = own.grad.clone()
        optimizer.step()
        oracle.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
        if step == 10:
            optimizer = DenseAdam(ours, 1e-3, decay)
            optimizer.load_state_dict(oracle.state_dict())  # of a checkpoint from before
        if step == 20:
            kept, optimizer = optimizer.state_dict(), DenseAdam(ours, 1e-3, decay)
            optimizer.load_state_dict(kept)


def test_dense_adam_leaves_the_compiler_of_torch_alone() -> None:
    code = (
        "import sys, torch; from nnuelab.learning.optimizers import DenseAdam\n"
        "weight = torch.ones(3, requires_grad=True); weight.sum().backward()\n"
        "DenseAdam([weight], 1e-3).step(); sys.exit('torch._dynamo' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rowwise_adam_is_its_formula() -> None:
    weight = torch.randn(N, M, generator=torch.Generator().manual_seed(1))
    w, m, v = weight.double().numpy().copy(), np.zeros((N, M)), np.zeros(N)
    ours = RowAdam(weight, rowwise=True, decay=3.0)
    for t, (rows, gradient, rate) in enumerate(steps(30), 1):
        ours.step(layers_with(rows, gradient), rate)
        for row, g in zip(rows, gradient.astype(np.float64), strict=True):
            m[row] = BETAS[0] * m[row] + (1 - BETAS[0]) * g
            v[row] = BETAS[1] * v[row] + (1 - BETAS[1]) * (g**2).mean()
            denominator = (v[row] / (1 - BETAS[1] ** t)) ** 0.5 + EPS
            w[row] -= rate * (3.0 * w[row] + m[row] / (1 - BETAS[0] ** t) / denominator)
    np.testing.assert_allclose(weight.numpy(), w, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rowwise", [False, True])
def test_threads_and_interruptions_change_no_bit(rowwise: bool) -> None:
    found = []
    for threads, stop in ((1, None), (3, None), (1, 7)):
        weight = torch.randn(N, M, generator=torch.Generator().manual_seed(1))
        optimizer = RowAdam(weight, rowwise)
        for step, (rows, gradient, rate) in enumerate(steps(15)):
            if step == stop:
                state = {
                    name: value.clone() if isinstance(value, torch.Tensor) else value
                    for name, value in optimizer.state_dict().items()
                }
                optimizer = RowAdam(weight, rowwise)
                optimizer.load_state_dict(state)
            optimizer.step(layers_with(rows, gradient, threads), rate)
        found.append(weight)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
