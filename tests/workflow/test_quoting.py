"""No setting is more than one argument of a job's command, whatever is in its text."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from nnuelab import params
from nnuelab.errors import UserError
from nnuelab.params import Params, merge
from nnuelab.params.files import MADE
from tests.workflow.project import ROOT, Folder, project

HOSTILE = "a  $(touch pwned)`touch pwned`;touch pwned&'\"|*$HOME\\ -x"
# Settings matter only with some others; the first feature set or checkpoint of these may change.
SETS = {"feature_sets": ["H", "ALL"], "seeds": [1], "anchor": "ALL"}
BASES: list[dict[str, Any]] = [
    {
        "data": {"source": "files", "files": ["games.pgn"]},
        "label": {"labeller": "stockfish"},
        "tournament": {"cost_games_per_pairing": 0},  # another engine plays none
        "experiments": {
            "one": {
                **SETS,
                "anchor": "ALL,v",
                "variants": {"v": {"from": "x.pt"}},
                "nets": {"ALL,mine": "games.pgn"},
            },
            "two": SETS,  # plays by the section tournament
        },
    },
    {
        "data": {"source": "lichess", "months": ["2024-01"]},
        "label": {"labeller": "engine"},
        "experiments": {
            "one": {**SETS, "anchor": "ALL,from-x.pt", "grid": {"from": ["y.pt", "x.pt"]}}
        },
    },
    {
        "data": {"source": "positions", "positions": ["games.pgn"]},
        "experiments": {"one": SETS},
    },
]
WHERE = ("", "experiments.*.")
# Settings whose form has no room for it, and one that no command has.
REFUSED = {"data.months.0", "data.sha256.*", "experiments.*.anchor"}
REFUSED |= {"experiments.*.feature_sets.0", "selfplay.feature_set", "report.0"}
REFUSED |= {"texel.simplify.0", "policy.variants.*.feature_set"}
REFUSED |= {f"policy.selfplay.{name}" for name in ("runs.*.features", "policies.0", "opponents.0")}
REFUSED |= {f"ladder.also.*.{stage}" for stage in ("texel", "policy", "selfplay")}
REFUSED |= {"experiments.*.spreads.*.0", "experiments.*.hypothesis.set"}
REFUSED |= {"search.terms.0", "search.factors.0", "search.anchor"}
REFUSED |= {f"{where}tournament.{name}" for where in WHERE for name in ("net_file", "net_command")}
REFUSED |= {"blocks.0"}  # goes to the jobs by their environment


def places(node: dict[str, Any], path: str = "") -> Iterator[str]:
    """Dotted paths of the settings that are text, by the schema; of lists and mappings one item."""
    if "$ref" in node:
        node = SCHEMA["$defs"][node["$ref"].rpartition("/")[2]]
    for kind in (*node.get("anyOf", []), *node.get("oneOf", [])):
        yield from places(kind, path)
    if "string" in node.get("type", "") and not {"enum", "const"} & node.keys():
        yield path[1:]
    for name, child in node.get("properties", {}).items():
        yield from places(child, f"{path}.{name}")
    if "items" in node:
        yield from places(node["items"], f"{path}.0")
    for children in (node.get("additionalProperties"), *node.get("patternProperties", {}).values()):
        if isinstance(children, dict):
            yield from places(children, f"{path}.*")


SCHEMA = Params.model_json_schema()
TEXT_SETTINGS = list(dict.fromkeys(places(SCHEMA)))


def changed(settings: Any, path: list[str], value: str) -> Iterator[Any]:
    """Settings with a value at a path, of a mapping with any names at one of them."""
    if not path:
        yield value
    elif path[0] == "0":
        yield [value, *(settings or [])[1:]]
    else:
        for name in settings or ["Name"] if path[0] == "*" else path[:1]:
            for inner in changed((settings or {}).get(name), path[1:], value):
                yield {**(settings or {}), name: inner}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Folder:
    """The project with a net, games and others that settings may name."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    found = Folder(project(tmp_path_factory.mktemp("project")))
    for name in ("games.pgn", "x.pt", "y.pt"):
        (found.path / name).touch()
    return found


def test_every_text_setting_is_found():
    assert {"data.books_mirror", "puzzles.file", "train.from", "ladder.players"} <= {*TEXT_SETTINGS}
    assert {"experiments.*.tournament.book", "label.options.*", "data.files.0"} <= {*TEXT_SETTINGS}


def test_a_setting_is_one_argument(folder, monkeypatch):
    monkeypatch.chdir(folder.path)
    values: dict[str, str] = {}
    found: set[str] = set()
    for base in BASES:
        settings = yaml.safe_load(Path("params.yaml").read_text())
        del settings["experiments"]
        merge(settings, base)
        for path in TEXT_SETTINGS:
            first = next(allowed(settings, path, candidates(path, settings)), None)
            if first is not None:
                settings, values[path] = first
        Path(f"{HOSTILE}.yaml").write_text(yaml.safe_dump(settings))
        targets = [
            "all_experiments",
            "generations",
            "texel",
            f"results-{HOSTILE}/ladder.csv",
            f"results-{HOSTILE}/policy_table.csv",
            f"results-{HOSTILE}/policy/vs_random.csv",
            f"results-{HOSTILE}/policy_agreement.csv",
            f"results/books/{HOSTILE}",
        ]
        overlay = ["--configfile", f"{HOSTILE}.yaml", "--replace-workflow-config"]
        asked = [*targets, MADE]
        if base["data"]["source"] == "positions":  # which have no games
            asked = ["data"]
        found |= arguments(folder, "snakemake", "-n", "-p", *asked, *overlay)
    assert values.keys() == {*TEXT_SETTINGS} - REFUSED
    for path, value in values.items():
        assert any(word == value or word.endswith(f"={value}") for word in found), path
    assert not list(folder.path.rglob("pwned"))


def allowed(
    settings: dict[str, Any], path: str, values: list[str]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Settings with one of the values at a path, as far as they are accepted."""
    for value in values:
        for found in changed(settings, path.split("."), value):
            with suppress(UserError):
                params.check_files(params.validate(found))
                yield found, value


def candidates(path: str, settings: dict[str, Any]) -> list[str]:
    """What a setting may be, the file there where it is one."""
    name = path.replace("*", "any") + HOSTILE
    samples = {
        "book": settings["tournament"]["book"],
        "file": settings["puzzles"]["file"],
        "players": settings["ladder"]["players"],
        "evaluation": settings["texel"]["tuners"]["material"]["evaluation"],
    }
    shutil.copy(samples.get(path.rpartition(".")[2], "games.pgn"), name)
    return [name, "https://host/" + re.sub(r"\s", "", HOSTILE), f"TOPK(9,{name})"]


def arguments(folder: Folder, *dry_run: str) -> set[str]:
    """What a dry run's commands come to for a shell, which runs them with nothing behind them."""
    mark = "Shell command: "
    told = [line.removeprefix(mark) for line in folder.run(*dry_run).splitlines() if mark in line]
    commands = [line for line in told if line.startswith("nnuelab")]
    for command in commands:
        words = shlex.split(command)
        log = words[words.index("2>" if "2>" in words else ">") + 1]
        (folder.path / log).parent.mkdir(parents=True, exist_ok=True)
    script = ["nnuelab() { printf '%s\\0' \"$@\" >&3; }", "exec 3> arguments", *commands]
    subprocess.run(["bash", "-euc", "\n".join(script)], cwd=folder.path, check=True)
    return set((folder.path / "arguments").read_text().split("\0"))


def test_files_of_rules_share_no_global() -> None:
    """All have one namespace: the last one to assign a name has it."""
    names = [
        name
        for path in sorted((ROOT / "rules").glob("*.smk"))
        for name in sorted(set(re.findall(r"^(\w+) = ", path.read_text(), re.MULTILINE)))
    ]
    assert "LIMITS" in names
    assert not {name for name in names if names.count(name) > 1}
