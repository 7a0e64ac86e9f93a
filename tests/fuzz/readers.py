"""Readers on damaged files, in children of `tests.fuzz.storm` with a limit of memory.

The n-th damaged file is a function of the corpus, the seed and n alone.
"""

from __future__ import annotations

import gc
import io
import json
import os
import resource
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import psutil

from nnuelab import evaluator, features, params, runs
from nnuelab.chess import notation
from nnuelab.cli.tournament import spread as gather
from nnuelab.data import conversion, dataset, fetch, label_parts, sampling, uci, validation
from nnuelab.data.cache import Cache
from nnuelab.data.formats import texts
from nnuelab.data.journal import Journal
from nnuelab.data.unusable import Unusable
from nnuelab.engine.policy_uci import PolicyUci
from nnuelab.engine.protocol import Conversation
from nnuelab.engine.uci import Uci
from nnuelab.errors import UserError, clipped, escaped
from nnuelab.features import fingerprint, registry
from nnuelab.hce import checkpoint as tuning_checkpoint
from nnuelab.hce import evaluation, trace
from nnuelab.nnue import bullet
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.layers import Direct
from nnuelab.nnue.netfile import DEFAULT_NET, STUDY_SHIFTS, read_net
from nnuelab.nnue.quantize import quantize
from nnuelab.params.bill import cores_of_a_job
from nnuelab.params.minutes import read_benchmark
from nnuelab.policy import selfplay
from nnuelab.policy import table as policy_table
from nnuelab.policy.mover import Mover
from nnuelab.policy.policyfile import read_policy, write_policy
from nnuelab.policy.trainer import Checkpoint as PolicyCheckpoint
from nnuelab.report import feature_statistics, reading
from nnuelab.report.inspect import inspect
from nnuelab.report.live import Live
from nnuelab.report.trained import read_trained
from nnuelab.selfplay import datagen
from nnuelab.settings import found as found_settings
from nnuelab.settings.games import Games
from nnuelab.settings.sample import Sampling
from nnuelab.tournament import cost, spread
from nnuelab.tournament.headers import read_results
from nnuelab.tournament.openings import Book
from nnuelab.tournament.pgn import nodes_and_seconds
from nnuelab.tournament.players import PATIENCE, Defaults, read_players
from nnuelab.tournament.puzzles import read as read_puzzles
from nnuelab.tournament.runner import join
from nnuelab.tournament.schedule import Pair
from nnuelab.tournament.summary import Summary
from tests.fuzz import damage
from tests.fuzz.corpus import ADDRESS, KEY, LABELLER, LEARNING, PLAYED
from tests.fuzz.damage import Damage
from tests.policy.policies import random_policy

MOST_MB = 500  # that files of less than one take; a reader is refused twice as much
LONGEST_MESSAGE = 20_000
ROOT = Path(__file__).parents[2]
REPLAY = ROOT / "tests/programs/replay_engine.py"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
FENS = (START, "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 3 9")


def _convert(path: Path) -> None:
    for most in (0, 10**9):
        try:
            conversion.convert(path, path.with_name("converted.npy"), most)
        except UserError:
            if most:
                raise


def _dataset(path: Path) -> None:
    for chunk in validation.chunks(path):
        assert len(chunk) > 0
    feature_statistics.load(path, 20)
    dataset.open(path).to_pandas(20)


def _games(path: Path) -> None:
    for most in (0.0, 1.0):
        options = Sampling(min_ply=0, max_unreadable=most)
        try:
            for records in sampling.positions([path], options, 1):
                assert validation.first_fault(records)[1] == 0
        except UserError:
            if most:
                raise


def _evaluate(path: Path) -> None:
    bound = evaluator.read(path).bind()
    list(evaluator.values(bound, map(notation.from_fen, FENS)))


def _policy(path: Path) -> None:
    mover = Mover(read_policy(path))
    for fen in FENS:
        mover.ranked(notation.from_fen(fen), [])


def _players(path: Path) -> None:
    read_players(path, [], Defaults({"nodes": 10}, Games().hash, PATIENCE, None))


def _settings(path: Path) -> None:
    params.read("params.yaml", [path])


def _converse(path: Path, begin: Callable[..., Conversation] = Uci) -> None:
    """As a GUI says it, all at once; what may well take hours is left out."""
    lines = path.read_text(errors="replace").split("\n")
    said, loud = io.StringIO(), ("perft", "bench")
    begin(output=said).run([*(x for x in lines if not any(word in x for word in loud)), "quit"])
    gc.unfreeze()
    for line in said.getvalue().split("\n"):
        assert line == escaped(line), f"raw: {line!r}"


def _converse_with_policy(path: Path) -> None:
    file = path.with_name("net.policy")
    if not file.exists():
        write_policy(file, random_policy(sizes=(8,)))
    _converse(path, partial(PolicyUci, file))


def _engine(path: Path) -> None:
    uci.STARTING, uci.STARTS = 1.0, 0
    command = [sys.executable, "-I", "-S", str(REPLAY), str(path)]
    try:
        with uci.UciEngine(command) as engine:
            engine.search(f"fen {FENS[0]}", "nodes 10", 1.0)
    except uci.UciError as error:
        raise UserError(str(error)) from error


def _placed(path: Path, name: str, **others: str) -> Path:
    """A folder in which the damaged file has a name that readers look for."""
    folder = path.with_name("placed")
    shutil.rmtree(folder, ignore_errors=True)
    file = folder / name
    file.parent.mkdir(parents=True)
    for other, text in others.items():
        file.with_name(f"{other}.csv").write_text(text)
    shutil.copy(path, file)
    return folder


def _trained(name: str) -> Callable[[Path], object]:
    """As tables of experiments read what is beside a net."""

    def read(path: Path) -> None:
        history = "epoch,validation_loss,seconds\n1,0.1,3.5\n"
        folder = _placed(path, name, history=history)
        if name != "verify.json":
            (folder / "verify.json").write_text('{"mean_cp": 0, "rms_cp": 1, "max_cp": 2}')
        (folder / "net.nnue").symlink_to(DEFAULT_NET)
        read_trained(folder / "net.nnue")

    return read


def _policy_row(path: Path) -> None:
    for name in (policy_table.EVALUATION, policy_table.HISTORY):
        columns = (*policy_table.FACTS, *policy_table.MEASURES[:-1], "positions")
        evaluation = f"{','.join(columns)}\n{','.join('1' for _ in columns)}\n"
        folder = _placed(path, f"1/{name}", evaluation=evaluation, history="seconds\n1\n")
        try:
            policy_table.rows_of([folder / "1"])
        except UserError:
            if name == policy_table.HISTORY:
                raise


def _spread(path: Path) -> None:
    own, *others = [*spread.read(path), spread.Spread("own", "", "", 200.0, 150.0, 1)]
    spread.pooled(own, others, tell=False)


def _details(path: Path) -> None:
    gather([path], path.with_name("gathered.csv"))


def _profile(path: Path) -> None:
    cores_of_a_job(_placed(path, "config.yaml"))


def _run(path: Path) -> None:
    folder = _placed(path, "logs/workflow.jsonl")
    json.dumps(Live(folder / "results").state(), allow_nan=False).encode()


def _journal(path: Path) -> None:
    """As the page that watches a tournament reads it, and then the tournament that goes on."""
    folder = _placed(path, "results/games.pgn.partial")
    first = {"event": "run", "at": 1, "jobs": {"tournament": 1}, "cores": 1, "usual": {}}
    run = runs.Journal(runs.journal_of(folder / "results"), first)
    told = {"what": "games", "log": "", "output": ["results/games.pgn"], "threads": 1}
    run.add({"event": "job", "at": 2, "id": 1, "rule": "tournament", **told})
    try:
        json.dumps(Live(folder / "results").state(), allow_nan=False)
    finally:
        run.close()
    with Journal(folder / "results/games.pgn.partial", PLAYED) as journal:
        list(journal)


def _part(path: Path) -> None:
    with Journal(path.with_name("joined"), PLAYED) as journal:
        try:
            join(journal, [path], [Pair(number, "a", "b", "") for number in range(2)])
            summary = Summary(["a", "b"])
            for entry in journal:
                summary.add(entry["outcome"])
                assert [game.encode() for game in entry["games"]]
            json.dumps(summary.told(), allow_nan=False)
        finally:
            journal.remove()


def _generated(path: Path) -> None:
    with Journal(path.with_name("joined"), PLAYED) as journal:
        try:
            places = journal.join([path], datagen._number, "game")
            games = (journal[place] for place in places.values())
            datagen._write(path.with_name("joined.pgn.zst"), games, level=1)
        finally:
            journal.remove()


def _labels(path: Path) -> None:
    with Cache(_placed(path, "labels") / "labels", LABELLER) as cache:
        for score, move in cache.get([KEY]).values():
            assert (np.int16(score), np.uint16(move)) == (score, move)
        cache.put(KEY, (1, 2))
        cache.flush()


def _labelled(path: Path) -> None:
    labels = label_parts.join([path], LABELLER, 3)
    assert all(len(array) == 3 for array in labels[:2])


def _sampled(path: Path) -> None:
    sampling.join([path], path.with_name("joined.npy"), Sampling(min_ply=0))


def _selfplay(path: Path) -> None:
    folder = _placed(path, f"net.policy{selfplay.PARTIAL}")
    selfplay.learn(folder / "net.policy", None, LEARNING)


def _fetched(path: Path) -> None:
    version = fetch._version(ADDRESS, _placed(path, "games.part.json") / "games.part")
    assert version is None or not set(version) & set("\r\n\0")


def _blocks(path: Path) -> None:
    fingerprint.tree.cache_clear()
    assert registry._blocks_of(_placed(path, "blocks.py") / "blocks.py")


def _pairs(path: Path) -> None:
    features.parse(f"TOPK(3, {path})")


@dataclass(frozen=True)
class Kind:
    """What reads files of a kind, beside `inspect`, and what happens to them."""

    readers: tuple[Callable[[Path], object], ...] = ()
    damage: Damage = field(default_factory=Damage)


def _kinds() -> Iterable[tuple[str, Kind]]:
    lines, values = Damage((damage.of_lines,)), Damage((damage.of_json, damage.of_lines))
    yaml = Damage((damage.of_yaml, damage.of_lines))
    arrays = Damage((damage.of_container,))
    results: Callable[[Path], object] = lambda path: read_results([path])  # noqa: E731
    points = lambda path: list(texts.read_csv(path, Unusable(path, 10**9), points=True))  # noqa: E731
    archives = (damage.of_zip, damage.of_packing)
    books = (results, Book, _games)
    yield "npy", Kind((_dataset, _convert), Damage((damage.of_records(40, 128),)))
    yield "shards", Kind((_dataset,), values)
    yield "binpack", Kind((_convert,))
    yield "bf", Kind((_convert,), Damage((damage.of_records(32, 0),)))
    yield "plain", Kind((_convert,), lines)
    yield "epd", Kind((_convert, Book), lines)
    yield "fen", Kind((_convert, Book), lines)
    yield "jsonl", Kind((_convert,), lines)
    yield "positions.csv", Kind((_convert, points), lines)
    yield "puzzles.csv", Kind((read_puzzles,), lines)
    yield "pgn", Kind((*books, nodes_and_seconds), lines)
    for ending in (".zst", ".gz", ".bz2"):
        yield f"pgn{ending}", Kind(books, Damage((damage.within(ending),)))
    yield "epd.zip", Kind((Book,), Damage(archives))
    yield "nnue", Kind((_evaluate,), arrays)
    yield "nn", Kind((_evaluate,))
    yield "pytorch", Kind((read_net,))
    yield "bin", Kind((lambda path: bullet.read(path, 8, STUDY_SHIFTS),))
    yield "direct", Kind((lambda path: bullet.read_direct(path, Direct(), "squared"),))
    yield "policy", Kind((_policy,), arrays)
    joints = (damage.of_checkpoint(Checkpoint), damage.of_tensors, *archives)
    yield "net.pt", Kind((lambda path: quantize(Checkpoint.read(path)),), Damage(joints))
    joints = (damage.of_checkpoint(PolicyCheckpoint), damage.of_tensors, *archives)
    yield "policy.pt", Kind((lambda path: PolicyCheckpoint.read(path).policy(),), Damage(joints))
    yield (
        "tuning.partial",
        Kind((partial(tuning_checkpoint.read, settings={}),), Damage(archives)),
    )
    joints = (damage.of_checkpoint(selfplay.SelfplayState), damage.of_tensors, *archives)
    yield "policy.partial", Kind((_selfplay,), Damage(joints))
    yield "trace", Kind((trace.open,), Damage((damage.of_records(8, 4096),)))
    yield "settings.yaml", Kind((_settings,), yaml)
    yield "players.yaml", Kind((_players,), yaml)
    yield "evaluation.yaml", Kind((evaluation.read, _evaluate), yaml)
    yield "table.csv", Kind((reading.read_table,), lines)
    yield "ratings.csv", Kind((reading.read_ratings,), lines)
    yield "history.csv", Kind((_trained("history.csv"),), lines)
    yield "costs.csv", Kind((cost.read,), lines)
    yield "spread.csv", Kind((_spread,), lines)
    yield "details.json", Kind((_details,), values)
    yield "policies.csv", Kind((_policy_row,), lines)
    yield "pairs.csv", Kind((_pairs,), lines)
    yield "benchmark.tsv", Kind((read_benchmark,), lines)
    yield "profile", Kind((_profile,), yaml)
    yield "blocks", Kind((_blocks,), lines)
    yield "labels", Kind((_labels,))
    yield "labelled", Kind((_labelled,), Damage(archives))
    yield "sample", Kind((_sampled,), Damage(archives))
    yield "journal", Kind((_journal,), Damage((damage.of_json_lines, damage.of_lines)))
    yield "part", Kind((_part,), Damage((damage.of_part, damage.of_lines)))
    yield "generated", Kind((_generated,), Damage((damage.of_part, damage.of_lines)))
    yield "run", Kind((_run,), Damage((damage.of_json_lines, damage.of_lines)))
    yield "verify.json", Kind((_trained("verify.json"),), values)
    yield "record.json", Kind((reading.read_record, _trained("history.csv.json")), values)
    yield "rate.json", Kind((found_settings.read,), values)
    yield "part.json", Kind((_fetched,), values)
    yield "uci", Kind((_converse,), lines)
    yield "mover", Kind((_converse_with_policy,), lines)
    yield "engine", Kind((_engine,), lines)


KINDS = dict(_kinds())


@dataclass
class Case:
    """A damaged file and what its readers made of it."""

    path: Path
    readers: tuple[Callable[[Path], object], ...]
    is_read: bool = False
    finding: str = ""

    def run(self) -> None:
        for read in (*self.readers, inspect):
            try:
                read(self.path)
                self.is_read = True
            except UserError as error:
                said = str(error)
                if not clipped(said.split("\n")[0]) or len(said) > LONGEST_MESSAGE:
                    self.finding = f"a message of {len(said)} characters: {said[:300]}"
            except BaseException:
                self.finding = traceback.format_exc(limit=-5)
            if self.finding:
                return


def damaged(corpus: Path, kind: str, seed: int, number: int) -> bytes:
    """The ``number``-th damaged file of a kind; 0 and below are the sound ones."""
    files = [path.read_bytes() for path in sorted(corpus.glob(f"*.{kind}"))]
    if number <= 0:
        return files[-number]
    rng = np.random.default_rng([seed, number])
    content, other = (files[rng.integers(len(files))] for _ in range(2))
    return KINDS[kind].damage(rng, content, other)


def read_all(
    told: Connection, corpus: Path, scratch: Path, kind: str, seed: int, first: int, last: int
) -> None:
    """Reads the files from ``first`` to before ``last``; tells each number, then what came of all.

    What is printed goes to a file ``errors`` in ``scratch``.
    """
    os.chdir(ROOT)  # where settings look for files
    with open(scratch / "errors", "wb") as errors:
        os.dup2(errors.fileno(), 1)
        os.dup2(errors.fileno(), 2)
    now, readers = scratch / f"now.{kind}", KINDS[kind].readers
    ends = {"read": 0, "refused": 0}
    findings: list[tuple[int, str]] = []
    sound = -len(list(corpus.glob(f"*.{kind}"))) + 1
    process = psutil.Process()
    before = 0
    for number in [*range(sound, 1), *range(first, last)]:
        if number == first:
            # The sound ones have compiled and loaded what there is: its peak is none of the files'.
            Path("/proc/self/clear_refs").write_text("5")
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            most = process.memory_info().vms + (2 * MOST_MB << 20)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        now.write_bytes(damaged(corpus, kind, seed, number))
        told.send(number)
        case = Case(now, readers)
        case.run()
        if number <= 0:
            assert case.is_read, f"nothing reads a sound {kind}"
            assert not case.finding, case.finding
            continue
        if case.finding:
            findings.append((number, case.finding))
        else:
            ends["read" if case.is_read else "refused"] += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    told.send({**ends, "grown_mb": grown, "findings": findings})
