"""What players have in common that are this project's engine, in the process of the tournament."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from nnuelab import orderer
from nnuelab.engine import constants
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError, quoted
from nnuelab.evaluator import Evaluator
from nnuelab.settings.games import ORDERING_DEPTH, ORDERING_DEPTH_MAX, Games
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.play import OVERHEAD, EnginePlayer
from nnuelab.tournament.players import DEFAULT, Defaults

SETTINGS = ("options", "constants", "ordering", "ordering_depth")
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
    ordering : path or None
        A policy that orders its moves, at the root and from ``ordering_depth`` on.
    """

    file: Path | None
    limit: Limit
    hash_mb: int = Games.hash
    overhead: float = OVERHEAD
    constants: Mapping[str, int] = field(default_factory=dict)
    ordering: Path | None = None
    ordering_depth: int = ORDERING_DEPTH

    kind: ClassVar[str]  # the setting that names the file
    word: ClassVar[str]  # what it is called
    shipped: ClassVar[Path]

    def evaluator(self) -> Evaluator:
        """What it plays with."""
        raise NotImplementedError

    def start(self) -> EnginePlayer:
        """An engine, with its kernels loaded."""
        ordering = None if self.ordering is None else orderer.read(self.ordering)
        engine = Engine(
            self.evaluator(), self.hash_mb, self.constants, ordering, self.ordering_depth
        )
        return EnginePlayer(engine, self.overhead)

    def files(self) -> dict[str, Path]:
        """The evaluator's and the orderer's."""
        found = {self.kind: self.file or self.shipped}
        return found if self.ordering is None else {**found, "ordering": self.ordering}

    def settings(self) -> dict[str, Any]:
        """Limit and options."""
        found = {self.kind: str(self.file or DEFAULT), "hash_mb": self.hash_mb, **self.limit.told()}
        if self.constants:
            found["constants"] = dict(self.constants)
        if self.ordering is not None:
            found |= {"ordering": str(self.ordering), "ordering_depth": self.ordering_depth}
        return {**found, "overhead": self.overhead} if self.limit.is_time else found

    def as_engine(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """`nnuelab uci` in a process of its own."""
        if self.constants:
            raise UserError("only --runner own plays with other constants of the search")
        options: dict[str, Any] = {"Hash": self.hash_mb, "Move Overhead": math.ceil(self.overhead)}
        if self.file is not None or self.kind != "net":
            options["EvalFile"] = (self.file or self.shipped).resolve()
        if self.ordering is not None:
            options["OrderingFile"] = self.ordering.resolve()
            options["OrderingDepth"] = self.ordering_depth
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
            raise UserError(f"option {name}: {quoted(value)} is no number of at least 0")
        known[str(name).lower()] = value
    size = known["hash"]
    if size < 1 or size != int(size):
        raise UserError(f"option Hash: {quoted(size)} is no whole number of at least 1")
    chosen = settings.get("constants") or {}
    if not isinstance(chosen, dict):
        raise UserError("constants must be a mapping, such as {delta_margin: 170}")
    constants.record(chosen)
    named = settings[make.kind]
    file = None if named == DEFAULT else Path(str(named))
    if file is not None and not os.path.isfile(file):
        raise UserError(f"there is no {make.word.split(maxsplit=1)[1]} {file}")
    ordering = _ordering_of(settings)
    return make(file, limit, int(size), float(known["move overhead"]), chosen, *ordering)


def _ordering_of(settings: Mapping[str, Any]) -> tuple[Path | None, int]:
    """The policy that orders moves, and from which depth on."""
    named, depth = settings.get("ordering"), settings.get("ordering_depth")
    if named is None and depth is not None:
        raise UserError("ordering_depth needs a policy, such as ordering: net.policy")
    depth = ORDERING_DEPTH if depth is None else depth
    whole = isinstance(depth, int) and not isinstance(depth, bool)
    if not whole or not 1 <= depth <= ORDERING_DEPTH_MAX:
        raise UserError(
            f"ordering_depth: {quoted(depth)} is no whole number of 1 to {ORDERING_DEPTH_MAX}"
        )
    file = None if named is None else Path(str(named))
    if file is not None and not os.path.isfile(file):
        raise UserError(f"there is no policy {file}")
    return file, depth
