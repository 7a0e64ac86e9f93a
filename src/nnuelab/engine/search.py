"""The engine as an object: iterative deepening over the jitted search."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.moves import NO_MOVE
from nnuelab.engine import constants, deepening
from nnuelab.engine.clock import Budget
from nnuelab.engine.memory import Memory
from nnuelab.engine.node import evaluate
from nnuelab.engine.state import BEST_LINE, FOREVER, MATE, MATE_BOUND
from nnuelab.engine.table import Table
from nnuelab.evaluator import MAX_PLY, Evaluator
from nnuelab.orderer import Orderer
from nnuelab.settings.games import ORDERING_DEPTH

MAX_DEPTH = MAX_PLY - 1
WARM_UP_NODES = 1000  # reaches every kernel of the search


@dataclass(frozen=True)
class Result:
    """What a search found.

    Attributes
    ----------
    move : int
        NO_MOVE (0) when there is no legal move.
    score_cp : int
        Centipawns for the side to move; beyond +-MATE_BOUND for mates.
    mate : int or None
        Moves to mate, negative when the side to move is mated.
    depth, seldepth, nodes : int
        Depth is that of the last complete iteration.
    pv : list of int
        The best line, beginning with ``move``.
    seconds : float
    number : int
        Of the line, when several are asked for; the best is 0.
    """

    move: int
    score_cp: int
    mate: int | None
    depth: int
    seldepth: int
    nodes: int
    pv: list[int]
    seconds: float
    number: int = 0


def mate_in(score: int) -> int | None:
    """Moves to mate that a score stands for, None when it is no mate."""
    if abs(score) < MATE_BOUND:
        return None
    plies = MATE - abs(score)
    return (plies + 1) // 2 if score > 0 else -(plies // 2)


class Engine:
    """A player: an evaluator and everything that a search needs.

    At a fixed number of nodes or depth a search is a function of the evaluator, the size of the
    table, the position, its history and the searches since :meth:`new_game`.

    Parameters
    ----------
    evaluator : Evaluator
        A net, say: :class:`nnuelab.nnue.evaluator.NetEvaluator`.
    hash_mb : int
        Size of the transposition table. Clearing takes about 0.1 ms a megabyte.
    chosen : mapping of str to int, optional
        Other numbers than the default ones of the search, by name (`engine.constants`).
    orderer : Orderer, optional
        A policy, say, that orders quiet moves together with the histories: at the root, and at
        nodes from ``ordering_depth`` on.

    Raises
    ------
    UserError
        When the search has no such constant, or its value is out of bounds.

    Attributes
    ----------
    record : np.void of SEARCH
        For compiled code; valid as long as this object and its evaluator.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        hash_mb: int = 16,
        chosen: Mapping[str, int] | None = None,
        orderer: Orderer | None = None,
        ordering_depth: int = ORDERING_DEPTH,
    ) -> None:
        self._table = Table(hash_mb)
        self._constants = constants.record(chosen)
        self._orderer = None if orderer is None else orderer.bind()
        self._ordering_depth = ordering_depth
        self.set_evaluator(evaluator)

    def set_evaluator(self, evaluator: Evaluator) -> None:
        """Plays with another evaluator from now on, as in a new game."""
        self._memory = Memory(evaluator)
        self.record = self._memory.record
        self.record["constants"] = self._constants
        self._use_orderer()
        self._table.attach(self.record)
        self._warm_up()
        self.new_game()

    def set_orderer(self, orderer: Orderer | None, depth: int = ORDERING_DEPTH) -> None:
        """Orders moves by it, too, or by histories alone from now on, as in a new game."""
        self._orderer = None if orderer is None else orderer.bind()
        self._ordering_depth = depth
        self._use_orderer()
        self.new_game()

    def _use_orderer(self) -> None:
        self.record["orderer"] = 0 if self._orderer is None else self._orderer.record
        self.record["ordering_depth"] = self._ordering_depth

    def set_constants(self, chosen: Mapping[str, int]) -> None:
        """Searches with other numbers from now on, as in a new game; raises as the class does."""
        self._constants = constants.record(chosen)
        self.record["constants"] = self._constants
        self.new_game()

    def _warm_up(self) -> None:
        """Calls all that is compiled or loaded at its first call, while no clock runs yet."""
        self.ready()
        self.search(notation.from_fen(notation.STARTING_FEN), nodes=WARM_UP_NODES)
        deepening.score_when_cut(self.record, NO_MOVE, 0)

    def resize(self, hash_mb: int) -> None:
        """Resizes the transposition table, which is then empty."""
        self._table = Table(hash_mb)
        self._table.attach(self.record)

    def clear_hash(self) -> None:
        """Empties the transposition table."""
        self._table.clear()

    def new_game(self) -> None:
        """Forgets all earlier searches: hash, histories."""
        self._table.clear()
        self._memory.forget()
        self.record["generation"] = 0
        self.ready()

    # Another thread may call these three while a search runs.

    def stop(self) -> None:
        """Ends the search that runs, or the next one as soon as it begins."""
        self.record["stop"] = 1

    def ready(self) -> None:
        """Cancels a :meth:`stop` or a budget that came while nothing was searching."""
        self._soft = FOREVER
        self.record["deadline"] = FOREVER
        self.record["stop"] = 0

    def set_budget(self, budget: Budget) -> None:
        """Limits the search that runs, or the next one, counted from now (UCI's ponderhit)."""
        now = time.monotonic_ns()
        self._soft = now + int(budget.soft * 1e6)
        self.record["deadline"] = now + int(budget.hard * 1e6)

    def hashfull(self) -> int:
        """Permille of the transposition table that the last search wrote."""
        return self._table.permille(int(self.record["generation"]))

    def evaluate(self, position: np.void) -> int:
        """The evaluator's value of a position: centipawns for the side to move."""
        self._place_root(position, ())
        value = int(evaluate(self.record, 0))
        self.check()
        return value

    def check(self) -> None:
        """Raises UserError when a feature block of a user's has broken its bounds meanwhile."""
        self._memory.evaluator.check()
        if self._orderer is not None:
            self._orderer.check()

    def search(
        self,
        position: np.void,
        history_keys: Sequence[int] = (),
        *,
        nodes: int | None = None,
        depth: int | None = None,
        movetime: float | None = None,
        budget: Budget | None = None,
        mate: int | None = None,
        moves: Sequence[int] | None = None,
        multipv: int = 1,
        on_info: Callable[[Result], None] | None = None,
    ) -> Result:
        """Searches until the first limit is reached; without any, until :meth:`stop`.

        Parameters
        ----------
        position : POSITION record
        history_keys : sequence of int
            Zobrist keys of the earlier positions of the game, oldest first, ``position`` not among
            them.
        nodes : int
            Exactly so many at most: the search ends on the node.
        depth : int
            Plies of the last iteration.
        movetime : float
            Milliseconds.
        budget : Budget
            Time by which no iteration begins and by which all ends.
        mate : int
            Ends when a mate in so many moves is found.
        moves : sequence of int
            Only these root moves, legal ones.
        multipv : int
            So many best lines, each without the first moves of those before.
        on_info : callable
            Called with every line of every finished iteration, the best first.
        """
        started = time.monotonic_ns()
        record = self.record
        legal = notation.moves_of(position)
        roots = legal if moves is None else list(dict.fromkeys(moves))
        self._place_root(position, history_keys)
        deepening.begin(record, FOREVER if nodes is None else nodes)
        if movetime is not None:
            budget = Budget(movetime, movetime)
        if budget is not None:
            self.set_budget(budget)

        best = self._result(started, 0, 0, roots[:1])
        if not roots:
            mated = -MATE if position["checkers"] else 0
            best = self._result(started, mated, 0, [])
        lines = [best] * min(multipv, len(roots))
        last_depth = min(depth or MAX_DEPTH, MAX_DEPTH) if roots else 0
        for iteration in range(1, last_depth + 1):
            record["root_depth"], record["seldepth"] = iteration, 0
            left = list(roots)
            for number, last in enumerate(lines):
                self._offer(left, last.move if last.depth else NO_MOVE)
                record["root_whole"] = len(left) == len(legal)
                score = int(deepening.iterate(record, iteration, last.score_cp))
                line = self._line()
                if record["stop"]:
                    break
                lines[number] = self._result(started, score, iteration, line or last.pv)
                left.remove(lines[number].move)
            if record["stop"]:
                best = lines[0]
                score, pv = best.score_cp, best.pv
                if best.depth < iteration and line:  # the first line was cut, but has come so far
                    score = int(deepening.score_when_cut(record, best.move, score))
                    if line[0] != best.move or score != best.score_cp:
                        pv = line
                reached = max(best.seldepth, int(record["seldepth"]))
                best = replace(self._result(started, score, best.depth, pv), seldepth=reached)
                break
            latest = lines[-1]  # which tells the nodes and the time of the whole iteration
            lines.sort(key=lambda result: -result.score_cp)
            lines = [
                replace(result, number=number, nodes=latest.nodes, seconds=latest.seconds)
                for number, result in enumerate(lines)
            ]
            if on_info is not None:
                for result in lines:
                    on_info(result)
            best = lines[0]
            if self._is_enough(best, len(legal), mate):
                break
        self.ready()
        self.check()
        return best

    def _place_root(self, position: np.void, history_keys: Sequence[int]) -> None:
        """Makes ``position`` the root."""
        keys = np.array(history_keys, np.uint64)
        deepening.place_root(self.record, position, keys, len(keys))

    def _offer(self, roots: list[int], first: int) -> None:
        """Makes these the moves of the root; ``first``, if it is one of them, is tried first."""
        self._memory.root_moves[: len(roots)] = roots
        self.record["n_root_moves"] = len(roots)
        self.record["root_best"] = first if first in roots else NO_MOVE

    def _line(self) -> list[int]:
        length = int(self.record["line_length"])
        return self._memory.pv[BEST_LINE, :length].tolist()

    def _is_enough(self, best: Result, n_moves: int, mate: int | None) -> bool:
        """Whether no further iteration shall begin."""
        if mate is not None and best.mate is not None and 0 < best.mate <= mate:
            return True
        if self._soft == FOREVER:
            return False
        spares = self._soft < self.record["deadline"]  # unlike a given time, which is used up
        return (n_moves == 1 and spares) or time.monotonic_ns() >= self._soft

    def _result(self, started: int, score: int, depth: int, line: list[int]) -> Result:
        record = self.record
        return Result(
            move=line[0] if line else NO_MOVE,
            score_cp=score,
            mate=mate_in(score),
            depth=depth,
            seldepth=int(record["seldepth"]),
            nodes=int(record["nodes"]),
            pv=line,
            seconds=(time.monotonic_ns() - started) / 1e9,
        )
