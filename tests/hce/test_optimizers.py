"""What each optimiser reaches on positions whose best weights are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.stats import spearmanr

from nnuelab.errors import UserError
from nnuelab.hce import genome, history, linear, optimizers, parameters, population
from nnuelab.hce.objective import Objective
from nnuelab.hce.optimizers import Optimizer, State
from nnuelab.hce.uncertainty import standard_errors
from nnuelab.settings.tuning import Tuning
from tests.hce import simulated
from tests.hce.simulated import K
from tests.naive import hce as naive

BEST = np.random.default_rng(5).integers(-50, 51, (6, 2)).astype(float)
ALL = ("pbil", "ga", "adam", "gauss-newton", "lbfgs", "local")
WITH_BITS = ("pbil", "ga")


def objective(trace=None, weights=None, **more) -> Objective:
    """From 0, on positions that were drawn with BEST."""
    made = simulated.trace(BEST) if trace is None else trace
    start = simulated.evaluation(np.zeros((made.n_weights, 2)) if weights is None else weights)
    free = parameters.choose(start, made.coverage() > 0)
    return Objective(made, K, free, **more)


def optimizer(name: str, of: Objective, generations: int = 0, seed: int = 1, **more) -> Optimizer:
    made = genome.design(of.start) if name in WITH_BITS else None
    settings = Tuning(optimizer=name, **more)
    return optimizers.create(of, settings, seed, generations or optimizers.usual(name), made)


def run(made: Optimizer) -> list[State]:
    states = []
    for _ in range(made.generations):
        states.append(made.step())
        if states[-1].converged:
            break
    return states


@pytest.mark.parametrize("name", ALL)
def test_each_reaches_the_lowest_error(name: str) -> None:
    of = objective()
    lowest = optimize.minimize(
        of.gradient, of.start, jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-9}
    ).fun
    made = optimizer(name, of, 150 if name in WITH_BITS else 0)
    states = run(made)
    reached = of.value(made.numbers)
    assert reached < of.value(of.start) * 0.95
    assert lowest * (1 - 1e-6) < reached < lowest * (1.002 if name in WITH_BITS else 1.0001)
    assert states[-1].numbers.tolist() == made.numbers.tolist()
    assert all(state.best <= state.mean + 1e-12 for state in states)
    assert (states[-1].bits is not None) == (name in WITH_BITS)


@pytest.mark.parametrize("name", ["gauss-newton", "lbfgs", "local"])
def test_those_that_know_their_minimum_end_there(name: str) -> None:
    states = run(optimizer(name, objective()))
    assert states[-1].converged
    assert len(states) < optimizers.usual(name)


@pytest.mark.parametrize("name", ALL)
def test_a_run_goes_on_from_what_it_saved(name: str) -> None:
    of = objective()
    whole = optimizer(name, of, 6)
    parts = optimizer(name, of, 6)
    for _ in range(6):
        state = whole.step()
        other = optimizer(name, objective(), 6)
        other.restore({n: np.copy(v) if np.ndim(v) else v for n, v in parts.saved().items()})
        parts, again = other, other.step()
        assert again.best == state.best
        assert again.numbers.tobytes() == state.numbers.tobytes()


def test_batches_of_adam_reach_it_too() -> None:
    of = objective()
    exact = run(optimizer("gauss-newton", of))[-1].best
    made = optimizer("adam", of, 30, batch_size=500)
    run(made)
    assert made.steps == 30 * 12
    assert of.value(made.numbers) < exact * 1.001


def test_growing_steps_get_there_in_fewer_sweeps() -> None:
    one, growing = (run(optimizer("local", objective(), growing=g)) for g in (False, True))
    assert len(growing) < len(one)
    assert growing[-1].best == pytest.approx(one[-1].best, rel=1e-4)


def test_entropy_of_pbil_falls() -> None:
    states = run(optimizer("pbil", objective(), 60))
    falls = [history.of_bits(state.bits)["entropy_percent"] for state in states]
    assert spearmanr(range(len(falls)), falls).statistic < -0.9
    assert spearmanr(range(len(falls)), [s.mean for s in states]).statistic < -0.9


def test_a_weight_without_a_say_is_driven_to_zero_by_magnitudes() -> None:
    """Of 6 weights three are worth nothing: their high bits end at 0."""
    best = BEST.copy()
    best[3:] = 0
    of = objective(simulated.trace(best, 12_000))
    made = optimizers.create(
        of,
        Tuning(),
        1,
        150,
        genome.design(of.start, "magnitude", given=dict.fromkeys(range(12), 6)),
    )
    states = run(made)
    high = states[-1].bits.reshape(12, 6)[6:, 0]
    assert (high < 0.1).all()
    assert np.abs(made.numbers[6:]).max() < 10


def test_certainty_begins_at_the_bits_of_the_start() -> None:
    of = objective(weights=BEST)
    first = run(optimizer("pbil", of, 1, certainty=0.99))[0]
    assert first.mean == pytest.approx(of.value(of.start), rel=0.1)
    assert run(optimizer("pbil", of, 1))[0].mean > 1.3 * first.mean


def test_gauss_newton_finds_the_weights_within_their_errors() -> None:
    """Of 12 standardised differences the sum of squares is chi-square: 0.1 % are beyond 33."""
    of = objective(simulated.trace(BEST, 20_000, seed=3))
    made = optimizer("gauss-newton", of)
    run(made)
    z = (made.numbers - BEST.ravel()) / standard_errors(of, made.numbers)
    assert np.sum(z**2) < 33


@pytest.mark.parametrize("per_game", [1, 4])
def test_intervals_cover(per_game: int) -> None:
    """95 % intervals on 60 samples hold the truth: of 240 at least 216, also for shared results."""
    best, held, widths = BEST[:2], 0, []
    for seed in range(60):
        of = objective(simulated.trace(best, 800, seed=seed, per_game=per_game))
        made = optimizer("gauss-newton", of)
        run(made)
        errors = standard_errors(of, made.numbers)
        widths.append(errors.mean())
        held += int((np.abs(made.numbers - best.ravel()) < 1.96 * errors).sum())
    assert 216 <= held < 240


def test_standard_errors_equal_the_dense_sandwich() -> None:
    trace = simulated.trace(BEST, 300, per_game=2)
    of = objective(trace)
    made = optimizer("gauss-newton", of)
    run(made)
    found = standard_errors(of, made.numbers)
    dense = naive.sandwich(trace, K, made.numbers.reshape(-1, 2))
    np.testing.assert_allclose(found, dense, rtol=1e-6)


def test_nothing_is_known_of_one_of_two_twins() -> None:
    """Two terms that always stand together: only their sum is known, and no optimiser breaks."""
    best = np.vstack([BEST, BEST[-1:]])
    of = objective(simulated.trace(best, twins=True))
    made = optimizer("gauss-newton", of)
    run(made)
    errors = standard_errors(of, made.numbers)
    assert np.isnan(errors[-4:]).all()
    assert np.isfinite(errors[:-4]).all()
    # Equal steps share the sum equally; half of what the two are worth is in each.
    found = made.numbers.reshape(-1, 2)
    np.testing.assert_allclose(found[-1], found[-2], atol=1e-3)
    alone = objective(simulated.trace(best, twins=True), l2=1e-6, towards="zero")
    pulled = optimizer("gauss-newton", alone)
    run(pulled)
    assert np.isfinite(standard_errors(alone, pulled.numbers)).all()


def test_a_penalty_pulls_home() -> None:
    start = BEST + 20
    reached = {}
    for l2, towards in ((0.0, "start"), (100.0, "start"), (100.0, "zero")):
        of = objective(weights=start, l2=l2, towards=towards)
        made = optimizer("gauss-newton", of)
        run(made)
        reached[l2, towards] = made.numbers
    assert np.abs(reached[100.0, "start"] - start.ravel()).max() < 3
    assert np.abs(reached[100.0, "zero"]).max() < 5
    assert np.abs(reached[0.0, "start"] - BEST.ravel()).max() < 30


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_the_slope_equals_differences(l2: float) -> None:
    of = objective(weights=BEST, l2=l2, towards="zero")
    numbers = of.start + 3.0
    value, slope = of.gradient(numbers)
    assert value == pytest.approx(of.value(numbers), rel=1e-12)
    for i in range(of.parameters.n):
        step = np.eye(of.parameters.n)[i] * 1e-3
        difference = (of.value(numbers + step) - of.value(numbers - step)) / 2e-3
        assert slope[i] == pytest.approx(difference, abs=1e-9)


def test_a_population_has_the_errors_of_its_members() -> None:
    trace = simulated.trace(BEST, 700)
    weights = np.random.default_rng(1).integers(-900, 900, (5, 6, 2)).astype(float)
    found = population.errors(trace, K, weights)
    exact = [naive.squared_error(trace, K, own) for own in weights]
    np.testing.assert_allclose(found, exact, rtol=2e-6)


def test_threads_do_not_change_a_bit() -> None:
    trace = simulated.trace(BEST, 40_000)
    weights = np.random.default_rng(1).integers(-90, 90, (8, 6, 2)).astype(float)
    found = [population.errors(trace, K, weights, threads).tobytes() for threads in (1, 2, 3)]
    assert len(set(found)) == 1


def test_solve_equals_numpy() -> None:
    random = np.random.default_rng(1)
    a = random.normal(size=(50, 50))
    matrix, right = a @ a.T + np.eye(50), random.normal(size=50)
    np.testing.assert_allclose(linear.solve(matrix, right), np.linalg.solve(matrix, right))
    several = random.normal(size=(50, 3))
    np.testing.assert_allclose(linear.solve(matrix, several), np.linalg.solve(matrix, several))
    assert linear.solve(-matrix, right) is None


# Parameters ---------------------------------------------------------------------------------------


def free(sizes: tuple[int, ...], hit=None, **more) -> parameters.Parameters:
    start = simulated.evaluation(np.arange(2 * sum(sizes)).reshape(-1, 2), sizes)
    return parameters.choose(start, np.ones((sum(sizes), 2), bool) if hit is None else hit, **more)


def test_cells_that_no_position_hits_stay() -> None:
    hit = np.ones((3, 2), bool)
    hit[1] = hit[2, 0] = False
    found = free((1, 1, 1), hit)
    assert found.cells.tolist() == [[0, 1], [-1, -1], [-1, 2]]
    assert found.weights(np.array([9.0, 8.0, 7.0])).tolist() == [[9, 8], [2, 3], [4, 7]]


def test_ties_and_frozen_terms() -> None:
    assert free((2, 2), tie=["mg=eg"]).cells.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert free((1, 1), tie=["term_1"]).cells.tolist() == [[0, 1], [2, 2]]
    tied = free((2, 2), tie=["term_0=term_1"])
    assert tied.cells.tolist() == [[0, 1], [2, 3], [0, 1], [2, 3]]
    assert tied.start.tolist() == [[0, 1], [2, 3], [0, 1], [2, 3]]
    assert free((2, 1), tie=["term_0[kind 1]=term_1"]).cells.tolist() == [[0, 1], [2, 3], [2, 3]]
    assert free((1, 2), freeze=["term_1[kind 0]"]).cells.tolist() == [[0, 1], [-1, -1], [2, 3]]


def test_derivatives_of_tied_cells_add_up() -> None:
    tied = free((1, 1, 1), tie=["term_0=term_2"], freeze=["term_1"])
    gradient = np.arange(6.0).reshape(3, 2)
    assert tied.gradient(gradient).tolist() == [0 + 4, 1 + 5]
    choice = np.zeros((6, 2))
    choice[[0, 4], 0] = choice[[1, 5], 1] = 1
    random = np.random.default_rng(1).normal(size=(6, 6))
    np.testing.assert_allclose(tied.matrix(random), choice.T @ random @ choice)
    alone = free((1, 1, 1), freeze=["term_1"])
    assert alone.matrix(random).tolist() == random[np.ix_([0, 1, 4, 5], [0, 1, 4, 5])].tolist()


def test_tuning_with_ties_is_tuning_of_fewer_numbers() -> None:
    made = simulated.trace(BEST)
    start = simulated.evaluation(np.zeros((6, 2)))
    tied = parameters.choose(start, made.coverage() > 0, tie=["mg=eg"])
    of = Objective(made, K, tied)
    for name in ALL:
        own = optimizer(name, of, 60 if name in WITH_BITS else 0)
        run(own)
        assert own.numbers.shape == (6,)
        both = tied.weights(own.numbers)
        assert (both[:, 0] == both[:, 1]).all()
        assert of.value(own.numbers) < of.value(of.start)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"freeze": ["term_9"]}, r"no term or weight 'term_9'; did you mean term_\d\?"),
        ({"tie": ["term_0=term_1"]}, "1 weights can't be tied to 2"),
        ({"freeze": ["term_0", "term_1"]}, "no weight is left to tune"),
    ],
)
def test_settings_that_fit_no_evaluation(more: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        free((1, 2), **more)
