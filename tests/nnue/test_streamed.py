"""Training straight from files of other formats: epochs, filters, resuming to the same bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnuelab import data, features
from nnuelab.data import conversion, dataset, encoded, joining
from nnuelab.data.records import NO_SCORE
from nnuelab.errors import UserError
from nnuelab.learning.filters import Filters
from nnuelab.learning.loader import Loader
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.losses import PQR, Scores
from nnuelab.nnue.trainer import Settings
from tests.nnue.test_runs import SETTINGS, run
from tests.nnue_data import write_datasets

Data = tuple[Path, Path]
FEATURES = features.parse("H+V")


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """An index of the training positions as two files, and what validates."""
    folder = tmp_path_factory.mktemp("streamed")
    train, validation = write_datasets(folder)
    conversion.convert(train, folder / "a.binpack")
    conversion.convert(train, folder / "b.bf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoded, "POSITIONS", 100)
        joining.join(folder / "all.shards", {folder / "a.binpack": 1, folder / "b.bf": 2})
    return folder / "all.shards", validation


def bag(records: np.ndarray) -> Counter[bytes]:
    return Counter(record.tobytes() for record in records)


def loaded(path: Path, epoch: int, **options: Any) -> list[np.ndarray]:
    loader = Loader(path, FEATURES, Scores(), 100, **options)
    return [labelled.records.copy() for labelled in loader.shuffled(3, epoch)]


def test_an_epoch_has_all_positions_with_a_score_by_weight(streamed: Data) -> None:
    first, second = (shard[:] for shard in data.open(streamed[0]).shards)
    expected = np.concatenate([first, second, second])
    expected = expected[expected["score"] != NO_SCORE]
    for epoch in range(2):
        assert bag(np.concatenate(loaded(streamed[0], epoch))) == bag(expected)


def test_epochs_of_a_stated_number_follow_each_other(streamed: Data) -> None:
    whole = sum(map(len, loaded(streamed[0], 0)))
    filters = Filters(epoch_positions=450)
    epochs = [loaded(streamed[0], epoch, filters=filters) for epoch in range(whole // 450)]
    assert [len(batch) for epoch in epochs for batch in epoch] == [100, 100, 100, 100, 50] * len(
        epochs
    )
    seen = bag(np.concatenate([batch for epoch in epochs for batch in epoch]))
    one_pass = bag(np.concatenate(loaded(streamed[0], 0)))
    # Some positions have no score: an epoch ends where it is expected to, not to the position.
    assert (seen - one_pass).total() < 0.05 * whole


def test_an_epoch_may_be_longer_than_the_files(streamed: Data) -> None:
    batches = loaded(streamed[0], 1, filters=Filters(epoch_positions=50_000))
    assert sum(map(len, batches)) == 50_000


def test_a_dataset_may_have_epochs_of_a_stated_number(tmp_path: Path) -> None:
    train, _ = write_datasets(tmp_path)
    scored = np.load(train)
    scored = scored[scored["score"] != NO_SCORE]
    np.save(tmp_path / "scored.npy", scored)
    filters = Filters(epoch_positions=len(scored))
    for epoch in range(2):
        found = np.concatenate(loaded(tmp_path / "scored.npy", epoch, filters=filters))
        assert bag(found) == bag(scored)


@pytest.mark.parametrize(
    "filters", [Filters(), Filters(epoch_positions=1050)], ids=["pass", "stated"]
)
@pytest.mark.parametrize("parts", [2, 3])
def test_each_process_reads_its_own_share(
    streamed: Data, parts: int, filters: Filters, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = loaded(streamed[0], 1, filters=filters)
    one_pass = np.concatenate(loaded(streamed[0], 0))
    read, shares = dataset.Dataset.parts, []
    for part in range(parts):
        options: dict[str, Any] = {"part": part, "parts": parts, "filters": filters}
        loader = Loader(streamed[0], FEATURES, Scores(), 100, **options)
        seen: list[int] = []

        def watched(self: dataset.Dataset, start: int, stop: int, seen: list[int] = seen) -> Any:
            seen.append(stop - start)
            return read(self, start, stop)

        with monkeypatch.context() as patch:
            patch.setattr(dataset.Dataset, "parts", watched)
            shares.append(list(loader.shuffled(3, 1)))
        # What follows where fewer than expected have a score is read by its share, too.
        assert sum(seen) < 2.1 * len(one_pass) / parts
    # Batches are as large as those of one process, ...
    totals = [len(records) for records in alone]
    assert [sum(len(own.records) for own in batch) for batch in zip(*shares, strict=True)] == totals
    assert all([own.total for own in share] == totals for share in shares)
    # ... and of the positions of a pass few are left out, or come twice.
    together = bag(np.concatenate([own.records for share in shares for own in share]))
    assert (together - bag(one_pass)).total() < 0.1 * len(one_pass)


def test_there_may_be_more_processes_than_blocks(streamed: Data) -> None:
    filters = Filters(epoch_positions=3000)
    shares = [loaded(streamed[1], 1, part=n, parts=5, filters=filters) for n in range(5)]
    assert [[len(batch) for batch in share] for share in shares] == [[20] * 30] * 5


def test_batches_are_the_same_from_any_number_of_workers(streamed: Data) -> None:
    filters = Filters(min_ply=20, skip_check=True, epoch_positions=1000)
    one, four = (loaded(streamed[0], 2, workers=n, filters=filters) for n in (1, 4))
    assert all(map(np.array_equal, one, four))


@pytest.mark.parametrize(
    "more",
    [{}, {"epoch_positions": 1500, "skip_check": True}, {"epoch_share": 0.7, "objective": PQR()}],
    ids=["passes", "positions", "share of triplets"],
)
def test_a_run_continues_within_an_epoch_to_the_same_bytes(
    more: dict[str, Any], streamed: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: Settings = replace(SETTINGS, epochs=2, batch_size=300, **more)
    expected = run(settings, streamed, tmp_path / "whole")
    folder, stops = tmp_path / "stopped", 0
    write = Checkpoint.write

    def write_and_stop(self: Checkpoint, path: Path) -> None:
        write(self, path)
        raise KeyboardInterrupt

    while not (folder / "checkpoint.pt").exists():
        monkeypatch.setattr(Checkpoint, "write", write_and_stop)
        try:
            assert run(settings, streamed, folder, save_seconds=0.0) == expected
        except KeyboardInterrupt:
            stops += 1
    assert stops >= 4
    for name in ("checkpoint.pt", "history.csv"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_filters_of_moves_see_no_damaged_position(tmp_path: Path, streamed: Data) -> None:
    """They generate moves, before a batch is looked at."""
    records = np.array(data.open(streamed[1]).records)
    records["occupied"][5] = 0
    with dataset.writing(tmp_path / "damaged.npy") as writer:
        writer.append(records)
    filters = Filters(skip_check=True, epoch_positions=50)
    with pytest.raises(UserError, match="is damaged: its pieces"):
        loaded(tmp_path / "damaged.npy", 0, filters=filters)


def test_filters_that_nothing_passes_are_told(streamed: Data) -> None:
    for positions in (0, 1000):
        filters = Filters(min_ply=5000, epoch_positions=positions)
        with pytest.raises(UserError, match="no sample that passes the filters"):
            Loader(streamed[0], FEATURES, Scores(), 100, filters=filters)
