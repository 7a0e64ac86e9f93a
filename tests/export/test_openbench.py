"""The trial of an engine as OpenBench's workers build and run it, and its settings there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from nnuelab.errors import UserError
from nnuelab.export import openbench
from nnuelab.export.openbench import Project, read_bench, trial, write

# An "engine" whose bench depends on the net that is built in.
ENGINE = """#!/bin/sh
if [ "$1" = bench ]; then
    echo "Position 2: 17 knodes"
    echo "@SIZE@ nodes 123456 nps"
    exit 0
fi
while read -r line; do
    case "$line" in
    uci)
        echo "option name Threads type spin default 1 min 1 max 8"
        echo "option name Hash type spin default 16 min 1 max 64"
        echo uciok ;;
    isready) echo readyok ;;
    quit) exit 0 ;;
    esac
done
"""
MAKEFILE = """EXE = engine
EVALFILE = none
CXX = none
all:
\t: $(CXX)
\tsed "s/@SIZE@/$$(wc -c < $(EVALFILE))/" ../engine.sh > $(EXE)
\tchmod +x $(EXE)
"""
PROJECT = Project("Mine", "https://github.com/me/mine", "make", compiler="c++")


def folder(path: Path, engine: str = ENGINE, makefile: str = MAKEFILE) -> Path:
    """A repository with the sources of an engine, whose Makefile reaches out of its folder."""
    source = path / "my engine"
    (source / "make").mkdir(parents=True)
    (source / "engine.sh").write_text(engine)
    (source / "make" / "Makefile").write_text(makefile)
    return source


def net(path: Path, size: int) -> Path:
    path.write_bytes(b"n" * size)
    return path


def test_a_sound_engine_gets_its_settings_and_nets(tmp_path: Path) -> None:
    source = folder(tmp_path)
    new, old = net(tmp_path / "new.bin", 1234), net(tmp_path / "old.bin", 999)
    command = [sys.executable, "-m", "nnuelab.cli", "openbench", str(source), "--path", "make"]
    command += [
        "--net",
        str(new),
        "--net",
        str(old),
        "--name",
        "Mine",
        "--repository",
        PROJECT.repository,
    ]
    command += ["--sprt=-3,0.5", "--output", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in source.rglob("*")) == ["Makefile", "engine.sh", "make"]
    told = json.loads((tmp_path / "out/Engines/Mine.json").read_text())
    assert told["nps"] == 123456
    assert told["source"] == PROJECT.repository
    default = told["test_presets"]["default"]
    assert default["test_bounds"] == "[-3.00, 0.50]"
    for file, where in ((new, "dev_network"), (old, "base_network")):
        sha = hashlib.sha256(file.read_bytes()).hexdigest()[:8].upper()
        assert default[where] == sha
        assert (tmp_path / "out/Networks" / sha).read_bytes() == file.read_bytes()
    record = json.loads((tmp_path / "out/Engines/Mine.json.json").read_text())
    assert len(record["inputs"]) == 2


def test_openbench_s_own_checks_of_settings_hold(tmp_path: Path) -> None:
    """What its server asserts of a file of an engine when it starts."""
    write(tmp_path / "out", folder(tmp_path), PROJECT, [net(tmp_path / "a.bin", 10)])
    told = json.loads((tmp_path / "out/Engines/Mine.json").read_text())
    assert told["private"] is False
    assert type(told["nps"]) is int
    assert told["nps"] > 0
    assert type(told["build"]["path"]) is str
    for key in ("cpuflags", "systems", "compilers"):
        assert all(type(word) is str for word in told["build"][key])
    sides = {
        f"{side}_{what}"
        for side in ("both", "dev", "base")
        for what in ("branch", "bench", "network", "options", "time_control")
    }
    tests = {"test_bounds", "test_confidence", "test_max_games"}
    games = {"book_name", "upload_pgns", "priority", "throughput", "workload_size", "syzygy_wdl"}
    games |= {"syzygy_adj", "win_adj", "draw_adj"}
    for kind, known in (("test", sides | tests | games), ("tune", games), ("datagen", games)):
        assert "default" in told[f"{kind}_presets"]
        for preset in told[f"{kind}_presets"].values():
            assert preset.keys() <= known


@pytest.mark.parametrize(
    ("engine", "makefile", "said"),
    [
        (ENGINE, MAKEFILE.replace("chmod", "false && chmod"), "ends with status 2"),
        (ENGINE, MAKEFILE.replace("$(EXE)", "engine"), "it has to obey EXE=Mine-trial"),
        (ENGINE.replace("Hash", "Memory"), MAKEFILE, "has no option 'Hash'"),
        (ENGINE.replace(" 123456 nps", ""), MAKEFILE, "prints no nodes per second"),
        (ENGINE.replace("exit 0\nfi", "exit 3\nfi"), MAKEFILE, "bench` ends with status 3"),
        (ENGINE.replace("@SIZE@", "$$"), MAKEFILE, "is not deterministic"),
        (ENGINE.replace("@SIZE@", "77"), MAKEFILE, "bench is the same with all nets (77 nodes)"),
    ],
)
def test_what_a_worker_would_stumble_over_is_told_in_one_line(
    tmp_path: Path, engine: str, makefile: str, said: str
) -> None:
    nets = [net(tmp_path / "a.bin", 10), net(tmp_path / "b.bin", 20)]
    with pytest.raises(UserError) as error:
        write(tmp_path / "out", folder(tmp_path, engine, makefile), PROJECT, nets)
    assert said in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_bench_without_end_is_ended_with_what_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openbench, "BENCH_SECONDS", 1)
    started = tmp_path / "started"
    endless = f'    sleep 9999 & echo $! > "{started}"; wait\n    exit 0\nfi'
    source = folder(tmp_path, ENGINE.replace("    exit 0\nfi", endless))
    with pytest.raises(UserError, match="bench` takes more than 1 s"):
        trial(source, PROJECT, net(tmp_path / "a.bin", 10))
    pid = int(started.read_text())
    for _ in range(600):  # a kill takes effect a moment later; nobody may be there to wait for it
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.1)
                continue
        return
    raise AssertionError(f"{pid} runs on")


def test_missing_folders_and_nets_are_told(tmp_path: Path) -> None:
    source, some = folder(tmp_path), net(tmp_path / "a.bin", 10)
    with pytest.raises(UserError, match="there is no net"):
        trial(source, PROJECT, tmp_path / "missing.bin")
    with pytest.raises(UserError, match="there is no folder 'make' in"):
        trial(tmp_path / "missing", PROJECT, some)
    with pytest.raises(UserError, match=rf"there is no folder {tmp_path}/missing to build in"):
        trial(tmp_path / "missing", replace(PROJECT, path=""), some)
    for path in ("missing", "..", "/"):
        with pytest.raises(UserError, match="there is no folder"):
            trial(source, replace(PROJECT, path=path), some)
    os.mkfifo(source / "pipe")
    with pytest.raises(UserError, match="can't copy"):
        trial(source, PROJECT, some)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12 nodes 34 nps", (12, 34)),
        ("info nodes 5 nps 6\nNodes searched  : 12\nNodes/second    : 34", (12, 34)),
        ("Bench: 12 nodes\n===\n34 NPS", (12, 34)),
        ("nothing", (None, None)),
        (f"{'9' * 5000} nodes\n34 nps", (None, 34)),
    ],
)
def test_a_bench_is_read_from_its_end(text: str, found: tuple[int | None, int | None]) -> None:
    assert read_bench(text) == found
