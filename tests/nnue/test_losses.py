"""Losses: examples by hand, finite differences, torch's own, and what their signs mean."""

from __future__ import annotations

import math

import pytest
import torch

from nnuelab.nnue.losses import METHODS, PQR, Objective, Scores, Triplet, values

HALF = 361 * math.log(3)  # centipawns: an expected score of 3/4, squashed to 1/2


def triplet(p: float, q: float, r: float) -> torch.Tensor:
    """Centipawns of values -1/2, 0 and 1/2."""
    return torch.tensor([2 * HALF * value for value in (p, q, r)], dtype=torch.float64)


def test_scores_of_a_hand_computed_example() -> None:
    objective = Scores(exponent=2.6, output_scale=361, target_scale=410, score_share=0.75)
    # score 410 -> sigmoid(1) = 0.7310586; won: target 0.75 * 0.7310586 + 0.25 = 0.7982939
    # output 0 -> 0.5: |0.5 - 0.7982939|^2.6 = 0.0430572
    target = objective.target(torch.tensor([410.0, 410.0]), torch.tensor([1.0, 2.0]))
    assert target.tolist() == pytest.approx([0.7982939, 0.7310586], abs=1e-6)
    loss = objective.losses(torch.zeros(2), target)
    assert float(loss[0]) == pytest.approx(math.exp(2.6 * math.log(0.2982939)), rel=1e-5)
    assert float(loss[1]) == pytest.approx(0.2310586**2.6, rel=1e-5)


def test_values_are_squashed() -> None:
    p, q, r = values(torch.tensor([HALF, 0.0, -HALF, 1e6, -1e6, 0.0]), 361)
    assert p.tolist() == pytest.approx([0.5, 1])
    assert q.tolist() == pytest.approx([0, -1])
    assert r.tolist() == pytest.approx([-0.5, 0], abs=1e-7)


def test_pqr_of_hand_computed_examples() -> None:
    # r - q = 1/2: ln(1 + e^-0.5) = 0.4740770; p + q = 0: 2 ln 2 = 1.3862944
    loss = PQR().losses(triplet(0.5, -0.5, 0), torch.zeros(1))
    assert float(loss) == pytest.approx(0.4740770 + 1.3862944, abs=1e-6)
    # r - q = -1: ln(1 + e) = 1.3132617; p + q = 1: half of 0.3132617 + 1.3132617
    loss = PQR(kappa=0.5).losses(triplet(0.5, 0.5, -0.5), torch.zeros(1))
    assert float(loss) == pytest.approx(1.3132617 + 0.5 * 1.6265234, abs=1e-6)


def test_triplet_of_hand_computed_examples() -> None:
    objective = Triplet(margin=0.1)
    for values_, expected in [
        ((0.5, -0.5, 0), 0),  # |0| - |1/2| + 0.1 < 0
        ((0.5, 0.5, -0.5), 1.1),  # |1| - |0| + 0.1
        ((0, 0, 0), 0.1),
    ]:
        loss = objective.losses(triplet(*values_), torch.zeros(1))
        assert float(loss) == pytest.approx(expected, abs=1e-12)


def test_triplet_is_that_of_torch() -> None:
    output = 800 * torch.randn(3 * 50, generator=torch.Generator().manual_seed(1)).double()
    p, q, r = (value[:, None] for value in values(output, 361))
    expected = torch.nn.functional.triplet_margin_loss(
        p, -q, -r, margin=0.3, eps=0, reduction="none"
    )
    found = Triplet(margin=0.3).losses(output, torch.zeros(50))
    torch.testing.assert_close(found, expected)
    assert 0 < (found == 0).float().mean() < 1


@pytest.mark.parametrize("method", METHODS)
def test_gradients_agree_with_finite_differences(method: str) -> None:
    objective: Objective = METHODS[method]()
    output = torch.linspace(-900, 850, 12, dtype=torch.float64)
    output = output[torch.randperm(12, generator=torch.Generator().manual_seed(3))]
    target = torch.linspace(0.03, 0.9, 12 // objective.positions, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda x: objective.losses(x, target), (output.requires_grad_(),), eps=1e-3
    )


def test_a_better_move_lowers_the_loss() -> None:
    """Better for the mover is worse for the side that is to move in Q; r is the other way round."""
    output = triplet(0.1, -0.1, -0.1).requires_grad_()
    for objective in (PQR(), PQR(kappa=0)):
        (gradient,) = torch.autograd.grad(objective.losses(output, torch.zeros(1)).sum(), output)
        p, q, r = gradient.tolist()
        assert q > 0 > r
        assert p == pytest.approx(0, abs=1e-9)  # already -q


def test_pqr_wants_p_to_be_minus_q() -> None:
    output = triplet(0.3, 0.2, 0).requires_grad_()
    (gradient,) = torch.autograd.grad(PQR().losses(output, torch.zeros(1)).sum(), output)
    assert gradient[0] > 0


def test_the_triplet_loss_says_nothing_about_who_is_better() -> None:
    output = 800 * torch.randn(30, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(
        Triplet().losses(output, torch.zeros(10)), Triplet().losses(-output, torch.zeros(10))
    )
    assert (PQR().losses(output, torch.zeros(10)) != PQR().losses(-output, torch.zeros(10))).all()


def test_settings_of_two_methods_differ() -> None:
    described = [kind().described() for kind in METHODS.values()]
    assert [found["method"] for found in described] == ["scores", "pqr", "triplet"]
    assert described[1]["kappa"] == 1
