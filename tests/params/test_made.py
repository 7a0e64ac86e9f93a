"""Policies that learn from their own games, and players that the workflow makes, in params.yaml."""

from __future__ import annotations

import pytest

from nnuelab import params
from nnuelab.params import made
from tests.params.test_options import commands
from tests.params.test_params import mistakes


def test_settings_of_self_play_are_options_of_its_commands(settings):
    selfplay = params.validate(settings).policy.selfplay
    called = commands()["policy"].commands["selfplay"].commands
    assert {run.method for run in selfplay.runs.values()} == called.keys()
    for name, run in selfplay.runs.items():
        known = {
            word
            for option in called[run.method].params
            for word in (*option.opts, *option.secondary_opts)
        }
        words = {w for w in params.options(selfplay.settings_of(name)) if w.startswith("--")}
        assert words <= known
        assert len(words) > 20  # all of them, not what the run changes alone


def test_a_run_of_self_play_changes_what_it_names(settings):
    runs = {"a": {"method": "expert", "games": 7, "features": "h + v"}, "b": {"method": "seed"}}
    settings["policy"]["selfplay"] |= {"runs": runs, "opponents": ["random", "a"]}
    settings["ladder"]["also"] = {}
    found = params.validate(settings)
    learns = found.policy.selfplay.settings_of("a")
    assert (learns.games, learns.features, learns.simulations) == (7, "H+V", 48)
    assert found.policy.selfplay.settings_of("b").win == 100
    games = made.gauntlets(found, "results")
    file = "results/policy/selfplay/a/1/net.policy"
    assert next(iter(games["a"].items())) == ("a#1", {"policy": file})
    assert list(games["random"]) == [
        *("random", "a#1", "a-1ply#1", "a-1ply-novalue#1", "b#1", "pair#1", "masked#1"),
    ]


@pytest.mark.parametrize(
    ("path", "change", "told"),
    [
        ("runs", {"a": {"method": "exprt"}}, "runs.a: method must be one of seed, gradient, exp"),
        ("runs", {"a": {"games": 3}}, "policy.selfplay.runs.a: method must be one of seed, gradi"),
        (
            "runs",
            {"a": {"method": "expert", "gams": 3}},
            "runs.a.gams: unknown; did you mean",
        ),
        (
            "runs",
            {"a": {"method": "expert", "seed": 3}},
            "selfplay.runs.a.seed: unknown; known",
        ),
        (
            "runs",
            {"a": {"method": "seed", "games": 0}},
            "selfplay.runs.a.games: input should",
        ),
        ("runs", {"a": {"method": "seed", "layers": []}}, "selfplay: runs.a: [] are not 1 to 4"),
        ("runs", {"a": {"method": "seed", "features": "ALLL"}}, "runs.a.features: feature set 'AL"),
        ("runs", {"random": {"method": "seed"}}, "runs.random: an opponent is called random"),
        ("policies", ["par"], "selfplay.policies: there is no variant par; did you mean pair?"),
        ("policies", ["seed"], "selfplay: a run and a policy are called seed; rename the run"),
        ("opponents", ["randm"], "opponents: there is no randm; did you mean random?"),
        ("opponents", [], "policy.selfplay.opponents: list should have at least 1 item"),
    ],
)
def test_self_play_that_makes_no_sense_is_one_line(settings, path, change, told):
    params.merge(settings["policy"]["selfplay"], {path: change})
    (line,) = mistakes(settings)
    assert told in line


@pytest.mark.parametrize(
    ("player", "told"),
    [
        ({}, "ladder.also.x: give one of texel, policy, selfplay"),
        ({"texel": "adam", "policy": "pair"}, "ladder.also.x: give one of texel, policy, selfplay"),
        ({"texel": "adam", "plies": 1}, "ladder.also.x: plies and value_head are for policies"),
        ({"texel": "adan"}, "x.texel: there is no run of texel.tuners adan; did you mean adam?"),
        ({"policy": "par"}, "x.policy: there is no policy of policy.variants par; did you mean"),
        ({"selfplay": "exprt"}, "x.selfplay: there is no run of policy.selfplay exprt; did you"),
        (
            {"selfplay": "seed", "plies": 1},
            "x.plies: seed has no value head; set value_head",
        ),
    ],
)
def test_players_that_nothing_makes_are_one_line(settings, player, told):
    settings["ladder"]["also"]["x"] = player
    (line,) = mistakes(settings)
    assert told in line
