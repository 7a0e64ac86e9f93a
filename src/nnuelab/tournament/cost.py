"""What a node costs with each net, relative to one of them: CPU time of the engine's own searches.

Games at equal cost give every player the nodes that it can afford (`players.Defaults`), so they
depend on the machine by these numbers alone: with the same file they are the same byte for byte,
however busy the machine is that plays them.

A round lets every net search the same positions, for the same number of nodes, in an order of its
own; the next round has other positions. The cost is the median over the rounds of the ratio of
times, which an interruption of one of them hardly moves, and its interval holds for other positions
of the kind, too. What the weights are hardly matters, but how many neurons are active does: so it
takes nets that were trained.
"""

from __future__ import annotations

import csv
import hashlib
import math
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts, files, intervals
from nnuelab.build import SIMD
from nnuelab.chess.position import POSITION
from nnuelab.data import validation
from nnuelab.data.journal import Journal
from nnuelab.data.records import unpack
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.features import registry
from nnuelab.names import NetName
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import Net
from nnuelab.progress import Progress
from nnuelab.settings.games import Games, Pricing

COLUMNS = ("name", "cost", "error", "nodes_per_second", "rounds")
NODES = 20_000  # of a search: what it takes to begin one, some 0.2 ms, is 2 % of its time
POSITIONS = 6  # of a round
LEAST = 20  # rounds, before an interval is looked at


@dataclass(frozen=True)
class Cost:
    """What a node costs with the nets of one feature set.

    Attributes
    ----------
    name : str
        ``SET`` or ``SET,VARIANT``.
    cost : float
        Time per node relative to the anchor's: 2 searches half as fast.
    error : float
        Half of the 95 % interval of the cost's logarithm, so a share of the cost; infinite, an
        empty cell in the file, after fewer than six rounds.
    nodes_per_second : float
        Per CPU-second, on this machine; the median of the rounds.
    rounds : int
    """

    name: str
    cost: float
    error: float
    nodes_per_second: float
    rounds: int


def measure(
    nets: Mapping[str, Net | Path], positions: Path, anchor: str, settings: Pricing, output: Path
) -> list[Cost]:
    """Costs of nets, in their order. A measurement that was killed goes on with the next round.

    Parameters
    ----------
    nets : mapping of str to Net or path
        By feature set, with its variant: ``SET`` or ``SET,VARIANT``; a seed in a name is left out.
    positions : path
        A dataset to draw positions from.
    anchor : str
        Whose cost is 1.
    settings : Pricing
    output : path
        Written at the end; until then rounds are kept beside it, in ``<output>.partial``.

    Raises
    ------
    UserError
        No such anchor, two nets of one name, or a file that can't be read.
    """
    names = [NetName.parse(name).entry for name in nets]
    if len(set(names)) < len(names):
        raise UserError("two nets of one feature set; give one net of each, of the same seed")
    if anchor not in names:
        raise UserError(f"the anchor {anchor} is none of the nets: {', '.join(names)}")
    evaluators = [NetEvaluator(path) for path in nets.values()]
    place = names.index(anchor)
    logs = np.zeros((0, len(names)))  # of CPU seconds per node, by round
    drawn = _drawn(positions, settings)
    rng = np.random.default_rng(settings.seed)
    identity = {
        "nets": {name: _content(net) for name, net in zip(names, nets.values(), strict=True)},
        "positions": artifacts.sha256(positions),
        "anchor": anchor,
        "settings": asdict(settings),
        "machine": machine(),
        "code": artifacts.code_hash(
            "tournament.cost", {block.file for block in registry.load().values()}
        ),
    }
    with (
        Journal(output.with_name(f"{output.name}.partial"), identity) as journal,
        _pinned(),
        Progress(settings.rounds, "rounds", "cost", len(journal)) as progress,
    ):
        engine = Engine(evaluators[0], Games.hash)
        for number, searched in enumerate(drawn):
            order = rng.permutation(len(names)).tolist()
            new = number == len(journal)
            if new:
                found = {i: _seconds_per_node(engine, evaluators[i], searched) for i in order}
                journal.append([found[i] for i in range(len(names))])
            logs = np.vstack([logs, np.log(journal[number])])
            widest = max(_error(log) for log in (logs - logs[:, [place]]).T)
            progress.advance(int(new), error=f"{widest:.2%}")
            if len(logs) >= LEAST and widest <= settings.precision:
                break
        costs = [
            Cost(
                name,
                math.exp(np.median(log - logs[:, place])),
                _error(log - logs[:, place]),
                math.exp(-np.median(log)),
                len(logs),
            )
            for name, log in zip(names, logs.T, strict=True)
        ]
        write(output, costs)
        journal.remove()
    return costs


def _content(net: Net | Path) -> str:
    """A hash of what is measured."""
    if isinstance(net, Path):
        return artifacts.sha256(net)
    arrays = b"".join(array.tobytes() for array in net.arrays().values())
    return hashlib.sha256(arrays).hexdigest()


def _drawn(positions: Path, settings: Pricing) -> list[np.ndarray]:
    """POSITION [POSITIONS] for each round, of a dataset."""
    records = validation.spaced(positions, POSITIONS * settings.rounds)
    unpacked = np.zeros(len(records), POSITION)
    for record, position in zip(records, unpacked, strict=True):
        unpack(record, position)
    order = np.random.default_rng(settings.seed).permutation(len(unpacked))
    return list(unpacked[np.resize(order, (settings.rounds, POSITIONS))])


def _seconds_per_node(engine: Engine, evaluator: NetEvaluator, positions: np.ndarray) -> float:
    """CPU seconds; the table is that of one engine, so that all have it in the same memory."""
    engine.set_evaluator(evaluator)
    nodes, seconds = 0, 0.0
    for position in positions:
        engine.new_game()
        start = time.thread_time()
        nodes += engine.search(position, nodes=NODES).nodes
        seconds += time.thread_time() - start
    return seconds / max(nodes, 1)


def _error(logs: np.ndarray) -> float:
    middle, low, high = intervals.median(logs)
    return max(high - middle, middle - low)


@contextmanager
def _pinned() -> Iterator[None]:
    """On one core while it lasts, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):  # Linux
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def write(path: Path, costs: list[Cost]) -> None:
    """Writes a file of costs."""
    with artifacts.atomic(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for found in costs:
            error = f"{found.error:.4f}" if math.isfinite(found.error) else ""
            speed = f"{found.nodes_per_second:.0f}"
            writer.writerow([found.name, f"{found.cost:.4f}", error, speed, found.rounds])


def read(path: Path) -> dict[str, float]:
    """The cost of a node by feature set, as `write` or a person has written it.

    Raises
    ------
    UserError
        With the place of what is wrong.
    """
    try:
        files.require(path)
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise UserError(
            f"can't read the costs in {path}: {told}; measure them: nnuelab cost"
        ) from None
    if not rows or not {"name", "cost"} <= rows[0].keys():
        raise UserError(f"{path} holds no costs: it needs the columns name and cost (nnuelab cost)")
    costs: dict[str, float] = {}
    for line, row in enumerate(rows, 2):
        try:
            cost = float(row["cost"])
        except (TypeError, ValueError):
            cost = math.nan
        if not row["name"] or not 0 < cost < math.inf or row["name"] in costs:
            raise UserError(
                f"{path}, line {line}: {row['name']!r} with the cost {row['cost']!r}; it must be a "
                "name that no other line has, and a number above 0"
            )
        costs[row["name"]] = cost
    return costs


def machine() -> dict[str, Any]:
    """The machine that costs were measured on, for their provenance."""
    return {"cpu": _cpu(), "simd": SIMD}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
