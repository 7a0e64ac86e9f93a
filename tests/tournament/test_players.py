"""Players of the command line and of files: what is understood, and how mistakes are told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from nnuelab import artifacts, sources
from nnuelab.errors import UserError
from nnuelab.nnue.netfile import DEFAULT_NET
from nnuelab.tournament.external import EngineEntrant
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.nets import NetEntrant
from nnuelab.tournament.players import (
    KINDS,
    Defaults,
    kinds_and_files,
    modules,
    players_of,
    read_players,
)

DEFAULTS = Defaults({"nodes": 1000}, hash_mb=8, patience=9)
ROOT = Path(__file__).resolve().parents[2]


def write(folder: Path, text: str, name: str = "players.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def program(folder: Path, name: str = "engine") -> Path:
    path = write(folder, "#!/bin/sh\n", name)
    path.chmod(0o755)
    return path


def test_yaml_and_toml_say_the_same(tmp_path: Path) -> None:
    engine = program(tmp_path)
    text = f"""
    players:
      net: {{net: default, options: {{Hash: 32, Move Overhead: 3}}, movetime: 50}}
      engine: {{engine: {engine}, args: [--uci], options: {{Skill: 3, Book: false}}, margin: 7,
               clock: 100+20, patience: 5, memory_mb: 400}}
    """
    toml = f"""
    [players.net]
    net = "default"
    options = {{Hash = 32, "Move Overhead" = 3}}
    movetime = 50
    [players.engine]
    engine = "{engine}"
    args = ["--uci"]
    options = {{Skill = 3, Book = false}}
    clock = "100+20"
    margin = 7
    patience = 5
    memory_mb = 400
    """
    found = read_players(write(tmp_path, text), [], DEFAULTS)
    assert found == read_players(write(tmp_path, toml, "players.toml"), [], DEFAULTS)
    assert found == {
        "net": NetEntrant(None, Limit(movetime=50), hash_mb=32, overhead=3),
        "engine": EngineEntrant(
            (str(engine), "--uci"),
            Limit(clock=100, increment=20, margin=7),
            {"Skill": 3, "Book": False},
            hash_mb=8,
            patience=5,
            memory_mb=400,
        ),
    }


def test_words_of_the_command_line(tmp_path: Path) -> None:
    engine, net = program(tmp_path), write(tmp_path, "", "a.nnue")
    other = write(tmp_path, "", "net without a suffix")
    file = write(tmp_path, "players: {x: {net: default, nodes: 5}, y: {net: default}}")
    words = ["y", f"n={net}", "d=default", f"e={engine} --uci -v", f"o={other}", "x"]
    found = read_players(file, words, DEFAULTS)
    assert list(found) == ["y", "n", "d", "e", "o", "x"]
    limit = Limit(nodes=1000)
    assert found["n"] == NetEntrant(net, limit, 8)
    assert found["d"] == found["y"] == NetEntrant(None, limit, 8)
    assert found["o"] == NetEntrant(other, limit, 8)
    assert found["e"] == EngineEntrant((str(engine), "--uci", "-v"), limit, {}, 8, 9)
    assert found["x"].limit == Limit(nodes=5)
    assert found["d"].files() == {"net": DEFAULT_NET}


def test_a_file_joins_players_of_the_command_line_unless_some_of_it_are_named(
    tmp_path: Path,
) -> None:
    file = write(tmp_path, "players: {x: {net: default}, y: {net: default}}")
    assert list(read_players(file, ["n={net: default}"], DEFAULTS)) == ["n", "x", "y"]
    assert list(read_players(file, ["n={net: default}", "y"], DEFAULTS)) == ["n", "y"]
    with pytest.raises(UserError, match='two players are called "y"'):
        read_players(file, ["y={net: default}"], DEFAULTS)


def test_programs_are_found_where_debian_has_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    if not Path("/usr/games/stockfish").exists():
        pytest.skip("there is no Stockfish in /usr/games")
    found = read_players(None, ["s=stockfish"], DEFAULTS)["s"]
    assert found.files() == {"engine": Path("/usr/games/stockfish")}


def test_a_margin_is_of_all_who_have_a_limit_of_time(tmp_path: Path) -> None:
    text = (
        "players: {a: {net: default, movetime: 50}, b: {net: default}, c: {net: default, nodes: 9}}"
    )
    defaults = Defaults({"movetime": 50, "margin": 200})
    found = read_players(write(tmp_path, text), [], defaults)
    assert found["a"] == found["b"] == NetEntrant(None, Limit(movetime=50, margin=200))
    assert found["c"].limit == Limit(nodes=9)


def test_an_engine_is_made_of_its_nets_and_books_too(tmp_path: Path) -> None:
    """Otherwise a tournament that was killed goes on with another net under the same name."""
    engine, net, log = (str(program(tmp_path, name)) for name in ("engine", "a.nnue", "a.log"))
    options = {"EvalFile": net, "Log": log, "Hash": 16}
    assert EngineEntrant((engine, "--book", net), Limit(nodes=1), options).files() == {
        "engine": Path(engine),
        net: Path(net),
    }


def test_a_file_of_players_tells_kinds_and_the_nets_beside_the_package_s(tmp_path: Path) -> None:
    text = "players: {a: {net: default}, b: {net: b.nnue}, c: {engine: stockfish}, d: d.nn}"
    found = kinds_and_files(players_of(write(tmp_path, text)))
    assert found == (["net", "engine"], ["b.nnue", "d.nn"])
    assert kinds_and_files(["default"]) == (["net"], [])


def test_the_command_line_and_files_have_one_text_form(tmp_path: Path) -> None:
    engine, net = program(tmp_path), write(tmp_path, "", "a.nnue")
    texts = {
        "short": str(net),
        "engine": f"{engine} --uci",
        "limited": f"{{net: {net}, nodes: 7, options: {{Hash: 32}}}}",
    }
    words = [f"{name}={text}" for name, text in texts.items()]
    found = read_players(None, words, DEFAULTS)
    file = write(tmp_path, yaml.safe_dump({"players": texts}))
    assert found == read_players(file, [], DEFAULTS)
    assert found["limited"] == NetEntrant(net, Limit(nodes=7), 32)


@pytest.mark.parametrize(
    ("kind", "other"), [("net", "tournament.external"), ("engine", "tournament.nets")]
)
def test_an_edit_of_a_kind_replays_its_own_games_alone(
    kind: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = ["tournament.runner", KINDS[kind].module]
    before, digest = artifacts.code_hash(code), sources.digest
    for module, changes in ((other, False), (KINDS[kind].module, True)):
        edited = {sources.file_of(f"nnuelab.{module}"): b"edited"}
        monkeypatch.setattr(sources, "digest", lambda p, e=edited: digest(p) + e.get(p, b""))
        assert (artifacts.code_hash(code) != before) == changes


def test_the_code_of_games_is_that_of_the_kinds_that_play(tmp_path: Path) -> None:
    players = read_players(None, ["a=default", f"b={program(tmp_path)}"], DEFAULTS)
    assert modules(players.values()) == ["tournament.external", "tournament.nets"]
    assert modules([players["a"]]) == ["tournament.nets"]


def test_no_import_leads_from_the_runner_to_a_kind() -> None:
    reached = sources.closure("nnuelab.tournament.runner")
    assert not {sources.file_of(f"nnuelab.{kind.module}") for kind in KINDS.values()} & reached


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("players: [a", "is no YAML"),
        ("[]", "it needs a mapping `players:`"),
        ("players: {}", "it needs a mapping `players:`"),
        ("players: {a: 3}", "player a: its settings must be a mapping"),
        ("players: {a: {}}", "player a: it needs one of these: net, hce, policy, baseline, engine"),
        ("players:\n  a: {net: default}\n  a: {net: default}", "line 3: a is listed twice"),
        (
            "players: {a: {net: default, engine: x}}",
            "player a: it needs one of these: net, hce, policy, baseline, engine",
        ),
        ("players: {a: {net: default, node: 3}}", "unknown setting node; did you mean nodes?"),
        ("players: {a: {net: default, constants: 3}}", "constants must be a mapping, such as"),
        ("players: {a: {hce: default, constants: {delta: 1}}}", "the search has no constant delta"),
        (
            "players: {a: {net: default, constants: {delta_margin: -1}}}",
            "-1 is no whole number of 0",
        ),
        ("players: {a: {net: x.nnue}}", "player a: there is no net x.nnue"),
        ("players: {a: {engine: no-such-engine}}", "player a: no engine no-such-engine"),
        ("players: {a: {engine: sh, args: -x}}", "args must be a list"),
        ("players: {a: {engine: sh, options: 3}}", "options must be a mapping"),
        ("players: {a: {engine: sh, patience: 0}}", "patience 0"),
        ("players: {a: {engine: sh, memory_mb: 1.5}}", "memory_mb 1.5"),
        ("players: {a: {engine: sh, nodes: 3, depth: 3}}", "player a: one limit is needed"),
        ("players: {a: {net: default, args: [x]}}", "unknown setting args"),
        ("players: {a: {net: default, options: {Threads: 2}}}", "a net has no option Threads"),
        ("players: {a: {net: default, options: {Hash: 0.5}}}", "option Hash: 0.5"),
    ],
)
def test_mistakes_in_a_file_are_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError) as mistake:
        read_players(write(tmp_path, text), [], DEFAULTS)
    assert said in str(mistake.value)
    assert "\n" not in str(mistake.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = [", "is no TOML: ."),
        ("a = 2024-13-45", "is no TOML: ."),
        ("a = " + "9" * 5000, "has an integer beyond 64 bits"),
        ("a = [{b = 0x" + "f" * 5000 + "}]", "has an integer beyond 64 bits"),
    ],
)
def test_a_broken_toml_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(UserError, match=rf"a\.toml {said}") as mistake:
        read_players(tmp_path / "a.toml", [], DEFAULTS)
    assert "\n" not in str(mistake.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a=default", "a=default"], 'two players are called "a"'),
        (["=default"], "is not of the form NAME=NET"),
        (["a="], "is not of the form NAME=NET"),
        (["sto"], "there is no player sto"),
        (["a=no-such-engine"], "no engine no-such-engine"),
        (["a=x.nnue"], "there is no net x.nnue"),
        ([f"a={'x' * 999}"], "no engine xxx"),  # no file has so long a name
        ([f"a={'x' * 999}.nnue"], "there is no net xxx"),
        (["a=sh 'open"], "No closing quotation"),
    ],
)
def test_mistakes_of_the_command_line_are_told(words: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_players(None, words, DEFAULTS)


def test_the_players_that_come_along_are_understood() -> None:
    path = ROOT / "resources/players/debian.yaml"
    if not Path("/usr/games/gnuchess").exists():
        pytest.skip("Debian's engines are not all there")
    assert len(read_players(path, [], DEFAULTS)) == 7


def test_command_refuses_limits_that_contradict_and_wrong_formats(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nnuelab.cli", "tournament", "a=default", "b=default"]
    command += ["--book", str(write(tmp_path, "8/8/8/8/8/4k3/8/R3K3 w - -", "b.epd"))]
    command += ["--output", str(tmp_path / "o.pgn"), "--games-per-pairing", "2"]
    for more, status, said in [
        (["--nodes", "5", "--movetime", "5"], 1, "there are nodes and movetime"),
        (["--format", "cup"], 2, "round-robin"),
        (["c=default", "--format", "match"], 1, "a match has two players, not 3"),
    ]:
        done = subprocess.run([*command, *more], capture_output=True, text=True)
        assert done.returncode == status
        assert said in done.stderr
        assert not (tmp_path / "o.pgn").exists()
