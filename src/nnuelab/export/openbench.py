"""What OpenBench needs of an engine and its nets, after a trial of what its workers do with them.

A worker runs ``make EXE=NAME EVALFILE=NET`` in the folder of the Makefile, then ``./NAME bench``,
which tells how many nodes it has searched, the same number each time, and how many in a second. A
net goes by the first eight digits of its SHA-256. (OpenBench: Client/utils.py, Client/bench.py,
OpenBench/config.py.)
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnuelab import artifacts
from nnuelab.data.parallel import run_guarded
from nnuelab.data.uci import UciEngine
from nnuelab.errors import UserError

BENCH_SECONDS = 60  # that a worker waits for a bench
BUILD_SECONDS = 3600
OPTIONS = {"Threads": 1, "Hash": 16}  # every test sets them
NODES = re.compile(r"\b(?:(\d{1,18}) nodes|nodes (\d{1,18})|nodes searched (\d{1,18}))\b")
SPEED = re.compile(r"\b(?:(\d{1,18}) nps|nps (\d{1,18})|nodes second (\d{1,18}))\b")


@dataclass(frozen=True)
class Project:
    """An engine as OpenBench knows it.

    Attributes
    ----------
    name : str
    repository : str
        Its address.
    path : str
        The folder with the Makefile in it, "" for its root.
    branch : str
        What tests compare with.
    compiler : str
        ``g++`` and its like become CXX, others CC.
    book : str
        One of OpenBench's books.
    bounds : tuple of float
        Hypotheses of its tests, Elo.
    """

    name: str
    repository: str
    path: str = ""
    branch: str = "main"
    compiler: str = "g++"
    book: str = "UHO_Lichess_4852_v1.epd"
    bounds: tuple[float, float] = (0.0, 5.0)


def net_name(net: Path) -> str:
    """What OpenBench calls a net."""
    return artifacts.sha256(net)[:8].upper()


def _number(pattern: re.Pattern[str], lines: Sequence[str]) -> int | None:
    """The number of the last line that has one."""
    found = filter(None, map(pattern.search, reversed(lines)))
    return next((int(match[match.lastindex or 0]) for match in found), None)


def read_bench(text: str) -> tuple[int | None, int | None]:
    """Nodes, and nodes per second, as a worker finds them in what a bench prints.

    >>> read_bench("position 1 of 2\\nNodes searched: 2030\\nNodes/second  : 1000500")
    (2030, 1000500)
    >>> read_bench("123456 nodes 987654 nps")
    (123456, 987654)
    """
    lines = [re.sub(r"[^a-z0-9]+", " ", line.lower()) for line in text.splitlines()]
    return _number(NODES, lines), _number(SPEED, lines)


def _run(command: list[str], folder: Path, seconds: int, what: str) -> str:
    with tempfile.TemporaryDirectory() as apart:
        said = Path(apart) / "said.txt"
        try:
            status = run_guarded(command, said, seconds, folder)
        except subprocess.TimeoutExpired:
            raise UserError(f"{what} takes more than {seconds} s") from None
        except OSError as error:
            raise UserError(f"{what}: {command[0]}: {error.strerror}") from None
        text = said.read_text(errors="replace")
    if status:
        last = (text.strip().splitlines() or ["it printed nothing"])[-1]
        raise UserError(f"{what} ends with status {status}: {last}")
    return text


def trial(source: Path, project: Project, net: Path) -> tuple[int, int]:
    """Builds the engine with a net as a worker does, and tries it.

    Parameters
    ----------
    source : path
        What is in the repository; a copy of it is built.

    Returns
    -------
    nodes, nps : int
        Of its bench.

    Raises
    ------
    UserError
        For all that a worker or a test would stumble over.
    """
    makefile = source / project.path
    if not makefile.is_dir() or not makefile.resolve().is_relative_to(source.resolve()):
        folder = f"{project.path!r} in {source}" if project.path else str(source)
        raise UserError(f"there is no folder {folder} to build in")
    if not net.is_file():
        raise UserError(f"there is no net {net}")
    exe, variable = f"{project.name}-trial", "CXX" if "++" in project.compiler else "CC"
    with tempfile.TemporaryDirectory() as temporary:
        copy, named = Path(temporary) / "source", Path(temporary) / net_name(net)
        try:
            shutil.copyfile(net, named)
            shutil.copytree(source, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        except OSError as error:  # all that couldn't be copied is in it
            what = str(error).splitlines()[0][:300]
            raise UserError(f"can't copy {source} to build in: {what}") from error
        place = copy / project.path
        assigned = {"EXE": exe, variable: project.compiler, "EVALFILE": named}
        make = ["make", "-j", *(f"{name}={value}" for name, value in assigned.items())]
        _run(make, place, BUILD_SECONDS, f"`{' '.join(make)}` in a copy of {makefile}")
        program = place / exe
        if not program.is_file():
            raise UserError(f"make in {makefile} leaves no {exe} there; it has to obey EXE={exe}")
        named.unlink()  # a net that isn't built in is missing where it plays
        with UciEngine([str(program)], OPTIONS):
            pass
        command = [f"./{exe}", "bench"]
        what = f"`{' '.join(command)}`"
        texts = [_run([str(program), "bench"], place, BENCH_SECONDS, what) for _ in range(2)]
    (nodes, nps), (again, _) = map(read_bench, texts)
    if nodes is None or not nps:
        missing = "nodes" if nodes is None else "nodes per second"
        raise UserError(f"{what} prints no {missing}, as in: 123456 nodes 987654 nps")
    if nodes != again:
        raise UserError(f"{what} is not deterministic: {nodes:,} nodes, then {again or 0:,}")
    return nodes, nps


def configuration(project: Project, nps: int, nets: Sequence[Path]) -> dict[str, Any]:
    """The file ``Engines/NAME.json``; of the ``nets`` the first is tested against the last."""
    names = [net_name(net) for net in nets]
    games = {
        "book_name": project.book,
        "win_adj": "movecount=3 score=400",
        "draw_adj": "movenumber=40 movecount=8 score=10",
    }
    low, high = project.bounds
    default = {
        "base_branch": project.branch,
        "dev_network": names[0],
        "base_network": names[-1],
        "test_bounds": f"[{low:.2f}, {high:.2f}]",
        "test_confidence": "[0.05, 0.05]",
        **games,
    }
    limits = {"STC": (16, "10.0+0.1", 32), "LTC": (64, "60.0+0.6", 8)}
    presets = {
        name: {
            "both_options": f"Threads=1 Hash={size}",
            "both_time_control": clock,
            "workload_size": workload,
        }
        for name, (size, clock, workload) in limits.items()
    }
    return {
        "private": False,
        "nps": nps,
        "source": project.repository,
        "build": {
            "path": project.path,
            "compilers": [project.compiler],
            "cpuflags": [],
            "systems": ["Linux"],
        },
        "test_presets": {"default": default, **presets},
        "tune_presets": {"default": games},
        "datagen_presets": {"default": {"win_adj": "None", "draw_adj": "None"}},
    }


def write(folder: Path, source: Path, project: Project, nets: Sequence[Path]) -> int:
    """Tries the engine with each net, and writes its settings and nets; returns its speed, nps.

    Raises
    ------
    UserError
        As `trial` does; where two nets give the same bench, since EVALFILE is then not obeyed.
    """
    tried = {net: trial(source, project, net) for net in nets}
    nodes = {net_name(net): found for net, (found, _) in tried.items()}
    if len(nodes) > 1 and len(set(nodes.values())) == 1:
        raise UserError(
            f"bench is the same with all nets ({next(iter(nodes.values())):,} nodes); the Makefile "
            "has to build in the file EVALFILE"
        )
    nps = sum(speed for _, speed in tried.values()) // len(tried)
    for net in nets:
        with artifacts.atomic(folder / "Networks" / net_name(net)) as temporary:
            shutil.copyfile(net, temporary)
    artifacts.write_json(
        folder / "Engines" / f"{project.name}.json", configuration(project, nps, nets)
    )
    return nps
