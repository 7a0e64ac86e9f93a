"""Estimates of how long an experiment takes, from measurements at the settings of params.yaml."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

from nnuelab.errors import UserError
from nnuelab.params import made
from nnuelab.params.entries import Plan
from nnuelab.params.jobs import GAMES_TIMES_NODES, START, jobs_of, wall_seconds
from nnuelab.params.models import Params
from nnuelab.params.policies import Policies, PolicySelfplay

DATA = 120.0  # core-seconds: games to positions, and a table
EMPTY = ("-", "NA")  # of what couldn't be measured: the job was too short
# Rules that spend their time as another one does.
ALIKE = {
    **{f"{rule}_part": rule for rule in ("tournament", "sample", "label")},
    "generation_games": "tournament",
    **{f"generation_{rule}": rule for rule in ("sample", "label", "train")},
}
RUN = 60.0  # of an optimizer, with traces, plots and residuals
POSITIONS = 1_187_000  # that policies train on
A_POSITION = 10e-6  # seconds of a policy for what all have in common, ...
AN_OUTPUT = 8e-9  # ... for each of the outputs, ...
A_WEIGHT = 80e-12  # ... and for each weight behind the first layer
LEGAL = 64  # outputs that cost as much as the legal pairs alone
MEASURED = 8.0  # of a policy, with its start
AN_EPISODE = 0.2  # a game by the walk, and a fit
A_LOCKSTEP_GAME = 0.012  # of policy gradient, and training on it
A_SIMULATION = 0.003  # of the search of all positions of a game, and training on them
A_SLOW_GAME = 0.3  # of policies in the tournament, and its score


def minutes(
    plan: Plan,
    cores: int,
    speed: Mapping[str, float] | None = None,
    job_cores: int | None = None,
) -> float:
    """Minutes from nothing to the table of an experiment.

    ``speed`` is how many times as long as estimated the jobs of a rule take here (`measured`), and
    ``job_cores`` how many cores a job gets at most.
    """
    return wall_seconds(jobs_of("", plan), cores, speed or {}, job_cores) / 60


def measured(plans: Mapping[str, Plan], benchmarks: Path, cores: int) -> dict[str, float]:
    """How many times as long as estimated jobs took in earlier runs of these plans, by rule.

    The median of the benchmark files that Snakemake left; a rule without any is taken for one that
    does the same (`ALIKE`), or left out. What an interrupted job had done before is missing in its
    file.

    Parameters
    ----------
    benchmarks : path
        ``logs/benchmarks``.
    cores : int
        That jobs that can use all have had.

    Raises
    ------
    UserError
        For a file that is no benchmark.
    """
    ratios: dict[str, dict[str, float]] = {}
    for name, plan in plans.items():
        for job in jobs_of(name, plan):
            path = benchmarks / f"{job.name}.tsv"
            if job.name and path.is_file():
                expected = job.seconds / min(job.most, cores)
                ratios.setdefault(job.rule, {})[job.name] = read_benchmark(path)["s"] / expected
    found = {rule: median(by_job.values()) for rule, by_job in ratios.items()}
    return {rule: found[like] for rule, like in ALIKE.items() if like in found} | found


def read_benchmark(path: Path) -> dict[str, float]:
    """A benchmark file of Snakemake: wall seconds ``s``, and ``max_rss`` if it is there, MB."""
    try:
        with open(path, newline="") as file:
            row = next(csv.DictReader(file, delimiter="\t"))
        most = row.get("max_rss", "-")
        return {"s": float(row["s"])} | ({} if most in EMPTY else {"max_rss": float(most)})
    except (OSError, StopIteration, KeyError, TypeError, ValueError, csv.Error):
        raise UserError(f"{path} is no benchmark of Snakemake; remove it") from None


def texel_seconds(params: Params) -> dict[str, float]:
    """Core seconds of one job of the rules of texel that take longest, by the name of the rule."""
    texel = params.texel
    players = 1 + len(texel.tuners) + len(texel.players)
    pairings = players * (players - 1) / 2
    return {
        "texel_tune": START + RUN,
        "texel_games": START + pairings * texel.games_per_pairing * texel.nodes / GAMES_TIMES_NODES,
    }


def texel_minutes(params: Params, cores: int) -> float:
    """Minutes from nothing to the table of the match."""
    job = texel_seconds(params)
    runs = len(params.texel.tuners) * job["texel_tune"]
    return (DATA + runs + job["texel_games"]) / cores / 60


def policy_seconds(params: Params) -> dict[str, float]:
    """Core seconds of one training of a policy, by the name of the rule."""
    policy = params.policy
    return {"policy_train": START + mean(_of_policy(policy, name) for name in policy.variants)}


def _of_policy(policy: Policies, name: str) -> float:
    """Core seconds of the training of a variant."""
    chosen = policy.settings_of(name)
    outputs = {"fromto": 128, "product": 2048 + 128 * chosen.rank, "pair": 4096}[chosen.head]
    layers = chosen.layers or [64]  # rows of active features, and the optimizer
    if chosen.layers and chosen.loss == "masked" and not chosen.legal_weight:
        outputs = LEGAL
    weights = sum(a * b for a, b in pairwise([*layers, outputs]))
    each = A_POSITION + outputs * AN_OUTPUT + weights * A_WEIGHT
    positions = min(policy.max_positions or POSITIONS, POSITIONS) * chosen.games_share
    return float(chosen.epochs * positions * each)


def policy_minutes(params: Params, cores: int) -> float:
    """Minutes from nothing to the table of policies."""
    job, policy = policy_seconds(params), params.policy
    nets = len(policy.variants) * len(policy.seeds)
    return (DATA / 4 + nets * (job["policy_train"] + MEASURED)) / cores / 60


def selfplay_seconds(params: Params) -> dict[str, float]:
    """Core seconds of one job of the rules of policy.selfplay, by the name of the rule."""
    selfplay = params.policy.selfplay
    players = len(made.of_selfplay(params, ""))
    return {
        "policy_selfplay_learn": mean(_of_run(selfplay, name) for name in selfplay.runs),
        "policy_selfplay_games": START + players * selfplay.games_per_pairing * A_SLOW_GAME,
    }


def _of_run(selfplay: PolicySelfplay, name: str) -> float:
    """Core seconds of a run of self-play."""
    chosen: Any = selfplay.settings_of(name)
    game = {
        "seed": AN_EPISODE,
        "gradient": A_LOCKSTEP_GAME,
        "expert": A_SIMULATION * getattr(chosen, "simulations", 0),
    }[selfplay.runs[name].method]
    return START + float(chosen.iterations * chosen.games * game)


def selfplay_minutes(params: Params, cores: int) -> float:
    """Minutes from nothing to the scores of policies that learnt from their own games."""
    job, selfplay = selfplay_seconds(params), params.policy.selfplay
    runs = len(selfplay.runs) * len(selfplay.seeds) * job["policy_selfplay_learn"]
    others = len(selfplay.policies) * policy_seconds(params)["policy_train"]
    games = len(selfplay.opponents) * job["policy_selfplay_games"]
    return (DATA / 4 + runs + others + games) / cores / 60
