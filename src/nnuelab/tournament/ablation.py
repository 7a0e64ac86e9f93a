"""What a term of the search is worth: the engine with it against the same engine without it.

The engine without a term is another build, hence another process; the two talk by pickled calls.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.jit import WITHOUT
from nnuelab.progress import Progress
from nnuelab.tournament import workers
from nnuelab.tournament.adjudication import BLACK_WINS, WHITE_WINS, Rules
from nnuelab.tournament.game import Seat
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.openings import Book
from nnuelab.tournament.play import play
from nnuelab.tournament.players import EnginePlayer
from nnuelab.tournament.sprt import Sprt, Tally

HASH_MB = 8
SPRT = Sprt(elo0=0.0, elo1=5.0)
LEAST_PAIRS = 100  # before the test may decide: few pairs say little of their own spread


class RemoteEngine:
    """An :class:`engine.search.Engine` in a process of its own, built without some terms.

    Parameters
    ----------
    net : path or None
        None: the net that ships with the package.
    without : sequence of str
        Names of :data:`engine.terms.TERMS`.
    """

    def __init__(self, net: Path | None, without: Sequence[str]) -> None:
        self._without = ",".join([*WITHOUT, *without])  # and what this process is without
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(net or "")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "NNUELAB_WITHOUT": self._without},
        )

    def new_game(self) -> None:
        """As the engine's."""
        self._ask(None)

    def search(self, position: np.void, history_keys: Any, *, nodes: int) -> Any:
        """As the engine's, by nodes alone."""
        return self._ask((position.tobytes(), [int(key) for key in history_keys], nodes))

    def _ask(self, question: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(question, self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (BrokenPipeError, EOFError):
            raise UserError(
                f"the engine without {self._without or 'nothing'} has ended by itself "
                f"(exit status {self._process.wait()})"
            ) from None


def serve(net: str) -> None:
    """Answers a :class:`RemoteEngine` on stdin and stdout; EOFError at the end of the input."""
    from nnuelab.chess.position import POSITION
    from nnuelab.engine.search import Engine

    engine = Engine(Path(net) if net else None, HASH_MB)
    while True:
        question = pickle.load(sys.stdin.buffer)
        answer = None
        if question is None:
            engine.new_game()
        else:
            position, keys, nodes = question
            answer = engine.search(np.frombuffer(position, POSITION)[0], keys, nodes=nodes)
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _prepare(net: Path | None, without: Sequence[str]) -> Any:
    from nnuelab.engine.search import Engine

    whole, other = Engine(net, HASH_MB), RemoteEngine(net, without)
    rules = Rules()

    def pair(task: tuple[str, int]) -> int:
        """Half points of the whole engine in the two games of an opening."""
        fen, nodes = task
        points = 0
        seats = [Seat(EnginePlayer(engine), Limit(nodes=nodes)) for engine in (whole, other)]
        for (first, second), wins in ((seats, WHITE_WINS), (seats[::-1], BLACK_WINS)):
            result = play(first, second, fen, rules).result
            points += 2 if result == wins else 1 if "1/2" in result else 0
        return points

    return pair


def is_decided(tally: Tally) -> bool:
    """Whether the test has an answer."""
    return tally.pairs >= LEAST_PAIRS and SPRT.verdict(tally) is not None


def ablate(
    terms: Sequence[str], book: Path, games: int, nodes: int, net: Path | None, processes: int
) -> Tally:
    """Plays the engine against itself without ``terms``, two games per opening.

    Ends early when the sequential test of SPRT has decided.

    Parameters
    ----------
    games : int
        At most; even.
    nodes : int
        Per move.
    """
    tasks = [(fen, nodes) for fen in Book(book).draw(games // 2, seed=1, pairing=0)]
    tally = Tally.empty()
    with Progress(games, "games", "+".join(terms)) as progress:
        for points in workers.run(tasks, partial(_prepare, net, terms), processes):
            tally.counts[points] += 1
            elo, error = tally.elo()
            llr = SPRT.llr(tally)
            progress.advance(2, elo=f"{elo:+.1f}+-{error:.1f}", llr=f"{llr:.2f}")
            if is_decided(tally):
                break
    return tally


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes the pipes
    with suppress(EOFError, BrokenPipeError):
        serve(sys.argv[1])
