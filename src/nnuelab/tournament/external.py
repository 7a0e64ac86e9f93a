"""A UCI engine as a player: one that fails loses its game, and is restarted for the next."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from nnuelab.chess import notation
from nnuelab.chess.position import WHITE
from nnuelab.data import uci
from nnuelab.data.uci import Died, NoAnswer, UciEngine, Variation, find_engine
from nnuelab.errors import UserError, quoted
from nnuelab.settings.games import Games
from nnuelab.tournament.game import Answer, Failure, Fault, Line
from nnuelab.tournament.limits import Limit, Turn
from nnuelab.tournament.players import PATIENCE, Defaults

SETTINGS = ("args", "options", "patience", "memory_mb")
READ = (".nnue", ".nn", ".bin", ".book")  # files that an engine reads and doesn't write
GRACE = 1.0  # seconds beyond limit and margin in which a late answer saves the engine its restart


class UciPlayer:
    """An engine in a process of its own; a context manager.

    Parameters
    ----------
    engine : UciEngine
    patience : float
        Seconds for an answer under a limit of nodes or depth.
    """

    def __init__(self, engine: UciEngine, patience: float = uci.PATIENCE) -> None:
        self.engine, self._patience = engine, patience
        self._line: Line | None = None
        self._moves: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the engine's processes."""
        self.engine.close()

    def new_game(self) -> None:
        """Clears its memory; UserError when it has exited and no longer starts."""
        self.engine.new_game()

    def search(self, line: Line, turn: Turn) -> Answer:
        """Asks the engine.

        Raises
        ------
        Failure
            When it dies, hangs, or answers with what is no legal move.
        """
        is_time, patience, idle = turn.limit.is_time, self._patience, 0.0
        if is_time:
            patience = (turn.left + turn.limit.margin) / 1e3 + GRACE
        position, limit = self._position(line), _limit(turn, int(line.position["turn"]))
        began, before = time.perf_counter(), _processor(self.engine.pid) if is_time else (0.0, 0.0)
        try:
            reply = self.engine.search(position, limit, patience)
            move = notation.parse_uci(line.position, reply.move)
        except NoAnswer as error:
            fault = Fault.TIME if is_time else Fault.HANG
            said = f"{'loses on time' if is_time else 'hangs'}: {error}"
            raise Failure(fault, said) from None
        except Died as error:
            raise Failure(Fault.CRASH, f"crashes: exit status {error.status}") from None
        except ValueError as error:
            self.engine.kill()  # nothing more can be expected of it
            said = f"an illegal move: {error}" if reply.move else "no move"
            raise Failure(Fault.ILLEGAL, f"plays {said}") from None
        if is_time:
            taken = (time.perf_counter() - began) * 1e3
            after = _processor(self.engine.pid)
            ran, waited = (now - then for now, then in zip(after, before, strict=True))
            # While one of its threads ran, no other's waiting was the machine's fault.
            idle = max(min(waited, taken - ran), 0.0)
        score = reply.variations[0] if reply.variations else Variation(None, None, [])
        return Answer(move, score.cp, score.mate, reply.depth, reply.nodes, idle)

    def _position(self, line: Line) -> str:
        if self._line is not line:
            self._line, self._moves = line, []
        self._moves += map(notation.move_to_uci, line.moves[len(self._moves) :])
        moves = f" moves {' '.join(self._moves)}" if self._moves else ""
        return f"fen {line.fen}{moves}"


class StrictUciPlayer(UciPlayer):
    """One whose faults end the work, for games that aren't rated."""

    def search(self, line: Line, turn: Turn) -> Answer:
        """UserError when the engine fails, or answers without a score."""
        try:
            answer = super().search(line, turn)
        except Failure as failure:
            raise UserError(
                f"the engine {' '.join(self.engine.command)} {failure}; start it by hand and type "
                "`uci`: it has to be a UCI engine for this machine"
            ) from failure
        if answer.score_cp is None and answer.mate is None:
            raise UserError(f"the engine {self.engine.name} gave a move without a score")
        return answer


@dataclass(frozen=True)
class EngineEntrant:
    """A UCI engine; see `UciEngine` and `UciPlayer`."""

    command: tuple[str, ...]
    limit: Limit
    options: Mapping[str, Any] = field(default_factory=dict)
    hash_mb: int = Games.hash
    patience: float = PATIENCE
    memory_mb: int | None = None

    def start(self) -> UciPlayer:
        """The engine's process."""
        engine = UciEngine(self.command, self.options, self.hash_mb, self.memory_mb)
        return UciPlayer(engine, self.patience)

    def files(self) -> dict[str, Path]:
        """Its program, and the nets and books that arguments and options name."""
        words = [Path(str(word)) for word in (*self.command[1:], *self.options.values())]
        named = {str(path): path for path in words if path.suffix in READ and os.path.isfile(path)}
        return {"engine": Path(self.command[0]), **named}

    def settings(self) -> dict[str, Any]:
        """Command, options and limit."""
        return {
            "command": list(self.command),
            "options": dict(self.options),
            "hash_mb": self.hash_mb,
            "patience": self.patience,
            "memory_mb": self.memory_mb,
            **self.limit.told(),
        }

    def as_engine(self) -> tuple[tuple[str, ...], Mapping[str, Any]]:
        """Itself; it is asked which options it has."""
        if self.memory_mb is not None:
            raise UserError("memory_mb is for the project's own runner")
        with self.start() as started:
            options = started.engine.configured
        program, *arguments = self.command
        return (str(Path(program).absolute()), *arguments), options


def entrant(settings: Mapping[str, Any], limit: Limit, defaults: Defaults) -> EngineEntrant:
    """An engine that is installed; UserError when it isn't, or for settings that can't be."""
    arguments = settings.get("args") or []
    if not isinstance(arguments, list):
        raise UserError("args must be a list, such as [--uci]")
    patience, memory = settings.get("patience", defaults.patience), settings.get("memory_mb")
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not patience > 0:
        raise UserError(f"patience {quoted(patience)}: it must be a positive number of seconds")
    if memory is not None and (not isinstance(memory, int) or memory < 1):
        raise UserError(f"memory_mb {quoted(memory)}: it must be a whole number of at least 1")
    return EngineEntrant(
        command=(find_engine(str(settings["engine"])), *map(str, arguments)),
        limit=limit,
        options={str(name): value for name, value in (settings.get("options") or {}).items()},
        hash_mb=defaults.hash_mb,
        patience=float(patience),
        memory_mb=memory,
    )


def _limit(turn: Turn, colour: int) -> str:
    """What follows ``go``; times are whole ms."""
    limit = turn.limit
    if limit.nodes is not None:
        return f"nodes {limit.nodes}"
    if limit.depth is not None:
        return f"depth {limit.depth}"
    if limit.movetime is not None:
        return f"movetime {max(1, round(limit.movetime))}"
    # An opponent may be without a clock.
    other = turn.left if math.isinf(turn.opponent_left) else turn.opponent_left
    sides = [(turn.left, limit.increment), (other, turn.opponent_increment)]
    (white, white_more), (black, black_more) = sides if colour == WHITE else reversed(sides)
    clocks = f"wtime {max(1, round(white))} btime {max(1, round(black))}"
    return f"{clocks} winc {round(white_more)} binc {round(black_more)}"


def _processor(pid: int | None) -> tuple[float, float]:
    """ms that an engine's threads and this one have run, and waited for a processor, until now.

    Linux counts them; elsewhere they are 0, and a stall of the machine can't be told from an engine
    that is late.
    """
    ran = waited = 0
    for file in (
        Path("/proc/thread-self/schedstat"),
        *Path(f"/proc/{pid}/task").glob("*/schedstat"),
    ):
        with suppress(OSError, ValueError, IndexError):
            times = file.read_text().split()
            ran, waited = ran + int(times[0]), waited + int(times[1])
    return ran / 1e6, waited / 1e6
