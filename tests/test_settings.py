"""Each setting is declared once: the command, params.yaml and the stage agree on it."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from nnuelab.cli.__main__ import application
from nnuelab.cli.options import limit_of, with_settings
from nnuelab.settings import setting
from nnuelab.settings.games import Games, Generating, Puzzling, Rules
from nnuelab.settings.judge import Judge
from nnuelab.settings.label import Labelling
from nnuelab.settings.policy import PolicyTraining
from nnuelab.settings.policy_selfplay import METHODS
from nnuelab.settings.quantize import Quantization, Verification
from nnuelab.settings.sample import Sampling
from nnuelab.settings.search import Searching
from nnuelab.settings.texel import Positions
from nnuelab.settings.train import Training
from nnuelab.settings.tuning import Tuning
from tests.cli.test_commands import registered

ROOT = Path(__file__).resolve().parents[1]
# Section of params.yaml, command, class of settings
DECLARED: list[tuple[str, str, type]] = [
    ("sample", "sample", Sampling),
    ("label", "label", Labelling),
    ("train", "train", Training),
    ("quantize", "quantize", Quantization),
    ("verify", "verify", Verification),
    ("tournament", "tournament", Games),
    ("tournament", "tournament", Rules),
    ("tournament", "tournament", Judge),
    ("puzzles", "puzzles", Puzzling),
    ("search", "search", Searching),
    ("selfplay", "datagen", Generating),
    ("policy.train", "policy train", PolicyTraining),
    ("texel", "texel positions", Positions),
    ("texel.tuning", "texel tune", Tuning),
]


def defaults(kind: type) -> dict[str, Any]:
    return {field.name: getattr(kind(), field.name) for field in fields(kind)}


@pytest.mark.parametrize(("section", "command", "kind"), DECLARED)
def test_params_yaml_has_the_defaults(section: str, command: str, kind: type) -> None:
    written = yaml.safe_load((ROOT / "params.yaml").read_text())
    for name in section.split("."):
        written = written[name]
    assert {name: written[name] for name in defaults(kind)} == defaults(kind)


@pytest.mark.parametrize(
    ("section", "command", "kind"),
    [
        *DECLARED,
        *(("", f"policy selfplay {name}", kind) for name in METHODS for kind in METHODS[name]),
    ],
)
def test_a_command_has_the_defaults(section: str, command: str, kind: type) -> None:
    options = inspect.signature(registered()[f"nnuelab {command}"]).parameters
    for field in fields(kind):
        expected: Any = getattr(kind(), field.name)
        if field.metadata["implied"]:
            told = options[field.name].annotation.__metadata__[0].show_default
            assert told.startswith(f"{expected}, ")
            expected = None
        # A mapping is given as NAME=VALUE.
        assert options[field.name].default == ([] if expected == {} else expected)


def test_every_setting_of_training_reaches_the_run() -> None:
    from nnuelab.nnue.losses import METHODS
    from nnuelab.nnue.training import Settings

    reached = {field.name for kind in (Settings, *METHODS.values()) for field in fields(kind)}
    assert {field.name for field in fields(Training)} - reached == {"method", "device"}
    for method, kind in METHODS.items():
        chosen = Training(l1=8, learning_rate=0.5, method=method, output_scale=100, margin=3)
        run = Settings.of("ALL", chosen, 5)
        assert (run.feature_set, run.seed, run.l1, run.learning_rate) == ("ALL", 5, 8, 0.5)
        assert type(run.objective) is kind
        assert run.objective.described()["output_scale"] == 100


def test_a_limit_of_a_search_holds_where_no_other_is_given() -> None:
    assert limit_of(Puzzling, nodes=None, depth=None) == {"nodes": Puzzling.nodes}
    assert limit_of(Puzzling, nodes=None, depth=3) == {"depth": 3}
    assert Labelling().limit == f"depth {Labelling.depth}"
    assert Labelling(depth=None, movetime=7).limit == "movetime 7"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("train --learning-rate 0", "--learning-rate 0.0: it must be greater"),
        ("train --patience 2 --fake-quantize-epochs 1", "set one of them to 0"),
        ("tournament a=default b=default --book b --games-per-pairing 3", "a multiple of 2"),
        ("label s.npy --validation-share 1", "--validation-share 1.0: it must be less"),
        ("label s.npy --validation-share 0.5 --test-share 0.5", "leave no game for training"),
        ("sample g.pgn --output s.npy --min-pieces 9 --max-pieces 8", "is larger than max_pieces"),
        ("train --method guess", "'guess' is not one of"),
        *(
            (f"{call} {'9' * 25}", f"'{call.split()[-1]}': it must be at most")
            for call in (
                "tournament a=default b=default --book b --draw-move",
                "tournament a=default b=default --book b --depth",
                "sample g.pgn --output s.npy --per-game",
                "sample g.pgn --output s.npy --workers",
                "train --epoch-positions",
            )
        ),
        ("plan --cores 1" + "0" * 400, "Invalid value for '--cores'"),
        ("train --epochs 1000000000001", "--epochs 1000000000001: it must be at most"),
        ("train --learning-rate inf", "'--learning-rate': inf is not a finite number"),
        ("plan --positions inf", "'--positions': inf is not a finite number"),
        ("plan --price inf", "'--price': inf is not a finite number"),
    ],
)
def test_what_no_run_can_have_is_refused_by_the_command_too(call: str, said: str) -> None:
    files = {
        "train": "--features ALL --train t --validation v --checkpoint c --history h",
        "label": "--train t --validation v",
        "tournament": "--output o.pgn",
    }
    words = f"{call} {files.get(call.split()[0], '')}".split()
    done = CliRunner(env={"COLUMNS": "200"}).invoke(application(), words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_options_have_names_bounds_and_help_of_their_settings() -> None:
    command = typer.Typer()
    found: list[Any] = []

    @command.command()
    @with_settings(max_pieces={"names": ("--most",)})
    def take(*, settings: Sampling, more: int = 3) -> None:
        found.append((settings, more))

    assert CliRunner().invoke(command, ["--most", "40"]).exit_code == 2
    words = "--most 9 --no-skip-check --terminations Normal --terminations Other --more 4"
    assert CliRunner().invoke(command, words.split()).exit_code == 0
    terminations = ["Normal", "Other"]
    assert found == [(Sampling(max_pieces=9, skip_check=False, terminations=terminations), 4)]
    told = CliRunner().invoke(command, ["--help"]).stdout
    assert "Leave out positions in check." in " ".join(told.replace("│", " ").split())


def test_a_setting_that_is_a_list_is_each_instance_s_own() -> None:
    assert setting([], "").default_factory() is not setting([], "").default_factory()
    assert Sampling().terminations is not Sampling().terminations
