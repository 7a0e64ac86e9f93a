"""How long an experiment takes on a cluster where nodes are slow, or lost, and share a store."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from nnuelab.params.bill import HOUR
from nnuelab.params.jobs import Job, by_rule

SLOWER = 2.0  # times as long takes a slow node
LOST = 600.0  # seconds of work that a loss costs at most: between two checkpoints of a training
REQUEUE = 300.0  # seconds until a job that was lost runs again
DAY = 24.0


@dataclass(frozen=True)
class Cluster:
    """Nodes that are alike, and what is wrong with them.

    Attributes
    ----------
    nodes : int
    cores : int
        Of a node; a job gets no more.
    slow : float
        Share of nodes that take `SLOWER` times as long.
    losses : float
        Of a node, in a day; its jobs go on elsewhere from what they have kept.
    store : float
        MB that all nodes together read in a second.
    """

    nodes: int
    cores: int
    slow: float = 0.0
    losses: float = 0.0
    store: float = np.inf


def hours(
    jobs: Sequence[Job], cluster: Cluster, draws: int = 200, seed: int = 1
) -> dict[str, tuple[float, float, float]]:
    """Hours of each stage, and in ``total`` of all.

    The jobs of a rule begin when those of the one before have ended, the longest first, each on the
    node that is free first; all positions that nets learn from come from the store in every epoch.

    Returns
    -------
    dict of str to (float, float, float)
        Where nothing is slow or lost (the store is as it is); median and 95th percentile of draws.
    """
    rng = np.random.default_rng(seed)
    right = _once(jobs, replace(cluster, slow=0.0, losses=0.0), rng)
    drawn = [_once(jobs, cluster, rng) for _ in range(draws)]
    return {
        stage: (right[stage], *np.percentile([draw[stage] for draw in drawn], (50, 95)).tolist())
        for stage in right
    }


def _once(jobs: Sequence[Job], cluster: Cluster, rng: np.random.Generator) -> dict[str, float]:
    speed = np.where(rng.random(cluster.nodes) < cluster.slow, SLOWER, 1.0)
    found = {}
    for stage, members in groupby(jobs, key=lambda job: job.stage):
        seconds = 0.0
        for _, same in by_rule(list(members)):
            reading = sum(job.reads for job in same) / cluster.store
            seconds += max(_on_nodes(same, cluster, speed, rng), reading)
        found[stage] = seconds / HOUR
    return found | {"total": sum(found.values())}


def _on_nodes(
    jobs: list[Job], cluster: Cluster, speed: np.ndarray, rng: np.random.Generator
) -> float:
    """Seconds until the last job of a rule ends."""
    width = int(min(jobs[0].most, cluster.cores))
    each = cluster.cores // width
    # No more than there are jobs: the others of a large cluster stay free.
    places = rng.choice(cluster.nodes * each, min(cluster.nodes * each, len(jobs)), replace=False)
    free = [(0.0, place, node) for place, node in enumerate((places // each).tolist())]
    for job in sorted(jobs, key=lambda job: -job.seconds):
        begin, place, node = heapq.heappop(free)
        took = job.seconds / width * float(speed[node])
        losses = rng.poisson(took / HOUR / DAY * cluster.losses)
        took += losses * REQUEUE + float(rng.uniform(0, min(LOST, took), losses).sum())
        heapq.heappush(free, (begin + took, place, node))
    return max(end for end, *_ in free)
