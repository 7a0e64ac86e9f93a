"""Speed of the search, and a node count over fixed positions that shows any change of it.

What is compared is measured in the same run, turn by turn: the machine's speed drifts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import chess
import numpy as np

from nnuelab.bench_rows import row
from nnuelab.chess import notation
from nnuelab.chess.perft import perft
from nnuelab.data.engines import find_engine
from nnuelab.engine.conversation import Conversation
from nnuelab.engine.search import Engine, load_net
from nnuelab.errors import UserError
from nnuelab.jit import aligned
from nnuelab.nnue.netfile import Net

POSITIONS = (  # opening, middlegames open and closed, tactics (Kiwipete), endgames
    notation.STARTING_FEN,
    "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 2 8",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r2q1rk1/1b2bppp/p2ppn2/1p6/3NP3/1BN1B3/PPP1QPPP/R4RK1 w - - 0 12",
    "2r2rk1/1p2qppp/p3p3/3pP3/3N4/1P2P3/P4PPP/2RQ2K1 b - - 0 20",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
)
DEPTH = 11
ROUNDS = 5  # measurements of each side; the median counts
NODES = 200_000  # of one search that is measured
STUDY = 1_150_000.0  # nodes per CPU-second of the study's Rust engine, ALL 512/32, such a machine
PERFT = ((POSITIONS[0], 6, 1.3, 2.0), (POSITIONS[2], 5, 1.6, 3.0))  # FEN, depth, at least, aim
PYTHON_CHESS_DEPTH = 3


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


def widened(net: Net, l1: int) -> Net:
    """The same evaluation, bit for bit, by ``l1`` neurons: each of them split into equal ones.

    So a net of any width can be measured at the width that figures are given for.

    Parameters
    ----------
    net : Net
    l1 : int
        A multiple of the net's own.
    """
    copies, rest = divmod(l1, net.l1)
    if rest or not copies:
        raise ValueError(f"{l1} is no multiple of {net.l1}")
    # Integer shares of each second-layer weight that add up to it.
    shares = [(net.w2.astype(np.int16) + i) // copies for i in range(copies)]
    own, other = ([half[:, side * net.l1 :][:, : net.l1] for half in shares] for side in (0, 1))
    return replace(
        net,
        w1=np.tile(net.w1, copies),
        b1=np.tile(net.b1, copies),
        w2=np.concatenate([*own, *other], axis=1).astype(np.int8),
    )


def find_stockfish() -> str | None:
    """Debian's Stockfish, where it is installed."""
    try:
        return find_engine("stockfish")
    except UserError:
        return None


def search_rows() -> list[dict[str, Any]]:
    """Rows for ``nnuelab bench search``: nodes/s with an ALL 512/32 net, one thread.

    The shipped net, widened to 512; geometric mean of six positions.
    """
    engine = Engine(widened(load_net(None), 512))
    path = find_stockfish()
    stockfish = Conversation([path]) if path else None
    engine.search(notation.from_fen(POSITIONS[0]), nodes=1000)  # loads the kernels
    medians: list[list[float]] = [[], [], []]  # ours by CPU and by wall clock, stockfish
    for fen in POSITIONS:
        position = notation.from_fen(fen)
        rounds = []
        for _ in range(ROUNDS):
            engine.new_game()
            cpu = time.thread_time()
            result = engine.search(position, nodes=NODES)
            cpu = time.thread_time() - cpu
            theirs = float("nan")
            if stockfish:
                commands = f"ucinewgame\nposition fen {fen}\ngo nodes {NODES}"
                theirs = NODES / stockfish.ask(commands, "bestmove")
            rounds.append((result.nodes / cpu, result.nodes / result.seconds, theirs))
        for values, column in zip(medians, zip(*rounds, strict=True), strict=True):
            values.append(statistics.median(column))
    if stockfish:
        stockfish.close()
    per_cpu, per_second, reference = map(statistics.geometric_mean, medians)
    return [
        row("search, per CPU-second", per_cpu, STUDY, "nodes/s", 3e6 / STUDY, 4.5e6 / STUDY),
        row(
            "search, against Debian's stockfish",
            per_second,
            reference if stockfish else None,
            "nodes/s",
            3.0,
            5.0,
        ),
    ]


def kernel_rows() -> list[dict[str, Any]]:
    """Rows for ``nnuelab bench kernels``: the shipped net, widened to 512."""
    from nnuelab.nnue import inference, kernel_bench

    net = widened(load_net(None), 512)
    record = inference.Evaluator(net).record
    rng, board = np.random.default_rng(1), chess.Board()
    pairs = aligned((kernel_bench.COUNT, 2, int(record["width"])), np.int16)
    for pair in pairs:
        position = notation.from_fen(board.fen())
        for place, perspective in enumerate((board.turn, not board.turn)):
            inference.refresh(record, position, 0 if perspective else 1, pair[place])
        moves = list(board.legal_moves)
        board.push(moves[rng.integers(len(moves))])
    return kernel_bench.kernel_rows(net, pairs)


def perft_rows() -> list[dict[str, Any]]:
    """Rows for ``nnuelab bench perft``: leaf nodes/s, against python-chess and Stockfish."""
    rows = []
    path = find_stockfish()
    stockfish = Conversation([path]) if path else None
    for name, (fen, depth, at_least, aim) in zip(("start", "Kiwipete"), PERFT, strict=True):
        position, board = notation.from_fen(fen), chess.Board(fen)
        nodes = perft(position, depth)
        slow_nodes = perft(position, PYTHON_CHESS_DEPTH)

        def ours(position: np.void = position, depth: int = depth, nodes: int = nodes) -> float:
            return nodes / _seconds(lambda: perft(position, depth))

        def slow(board: chess.Board = board, nodes: int = slow_nodes) -> float:
            return nodes / _seconds(lambda: _python_perft(board, PYTHON_CHESS_DEPTH))

        def native(fen: str = fen, depth: int = depth, nodes: int = nodes) -> float:
            assert stockfish is not None
            commands = f"position fen {fen}\ngo perft {depth}"
            return nodes / stockfish.ask(commands, "Nodes searched")

        sides: dict[str, Callable[[], float]]
        sides = {"ours": ours, "python-chess": slow}
        if stockfish:
            sides["stockfish"] = native
        found: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(ROUNDS):
            for side, measure in sides.items():
                found[side].append(measure())
        medians = {side: statistics.median(values) for side, values in found.items()}
        title = f"perft {name} d{depth}, against"
        bounds: dict[str, tuple[float | None, float | None]] = {
            "python-chess": (100.0, None),
            "stockfish": (at_least, aim),
        }
        for side, (low, high) in bounds.items():
            if side in medians:
                rows.append(
                    row(f"{title} {side}", medians["ours"], medians[side], "nodes/s", low, high)
                )
    if stockfish:
        stockfish.close()
    return rows


def _seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _python_perft(board: chess.Board, depth: int) -> int:
    if depth == 1:
        return board.legal_moves.count()
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += _python_perft(board, depth - 1)
        board.pop()
    return total
