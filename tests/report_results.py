"""A folder of results as the stages leave it, small: nets, games, puzzles, tuned evaluations."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import chess
import chess.pgn
import numpy as np
from typer.testing import CliRunner

from nnuelab import artifacts, data, features
from nnuelab.cli.__main__ import application
from nnuelab.data.description import describe
from nnuelab.data.records import RECORD, from_fen
from nnuelab.discovery import history
from nnuelab.hce import evaluation, trace, tuning
from nnuelab.names import NetName
from nnuelab.nnue.netfile import Net, write_net
from nnuelab.nnue.pqr import judge
from nnuelab.policy import metrics, selfplay
from nnuelab.policy import table as policy_table
from nnuelab.policy.policyfile import read_policy, write_policy
from nnuelab.report import (
    agreement,
    feature_statistics,
    pqr,
    sprt,
    table,
    texel_errors,
    texel_residuals,
)
from nnuelab.settings.policy_selfplay import (
    Episodes,
    Expert,
    Gradient,
    GradientRewards,
    Learning,
    Rewards,
)
from nnuelab.settings.tuning import Tuning
from nnuelab.tournament import cost, puzzle_scores, ratings, yardsticks
from nnuelab.tournament.puzzles import Answers, Puzzle
from nnuelab.tournament.sprt import LiveTest, Sprt
from tests.nnue_data import material, pack_move
from tests.policy.policies import random_policy

SETS = ("ALL", "H+PH+MC")
NODES_DEEP = 5000
SEEDS = (1, 2)


def make(root: Path) -> Path:
    """Fills ``root/results`` and returns it; paths in provenance are relative to ``root``."""
    folder = root / "results"
    rng = np.random.default_rng(8)
    _dataset(folder / "data" / "validation.npy", random.Random(8))
    nets = []
    for name in SETS:
        for seed in SEEDS:
            nets.append(_net(folder / "nets" / NetName(name, seed=seed).folder, name, seed, rng))
    pgn = folder / "tournament" / "axis.pgn"
    players = [f"{name}#{seed}" for name in SETS for seed in SEEDS]
    others = {
        yardstick: folder / "tournament" / f"{yardstick.played('axis')}.pgn"
        for yardstick in yardsticks.ALL[1:]
    }
    for seed, games in enumerate((pgn, *others.values())):
        _games(games, players, random.Random(9 + seed))
        rated = games.with_name("axis_ratings.csv")
        rated.write_text(ratings.to_csv(ratings.rate(games)))
        _record(rated, root, [games], {})
        nodes = NODES_DEEP if games.parent.name.startswith("deep") else 400
        _record(games, root, [], {"players": {name: {"nodes": nodes} for name in players}})
    costs = folder / "tournament" / "cost" / "axis.csv"
    cost.write(costs, [cost.Cost(name, 1 + i / 4, 0.01, 9e5, 30) for i, name in enumerate(SETS)])
    _record(costs, root, nets, {"anchor": "ALL"})
    positions = feature_statistics.load(folder / "data" / "validation.npy", 20)
    counted = []
    for name in SETS:
        path = folder / "statistics" / f"{NetName(name).folder}.csv"
        rows = feature_statistics.rows(features.parse(name), positions, 8)
        feature_statistics.write_csv(path, rows)
        _record(path, root, [folder / "data" / "validation.npy"], {"feature_set": name})
        counted.append(path)
    csv = folder / "axis_table.csv"
    rows = table.build("axis", nets, pgn, "ALL", others, counted, cost.read(costs))
    csv.write_text(table.to_csv(rows))
    made_of = [pgn, *others.values(), costs, *nets, *counted]
    told = {"experiment": "axis", "anchor": "ALL", "nodes_deep": NODES_DEEP}
    _record(csv, root, made_of, told)
    _triplets(folder / "statistics" / "pqr" / "axis.json", players, rng)
    return folder


def make_sequential(results: Path) -> Path:
    """Fills ``results/sprt``: two tests of ``axis`` at fixed nodes, of which one is open."""
    rows = []
    for seed, half_points in enumerate(([3, 4, 2, 4] * 60, [1, 2, 3]), 1):
        pgn = results / "tournament" / "sprt" / "axis" / SETS[1] / f"{seed}.pgn"
        pgn.parent.mkdir(parents=True, exist_ok=True)
        pgn.write_text("")
        live = LiveTest(Sprt(0, 20))
        for number, half in enumerate(half_points):
            live.add(number, half)
        players = {f"{name}#{seed}": {} for name in reversed(SETS)}
        artifacts.provenance(pgn, summary={"sprt": live.told(), "players": players})
        rows.append(sprt.row(pgn))
    path = results / "sprt" / "axis.csv"
    path.parent.mkdir()
    path.write_text(sprt.to_csv(rows))
    artifacts.provenance(path, module="report.sprt")
    return path


def make_variants(
    root: Path, experiment: str, sizes: dict[str, tuple[int, int]], anchor: str, **objectives: dict
) -> Path:
    """Fills ``root/results`` with variants of ALL with two seeds each, their games and their table.

    ``sizes`` is of the two layers, by variant; ``objectives`` what else than scores one minimised.
    """
    folder = root / "results"
    rng = np.random.default_rng(8)
    _dataset(folder / "data" / "validation.npy", random.Random(8))
    nets = {}
    for variant, (l1, l2) in sizes.items():
        for seed in SEEDS:
            place = folder / "nets" / f"ALL,{variant}" / str(seed)
            net = _net(place, "ALL", seed, rng, l1, l2)
            nets[f"ALL,{variant}#{seed}"] = net
            objective = objectives.get(variant, {"exponent": 2.6})
            history = net.with_name("history.csv")
            _record(history, root, [], {"l1": l1, "objective": objective})
    pgn = folder / "tournament" / f"{experiment}.pgn"
    _games(pgn, list(nets), random.Random(9), 600)
    rated = pgn.with_name(f"{experiment}_ratings.csv")
    rated.write_text(ratings.to_csv(ratings.rate(pgn)))
    csv = folder / f"{experiment}_table.csv"
    csv.write_text(table.to_csv(table.build(experiment, nets, pgn, anchor)))
    made = artifacts.provenance(
        csv, inputs=nets, parameters={"experiment": experiment, "anchor": anchor}
    )
    for source in made["inputs"].values():
        source["path"] = str(Path(source["path"]).relative_to(root))
    artifacts.write_json(csv.with_name(f"{csv.name}.json"), made)
    return folder


def _triplets(path: Path, players: list[str], rng: np.random.Generator) -> None:
    said = {name: rng.normal(0, 200, (50, 3)) for name in players}
    found = [judge(name, values, np.arange(50)) for name, values in said.items()]
    artifacts.write_json(path, pqr.content(found, said))
    artifacts.provenance(path, module="report.pqr")


RUNS = {
    "squares": ("squares", Tuning(optimizer="gauss-newton", freeze=["material"], l2=1e-3)),
    "pbil": ("squares", Tuning(optimizer="pbil", freeze=["material"], generations=5, bits=1472)),
    "material": ("material", Tuning(optimizer="gauss-newton")),
}


def make_searched(results: Path) -> Path:
    """Fills ``results/search``: eight sets on two screens, of which one cost too much."""
    losses = {"ALL": 0.003, "H": 0.02, "MC": 0.018, "PH": 0.01, "ALL+H": 0.0029, "ALL+MC": 0.0027,
              "ALL+PH": 0.0031, "ALL+MB": math.inf}  # fmt: skip
    rows = []
    for number, (name, loss) in enumerate(losses.items()):
        size, cost_of = features.parse(name).size, 0.9 + 0.05 * number
        made = ("add", "0") if "+" in name else ("block" if number else "anchor", "")
        first = history.Row(number, number // 4, 0, name, *made, size, number + 2.0, cost_of, loss)
        rows.append(first)
        if loss < 0.01:
            rows.append(replace(first, rung=1, loss=loss * 0.9))
    folder = results / "search"
    folder.mkdir()
    (folder / "history.csv").write_text(history.to_csv(rows))
    (folder / "front.csv").write_text(history.to_csv(history.front(rows)))
    return folder


def make_ladder(results: Path) -> Path:
    """Writes ``results/ladder.csv``: this engine among others, by games that anyone wins."""
    pgn = results / "ladder" / "games.pgn"
    pgn.parent.mkdir()
    _games(pgn, ["nnuelab", "stockfish-2500", "policy", "tuned"], random.Random(5), 90)
    return _rated(pgn, "nnuelab", results / "ladder.csv")


def _rated(pgn: Path, anchor: str, csv: Path) -> Path:
    results, fitted = ratings.rated([pgn], anchor)
    csv.write_text(ratings.to_csv(ratings.table(results, fitted, anchor)))
    artifacts.provenance(csv, module="tournament.bayeselo", parameters={"anchor": anchor})
    return csv


def make_tuned(results: Path) -> Path:
    """Fills ``results/texel``: evaluations tuned on games that mostly more pieces win, a match."""
    folder, rng = results / "texel", random.Random(11)
    for part, games in (("train", 60), ("validation", 20)):
        _with_results(folder / f"{part}.npy", games, rng)
    for name, (terms, settings) in RUNS.items():
        start = evaluation.read(artifacts.RESOURCES / "evaluations" / f"{terms}.yaml")
        traced = []
        for part in ("train", "validation"):
            positions = data.open(folder / f"{part}.npy")
            traced.append(trace.write(folder / "traces" / name / f"{part}.trace", positions, start))
        files = [folder / name / file for file in ("tuned.yaml", "history.csv", "terms.csv")]
        tuned = tuning.tune(start, *traced, settings, 1, tuning.Files(*files), {})
        content = texel_residuals.content(tuned.evaluation, traced[1], folder / "validation.npy")
        artifacts.write_json(folder / name / "residuals.json", content)
        artifacts.provenance(folder / name / "residuals.json", module="report.texel_residuals")
    words = ["untuned={hce: default}", *(f"{n}={folder / n / 'tuned.yaml'}" for n in RUNS)]
    found = texel_errors.evaluators([*words, "net=default"])
    rows = texel_errors.compare(found, folder / "validation.npy")
    (folder / "errors.csv").write_text(texel_errors.to_csv(rows))
    artifacts.provenance(folder / "errors.csv", module="report.texel_errors")
    _games(folder / "games.pgn", ["untuned", *RUNS, "net"], rng, 120)
    _rated(folder / "games.pgn", "untuned", folder / "match_table.csv")
    return folder


POLICIES = {"pair": ("pair", "softmax"), "seed": ("fromto", "mse")}
SELFPLAY: dict[str, tuple[Learning, Rewards | None]] = {
    "seed": (Episodes(iterations=3, max_plies=20, evaluate_every=1, evaluation_games=2), Rewards()),
    "gradient": (
        Gradient(iterations=2, layers=[8], games=4, max_plies=20, gate_games=2, evaluation_games=2),
        GradientRewards(),
    ),
    "expert": (
        Expert(iterations=2, layers=[8], games=2, max_plies=20, simulations=2, evaluation_games=2),
        None,
    ),
}


def make_policies(results: Path) -> Path:
    """Fills ``results/policy`` with policies, runs of self-play and games; `make` comes before."""
    folder = results / "policy"
    records = metrics.positions_of(results / "data" / "validation.npy", 0)
    folders = []
    for name, (head, loss) in POLICIES.items():
        for seed in SEEDS:
            place = folder / "nets" / name / str(seed)
            place.mkdir(parents=True)
            write_policy(place / "net.policy", random_policy(head, seed=seed, loss=loss))
            policy_table.write(place / policy_table.EVALUATION, [
                metrics.row_of(place / "net.policy", records)
            ])  # fmt: skip
            (place / policy_table.HISTORY).write_text(
                "epoch,train_loss,validation_loss,accuracy,seconds\n"
                + "".join(f"{e},{3 / e},{(3 + seed) / e},{0.1 * e / seed},2.5\n" for e in (1, 2, 3))
            )
            folders.append(place)
    policy_table.write(results / "policy_table.csv", policy_table.rows_of(folders))
    read = [place / name for place in folders for name in ("evaluation.csv", "history.csv")]
    _record(results / "policy_table.csv", results.parent, read, {})
    for name, (settings, terms) in SELFPLAY.items():
        for seed in SEEDS:
            place = folder / "selfplay" / name / str(seed)
            place.mkdir(parents=True)
            run = place / "net.policy", place / "history.csv", replace(settings, seed=seed)
            selfplay.learn(*run, terms, workers=1)
    _games(folder / "vs_random.pgn", ["pair", "expert", "random"], random.Random(3), 60)
    words = ["policy", "score", folder / "vs_random.pgn", "--csv", folder / "vs_random.csv"]
    done = CliRunner().invoke(application(), list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    policies = {name: read_policy(folder / "nets" / name / "1/net.policy") for name in POLICIES}
    drawn = agreement.drawn([results / "tournament" / "axis.pgn"], 40, 1)
    (results / "policy_agreement.csv").write_text(
        agreement.to_csv(agreement.measure(policies, drawn))
    )
    return folder


def _with_results(path: Path, games: int, rng: random.Random) -> None:
    records = []
    for game in range(games):
        board, found = chess.Board(), []
        for _ in range(60):
            if board.is_game_over():
                break
            board.push(rng.choice(list(board.legal_moves)))
            found.append(from_fen(board.fen()))
        more = material(board) * (1 if board.turn else -1)
        white = (more > 0) - (more < 0) if rng.random() < 0.8 else 0
        for ply, record in enumerate(found[-8:]):
            record["game"], record["ply"] = game, 52 + ply
            record["result"] = -white if record["flags"] & 1 else white
        records += found[-8:]
    with data.dataset.writing(path) as writer:
        writer.append(np.array(records))


def _record(path: Path, root: Path, inputs: list[Path], parameters: dict) -> None:
    record = artifacts.provenance(
        path, inputs={str(p): p for p in inputs}, parameters=parameters, module="report.table"
    )
    record["inputs"] = {
        str(Path(name).relative_to(root)): {**value, "path": str(Path(name).relative_to(root))}
        for name, value in record["inputs"].items()
    }
    artifacts.write_json(path.with_name(path.name + ".json"), record)


def _net(
    folder: Path, name: str, seed: int, rng: np.random.Generator, l1: int = 16, l2: int = 8
) -> Path:
    folder.mkdir(parents=True)
    net = Net(
        name,
        rng.integers(-40, 40, (features.parse(name).size, l1)).astype("<i2"),
        np.full(l1, 60, "<i2"),
        rng.integers(-60, 60, (l2, 2 * l1)).astype("<i1"),
        np.zeros(l2, "<i4"),
        rng.integers(-90, 90, l2).astype("<i2"),
        np.zeros(1, "<i4"),
    )
    net.w1[:, 3], net.b1[3] = -1, -500  # a dead neuron
    net.w1[:, 4], net.b1[4] = 1, 500  # one that is always at its limit
    write_net(folder / "net.nnue", net)
    (folder / "history.csv").write_text(
        "epoch,train_loss,validation_loss,seconds\n"
        + "".join(
            f"{e},{0.02 / e},{(0.01 + 0.001 * seed + len(name) / 1e4) / e},1.5\n" for e in (1, 2, 3)
        )
    )
    error = {"n": 100, "mean_cp": 0.1 * seed, "rms_cp": 2.0, "max_cp": 9.5, "worst": []}
    error["worst"] = [{"fen": chess.STARTING_FEN, "float_cp": 1.5, "int_cp": 11}]
    error["histogram"] = {"edges_cp": [-4, -2, 0, 2, 4], "counts": [10, 40, 40, 10]}
    (folder / "verify.json").write_text(json.dumps(error))
    _puzzles(folder, rng)
    root = folder.parents[3]
    for path in sorted(folder.iterdir()):
        _record(path, root, [root / "results" / "data" / "validation.npy"], {"seed": seed})
    return folder / "net.nnue"


def _puzzles(folder: Path, rng: np.random.Generator) -> None:
    """Every net is asked the same puzzles."""
    puzzles, found = [], []
    for i in range(40):
        themes = ("mate" if i % 3 else "fork", "short")
        puzzles.append(Puzzle(f"p{i}", chess.STARTING_FEN, (), 700 + 60 * (i % 20), themes))
        asked = 1 + i % 3
        right = int(rng.integers(0, asked + 1))
        found.append(Answers(asked, right, [(1, "e2e4", "d2d4")] * (asked - right)))
    groups = puzzle_scores.groups(puzzles, found)
    (folder / "puzzles.csv").write_text(puzzle_scores.to_csv(groups))
    (folder / "puzzles.json").write_text(json.dumps(puzzle_scores.told(puzzles, found)))


def _dataset(path: Path, rng: random.Random) -> None:
    records = np.zeros(60, RECORD)
    for game in range(6):
        board = chess.Board()
        for ply in range(30):
            if ply >= 20:
                record = from_fen(board.fen())
                record["game"], record["score"], record["result"] = game, rng.randint(-300, 300), 0
            move = rng.choice(list(board.legal_moves))
            if ply >= 20:
                record["move"] = pack_move(board, move)
                records[10 * game + ply - 20] = record
            board.push(move)
    with data.dataset.writing(path) as writer:
        writer.append(records)
    # Four times, so that the move numbers have enough positions for their quartiles.
    artifacts.write_json(
        path.with_name("sample_report.json"),
        {"counts": {}, **describe(np.tile(records, 4), 4 * len(records))},
    )
    artifacts.provenance(path, module="data.labels")


def _games(path: Path, players: list[str], rng: random.Random, count: int = 72) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        for number in range(count):
            white, black = rng.sample(players, 2)
            game = chess.pgn.Game()
            game.setup(_opening(rng))
            node: chess.pgn.GameNode = game
            for ply in range(12):
                if not (moves := list(node.board().legal_moves)):
                    break
                node = node.add_variation(rng.choice(moves))
                said = f"{rng.choice('+-')}{rng.random() * 3:.2f}/{ply + 1}"
                node.comment = f"{said} {rng.uniform(0.01, 0.02):.3f}s, n=400"
            result = rng.choice(("1-0", "0-1", "1/2-1/2"))
            tags = {"White": white, "Black": black, "Result": result, "Round": f"{number + 1}.1"}
            for name, value in (tags | {"PlyCount": str(node.ply() - game.ply())}).items():
                game.headers[name] = value
            text = game.accept(chess.pgn.StringExporter(columns=None))
            file.write(text.replace("{ ", "{").replace(" }", "}") + "\n\n")
    artifacts.provenance(path, module="tournament.runner")


def _opening(rng: random.Random) -> chess.Board:
    board = chess.Board()
    for _ in range(6):
        board.push(rng.choice(list(board.legal_moves)))
    board.clear_stack()
    return board
