"""Learning rates against torch's own schedulers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import get_args, get_type_hints

import pytest
import torch
from torch.optim import lr_scheduler

from nnuelab.learning.schedules import factor
from nnuelab.settings.train import Training

SCHEDULES = get_args(get_type_hints(Training)["schedule"])
PER_EPOCH, EPOCHS = 7, 10
TOTAL = PER_EPOCH * EPOCHS


def rates(make: Callable[[torch.optim.Optimizer], lr_scheduler.LRScheduler]) -> list[float]:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no step was made: only rates are asked
        scheduler = make(optimizer)
        for _ in range(TOTAL):
            found.append(optimizer.param_groups[0]["lr"])
            scheduler.step()
    return found


ORACLES = {
    "step": lambda o: lr_scheduler.StepLR(o, PER_EPOCH, 0.8),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, TOTAL),
    "one-cycle": lambda o: lr_scheduler.OneCycleLR(o, 1.0, TOTAL, cycle_momentum=False),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_is_that_of_torch(schedule: str) -> None:
    ours = [factor(schedule, done, PER_EPOCH, EPOCHS, 0.8) for done in range(TOTAL)]
    assert ours == pytest.approx(rates(ORACLES[schedule]), rel=1e-9, abs=1e-12)
    assert min(ours) > 0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_warm_up_rises_to_the_schedule(schedule: str) -> None:
    plain = [factor(schedule, done, PER_EPOCH, EPOCHS, 0.8) for done in range(TOTAL)]
    warm = [factor(schedule, done, PER_EPOCH, EPOCHS, 0.8, warmup=5) for done in range(TOTAL)]
    assert [a / b for a, b in zip(warm, plain, strict=True)][:6] == pytest.approx(
        [0.2, 0.4, 0.6, 0.8, 1, 1]
    )
    assert warm[5:] == plain[5:]


@pytest.mark.parametrize("total", [1, 2, 3, 4])
def test_short_runs_have_a_rate(total: int) -> None:
    for schedule in SCHEDULES:
        assert all(0 < factor(schedule, done, total, 1, 0.5) <= 1 for done in range(total))
