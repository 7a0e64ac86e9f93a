"""What the stages left about one net, gathered for the tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.report import reading


@dataclass(frozen=True)
class TrainedNet:
    """What the stages left about one net; ``objective`` is what it minimised, as far as known.

    Of a net made elsewhere nothing is known of its training.
    """

    feature_set: str
    n_features: int
    l1: int
    l2: int
    val_loss: float | None = None
    train_seconds: float | None = None
    quant_mean_cp: float | None = None
    quant_rms_cp: float | None = None
    quant_max_cp: float | None = None
    puzzle_accuracy: float | None = None
    objective: dict[str, Any] | None = None


def read_trained(net: Path) -> TrainedNet:
    """Gathers a net with ``history.csv``, its times and ``verify.json`` from its folder.

    And with ``puzzles.json``, where it has solved some.

    Raises
    ------
    UserError
        When one of the files is missing or damaged.
    """
    from nnuelab.nnue.netfile import read_net

    header = read_net(net)
    history = net.with_name("history.csv")
    times = artifacts.timed(history)
    verify = net.with_name("verify.json")
    puzzles = net.with_name("puzzles.json")
    try:
        epochs = reading.read_csv(history, ("validation_loss",))
        error = reading.read_json(verify, "mean_cp", "rms_cp", "max_cp")
        solved = reading.read_json(puzzles, "accuracy")["accuracy"] if puzzles.is_file() else None
        made = reading.parameters_of(history)
        return TrainedNet(
            header.feature_set,
            header.n_features,
            header.l1,
            header.l2,
            float(epochs[-1]["validation_loss"]),
            sum(float(epoch["seconds"]) for epoch in reading.read_csv(times, ("seconds",))),
            float(error["mean_cp"]),
            float(error["rms_cp"]),
            float(error["max_cp"]),
            None if solved is None else float(solved),
            made.get("objective"),
        )
    except (OverflowError, TypeError, ValueError) as problem:
        raise UserError(f"{verify} or {puzzles} is damaged ({problem}); make it again") from problem


def read_imported(net: Path) -> TrainedNet:
    """A net made elsewhere; UserError when it is missing or damaged."""
    from nnuelab.nnue.netfile import read_net

    header = read_net(net)
    return TrainedNet(header.feature_set, header.n_features, header.l1, header.l2)
