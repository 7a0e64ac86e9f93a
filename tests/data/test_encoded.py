"""Files of other formats as shards: the same positions from any place, and noticed when changed."""

from __future__ import annotations

import io
import json
import shutil
import tracemalloc
from collections import Counter
from pathlib import Path

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab import data
from nnuelab.data import conversion, dataset, encoded, joining, sampler, validation
from nnuelab.data.dataset import Dataset
from nnuelab.data.encoded import Encoded
from nnuelab.data.records import NO_SCORE, RECORD, captures, in_check, to_fen
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError
from nnuelab.report.inspect import inspect
from tests.data.test_formats import saved, whole_games
from tests.nnue_data import pack_move

SUFFIXES = [".binpack", ".bf", ".plain"]


def every(records: np.ndarray) -> np.ndarray:
    return np.ones(len(records), bool)


def read(path: Path) -> np.ndarray:
    return np.concatenate([*conversion.of(path).read(path, Unusable(path, 0))])


def bag(records: np.ndarray) -> Counter[bytes]:
    return Counter(record.tobytes() for record in records)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of some games in each format, in blocks that are small enough to be many."""
    found = tmp_path_factory.mktemp("files")
    source = saved(found / "a.npy", whole_games(60))
    for suffix in SUFFIXES:
        conversion.convert(source, found / f"a{suffix}")
    return found


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded, "POSITIONS", 200)


def joined(folder: Path, tmp_path: Path, **weights: float) -> Dataset:
    files = {folder / f"a.{suffix}": weight for suffix, weight in weights.items()}
    return joining.join(tmp_path / "all.shards", files)[0]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_slice_is_what_the_reader_reads(folder: Path, tmp_path: Path, suffix: str) -> None:
    path = folder / f"a{suffix}"
    records = read(path)
    opened = joining.join(tmp_path / "all.shards", {path: 1})[0]
    (shard,) = opened.shards
    assert isinstance(shard, Encoded)
    assert len(shard.blocks) > 10
    assert np.array_equal(opened.records, records)
    draw = np.random.default_rng(1)
    for start, stop in [(0, 0), (5, 3), (len(records), 10**9), *draw.integers(-9, 5000, (40, 2))]:
        assert np.array_equal(shard[int(start) : int(stop)], records[int(start) : int(stop)])
    places = np.unique(draw.integers(0, len(records), 50))
    assert np.array_equal(shard.at(places), records[places])
    assert opened.content_hash() == data.open(saved(tmp_path / "b.npy", records)).content_hash()
    assert np.array_equal(np.concatenate([*validation.chunks(opened.path)]), records)
    assert np.array_equal(opened.spaced(100), records[dataset.evenly(len(records), 100)])
    assert len(opened.spaced(1000)) == 1000
    assert inspect(opened.path).to_json()["positions"] == len(records)


def test_blocks_of_a_large_binpack_are_what_its_authors_decode(
    shared: Path, tmp_path: Path
) -> None:
    path = shared / "data" / "evals" / "nnue-pytorch_small.binpack"
    opened = joining.join(tmp_path / "all.shards", {path: 1})[0]
    assert np.array_equal(opened.records, read(path))
    assert len(opened) == 434_921


def test_no_block_of_a_binpack_cuts_a_game(folder: Path, tmp_path: Path) -> None:
    (shard,) = joined(folder, tmp_path, binpack=1).shards
    last = shard[:]["game"][shard.starts[1:-1] - 1]
    first = shard[:]["game"][shard.starts[1:-1]]
    assert (first == last + 1).all()


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 700),
    st.integers(200, 3000),
    st.tuples(*[st.integers(1, 3)] * 3),
    st.integers(0, 5),
    st.integers(1, 3),
)
def test_an_epoch_is_a_pass_over_all_files(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, size, window, weights, epoch, workers
) -> None:
    chosen = dict(zip(("binpack", "bf", "npy"), weights, strict=True))
    opened = joined(folder, tmp_path_factory.mktemp("index"), **chosen)
    walk = sampler.Walk(opened)
    expected = Counter[bytes]()
    for shard, weight in zip(opened.shards, weights, strict=True):
        for _ in range(weight):
            expected += bag(shard[:])
    assert walk.stride == expected.total()
    batches = [
        *sampler.shuffled(
            opened, size, 3, epoch, keep=every, window=window, walk=walk, workers=workers
        )
    ]
    assert bag(np.concatenate(batches)) == expected
    assert {len(batch) for batch in batches[:-1]} <= {size}


def test_an_epoch_begins_where_the_one_before_ends(folder: Path, tmp_path: Path) -> None:
    opened = joined(folder, tmp_path, binpack=1, plain=2)
    walk = sampler.Walk(opened)
    epochs, rest = divmod(walk.stride, 777)
    walk.stride = walk.samples = 777
    found = Counter[bytes]()
    for epoch in range(epochs):
        batches = [*sampler.shuffled(opened, 100, 1, epoch, keep=every, window=500, walk=walk)]
        assert [len(batch) for batch in batches] == [100] * 7 + [77]
        found += bag(np.concatenate(batches))
    expected = bag(opened.shards[0][:]) + bag(opened.shards[1][:]) + bag(opened.shards[1][:])
    assert not found - expected
    assert (expected - found).total() == rest


def test_weights_are_how_often_a_position_is_seen(folder: Path, tmp_path: Path) -> None:
    opened = joined(folder, tmp_path, binpack=0.3, bf=2.5)
    walk, passes = sampler.Walk(opened), 10
    walk.stride = sum(walk._length(number) for number in range(passes))
    seen = np.zeros(len(opened), np.int64)
    for ranges in walk.windows(1, 0, 10_000):
        for start, stop in ranges:
            seen[start:stop] += 1
        if seen.sum() >= walk.stride:
            break
    first = len(opened.shards[0])
    assert set(seen[:first]) == {3}
    assert set(seen[first:]) == {25}


@pytest.mark.parametrize("weight", [1e-300, 1e-9, 0.001])
def test_weights_below_one_count_by_their_ratios(
    folder: Path, tmp_path: Path, weight: float
) -> None:
    opened = joined(folder, tmp_path, binpack=weight, bf=weight)
    walk = sampler.Walk(opened)
    assert walk.stride == len(opened)
    first = next(walk.windows(1, 0, len(opened)))
    assert sum(stop - start for start, stop in first) == len(opened)


def test_windows_mix_the_files(folder: Path, tmp_path: Path) -> None:
    opened = joined(folder, tmp_path, binpack=1, bf=1)
    windows = sampler.Walk(opened).windows(1, 0, 2000)
    first = len(opened.shards[0])
    shares = [
        sum(stop - start for start, stop in next(windows) if start < first) / 2000 for _ in range(3)
    ]
    assert 0.1 < min(shares) <= max(shares) < 0.9


def test_orders_follow_from_seed_and_epoch_alone(folder: Path, tmp_path: Path) -> None:
    opened = joined(folder, tmp_path, binpack=1, bf=2)

    def first(seed: int, epoch: int, workers: int) -> bytes:
        walk = sampler.Walk(opened)
        return next(
            sampler.shuffled(opened, 300, seed, epoch, window=1000, walk=walk, workers=workers)
        ).tobytes()

    assert first(1, 0, 1) == first(1, 0, 3)
    assert len({first(seed, epoch, 1) for seed in range(3) for epoch in range(3)}) == 9


def test_no_more_than_a_few_windows_of_any_size_are_in_memory(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoded, "POSITIONS", 2000)
    path = tmp_path / "large.binpack"
    small = (shared / "data" / "evals" / "nnue-pytorch_small.binpack").read_bytes()
    path.write_bytes(2 * small)
    opened = joining.join(tmp_path / "all.shards", {path: 1})[0]
    walk, n = sampler.Walk(opened), 0
    tracemalloc.start()
    for batch in sampler.shuffled(opened, 1000, 1, 0, window=20_480, walk=walk):
        n += len(batch)
        if n >= 400_000:
            break
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * 20_480 * RECORD.itemsize < 0.2 * len(opened) * RECORD.itemsize


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_part_is_held_out_and_shares_no_game(folder: Path, tmp_path: Path, suffix: str) -> None:
    path, index = folder / f"a{suffix}", tmp_path / "train.shards"
    opened, count = joining.join(index, {path: 1}, tmp_path / "v.npy", 0.5, 5)
    held = np.load(tmp_path / "v.npy")
    records = read(path)
    assert len(held) == count
    assert 0 < count < len(records) - len(opened)
    boards = ["occupied", "pieces_low", "pieces_high", "ply", "score", "result", "flags"]
    rows = [row.item() for row in records[boards]]
    times = Counter(rows)
    game_of = dict(zip(rows, records["game"].tolist(), strict=True))
    told = [row.item() for row in held[boards] if times[row.item()] == 1]
    games = {game_of[row] for row in told}
    assert len(told) > 0.8 * count
    assert games
    assert not games & set(opened.records["game"].tolist())
    assert len(np.unique(held["game"])) >= len(games)
    again = joining.join(index, {path: 1}, tmp_path / "w.npy", 0.5, 5)[0]
    assert again.content_hash() == opened.content_hash()
    assert (tmp_path / "v.npy").read_bytes() == (tmp_path / "w.npy").read_bytes()


def test_nothing_held_out_is_told(folder: Path, tmp_path: Path) -> None:
    files = {folder / "a.binpack": 1.0}
    with pytest.raises(UserError, match="none is held out"):
        joining.join(tmp_path / "a.shards", files, tmp_path / "v.npy", 1e-9)
    assert not [*tmp_path.iterdir()]
    with pytest.raises(UserError, match="both --validation and"):
        joining.join(tmp_path / "a.shards", files, tmp_path / "v.npy")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bad_files_are_one_line(folder: Path, tmp_path: Path, suffix: str) -> None:
    content = (folder / f"a{suffix}").read_bytes()
    path, index = tmp_path / f"b{suffix}", tmp_path / "b.shards"

    def told(changed: bytes) -> str:
        path.write_bytes(changed)
        with pytest.raises(UserError) as error:
            joining.join(index, {path: 1})
        assert not index.exists()
        assert "\n" not in str(error.value)
        assert str(path) in str(error.value)
        return str(error.value)

    assert "has no positions" in told(b"")
    assert "something else than positions" in told(content[:-3])
    told(content[: len(content) // 2] + b"something" + content[len(content) // 2 :])
    told((folder / f"a{'.bf' if suffix != '.bf' else '.binpack'}").read_bytes())
    path.unlink()
    with pytest.raises(UserError, match="No such file"):
        joining.join(index, {path: 1})
    for weight in (0, -1, float("nan"), 1e9):
        with pytest.raises(UserError, match="a weight is from 0"):
            joining.join(index, {folder / f"a{suffix}": weight})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_changed_is_noticed(folder: Path, tmp_path: Path, suffix: str) -> None:
    path, index = tmp_path / f"a{suffix}", tmp_path / "a.shards"
    shutil.copy(folder / path.name, path)
    opened = joining.join(index, {path: 1})[0]
    content = bytearray(path.read_bytes())
    path.write_bytes(content + b"\n")
    with pytest.raises(UserError, match=r"bytes, not .* index` again"):
        data.open(index)
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    middle = len(opened) // 2
    with pytest.raises(UserError, match=r"from byte \d+ on the file isn't what it was"):
        data.open(index).shards[0][:]
    assert len(data.open(index).shards[0][middle + 500 : middle + 600]) == 100
    path.unlink()
    with pytest.raises(UserError, match="can't read"):
        data.open(index)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("blocks", "AAAA"),
        ("blocks", "?"),
        ("blocks", 3),
        ("bytes", 10),
        ("positions", 7),
        ("weight", 0),
        ("weight", "many"),
        ("file", "a.npy"),
    ],
)
def test_a_damaged_index_is_one_line(folder: Path, tmp_path: Path, key: str, value: object) -> None:
    index = joined(folder, tmp_path, binpack=1).path
    changed = json.loads(index.read_text())
    changed["shards"][0][key] = value
    index.write_text(json.dumps(changed))
    with pytest.raises(UserError) as error:
        data.open(index)
    assert "\n" not in str(error.value)


def test_checks_and_captures_are_those_of_python_chess() -> None:
    records = whole_games(30, seed=2)
    boards = [chess.Board(to_fen(record)) for record in records]
    assert in_check(records).tolist() == [board.is_check() for board in boards]
    taken = []
    for board, record in zip(boards, records, strict=True):
        (move,) = (m for m in board.legal_moves if pack_move(board, m) == record["move"])
        taken.append(board.is_capture(move) or move.promotion is not None)
    assert captures(records, records["move"]).tolist() == taken
    assert 0 < in_check(records).sum() < len(records)


def test_a_file_without_an_index_is_told_to_get_one(folder: Path) -> None:
    with pytest.raises(UserError, match=r"needs an index: nnuelab data index .*a\.binpack"):
        data.open(folder / "a.binpack")


def test_a_plain_file_may_begin_with_a_byte_order_mark(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.plain"
    path.write_bytes(b"\xef\xbb\xbf" + (folder / "a.plain").read_bytes().replace(b"\n", b"\r\n"))
    opened = joining.join(tmp_path / "a.shards", {path: 1})[0]
    assert np.array_equal(opened.records, read(folder / "a.plain"))


def test_positions_without_a_score_are_left_out_of_training(tmp_path: Path) -> None:
    records = whole_games(20)
    records["score"][::3] = NO_SCORE
    file = io.BytesIO()
    conversion.FORMATS[".binpack"].write(file, [records], Counter())  # type: ignore[misc]
    (tmp_path / "a.binpack").write_bytes(file.getvalue())
    opened = joining.join(tmp_path / "a.shards", {tmp_path / "a.binpack": 1})[0]
    walk = sampler.Walk(opened)
    kept, seen = sampler.of_walk(opened, walk, sampler.scored, walk.stride)
    assert (kept, seen) == ((records["score"] != NO_SCORE).sum(), len(records))
