"""What a term of the search is worth: the engine with it against the same engine without it.

The engine without a term is another build, hence another process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nnuelab.build import WITHOUT
from nnuelab.data.uci import UciEngine
from nnuelab.progress import Progress
from nnuelab.settings.games import Rules
from nnuelab.tournament import workers
from nnuelab.tournament.external import StrictUciPlayer
from nnuelab.tournament.game import Seat
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.openings import Book
from nnuelab.tournament.play import EnginePlayer, half_points
from nnuelab.tournament.sprt import Sprt, Tally

HASH_MB = 8
SPRT = Sprt(elo0=0.0, elo1=5.0)
LEAST_PAIRS = 100  # before the test may decide: few pairs say little of their own spread


def without_terms(net: Path | None, terms: Sequence[str]) -> StrictUciPlayer:
    """This engine, built without some terms: names of :data:`engine.terms.TERMS`."""
    without = ",".join([*WITHOUT, *terms])  # and what this process is without
    command = ["env", f"NNUELAB_WITHOUT={without}", sys.executable, "-m", "nnuelab.cli", "uci"]
    options = {} if net is None else {"EvalFile": net.resolve()}
    return StrictUciPlayer(UciEngine(command, options, HASH_MB))


def _prepare(net: Path | None, without: Sequence[str]) -> Any:
    from nnuelab.engine.search import Engine
    from nnuelab.nnue.evaluator import NetEvaluator

    players = EnginePlayer(Engine(NetEvaluator(net), HASH_MB)), without_terms(net, without)
    rules = Rules()

    def pair(task: tuple[str, int]) -> int:
        """Half points of the whole engine in the two games of an opening."""
        fen, nodes = task
        first, second = (Seat(player, Limit(nodes=nodes)) for player in players)
        return half_points(first, second, fen, rules)

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
