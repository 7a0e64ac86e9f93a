"""Runs of self-play: iterations of a method, with history, checkpoints and evaluations.

A run that was interrupted resumes at its last whole iteration, and ends with the same file.
"""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch

from nnuelab import artifacts
from nnuelab.features import fingerprint, parse
from nnuelab.learning.checkpoint import RunState, consistent, set_aside
from nnuelab.policy.episodes import EpisodeMethod
from nnuelab.policy.expert import ExpertMethod
from nnuelab.policy.games import Player, play, score
from nnuelab.policy.network import Network
from nnuelab.policy.policyfile import Policy, write_policy
from nnuelab.policy.reinforce import GradientMethod
from nnuelab.progress import Progress
from nnuelab.settings.policy_selfplay import (
    Episodes,
    Expert,
    Gradient,
    GradientRewards,
    Learning,
    Rewards,
    has_value_head,
)

PARTIAL = ".partial"
OPPONENTS = ("random", "points")


class Method(Protocol):
    """A way to learn: `step` plays and trains; `extra` is what a checkpoint needs besides."""

    network: Network
    optimizer: torch.optim.Adam
    loss: str

    def step(self, iteration: int) -> dict[str, Any]: ...

    def extra(self) -> dict[str, Any]: ...

    def restore(self, extra: dict[str, Any]) -> None: ...


@dataclass(kw_only=True)
class SelfplayState(RunState):
    """A checkpoint of self-play; ``epoch`` counts iterations."""

    FORMAT: ClassVar[int] = 1001
    extra: dict[str, Any] = field(default_factory=dict)


def learn(
    output: Path,
    history: Path | None,
    settings: Learning,
    terms: Rewards | None = None,
    workers: int = 0,
) -> list[dict[str, Any]]:
    """Learns from own games into ``output`` (.policy).

    Parameters
    ----------
    history : Path, optional
        A table with a row for each iteration, .csv; written as the run goes on. What iterations
        took is in a file of its own (`artifacts.times_of`), so that equal runs make equal files.
    settings : Episodes, Gradient or Expert
        Also says which method it is.
    terms : Rewards
        Of Episodes and Gradient.

    Returns
    -------
    list of dict
        The history.

    Raises
    ------
    UserError
        When a checkpoint is damaged, a feature set unknown, or nothing can be written.
    """
    partial = output.with_name(output.name + PARTIAL)
    told = asdict(settings) | (asdict(terms) if terms else {})
    artifacts.make_parent(output)
    lock = output.with_name(output.name + ".lock")
    with lock.open("ab") as file:
        artifacts.lock(file, lock)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # else the sums depend on the machine
        try:
            rows, policy = _run(partial, history, settings, terms, told, workers)
            write_policy(output, policy)
            if history is not None:
                _write_history(history, rows)
            for path in filter(None, (output, history)):
                artifacts.provenance(
                    path, parameters=told, seed=settings.seed, module="policy.selfplay"
                )
            partial.unlink(missing_ok=True)
        finally:
            torch.set_num_threads(threads)
            lock.unlink(missing_ok=True)
    return rows


def _run(
    partial: Path,
    history: Path | None,
    settings: Learning,
    terms: Rewards | None,
    told: dict[str, Any],
    workers: int,
) -> tuple[list[dict[str, Any]], Policy]:
    generator = torch.Generator().manual_seed(settings.seed)
    features = parse(settings.features)
    named = {name: getattr(settings, name) for name in ("layers", "head", "rank", "activation")}
    value = has_value_head(settings)
    network = Network(features, generator, value=value, **named)
    method = _method(network, settings, terms, workers)
    identity = {**told, "code": artifacts.code_hash("policy.selfplay")}
    rows: list[dict[str, Any]] = []
    if (state := _saved(partial, identity)) is not None:
        with consistent(partial):
            network.load_state_dict(state.model)
            method.optimizer.load_state_dict(state.optimizer)
            method.restore(state.extra)
            network.policy(method.loss, {})  # which checks its weights
        rows = state.history
    unit = "episodes" if isinstance(settings, Episodes) else "iterations"
    with Progress(settings.iterations, unit, "selfplay", done=len(rows)) as progress:
        for iteration in range(len(rows), settings.iterations):
            row = {"iteration": iteration + 1, **method.step(iteration)}
            row |= _evaluation(network.policy(method.loss, {}), settings, iteration + 1)
            rows.append(row)
            SelfplayState(
                feature_set=features.name,
                settings=identity,
                epoch=iteration + 1,
                model=network.state_dict(),
                optimizer=method.optimizer.state_dict(),
                generator=generator.get_state(),
                history=rows,
                blocks=fingerprint.of_blocks(features),
                extra=method.extra(),
            ).write(partial)
            if history is not None:
                _write_history(history, rows)
            progress.advance(1, **_shown(rows))
    return rows, network.policy(method.loss, {"method": type(settings).__name__.lower(), **told})


def _method(network: Network, settings: Learning, terms: Rewards | None, workers: int) -> Method:
    if isinstance(settings, Expert):
        return ExpertMethod(network, settings, workers)
    if isinstance(settings, Gradient):
        return GradientMethod(network, settings, terms or GradientRewards())
    assert isinstance(settings, Episodes)
    return EpisodeMethod(network, settings, terms or Rewards())


def _saved(partial: Path, identity: dict[str, Any]) -> SelfplayState | None:
    """The checkpoint of this run, None without one of the same settings and code."""
    if not partial.exists():
        return None
    state = SelfplayState.read(partial)
    different = [key for key in identity if state.settings.get(key) != identity[key]]
    if different:
        set_aside(partial, ", ".join(different))
        return None
    return state


def evaluate(policy: Policy, games: int, seed: int, max_plies: int) -> dict[str, float]:
    """True scores (mates, draws half) of the policy alone, and of one ply with its value head.

    Against a random mover, and against one ply of search for material; colours alternate.
    """
    movers = ["walk" if policy.loss == "mse" else "greedy"]
    movers += ["value"] if policy.has_value and policy.value_weights is not None else []
    found = {}
    for mover in movers:
        for opponent in OPPONENTS:
            me, other = Player(mover, policy), Player(opponent)
            played = play(me, other, games, seed, max_plies=max_plies, alternate=True)
            found[f"{mover}_{opponent}"] = score(played)
    return found


def _evaluation(policy: Policy, settings: Learning, done: int) -> dict[str, float | str]:
    every = settings.evaluate_every
    due = every and (done % every == 0 or done in (1, settings.iterations))
    if not due:
        return {}
    n, most = settings.evaluation_games, settings.evaluation_plies
    return {**evaluate(policy, n, settings.seed + 1_000_000, most)}


def _shown(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What a line of progress says: the last known numbers."""
    names = ("mates", "end", "entropy", "loss", "walk_random", "greedy_random", "value_random")
    found = {}
    for name in names:
        values = [row[name] for row in rows if name in row]
        if values:
            found[name] = f"{values[-1]:.3f}" if isinstance(values[-1], float) else values[-1]
    return found


def _write_history(path: Path, rows: list[dict[str, Any]]) -> None:
    names = [*dict.fromkeys(["iteration", *(name for row in rows for name in row)])]
    times = [name for name in names if name.endswith("_seconds")]
    _write(path, rows, [name for name in names if name not in times])
    _write(artifacts.times_of(path), rows, ["iteration", *times])


def _write(path: Path, rows: list[dict[str, Any]], names: list[str]) -> None:
    with artifacts.atomic(path) as temporary, temporary.open("w", newline="") as file:
        table = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow({n: f"{v:.6g}" if isinstance(v, float) else v for n, v in row.items()})
