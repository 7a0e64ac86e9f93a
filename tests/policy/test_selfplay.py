"""Learning from own games: gradients, the search, runs that are killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nnuelab import features
from nnuelab.chess import notation
from nnuelab.chess.moves import MAX_MOVES
from nnuelab.errors import UserError
from nnuelab.policy import search, selfplay
from nnuelab.policy.batches import Reader
from nnuelab.policy.expert import search_record
from nnuelab.policy.games import Player, play
from nnuelab.policy.inference import Inference, hidden, move_logits, value
from nnuelab.policy.network import Network
from nnuelab.policy.policyfile import read_policy
from nnuelab.policy.reinforce import gradient_loss
from nnuelab.settings.policy_selfplay import Episodes, Expert, Gradient, GradientRewards, Rewards

SMALL: dict[str, Any] = {"iterations": 4, "evaluate_every": 2, "evaluation_games": 4}
SMALL |= {"evaluation_plies": 20, "max_plies": 20, "layers": [8]}
METHODS = {
    "seed": (Episodes(**SMALL, epochs=2), Rewards()),
    "gradient": (
        Gradient(**SMALL, games=6, gate_every=2, gate_games=4, gate=0.0, baseline="value"),
        GradientRewards(),
    ),
    "expert": (Expert(**SMALL, games=3, simulations=6, batch_size=16, window=2), None),
}


def network(head: str = "pair", rank: int = 0, layers: tuple[int, ...] = (12, 8)) -> Network:
    generator = torch.Generator().manual_seed(5)
    made = Network(
        features.parse("YACGE"), generator, layers=layers, head=head, rank=rank, value=True
    )
    with torch.no_grad():
        made.value_weights.normal_(generator=generator)
    return made


@pytest.mark.parametrize(("head", "rank"), [("fromto", 0), ("product", 3), ("pair", 0)])
def test_the_net_is_its_policy(head: str, rank: int) -> None:
    made = network(head, rank)
    player = Player("random")
    plies = play(player, player, 3, 1, max_plies=30).all()["record"]
    batch = Reader(made.feature_set)(plies)
    last = made.hidden(batch.rows, batch.n)
    flat = made.logits_of(last, batch.owner, batch.pairs).detach().numpy()
    values = made.value(last).detach().numpy()
    games = play(player, player, 3, 1, max_plies=30)
    positions = np.concatenate([games.positions[b, :30] for b in range(3)])
    record, first = Inference(made.policy("masked", {})).record, 0
    for i, position in enumerate(positions):
        moves = np.array([m for m in notation.moves_of(position) if m >> 12 not in (4, 5, 6)])
        logits = np.empty(MAX_MOVES, np.float32)
        hidden(record, position)
        move_logits(record, position, moves, len(moves), logits)
        assert logits[: len(moves)] == pytest.approx(flat[first : first + len(moves)], abs=1e-5)
        assert value(record) == pytest.approx(values[i], abs=1e-5)
        first += len(moves)


def test_gradient_against_finite_differences() -> None:
    made = network().double()
    player = Player("random")
    batch = Reader(made.feature_set)(play(player, player, 2, 1, max_plies=20).all()["record"])
    advantages = torch.linspace(-1, 1, len(batch.legal), dtype=torch.float64)

    def loss() -> torch.Tensor:
        logs = batch.log_probabilities(made, made.hidden(batch.rows, batch.n))
        return gradient_loss(logs, batch, advantages, 0.1)[0]

    loss().backward()  # type: ignore[no-untyped-call]
    for tensor in (made.w0, made.output, made.output_bias):
        assert tensor.grad is not None
        place = np.unravel_index(int(tensor.grad.abs().argmax()), tensor.shape)
        wanted = float(tensor.grad[place])
        found, step = [], 1e-6
        for sign in (1, -2):
            tensor.data[place] += sign * step
            found.append(float(loss().detach()))
        tensor.data[place] += step
        assert (found[0] - found[1]) / (2 * step) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("fen", "best"),
    [
        ("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "d1d8"),
        ("k2r4/8/8/8/8/8/5PPP/6K1 b - - 0 1", "d8d1"),
    ],
)
def test_search_finds_a_mate_in_one(fen: str, best: str) -> None:
    settings = Expert(simulations=200, noise=0.0)
    tree = search.tree(settings.simulations)
    positions, keys, *_ = search.memory(2)
    positions[0] = notation.from_fen(fen)
    keys[0] = positions[0]["key"]
    state = np.ones(1, np.uint64)
    scratch = np.empty(MAX_MOVES, np.int64), np.empty(MAX_MOVES, np.float32)
    record = Inference(network().policy("masked", {})).record
    found = search.think(record, search_record(settings), tree, positions, keys, 0, state, *scratch)
    edge = search.chosen(tree, False, state)
    assert notation.move_to_uci(int(tree.moves[edge])) == best
    assert tree.n[: tree.n_edges[0]].sum() == settings.simulations
    assert tree.totals[edge] / tree.n[edge] == pytest.approx(settings.discount)
    assert 0 < found <= 1


def test_noise_is_a_distribution() -> None:
    settings = Expert(simulations=2, noise=1.0)
    tree = search.tree(2)
    positions, keys, *_ = search.memory(2)
    positions[0] = notation.from_fen(notation.STARTING_FEN)
    keys[0] = positions[0]["key"]
    scratch = np.empty(MAX_MOVES, np.int64), np.empty(MAX_MOVES, np.float32)
    record = Inference(network().policy("masked", {})).record
    drawn = []
    for seed in range(2000):
        state = np.array([seed * 12345], np.uint64)
        search.think(record, search_record(settings), tree, positions, keys, 0, state, *scratch)
        drawn.append(tree.priors[:20].copy())
    assert np.sum(drawn, 1) == pytest.approx(1, abs=1e-5)
    # Dirichlet: variance of a share = (1/n)(1 - 1/n) / (n a + 1)
    assert np.mean(drawn, 0) == pytest.approx(0.05, abs=0.015)
    assert np.var(drawn) == pytest.approx(0.05 * 0.95 / (20 * 0.3 + 1), rel=0.1)


class Killed(Exception):
    pass


@pytest.mark.parametrize("name", METHODS)
def test_a_killed_run_ends_with_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, terms = METHODS[name]
    whole, killed = tmp_path / "whole.policy", tmp_path / "killed.policy"
    history = tmp_path / "history.csv"
    rows = selfplay.learn(whole, history, settings, terms, workers=1)
    assert len(rows) == 4
    assert len(history.read_text().splitlines()) == 5
    write, count = selfplay.SelfplayState.write, [0]

    def dies(self: selfplay.SelfplayState, path: Path) -> None:
        write(self, path)
        count[0] += 1
        if count[0] == 2:
            raise Killed

    monkeypatch.setattr(selfplay.SelfplayState, "write", dies)
    with pytest.raises(Killed):
        selfplay.learn(killed, None, settings, terms, workers=2)
    assert killed.with_name("killed.policy.partial").exists()
    selfplay.learn(killed, None, settings, terms, workers=2)
    assert count == [4]  # two iterations were left
    assert killed.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob("*.lock"))
    assert read_policy(killed).loss == ("mse" if name == "seed" else "masked")


def test_a_damaged_checkpoint_is_one_line(tmp_path: Path) -> None:
    output = tmp_path / "a.policy"
    partial = output.with_name("a.policy.partial")
    partial.write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"a\.policy\.partial .*delete it"):
        selfplay.learn(output, None, *METHODS["seed"])
    assert partial.read_bytes() == b"nothing"


def test_a_net_that_diverges_is_one_line(tmp_path: Path) -> None:
    settings, terms = METHODS["gradient"]
    settings = replace(settings, learning_rate=1e30)
    with pytest.raises(UserError, match="weights became no numbers; lower --learning-rate"):
        selfplay.learn(tmp_path / "a.policy", None, settings, terms)
    assert not (tmp_path / "a.policy").exists()


def test_other_settings_start_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "a.policy"
    settings = Episodes(**{**SMALL, "iterations": 1}, epochs=1)

    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as context:
        context.setattr(selfplay, "write_policy", dies)
        with pytest.raises(Killed):
            selfplay.learn(output, None, settings, Rewards())
    partial = output.with_name("a.policy.partial")
    sound = partial.read_bytes()
    replace(selfplay.SelfplayState.read(partial), optimizer={}).write(partial)
    with pytest.raises(UserError, match=r"a\.policy\.partial don't fit each other .*delete it"):
        selfplay.learn(output, None, settings, Rewards())
    partial.write_bytes(sound)
    selfplay.learn(output, None, settings, Rewards(pawn=1))
    assert "other settings (pawn)" in capsys.readouterr().err
    assert output.with_name("a.policy.partial.old").exists()


def test_bad_nets_are_refused() -> None:
    with pytest.raises(ValueError, match="rank 0 makes no sense"):
        Expert(head="product")
    with pytest.raises(ValueError, match="layers"):
        Expert(layers=[])
