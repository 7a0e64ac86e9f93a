"""Players that are nets: this project's engine, in the process of the tournament."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import DEFAULT_NET
from nnuelab.settings.games import Games
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.play import OVERHEAD, EnginePlayer
from nnuelab.tournament.players import DEFAULT, Defaults

SETTINGS = ("options",)


@dataclass(frozen=True)
class NetEntrant:
    """This project's engine with a net; None is the one that ships with the package."""

    net: Path | None
    limit: Limit
    hash_mb: int = Games.hash
    overhead: float = OVERHEAD

    def start(self) -> EnginePlayer:
        """An engine, with its kernels loaded."""
        return EnginePlayer(Engine(NetEvaluator(self.net), self.hash_mb), self.overhead)

    def files(self) -> dict[str, Path]:
        """The net."""
        return {"net": self.net or DEFAULT_NET}

    def settings(self) -> dict[str, Any]:
        """Limit and options."""
        found = {"net": str(self.net or DEFAULT), "hash_mb": self.hash_mb, **self.limit.told()}
        return {**found, "overhead": self.overhead} if self.limit.is_time else found

    def as_engine(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """`nnuelab uci` in a process of its own."""
        options: dict[str, Any] = {"Hash": self.hash_mb, "Move Overhead": math.ceil(self.overhead)}
        if self.net is not None:
            options["EvalFile"] = self.net.resolve()
        return (sys.executable, "-m", "nnuelab.cli", "uci"), options


def entrant(settings: Mapping[str, Any], limit: Limit, defaults: Defaults) -> NetEntrant:
    """A net with its options; UserError for others than an engine with a net has."""
    known = {"hash": defaults.hash_mb, "move overhead": OVERHEAD}
    for name, value in (settings.get("options") or {}).items():
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
