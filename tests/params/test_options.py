"""Settings of params.yaml are options of commands, and are rendered as such."""

from __future__ import annotations

import json
import math
import typing
from pathlib import Path

import pytest
import typer

from nnuelab import params
from nnuelab.params import Params
from nnuelab.settings import MAX_SEED
from nnuelab.settings.texel import Positions
from tests.cli.test_commands import registered

ROOT = Path(__file__).resolve().parents[2]


def commands():
    """Every command of the package by name."""
    import importlib
    import pkgutil

    import nnuelab.cli
    from nnuelab.cli.app import app

    for module in pkgutil.iter_modules(nnuelab.cli.__path__):
        if module.name != "__main__":
            importlib.import_module(f"nnuelab.cli.{module.name}")
    return typer.main.get_command(app).commands


@pytest.mark.parametrize(
    "section", ["sample", "label", "train", "quantize", "verify", "tournament", "cost"]
)
def test_keys_of_a_section_are_options_of_its_command(section):
    found = getattr(params.read(ROOT / "params.yaml"), section)
    known = {
        name
        for option in commands()[section].params
        for name in (*option.opts, *option.secondary_opts)
    }
    # Of the games at other yardsticks: the rule gives them in place of those at fixed nodes.
    others = {"cost_games_per_pairing", "costs", "nodes_deep", "deep_games_per_pairing"}
    others |= {"check_time", "movetime", "timed_games_per_pairing"}
    others |= {"net_file", "net_command"}  # of another rule
    words = params.options(found, without=others & type(found).model_fields.keys())
    assert {word for word in words if word.startswith("--")} <= known


def test_settings_of_texel_are_options_of_its_commands(settings):
    found = params.validate(settings).texel
    called = commands()["texel"].commands
    for command, words in (
        ("positions", params.options(found, only=Positions.__dataclass_fields__)),
        *(("tune", params.options(found.settings_of(name))) for name in found.tuners),
    ):
        known = {
            name
            for option in called[command].params
            for name in (*option.opts, *option.secondary_opts)
        }
        assert {word for word in words if word.startswith("--")} <= known


def bounds(setting):
    """Smallest and largest value that the schema lets a setting have; None when it is no number."""
    for kind in setting.get("anyOf", [setting]):
        if kind.get("type") in ("integer", "number"):
            low = kind.get("minimum", kind.get("exclusiveMinimum", -math.inf))
            return low, kind.get("maximum", kind.get("exclusiveMaximum", math.inf))
    return None


SECTIONS = sorted(Params.model_fields.keys() - {"experiments", "report", "spread", "blocks"})


@pytest.mark.parametrize("section", SECTIONS)
def test_no_command_refuses_a_number_that_the_settings_may_have(section):
    named = {
        "data": "download",
        "ladder": "tournament",
        "policy": "policy evaluate",
        "selfplay": "datagen",
        "texel": "texel positions",
    }.get(section)
    function = registered()[f"nnuelab {named or section}"]
    options = typing.get_type_hints(function, include_extras=True)
    schema = Params.model_fields[section].annotation.model_json_schema()
    numbers = {key: bounds(setting) for key, setting in schema["properties"].items()}
    compared = [
        (key, *numbers[key], options[key].__metadata__[0])
        for key in numbers.keys() & options.keys()
        if numbers[key]
    ]
    assert compared
    for key, least, most, option in compared:
        assert option.min is None or option.min <= least, key
        assert option.max is None or most <= option.max, key


def test_no_whole_number_is_larger_than_stages_compute_with():
    found = []

    def collect(schema, path):
        if isinstance(schema, dict):
            if schema.get("type") == "integer":
                found.append((schema.get("maximum", math.inf), path))
            for key, inner in schema.items():
                collect(inner, f"{path}.{key}")
        elif isinstance(schema, list):
            for inner in schema:
                collect(inner, path)

    collect(json.loads(params.schema()), "")
    assert len(found) > 100
    checked = ("layers.items", "width.additionalProperties")  # by their classes
    assert [path for most, path in found if most > MAX_SEED and not path.endswith(checked)] == []


def test_options_are_rendered_mechanically(settings):
    settings["label"] |= {"engine": "my engine", "depth": None}
    settings["sample"]["skip_check"] = False
    checked = params.validate(settings)
    assert "--no-skip-check" in params.options(checked.sample)
    label = params.options(checked.label)
    assert label[label.index("--engine") + 1] == "my engine"
    assert "--depth" not in label
    assert "--threads" not in params.options(checked.train, without=["threads"])


def test_uci_options_are_rendered_as_the_command_takes_them(settings):
    settings["label"]["options"] = {"Hash": 16, "UCI_LimitStrength": True, "Eval File": "a=b.nnue"}
    words = params.options(params.validate(settings).label)
    values = [words[i + 1] for i, word in enumerate(words) if word == "--options"]
    assert values == ["Hash=16", "UCI_LimitStrength=true", "Eval File=a=b.nnue"]
