"""Games of policies: half-moves a second, without a net, with one, and with a search."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.harness import Row, row
from nnuelab import features
from nnuelab.policy.expert import games
from nnuelab.policy.games import Player, play
from nnuelab.policy.network import Network
from nnuelab.policy.policyfile import Policy
from nnuelab.settings.policy_selfplay import Expert

ROUNDS = 5
BOARDS = 256
WITHOUT_NET, WITH_NET = 150_000.0, 30_000.0  # half-moves a second


def rows() -> Iterator[Row]:
    """Random weights: what is played doesn't matter for the time."""
    player = Player("random")
    yield row("games without a net", "plies/s", _rate(player), WITHOUT_NET, 1.0, 2.0)
    player = Player("sampled", _policy([128, 128], "fromto"))
    yield row("games with YACGE 512-128-128", "plies/s", _rate(player), WITH_NET, 1.0, 2.0)
    settings = Expert(games=8)
    policy = _policy([256, 64], "pair")
    found = [_searched(policy, settings, i) for i in range(ROUNDS + 1)]
    title = f"games with a search of {settings.simulations} simulations"
    yield row(title, "plies/s", float(np.median(found[1:])))


def _policy(layers: list[int], head: str) -> Policy:
    generator = torch.Generator().manual_seed(1)
    network = Network(features.parse("YACGE"), generator, layers=layers, head=head, value=True)
    return network.policy("masked", {})


def _rate(player: Player) -> float:
    found = []
    for i in range(ROUNDS + 1):
        began = time.perf_counter()
        plies = int(play(player, player, BOARDS, i).lengths.sum())
        found.append(plies / (time.perf_counter() - began))
    return float(np.median(found[1:]))  # the first one loads the kernels


def _searched(policy: Policy, settings: Expert, iteration: int) -> float:
    began = time.perf_counter()
    plies = sum(game.plies for game in games(policy, settings, iteration, workers=1))
    return plies / (time.perf_counter() - began)
