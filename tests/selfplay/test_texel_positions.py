"""Positions for tuning: what is left out and counted, what is quiet, and that sources agree."""

from __future__ import annotations

import csv
from pathlib import Path

import chess
import numpy as np
import pytest

from nnuelab.data import conversion, dataset, pgn
from nnuelab.data.labels import part_of
from nnuelab.data.records import NO_SCORE, UNKNOWN_RESULT, from_fen, to_fen
from nnuelab.data.sampling import sample
from nnuelab.errors import UserError
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import write_net
from nnuelab.selfplay import texel_positions
from nnuelab.selfplay.quiet import Quiet
from nnuelab.settings.sample import Sampling
from nnuelab.settings.texel import Positions
from tests.naive import engine as naive

EVERY = Sampling(min_ply=0, skip_check=False, skip_captures=False, skip_promotions=False)
BUT_SOURCE = [
    *("occupied", "pieces_low", "pieces_high", "flags", "ep", "halfmove", "result", "ply")
]


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> NetEvaluator:
    """Material, in which positions differ a little."""
    path = tmp_path_factory.mktemp("net") / "material.nnue"
    write_net(path, naive.material_net(noise=3))
    return NetEvaluator(path)


@pytest.fixture(scope="module")
def games(shared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("games") / "games.pgn"
    texts = list(pgn.texts(shared / "data/games/fixture_evals_200.pgn"))[:80]
    path.write_bytes(b"\n".join(texts))
    return path


def made(folder: Path, source: Path | list[Path], evaluator, workers: int = 1, **options):
    """Training and validation records, and what is counted."""
    folder.mkdir(exist_ok=True)
    sources = source if isinstance(source, list) else [source]
    outputs = [folder / name for name in ("train.npy", "validation.npy", "filters.csv")]
    chosen = Positions(**{"validation_share": 0.3, **options})
    counts = texel_positions.make(sources, *outputs, evaluator, chosen, workers)
    with outputs[2].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["filter"]: int(row["positions"]) for row in rows} == {
        row["filter"]: counts[row["filter"]] for row in rows
    }
    return dataset.open(outputs[0]).records, dataset.open(outputs[1]).records, counts


def test_each_filter_counts_what_it_leaves_out(games, evaluator, tmp_path) -> None:
    sample([games], tmp_path / "all.npy", EVERY, 1)
    everything = dataset.open(tmp_path / "all.npy").records
    options = {"min_ply": 20, "max_score": 400, "quiet": "skip"}
    train, validation, counts = made(tmp_path / "out", games, evaluator, **options)
    kept = np.concatenate([train, validation])
    assert counts["read"] == len(everything)
    assert counts["read"] - counts["kept"] == sum(counts[n] for n in texel_positions.FILTERS)
    left = everything[everything["result"] != UNKNOWN_RESULT]
    assert counts["unknown result"] == len(everything) - len(left)
    assert counts["opening"] == np.count_nonzero(left["ply"] < 20)
    left = left[left["ply"] >= 20]
    quiet = Quiet(evaluator)
    values = quiet.values(left)
    own = left["score"] != NO_SCORE
    own_fit = ~own | (np.abs(left["score"].astype(int)) <= 400)
    fit = own_fit & (np.abs(values) <= 400)
    check = np.array([chess.Board(to_fen(record)).is_check() for record in left])
    assert counts["check"] == np.count_nonzero(check & own_fit)
    passed = left[fit & ~check & quiet(left)]
    assert counts["quiet"] == np.count_nonzero(fit & ~check & ~quiet(left)) > 0
    assert counts["kept"] == len(passed)
    assert sorted(kept.tolist()) == sorted(passed.tolist())
    assert {name: counts[name] for name in ("training", "validation", "replaced")} == {
        "training": len(train),
        "validation": len(validation),
        "replaced": 0,
    }


def test_what_is_kept_is_quiet_and_of_both_sides_of_games(games, evaluator, tmp_path) -> None:
    quiet = Quiet(evaluator)
    for way in ("skip", "replace"):
        train, validation, counts = made(tmp_path / way, games, evaluator, quiet=way)
        kept = np.concatenate([train, validation])
        assert quiet(kept).all()
        assert np.abs(quiet.values(kept)).max() <= 600
        assert np.abs(kept["score"][kept["score"] != NO_SCORE]).max() <= 600
        assert kept["ply"].min() >= 16
        assert not set(train["game"]) & set(validation["game"])
        assert (part_of(train["game"], (0.3, 0.0), 1) == 0).all()
        assert (part_of(validation["game"], (0.3, 0.0), 1) == 1).all()
        assert (counts["replaced"] > 0) == (way == "replace")
    assert counts["quiet"] < 0.1 * counts["replaced"]
    kept = made(tmp_path / "keep", games, evaluator, quiet="keep", max_score=0)[2]
    assert kept["kept"] == kept["read"] - kept["opening"] - kept["unknown result"]


def test_a_position_is_replaced_by_the_end_of_its_quiescence_line(evaluator, tmp_path) -> None:
    """White takes the queen; results stay White's, plies go on."""
    fens = ["4k3/8/8/3q4/4P3/8/8/4K3 w - - 3 31", "4k3/4p3/8/8/8/8/4P3/4K3 b - - 0 31"]
    path = tmp_path / "a.npy"
    records = np.array([from_fen(fen) for fen in fens] * 20, from_fen(fens[0]).dtype)
    records["result"] = [1, 1] * 20
    records["game"] = np.arange(40)
    np.save(path, records)
    train, validation, counts = made(tmp_path, path, evaluator, quiet="replace", max_score=0)
    kept = np.concatenate([train, validation])
    assert counts["replaced"] == 20
    ends = [record for record in kept if record["game"] % 2 == 0]
    assert {to_fen(record) for record in ends} == {"4k3/8/8/3P4/8/8/8/4K3 b - - 0 31"}
    assert {(int(r["result"]), int(r["ply"]), int(r["score"])) for r in ends} == {
        (-1, 61, NO_SCORE)
    }


def test_any_number_of_workers_and_two_runs_make_the_same_bytes(games, evaluator, tmp_path) -> None:
    options = {"sample": 1500, "seed": 3}
    for name, workers in (("a", 1), ("b", 2), ("c", 2)):
        _, _, counts = made(tmp_path / name, games, evaluator, workers, **options)
        assert counts["kept"] == 1500
    for name in ("train.npy", "validation.npy", "filters.csv"):
        first = (tmp_path / "a" / name).read_bytes()
        assert first == (tmp_path / "b" / name).read_bytes() == (tmp_path / "c" / name).read_bytes()
    other = made(tmp_path / "d", games, evaluator, sample=1500, seed=4)
    assert sorted(other[0].tolist()) != sorted(
        dataset.open(tmp_path / "a/train.npy").records.tolist()
    )


def test_sources_agree(games, evaluator, tmp_path) -> None:
    """Games, a dataset, EPD and CSV of them: the same positions with the same results."""
    sample([games], tmp_path / "all.npy", EVERY, 1)
    records = dataset.open(tmp_path / "all.npy").records.copy()
    records["score"] = NO_SCORE
    np.save(tmp_path / "all.npy", records)
    bare = tmp_path / "bare.pgn"
    bare.write_bytes(games.read_bytes().replace(b"[%eval", b"[%old"))
    sources = [bare, tmp_path / "all.npy"]
    for ending in (".epd", ".csv", ".csv.zst"):
        conversion.convert(tmp_path / "all.npy", tmp_path / f"all{ending}")
        sources.append(tmp_path / f"all{ending}")
    fens = [(to_fen(record), record) for record in records]
    white = [int(r["result"]) * (-1 if r["flags"] & 1 else 1) for r in records]
    points = ["fen,result,game"]
    brackets = []
    for (fen, record), result in zip(fens, white, strict=True):
        points.append(f"{fen},{('0', '0.5', '1')[result + 1]},{record['game']}")
        brackets.append(f"{fen} [{('0.0', '0.5', '1.0')[result + 1]}]")
    (tmp_path / "points.csv").write_text("\n".join(points))
    (tmp_path / "brackets.epd").write_text("\n".join(brackets))
    sources += [tmp_path / "points.csv", tmp_path / "brackets.epd"]
    found = []
    for i, source in enumerate(sources):
        train, validation, counts = made(tmp_path / str(i), source, evaluator, sample=2000)
        kept = np.concatenate([train, validation])[BUT_SOURCE]
        found.append((sorted(kept.tolist()), {n: counts[n] for n in texel_positions.FILTERS}))
    assert len(found[0][0]) == 2000
    for source, other in zip(sources, found, strict=True):
        assert other == found[0], source


def test_games_of_several_sources_stay_apart(games, evaluator, tmp_path) -> None:
    (tmp_path / "again.pgn").write_bytes(games.read_bytes())
    train, validation, _ = made(tmp_path / "out", [games, tmp_path / "again.pgn"], evaluator)
    once, more, _ = made(tmp_path / "one", games, evaluator)
    both = np.concatenate([train, validation])
    assert len(np.unique(both["game"])) == 2 * len(np.unique(np.concatenate([once, more])["game"]))
    assert not set(train["game"]) & set(validation["game"])


def test_lines_without_a_number_of_the_move_are_no_openings(evaluator, tmp_path) -> None:
    boards = [chess.Board() for _ in range(2)]
    boards[1].push_san("e4")
    endings = ["8/5k2/8/8/3P4/8/5K2/8 w - -", "8/5k2/8/3p4/8/8/5K2/8 b - -"]
    lines = [f'{" ".join(board.fen().split()[:4])} c9 "1-0";' for board in boards]
    lines += [f'{fen} c9 "{result}";' for fen in endings for result in ("1-0", "0-1")] * 20
    (tmp_path / "some.epd").write_text("\n".join(lines))
    _, _, counts = made(tmp_path / "out", tmp_path / "some.epd", evaluator)
    assert counts["opening"] == 2
    assert counts["kept"] == 80


def epd(folder: Path, results: list[str], n: int = 60) -> Path:
    path = folder / "lines.epd"
    fen = "8/5k2/8/8/3P4/8/5K2/8 w - - 0 40"
    lines = [fen + results[i % len(results)] for i in range(n)]
    lines = ["no position" if line.endswith("x") else line for line in lines]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("results", "n", "match"),
    [
        ([""], 60, r"no position of .*lines\.epd has a result"),
        ([" [1.0]"], 60, "all positions have one result"),
        ([" [1.0]", " [0.0]"], 2, "too few games: "),
        ([" [1.0]", " [0.0]", "x"], 900, r"lines\.epd: .*line 3: .*--max-unusable"),
    ],
)
def test_what_nothing_can_be_learnt_of_is_told(
    evaluator, tmp_path, results: list[str], n: int, match: str
) -> None:
    path = epd(tmp_path, results, n)
    with pytest.raises(UserError, match=match):
        made(tmp_path / "out", path, evaluator)
    assert not list((tmp_path / "out").iterdir())


def test_filters_that_leave_nothing_and_bad_sources_are_told(evaluator, tmp_path) -> None:
    path = epd(tmp_path, [" [1.0]", " [0.0]"])
    with pytest.raises(UserError, match=r"no position of .* passes the filters: opening 60"):
        made(tmp_path / "out", path, evaluator, min_ply=200)
    with pytest.raises(UserError, match="is given twice"):
        made(tmp_path / "out", [path, path], evaluator)
    with pytest.raises(UserError, match="there is no file"):
        made(tmp_path / "out", tmp_path / "none.epd", evaluator)
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(UserError, match="the name of a position file ends in"):
        made(tmp_path / "out", tmp_path / "a.txt", evaluator)
    table = tmp_path / "a.csv"
    table.write_text("fen,result\n8/5k2/8/8/3P4/8/5K2/8 w - - 0 40,0.5\n,2\n")
    with pytest.raises(UserError, match=r"line 3: the result '2' is none of 1, 0\.5, 0"):
        made(tmp_path / "out", table, evaluator, max_unusable=0)
