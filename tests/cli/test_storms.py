"""What is hostile or broken is one line: no traceback, no escape sequence, no bulk."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from nnuelab import artifacts
from nnuelab.cli import app as commands
from nnuelab.cli.__main__ import application
from nnuelab.errors import LONGEST, UserError, clipped

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "nnuelab.cli"]
ESCAPE = "\x1b]0;owned\x07\x1b[31m"
DEEP = 20_000
BROKEN = {
    "another encoding": ("# \xe9 x".encode("latin-1"), "invalid continuation byte"),
    "a list for a name": (b"? [a, b]\n: 1", "a list or mapping can't be a name"),
    "a mapping for a name": (b"? {a: b}\n: 1", "a list or mapping can't be a name"),
    "a number for a name": (b"1: 2", "keys should be strings, not 1"),
    "deep brackets": (b"a: " + b"[" * DEEP + b"]" * DEEP, "nested too deeply"),
    "a zero byte": (b"a: \0", "special characters are not allowed"),
    "a file without an end": (b"blocks: [/dev/zero]", "there is no file of feature blocks"),
    "a name without an end": (b"blocks: [" + b"a" * 5_000_000 + b"]", "File name too long"),
    "a seed beyond 64 bits": (
        b"experiments: {x: {feature_sets: [ALL], seeds: [18446744073709551616], anchor: ALL}}",
        "line 1: '18446744073709551616' is no integer of 64 bits",
    ),
    "a time without an end": (b"tournament: {movetime: .inf}", "should be a finite number"),
    "an escape sequence": (b'blocks: ["' + b"\\e[31m" + b'"]', "\\x1b[31m"),
}


def refused(words: list[str], **environment: str) -> str:
    """What a command says that ends with status 1."""
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr[-2000:]
    said = done.stderr
    assert said.startswith("nnuelab: error: ")
    assert "Traceback" not in said
    assert all(line.isprintable() and len(line) < 2 * LONGEST for line in said.splitlines())
    return said


@pytest.mark.parametrize("name", BROKEN)
def test_broken_settings_are_told(name: str, tmp_path: Path) -> None:
    content, reason = BROKEN[name]
    overlay = tmp_path / "overlay.yaml"
    overlay.write_bytes(content)
    said = refused(["params", "check", "params.yaml", "--overlay", str(overlay)])
    assert reason in said
    assert "overlay.yaml" in said


def test_an_overlay_alone_is_told_how_to_be_checked(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("train: {epochs: 2}")
    said = refused(["params", "check", str(overlay)])
    assert said.rstrip().endswith(f"nnuelab params check --overlay {overlay}")


def test_players_nested_too_deeply_are_told(tmp_path: Path) -> None:
    for name in ("players.yaml", "players.toml"):
        file = tmp_path / name
        file.write_text("a = " * name.endswith("toml") + "[" * DEEP + "]" * DEEP)
        said = refused(
            ["tournament", "--players", str(file), "--book", "b.epd", "--output", "g.pgn"]
        )
        assert name in said


def test_a_locale_without_utf_8_changes_nothing() -> None:
    told = [
        subprocess.run(
            [*COMMAND, "params", "list"],
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
        )
        for environment in ({"PYTHONUTF8": "0", "LC_ALL": "C"}, {"PYTHONUTF8": "1"})
    ]
    assert told[0].returncode == 0, told[0].stderr
    assert told[0].stdout == told[1].stdout


def test_a_long_line_is_clipped_and_escaped() -> None:
    said = clipped(ESCAPE + "x" * 50_000_000)
    assert len(said) < LONGEST + 100
    assert said.isprintable()
    assert clipped("an e with \xe9") == "an e with \xe9"


def test_a_folder_that_may_not_be_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, commands._told():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/nowhere/net.part")
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nnuelab: error: Permission denied (/nowhere/net.part)")


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EIO, errno.ESTALE])
def test_an_input_that_is_gone_meanwhile_is_one_line(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, commands._told():
        raise OSError(number, os.strerror(number), "/mnt/train.npy")
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("(/mnt/train.npy); bring it back and run again")


def test_inspect_shows_escape_sequences_as_text(tmp_path: Path) -> None:
    file = tmp_path / "values.json"
    file.write_text(json.dumps({f"a{ESCAPE}": f"b{ESCAPE}", "many": [1]}))
    artifacts.provenance(file, parameters={f"c{ESCAPE}": f"d{ESCAPE}", "[red]": "[/red]"})
    shown = CliRunner().invoke(application(), ["inspect", str(file)], catch_exceptions=False)
    assert "\x1b" not in shown.stdout
    assert "\x07" not in shown.stdout
    assert shown.stdout.count("\\x1b") >= 4


def test_serve_prints_problems_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(problems=[f"a log ends with: {ESCAPE}"], experiments=[], nets=[])
    monkeypatch.setattr("nnuelab.report.results.gather", lambda *_: found)
    monkeypatch.setattr("nnuelab.report.play.gather", lambda *_: ([], []))
    done = CliRunner().invoke(application(), ["serve", "--port", "0"], catch_exceptions=False)
    assert "no net to serve" in done.stderr
    assert "\\x1b" in done.stderr
    assert "\x1b" not in done.output


def test_no_advice_to_run_what_a_stranger_pickled(tmp_path: Path) -> None:
    from nnuelab.nnue.checkpoint import Checkpoint

    file = tmp_path / "checkpoint.pt"
    file.write_bytes(pickle.dumps(subprocess.run))
    with pytest.raises(UserError, match="can't be read as a checkpoint") as error:
        Checkpoint.load(file)
    assert "weights_only" not in str(error.value)


def test_a_file_that_is_cut_off_while_it_is_read_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "positions.npy"
    file.write_bytes(bytes(1 << 16))
    program = (
        "import os, sys, numpy\n"
        "from nnuelab.cli.__main__ import tell_of_cut_files\n"
        "tell_of_cut_files()\n"
        "mapped = numpy.memmap(sys.argv[1], 'u1', 'r')\n"
        "os.truncate(sys.argv[1], 0)\n"
        "print(mapped.sum())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)], capture_output=True, text=True
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("nnuelab: error: a file was cut off")


@pytest.mark.parametrize("spread", [5, [5], [{"freedom": 1e999}], [{"experiment": "\ud800"}]])
def test_odd_details_are_told_by_spread(tmp_path: Path, spread: object) -> None:
    details = tmp_path / "details.json"
    details.write_text(json.dumps({"spread": spread}))
    words = ["spread", str(details), "--csv", str(tmp_path / "spread.csv")]
    done = CliRunner().invoke(application(), words, catch_exceptions=False)
    assert done.exit_code == 1
    assert str(details) in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["details.json"]


def test_rate_on_a_full_disk_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = tmp_path / "g.pgn"
    games.write_text(
        "".join(
            f'[White "{a}"]\n[Black "{b}"]\n[Result "{r}"]\n\n{r}\n\n'
            for a, b, r in (("A", "B", "1-0"), ("B", "A", "1-0"), ("A", "B", "1/2-1/2"))
        )
    )
    write = Path.write_text

    def full(path: Path, text: str) -> int:
        if "details" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, text)

    monkeypatch.setattr(Path, "write_text", full)
    table, details = tmp_path / "table.csv", tmp_path / "details.json"
    words = ["rate", str(games), "--csv", str(table), "--details", str(details)]
    done = CliRunner().invoke(application(), words)
    assert done.exit_code == 1
    assert "nothing was changed" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["g.pgn"]
