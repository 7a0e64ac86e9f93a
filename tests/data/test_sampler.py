"""Sets larger than memory: every position once, well mixed, in an order of the seed alone."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab import data
from nnuelab.chess.notation import STARTING_FEN
from nnuelab.data import dataset, sampler
from nnuelab.data.dataset import Dataset, writing
from nnuelab.data.records import NO_SCORE, RECORD, from_fen
from nnuelab.errors import UserError
from nnuelab.report.inspect import inspect


def numbered(n: int) -> np.ndarray:
    """RECORD [n] that tell their place by ``occupied``."""
    records = np.zeros(n, RECORD)
    records["occupied"] = np.arange(n)
    return records


def cut(records: np.ndarray, cuts: list[int]) -> Dataset:
    return Dataset(Path(), tuple(np.split(records, sorted(cuts))))


def saved(path: Path, records: np.ndarray) -> Path:
    with writing(path) as writer:
        writer.append(records)
    return path


@given(st.integers(1, 3000), st.integers(1, 700), st.integers(0, 2**40), st.integers(0, 5))
def test_a_set_of_one_window_is_shuffled_as_a_whole(n, size, seed, epoch) -> None:
    found = [b["occupied"] for b in sampler.shuffled(cut(numbered(n), []), size, seed, epoch)]
    order = np.random.default_rng([seed, epoch]).permutation(n)
    expected = [np.sort(order[start : start + size]) for start in range(0, n, size)]
    assert len(found) == len(expected)
    assert all(map(np.array_equal, found, expected))


@given(
    st.integers(1, 3000),
    st.integers(1, 700),
    st.integers(1, 40),
    st.integers(1, 10),
    st.lists(st.integers(0, 3000), max_size=3),
    st.sampled_from([0, 0.01, 0.5]),
)
def test_every_scored_position_comes_once(n, size, block, blocks, cuts, missing) -> None:
    records = numbered(n)
    records["score"][np.random.default_rng(1).random(n) < missing] = NO_SCORE
    batches = [
        [*sampler.shuffled(cut(records, places), size, 3, 1, window=block * blocks, block=block)]
        for places in (cuts, [])
    ]
    assert all(map(np.array_equal, *batches))  # where shards are cut doesn't matter
    scored = np.flatnonzero(records["score"] != NO_SCORE)
    assert sampler.count(cut(records, cuts)) == len(scored)
    assert [len(batch) for batch in batches[0][:-1]] == [size] * (len(batches[0]) - 1)
    if len(scored):
        assert np.array_equal(np.sort(np.concatenate(batches[0])["occupied"]), scored)
        in_order = np.concatenate([*sampler.in_order(cut(records, cuts), size)])
        assert np.array_equal(in_order["occupied"], scored)
        before = np.append(0, np.cumsum(sampler.mask(cut(records, cuts))))
        order = sampler.order(before, 3, 1, window=block * blocks, block=block)
        for first, batch in zip(range(0, len(order), size), batches[0], strict=True):
            chosen = scored[order[first : first + size]]
            assert np.array_equal(np.sort(chosen), np.sort(batch["occupied"]))


def test_a_share_of_the_games_is_whole_games_and_holds_the_smaller_shares() -> None:
    records = np.zeros(200_000, RECORD)
    records["game"] = np.repeat(np.arange(20_000), 10)
    before: set[int] = set()
    for share in (0.0, 0.1, 0.25, 0.5, 1.0):
        kept = sampler.of_games(records, share)
        games = set(records["game"][kept].tolist())
        assert kept.sum() == 10 * len(games)
        assert len(games) == pytest.approx(20_000 * share, rel=0.01)
        assert before <= games
        before = games


def test_other_seeds_and_epochs_are_other_orders() -> None:
    positions = cut(numbered(5000), [])

    def first(seed: int, epoch: int) -> list[int]:
        batches = sampler.shuffled(positions, 100, seed, epoch, window=1000, block=10)
        return next(batches)["occupied"].tolist()

    assert first(1, 0) == first(1, 0)
    assert len({tuple(first(seed, epoch)) for seed in range(3) for epoch in range(3)}) == 9


def test_a_batch_of_a_large_set_comes_from_everywhere() -> None:
    n = 100 * 2048
    batch = next(sampler.shuffled(cut(numbered(n), []), 4096, 1, 0, window=n // 4))
    blocks, counts = np.unique(batch["occupied"] // sampler.BLOCK, return_counts=True)
    assert len(blocks) == 25  # those of a window
    assert counts.max() < 2 * 4096 / 25
    assert blocks.max() - blocks.min() > 50


def test_no_more_than_a_few_windows_are_in_memory(tmp_path: Path) -> None:
    path = saved(tmp_path / "set.npy", numbered(400_000))
    opened = data.open(path)
    tracemalloc.start()
    for _ in sampler.shuffled(opened, 1000, 1, 0, window=20_480):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 20_480 * RECORD.itemsize


def test_shards_are_one_dataset(tmp_path: Path) -> None:
    records = np.repeat(np.array([from_fen(STARTING_FEN)], RECORD), 1000)
    records["score"] = np.arange(1000)
    (tmp_path / "months").mkdir()
    shards = [
        saved(tmp_path / "months" / f"{i}.npy", part)
        for i, part in enumerate(np.split(records, [300, 300, 650]))
    ]
    index = tmp_path / "all.shards"
    dataset.write_index(index, shards)
    whole = data.open(saved(tmp_path / "whole.npy", records))
    joined = data.open(index)
    assert len(joined) == 1000
    assert np.array_equal(joined.records, records)
    assert joined.content_hash() == whole.content_hash() == json.loads(index.read_text())["content"]
    assert whole.content_hash() == hashlib.sha256(records.tobytes()).hexdigest()
    for start, stop in ((0, 1000), (290, 660), (300, 301), (999, 5000)):
        parts = [*joined.parts(start, stop)]
        assert np.array_equal(np.concatenate(parts), records[start:stop])
        assert all(isinstance(part, np.memmap) for part in parts)
    told = inspect(index).to_json()
    assert (told["kind"], told["positions"], told["shards"]) == ("dataset", 1000, 4)
    assert told["content"] == whole.content_hash()


def test_a_damaged_dataset_is_told_instead_of_shown(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is damaged: its pieces are impossible"):
        inspect(saved(tmp_path / "set.npy", numbered(10)))


def test_an_index_that_does_not_fit_its_shards_is_refused(tmp_path: Path) -> None:
    first = saved(tmp_path / "a.npy", numbered(10))
    index = tmp_path / "x.shards"
    with pytest.raises(UserError, match="no index"):
        data.open(index)
    with pytest.raises(UserError, match="twice"):
        dataset.write_index(index, [first, tmp_path / "." / "a.npy"])
    with pytest.raises(UserError, match=r"ends in \.shards"):
        dataset.write_index(tmp_path / "x.json", [first])
    with pytest.raises(UserError, match="no dataset"):
        dataset.write_index(index, [tmp_path / "none.npy"])
    assert not index.exists()
    dataset.write_index(index, [first])
    saved(first, numbered(11))
    with pytest.raises(UserError, match=r"11 positions, .* says 10"):
        data.open(index)
    index.write_text('{"shards": [3]}')
    with pytest.raises(UserError, match="is not an index of shards"):
        data.open(index)


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=3),
    st.integers(1, 40),
    st.integers(1, 200),
    st.integers(1, 9),
)
def test_processes_share_a_pass(shards: list[int], block: int, window: int, processes: int) -> None:
    """Each position is read once, whatever the number of blocks."""
    count = sum(shards)
    walk = sampler.Walk(cut(numbered(count), np.cumsum(shards)[:-1].tolist()), block)
    read = np.zeros(count, int)
    for process in range(processes):
        left = count * (process + 1) // processes - count * process // processes
        if not left:
            continue
        for ranges in walk.of_process(process, processes, left).windows(1, 0, window):
            left -= sum(stop - start for start, stop in ranges)
            for start, stop in ranges:
                read[start:stop] += 1
            if left <= 0:
                break
        assert left == 0
    assert (read == 1).all()
