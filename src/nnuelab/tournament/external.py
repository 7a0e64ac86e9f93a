"""A UCI engine as a player, through python-chess, with a watchdog.

python-chess waits for ever under a limit of nodes or depth, and asks an engine that is late to
stop, which some ignore. Here an answer has its time; an engine that fails, or of which nothing more
can be expected, is killed with its whole process group, and started again for the next game.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import subprocess
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import chess
import chess.engine

from nnuelab.chess import notation
from nnuelab.data.parallel import die_with_parent
from nnuelab.errors import UserError
from nnuelab.tournament.game import Answer, Failure, Fault, Line
from nnuelab.tournament.limits import Turn

T = TypeVar("T")

STARTING = 120.0  # seconds for `uci` and `isready`: nets are loaded, and ours compiles
GRACE = 1.0  # seconds beyond limit and margin in which a late answer saves the engine its restart
ENDING = 5.0  # seconds for what has been killed
STARTS = 3  # attempts to start an engine again
LONGEST_LINE = 1 << 20  # bytes; an engine that never ends its line would fill the memory


class _Protocol(chess.engine.UciProtocol):
    """What python-chess waits for in vain: the end of a pipe, and of a line."""

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.kill()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        super().pipe_data_received(fd, data)
        if len(self.buffer[fd]) > LONGEST_LINE:
            self.buffer[fd].clear()
            self.kill()

    def kill(self) -> None:
        """Ends the engine and what it has started."""
        assert self.transport is not None
        pid = self.transport.get_pid()
        assert pid is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


class UciPlayer:
    """An engine in a process of its own.

    Parameters
    ----------
    command : sequence of str
        Its program and arguments.
    options : mapping
        UCI options, by name in any case.
    hash_mb : int
        Of the transposition table, where ``options`` don't say.
    patience : float
        Seconds for an answer under a limit of nodes or depth.
    memory_mb : int or None
        Of data that it may have in memory; Linux stops an engine from taking more.

    Attributes
    ----------
    configured : dict
        The options that it was given.

    Raises
    ------
    UserError
        When it doesn't start, or doesn't take its options.
    """

    def __init__(
        self,
        command: Sequence[str],
        options: Mapping[str, Any],
        hash_mb: int,
        patience: float,
        memory_mb: int | None = None,
    ) -> None:
        # It warns of each line that it doesn't know: a log full of an engine's garbage.
        chess.engine.LOGGER.setLevel(logging.CRITICAL)
        self.command = list(command)
        self._options = dict(options)
        self._hash_mb, self._patience, self._memory_mb = hash_mb, patience, memory_mb
        self._loop = asyncio.new_event_loop()
        self._protocol: _Protocol | None = None
        self._game: object = None
        self._line: Line | None = None
        self._board = chess.Board()
        try:
            self._start()
        except (chess.engine.EngineError, OSError, TimeoutError) as error:
            self.close()
            raise UserError(
                f"{' '.join(self.command)}: it can't play as a UCI engine ({_reason(error)}); "
                "start it by hand and type `uci`"
            ) from error

    @property
    def name(self) -> str:
        """What the engine calls itself, version included."""
        assert self._protocol is not None
        return self._protocol.id.get("name", Path(self.command[0]).name)

    def _start(self) -> None:
        transport, protocol = self._loop.run_until_complete(
            _Protocol.popen(
                self.command,
                setpgrp=True,
                stderr=subprocess.DEVNULL,
                preexec_fn=partial(die_with_parent, signal.SIGKILL),
            )
        )
        self._protocol = protocol
        if self._memory_mb is not None and hasattr(resource, "prlimit"):
            most = self._memory_mb << 20
            resource.prlimit(transport.get_pid(), resource.RLIMIT_DATA, (most, most))
        self._await(protocol.initialize(), STARTING)
        self.configured = self._configuration(protocol)
        self._await(protocol.configure(self.configured), STARTING)
        self._await(protocol.ping(), STARTING)

    def _configuration(self, protocol: _Protocol) -> dict[str, Any]:
        """One thread, a small table and no book, where the settings don't say otherwise."""
        asked = {name.lower() for name in self._options}
        wanted: dict[str, Any] = {"Threads": 1, "Hash": self._hash_mb, "OwnBook": False}
        found = dict(self._options)
        for name, value in wanted.items():
            option = protocol.options.get(name)
            if option is not None and name.lower() not in asked:
                if option.type == "spin":
                    value = max(value, option.min or 0)
                    value = value if option.max is None else min(value, option.max)
                found[name] = value
        return found

    def _await(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """What python-chess answers; TimeoutError, with the engine killed, when it doesn't."""
        task = self._loop.create_task(work)
        done, _ = self._loop.run_until_complete(asyncio.wait([task], timeout=seconds))
        if not done:
            self._kill()
            task.cancel()
            with suppress(asyncio.CancelledError, chess.engine.EngineError):
                self._loop.run_until_complete(task)
            raise TimeoutError(f"no answer within {seconds:g} s")
        return task.result()

    def _kill(self) -> None:
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.kill()
            assert protocol.transport is not None
            self._loop.run_until_complete(asyncio.wait([protocol.returncode], timeout=ENDING))
            protocol.transport.close()  # not before: it would reap what asyncio waits for

    def close(self) -> None:
        """Ends the engine's processes."""
        self._kill()
        self._loop.close()

    def new_game(self) -> None:
        """Tells the engine, and waits until it is ready; one that has gone is started again."""
        for attempt in range(STARTS + 1):
            try:
                if self._protocol is None:
                    time.sleep(attempt)  # what made it fail may pass
                    self._start()
                assert self._protocol is not None
                self._protocol.send_line("ucinewgame")
                self._await(self._protocol.ping(), STARTING)
            except (chess.engine.EngineError, OSError, TimeoutError) as error:
                self._kill()
                failure = error
                continue
            # Now play() doesn't say it again, at the cost of the first move's time.
            self._game = object()
            self._protocol.first_game, self._protocol.game = False, self._game
            return
        raise UserError(
            f"{' '.join(self.command)} doesn't start any more ({_reason(failure)}); run the same "
            "command again to continue when it does"
        )

    def search(self, line: Line, turn: Turn) -> Answer:
        """Asks the engine.

        Raises
        ------
        Failure
            When it dies, hangs, or answers with what is no legal move.
        """
        protocol, is_time = self._protocol, turn.limit.is_time
        assert protocol is not None, "new_game() comes first"
        board = self._board_after(line)
        patience = self._patience
        if is_time:
            patience = (turn.left + turn.limit.margin) / 1e3 + GRACE
        began, processor = time.perf_counter(), _processor(protocol) if is_time else (0.0, 0.0)
        try:
            played = self._await(
                protocol.play(
                    board,
                    _limit(turn, board.turn),
                    game=self._game,
                    info=chess.engine.INFO_BASIC | chess.engine.INFO_SCORE,
                ),
                patience,
            )
        except TimeoutError as error:
            fault = Fault.TIME if is_time else Fault.HANG
            said = f"{'loses on time' if is_time else 'hangs'}: {error}"
            raise Failure(fault, said) from None
        except chess.engine.EngineTerminatedError:
            raise Failure(Fault.CRASH, f"crashes: {self._end_of(protocol)}") from None
        except chess.engine.EngineError as error:
            self._kill()
            raise Failure(Fault.ILLEGAL, f"plays no legal move: {error}") from None
        if not played.move:
            self._kill()
            raise Failure(Fault.ILLEGAL, "plays no move")
        idle = 0.0
        if is_time:
            taken = (time.perf_counter() - began) * 1e3
            ran, waited = (
                now - then for now, then in zip(_processor(protocol), processor, strict=True)
            )
            # While one of its threads ran, no other's waiting was the machine's fault.
            idle = max(min(waited, taken - ran), 0.0)
        score = played.info.get("score")
        relative = score.relative if score is not None else None
        return Answer(
            move=notation.parse_uci(line.position, played.move.uci()),
            score_cp=relative.score() if relative is not None else None,
            mate=relative.mate() if relative is not None else None,
            depth=played.info.get("depth"),
            nodes=played.info.get("nodes"),
            idle=idle,
        )

    def _board_after(self, line: Line) -> chess.Board:
        """python-chess's board of the game; the moves since the last call are played on it."""
        if self._line is not line:
            self._line, self._board = line, chess.Board(line.fen)
        for move in line.moves[len(self._board.move_stack) :]:
            self._board.push(chess.Move.from_uci(notation.move_to_uci(move)))
        return self._board

    def _end_of(self, protocol: _Protocol) -> str:
        self._kill()
        code = protocol.returncode.result() if protocol.returncode.done() else None
        return f"exit status {code}"


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _limit(turn: Turn, colour: chess.Color) -> chess.engine.Limit:
    limit = turn.limit
    if limit.clock is None:
        movetime = None if limit.movetime is None else limit.movetime / 1e3
        return chess.engine.Limit(nodes=limit.nodes, depth=limit.depth, time=movetime)
    own, other = turn.left / 1e3, turn.opponent_left / 1e3
    if other == float("inf"):  # an opponent without a clock
        other = own
    clocks, increments = [own, other], [limit.increment / 1e3, turn.opponent_increment / 1e3]
    if colour == chess.BLACK:
        clocks.reverse()
        increments.reverse()
    return chess.engine.Limit(
        white_clock=clocks[0],
        black_clock=clocks[1],
        white_inc=increments[0],
        black_inc=increments[1],
    )


def _processor(protocol: _Protocol) -> tuple[float, float]:
    """ms that the engine's threads and this one have run, and waited for a processor, until now.

    Linux counts them; elsewhere they are 0, and a stall of the machine can't be told from an engine
    that is late.
    """
    assert protocol.transport is not None
    ran = waited = 0
    for place in (f"/proc/{protocol.transport.get_pid()}/task", "/proc/thread-self"):
        pattern = "*/schedstat" if place.endswith("task") else "schedstat"
        for file in Path(place).glob(pattern):
            with suppress(OSError, ValueError, IndexError):
                times = file.read_text().split()
                ran, waited = ran + int(times[0]), waited + int(times[1])
    return ran / 1e6, waited / 1e6
