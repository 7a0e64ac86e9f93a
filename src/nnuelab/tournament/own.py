"""What players have in common that are this project's engine, in the process of the tournament."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from nnuelab.engine import constants
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.evaluator import Evaluator
from nnuelab.settings.games import Games
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.play import OVERHEAD, EnginePlayer
from nnuelab.tournament.players import DEFAULT, Defaults

SETTINGS = ("options", "constants")
Kind = TypeVar("Kind", bound="OwnEntrant")


@dataclass(frozen=True)
class OwnEntrant:
    """This project's engine with an evaluator of one kind.

    Attributes
    ----------
    file : path or None
        What the evaluator is read from; None: the one of its kind that ships with the package.
    constants : mapping of str to int
        Numbers of its search that aren't the default ones (`engine.constants`).
    """

    file: Path | None
    limit: Limit
    hash_mb: int = Games.hash
    overhead: float = OVERHEAD
    constants: Mapping[str, int] = field(default_factory=dict)

    kind: ClassVar[str]  # the setting that names the file
    word: ClassVar[str]  # what it is called
    shipped: ClassVar[Path]

    def evaluator(self) -> Evaluator:
        """What it plays with."""
        raise NotImplementedError

    def start(self) -> EnginePlayer:
        """An engine, with its kernels loaded."""
        return EnginePlayer(Engine(self.evaluator(), self.hash_mb, self.constants), self.overhead)

    def files(self) -> dict[str, Path]:
        """The evaluator's."""
        return {self.kind: self.file or self.shipped}

    def settings(self) -> dict[str, Any]:
        """Limit and options."""
        found = {self.kind: str(self.file or DEFAULT), "hash_mb": self.hash_mb, **self.limit.told()}
        if self.constants:
            found["constants"] = dict(self.constants)
        return {**found, "overhead": self.overhead} if self.limit.is_time else found

    def as_engine(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """`nnuelab uci` in a process of its own."""
        if self.constants:
            raise UserError("only --runner own plays with other constants of the search")
        options: dict[str, Any] = {"Hash": self.hash_mb, "Move Overhead": math.ceil(self.overhead)}
        if self.file is not None or self.kind != "net":
            options["EvalFile"] = (self.file or self.shipped).resolve()
        return (sys.executable, "-m", "nnuelab.cli", "uci"), options


def own_entrant(
    make: type[Kind], settings: Mapping[str, Any], limit: Limit, defaults: Defaults
) -> Kind:
    """An evaluator's file with the engine's options; UserError for others than it has."""
    known = {"hash": defaults.hash_mb, "move overhead": OVERHEAD}
    for name, value in (settings.get("options") or {}).items():
        if str(name).lower() not in known:
            raise UserError(f"{make.word} has no option {name}; it has Hash and Move Overhead")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise UserError(f"option {name}: {value!r} is no number of at least 0")
        known[str(name).lower()] = value
    size = known["hash"]
    if size < 1 or size != int(size):
        raise UserError(f"option Hash: {size!r} is no whole number of at least 1")
    chosen = settings.get("constants") or {}
    if not isinstance(chosen, dict):
        raise UserError("constants must be a mapping, such as {delta_margin: 170}")
    constants.record(chosen)
    named = settings[make.kind]
    file = None if named == DEFAULT else Path(str(named))
    if file is not None and not file.is_file():
        raise UserError(f"there is no {make.word.split(maxsplit=1)[1]} {file}")
    return make(file, limit, int(size), float(known["move overhead"]), chosen)
