"""The engine in a conversation by UCI.

Nothing heavy is imported before the engine is needed, so that ``uci`` is answered at once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from nnuelab.engine.nodestime import RATE_MAX, NodeClock
from nnuelab.engine.protocol import (
    COMPILING,
    LARGEST,
    MULTIPV_MAX,
    NUMBERS,
    THREADS,
    Conversation,
    Go,
    announced,
    any_move,
    within,
)
from nnuelab.settings.games import ORDERING_DEPTH, ORDERING_DEPTH_MAX

if TYPE_CHECKING:
    from nnuelab.engine.clock import Budget
    from nnuelab.engine.search import Engine, Result
    from nnuelab.evaluator import Evaluator
    from nnuelab.orderer import Orderer

HASH_DEFAULT, HASH_MAX = 16, 1 << 16  # MB
OVERHEAD_DEFAULT, OVERHEAD_MAX = 10, 5000  # ms
UNCLEAR_MS = 100  # a search takes where it isn't clear how much it may
_OPTIONS = (
    f"option name Hash type spin default {HASH_DEFAULT} min 1 max {HASH_MAX}",
    "option name Clear Hash type button",
    THREADS,
    "option name EvalFile type string default <empty>",
    "option name OrderingFile type string default <empty>",
    f"option name OrderingDepth type spin default {ORDERING_DEPTH} min 1 max {ORDERING_DEPTH_MAX}",
    f"option name MultiPV type spin default 1 min 1 max {MULTIPV_MAX}",
    "option name Ponder type check default false",
    f"option name Move Overhead type spin default {OVERHEAD_DEFAULT} min 0 max {OVERHEAD_MAX}",
    f"option name nodestime type spin default 0 min 0 max {RATE_MAX}",
)


def read_evaluator(file: Path | None) -> Evaluator:
    """The evaluator of a file; None: the net that ships with the package."""
    from nnuelab import evaluator

    return evaluator.read(file)


def read_orderer(file: Path | None) -> Orderer | None:
    """What orders moves of a policy's file; None: nothing but histories."""
    from nnuelab import orderer

    return None if file is None else orderer.read(file)


class Uci(Conversation):
    """A conversation with the engine.

    Parameters
    ----------
    file : path or None
        What EvalFile is until it is set.
    read : callable
        Makes the evaluator of a file, or of None.
    ordering : path or None
        What OrderingFile is until it is set.
    """

    options = _OPTIONS

    def __init__(
        self,
        file: Path | None = None,
        output: TextIO = sys.stdout,
        read: Callable[[Path | None], Evaluator] = read_evaluator,
        ordering: Path | None = None,
    ) -> None:
        super().__init__(output)
        self._file, self._read = file, read
        self._evaluator: Evaluator | None = None  # of that file, once it is read
        self._engine: Engine | None = None
        self._hash_mb = HASH_DEFAULT
        self._ordering, self._ordering_depth = ordering, ORDERING_DEPTH
        self._overhead = OVERHEAD_DEFAULT
        self._node_clock: NodeClock | None = None  # None: time is what clocks tell
        self._multipv = 1
        self._budget: Budget | None = None  # of a search that ponders
        self._commands |= {"bench": self._bench, "eval": self._eval}

    # The engine and its options

    def _loaded(self) -> Engine:
        """The engine, made when it is first needed."""
        if self._engine is None:
            with announced(lambda: self._say(f"info string {COMPILING}")):
                engine = self._made()
            # The collector would look through all of it again, some 60 ms, in a search.
            gc.collect()
            gc.freeze()
            self._engine = engine
        return self._engine

    def _made(self) -> Engine:
        from nnuelab.engine.search import Engine

        evaluator = self._evaluator or self._read(self._file)
        orderer = read_orderer(self._ordering)

        def made() -> Engine:
            return Engine(
                evaluator,
                self._hash_mb,
                orderer=orderer,
                ordering_depth=self._ordering_depth,
            )

        try:
            return made()
        except MemoryError as error:
            self._complain(error)
            self._say(f"info string Hash is {HASH_DEFAULT} MB instead of {self._hash_mb}")
            self._hash_mb = HASH_DEFAULT
            return made()

    def _load(self) -> None:
        self._loaded()

    def _new_game(self) -> None:
        if self._engine is not None:
            self._engine.new_game()
        if self._node_clock is not None:
            self._node_clock.new_game()

    def _set_option(self, name: str, value: str) -> None:
        if name == "hash":
            megabytes = within(value, "Hash", 1, HASH_MAX)
            if self._engine is not None:
                self._engine.resize(megabytes)  # raises before anything is changed
            self._hash_mb = megabytes
        elif name == "move overhead":
            self._overhead = within(value, "Move Overhead", 0, OVERHEAD_MAX)
        elif name == "nodestime":
            rate = within(value, "nodestime", 0, RATE_MAX)
            self._node_clock = NodeClock(rate) if rate else None
        elif name == "multipv":
            self._multipv = within(value, "MultiPV", 1, MULTIPV_MAX)
        elif name == "evalfile":
            self._set_file(_file(value))
        elif name == "orderingfile":
            self._set_ordering(_file(value), self._ordering_depth)
        elif name == "orderingdepth":
            depth = within(value, "OrderingDepth", 1, ORDERING_DEPTH_MAX)
            self._set_ordering(self._ordering, depth)
        elif name == "clear hash":
            if self._engine is not None:
                self._engine.clear_hash()
        elif name != "ponder":  # pondering is switched by `go ponder` alone
            raise ValueError(f"no option {name!r}")

    def _set_file(self, file: Path | None) -> None:
        evaluator = self._read(file)  # raises before anything is changed
        if self._engine is not None:
            self._engine.set_evaluator(evaluator)
        self._evaluator = evaluator

    def _set_ordering(self, file: Path | None, depth: int) -> None:
        orderer = read_orderer(file)  # raises before anything is changed
        if self._engine is not None:
            self._engine.set_orderer(orderer, depth)
        self._ordering, self._ordering_depth = file, depth

    def _eval(self, words: list[str]) -> None:
        self._halt()
        value = self._loaded().evaluate(self._current()[-1])
        self._say(f"info string evaluation {value} centipawns for the side to move")

    # The search

    def _begin(self, words: list[str]) -> None:
        """Starts the search of a ``go``."""
        from nnuelab.chess import notation

        go, moves = self._read_go(words)
        engine, positions = self._loaded(), self._current()
        position = positions[-1]
        numbers: dict[str, Any] = {
            name: max(go.numbers[name], 1) for name in NUMBERS[-3:] if name in go.numbers
        }
        turn, node_clock = int(position["turn"]), self._node_clock
        budget, soft, spares = self._budget_of(go, turn), LARGEST, False
        if node_clock is not None and budget is not None:
            soft, spares = node_clock.nodes(budget.soft), budget.soft < budget.hard
            hard = node_clock.nodes(budget.hard)
            numbers["nodes"] = min(numbers.get("nodes", hard), hard)
            budget = None  # also while pondering: nodes are counted from the start
        engine.ready()
        self._is_limited, self._is_pondering = bool(numbers) or budget is not None, go.ponder
        self._budget = budget if go.ponder else None
        self._may_answer.clear()
        if not go.infinite and not go.ponder:
            self._may_answer.set()
            if budget is not None:
                engine.set_budget(budget)

        def think() -> None:
            keys = [int(p["key"]) for p in positions[:-1]]
            told: list[Result] = []
            is_forced = spares and len(notation.moves_of(position)) == 1

            def tell(result: Result) -> None:
                if result.number == 0:
                    told[:] = [result]
                self._say_info(result)
                if result.nodes >= soft or is_forced:
                    engine.stop()  # no new iteration, as on a clock

            try:
                best = engine.search(
                    position,
                    keys,
                    **numbers,
                    moves=moves or None,
                    multipv=self._multipv,
                    on_info=tell,
                )
            except Exception as error:
                self._say(f"info string error: the search failed: {error!r}")
                self._say(f"bestmove {any_move(position)}")
                return
            if node_clock is not None and _clock_of(go, turn) is not None:
                node_clock.charge(turn, best.nodes, _increment(go, turn))
            self._may_answer.wait()
            if told != [best]:  # the last iteration was cut
                self._say_info(best)
            self._say(_bestmove(best))

        self._think(think)

    def _budget_of(self, go: Go, turn: int) -> Budget | None:
        from nnuelab.engine import clock

        n = go.numbers
        if "movetime" in n:
            return clock.fixed(n["movetime"], self._overhead)
        told = _clock_of(go, turn)
        if go.infinite:
            return None
        if told is None:
            unclear = (n or go.faults) and not any(name in n for name in NUMBERS[-3:])
            return clock.fixed(UNCLEAR_MS, 0) if unclear else None
        node_clock, to_go = self._node_clock, n.get("movestogo")
        return clock.budget(
            told if node_clock is None else node_clock.remaining(turn, told),
            _increment(go, turn),
            to_go if to_go and to_go > 0 else None,
            self._overhead,
        )

    def _say_info(self, result: Result) -> None:
        from nnuelab.chess import notation

        score = f"cp {result.score_cp}" if result.mate is None else f"mate {result.mate}"
        pv = " ".join(notation.move_to_uci(move) for move in result.pv)
        self._say(
            f"info depth {result.depth} seldepth {result.seldepth} "
            f"multipv {result.number + 1} score {score} "
            f"nodes {result.nodes} nps {int(result.nodes / max(result.seconds, 1e-6))} "
            f"hashfull {self._loaded().hashfull()} time {int(result.seconds * 1000)}"
            + (f" pv {pv}" if pv else "")
        )

    def _stop_search(self) -> None:
        if self._engine is not None:
            self._engine.stop()

    def _start_clock(self) -> None:
        if self._engine is not None and self._budget is not None:
            self._engine.set_budget(self._budget)

    # Tools

    def _bench(self, words: list[str]) -> None:
        from nnuelab.engine import bench

        self._halt()
        depth = within(words[0], "bench", 1, 64) if words else bench.DEPTH
        measured = bench.run(self._loaded(), depth)
        self._say(f"Nodes searched  : {measured.nodes}")
        self._say(f"Nodes/second    : {measured.nps}")


def _file(value: str) -> Path | None:
    return None if value in ("", "<empty>") else Path(value)


def _clock_of(go: Go, turn: int) -> int | None:
    """What is left on the clock of a side, ms."""
    return go.numbers.get("btime" if turn else "wtime")


def _increment(go: Go, turn: int) -> int:
    """What a move adds to it, ms."""
    return max(go.numbers.get("binc" if turn else "winc", 0), 0)


def _bestmove(best: Result) -> str:
    from nnuelab.chess import notation

    if not best.pv:
        return "bestmove (none)"
    ponder = f" ponder {notation.move_to_uci(best.pv[1])}" if len(best.pv) > 1 else ""
    return f"bestmove {notation.move_to_uci(best.move)}{ponder}"
