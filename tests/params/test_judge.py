"""Games by another engine, and nets made elsewhere: what the settings may say."""

from __future__ import annotations

import copy

import pytest

from nnuelab import params
from nnuelab.params import ParamsError

ENGINE = {"engine": "my-engine --uci", "cost_games_per_pairing": 0}


def told(settings, **tournament):
    settings["experiments"]["axis"]["tournament"] = tournament
    with pytest.raises(ParamsError) as error:
        params.check_files(params.validate(settings))
    return error.value.mistakes


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"engine": "./missing"}, "axis.tournament.engine: there is no file ./missing"),
        ({"engine": "'./open"}, 'axis.tournament: engine: "\'./open": No closing quotation'),
        ({"engine": "net.nnue"}, "axis.tournament: engine: net.nnue is no engine but a net"),
        ({"engine": " "}, "engine: it is empty; name a UCI engine"),
        ({"engine": "{}"}, "engine: {} is no engine but a setting without a name"),
        ({"engine": "{engine: [1]}"}, "an engine is a name or path"),
        ({"engine": "{engine: e, args: 5}"}, "args is a list"),
        ({"engine": "{engine: e, options: {Hash: 33}}"}, "options doesn't belong here"),
        ({"net_command": " "}, "net_command needs {net}"),
        ({"net_command": "./tomine {net}"}, "net_command needs {file}"),
        ({"net_command": "./tomine '{net} {file}"}, "net_command: No closing quotation"),
        ({"cost_games_per_pairing": 8}, "give costs, or cost_games_per_pairing: 0"),
        ({"net_file": "../net.nnue"}, "axis.tournament.net_file"),
        ({"net_option": "Eval\nquit"}, "axis.tournament.net_option"),
    ],
)
def test_what_can_t_be_judged_is_told(settings, changes, said):
    (line,) = told(settings, **{**ENGINE, **changes})
    assert said in line
    assert len(line.splitlines()) == 1


def test_settings_of_no_engine_change_no_design(settings):
    settings["experiments"] = {"axis": settings["experiments"]["axis"]}
    before = params.fixed(params.validate(copy.deepcopy(settings)), "axis")["sha256"]
    settings["tournament"] |= {"net_option": "Net", "net_file": "net.bin"}
    assert params.fixed(params.validate(copy.deepcopy(settings)), "axis")["sha256"] == before
    for changes in {"runner": "fastchess"}, ENGINE:
        settings["tournament"] |= changes
        checked = params.validate(copy.deepcopy(settings))
        assert params.fixed(checked, "axis")["sha256"] != before


def test_a_command_s_words_are_replaced_once(settings):
    settings["tournament"] |= {"net_command": "./tomine '{net} and' --to={file} {other}"}
    chosen = params.validate(settings).tournament
    words = ["./tomine", "{file} and", "--to=b c", "{other}"]
    assert chosen.made_by("{file}", "b c") == words
    assert not chosen.loads_nets


def test_nets_made_elsewhere_are_players_of_one_seed(settings, tmp_path):
    axis = settings["experiments"]["axis"]
    net = tmp_path / "mine.nnue"
    axis |= {"nets": {"h+v,mine": str(net)}, "anchor": "H+V,mine"}
    axis |= {"feature_sets": ["ALL"], "seeds": [1, 2]}
    plan = params.plans(params.validate(copy.deepcopy(settings)))["axis"]
    assert plan.anchor == "H+V,mine"
    assert list(plan.players) == ["ALL#1", "ALL#2", "H+V,mine#1"]
    assert plan.players["H+V,mine#1"] == "H+V,mine/1"
    assert list(plan.trained) == ["ALL#1", "ALL#2"]
    (line,) = told(settings)
    assert line == f"experiments.axis.nets.H+V,mine: there is no file {net}"
    net.touch()
    other = {"feature_sets": ["ALL"], "seeds": [1], "anchor": "ALL", "nets": {"H+V,mine": "b.nnue"}}
    settings["experiments"]["other"] = other
    assert (
        "experiments.other.nets.H+V,mine: another experiment has another net" in told(settings)[0]
    )
    other |= {
        "nets": {"ALL,wide": "b.nnue"},
        "variants": {"wide": {"l1": 512}},
        "anchor": "ALL,wide",
    }
    assert "experiments.other.nets.ALL,wide: nets of that name are trained" in told(settings)[0]
    other |= {"nets": {"ALL": "b.nnue"}, "variants": {}, "anchor": "ALL"}
    assert "experiments.other.nets" in told(settings)[0]
