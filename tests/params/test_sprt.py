"""Sequential tests of an experiment: what the settings may say, and who plays whom."""

from __future__ import annotations

import copy

import pytest

from nnuelab import params
from nnuelab.params import ParamsError


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ({"elo0": 5, "elo1": 5}, "axis.tournament.sprt: elo0 5 must be less than elo1 5"),
        ({"elo0": 0, "elo1": 400}, "400 Elo is too far from 0; 300 is the most"),
        ({"elo0": 0, "elo1": 250, "model": "normalized"}, "200 is the most"),
        ({"elo0": 0, "elo1": 5, "alpha": 0.5}, "axis.tournament.sprt.alpha"),
        ({"elo0": 0, "elo1": 5, "games": 3}, "axis.tournament.sprt.games"),
        ({"elo0": 0}, "axis.tournament.sprt.elo1"),
        ({"elo0": 0, "elo1": 5, "elo2": 5}, "axis.tournament.sprt.elo2"),
    ],
)
def test_what_can_t_be_tested_is_told(settings, test, said):
    settings["experiments"]["axis"]["tournament"] = {"sprt": test}
    with pytest.raises(ParamsError) as error:
        params.validate(settings)
    (line,) = error.value.mistakes
    assert said in line
    assert len(line.splitlines()) == 1


def test_an_experiment_has_hypotheses_of_its_own_without_another_design(settings):
    settings["experiments"] = {"axis": settings["experiments"]["axis"]}
    before = params.fixed(params.validate(copy.deepcopy(settings)), "axis")
    settings["experiments"]["axis"]["tournament"] = {"sprt": {"elo0": -3, "elo1": 0}}
    checked = params.validate(settings)
    assert params.fixed(checked, "axis") == before
    own, section = params.plans(checked)["axis"].tournament.sprt, checked.tournament.sprt
    assert (section.elo0, section.elo1) == (0, 5)
    assert own.options == [
        "--sprt=-3.0,0.0,0.05,0.05",
        "--sprt-model=logistic",
        "--games-per-pairing=24000",
    ]


def test_each_net_is_tested_against_the_anchor_s_of_its_seed(settings):
    axis = settings["experiments"]["axis"]
    axis |= {"feature_sets": ["ALL", "H+V"], "seeds": [2, 3], "anchor": "ALL"}
    axis["nets"] = {"all,mine": "mine.nnue"}
    plan = params.plans(params.validate(copy.deepcopy(settings)))["axis"]
    assert params.duels(plan.players, plan.anchor) == {
        "H+V/2": ("H+V#2", "ALL#2"),
        "H+V/3": ("H+V#3", "ALL#3"),
        "ALL,mine/1": ("ALL,mine#1", "ALL#2"),
    }
    axis["anchor"] = "ALL,mine"
    plan = params.plans(params.validate(settings))["axis"]
    found = params.duels(plan.players, plan.anchor)
    assert found.keys() == {"ALL/2", "ALL/3", "H+V/2", "H+V/3"}
    assert {opponent for _, opponent in found.values()} == {"ALL,mine#1"}
