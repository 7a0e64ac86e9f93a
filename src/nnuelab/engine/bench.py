"""A node count over fixed positions, which shows any change of the search."""

from __future__ import annotations

from dataclasses import dataclass

from nnuelab.chess import notation
from nnuelab.engine.search import Engine

POSITIONS = (  # opening, middlegames open and closed, tactics (Kiwipete), endgames
    notation.STARTING_FEN,
    "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 2 8",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r2q1rk1/1b2bppp/p2ppn2/1p6/3NP3/1BN1B3/PPP1QPPP/R4RK1 w - - 0 12",
    "2r2rk1/1p2qppp/p3p3/3pP3/3N4/1P2P3/P4PPP/2RQ2K1 b - - 0 20",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
)
DEPTH = 11


@dataclass(frozen=True)
class Measured:
    """Nodes of all positions together, and the seconds they took."""

    nodes: int
    seconds: float

    @property
    def nps(self) -> int:
        """Nodes per second."""
        return int(self.nodes / max(self.seconds, 1e-9))


def run(engine: Engine, depth: int = DEPTH) -> Measured:
    """Searches every position to ``depth``, each as a new game."""
    nodes, seconds = 0, 0.0
    for fen in POSITIONS:
        engine.new_game()
        result = engine.search(notation.from_fen(fen), depth=depth)
        nodes += result.nodes
        seconds += result.seconds
    engine.new_game()
    return Measured(nodes, seconds)
