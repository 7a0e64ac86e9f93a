"""The players of a tournament, from the command line or a file.

A file is YAML or TOML with one mapping, ``players``, of names to settings::

    players:
      nnuelab: {net: default, options: {Hash: 16}}
      toga: {engine: toga2, options: {Hash: 16}, movetime: 50}
      gnuchess: {engine: gnuchess, args: [--uci]}
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnuelab.data.uci import find_engine
from nnuelab.errors import UserError, nearest, one_line
from nnuelab.tournament.limits import KINDS, Limit
from nnuelab.tournament.players import (
    DEFAULT,
    HASH_MB,
    OVERHEAD,
    PATIENCE,
    EngineEntrant,
    Entrant,
    NetEntrant,
)

NET_SUFFIXES = (".nnue", ".nn")
SETTINGS = ("net", "engine", "args", "options", "patience", "memory_mb", *KINDS, "margin")


@dataclass(frozen=True)
class Defaults:
    """What holds for players that don't say otherwise.

    Attributes
    ----------
    limit : mapping
        As in a file: ``{"nodes": 1000}``.
    hash_mb : int
        Size of the transposition table.
    patience : float
        Seconds that an engine has for an answer under a limit of nodes or depth.
    """

    limit: Mapping[str, Any]
    hash_mb: int = HASH_MB
    patience: float = PATIENCE


def read_players(
    file: Path | None,
    words: list[str],
    defaults: Defaults,
) -> dict[str, Entrant]:
    """The players of a tournament by name, in their order.

    Parameters
    ----------
    file : path or None
        YAML or TOML, as in the docstring of this module.
    words : list of str
        ``NAME=NET``, ``NAME=default``, ``NAME=ENGINE`` with its arguments, or a ``NAME`` of the
        file; without any, all players of the file.
    defaults : Defaults

    Raises
    ------
    UserError
        With the place of the mistake.
    """
    known = _load(file) if file is not None else {}
    chosen: dict[str, Any] = {}
    for word in words:
        name, mark, what = word.partition("=")
        if mark and not (name and what):
            raise UserError(f"player {word!r} is not of the form NAME=NET or NAME=ENGINE")
        if name in chosen:
            raise UserError(f'two players are called "{name}"; give each a name of its own')
        if not mark and name not in known:
            where = f"in {file}{nearest(name, known)}" if file else "without --players FILE"
            raise UserError(f"there is no player {name} {where}; or give it as NAME=NET")
        chosen[name] = _meant(name, what) if mark else known[name]
    players = {}
    for name, settings in (chosen or known).items():
        try:
            players[name] = _entrant(settings, defaults)
        except UserError as error:
            raise UserError(f"player {name}: {error}") from None
    return players


def _load(file: Path) -> dict[str, Any]:
    import yaml

    from nnuelab import yaml_text

    try:
        text = file.read_text()
        read = tomllib.loads(text) if file.suffix == ".toml" else yaml_text.load(text)
    except OSError as error:
        raise UserError(f"can't read {file}: {error.strerror}") from error
    except yaml.YAMLError as error:
        reason = ": ".join(filter(None, yaml_text.told(error)))
        raise UserError(f"{file} is no YAML: {reason}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        kind = "TOML" if file.suffix == ".toml" else "YAML"
        raise UserError(f"{file} is no {kind}: {one_line(error)}") from error
    players = read.get("players") if isinstance(read, dict) else None
    if not isinstance(players, dict) or not players:
        raise UserError(f"{file}: it needs a mapping `players:` of names to settings")
    return {str(name): settings for name, settings in players.items()}


def nets(file: Path) -> list[str]:
    """Nets that the players of a file have, but for the one that comes with the package."""
    named = [player.get("net") for player in _load(file).values() if isinstance(player, dict)]
    return [str(net) for net in named if net not in (None, DEFAULT)]


def _meant(name: str, what: str) -> dict[str, Any]:
    """Settings of a player whom the command line gives: a net, or an engine with its arguments."""
    path = Path(what)
    if what == DEFAULT or path.suffix in NET_SUFFIXES:
        return {"net": what}
    if path.is_file():
        return {"engine" if os.access(path, os.X_OK) else "net": what}
    try:
        program, *arguments = shlex.split(what)
    except ValueError as error:
        raise UserError(f"player {name}: {what!r}: {error}") from None
    return {"engine": program, "args": arguments}


def _entrant(settings: Any, defaults: Defaults) -> Entrant:
    if not isinstance(settings, dict):
        raise UserError("its settings must be a mapping, such as {net: default}")
    for key in settings:
        if key not in SETTINGS:
            near = nearest(str(key), SETTINGS) or f"; known are {', '.join(SETTINGS)}"
            raise UserError(f"unknown setting {key}{near}")
    if ("net" in settings) == ("engine" in settings):
        raise UserError("it needs a net or an engine, one of them")
    own = {key: settings.get(key) for key in (*KINDS, "margin")}
    if all(own[kind] is None for kind in KINDS):
        margin = own["margin"]
        own = {**defaults.limit, **({} if margin is None else {"margin": margin})}
    elif own["margin"] is None and (own["movetime"] or own["clock"]):
        own["margin"] = defaults.limit.get("margin")
    limit = Limit.read(own)
    options = settings.get("options") or {}
    if not isinstance(options, dict):
        raise UserError("options must be a mapping, such as {Hash: 16}")
    if "net" in settings:
        return _net(settings, limit, options, defaults.hash_mb)
    arguments = settings.get("args") or []
    if not isinstance(arguments, list):
        raise UserError("args must be a list, such as [--uci]")
    patience, memory = settings.get("patience", defaults.patience), settings.get("memory_mb")
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not patience > 0:
        raise UserError(f"patience {patience!r}: it must be a positive number of seconds")
    if memory is not None and (not isinstance(memory, int) or memory < 1):
        raise UserError(f"memory_mb {memory!r}: it must be a whole number of at least 1")
    return EngineEntrant(
        command=(find_engine(str(settings["engine"])), *map(str, arguments)),
        limit=limit,
        options={str(name): value for name, value in options.items()},
        hash_mb=defaults.hash_mb,
        patience=float(patience),
        memory_mb=memory,
    )


def _net(
    settings: Mapping[str, Any], limit: Limit, options: Mapping[str, Any], hash_mb: int
) -> NetEntrant:
    for key in ("args", "patience", "memory_mb"):
        if key in settings:
            raise UserError(f"{key} is for engines; this player is a net")
    known = {"hash": hash_mb, "move overhead": OVERHEAD}
    for name, value in options.items():
        if str(name).lower() not in known:
            raise UserError(f"a net has no option {name}; it has Hash and Move Overhead")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise UserError(f"option {name}: {value!r} is no number of at least 0")
        known[str(name).lower()] = value
    size = known["hash"]
    if size < 1 or size != int(size):
        raise UserError(f"option Hash: {size!r} is no whole number of at least 1")
    net = None if settings["net"] == DEFAULT else Path(str(settings["net"]))
    if net is not None and not net.is_file():
        raise UserError(f"there is no net {net}")
    return NetEntrant(net, limit, int(size), float(known["move overhead"]))
