"""The command line itself: its help, and how a run that can't go on ends."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import signal
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from nnuelab.cli.__main__ import application
from nnuelab.cli.app import PANELS, Blocks
from tests.calls import arguments, command_of, parse

COMMAND = [sys.executable, "-m", "nnuelab.cli"]

# The application with one more command, which fails as its argument says.
FAILING = """
import sys
from nnuelab.cli import __main__ as entry
from nnuelab.cli.app import app

@app.command()
def fail() -> None:
    print("begun", flush=True)
    {0}

sys.argv = ["nnuelab", "fail"]
entry.run()
"""


def fails(statement: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", FAILING.format(statement)], capture_output=True, text=True
    )


def told(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of the error."""
    (line,) = done.stderr.splitlines()
    return line


def registered() -> dict[str, Any]:
    """The function of every command, by what is typed to call it."""

    def walk(application: typer.Typer, before: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for command in application.registered_commands:
            assert command.callback is not None
            name = command.name or command.callback.__name__
            found[f"{before} {name}"] = command.callback
        for group in application.registered_groups:
            assert group.typer_instance is not None
            found |= walk(group.typer_instance, f"{before} {group.name}")
        return found

    return walk(application(), "nnuelab")


def examples(function: Any) -> list[str]:
    """The examples of a command, which end its help."""
    _, *found = (function.__doc__ or "").split("\n    Example: ")
    return [" ".join(example.split()) for example in found]


def test_help_ends_with_an_example_of_each_first_step() -> None:
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    shown = " ".join(done.stdout.split("Examples:")[1].split())
    commands = registered()
    assert {"nnuelab perft", "nnuelab features active", "nnuelab params schema"} <= set(commands)
    steps, *_ = PANELS.values()
    for name, function in commands.items():
        first, _ = examples(function)
        assert (first in shown) == (name.removeprefix("nnuelab ") in steps)


def test_help_breaks_lines_where_the_terminal_ends() -> None:
    for columns in ("60", "160"):
        done = subprocess.run(
            [*COMMAND, "contrast", "--help"],
            capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": columns},
        )  # fmt: skip
        _, text, *_ = re.split(r"\n *\n", done.stdout.partition("Usage")[2])[1:]
        first, second, *_ = [line.rstrip() for line in text.splitlines()]
        assert len(first) + 1 + len(second.split()[0]) > int(columns) - 2


def test_help_has_each_command_in_one_panel() -> None:
    placed = [name for names in PANELS.values() for name in names]
    assert sorted(placed) == sorted({name.split()[1] for name in registered()})
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    listed = done.stdout.split("Examples:")[0]
    places = [listed.index(f" {panel} \u2500") for panel in PANELS]
    assert places == sorted(places)
    assert re.findall(r"^\u2502 ([a-z][a-z-]*) {2,}", listed, re.MULTILINE) == placed


@pytest.mark.parametrize("name", registered())
def test_a_command_has_two_examples_that_it_takes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = examples(registered()[name])
    assert first != second
    for example in (first, second):
        assert f"{example} ".startswith(f"{name} ")
        parse(arguments(example), tmp_path, monkeypatch)
    command, _ = command_of(name.split()[1:])
    assert f"Example: {first} Example: {second}" in " ".join(command.help.split())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("perft startpos", "Missing parameter: depth"),
        ("sample games.pgn", "Missing parameter: output"),
        ("eval --fin startpos", "No such option"),
        ("perft startpos 33", "32"),
        ("perft startpos five", "valid integer"),
        ("unlock now", "unexpected extra argument"),
        ("export net.nnue folder --lang pascal", "is not one of"),
        ("crate missing", "does not exist"),
    ],
)
def test_a_wrong_example_would_be_found(
    call: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Exception, match=error):
        parse(arguments(f"nnuelab {call}"), tmp_path, monkeypatch)


def test_every_command_that_reads_a_net_or_an_expression_finds_blocks_of_ones_own() -> None:
    named = {"net", "nets", "features", "expression", "checkpoint", "players"}
    others = {f"nnuelab {name}" for name in ("net convert", "inspect", "diff", "report")}
    found = set()
    for name, function in registered().items():
        annotations = typing.get_type_hints(function, include_extras=True)
        if named & annotations.keys() or name in others:
            assert annotations["blocks"] == Blocks, name
            found.add(name)
    assert {
        "nnuelab uci",
        "nnuelab train",
        "nnuelab tournament",
        "nnuelab datagen",
        *others,
    } <= found


def test_files_of_the_project_are_found_from_any_folder_and_help_names_no_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = set()
    for name, function in registered().items():
        annotations = typing.get_type_hints(function, include_extras=True)
        for key, parameter in inspect.signature(function).parameters.items():
            if isinstance(parameter.default, Path) and "resources" in parameter.default.parts:
                assert parameter.default.is_file(), name
                assert annotations[key].__metadata__[0].show_default == "the project's own"
                found.add(name)
    assert found == {f"nnuelab {name}" for name in ("ablate", "importance", "puzzles", "spsa")}


@pytest.mark.parametrize("group", ["features", "params"])
def test_help_of_a_group_shows_its_examples(group: str) -> None:
    done = subprocess.run([*COMMAND, group, "--help"], capture_output=True, text=True, check=True)
    examples = done.stdout.split("Examples:")[1]
    assert examples.count("nnuelab") == examples.count(f"nnuelab {group} ") > 1


@pytest.mark.parametrize(
    "arguments",
    [[sys.executable, "-c", FAILING.format("while True: print('line')")], [*COMMAND, "--help"]],
    ids=["work", "help"],
)
def test_a_reader_that_has_gone_is_no_failure(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(arguments, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "command",
    [
        "sample FILE --output FILE",
        "label FILE --train FILE --validation v",
        "train --features ALL --train FILE --validation v --checkpoint FILE --history h",
        "quantize FILE --output FILE",
        "verify FILE --checkpoint c --positions p --output o --plot FILE",
        "tournament A=FILE B=b --book book --output FILE --games-per-pairing 2",
        "rate FILE --csv FILE",
        "rate FILE --details FILE",
        "puzzles FILE --output FILE",
        "puzzles FILE --csv FILE",
        "table FILE --experiment e --pgn p --csv FILE --markdown m",
        "datagen --engine FILE --output FILE",
        "datagen --parts FILE --output FILE",
        "spsa --evaluation FILE --tune t --output FILE --history h.csv",
        "sample FILE FILE --output o",
    ],
)
def test_an_output_does_not_destroy_an_input(command: str, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("precious")
    arguments = command.replace("FILE", "input").split()
    done = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search("would overwrite input|is given twice", told(done))
    assert [path.name for path in tmp_path.iterdir()] == ["input"]
    assert (tmp_path / "input").read_text() == "precious"


@pytest.mark.parametrize(
    ("command", "endings"),
    [
        ("datagen --output o.pgn", ".pgn.zst"),
        ("datagen --part 1/2 --output o.pgn.zst", ".part"),
        ("spsa --tune t --output o.yml.gz --history h.csv", ".yaml, .yml"),
        ("quantize c.pt --output o.nn", ".nnue"),
        ("quantize c.pt --output o.nnue --format nn", ".nn"),
        ("verify n.nnue --checkpoint c --positions p --output v --plot o.svg", ".png"),
        ("tournament A=a B=b --book b --output o.pgn.gz --games-per-pairing 2", ".pgn"),
        ("sample g.pgn --output s.npy --plot o.pdf", ".svg, .png, .html"),
        ("inspect t.csv --plot o.pdf", ".svg, .png, .html"),
        ("pqr n.nnue --positions p --plot o.gif", ".svg, .png, .html"),
        ("features stats ALL g.pgn --plot o.pdf", ".svg, .png, .html"),
    ],
)
def test_a_name_that_belies_the_file_is_refused_before_any_work(command: str, endings: str) -> None:
    done = CliRunner().invoke(application(), command.split())
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(rf"nnuelab: error: o\.\S+: the name of .* ends in {endings}", line)


def test_another_program_that_has_gone_is_a_failure() -> None:
    done = fails("raise BrokenPipeError(32, 'Broken pipe')")
    assert done.returncode == 1
    assert told(done).startswith("nnuelab: error: a child process")


def test_too_little_memory_is_one_line_with_the_remedy() -> None:
    done = fails("import numpy; numpy.empty(1 << 55)")
    assert done.returncode == 1
    assert re.fullmatch(
        r"nnuelab: error: out of memory: Unable to allocate .*fewer --workers.*", told(done)
    )


@pytest.mark.parametrize(
    "arguments",
    [
        [sys.executable, "-c", FAILING.format("import time; time.sleep(60)")],
        [sys.executable, "-c", FAILING.format("sys.stdin.read()")],
    ],
    ids=["works", "reads"],
)
def test_ctrl_c_is_one_line_and_status_130(arguments: list[str]) -> None:
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background jobs ignore it, and so does all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "nnuelab: stopped\n"


@pytest.mark.parametrize(
    ("word", "kept", "again"),
    [
        ("games.pgn", "games.pgn.partial", True),
        ("--output=1.zst", "1.zst.part", True),
        ("months", "months/1.zst.part", True),
        ("months", "months/1.zst", False),  # puzzles without --output, labels without a search
        ("", "games.pgn.partial", False),
    ],
)
def test_commands_that_continue_say_so_where_something_was_kept(
    word: str, kept: str, again: bool, tmp_path: Path
) -> None:
    from nnuelab.cli.app import CONTINUING

    assert {name.split()[1] for name in registered()} >= CONTINUING
    (tmp_path / kept).parent.mkdir(exist_ok=True)
    (tmp_path / kept).touch()
    done = fails(
        f"import os; os.chdir({str(tmp_path)!r}); sys.argv.append({word!r}); "
        "from nnuelab.cli import app as a; a.CONTINUING.add('fail'); raise KeyboardInterrupt"
    )
    assert done.returncode == 130
    more = "; run the same command again to resume" if again else ""
    assert told(done) == f"nnuelab: stopped{more}"


@pytest.mark.parametrize("call", ["uci", "eval"])
def test_a_line_without_end_is_one_line(call: str) -> None:
    command = f"exec {shlex.join(COMMAND)} {call} </dev/zero"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    assert done.stderr.strip().startswith("nnuelab: error: stdin has a line of more than 16 MB")


@pytest.mark.parametrize(
    ("call", "status", "line"),
    [
        ("perft startpos 2 >&-", 1, "nnuelab: error: stdout is closed.*"),
        ("--help >&-", 1, "nnuelab: error: stdout is closed.*"),
        ("eval <&-", 1, "nnuelab: error: stdin is closed.*"),
        ("uci <&-", 0, ""),
        ("perft startpos 2 2>&-", 0, ""),
        ("perft broken 2 2>&-", 1, ""),
    ],
)
def test_closed_streams_are_one_line(call: str, status: int, line: str) -> None:
    command = f"exec {shlex.join(COMMAND)} {call}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == status
    assert re.fullmatch(line, done.stderr.strip())
    assert done.stdout == ("400\n" if (status, line) == (0, "") and "perft" in call else "")
