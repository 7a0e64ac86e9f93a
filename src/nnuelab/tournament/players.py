"""Who plays: nets in this process and UCI engines, and how they are made in a worker."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from nnuelab.data.uci import UciEngine
from nnuelab.tournament.external import UciPlayer
from nnuelab.tournament.game import Answer, Line, Player
from nnuelab.tournament.limits import Limit, Turn

DEFAULT = "default"  # the net that ships with the package
HASH_MB = 4
OVERHEAD = 1.0  # ms of a move's time that calls in this process take
PATIENCE = 60.0  # seconds for an answer under a limit of nodes or depth
READ = (".nnue", ".nn", ".bin", ".book")  # files that an engine reads and doesn't write


class Entrant(Protocol):
    """One who takes part: its limit, what it is made of, and how it is made."""

    @property
    def limit(self) -> Limit: ...

    def start(self) -> Player:
        """The player, ready to play; UserError when it can't be made."""

    def files(self) -> dict[str, Path]:
        """What it is made of, each with a word for what it is."""

    def settings(self) -> dict[str, Any]:
        """All that its games depend on besides these files, as JSON."""


class EnginePlayer:
    """This project's engine, in this process.

    Parameters
    ----------
    engine : engine.search.Engine, or what searches like one
    overhead : float
        ms of each move's time that are kept back.
    """

    def __init__(self, engine: Any, overhead: float = OVERHEAD) -> None:
        self.engine, self._overhead = engine, overhead

    def new_game(self) -> None:
        """Clears the tables."""
        self.engine.new_game()

    def search(self, line: Line, turn: Turn) -> Answer:
        """A search in this thread; what it waited for a processor is wall less processor time."""
        began, worked = time.perf_counter(), time.thread_time()
        found = self.engine.search(line.position, line.history, **self._limits(turn))
        # The system call comes first: at its end a thread is often put off the processor.
        worked = time.thread_time() - worked
        idle = time.perf_counter() - began - worked
        return Answer(
            *(found.move, found.score_cp, found.mate, found.depth, found.nodes),
            idle=max(idle * 1e3, 0.0),
        )

    def _limits(self, turn: Turn) -> dict[str, Any]:
        limit = turn.limit
        if limit.nodes is not None:
            return {"nodes": limit.nodes}
        if limit.depth is not None:
            return {"depth": limit.depth}
        from nnuelab.engine import clock

        if limit.movetime is not None:
            return {"budget": clock.fixed(limit.movetime, self._overhead)}
        return {"budget": clock.budget(turn.left, limit.increment, None, self._overhead)}

    def close(self) -> None:
        """Nothing runs outside of this process."""


@dataclass(frozen=True)
class NetEntrant:
    """This project's engine with a net; None is the one that ships with the package."""

    net: Path | None
    limit: Limit
    hash_mb: int = HASH_MB
    overhead: float = OVERHEAD

    def start(self) -> Player:
        """An engine, with its kernels loaded."""
        from nnuelab.engine.search import Engine
        from nnuelab.nnue.evaluator import NetEvaluator

        return EnginePlayer(Engine(NetEvaluator(self.net), self.hash_mb), self.overhead)

    def files(self) -> dict[str, Path]:
        """The net."""
        from nnuelab.nnue.netfile import DEFAULT_NET

        return {"net": self.net or DEFAULT_NET}

    def settings(self) -> dict[str, Any]:
        """Limit and options."""
        found = {"net": str(self.net or DEFAULT), "hash_mb": self.hash_mb, **_told(self.limit)}
        return {**found, "overhead": self.overhead} if self.limit.is_time else found


@dataclass(frozen=True)
class EngineEntrant:
    """A UCI engine; see `UciEngine` and `UciPlayer`."""

    command: tuple[str, ...]
    limit: Limit
    options: Mapping[str, Any] = field(default_factory=dict)
    hash_mb: int = HASH_MB
    patience: float = PATIENCE
    memory_mb: int | None = None

    def start(self) -> UciPlayer:
        """The engine's process."""
        engine = UciEngine(self.command, self.options, self.hash_mb, self.memory_mb)
        return UciPlayer(engine, self.patience)

    def files(self) -> dict[str, Path]:
        """Its program, and the nets and books that arguments and options name."""
        words = [Path(str(word)) for word in (*self.command[1:], *self.options.values())]
        named = {str(path): path for path in words if path.suffix in READ and path.is_file()}
        return {"engine": Path(self.command[0]), **named}

    def settings(self) -> dict[str, Any]:
        """Command, options and limit."""
        return {
            "command": list(self.command),
            "options": dict(self.options),
            "hash_mb": self.hash_mb,
            "patience": self.patience,
            "memory_mb": self.memory_mb,
            **_told(self.limit),
        }


def _told(limit: Limit) -> dict[str, Any]:
    told = asdict(limit)
    if not limit.is_time:
        del told["margin"], told["increment"]
    return {name: value for name, value in told.items() if value is not None}
