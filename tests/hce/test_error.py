"""The error of weights against plain sums and finite differences; the same bits by any threads."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nnuelab.errors import UserError
from nnuelab.hce import error_kernels
from nnuelab.hce.error import Error, fit_k, sigmoid
from tests.hce import traces
from tests.naive import hce as naive
from tests.positions import random_fens


def weights_of(n: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 60, (n, 2))


def plain(trace, weights, k: float) -> float:
    """By the definition, one position after the other."""
    scores = []
    for i in range(len(trace)):
        mg = eg = 0.0
        for j in range(int(trace.starts[i]), int(trace.starts[i + 1])):
            mg += float(trace.counts[j]) * weights[trace.terms[j], 0]
            eg += float(trace.counts[j]) * weights[trace.terms[j], 1]
        p = int(trace.phase[i])
        scores.append((mg * p + eg * (24 - p)) / 24)
    return naive.mean_error(scores, trace.results.tolist(), k)


def test_a_toy_set_by_hand() -> None:
    """Two weights; a middlegame, an endgame and a position halfway."""
    trace = replace(
        traces.synthetic(3, 2),
        starts=np.array([0, 1, 3, 4], np.uint64),
        terms=np.array([0, 0, 1, 1], np.uint16),
        counts=np.array([1, -2, 1, 3], np.int8),
        phase=np.array([24, 0, 12], np.uint8),
        results=np.array([1.0, 0.0, 0.5], np.float32),
    )
    weights = np.array([[100.0, 50.0], [20.0, 40.0]])
    scores = [100.0, -2 * 50 + 40, 3 * (20 + 40) / 2]
    error = Error(trace, 1.0)
    assert error.scores(weights).tolist() == scores
    won = [1 / (1 + 10 ** (-s / 400)) for s in scores]
    by_hand = ((1 - won[0]) ** 2 + won[1] ** 2 + (0.5 - won[2]) ** 2) / 3
    assert error.value(weights) == pytest.approx(by_hand, abs=1e-15)
    # The endgame weight of the first term is in the second position alone, twice and negative.
    slope = math.log(10) / 400 * won[1] * (1 - won[1])
    assert error.gradient(weights)[1][0, 1] == pytest.approx(2 * won[1] * slope * -2 / 3, abs=1e-15)


def test_the_error_of_real_positions_is_that_of_their_evaluation(tmp_path) -> None:
    terms = traces.some_terms(tmp_path, seed=3)
    fens = random_fens(7, 120)
    results = (np.random.default_rng(7).integers(0, 3, len(fens)) / 2).tolist()
    trace = traces.made(tmp_path, terms, fens, results)
    scores = [naive.score(terms, fen) for fen in fens]
    error = Error(trace, 0.9)
    assert np.abs(error.scores(terms.weights) - scores).max() < 1e-3  # float32
    expected = naive.mean_error(scores, results, 0.9)
    assert error.value(terms.weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [1, 127, 128, 129, 3000])
def test_error_and_gradient_are_the_plain_sum(n: int) -> None:
    trace, weights = traces.synthetic(n, 70), weights_of(70)
    error = Error(trace, 1.2)
    value, _ = error.gradient(weights)
    assert value == error.value(weights)
    assert value == pytest.approx(plain(trace, weights, 1.2), abs=1e-12)


def test_no_position_is_left_out_at_the_ends_of_chunks() -> None:
    """Each counts once: with one result changed the error changes by what that one adds."""
    trace, weights = traces.synthetic(40_000, 30), weights_of(30)
    won = sigmoid(Error(trace, 1.0).scores(weights).astype(np.float64), 1.0)
    before = Error(trace, 1.0).value(weights)
    for i in (0, 127, 128, 16_383, 16_384, 32_767, 32_768, 39_999):
        results = trace.results.copy()
        results[i] = 1 - results[i] if results[i] != 0.5 else 1.0
        change = ((won[i] - results[i]) ** 2 - (won[i] - trace.results[i]) ** 2) / len(trace)
        after = Error(replace(trace, results=results), 1.0).value(weights)
        assert after - before == pytest.approx(change, rel=1e-4)


def test_gradients_are_finite_differences() -> None:
    trace, weights = traces.synthetic(2000, 40), weights_of(40)
    error = Error(trace, 1.3)
    _, gradient = error.gradient(weights)
    for place in np.ndindex(weights.shape):
        step = np.zeros_like(weights)
        step[place] = 1e-2
        difference = (error.value(weights + step) - error.value(weights - step)) / 2e-2
        assert gradient[place] == pytest.approx(difference, rel=1e-5, abs=1e-11), place


def test_the_normal_matrix_is_that_of_the_derivatives() -> None:
    trace, weights = traces.synthetic(700, 12), weights_of(12)
    error = Error(trace, 0.8)
    found, right = error.normal(weights)
    won = sigmoid(error.scores(weights).astype(np.float64), 0.8)
    jacobian = np.zeros((len(trace), 12, 2))
    for i in range(len(trace)):
        cut = slice(int(trace.starts[i]), int(trace.starts[i + 1]))
        share = trace.phase[i] / 24
        slope = 0.8 / 400 * np.log(10) * won[i] * (1 - won[i])
        jacobian[i, trace.terms[cut]] = (
            trace.counts[cut, None] * slope * np.array([share, 1 - share])
        )
    jacobian = jacobian.reshape(len(trace), 24)
    expected = jacobian.T @ jacobian / len(trace)
    assert np.abs(found - expected).max() < 1e-6 * np.abs(expected).max()
    assert (found == found.T).all()
    residuals = jacobian.T @ (won - trace.results) / len(trace)
    assert np.abs(right - residuals).max() < 1e-6 * np.abs(residuals).max()


def test_any_number_of_threads_gives_the_same_bits() -> None:
    trace, weights = traces.synthetic(70_000, 50), weights_of(50)
    one = Error(trace, 1.0, threads=1)
    for threads in (2, 3, 5):
        other = Error(trace, 1.0, threads)
        assert other.value(weights) == one.value(weights)
        assert (other.gradient(weights)[1] == one.gradient(weights)[1]).all()
        assert (other.scores(weights) == one.scores(weights)).all()
        assert (other.normal(weights)[0] == one.normal(weights)[0]).all()


def test_colours_turned_leave_the_error_as_it_is() -> None:
    trace, weights = traces.synthetic(5000, 40), weights_of(40)
    turned = replace(trace, counts=-trace.counts, results=1 - trace.results)
    first, second = Error(trace, 1.0), Error(turned, 1.0)
    assert second.value(weights) == pytest.approx(first.value(weights), abs=1e-14)
    assert second.gradient(weights)[1] == pytest.approx(first.gradient(weights)[1], abs=1e-16)


def test_a_part_is_the_error_of_its_positions() -> None:
    trace, weights = traces.synthetic(3000, 40), weights_of(40)
    error = Error(trace, 1.0)
    parts = [error.part(start, start + 1000) for start in range(0, 3000, 1000)]
    assert np.mean([p.value(weights) for p in parts]) == pytest.approx(error.value(weights))
    gradients = np.mean([p.gradient(weights)[1] for p in parts], axis=0)
    assert gradients == pytest.approx(error.gradient(weights)[1], rel=1e-9, abs=1e-18)
    assert len(parts[1]) == 1000


def test_k_has_the_least_error_of_a_grid() -> None:
    """Results are drawn by a K, which is found again."""
    trace, weights = traces.synthetic(20_000, 40), weights_of(40)
    scores = Error(trace, 1.0).scores(weights)
    won = sigmoid(scores.astype(np.float64), 1.7)
    draws = np.random.default_rng(3).random((2, len(trace)))
    trace = replace(trace, results=(draws < won).mean(axis=0).astype(np.float32))
    k = fit_k(trace, weights, threads=2)
    assert k == pytest.approx(1.7, rel=0.05)
    grid = k * np.exp(np.linspace(-0.5, 0.5, 41))
    assert np.argmin([Error(trace, k).value(weights) for k in grid]) == 20
    assert fit_k(trace, weights / 100) == pytest.approx(100 * k, rel=1e-4)  # pawns


def test_no_k_fits_scores_that_say_nothing() -> None:
    trace, weights = traces.synthetic(500, 20), weights_of(20)
    with pytest.raises(UserError, match="no K fits"):
        fit_k(trace, np.zeros((20, 2)))
    lost = (Error(trace, 1.0).scores(weights) < 0).astype(np.float32)
    with pytest.raises(UserError, match="no K fits"):
        fit_k(replace(trace, results=lost), weights)


def test_nothing_can_be_learnt_of_nothing() -> None:
    with pytest.raises(UserError, match="no positions"):
        Error(traces.synthetic(10, 20), 1.0).part(3, 3)
    with pytest.raises(ValueError, match="weights for"):
        Error(traces.synthetic(10, 20), 1.0).value(np.zeros((19, 2)))


def test_powers_of_two_are_those_of_numpy() -> None:
    x = np.concatenate(
        [np.linspace(-1000, 1000, 100_001), np.linspace(-1, 1, 100_001), [0.5, -0.5]]
    )
    found = np.array([error_kernels.power_of_two(value) for value in x[::20].tolist()])
    exact = np.exp2(x[::20])
    assert np.abs(found / exact - 1).max() < 5e-16
