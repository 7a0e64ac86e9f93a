"""Storms over every stage that writes files: kills, stops, twins, full disks, jumping clocks.

Whatever has happened, the same command run to its end gives the bytes of an undisturbed run, and
leaves nothing else.
"""

from __future__ import annotations

import ctypes
import gzip
import hashlib
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from nnuelab import build
from nnuelab.artifacts import RESOURCES
from tests.chaos_stages import FILLED, GATHERED, STAGES
from tests.export.test_openbench import folder as write_engine

KILLS = 3
TIMED = {"cost", "search", "size", "stats"}  # they measure times
READ = {  # by which stage
    "train/out/checkpoint.pt": "quantize",
    "quantize/out/net.nnue": "net",
    "label/out/train.npy": "train",
    "policy/out/net.policy": "evaluate",
    "trace/out/train.trace": "residuals",
}
ONCE = {"export", "new"}  # they refuse to write where they have written
QUICK = {"datagen", "sample", "label", "label-search", "train", "puzzles", "tune"}
DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24

PROGRAM = """
import os, signal, sys, time
storm, amount = sys.argv[1], float(sys.argv[2])
del sys.argv[1:3]
now, replace, began, seen = time.time, os.replace, time.monotonic(), []
def jumping():
    part = (time.monotonic() - began) / amount
    return now() + 86400 * ((part > 1 / 3) - 2 * (part > 2 / 3))
def dying(*places, **more):
    seen.append(places)
    if len(seen) > amount:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*places, **more)
if storm == "clock":
    time.time = jumping
if storm == "rename":
    os.replace = dying
from nnuelab.cli.__main__ import run
run()
"""


def start(
    name: str, folder: Path, storm: str = "", amount: float = 0, **more: Callable[[], object]
) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, storm or "none", str(amount)]
    return subprocess.Popen(
        [*command, *shlex.split(STAGES[name])],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate()
    return process.returncode, said


def check_told(said: str) -> None:
    """A failure is one clear line, the last one."""
    lines = said.splitlines()
    assert "Traceback" not in said, said[-3000:]
    assert [line for line in lines if line.startswith("nnuelab: ")] == lines[-1:], said[-3000:]
    assert lines[-1].startswith("nnuelab: error: "), said[-3000:]


def contents(name: str, folder: Path) -> dict[str, str]:
    """SHA-256 of each file, hidden ones too; of those that hold times, the name."""
    found = {}
    for file in sorted(folder.rglob("*")):
        timed = name in TIMED or "_times.csv" in file.name
        if file.is_file():
            content = b"" if timed else file.read_bytes()
            found[str(file.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return found


@dataclass
class Stages:
    """Undisturbed runs, each made when it is first asked for, and folders of storms beside them."""

    base: Path
    seconds: dict[str, float] = field(default_factory=dict)
    _made: dict[str, dict[str, str]] = field(default_factory=dict)

    def whole(self, name: str) -> dict[str, str]:
        if name not in self._made:
            for source in re.findall(r"\.\./([\w-]+)/", STAGES[name]):
                self._gather(source) if source in GATHERED else self.whole(source)
            folder = self._new(name, name)
            began = time.monotonic()
            status, said = ended(start(name, folder))
            assert status == 0, said[-3000:]
            self.seconds[name] = time.monotonic() - began
            self._made[name] = contents(name, folder)
        return self._made[name]

    def _new(self, name: str, place: str) -> Path:
        """A new folder for a stage, with what lies there before."""
        folder = self.base / place
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if name in FILLED:
            self.whole(FILLED[name])
            shutil.copytree(self.base / FILLED[name] / "out", folder / "out")
        return folder

    def _gather(self, name: str) -> None:
        for place, source in GATHERED[name].items():
            self.whole(source.split("/")[0])
            target = self.base / name / place
            target.parent.mkdir(parents=True, exist_ok=True)
            for ending in ("", ".json"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(f"{self.base / source}{ending}", f"{target}{ending}")

    def largest(self, name: str) -> int:
        """Bytes of its largest file."""
        return max(file.stat().st_size for file in (self.base / name).rglob("*") if file.is_file())

    def folder(self, name: str, storm: str) -> Path:
        self.whole(name)
        return self._new(name, f"{name}@{storm}")

    def check_whole(self, name: str, folder: Path, run: bool = True) -> None:
        """The command ends well, with the bytes of an undisturbed run and nothing beside them."""
        if run:
            status, said = ended(start(name, folder))
            if status != 0 and name in ONCE:
                check_told(said)
            else:
                assert status == 0, said[-3000:]
        assert contents(name, folder) == self.whole(name)


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Stages:
    base = tmp_path_factory.mktemp("chaos")
    lines = gzip.decompress((RESOURCES / "embedded" / "openings.epd.gz").read_bytes()).splitlines()
    (base / "book.epd").write_bytes(b"\n".join(lines[:60]))
    write_engine(base)
    return Stages(base)


@pytest.fixture(autouse=True)
def _nothing_runs_on(stages: Stages) -> Iterator[None]:
    yield
    left = []
    for process in psutil.process_iter(["cwd"]):
        if (process.info["cwd"] or "").startswith(str(stages.base)):
            left.append(process)
    _, alive = psutil.wait_procs(left, timeout=20)
    assert [process.cmdline() for process in alive] == []


@pytest.mark.parametrize("name", [n for n in STAGES if n in QUICK])
def test_killed_once(stages: Stages, name: str) -> None:
    killed(stages, name, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", STAGES)
def test_killed_at_any_moment(stages: Stages, name: str) -> None:
    killed(stages, name, KILLS)


def killed(stages: Stages, name: str, kills: int) -> None:
    folder, draw = stages.folder(name, "kill"), random.Random(f"kill {name}")
    for _ in range(kills):
        process = start(name, folder)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=draw.uniform(0.2, 1) * stages.seconds[name])
        process.kill()
        process.communicate()
    stages.check_whole(name, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", STAGES)
def test_killed_at_each_rename(stages: Stages, name: str) -> None:
    """Between two outputs, or an output and the record beside it, each time one later."""
    folder = stages.folder(name, "rename")
    for renames in range(100):
        status, said = ended(start(name, folder, "rename", renames))
        if status != -signal.SIGKILL:
            break
    if name in ONCE and status != 0:
        check_told(said)
    else:
        assert status == 0, said[-3000:]
    stages.check_whole(name, folder, run=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", STAGES)
def test_stopped_for_a_moment(stages: Stages, name: str) -> None:
    folder, draw = stages.folder(name, "stop"), random.Random(f"stop {name}")
    process = start(name, folder)
    with suppress(ProcessLookupError):
        for _ in range(3):
            time.sleep(draw.uniform(0, 0.4) * stages.seconds[name])
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(0.3)
            os.killpg(process.pid, signal.SIGCONT)
    status, said = ended(process)
    assert status == 0, said
    stages.check_whole(name, folder, run=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", STAGES)
def test_twins(stages: Stages, name: str) -> None:
    folder, draw = stages.folder(name, "twins"), random.Random(f"twins {name}")
    for pause in (0.0, draw.uniform(0, 0.5) * stages.seconds[name]):
        first = start(name, folder)
        time.sleep(pause)
        twins = [ended(process) for process in (first, start(name, folder))]
        for status, said in twins:
            if status != 0:
                assert status == 1
                check_told(said)
        ends_well = any(status == 0 for status, _ in twins)
        stages.check_whole(name, folder, run=not ends_well)


def limited(size: int) -> None:
    """Files can't grow beyond it: what a full disk does, for real."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.slow
@pytest.mark.parametrize("name", STAGES)
def test_a_full_disk(stages: Stages, name: str) -> None:
    whole, most = stages.whole(name), stages.largest(name)
    folder = stages.folder(name, "full")
    for room in (0, most // 2, most - 1)[: 2 if name in TIMED else 3]:
        status, said = ended(start(name, folder, preexec_fn=partial(limited, room)))
        assert status == 1, said
        check_told(said)
        for file, content in contents(name, folder).items():
            # A database that is interrupted has files of its own beside it.
            kept = file.removesuffix("-shm").removesuffix("-wal").endswith((".partial", ".journal"))
            kept |= Path(file).stem.startswith("history")
            assert kept or content == whole.get(file), file
    stages.check_whole(name, folder)
    status, said = ended(start(name, folder, preexec_fn=partial(limited, most // 2)))
    if status != 0:
        check_told(said)
    assert whole.items() <= contents(name, folder).items(), "what was there is gone"
    stages.check_whole(name, folder)


def without_rights() -> None:
    """Permissions bind, even for root."""
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, DAC_OVERRIDE, 0, 0, 0):
        os._exit(77)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in STAGES if n not in FILLED])
@pytest.mark.parametrize("place", ["read-only", "file"])
def test_a_place_that_can_not_be_written(stages: Stages, name: str, place: str) -> None:
    folder = stages.folder(name, place)
    output = folder / "out"
    if place == "file":
        output.touch()
    else:
        output.mkdir(mode=0o555)
    status, said = ended(start(name, folder, preexec_fn=without_rights))
    if status == 77:
        pytest.skip("root can't give up its rights here")
    assert status == 1, said
    check_told(said)
    assert list(folder.rglob("*")) == [output]


@pytest.mark.slow
@pytest.mark.parametrize("name", STAGES)
def test_a_clock_that_jumps(stages: Stages, name: str) -> None:
    folder = stages.folder(name, "clock")
    status, said = ended(start(name, folder, "clock", stages.seconds[name]))
    assert status == 0, said
    stages.check_whole(name, folder, run=False)


@pytest.mark.slow
def test_compiled_kernels_that_vanish(stages: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a command runs: those that it hasn't loaded yet are compiled anew."""
    folder, cache = stages.folder("datagen", "kernels"), stages.base / "kernels"
    shutil.copytree(build._cache(), cache / "nnuelab")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    process = start("datagen", folder)
    while process.poll() is None:
        shutil.rmtree(cache, ignore_errors=True)
        time.sleep(0.2)
    status, said = ended(process)
    assert status == 0, said[-3000:]
    stages.check_whole("datagen", folder, run=False)


def change_version(file: Path) -> None:
    """Makes it what another version of this program would write."""
    if file.suffix == ".pt":
        content = torch.load(file, weights_only=True)
        torch.save({**content, "format": content["format"] + 1}, file)
    elif file.suffix == ".npy":
        record = [*np.load(file, mmap_mode="r").dtype.descr, ("more", "u1")]
        np.save(file, np.zeros(9, record))
    elif file.suffix == ".trace":
        file.write_bytes(file.read_bytes().replace(b"trace 1", b"trace 2", 1))
    else:
        content = bytearray(file.read_bytes())
        content[8] += 1  # behind eight bytes that tell the kind of file
        file.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("source", READ)
def test_a_file_of_another_version(stages: Stages, source: str) -> None:
    name, file = READ[source], stages.base / source
    folder = stages.folder(name, "version")
    content = file.read_bytes()
    change_version(file)
    status, said = ended(start(name, folder))
    file.write_bytes(content)
    assert status == 1, said
    check_told(said)
    assert file.name in said
    assert list(folder.rglob("*.*")) == []
