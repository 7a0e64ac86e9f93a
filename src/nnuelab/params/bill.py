"""What an experiment costs, by rule: foretold before anything runs, and measured afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import yaml

from nnuelab import files, yaml_text
from nnuelab.errors import UserError
from nnuelab.params.jobs import Job, by_rule
from nnuelab.params.minutes import read_benchmark
from nnuelab.settings import MOST_CORES

HOUR = 3600


@dataclass(frozen=True)
class Machines:
    """Where jobs run.

    Attributes
    ----------
    cores : int
        All together.
    job_cores : int or None
        What a job gets at most; None: all.
    price, gpu_price : float
        Of an hour of a core and of a GPU.
    """

    cores: int
    job_cores: int | None = None
    price: float = 0.0
    gpu_price: float = 0.0

    @property
    def most(self) -> int:
        """Cores of the largest job."""
        return min(self.job_cores or self.cores, self.cores)


@dataclass(frozen=True)
class Line:
    """Jobs of one rule.

    Attributes
    ----------
    core_hours, gpu_hours : float
        That they keep others from using.
    memory : float
        MB of the largest job.
    disk : float
        MB that all of them leave.
    price : float
    """

    rule: str
    jobs: int
    core_hours: float
    gpu_hours: float
    memory: float
    disk: float
    price: float


@dataclass(frozen=True)
class Comparison:
    """Jobs of one rule that have left a benchmark; core-hours, and MB of the largest."""

    rule: str
    jobs: int
    foretold: float
    measured: float
    memory: float
    measured_memory: float


Row = TypeVar("Row", Line, Comparison)


def total(rows: Sequence[Row]) -> Row:
    """All rules together: sums, but the memory of the largest job."""
    found: dict[str, Any] = {"rule": "total"}
    for name in (each.name for each in fields(rows[0]) if each.name != "rule"):
        values = [getattr(row, name) for row in rows]
        found[name] = max(values) if "memory" in name else sum(values)
    return replace(rows[0], **found)


def cores_of_a_job(profile: Path) -> int | None:
    """What a Snakemake profile lets a job have at most, ``max-threads``; raises UserError."""
    path = profile / "config.yaml"
    try:
        found = dict(yaml_text.load(files.content(path, files.SMALL)))
        most = int(found["max-threads"]) if "max-threads" in found else None
        if most is not None and not 1 <= most <= MOST_CORES:
            raise ValueError
    except OSError as error:
        raise UserError(
            f"can't read {path}: {error.strerror}; name a folder of a profile"
        ) from None
    except (yaml.YAMLError, OverflowError, TypeError, ValueError):
        raise UserError(
            f"{path}: max-threads must be a whole number, 1 to {MOST_CORES:,}, in a mapping"
        ) from None
    return most


def foretold(jobs: list[Job], machines: Machines, speed: Mapping[str, float]) -> list[Line]:
    """The bill of some jobs; ``speed`` as `minutes.measured` tells it."""
    lines = []
    for rule, same in by_rule(jobs):
        factor = speed.get(rule, 1.0) / HOUR
        cores = sum(job.seconds * (machines.most if job.is_alone else 1) for job in same) * factor
        gpus = (
            sum(job.seconds / min(job.most, machines.most) for job in same if job.on_gpu) * factor
        )
        price = cores * machines.price + gpus * machines.gpu_price
        memory = max(job.memory(machines.most) for job in same)
        disk = sum(job.disk for job in same)
        lines.append(Line(rule, len(same), cores, gpus, memory, disk, price))
    return lines


def compared(jobs: list[Job], benchmarks: Path, cores: int) -> list[Comparison]:
    """What jobs were foretold to take, and what their benchmarks say; raises UserError.

    Their wall time on the cores that they had. (What Snakemake calls cpu_time lacks what was spent
    after its last sample, half a minute of a short job.)
    """
    found = []
    for rule, same in by_rule(jobs):
        there = [(job, benchmarks / f"{job.name}.tsv") for job in same if job.name]
        rows = [(job, read_benchmark(path)) for job, path in there if path.is_file()]
        if rows:
            found.append(
                Comparison(
                    rule,
                    len(rows),
                    sum(job.seconds for job, _ in rows) / HOUR,
                    sum(row["s"] * min(job.most, cores) for job, row in rows) / HOUR,
                    max(job.memory(cores) for job, _ in rows),
                    max(row.get("max_rss", 0.0) for _, row in rows),
                )
            )
    return found


def span(jobs: list[Job], benchmarks: Path) -> float:
    """Hours from the start of the first job to the end of the last, by when benchmarks were left.

    Jobs of several runs are counted with the time between the runs.
    """
    paths = [benchmarks / f"{job.name}.tsv" for job in jobs if job.name]
    ends = [(path.stat().st_mtime, read_benchmark(path)["s"]) for path in paths if path.is_file()]
    return (max(end for end, _ in ends) - min(end - took for end, took in ends)) / HOUR
