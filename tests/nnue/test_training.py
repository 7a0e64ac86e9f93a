"""Training: kernels against torch, the loss against hand and differences, the guarantees."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pandas as pd
import pytest
import torch

from nnuelab import artifacts, features
from nnuelab.data import sampler
from nnuelab.data.records import NO_SCORE, RECORD, captures, to_fen
from nnuelab.errors import UserError
from nnuelab.learning import memory
from nnuelab.learning.filters import Filters
from nnuelab.learning.first_layer import SMALL, FirstLayers, sums
from nnuelab.learning.loader import Labelled, Loader, Objective
from nnuelab.learning.parallel import Threads
from nnuelab.learning.sparse import Batch
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.layers import Layers
from nnuelab.nnue.losses import PQR, Scores
from nnuelab.nnue.network import L2_BOUND, Network
from nnuelab.nnue.trainer import Settings, Trainer
from nnuelab.nnue.training import train
from tests.naive import nnue as naive
from tests.nnue_data import write_datasets

SETTINGS = Settings("H+V", l1=72, l2=8, epochs=3, batch_size=256, learning_rate=1e-3, lr_decay=0.9)


def labelled(batch: Batch, target: torch.Tensor) -> Labelled:
    return Labelled(batch, target, len(target), np.zeros(len(batch), RECORD))


def random_batch(n_features: int, size: int, width: int = 32, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    rows = np.full((2, size, width), -1, np.int32)
    n = rng.integers(0, width + 1, (2, size))
    for side in range(2):
        for p in range(size):
            rows[side, p, : n[side, p]] = rng.choice(n_features, n[side, p], replace=False)
    return Batch(rows, n, rng.integers(2, 33, size, np.uint8))


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_datasets(tmp_path_factory.mktemp("data"))


def dense_gradient(layers: FirstLayers) -> torch.Tensor:
    """Of the rows of weights, float32[N, M]."""
    found = torch.zeros(layers.sizes[:2])
    for (first, n), of_panel in zip(layers.spans, layers.gradient, strict=True):
        assert not of_panel[:, n:].any()
        found[layers.present, first : first + n] = torch.from_numpy(of_panel[:, :n])
    return found


def random_numbers(n_features: int) -> np.ndarray:
    """Which of 20 shared rows each feature has, at most three, -1 for none."""
    rng = np.random.default_rng(1)
    return rng.integers(-1, 20, (n_features, 3)).astype(np.int32)


SHAPES = [(96, 8, 3, 3), (768, 64, 32, 700), (300, 100, 7, 513), (SMALL + 900, 72, 16, 301)]


@pytest.mark.parametrize(("n_features", "m", "o", "size"), SHAPES)
def test_the_first_layers_are_embedding_bag_and_linear(
    n_features: int, m: int, o: int, size: int
) -> None:
    batch = random_batch(n_features, size)
    generator = torch.Generator().manual_seed(1)
    weight = (torch.rand(n_features, m, generator=generator) - 0.45).requires_grad_()
    b1 = torch.rand(m, generator=generator).requires_grad_()
    w2 = (torch.rand(o, 2 * m, generator=generator) - 0.5).requires_grad_()
    b2 = torch.rand(o, generator=generator).requires_grad_()
    shared = ((torch.rand(20, m, generator=generator) - 0.5) / 4).requires_grad_()
    numbers = random_numbers(n_features)
    out_gradient = torch.randn(size, o, generator=generator)
    layers = FirstLayers(n_features, m, o, Threads(1), numbers=numbers)
    ours = sums(weight.detach(), shared, b1, w2, b2, batch, layers)
    hidden = naive.first_layer(naive.rows(weight, shared, numbers), b1, batch)
    assert 0.1 < (hidden == 0).float().mean() + (hidden == 1).float().mean() < 0.9
    expected = torch.nn.functional.linear(hidden, w2, b2)
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-4)
    gradients = torch.autograd.grad(ours, [shared, b1, w2, b2], out_gradient)
    wanted = torch.autograd.grad(expected, [shared, b1, w2, b2, weight], out_gradient)
    for a, b in zip([*gradients, dense_gradient(layers)], wanted, strict=True):
        # A sum within rounding of 0 or 1 may be clipped on one side only.
        torch.testing.assert_close(a, b, rtol=1e-3, atol=2e-3)


def test_the_oracle_agrees_with_finite_differences() -> None:
    batch, numbers = random_batch(20, 6, width=5), random_numbers(20)
    weight, shared = torch.rand(2, 20, 4, dtype=torch.float64).unbind(0)
    bias = torch.rand(4, dtype=torch.float64)

    def accumulators(*first: torch.Tensor) -> torch.Tensor:
        return naive.first_layer(naive.rows(*first[:2], numbers), first[2], batch)

    first = [weight - 0.4, (shared - 0.5) / 4, bias]
    assert torch.autograd.gradcheck(accumulators, [tensor.requires_grad_() for tensor in first])


@pytest.mark.parametrize("n_features", [96, SMALL + 900])
def test_the_first_layers_have_the_same_bits_with_any_number_of_threads(n_features: int) -> None:
    batch = random_batch(n_features, 1500)
    results = []
    for n in (1, 2, 3):
        generator = torch.Generator().manual_seed(2)
        weight = torch.rand(n_features, 130, generator=generator) - 0.4
        b1 = torch.zeros(130, requires_grad=True)
        w2 = (torch.rand(9, 260, generator=generator) - 0.5).requires_grad_()
        shared = torch.rand(20, 130, generator=generator).requires_grad_()
        layers = FirstLayers(n_features, 130, 9, Threads(n), numbers=random_numbers(n_features))
        out = sums(weight, shared, b1, w2, torch.zeros(9), batch, layers)
        gradients = torch.autograd.grad((out**2).sum(), [shared, b1, w2])
        results.append([out, *gradients, dense_gradient(layers)])
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_a_step_is_autograd_with_adam() -> None:
    threads = Threads(1)
    settings = replace(SETTINGS, batch_size=700, weight_decay=5.0)
    trainer = Trainer(settings, features.parse(settings.feature_set), threads)
    oracle = Network(Layers(192, 72, 8), torch.Generator().manual_seed(settings.seed), 64)
    adam = torch.optim.AdamW(oracle.parameters(), lr=settings.learning_rate, weight_decay=5.0)
    with torch.no_grad():  # off the clip's corner, where a position without features would lie
        for network in (trainer.network, oracle):
            network.b1 += 0.1
    for seed in range(3):
        batch = random_batch(192, 700, seed=seed)
        target = torch.rand(700, generator=torch.Generator().manual_seed(seed))
        total = trainer.step(labelled(batch, target), settings.learning_rate)
        output = oracle.head(naive.first_layer(oracle.w1, oracle.b1, batch))
        loss = settings.objective.losses(output, target).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        oracle.clip_weights()
        assert total / 700 == pytest.approx(float(loss.detach()), rel=1e-5)
    for ours, theirs in zip(trainer.network.parameters(), oracle.parameters(), strict=True):
        # Adam divides by the size of the gradient, which magnifies the rounding of tiny ones.
        close = torch.isclose(ours, theirs, rtol=1e-4, atol=2e-5)
        assert close.float().mean() > 0.995
        assert float((ours - theirs).detach().abs().max()) < 3 * settings.learning_rate


def test_equal_seeds_begin_with_equal_layers_behind_the_first() -> None:
    networks = []
    for name in ("ALL", "ALL+H", "H+KB(4)"):
        generator = torch.Generator().manual_seed(7)
        parsed = features.parse(name)
        layers = Layers(parsed.size, 16, 8, l3=8, activation="squared", buckets=2)
        networks.append(Network.untrained(parsed, layers, generator, "kings"))
    for name in ("w2", "b2", "wh", "bh", "w3", "b3"):
        first, *others = (getattr(network, name) for network in networks)
        assert all(torch.equal(first, other) for other in others), name
    ratio = networks[1].w1[:768] / networks[0].w1
    torch.testing.assert_close(ratio, ratio[:1, :1].expand_as(ratio))


def test_an_average_is_kept_and_changes_no_step(
    datasets: tuple[Path, Path], tmp_path: Path
) -> None:
    found = {}
    for share in (0.0, 0.5):
        paths = tmp_path / f"{share}.pt", tmp_path / f"{share}.csv"
        found[share] = train(replace(SETTINGS, average=share), *datasets, *paths, 1)
    last, averaged = found[0.0].model, found[0.5].model
    assert all(torch.equal(last[name], found[0.5].optimizer["last"][name]) for name in last)
    assert all(not torch.equal(last[name], averaged[name]) for name in last)
    # What is validated is what is kept.
    loader = Loader(datasets[1], found[0.5].features, SETTINGS.objective, SETTINGS.batch_size)
    threads, total = Threads(1), 0.0
    for part in loader.in_order():
        output = found[0.5].network()(part.batch, threads)
        total += float(SETTINGS.objective.losses(output.detach(), part.target).sum())
    assert found[0.5].history[-1]["validation_loss"] == pytest.approx(total / len(loader), rel=1e-6)
    assert found[0.5].history[-1]["validation_loss"] != found[0.0].history[-1]["validation_loss"]


def test_second_layer_weights_stay_within_int8() -> None:
    trainer = Trainer(SETTINGS, features.parse(SETTINGS.feature_set), Threads(1))
    trainer.step(labelled(random_batch(192, 256), torch.rand(256)), 5.0)
    assert float(trainer.network.w2.detach().abs().max()) == L2_BOUND


def run(settings: Settings, data: tuple[Path, Path], folder: Path, threads: int = 1) -> str:
    done = train(settings, *data, folder / "checkpoint.pt", folder / "history.csv", threads)
    return done.digest()


def test_two_runs_and_any_number_of_threads_give_the_same_net(
    datasets: tuple[Path, Path], tmp_path: Path
) -> None:
    first = run(SETTINGS, datasets, tmp_path / "a")
    assert run(SETTINGS, datasets, tmp_path / "b") == first
    assert run(SETTINGS, datasets, tmp_path / "c", threads=3) == first
    assert run(replace(SETTINGS, seed=2), datasets, tmp_path / "d") != first
    history = pd.read_csv(tmp_path / "a" / "history.csv")
    assert list(history) == [
        "epoch",
        "train_loss",
        "validation_loss",
        "learning_rate",
    ]
    times = pd.read_csv(tmp_path / "a" / "history_times.csv")
    assert times["epoch"].tolist() == [1, 2, 3]
    assert (times["seconds"] > 0).all()
    assert history["epoch"].tolist() == [1, 2, 3]
    assert history["train_loss"].iloc[-1] < history["train_loss"].iloc[0]
    assert not list(tmp_path.rglob("*.partial"))
    for name in ("checkpoint.pt", "history.csv"):
        one, other, third = ((tmp_path / f / name).read_bytes() for f in ("a", "b", "c"))
        assert one == other == third
        record = json.loads((tmp_path / "a" / f"{name}.json").read_text())
        assert record["sha256"] == artifacts.sha256(tmp_path / "a" / name)
        assert record["inputs"]["train"]["sha256"] == artifacts.sha256(datasets[0])
        assert record["parameters"]["learning_rate"] == SETTINGS.learning_rate


def test_more_epochs_continue_a_finished_run(datasets: tuple[Path, Path], tmp_path: Path) -> None:
    whole = run(SETTINGS, datasets, tmp_path / "whole")
    run(replace(SETTINGS, epochs=1), datasets, tmp_path / "parts")
    assert run(SETTINGS, datasets, tmp_path / "parts") == whole


def test_a_checkpoint_of_another_run_is_not_touched(
    datasets: tuple[Path, Path], tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epochs=1)
    run(settings, datasets, tmp_path)
    content = (tmp_path / "checkpoint.pt").read_bytes()
    for other, named in [
        (replace(settings, learning_rate=0.5), "learning_rate 0.001 there, 0.5 here"),
        (replace(settings, feature_set="H"), "feature_set 'H.V' there, 'H' here"),
        (replace(settings, objective=Scores(exponent=2)), "exponent 2.6 there, 2 here"),
    ]:
        with pytest.raises(UserError, match=named):
            run(other, datasets, tmp_path)
    with pytest.raises(UserError, match="delete it"):
        run(settings, (datasets[0], datasets[0]), tmp_path)
    assert (tmp_path / "checkpoint.pt").read_bytes() == content


def test_a_checkpoint_that_lacks_a_part_is_one_line(
    datasets: tuple[Path, Path], tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epochs=1)
    run(settings, datasets, tmp_path)
    path = tmp_path / "checkpoint.pt"
    replace(Checkpoint.read(path), optimizer={}).write(path)
    with pytest.raises(UserError, match=r"parts of .*checkpoint\.pt don't fit each other"):
        run(SETTINGS, datasets, tmp_path)
    path.rename(f"{path}.partial")
    with pytest.raises(UserError, match=r"checkpoint\.pt\.partial don't .* delete it and train"):
        run(settings, datasets, tmp_path)


def test_an_unfinished_run_of_other_settings_gives_way(
    datasets: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = replace(SETTINGS, epochs=1)
    expected = run(settings, datasets, tmp_path / "fresh")
    other = tmp_path / "other"
    run(replace(settings, learning_rate=0.5), datasets, other)
    (other / "checkpoint.pt").rename(other / "checkpoint.pt.partial")
    assert run(settings, datasets, other) == expected
    assert "learning_rate 0.5 there, 0.001 here" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_refused(datasets: tuple[Path, Path], tmp_path: Path) -> None:
    run(replace(SETTINGS, epochs=1), datasets, tmp_path)
    path = tmp_path / "checkpoint.pt"
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    for wrong in (b"", content[:100], content[:-200], bytes(flipped), b"PK" + b"x" * 500):
        path.write_bytes(wrong)
        with pytest.raises(UserError, match="delete it") as error:
            Checkpoint.read(path)
        assert "\n" not in str(error.value)


def test_too_little_data_is_an_error(datasets: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="less than one batch"):
        run(replace(SETTINGS, batch_size=100_000), datasets, tmp_path)
    unscored = np.load(datasets[1])
    unscored["score"] = NO_SCORE
    np.save(tmp_path / "none.npy", unscored)
    with pytest.raises(UserError, match="no position with a score"):
        run(SETTINGS, (tmp_path / "none.npy", datasets[1]), tmp_path)


def test_a_share_of_the_games_is_a_dataset_of_them(
    datasets: tuple[Path, Path], tmp_path: Path
) -> None:
    records = np.load(datasets[0])
    few = records[sampler.of_games(records, 0.4)]
    assert 0.2 * len(records) < len(few) < 0.6 * len(records)
    np.save(tmp_path / "few.npy", few)
    of_file = run(SETTINGS, (tmp_path / "few.npy", datasets[1]), tmp_path / "a")
    assert run(replace(SETTINGS, games_share=0.4), datasets, tmp_path / "b") == of_file


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({"min_ply": 40}, lambda r, pieces: r["ply"] >= 40),
        ({"min_pieces": 14, "max_pieces": 27}, lambda r, pieces: 14 <= pieces <= 27),
        (
            {"max_disagreement": 0.4},
            lambda r, pieces: (
                r["result"] == 2
                or abs(1 / (1 + math.exp(-int(r["score"]) / 410)) - (r["result"] + 1) / 2) <= 0.4
            ),
        ),
        (
            {"skip_check": True},
            lambda r, pieces: not chess.Board(to_fen(r)).is_check(),
        ),
        (
            {"skip_captures": True},
            lambda r, pieces: not captures(np.array([r]), np.array([r["move"]]))[0],
        ),
    ],
    ids=["ply", "pieces", "disagreement", "check", "captures"],
)
def test_what_a_filter_lets_pass_is_a_dataset_of_it(
    datasets: tuple[Path, Path], tmp_path: Path, filters: dict, passes: Callable
) -> None:
    records = np.load(datasets[0])
    kept = [passes(record, int(record["occupied"]).bit_count()) for record in records]
    assert 0.05 * len(records) < sum(kept) < 0.98 * len(records)
    np.save(tmp_path / "few.npy", records[kept])
    settings = replace(SETTINGS, batch_size=64)
    of_file = run(settings, (tmp_path / "few.npy", datasets[1]), tmp_path / "a")
    assert run(replace(settings, **filters), datasets, tmp_path / "b") == of_file


def test_each_epoch_draws_its_share_of_the_positions(datasets: tuple[Path, Path]) -> None:
    whole = np.load(datasets[0])
    loader = Loader(
        datasets[0], features.parse("H"), Scores(), 50, filters=Filters(epoch_share=0.3)
    )
    epochs = [[batch.records.copy() for batch in loader.shuffled(1, epoch)] for epoch in (0, 1)]
    assert len(loader) == sum(map(len, epochs[0])) == round(0.3 * len(whole) / 50) * 50
    assert [len(batch) for batch in epochs[1]] == [50] * loader.batches
    first, second = ({record.tobytes() for record in np.concatenate(epoch)} for epoch in epochs)
    assert first != second
    assert first <= {record.tobytes() for record in whole}


def test_filters_that_nothing_passes_are_told(datasets: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no sample that passes the filters"):
        run(replace(SETTINGS, min_ply=5000), datasets, tmp_path)


def test_the_network_learns(datasets: tuple[Path, Path], tmp_path: Path) -> None:
    settings = replace(SETTINGS, feature_set="ALL", epochs=25, batch_size=64, learning_rate=2e-3)
    run(settings, datasets, tmp_path)
    losses = pd.read_csv(tmp_path / "history.csv")["train_loss"]
    assert losses.iloc[-1] < 0.1 * losses.iloc[0]
    assert (
        features.parse("ALL").size == Checkpoint.read(tmp_path / "checkpoint.pt").layers.n_features
    )


def test_too_much_for_the_machine_is_told_before_it_is_taken(
    datasets: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "installed", lambda: 24_000_000_000)
    settings = replace(SETTINGS, feature_set="MB*AB*H", l1=512, batch_size=1024)
    with pytest.raises(
        UserError, match=r"MB\*AB\*H takes at least [\d,.]+ GB.* has 24\.0"
    ) as error:
        train(settings, *datasets, tmp_path / "c.pt", tmp_path / "h.csv")
    assert "56,623,104 rows of 512 weights" in str(error.value)
    assert "up to 11,596,928 active features" in str(error.value)
    assert not list(tmp_path.iterdir())
    # Half of it is the lists: what matters is their number, not the weights'.
    with pytest.raises(UserError, match="up to 362,404 active features"):
        memory.check_training(features.parse("MB*AB"), 8, 16384, "adam", "kings")
    memory.check_training(features.parse("MB*AB"), 8, 1024, "adam", "kings")
    memory.check_training(features.parse("KA+PHASE(4,KB(16))"), 512, 16384, "adam", "kings")


def test_what_fits_depends_on_the_optimizer_and_on_shared_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ka = features.parse("KA")
    monkeypatch.setattr(memory, "installed", lambda: int(5.1 * 4 * ka.size * 512))
    memory.check_training(ka, 512, 64, "adam", "kings")
    with pytest.raises(UserError, match="smaller"):
        memory.check_training(ka, 512, 64, "adam", "all")
    monkeypatch.setattr(memory, "installed", lambda: int(4.9 * 4 * ka.size * 512))
    memory.check_training(ka, 512, 64, "rowwise-adam", "kings")
    with pytest.raises(UserError, match="smaller"):
        memory.check_training(ka, 512, 64, "rowwise-adam", "kings", average=True)
    with pytest.raises(UserError, match="smaller"):
        memory.check_training(ka, 512, 64, "adam", "kings")


def test_wide_sets_are_verified_in_smaller_parts() -> None:
    assert memory.positions_at_once(features.parse("ALL"), 4096) == 4096
    assert memory.positions_at_once(features.parse("MB*AB"), 4096) == (1 << 28) // (8 * 362_404)
    assert memory.positions_at_once(features.parse("MB*AB*H"), 4096) == 2


def test_batches_are_the_same_from_any_number_of_workers(datasets: tuple[Path, Path]) -> None:
    def batches(workers: int, objective: Objective) -> list[Labelled]:
        feature_set = features.parse("H+V")
        return list(
            Loader(datasets[0], feature_set, objective, 100, workers=workers).shuffled(3, 1)
        )

    for objective in (Scores(), PQR()):
        one, five = batches(1, objective), batches(5, objective)
        assert len(one) == len(five) > 10
        for ours, theirs in zip(one, five, strict=True):
            assert ours.records.tobytes() == theirs.records.tobytes()
            assert torch.equal(ours.target, theirs.target)


def test_targets_move_from_scores_to_results(datasets: tuple[Path, Path]) -> None:
    """Evenly from epoch to epoch; validation has the targets of the last one."""
    objective = Scores(score_share=1, score_share_end=0.2)
    loader = Loader(datasets[0], features.parse("H+V"), objective, 100, epochs=5)
    orders = [(loader.shuffled(3, epoch), 1 - 0.2 * epoch) for epoch in range(5)]
    for batches, share in [*orders, (loader.in_order(), 0.2)]:
        for labelled in batches:
            score, result = (
                torch.from_numpy(labelled.records[name]) for name in ("score", "result")
            )
            known = Scores(score_share=share).target(score.float(), result.float())
            torch.testing.assert_close(labelled.target, known)
    assert not replace(SETTINGS, objective=objective).extendable
    assert SETTINGS.extendable
