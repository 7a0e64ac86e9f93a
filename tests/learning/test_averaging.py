"""Averages of weights against sums over all steps, and what they are for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from nnuelab.learning.averaging import EVERY, FINEST, Average


def walk(steps: int) -> np.ndarray:
    """Weights after each step, float64 [steps, 3]."""
    return np.random.default_rng(steps).standard_normal((steps, 3)).cumsum(axis=0)


def averaged(weights: np.ndarray, share: float) -> Average[nn.Linear]:
    model = nn.Linear(3, 1, bias=False)
    average = Average(model, share)
    for step in weights:
        with torch.no_grad():
            model.weight.copy_(torch.from_numpy(step)[None])
        average.step(model)
    return average


def found(average: Average[nn.Linear]) -> np.ndarray:
    return average.model.weight.numpy()[0]


@given(st.integers(1, FINEST - 1), st.floats(0.01, 1))
def test_a_short_run_is_a_weighted_mean_of_all_steps(steps: int, share: float) -> None:
    weights, power = walk(steps), 2 / share - 1
    ends = (np.arange(steps + 1) / steps) ** power
    expected = np.diff(ends) @ weights
    np.testing.assert_allclose(found(averaged(weights, share)), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_its_age_is_that_of_the_last_share_of_the_run(share: float) -> None:
    """Weights that are the number of their step have an average that tells its mean age."""
    for steps in (FINEST // 2, 5 * FINEST, 40 * FINEST):
        weights = np.arange(1.0, steps + 1)[:, None].repeat(3, 1)
        plain = weights[round(steps * (1 - share)) :].mean()
        assert found(averaged(weights, share))[0] == pytest.approx(plain, abs=EVERY)


def test_noise_around_a_point_is_averaged_out() -> None:
    noise = np.random.default_rng(1).standard_normal((40 * FINEST, 3))
    assert np.abs(found(averaged(noise, 1.0))).max() < 4 / np.sqrt(len(noise) / EVERY)


def test_it_never_lags_by_more_than_a_hundredth_of_a_run() -> None:
    average = Average(nn.Linear(3, 1), 0.2)
    model = nn.Linear(3, 1)
    for _ in range(40 * FINEST):
        average.step(model)
        assert average.steps - average.taken <= min(EVERY - 1, average.steps // FINEST)
