"""Players that the workflow itself makes: tuned evaluations, and policies in several styles.

Each is told as in a file of players (`tournament.players`), its file in a folder of results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nnuelab.errors import nearest
from nnuelab.params.models import MadePlayer, Params
from nnuelab.settings.policy_selfplay import has_value_head
from nnuelab.tournament.words import BASELINES

HASH = 16  # MB: as the engines of the ladder have it


def mistakes(params: Params) -> Iterator[str]:
    """What is wrong with the ladder's players of this workflow, a line each."""
    known: dict[str, tuple[str, Mapping[str, Any]]] = {
        "texel": ("run of texel.tuners", params.texel.tuners),
        "policy": ("policy of policy.variants", params.policy.variants),
        "selfplay": ("run of policy.selfplay", params.policy.selfplay.runs),
    }
    for name, player in params.ladder.also.items():
        path = f"ladder.also.{name}"
        for key, (what, names) in known.items():
            asked = getattr(player, key)
            if asked is not None and asked not in names:
                yield f"{path}.{key}: there is no {what} {asked}{nearest(asked, names)}"
            elif asked is not None and player.plies and not _can_look_ahead(params, player):
                yield f"{path}.plies: {asked} has no value head; set value_head: false"


def _can_look_ahead(params: Params, player: MadePlayer) -> bool:
    if not player.value_head:
        return True
    if player.policy is not None:
        return bool(params.policy.settings_of(player.policy).value_weight)
    return has_value_head(params.policy.selfplay.settings_of(str(player.selfplay)))


def of_ladder(params: Params, results: str) -> dict[str, dict[str, Any]]:
    """The players of ``ladder.also`` by name."""
    policy = params.policy
    found: dict[str, dict[str, Any]] = {}
    for name, player in params.ladder.also.items():
        if player.texel is not None:
            file = f"{results}/texel/{player.texel}/tuned.yaml"
            found[name] = {"hce": file, "options": {"Hash": HASH}}
            continue
        if player.policy is not None:
            file = f"{results}/policy/nets/{player.policy}/{policy.seeds[0]}/net.policy"
        else:
            file = _learnt(results, str(player.selfplay), policy.selfplay.seeds[0])
        found[name] = {"policy": file, "plies": player.plies, "value_head": player.value_head}
    return found


def of_selfplay(params: Params, results: str) -> dict[str, dict[str, Any]]:
    """Who meets the opponents of ``policy.selfplay``, by name.

    The policies that learnt choose among legal moves or, those of the method seed, by the walk.
    They also look one ply ahead: by a value head that learnt something and, as a control, without.
    """
    selfplay, seed = params.policy.selfplay, params.policy.seeds[0]
    found: dict[str, dict[str, Any]] = {}
    for run, entry in selfplay.runs.items():
        for number in selfplay.seeds:
            policy = {"policy": _learnt(results, run, number)}
            if entry.method == "seed":
                found[f"{run}#{number}"] = {**policy, "walk": True}
                continue
            found[f"{run}#{number}"] = policy
            chosen: Any = selfplay.settings_of(run)
            if has_value_head(chosen) and chosen.iterations:
                found[f"{run}-1ply#{number}"] = {**policy, "plies": 1}
            found[f"{run}-1ply-novalue#{number}"] = {**policy, "plies": 1, "value_head": False}
    for name in selfplay.policies:
        found[f"{name}#{seed}"] = {"policy": f"{results}/policy/nets/{name}/{seed}/net.policy"}
    return found


def gauntlets(params: Params, results: str) -> dict[str, dict[str, dict[str, Any]]]:
    """The players of the match against each opponent of ``policy.selfplay``, the opponent first."""
    seed = params.policy.selfplay.seeds[0]
    others = of_selfplay(params, results)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name in params.policy.selfplay.opponents:
        if name in BASELINES:
            first = {name: {"baseline": name}}
        else:
            first = {f"{name}#{seed}": {"policy": _learnt(results, name, seed)}}
        found[name] = first | {
            player: told for player, told in others.items() if player not in first
        }
    return found


def _learnt(results: str, run: str, seed: int) -> str:
    return f"{results}/policy/selfplay/{run}/{seed}/net.policy"


def words(players: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Players as `nnuelab tournament` takes them: ``NAME={...}``."""
    return [f"{name}={json.dumps(told, ensure_ascii=False)}" for name, told in players.items()]
