"""Folders of compiled kernels come and go; functions of all kinds are callable from Python."""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pytest

from nnuelab import build, sources
from nnuelab.chess.moves import is_promotion, kind
from nnuelab.jit import view

DAY = 86400


def folder(parent: Path, name: str, days: float) -> Path:
    """A folder of kernels that was last used so many days ago."""
    path = parent / name
    (path / "chess").mkdir(parents=True)
    (path / "chess" / "kernel.nbc").write_text("")
    os.utime(path, (time.time() - days * DAY,) * 2)
    return path


def test_a_new_folder_comes_with_the_removal_of_long_unused_ones(tmp_path: Path) -> None:
    old, young = folder(tmp_path, "old", 31), folder(tmp_path, "young", 29)
    build._use(tmp_path / "new")
    assert (tmp_path / "new").is_dir()
    assert young.is_dir()
    assert not old.exists()


def test_a_folder_in_use_stays_young_and_removes_nothing(tmp_path: Path) -> None:
    current, other = folder(tmp_path, "current", 40), folder(tmp_path, "other", 40)
    build._use(current)
    assert time.time() - current.stat().st_mtime < DAY
    assert (current / "chess" / "kernel.nbc").exists()
    assert other.exists()


def test_many_processes_may_remove_at_once(tmp_path: Path) -> None:
    for i in range(300):
        folder(tmp_path, f"old{i}", 31)
    program = (
        "import sys; from pathlib import Path; from nnuelab import build; sys.stdin.read();"
        f"build._use(Path({str(tmp_path)!r}) / sys.argv[1])"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, f"new{i % 2}"], stdin=subprocess.PIPE)
        for i in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait(60) for process in processes] == [0] * 4
    assert {path.name for path in tmp_path.iterdir()} == {"new0", "new1"}


def test_a_cache_that_cannot_be_made_is_left_to_numba(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    build._use(tmp_path / "file" / "new")


SEARCH = sources.PACKAGE / "engine" / "alphabeta.py"


@pytest.mark.parametrize(
    ("edited", "recompiled"),
    [
        ("engine/alphabeta.py", True),
        ("engine/terms.py", True),
        ("chess/position.py", True),  # a constant in a file that it imports, several steps away
        ("jit.py", True),
        ("data/fetch.py", False),
        ("features/blocks/lines.py", False),
        ("nnue/inference.py", False),
        ("nnue/training.py", False),
        ("artifacts.py", False),
    ],
)
def test_kernels_are_compiled_anew_when_what_they_are_made_of_changes(
    edited: str, recompiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels_of, digest = build.kernels_of.__wrapped__, sources.digest
    before, file = kernels_of(SEARCH), sources.PACKAGE / edited
    assert file.is_file()
    monkeypatch.setattr(sources, "digest", lambda f: digest(f) + b"edited" * (f == file))
    assert (kernels_of(SEARCH) != before) == recompiled


def test_an_engine_without_terms_has_the_kernels_of_all_other_rooms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moves = sources.PACKAGE / "chess" / "moves.py"
    before = [build.kernels_of.__wrapped__(file) for file in (SEARCH, moves)]
    monkeypatch.setattr(build, "WITHOUT", ("razoring",))
    after = [build.kernels_of.__wrapped__(file) for file in (SEARCH, moves)]
    assert (after[0] != before[0], after[1] == before[1]) == (True, True)


COUNT = """
from nnuelab.jit import jit
NUMBER = 1

@jit
def number():
    return NUMBER

print(number(), sum(number.stats.cache_hits.values()))
"""


def test_many_processes_may_compile_at_once(tmp_path: Path) -> None:
    script = tmp_path / "count.py"
    script.write_text(COUNT)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, str(script)]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, stdout=pipe, env=environment) for _ in range(4)]
    assert {process.communicate()[0].split()[0] for process in running} == {b"1"}
    again = subprocess.run(command, stdout=pipe, env=environment, check=True).stdout
    assert again.split() == [b"1", b"1"]  # from the cache
    for kernels in tmp_path.rglob("*.nb[ci]"):
        whole = kernels.read_bytes()
        middle = len(whole) // 2
        turned = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        for damaged in (b"", whole[:middle], bytes(len(whole)), turned):  # as power cuts, and disks
            kernels.write_bytes(damaged)
            anew = subprocess.run(command, stdout=pipe, env=environment, check=True).stdout
            assert anew.split() == [b"1", b"0"]
            kept = subprocess.run(command, stdout=pipe, env=environment, check=True).stdout
            assert kept.split() == [b"1", b"1"]
    script.write_text(COUNT.replace("NUMBER = 1", "NUMBER = 2"))
    edited = subprocess.run(command, stdout=pipe, env=environment, check=True).stdout
    assert edited.split()[0] == b"2"


def without_room() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_a_full_disk_costs_what_would_be_kept_alone(tmp_path: Path) -> None:
    script, cache = tmp_path / "count.py", tmp_path / "cache"
    script.write_text(COUNT)
    done = subprocess.run(
        [sys.executable, "-B", str(script)],
        capture_output=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        preexec_fn=without_room,
    )
    assert done.stdout.split() == [b"1", b"0"], done.stderr
    assert not [file for file in cache.rglob("*") if file.is_file()]


MOVE = 12 | 28 << 6 | 7 << 12  # a promotion, by its bits


def test_an_inline_function_is_called_from_python_like_any_other() -> None:
    assert kind(MOVE) == 7  # before a compiled function needs it
    assert is_promotion(MOVE)

    @numba.njit
    def kind_of(move):  # type: ignore[no-untyped-def]
        return kind(move)

    assert kind_of(MOVE) == kind(MOVE) == kind.py_func(MOVE)


def test_an_inline_function_is_callable_where_it_is_unpickled() -> None:
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer)(int(sys.argv[1])))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(MOVE)], input=pickle.dumps(kind), capture_output=True
    )
    assert (done.returncode, done.stdout.split()) == (0, [b"7"]), done.stderr


@numba.njit
def viewed(address, shape):  # type: ignore[no-untyped-def]
    """An array of int16 over memory, copied."""
    return view(address, shape, np.int16).copy()


@pytest.mark.parametrize("shape", [0, 1, 24, (4, 6), (2, np.uint64(12)), (2, np.int32(3), 4), ()])
def test_a_view_is_what_numpy_reads(shape: int | tuple[int, ...]) -> None:
    memory = np.arange(24, dtype=np.int16)
    count = int(np.prod(shape))
    expected = memory[:count].reshape(shape)
    for address in (memory.ctypes.data, np.uint64(memory.ctypes.data)):
        np.testing.assert_array_equal(viewed(address, shape), expected)


@pytest.mark.parametrize(("address", "shape"), [(1.0, 2), (0, 2.5), (0, (2, 2.0))])
def test_a_view_takes_integers(address: float, shape: float | tuple[float, ...]) -> None:
    with pytest.raises(numba.TypingError, match="integer sizes"):
        viewed(address, shape)
