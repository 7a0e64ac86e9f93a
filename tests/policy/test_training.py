"""Policies: the torch net against definitions in numpy, losses, and the guarantees of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from nnuelab import features
from nnuelab.chess import notation
from nnuelab.cli.__main__ import application
from nnuelab.data.records import to_fen
from nnuelab.errors import UserError
from nnuelab.features.tables import compiled
from nnuelab.learning.loader import extract
from nnuelab.policy import losses
from nnuelab.policy.inference import Inference, hidden, outputs, value
from nnuelab.policy.labels import legal_pairs, mirrored, played
from nnuelab.policy.network import Network, Seen, seen_by_the_mover
from nnuelab.policy.policyfile import Policy, read_policy, write_policy
from nnuelab.policy.trainer import Checkpoint, Settings, made
from nnuelab.policy.training import train
from tests.naive import policy as naive
from tests.nnue_data import games, write_datasets

SETTINGS = Settings(feature_set="YACGE", layers=[24], epochs=2, batch_size=256, value_weight=0.1)
Data = tuple[Path, Path]

SHAPES = [
    SETTINGS,
    replace(SETTINGS, layers=[], value_weight=0.5),
    replace(SETTINGS, layers=[20, 12], activation="sigmoid", head="fromto", value_weight=0.0),
    replace(SETTINGS, head="product", rank=3, layers=[16]),
    replace(SETTINGS, feature_set="ALL", inputs="levels13", head="fromto"),
    replace(SETTINGS, feature_set="ALL", inputs="levels13", head="fromto", layers=[]),
]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return write_datasets(tmp_path_factory.mktemp("data"))


def network_of(settings: Settings) -> Network:
    """A net whose biases are no zeros."""
    generator = torch.Generator().manual_seed(settings.seed)
    network = made(features.parse(settings.feature_set), settings, generator)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return network


def seen_in_torch(network: Network, records: np.ndarray) -> Seen:
    tables = compiled(network.feature_set)
    batch = extract(tables, records, network.feature_set.max_active)
    return network.seen(*seen_by_the_mover(batch))


def outputs_in_torch(
    network: Network, records: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor | None]:
    seen = seen_in_torch(network, records)
    return seen.outputs.detach(), seen.values.detach() if network.has_value else None


@pytest.mark.parametrize("settings", SHAPES, ids=lambda s: f"{s.inputs}-{s.head}-{s.layers}")
def test_torch_numpy_and_what_plays_agree(settings: Settings, tmp_path: Path) -> None:
    records = games(2)[::5]
    network = network_of(settings)
    found, values = outputs_in_torch(network, records)
    write_policy(tmp_path / "a.policy", network.policy("softmax", {}))
    policy = read_policy(tmp_path / "a.policy")
    playing = Inference(policy)
    for i, record in enumerate(records):
        expected, worth = naive.outputs_of(policy, record)
        assert np.abs(found[i].numpy() - expected).max() < 1e-5
        hidden(playing.record, notation.from_fen(to_fen(record)))
        assert np.abs(outputs(playing.record) - expected).max() < 1e-5
        assert abs(value(playing.record) - worth) < 1e-5
        assert values is None or abs(float(values[i]) - worth) < 1e-5
        pairs = naive.pairs(policy, expected)
        assert np.abs(network.pair_logits(found)[i].numpy() - pairs).max() < 1e-4


def test_levels_are_thirteen_and_tell_pieces_apart() -> None:
    settings = replace(SETTINGS, feature_set="ALL", inputs="levels13", layers=[8])
    network = network_of(settings)
    table = (
        network.policy("softmax", {}).weights[0].reshape(8, 8, 12, 8)
    )  # file, rank, piece, neuron
    weights = network.state_dict()["w0"].numpy().reshape(8, 8, 8)  # rank, file, neuron
    levels = np.arange(1, 13) / 12
    assert np.allclose(table, levels[:, None] * weights.swapaxes(0, 1)[:, :, None])
    assert len({0.0, *levels}) == 13
    assert network.free == 64 * 8 + 8 + 8 * 4096 + 4096 + 8 + 1


def test_the_net_of_the_seed_has_its_number_of_parameters() -> None:
    shape = Settings(
        feature_set="YACGE", layers=[50], activation="sigmoid", head="fromto", loss="mse"
    )
    network = network_of(shape)
    assert network.feature_set.size == 512
    assert network.free == network.policy("softmax", {}).parameters == 32_178


def test_legal_pairs_are_those_of_python_chess() -> None:
    records = games(6)[::3]
    pairs, counts = legal_pairs(records)
    for record, found, count in zip(records, pairs, counts, strict=True):
        board = chess.Board(to_fen(record))
        turned = 0 if board.turn else 56
        legal = {
            64 * (move.from_square ^ turned) + (move.to_square ^ turned)
            for move in board.legal_moves
        }
        assert count == len(legal)
        assert {*found.tolist()} == legal


def test_mirrored_positions_have_the_mirrored_move() -> None:
    records = games(12)
    for record, other in zip(records, mirrored(records), strict=True):
        board, turned = chess.Board(to_fen(record)), chess.Board(to_fen(other))
        if board.castling_rights:
            assert other == record
            continue
        flipped = board.transform(chess.flip_horizontal)
        flipped.ep_square = None if board.ep_square is None else board.ep_square ^ 7
        assert turned.fen() == flipped.fen()
        assert other["move"] ^ record["move"] == 7 | 7 << 6
    assert (mirrored(mirrored(records)) == records).all()


def expected_loss(settings: Settings, policy: Policy, record: np.void) -> float:
    """By the definition, in double precision."""
    out = naive.outputs_of(policy, record)[0].astype(np.float64)
    (start,), (square,) = played(np.array([record]))
    pair = 64 * start + square
    if settings.loss == "mse":
        wanted = np.zeros(len(out))
        wanted[[pair] if settings.head == "pair" else [start, 64 + square]] = 1
        return float(np.mean((naive.sigmoid(out) - wanted) ** 2))
    logits = naive.pairs(policy, out)
    chances = np.exp(logits) / np.exp(logits).sum()
    board = chess.Board(to_fen(record))
    turned = 0 if board.turn else 56
    legal = {64 * (m.from_square ^ turned) + (m.to_square ^ turned) for m in board.legal_moves}
    on_legal = chances[sorted(legal)].sum()
    if settings.loss == "softmax":
        return -float(np.log(chances[pair]))
    return -float(np.log(chances[pair] / on_legal) + settings.legal_weight * np.log(on_legal))


@pytest.mark.parametrize(
    "settings",
    [
        replace(SETTINGS, head="fromto", loss="mse"),
        replace(SETTINGS, head="pair", loss="mse"),
        replace(SETTINGS, head="fromto", loss="softmax"),
        replace(SETTINGS, head="product", loss="softmax"),
        replace(SETTINGS, head="pair", loss="softmax"),
        replace(SETTINGS, head="fromto", loss="masked"),
        replace(SETTINGS, head="product", loss="masked", legal_weight=0.3),
        replace(SETTINGS, head="pair", loss="masked", legal_weight=1.0),
        replace(SETTINGS, head="pair", loss="masked", layers=[]),
    ],
    ids=lambda s: f"{s.head}-{s.loss}-{len(s.layers)}",
)
def test_losses_are_those_of_their_definition(settings: Settings) -> None:
    from nnuelab.learning.parallel import Group
    from nnuelab.policy.trainer import Trainer

    records = games(2)[1::9]
    trainer = Trainer(replace(settings, value_weight=0.0), Group(torch.device("cpu")))
    found = trainer.losses(seen_in_torch(trainer.network, records), records).detach().numpy()
    policy = trainer.network.policy("softmax", {})
    expected = [expected_loss(settings, policy, record) for record in records]
    assert np.allclose(found, expected, atol=1e-4)


def test_the_value_learns_known_results() -> None:
    found = losses.of_values(torch.tensor([0.0, 0.5, 0.9]), torch.tensor([1.0, 2.0, -1.0]))
    assert np.allclose(found.numpy(), [1.0, 0.0, 1.9**2])


def run(settings: Settings, datasets: Data, folder: Path, save_seconds: float = 600.0) -> str:
    folder.mkdir(exist_ok=True)
    checkpoint, history, policy = paths_in(folder)
    done = train(settings, *datasets, checkpoint, history, policy, save_seconds=save_seconds)
    return done.digest()


def paths_in(folder: Path) -> tuple[Path, Path, Path]:
    return folder / "checkpoint.pt", folder / "history.csv", folder / "net.policy"


@pytest.mark.parametrize("settings", SHAPES[:4], ids=lambda s: f"{s.head}-{s.layers}")
def test_an_interrupted_run_ends_with_the_same_bytes(
    settings: Settings, datasets: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run(settings, datasets, tmp_path / "whole")
    write, stopped = Checkpoint.write, 0

    def write_and_stop(self: Checkpoint, path: Path) -> None:
        write(self, path)
        raise KeyboardInterrupt

    while not (tmp_path / "parts" / "checkpoint.pt").exists():
        monkeypatch.setattr(Checkpoint, "write", write_and_stop)
        try:
            assert run(settings, datasets, tmp_path / "parts", save_seconds=0.0) == expected
        except KeyboardInterrupt:
            stopped += 1
    assert stopped > 2 * settings.epochs
    whole, parts = (read_policy(tmp_path / name / "net.policy") for name in ("whole", "parts"))
    for name, array in whole.arrays().items():
        assert array.tobytes() == parts.arrays()[name].tobytes()


def test_training_learns_moves_and_a_finished_run_is_left_as_it_is(
    datasets: Data, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epochs=6, learning_rate=5e-3)
    first = run(settings, datasets, tmp_path)
    done = Checkpoint.read(tmp_path / "checkpoint.pt")
    train_losses = [row["train_loss"] for row in done.history]
    assert train_losses[-1] < train_losses[0] - 0.5
    assert {"validation_loss", "accuracy"} <= done.history[0].keys()
    assert run(settings, datasets, tmp_path) == first
    policy = read_policy(tmp_path / "net.policy")
    assert policy.provenance["checkpoint"] == first
    assert policy.provenance["settings"]["seed"] == 1
    with pytest.raises(UserError, match="belongs to another run"):
        run(replace(settings, seed=2), datasets, tmp_path)


def test_a_policy_without_an_epoch_is_untrained(datasets: Data, tmp_path: Path) -> None:
    run(replace(SETTINGS, epochs=0), datasets, tmp_path)
    # The workflow waits for it.
    assert (tmp_path / "history_times.csv").is_file()
    policy = read_policy(tmp_path / "net.policy")
    generator = torch.Generator().manual_seed(SETTINGS.seed)
    network = made(features.parse("YACGE"), SETTINGS, generator)
    for name, array in network.policy("softmax", {}).arrays().items():
        assert np.array_equal(policy.arrays()[name], array)


def test_training_starts_from_another_policy_of_its_shape(datasets: Data, tmp_path: Path) -> None:
    run(SETTINGS, datasets, tmp_path)
    start, other = tmp_path / "checkpoint.pt", tmp_path / "other"
    other.mkdir()
    train(replace(SETTINGS, epochs=0), *datasets, *paths_in(other), start=start)
    first, again = (read_policy(folder / "net.policy") for folder in (tmp_path, other))
    assert np.array_equal(first.output, again.output)
    another = tmp_path / "another"
    another.mkdir()
    with pytest.raises(UserError, match="of the same shape"):
        train(replace(SETTINGS, layers=[8]), *datasets, *paths_in(another), start=start)


def test_levels_are_for_the_features_all(datasets: Data, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="made of the features ALL, not of YACGE"):
        run(replace(SETTINGS, inputs="levels13"), datasets, tmp_path)


def test_data_without_moves_are_told(datasets: Data, tmp_path: Path) -> None:
    records = games(2).copy()
    records["move"] = 0
    np.save(tmp_path / "none.npy", records)
    with pytest.raises(UserError, match="no position with the move played"):
        run(SETTINGS, (tmp_path / "none.npy", datasets[1]), tmp_path)


def test_a_move_that_is_not_legal_is_told(datasets: Data, tmp_path: Path) -> None:
    records = games(4).copy()
    records["move"] = 4 | 60 << 6
    np.save(tmp_path / "wrong.npy", records)
    with pytest.raises(UserError, match="is not legal"):
        run(replace(SETTINGS, loss="masked"), (tmp_path / "wrong.npy", datasets[1]), tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--layers 0", "a layer of 0 neurons"),
        ("--layers 8 --layers 8 --layers 8 --layers 8 --layers 8", "more than 4"),
        ("--head product --loss mse", "not for a head product"),
        ("--loss softmax --legal-weight 1", "is for the loss masked"),
        ("--learning-rate 0", "it must be greater"),
    ],
)
def test_settings_that_contradict_each_other_are_one_line(words: str, said: str) -> None:
    files = "--features ALL --train t --validation v --checkpoint c --history h --output o.policy"
    call = ["policy", "train", *files.split(), *words.split()]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(application(), call)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())
