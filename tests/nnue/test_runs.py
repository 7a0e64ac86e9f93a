"""Runs: killed and continued, stopped early, fine-tuned, in several processes, on bad input."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from nnuelab import data, features
from nnuelab.data.records import NO_SCORE
from nnuelab.errors import UserError
from nnuelab.learning import first_layer
from nnuelab.learning.loader import Loader, Objective
from nnuelab.learning.run import _read_times
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.losses import PQR, Scores, Triplet
from nnuelab.nnue.network import Network
from nnuelab.nnue.trainer import Settings
from nnuelab.nnue.training import train
from tests.nnue_data import write_datasets

SETTINGS = Settings("H+V", l1=72, l2=8, epochs=3, batch_size=256, learning_rate=1e-3, lr_decay=0.9)
Data = tuple[Path, Path]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return write_datasets(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Games whose moves take what can be taken."""
    return write_datasets(tmp_path_factory.mktemp("greedy"), greedy=True)


def run(settings: Settings, data: Data, folder: Path, **options: object) -> str:
    done = train(settings, *data, folder / "checkpoint.pt", folder / "history.csv", 1, **options)  # type: ignore[arg-type]
    return done.digest()


def history(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "history.csv")


COMMAND = """
import sys
from dataclasses import replace
from pathlib import Path
from nnuelab.nnue.losses import METHODS
from tests.nnue.test_runs import SETTINGS, run
train, validation, folder, method, epochs = sys.argv[1:]
settings = replace(SETTINGS, epochs=int(epochs), objective=METHODS[method]())
run(settings, (Path(train), Path(validation)), Path(folder), save_seconds=0.0)
"""


def kill_at(wait: float, data: Data, folder: Path, *settings: str) -> bool:
    """Starts a run, and kills it so many seconds after it has written a checkpoint."""
    partial = folder / "checkpoint.pt.partial"
    before = partial.stat().st_mtime_ns if partial.exists() else 0
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, data), str(folder), *settings]
    )
    while process.poll() is None:
        if partial.exists() and partial.stat().st_mtime_ns > before:
            time.sleep(wait)
            break
        time.sleep(0.005)
    process.kill()
    return process.wait() == -signal.SIGKILL


def check_kills(waits: list[float], data: Data, tmp_path: Path, method: str) -> None:
    objective: Objective = {"scores": Scores(), "pqr": PQR()}[method]
    epochs = 20 * len(waits)  # enough for nearly all kills to come before the end
    settings = replace(SETTINGS, epochs=epochs, objective=objective)
    expected = run(settings, data, tmp_path / "whole")
    folder = tmp_path / "killed"
    folder.mkdir()
    kills = sum(kill_at(wait, data, folder, method, str(epochs)) for wait in waits)
    assert kills > len(waits) // 2
    assert run(settings, data, folder) == expected
    columns = ["epoch", "train_loss", "validation_loss", "learning_rate"]
    pd.testing.assert_frame_equal(history(folder)[columns], history(tmp_path / "whole")[columns])


def test_a_killed_run_continues_to_the_same_net(datasets: Data, tmp_path: Path) -> None:
    check_kills([0.05, 0.2], datasets, tmp_path, "pqr")


@pytest.mark.slow
def test_twenty_kills_change_nothing(datasets: Data, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    check_kills([float(wait) for wait in rng.uniform(0, 0.4, 20)], datasets, tmp_path, "scores")


@pytest.mark.parametrize(
    "more",
    [
        {"average": 0.3, "weight_decay": 0.1},
        {"average": 0.3, "fake_quantize_epochs": 2, "buckets": 3},
        {"fake_quantize_epochs": 2, "buckets": 3},
        {"average": 0.3, "factorize": "all"},
    ],
)
def test_a_run_continues_within_an_epoch(
    more: dict[str, Any], datasets: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after each of its checkpoints in turn."""
    settings = replace(SETTINGS, **more)
    expected = run(settings, datasets, tmp_path / "whole")
    folder, written = tmp_path / "stopped", 0
    write = Checkpoint.write

    def write_and_stop(self: Checkpoint, path: Path) -> None:
        write(self, path)
        raise KeyboardInterrupt

    within = 0
    while not (folder / "checkpoint.pt").exists():
        monkeypatch.setattr(Checkpoint, "write", write_and_stop)
        try:
            assert run(settings, datasets, folder, save_seconds=0.0) == expected
        except KeyboardInterrupt:
            written += 1
            within += Checkpoint.read(folder / "checkpoint.pt.partial").running.batches > 0
    for name in ("checkpoint.pt", "history.csv"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert within == 3 * 6  # of 7 batches, the last one ends the epoch
    assert written == within + 3


@pytest.mark.parametrize(("method", "positions"), [(Scores(), 1), (PQR(), 3), (Triplet(), 3)])
def test_a_triplet_is_three_positions_of_the_speed(
    method: Objective, positions: int, datasets: Data, tmp_path: Path, monkeypatch
) -> None:
    clock = SimpleNamespace(perf_counter=itertools.count().__next__)  # a batch takes a second
    monkeypatch.setattr("nnuelab.learning.run.time", clock)
    run(replace(SETTINGS, epochs=1, objective=method), datasets, tmp_path)
    times = pd.read_csv(tmp_path / "history_times.csv")
    speed = times["positions_per_second"][0] / SETTINGS.batch_size
    assert positions * 6 / 7 < speed <= positions  # the last of seven batches is smaller


def test_times_that_are_damaged_are_none(tmp_path: Path) -> None:
    for text in ("epoch,seconds\nx,1\n", "epoch\ninf\n", "seconds\n1\n", "\0"):
        (tmp_path / "history_times.csv").write_text(text)
        assert _read_times(tmp_path / "history_times.csv", 3) == {}


def test_an_epoch_of_one_batch_has_a_speed(datasets: Data, tmp_path: Path) -> None:
    samples = np.count_nonzero(data.open(datasets[0]).records["score"] != NO_SCORE)
    run(replace(SETTINGS, epochs=1, batch_size=int(samples)), datasets, tmp_path)
    assert pd.read_csv(tmp_path / "history_times.csv")["positions_per_second"][0] > 0


@pytest.mark.parametrize("method", [PQR(), Triplet()])
def test_triplets_depend_on_the_seed_alone(
    datasets: Data, tmp_path: Path, method: Objective
) -> None:
    settings = replace(SETTINGS, epochs=1, objective=method)
    first = run(settings, datasets, tmp_path / "a")
    again = train(settings, *datasets, tmp_path / "b.pt", tmp_path / "b.csv", 3)
    assert again.digest() == first
    assert run(replace(settings, seed=2), datasets, tmp_path / "c") != first


def test_pqr_learns_which_move_is_better(greedy: Data, tmp_path: Path) -> None:
    settings = replace(SETTINGS, feature_set="ALL", l1=32, objective=PQR(), learning_rate=5e-3)
    run(replace(settings, learning_rate=1e-12), greedy, tmp_path / "untrained")
    run(settings, greedy, tmp_path / "trained")
    untrained, trained = history(tmp_path / "untrained"), history(tmp_path / "trained")
    assert list(trained)[:4] == ["epoch", "train_loss", "validation_loss", "right_sign"]
    assert trained["right_sign"].max() > untrained["right_sign"].iloc[-1] + 0.1
    assert trained["right_sign"].max() > 0.65


def test_a_filter_by_legal_moves_trains_on_fewer_and_validates_on_the_same(
    datasets: Data, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epochs=1, learning_rate=1e-12)
    losses = []
    for quantile in (0.0, 0.75):
        folder = tmp_path / str(quantile)
        run(replace(settings, objective=PQR(moves_quantile=quantile)), datasets, folder)
        losses.append(history(folder).iloc[0])
    assert losses[0]["validation_loss"] == pytest.approx(losses[1]["validation_loss"], rel=1e-6)
    assert losses[0]["train_loss"] != losses[1]["train_loss"]


def test_fine_tuning_begins_with_the_net_of_a_checkpoint(datasets: Data, tmp_path: Path) -> None:
    run(SETTINGS, datasets, tmp_path)
    start = tmp_path / "checkpoint.pt"
    tiny = replace(SETTINGS, epochs=1, learning_rate=1e-12, objective=PQR(), seed=9)
    run(tiny, datasets, tmp_path / "tuned", start=start)
    before = Checkpoint.read(start)
    after = Checkpoint.read(tmp_path / "tuned" / "checkpoint.pt")
    for name, tensor in before.model.items():
        torch.testing.assert_close(after.model[name], tensor, rtol=0, atol=1e-9)
    assert len(after.history) == 1
    with pytest.raises(UserError, match=r"from_sha256 .* there, '' here"):
        run(tiny, datasets, tmp_path / "tuned")


def test_fine_tuning_needs_a_net_of_the_same_shape(datasets: Data, tmp_path: Path) -> None:
    run(replace(SETTINGS, epochs=1), datasets, tmp_path)
    start = tmp_path / "checkpoint.pt"
    for other in ({"feature_set": "H"}, {"l1": 8}, {"factorize": "all"}):
        with pytest.raises(UserError, match=r"H\+V, 192 -> 72 x2 -> 8 -> 1, 0 shared rows, not of"):
            run(replace(SETTINGS, **other), datasets, tmp_path / "other", start=start)
    with pytest.raises(UserError, match=r"there is no checkpoint .*none.pt to start from"):
        run(SETTINGS, datasets, tmp_path / "other", start=tmp_path / "none.pt")


def test_an_early_stop_keeps_the_best_net(datasets: Data, tmp_path: Path) -> None:
    """A rate that is far too high from the third epoch on."""
    settings = replace(SETTINGS, epochs=30, patience=3, learning_rate=1e-3, lr_decay=1.9)
    run(settings, datasets, tmp_path)
    losses = history(tmp_path)["validation_loss"]
    best = int(losses.idxmin())
    assert len(losses) == best + 1 + 3 < 30
    kept = Checkpoint.read(tmp_path / "checkpoint.pt")
    assert kept.epoch == best + 1
    digest = run(settings, datasets, tmp_path)  # it is done
    assert digest == kept.digest()
    assert len(history(tmp_path)) == len(losses)
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob("*.best"))
    plain = replace(settings, epochs=best + 1, patience=0)
    assert run(plain, datasets, tmp_path / "plain") == digest


def test_more_epochs_are_another_run_where_the_schedule_depends_on_them(
    datasets: Data, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epochs=1, schedule="cosine")
    run(settings, datasets, tmp_path)
    with pytest.raises(UserError, match="epochs 1 there, 2 here"):
        run(replace(settings, epochs=2), datasets, tmp_path)


def test_the_schedule_is_that_of_the_steps(datasets: Data, tmp_path: Path) -> None:
    settings = replace(SETTINGS, epochs=2, schedule="cosine", warmup=3)
    run(settings, datasets, tmp_path)
    rates = history(tmp_path)["learning_rate"].tolist()  # of the last of 7 steps, of 14
    assert rates == pytest.approx([1e-3 * (1 + np.cos(np.pi * done / 14)) / 2 for done in (6, 13)])


def test_gradients_are_clipped(datasets: Data, tmp_path: Path) -> None:
    digests = {
        norm: run(replace(SETTINGS, epochs=1, clip_norm=norm), datasets, tmp_path / str(norm))
        for norm in (0.0, 1e-6, 1e6)
    }
    assert digests[0.0] == digests[1e6] != digests[1e-6]


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_batch(
    datasets: Data, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"the loss became nan .* batch is kept in .*nan.npy$"):
        run(replace(SETTINGS, learning_rate=1e38), datasets, tmp_path)
    assert not (tmp_path / "checkpoint.pt").exists()
    loader = Loader(datasets[0], features.parse(SETTINGS.feature_set), SETTINGS.objective, 256)
    _, second, *_ = loader.shuffled(SETTINGS.seed, 0)  # the loss is that before the step
    kept = data.open(tmp_path / "checkpoint.pt.nan.npy").records
    assert kept.tobytes() == second.records.tobytes()


def test_weights_that_are_no_numbers_are_not_saved(
    datasets: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss is that before the step."""
    clip, steps = Network.clip_weights, itertools.count(1)

    def spoil(network: Network) -> None:
        clip(network)
        if next(steps) == 3:
            network.w1.data[5, 3] = torch.nan

    monkeypatch.setattr(Network, "clip_weights", spoil)
    with pytest.raises(UserError, match=r"no numbers in epoch 1 .*, the last .*pt\.partial$"):
        run(SETTINGS, datasets, tmp_path, save_seconds=0.0)
    kept = Checkpoint.read(tmp_path / "checkpoint.pt.partial")
    assert kept.running.batches == 2
    assert kept.model["w1"].isfinite().all()


def test_other_settings_lose_no_run(datasets: Data, tmp_path: Path) -> None:
    """Neither a finished one, nor the unfinished one of more epochs beside it."""
    run(replace(SETTINGS, epochs=1), datasets, tmp_path)
    finished, partial = tmp_path / "checkpoint.pt", tmp_path / "checkpoint.pt.partial"
    begun = Checkpoint.read(finished)
    begun.settings["epochs"], begun.epoch = 9, 2
    begun.write(partial)
    before = finished.read_bytes(), partial.read_bytes()
    with pytest.raises(UserError, match=r"belongs to another run .*seed 1 there, 7 here"):
        run(replace(SETTINGS, epochs=1, seed=7), datasets, tmp_path)
    assert before == (finished.read_bytes(), partial.read_bytes())
    assert run(replace(SETTINGS, epochs=1), datasets, tmp_path) == begun.digest()
    assert (tmp_path / "checkpoint.pt.partial.old").read_bytes() == before[1]


def test_a_kill_between_the_last_two_files_changes_nothing(
    datasets: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With patience there are two at the end, the best net and the last one."""
    settings = replace(SETTINGS, epochs=30, patience=3, learning_rate=1e-3, lr_decay=1.9)
    expected = run(settings, datasets, tmp_path / "whole")
    unlink, removed = Path.unlink, list[str]()

    def unlink_once(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.suffix in (".partial", ".best") and (path.parent / "checkpoint.pt").exists():
            removed.append(path.name)
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "unlink", unlink_once)
    with pytest.raises(KeyboardInterrupt):
        run(settings, datasets, tmp_path / "killed")
    monkeypatch.undo()
    assert removed == ["checkpoint.pt.partial"]
    assert run(settings, datasets, tmp_path / "killed") == expected


def test_every_damaged_bit_of_a_checkpoint_is_noticed(datasets: Data, tmp_path: Path) -> None:
    run(replace(SETTINGS, epochs=1, l1=8), datasets, tmp_path)
    whole = Checkpoint.read(tmp_path / "checkpoint.pt")
    content = (tmp_path / "checkpoint.pt").read_bytes()
    path, rng = tmp_path / "damaged.pt", np.random.default_rng(3)
    pickled = content.index(b"data.pkl")
    for place in [*rng.integers(pickled, pickled + 3000, 200), *rng.integers(0, len(content), 50)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            told = Checkpoint.load(path).checksum()
        except UserError as error:
            told = str(error)
        # Some bits are padding, or what zip says twice.
        assert told == whole.checksum() or "can't be read as a checkpoint" in told


def test_a_damaged_dataset_stops_with_the_place(datasets: Data, tmp_path: Path) -> None:
    records = np.load(datasets[0])
    records["pieces_low"][701] = 0
    np.save(tmp_path / "damaged.npy", records)
    for objective in (Scores(), PQR()):
        settings = replace(SETTINGS, objective=objective)
        with pytest.raises(
            UserError, match=r"damaged\.npy: the position after ply \d+ of game \d+ is damaged"
        ):
            run(settings, (tmp_path / "damaged.npy", datasets[1]), tmp_path / "out")


def test_triplets_need_moves(datasets: Data, tmp_path: Path) -> None:
    records = np.load(datasets[0])
    records["move"] = 0
    np.save(tmp_path / "none.npy", records)
    with pytest.raises(UserError, match="no position with its move and another legal one"):
        run(replace(SETTINGS, objective=PQR()), (tmp_path / "none.npy", datasets[1]), tmp_path)


FULL = """
import resource, signal, sys
from pathlib import Path
from nnuelab.errors import UserError
from nnuelab.nnue.checkpoint import Checkpoint
made = Checkpoint.read(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    made.write(Path(sys.argv[2]))
except UserError as error:
    print(error)
    sys.exit(1)
"""


def test_a_full_disk_is_one_clear_line(datasets: Data, tmp_path: Path) -> None:
    """A file can't grow beyond less than a checkpoint; what was there before stays."""
    run(replace(SETTINGS, epochs=1), datasets, tmp_path)
    path = tmp_path / "checkpoint.pt"
    content = path.read_bytes()
    files = sorted(tmp_path.rglob("*"))
    for room in (0, len(content) // 2, len(content) - 100):
        command = [sys.executable, "-c", FULL, str(path), str(path), str(room)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith(f"can't write {path}: ")
        assert done.stdout.count("\n") == 1
        assert path.read_bytes() == content
        assert sorted(tmp_path.rglob("*")) == files


TOGETHER = """
import sys
from dataclasses import replace
from pathlib import Path
from tests.nnue.test_runs import SETTINGS, run
settings = replace(SETTINGS, optimizer=sys.argv[4])
run(settings, (Path(sys.argv[1]), Path(sys.argv[2])), Path(sys.argv[3]))
"""


@pytest.mark.parametrize("optimizer", ["adam", "rowwise-adam"])
def test_two_processes_have_the_loss_curve_of_one(
    optimizer: str, datasets: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_layer, "SMALL", 0)  # by the rows of a batch, which two can't do
    run(replace(SETTINGS, optimizer=optimizer), datasets, tmp_path / "one")
    script = tmp_path / "together.py"
    script.write_text(TOGETHER)
    root = Path(__file__).resolve().parents[2]
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    subprocess.run(
        [sys.executable, *command, *map(str, datasets), str(tmp_path / "two"), optimizer],
        check=True,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
    )
    one, two = history(tmp_path / "one"), history(tmp_path / "two")
    for column in ("train_loss", "validation_loss"):
        np.testing.assert_allclose(one[column], two[column], rtol=1e-3)


DYING = """
import os, signal, sys, threading, time
from dataclasses import replace
from pathlib import Path
from tests.nnue.test_runs import SETTINGS, run
train, validation, folder, mark = map(Path, sys.argv[1:5])

def die():
    while not (folder / "checkpoint.pt.partial").exists():
        time.sleep(0.005)
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)

if os.environ["RANK"] == "1" and not mark.exists():
    threading.Thread(target=die, daemon=True).start()
settings = replace(SETTINGS, epoch_positions=int(sys.argv[5]))
run(settings, (train, validation), folder, save_seconds=0.0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("epoch_positions", [0, 2000])
def test_a_rank_that_dies_changes_nothing(
    datasets: Data, tmp_path: Path, epoch_positions: int
) -> None:
    """torchrun starts all processes again, and they resume from the last checkpoint."""
    script, mark = tmp_path / "dying.py", tmp_path / "mark"
    script.write_text(DYING)
    root = Path(__file__).resolve().parents[2]
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

    def trained(folder: Path, restarts: int) -> str:
        folder.mkdir()
        subprocess.run(
            [
                *(sys.executable, *command, "--max-restarts", str(restarts), str(script)),
                *map(str, (*datasets, folder, mark, epoch_positions)),
            ],
            check=True,
            env={
                **os.environ,
                "PYTHONPATH": f"{root / 'src'}:{root}",
                "OMP_NUM_THREADS": "1",
                "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
            },
            capture_output=True,
        )
        return Checkpoint.read(folder / "checkpoint.pt").digest()

    died = trained(tmp_path / "died", 1)
    assert mark.exists()
    assert trained(tmp_path / "whole", 0) == died
    pd.testing.assert_frame_equal(history(tmp_path / "died"), history(tmp_path / "whole"))
    assert not list((tmp_path / "died").glob("*.partial*"))
