"""What this machine has for nnuelab, what is missing, and the remedy."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nnuelab import __version__, build
from nnuelab.data.uci import find_engine
from nnuelab.errors import UserError
from nnuelab.tournament.cost import machine
from nnuelab.tournament.words import Runner

Verdict = Literal["ok", "slow", "absent", "needed"]

PYTHONS = ((3, 11), (3, 13))  # first and last that the project runs on
GIGABYTE = 1e9
LEAST_MEMORY = 4  # GB that the default run takes
LEAST_DISK = 5  # GB: the environment and the default run

# What each package is for, and how to get it; the first of a clone's are in requirements.lock.
PACKAGES = {
    "torch": ("trains nets", "./run --setup, or pip install 'nnuelab[train]'"),
    "snakemake": ("runs the workflow", "./run --setup"),
    "dvc": ("versions data and nets", "./run --setup"),
}
ENGINES = {
    "stockfish": "labels positions, plays in the ladder",
    "ordo": "rates games; statsmodels gives the same",
    str(Runner.FASTCHESS): "runs tournaments; nnuelab does so itself",
    str(Runner.CUTECHESS): "runs tournaments; nnuelab does so itself",
}
COMPILERS = {"cc": "compiles exported nets", "make": "tests exported nets"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for.

    Attributes
    ----------
    name : str
    found : str
        What is there.
    verdict : {"ok", "slow", "absent", "needed"}
        absent: something optional is missing; needed: something that the default run takes.
    remedy : str
        What to do; empty where there is nothing to do.
    """

    name: str
    found: str
    verdict: Verdict = "ok"
    remedy: str = ""


def examine(folder: Path) -> Iterator[Finding]:
    """All findings, what matters most first.

    Parameters
    ----------
    folder : path
        Where results would go.
    """
    yield _python()
    yield from map(_package, PACKAGES)
    yield _cpu()
    yield _cores()
    yield _memory()
    yield _disk(folder)
    yield _kernels()
    yield _gpu()
    yield from map(_program, ENGINES | COMPILERS)


def _python() -> Finding:
    first, last = (".".join(map(str, version)) for version in PYTHONS)
    fits = PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    return Finding(
        "python",
        f"{platform.python_version()}, nnuelab {__version__}",
        "ok" if fits else "needed",
        "" if fits else f"use Python {first} to {last}: PYTHON=python{last} ./run --setup",
    )


def _package(name: str) -> Finding:
    purpose, remedy = PACKAGES[name]
    try:
        return Finding(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, f"not installed; {purpose}", "needed", remedy)


def _cpu() -> Finding:
    found = f"{machine()['cpu']}, vector kernels {build.SIMD}"
    if build.SIMD != "portable":
        return Finding("cpu", found)
    return Finding(
        "cpu",
        found,
        "slow",
        "play and train on x86-64 with AVX2: nets are the same on all of those",
    )


def _cores() -> Finding:
    cores, (load, *_) = len(os.sched_getaffinity(0)), os.getloadavg()
    found = f"{cores}, load {load:.1f}"
    if load < cores / 2:
        return Finding("cores", found)
    return Finding("cores", found, "slow", "measure costs and speeds when less else is running")


def _memory() -> Finding:
    pages = os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PHYS_PAGES")
    free, total = (n * os.sysconf("SC_PAGE_SIZE") / GIGABYTE for n in pages)
    found = f"{total:.0f} GB, {free:.0f} free"
    if total >= LEAST_MEMORY:
        return Finding("memory", found)
    return Finding("memory", found, "slow", "run fewer jobs at once: ./run --cores 1")


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free / GIGABYTE
    found = f"{free:.0f} GB free in {folder}"
    if not os.access(folder, os.W_OK):
        return Finding("disk", found, "needed", "work in a folder that you may write to")
    if free >= LEAST_DISK:
        return Finding("disk", found)
    return Finding("disk", found, "slow", f"make room: {LEAST_DISK} GB hold the default run")


def _kernels() -> Finding:
    folder = build.kernels_of(Path(build.__file__)).parent
    made = sum(1 for path in folder.glob("*/*.nbc")) if folder.is_dir() else 0
    if made:
        return Finding("kernels", f"{made} compiled, in {folder}")
    return Finding("kernels", f"none compiled yet, in {folder}", "slow", "nnuelab bench latency")


def _gpu() -> Finding:
    try:
        import torch
    except ImportError:
        return Finding("gpu", "unknown without torch", "absent")
    if torch.cuda.is_available():
        return Finding("gpu", torch.cuda.get_device_name())
    if shutil.which("nvidia-smi"):
        remedy = f"torch {torch.__version__} can't use it: install a build with CUDA"
        return Finding("gpu", "there is one", "slow", remedy)
    return Finding("gpu", "none; nets train on the CPU", "absent")


def _program(name: str) -> Finding:
    purpose = (ENGINES | COMPILERS)[name]
    try:
        return Finding(name, find_engine(name))
    except UserError:
        return Finding(name, f"not on PATH; {purpose}", "absent")
