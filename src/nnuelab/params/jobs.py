"""The jobs of an experiment and what each costs, from measurements at the settings of params.yaml.

All that foretells time goes through here: minutes and hours, the remaining time of a run, plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import mean

from nnuelab.errors import UserError, nearest
from nnuelab.features import parse
from nnuelab.names import NetName
from nnuelab.params.entries import KEPT, Entry, Plan
from nnuelab.params.experiments import FINDING_SEED
from nnuelab.params.models import Label
from nnuelab.tournament.yardsticks import Yardstick

# Core-seconds on a shared Intel Xeon with AVX-512; what has run on this machine scales them.
GAMES_TIMES_NODES = 19_000  # per second: 48 games of 400 nodes a move
MOVES = 100  # of a game at fixed time
COST = 7.0  # of a node, of each set
START = 3.0  # until a job has loaded what it needs
# Training, for each neuron of the first layer: a position, each row that may be active of it, and
# a step's update of a feature's weight (docs/planning.md).
A_NEURON, A_ROW, AN_UPDATE = 17e-9, 49e-12, 3.9e-9
A_GPU_STEP, A_GPU_POSITION = 1.7e-4, 15e-9  # seconds of an H200, while the cores of the net wait
MADE = 1_800_000  # positions of self-play games times the nodes of a move, per second
A_GAME = 20e-6  # read and sampled: 4 KB of text (docs/data.md)
A_LABEL = 2e-6  # taken from the games
A_DECODED = 0.3e-6  # read from a .binpack
DEEP_LABEL = 1 / 17  # Stockfish 15.1 at depth 10 (docs/datasets.md)
A_LABEL_NODE = 3e-6  # the same, for each node of a limit of some hundreds
PLOTS = 10.0  # of a sample's report
PUZZLE = 0.4e-6  # for each node of a move
ALL_PUZZLES = 157  # that come with the project
# MB: of a job, of each of its workers, and what it leaves.
MEMORY, WORKER, TRAINING = 500, 310, 800
RECORD = 40e-6  # of a position
GAME, PACKED_GAME = 3.2e-3, 0.7e-3  # of a game, as text and compressed
WEIGHT = 13e-6  # of a weight of the first layer: net, checkpoint with the optimizer's moments


@dataclass(frozen=True)
class Job:
    """A job of the workflow.

    Attributes
    ----------
    stage : str
        Each waits for the one before: data, what finds sizes and rates, nets, cost, games, tables.
    rule : str
        Within a stage each waits for those that come before.
    name : str
        Of its benchmark file, below the folder of benchmarks and without an ending.
    seconds : float
        Core-seconds.
    cores : int or None
        That it can use; None: all.
    is_alone : bool
        Others wait while it measures, on one core.
    on_gpu : bool
        Its cores wait for it, and their seconds count.
    disk, reads : float
        MB that it leaves, and that it reads of positions and games.
    """

    stage: str
    rule: str
    name: str
    seconds: float
    cores: int | None = 1
    is_alone: bool = False
    on_gpu: bool = False
    disk: float = 0.0
    reads: float = 0.0

    @property
    def most(self) -> float:
        """Cores that it can use."""
        return float("inf") if self.cores is None else self.cores

    def memory(self, cores: int) -> float:
        """MB, on so many cores."""
        if self.rule.endswith("train"):
            return TRAINING + self.disk
        return MEMORY + (WORKER * cores if self.cores is None else 0)


def check_planned(names: Iterable[str], plans: Mapping[str, Plan]) -> None:
    """Checks that there are experiments of these names.

    Raises
    ------
    UserError
        With the closest name that there is, or all of them.
    """
    for name in names:
        if name not in plans:
            known = nearest(name, plans) or f"; there are {', '.join(plans)}"
            raise UserError(f"there is no experiment {name!r}{known}")


def jobs_of(name: str, plan: Plan) -> list[Job]:
    """All jobs of an experiment, from nothing to its table."""
    return [
        *_data(plan),
        *_finders(plan),
        *_nets(plan),
        *_costs(name, plan),
        *_games(name, plan),
        *_tables(name, plan),
    ]


def _data(plan: Plan) -> Iterator[Job]:
    positions, games, made = plan.positions, plan.games, plan.selfplay
    if plan.is_labelled:
        yield Job("data", "index", "", START + positions * A_DECODED)
        return
    if made:
        each = START + made.games * KEPT * (made.nodes or 0) / MADE
        for generation in range(1, made.generations + 1):
            folder, began = f"selfplay/{generation}", f"generation {generation}"
            for part in range(1, made.parts + 1):
                disk = made.games * PACKED_GAME
                file = f"{folder}/games-{part}"
                yield Job(began, "generation_games", file, each, None, disk=disk)
            own = replace(plan.entries[0], like=None)
            learnt = positions / made.generations
            for stage, seconds in _sampled(games / made.generations, learnt, A_LABEL):
                yield Job(began, f"generation_{stage}", f"{folder}/{stage}", seconds, None)
            yield _train(own, learnt, "generation_train", f"{folder}/{made.seed}/train", began)
    else:
        yield Job("data", "download", "", START, disk=games * PACKED_GAME)
    kinds = {entry.train.method == "scores" for entry in plan.entries}
    disk, packed = positions * RECORD, games * PACKED_GAME
    for folder, suffix in [("", "")] * (True in kinds) + [("moves/", "_moves")] * (False in kinds):
        parts = plan.label.parts if plan.label.searches else 1
        a_label = _a_label(plan.label) if parts == 1 else A_LABEL
        a_game = A_GAME if plan.sample.parts == 1 else 0.0
        for stage, seconds in _sampled(games, positions, a_label, a_game):
            reads = packed if stage == "sample" else disk
            name = f"{folder}{stage}"
            yield Job("data", f"{stage}{suffix}", name, seconds, None, disk=disk, reads=reads)
        yield from _in_parts(plan.sample.parts, "sample", folder, games * A_GAME, packed)
        searched = positions * _a_label(plan.label)
        yield from _in_parts(parts, "label", folder, searched, disk)


def _in_parts(parts: int, stage: str, folder: str, seconds: float, reads: float) -> Iterator[Job]:
    """The jobs that a stage's work is shared out among, none where one does it all."""
    for part in range(1, parts + 1) if parts > 1 else ():
        name = f"{folder}{stage}/{part}-of-{parts}"
        each = START + seconds / parts
        yield Job("data", f"{stage}_part", name, each, None, reads=reads / parts)


def _sampled(
    games: float, positions: float, a_label: float, a_game: float = A_GAME
) -> Iterator[tuple[str, float]]:
    yield "sample", START + PLOTS + games * a_game
    yield "label", START + positions * a_label


def _a_label(label: Label) -> float:
    """Core-seconds for the score of a position."""
    if not label.searches:
        return A_LABEL
    if label.movetime:
        return label.movetime / 1000
    if label.nodes:
        return label.nodes * (1 / MADE if label.labeller == "engine" else A_LABEL_NODE)
    return DEEP_LABEL


def _train(entry: Entry, positions: float, rule: str, name: str, stage: str = "nets") -> Job:
    chosen = entry.train
    features = parse(entry.feature_set)
    share = positions * chosen.games_share * chosen.epoch_share
    seen = (chosen.epoch_positions or share) * chosen.epochs
    gpu = chosen.device == "cuda"
    by_gpu = seen / chosen.batch_size * A_GPU_STEP + seen * A_GPU_POSITION
    a_neuron = A_NEURON + features.max_active * A_ROW
    a_neuron += features.size * AN_UPDATE / chosen.batch_size
    seconds = START + (by_gpu * max(chosen.threads, 1) if gpu else seen * chosen.l1 * a_neuron)
    disk = features.size * chosen.l1 * WEIGHT
    return Job(
        *(stage, rule, name, seconds, chosen.threads), on_gpu=gpu, disk=disk, reads=seen * RECORD
    )


def _finders(plan: Plan) -> Iterator[Job]:
    """What finds sizes and learning rates, before the nets that have them."""
    finders = {net.folder: net for entry in plan.entries for net in entry.finders}
    for folder, finder in finders.items():
        name = f"train/{folder}/{FINDING_SEED}"
        yield _train(finder, plan.positions, "train", name, "finders")
    for folder in {probe.folder: None for entry in plan.entries for probe in entry.probes}:
        yield Job("finders", "quantize", f"quantize/{folder}/{FINDING_SEED}", START)
    for entry in plan.entries:
        if entry.rates:
            yield Job("finders", "learning_rate", f"learning_rate/{entry.folder}", START)
        if entry.like:
            seconds = START + COST * len(entry.probes)
            yield Job("finders", "sizing", f"size/{entry.folder}", seconds, is_alone=True)


def _nets(plan: Plan) -> Iterator[Job]:
    puzzles = (plan.puzzles.count or ALL_PUZZLES) * (plan.puzzles.nodes or 0) * PUZZLE
    for entry in plan.entries:
        for seed in plan.seeds:
            net = f"{entry.folder}/{seed}"
            yield _train(entry, plan.positions, "train", f"train/{net}")
            for rule, seconds in (("quantize", 0), ("verify", 0), ("puzzles", puzzles)):
                yield Job("nets", rule, f"{rule}/{net}", START + seconds)


def _costs(name: str, plan: Plan) -> Iterator[Job]:
    if plan.is_priced:
        yield Job("cost", "cost", f"cost/{name}", START + COST * len(plan.entries), is_alone=True)


def _games(name: str, plan: Plan) -> Iterator[Job]:
    chosen, players = plan.tournament, len(plan.players)
    for yardstick in chosen.yardsticks:
        played = yardstick.played(name)
        games = players * (players - 1) / 2 * chosen.games_at(yardstick)
        seconds, disk = games * _of_game(plan, yardstick), games * GAME
        if chosen.parts == 1:
            yield Job(
                "games", "tournament", f"tournament/{played}", START + seconds, None, disk=disk
            )
            continue
        for part in range(1, chosen.parts + 1):
            file = f"tournament/parts/{played}/{part}-of-{chosen.parts}"
            yield Job("games", "tournament_part", file, START + seconds / chosen.parts, None)
        yield Job("games", "tournament", f"tournament/{played}", START, disk=disk)


def _of_game(plan: Plan, yardstick: Yardstick) -> float:
    nodes = plan.tournament.nodes_at(yardstick)
    return nodes / GAMES_TIMES_NODES if nodes else plan.tournament.movetime / 1000 * MOVES


def _tables(name: str, plan: Plan) -> Iterator[Job]:
    for folder in dict.fromkeys(NetName(entry.feature_set).folder for entry in plan.entries):
        yield Job("tables", "count", f"count/{folder}", START)
    for yardstick in plan.tournament.yardsticks:
        yield Job("tables", "rate", f"rate/{yardstick.played(name)}", START)
    yield Job("tables", "table", f"table/{name}", START)


def core_seconds(plan: Plan) -> dict[str, float]:
    """Of one job of each rule, on average, by the name of the rule."""
    found: dict[str, list[float]] = {}
    for job in jobs_of("", plan):
        found.setdefault(job.rule, []).append(job.seconds)
    return {rule: mean(seconds) for rule, seconds in found.items()}


def by_rule(jobs: list[Job]) -> Iterator[tuple[str, list[Job]]]:
    """In the order in which rules first come."""
    order = list(dict.fromkeys(job.rule for job in jobs))
    ordered = sorted(jobs, key=lambda job: order.index(job.rule))
    for rule, found in groupby(ordered, key=lambda job: job.rule):
        yield rule, list(found)


def wall_seconds(
    jobs: list[Job], cores: int, speed: Mapping[str, float], job_cores: int | None = None
) -> float:
    """From the first job to the last, stage by stage, and in each rule by rule.

    The jobs of a rule take as long as their core-seconds on all cores, or as the longest of them on
    the cores that this can use; ``job_cores`` of them at most.
    """
    most = min(job_cores or cores, cores)
    total = 0.0
    for _, stage in groupby(jobs, key=lambda job: job.stage):
        for rule, same in by_rule(list(stage)):
            every = sum(job.seconds for job in same)
            longest = max(job.seconds / min(job.most, most) for job in same)
            seconds = every if same[0].is_alone else max(every / cores, longest)
            total += seconds * speed.get(rule, 1.0)
    return total
