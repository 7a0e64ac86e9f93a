"""What feature sets cost against ALL: an evaluated position, a search, a batch for training."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.harness import Row, in_turn, row, widened
from nnuelab import features
from nnuelab.chess import notation
from nnuelab.data import records
from nnuelab.engine.bench import POSITIONS
from nnuelab.engine.search import Engine
from nnuelab.features import FeatureSet
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.tables import compiled
from nnuelab.jit import address, aligned
from nnuelab.nnue import replay
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import Net
from nnuelab.nnue.replay import Cost, Moves, Replay, any_net, silent

L1 = 512
ROUNDS = 31  # of updates and batches
SECONDS = 0.005  # of one measurement of them
SEARCH_ROUNDS = 5
NODES = 60_000  # of one search
BATCH = 16_384  # positions, as in training
PASSES = 10  # over the positions that a net is fitted to

# Nanoseconds that finding the rows may take, beyond 1.3 times the rows' own, and the aim with 1.1
LINES, PAIRS, MOBILITY = (40.0, 20.0), (60.0, 30.0), (250.0, 120.0)
EXTRA_TIME = {
    "H+V": LINES,
    "D1+D2": LINES,
    "H+V+D1+D2": LINES,
    "ALL+H+V": LINES,
    "ALL+D1+D2": LINES,
    "ALL+H+V+D1+D2": LINES,
    "ALL+PH": PAIRS,
    "ALL+PV": PAIRS,
    "ALL+PH+PV": PAIRS,
    "ALL+MB": MOBILITY,
    "ALL+MC": MOBILITY,
}
SEARCH = {  # nodes/s relative to ALL, at least and the aim
    "H+V+D1+D2": (0.75, 0.88),
    "ALL+H+V": (0.75, 0.88),
    "ALL+D1+D2": (0.75, 0.88),
    "ALL+H+V+D1+D2": (0.65, 0.78),
    "ALL+PH": (0.75, 0.85),
    "ALL+PV": (0.75, 0.85),
    "ALL+PH+PV": (0.62, 0.72),
    "ALL+MB": (0.33, 0.50),
    "ALL+MC": (0.45, 0.65),
    "KA": (0.50, 0.70),
    "KP": (0.50, 0.70),
    "KB(16)": (0.70, 0.85),
}
# Extraction is held against writing as many lists of that length
MEMSET = ("ALL", "H", "V", "D1", "D2", "ALL+H+V+D1+D2", "KA", "KP", "KB(16)")
POSITIONS_PER_SECOND = {"PH": 2e6, "PV": 2e6, "MB": 2e6}
SHARE_OF_MEMSET = 0.6


def rows() -> Iterator[Row]:
    """Rows for updates, searches and batches."""
    yield from _extra_time()
    yield from _search()
    yield from _batches()


# Updates -----------------------------------------------------------------------------------------


def neighbours() -> list[np.void]:
    """The positions after every move in those of ``bench``: as in a search, most are bad."""
    roots = [notation.from_fen(fen) for fen in POSITIONS]
    return [notation.after(root, move) for root in roots for move in notation.moves_of(root)]


def _extra_time() -> Iterator[Row]:
    """Time of both accumulators beyond that of ALL, against what the further rows cost alone."""
    moves = Moves.of(neighbours())
    replays = [Replay(any_net(name, L1), moves) for name in ["ALL", *EXTRA_TIME]]
    sides = [side for replayed in replays for side in replayed.sides]
    seconds = replay.in_turn(sides, ROUNDS, SECONDS)
    base, *costs = [r.cost(seconds[4 * i : 4 * i + 4]) for i, r in enumerate(replays)]
    for (name, bounds), cost in zip(EXTRA_TIME.items(), costs, strict=True):
        yield extra_row(name, cost, base, *bounds)


def extra_row(name: str, cost: Cost, base: Cost, most: float, aim: float) -> Row:
    """Nanoseconds that a set takes beyond ALL, against what is allowed."""
    extra = 2 * float(np.median(cost.measured_ns - base.measured_ns))
    of_rows = 2 * max(float(np.median(cost.predicted_ns - base.predicted_ns)), 0.0)
    allowed, aimed = 1.3 * of_rows + most, 1.1 * of_rows + aim
    title = f"{name}: extra time a position, at most"
    extra = max(extra, 1.0)  # a set may cost less than ALL
    return row(title, "ns", extra, allowed, 1.0, allowed / aimed, less_is_better=True)


# Search ------------------------------------------------------------------------------------------


def imitation(net: Net, feature_set: FeatureSet, positions: list[np.void]) -> Net:
    """A net with another first layer, whose accumulators come close to those of a net of ALL.

    So searches with different feature sets grow similar trees. Where ALL is a term they are the
    same: its rows are kept, and the others stay 0. Otherwise each position in turn has what its
    accumulators lack shared out among its active rows (Kaczmarz' method).
    """
    if net.feature_set in (term.name for term in feature_set.terms):
        return silent(net, feature_set)
    w1 = np.zeros((feature_set.size, net.l1), np.float32)
    every = features.parse(net.feature_set)
    rng = np.random.default_rng(1)  # like positions one after another would be learned by heart
    for _ in range(PASSES):
        for i in rng.permutation(len(positions)):
            position = positions[i]
            for perspective in range(2):
                wanted = net.w1[_active(every, position, perspective)].sum(0)
                active = _active(feature_set, position, perspective)
                w1[active] += (wanted - w1[active].sum(0)) / max(len(active), 1)
    limits = np.iinfo(np.int16)
    clipped = np.clip(np.rint(w1), limits.min, limits.max).astype(np.int16)
    return replace(net, feature_set=feature_set.name, w1=clipped)


def _active(feature_set: FeatureSet, position: np.void, perspective: int) -> np.ndarray:
    out = np.empty(feature_set.max_active, np.int32)
    return out[: kernels.active(compiled(feature_set).record, position, perspective, out)]


def _search() -> Iterator[Row]:
    """Nodes per CPU-second over the positions of ``bench``, relative to ALL."""
    net, near = widened(NetEvaluator().net, L1), neighbours()
    nets = {name: imitation(net, features.parse(name), near) for name in ["ALL", *SEARCH]}
    engines = {name: Engine(NetEvaluator(each)) for name, each in nets.items()}
    speeds: dict[str, list[float]] = {name: [] for name in engines}
    for fen in POSITIONS:
        sides = {name: partial(_speed, engine, fen) for name, engine in engines.items()}
        for name, figures in in_turn(sides, SEARCH_ROUNDS).items():
            speeds[name].append(statistics.median(figures))
    means = {name: statistics.geometric_mean(found) for name, found in speeds.items()}
    for name, bounds in SEARCH.items():
        yield row(f"{name}: search, against ALL", "nodes/s", means[name], means["ALL"], *bounds)


def _speed(engine: Engine, fen: str) -> float:
    """Nodes per CPU-second of a search."""
    engine.new_game()
    start = time.thread_time()
    nodes = engine.search(notation.from_fen(fen), nodes=NODES).nodes
    return nodes / (time.thread_time() - start)


# Batches -----------------------------------------------------------------------------------------


def _batches() -> Iterator[Row]:
    """Extraction of a batch for training, one thread."""
    near = neighbours()
    packed = np.zeros(BATCH, records.RECORD)
    for i, position in enumerate(near):
        records.pack(position, packed[i])
    packed = packed[np.arange(BATCH) % len(near)]
    for name in MEMSET:
        title, figures = f"{name}: batch extraction, against memset", _extraction(name, packed)
        yield row(title, "positions/s", *figures, SHARE_OF_MEMSET, 1.0)
    for name, least in POSITIONS_PER_SECOND.items():
        title, ours = f"{name}: batch extraction, at least", _extraction(name, packed)[0]
        yield row(title, "positions/s", ours, least, 1.0)


def _extraction(name: str, packed: np.ndarray) -> tuple[float, float]:
    """Positions a second: extracted, and of output merely written."""
    feature_set = features.parse(name)
    out = aligned((2, len(packed), feature_set.max_active), np.int32)
    n = np.zeros((2, len(packed)), np.int64)
    tables = compiled(feature_set).record
    places = [(address(array), array.nbytes) for array in (out, n)]

    def extract() -> None:
        kernels.batch(tables, packed, out[0], out[1], n[0], n[1])

    def write() -> None:
        for place, size in places:
            ctypes.memset(place, 255, size)

    extracted, written = np.median(replay.in_turn([extract, write], ROUNDS, SECONDS), axis=1)
    return len(packed) / float(extracted), len(packed) / float(written)
