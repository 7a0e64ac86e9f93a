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
from nnuelab.params.experiments import Entry, Plan
from nnuelab.params.models import Params
from nnuelab.params.policies import Policies, PolicySelfplay
from nnuelab.tournament.yardsticks import Yardstick

# On one core of a shared server, with the games that come with the project.
GAMES_TIMES_NODES = 10_000  # per second: 25 games of 400 nodes a move
MOVES = 100  # of a game at fixed time
COST = 7.0  # of a node, of each set
START = 4.0  # seconds until a job has loaded what it needs
EPOCH = 5.0  # of a net with 256 neurons on the positions of ...
EMBEDDED = 763_000  # ... the games that come with the project
KEPT = 82  # positions of a game of a net against itself
MADE = 1_400_000  # such positions times the nodes of a move, per second
NET = 20.0  # its integers, proof, puzzles and statistics
DATA = 120.0  # games to positions, and the table
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


def core_seconds(plan: Plan) -> dict[str, float]:
    """Of one job of each rule that takes longest, by the name of the rule."""
    return {
        "train": mean(_training(entry, plan) for entry in plan.entries),
        "tournament": mean(_games(plan, yardstick) for yardstick in plan.tournament.yardsticks),
        "cost": START + COST * len(plan.entries) if plan.is_priced else 0.0,
        "size": mean(START + COST * len(entry.probes) for entry in _sized(plan) or plan.entries),
    }


def _sized(plan: Plan) -> list[Entry]:
    """Those whose first layers are measured."""
    return [entry for entry in plan.entries if entry.like]


def _positions(plan: Plan) -> int:
    """Positions that nets learn from, about; of games of others as many as of the embedded ones."""
    made = plan.selfplay
    return made.generations * made.parts * made.games * KEPT if made else EMBEDDED


def _training(entry: Entry, plan: Plan) -> float:
    """Core seconds of one net."""
    chosen = entry.train
    epoch = EPOCH * _positions(plan) / EMBEDDED * chosen.games_share * chosen.l1 / 256
    return float(START + epoch * chosen.epochs)


def _games(plan: Plan, yardstick: Yardstick) -> float:
    """Core seconds of all games at a yardstick."""
    chosen, players, nodes = plan.tournament, len(plan.players), plan.tournament.nodes_at(yardstick)
    game = nodes / GAMES_TIMES_NODES if nodes else chosen.movetime / 1000 * MOVES
    return START + players * (players - 1) / 2 * chosen.games_at(yardstick) * game


def minutes(plan: Plan, cores: int, speed: Mapping[str, float] | None = None) -> float:
    """Minutes from nothing to the table of an experiment.

    ``speed`` is how many times as long as estimated the jobs of a rule take here (`measured`).
    """
    speed = speed or {}
    job = {rule: each * speed.get(rule, 1.0) for rule, each in core_seconds(plan).items()}
    nets = len(plan.players) * (job["train"] + NET)
    finders = {net.folder: net for entry in plan.entries for net in entry.finders}
    nets += sum(_training(net, plan) + START for net in finders.values())
    games = len(plan.tournament.yardsticks) * job["tournament"]
    data = DATA + (_positions(plan) * plan.selfplay.nodes / MADE if plan.selfplay else 0)
    # Others wait while costs are measured.
    measuring = job["cost"] + job["size"] * len(_sized(plan))
    return ((data + nets + games) / cores + measuring) / 60


def measured(plans: Mapping[str, Plan], benchmarks: Path, cores: int) -> dict[str, float]:
    """How many times as long as estimated jobs took in earlier runs of these plans, by rule.

    The median of the benchmark files that Snakemake left; a rule without any is left out. What an
    interrupted job had done before is missing in its file.

    Parameters
    ----------
    benchmarks : path
        ``logs/benchmarks``.
    cores : int
        That games were played on.

    Raises
    ------
    UserError
        For a file that is no benchmark.
    """
    expected = {
        f"train/{net}": _training(entry, plan) / entry.train.threads
        for plan in plans.values()
        for entry in plan.entries
        for net in (f"{entry.folder}/{seed}" for seed in plan.seeds)
    }
    expected |= {
        f"tournament/{yardstick.played(name)}": _games(plan, yardstick) / cores
        for name, plan in plans.items()
        for yardstick in plan.tournament.yardsticks
    }
    ratios: dict[str, list[float]] = {}
    for job, seconds in expected.items():
        if (path := benchmarks / f"{job}.tsv").is_file():
            ratios.setdefault(job.partition("/")[0], []).append(_seconds(path) / seconds)
    return {rule: median(found) for rule, found in ratios.items()}


def _seconds(path: Path) -> float:
    """Wall time in a benchmark file of Snakemake."""
    try:
        with open(path, newline="") as file:
            return float(next(csv.DictReader(file, delimiter="\t"))["s"])
    except (OSError, UnicodeDecodeError, StopIteration, KeyError, ValueError):
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
