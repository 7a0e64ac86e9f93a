"""Learning rates by validation loss, `learning_rate: auto`: planned nets, and what can't be."""

from __future__ import annotations

import pytest

from nnuelab import params


def test_every_set_tries_rates_around_the_usual_one(settings):
    """With a seed that doesn't play, and otherwise trained as the nets that do."""
    variants = {"usual": {}, "own": {"learning_rate": "auto", "l2": 8}}
    change = {"feature_sets": ["ALL", "H+V"], "variants": variants, "anchor": "ALL,own"}
    settings["experiments"]["axis"] |= change
    settings["train"]["learning_rate"] = 0.002
    plan = params.plans(params.validate(settings))["axis"]
    assert all(bool(entry.trials) == (entry.name.variant == "own") for entry in plan.entries)
    for entry in plan.entries:
        for trial, rate in zip(entry.trials, (0.0005, 0.001, 0.002, 0.004), strict=False):
            assert trial.train == entry.train.model_copy(update={"learning_rate": rate})
            assert trial.folder == f"{entry.feature_set},own,rate-{rate}"
    assert not set(plan.players.values()) & {
        f"{trial.folder}/{params.FINDING_SEED}" for entry in plan.entries for trial in entry.trials
    }
    given, tuned = (params.minutes(plan, cores=2) for plan in both(settings, plan))
    assert tuned > given


def both(settings, plan):
    """The plan with rates as given, and as it is."""
    settings["experiments"]["axis"]["variants"]["own"]["learning_rate"] = 0.001
    return params.plans(params.validate(settings))["axis"], plan


def test_rates_are_tried_from_the_same_start(settings):
    """Fine-tuning: the trials begin with nets of their own seed, at the rates asked for."""
    second = {"from": "first", "learning_rate": "auto", "rates": [1e-5, 1e-4]}
    variants = {"first": {}, "second": second}
    settings["experiments"]["axis"] |= {"variants": variants, "anchor": "ALL,first"}
    plan = params.plans(params.validate(settings))["axis"]
    for entry in plan.entries:
        assert {trial.start for trial in entry.trials} <= {entry.start}
        tried = [trial.train.learning_rate for trial in entry.trials]
        assert tried == ([1e-5, 1e-4] if entry.start else [])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"variants": {"own": {"learning_rate": "auto", "l1": "auto"}, "usual": {}}},
            "experiments.axis: own: l1 and learning_rate can't both be auto",
        ),
        (
            {"variants": {"own": {"learning_rate": "auto"}, "usual": {}}, "seeds": [0, 1]},
            "experiments.axis.seeds: seed 0 chooses the learning rate of own",
        ),
        (
            {"variants": {"own": {"rates": [0.1, 0.2], "l2": 8}, "usual": {}}},
            "experiments.axis.variants.own.rates: is for learning_rate: auto alone",
        ),
        (
            {"variants": {"own": {"learning_rate": "auto", "rates": [0.1]}, "usual": {}}},
            "experiments.axis.variants.own.rates: list should have at least 2 items",
        ),
        (
            {"variants": {"own": {"learning_rate": "best"}, "usual": {}}},
            "experiments.axis.variants.own.learning_rate: input should be a valid number",
        ),
    ],
)
def test_rates_that_make_no_sense_are_one_line_each(settings, change, told):
    params.merge(settings, {"experiments": {"axis": {**change, "anchor": "ALL,usual"}}})
    with pytest.raises(params.ParamsError) as caught:
        params.validate(settings)
    (line,) = caught.value.mistakes
    assert told in line
