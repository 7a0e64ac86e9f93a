"""Sound files of every kind that is read, by the own writers where there are some."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import shutil
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import zstandard

from nnuelab.data import conversion, joining, label_parts, sampling
from nnuelab.data.cache import POSITION_BYTES, Cache
from nnuelab.data.journal import Journal
from nnuelab.hce import checkpoint, evaluation, trace
from nnuelab.nnue import bullet
from nnuelab.nnue.layers import Direct
from nnuelab.nnue.netfile import Net, no_second_layer, read_net, write_net, write_nn
from nnuelab.nnue.trainer import Settings
from nnuelab.nnue.training import train
from nnuelab.parts import Part
from nnuelab.policy import selfplay
from nnuelab.policy import table as policy_table
from nnuelab.policy import training as policy_training
from nnuelab.policy.policyfile import write_policy
from nnuelab.policy.trainer import Settings as PolicySettings
from nnuelab.settings import found
from nnuelab.settings.policy_selfplay import Gradient
from nnuelab.settings.sample import Sampling
from nnuelab.tournament.spread import Spread, to_csv
from tests import report_results
from tests.hce.traces import records, saved, some_terms
from tests.naive.netfile import stockfish_file
from tests.nnue_data import write_datasets
from tests.nnue_nets import random_games, random_net
from tests.policy.policies import random_policy

ROOT = Path(__file__).parents[2]
PLAYED = {"players": [["a", {}], ["b", {}]]}  # of journals of games
LABELLER, KEY = {"labeller": "engine"}, bytes(POSITION_BYTES)
LEARNING = Gradient(
    **{"features": "H", "layers": [8], "iterations": 1, "games": 4, "max_plies": 10},
    **{"gate_every": 1, "gate_games": 2, "evaluate_every": 0},
)
ADDRESS = "http://localhost/games"
TEXTS = {
    "players.yaml": """
players:
  net: {net: default, nodes: 100}
  old: {net: default, movetime: 50}
  material: {baseline: material}
""",
    "settings.yaml": """
experiments:
  axis: {feature_sets: [ALL, H+V], seeds: [1, 2], anchor: ALL}
sample: {min_ply: 20, per_game: 2}
tournament: {nodes: 200, games_per_pairing: 10}
""",
    "uci": """uci
setoption name Hash value 1
setoption name MultiPV value 2
isready
ucinewgame
position startpos moves e2e4 e7e5 g1f3
go depth 2
eval
d
position fen 8/8/8/8/8/4k3/4p3/4K3 w - - 0 1
go nodes 50 searchmoves e1e2
go wtime 100 btime 100 winc 0 binc 0 movestogo 3
stop
ponderhit
""",
    "mover": """uci
setoption name MultiPV value 3
setoption name Temperature value 0.5
setoption name TopP value 0.9
setoption name Walk value true
setoption name Plies value 1
setoption name Seed value 7
isready
ucinewgame
position startpos moves e2e4 e7e5
go nodes 1
d
position fen 8/8/8/8/8/4k3/4p3/4K3 w - - 0 1
go searchmoves e1e2
stop
""",
    "engine": "id name an engine 1\noption name Hash type spin default 1 min 1 max 4\n"
    "option name Threads type spin default 1 min 1 max 1\noption name Style type combo default a "
    "var a var b\nuciok\n\freadyok\n\finfo depth 3 seldepth 4 multipv 1 score cp 31 nodes 20 pv "
    "e2e4 e7e5\ninfo depth 4 score mate -3 nodes 30 pv e2e4\nbestmove e2e4 ponder e7e5\n",
    "benchmark.tsv": "s\th:m:s\tmax_rss\tmean_load\tcpu_time\n3.5\t0:00:03\t210.2\t-\t4.25\n",
    "profile": "cores: all\nmax-threads: 8\n",
    "pairs.csv": "first,second,views\nPa2,Pb2,9\nPa2,kg8,5\nNc3,ph7,2\n",
    "blocks": """from nnuelab.features import COLORS, ROLES, Concept, file_of, piece_square, rank_of

RINGS = Concept("RINGS", ("the rim", "the second ring", "the third ring", "the centre"))


@piece_square("RING", RINGS, ROLES, COLORS)
def ring(square, role, color):
    \"\"\"A piece of role r and colour c stands on a ring of squares around the centre.\"\"\"
    file, rank = file_of(square), rank_of(square)
    return min(file, 7 - file, rank, 7 - rank), role, color
""",
    "run": '{"event": "run", "at": 1.5, "jobs": {"train": 2, "total": 2}, "cores": 2, "usual": '
    '{"train": 9.5}}\n{"event": "job", "at": 2, "id": 1, "rule": "train", "what": "train ALL", '
    '"log": "logs/train.log", "output": ["results/nets/ALL/1/history.csv"], "threads": 1}\n'
    '{"event": "failed", "at": 3, "id": 1}\n',
    "jsonl": '{"fen": "8/8/8/8/8/4k3/4p3/4K3 w - -", "evals": [{"pvs": [{"cp": 0, "line": '
    '"e1e2"}], "knodes": 9, "depth": 30}]}\n'
    '{"fen": "4k3/8/8/8/8/8/4P3/4K3 w - -", "evals": [{"pvs": [{"mate": 12, "line": "e2e4"}], '
    '"knodes": 9, "depth": 30}]}\n',
}


def make(folder: Path, scratch: Path) -> None:
    """Fills a folder with files ``NAME.KIND``; a kind may have several."""
    folder.mkdir(parents=True, exist_ok=True)
    results = report_results.make(scratch)
    for kind, text in TEXTS.items():
        (folder / f"a.{kind}").write_text(text)
    _positions(folder, results / "data/validation.npy")
    net = results / "nets/ALL/1/net.nnue"
    _nets(folder, scratch, read_net(net))
    for kind, source in {
        "pgn": results / "tournament/axis.pgn",
        "table.csv": results / "axis_table.csv",
        "ratings.csv": results / "tournament/axis_ratings.csv",
        "costs.csv": results / "tournament/cost/axis.csv",
        "history.csv": net.with_name("history.csv"),
        "verify.json": net.with_name("verify.json"),
        "record.json": results / "axis_table.csv.json",
    }.items():
        shutil.copy(source, folder / f"a.{kind}")
    _measured(folder)
    found.write(folder / "a.rate.json", "learning_rate", 0.001)
    (folder / "a.part.json").write_text(json.dumps({"url": ADDRESS, "version": '"5e3-1f"'}))
    with gzip.open(ROOT / "resources/embedded/puzzles.csv.gz", "rt") as file:
        (folder / "a.puzzles.csv").write_text("".join(itertools.islice(file, 50)))
    shutil.copy(ROOT / "resources/evaluations/material.yaml", folder / "a.evaluation.yaml")
    terms = some_terms(scratch)
    evaluation.write(folder / "b.evaluation.yaml", terms)
    fens = random_games(1, 60)
    trace.write(folder / "a.trace", saved(scratch / "traced.npy", records(fens)), terms)
    _packed(folder)


def _positions(folder: Path, dataset: Path) -> None:
    shutil.copy(dataset, folder / "a.npy")
    for kind in ("binpack", "bf", "plain", "epd", "fen", "positions.csv"):
        conversion.convert(dataset, folder / f"a.{kind}", 10**9)
    joining.join(
        folder / "a.shards", {folder / f"a.{kind}": 2 for kind in ("npy", "binpack", "bf")}
    )
    index = json.loads((folder / "a.shards").read_text())
    for shard in index["shards"]:
        shard["file"] = str(folder / shard["file"])
    (folder / "a.shards").write_text(json.dumps(index))


def _nets(folder: Path, scratch: Path, net: Net) -> None:
    write_net(folder / "a.nnue", net)
    write_net(folder / "b.nnue", random_net("H+V", 16, 8, buckets=2, l3=8, psqt=True))
    write_nn(folder / "a.nn", net)
    bullet.write(folder / "a.bin", net)
    last = net.w1[:2].reshape(-1)
    without = {**no_second_layer(net.l1), "w3": last, "direct": Direct()}
    bullet.write(folder / "a.direct", replace(net, **without))
    write_net(folder / "c.nnue", replace(net, **without))
    (folder / "a.pytorch").write_bytes(stockfish_file(2, 2, 2, 8, 8))
    (folder / "b.pytorch").write_bytes(stockfish_file(2, 2, 2, compressed=True))
    write_policy(folder / "a.policy", random_policy(sizes=(8,)))
    write_policy(folder / "b.policy", random_policy("product", (), value=False, feature_set="H"))
    trained = scratch / "trained"
    trained.mkdir()
    data = write_datasets(trained)
    settings = Settings("H+V", l1=16, l2=8, epochs=1, batch_size=256)
    train(settings, *data, trained / "net.pt", trained / "net.csv", 1)
    chosen = PolicySettings(feature_set="H", layers=[8], epochs=1, batch_size=256)
    outputs = (trained / "policy.pt", trained / "policy.csv", trained / "policy.policy")
    policy_training.train(chosen, *data, *outputs)
    for kind in ("net.pt", "policy.pt"):
        shutil.copy(trained / kind, folder / f"a.{kind}")
    checkpoint.write(folder / "a.tuning.partial", {}, {"step": 3, "weights": np.arange(9.0)})
    selfplay._run(folder / "a.policy.partial", None, LEARNING, None, asdict(LEARNING), 1)


def _measured(folder: Path) -> None:
    rows = [Spread("axis", "nodes 400", group, 210.5, 160.25, 3) for group in ("", "", "few")]
    (folder / "a.spread.csv").write_text(to_csv(rows))
    details = {"draw_rate_of_equals": 0.4, "spread": [asdict(row) for row in rows]}
    (folder / "a.details.json").write_text(json.dumps(details))
    columns = (*policy_table.FACTS, *policy_table.MEASURES[:-1], "positions")
    policy_table.write(folder / "a.policies.csv", [dict.fromkeys(columns, 0.5)])
    (folder / "b.policies.csv").write_text("epoch,train_loss,validation_loss,seconds\n1,3,2,1.5\n")
    with Journal(folder / "a.journal", PLAYED) as journal:
        outcome = {"first": "a", "second": "b", "points": [1, 2], "troubles": {"b": {"stall": 1}}}
        journal.append({"pair": 0, "outcome": outcome, "games": ["1-0", "0-1"]})
        journal.append({"pair": 1, "outcome": {**outcome, "troubles": {}}, "games": ["", ""]})
        with open(folder / "a.part", "wb") as file:
            journal.write(file, [0, 1])
    with Journal(folder / "generated", PLAYED) as journal:
        for number in (1, 2):
            game = {"number": number, "opening": "00", "result": "1-0", "pgn": "1. e4 1-0\n"}
            journal.append(game)
        with open(folder / "a.generated", "wb") as file:
            journal.write(file, [0, 1])
        journal.remove()
    labels = label_parts.Labelled(np.zeros(3, np.int16), np.zeros(3, np.uint16), 0)
    label_parts.write(folder / "a.labelled", LABELLER, Part(1, 1), labels)
    with Cache(folder / "a.labels", LABELLER) as cache:
        cache.put(KEY, (31, 12))
        cache.flush()


def _packed(folder: Path) -> None:
    games, lines = (folder / f"a.{kind}" for kind in ("pgn", "epd"))
    packers = {".zst": zstandard.compress, ".gz": gzip.compress, ".bz2": bz2.compress}
    for ending, pack in packers.items():
        (folder / f"a.pgn{ending}").write_bytes(pack(games.read_bytes()))
    sampling.sample_part([games], folder / "a.sample", Sampling(min_ply=0))
    with zipfile.ZipFile(folder / "a.epd.zip", "w") as archive:
        archive.write(lines, "book.epd")
