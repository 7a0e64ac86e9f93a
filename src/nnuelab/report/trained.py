"""What the stages left about one net, gathered for the tables."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnuelab import artifacts
from nnuelab.errors import UserError


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
        epochs = _rows(history)
        error = json.loads(verify.read_text())
        solved = json.loads(puzzles.read_text())["accuracy"] if puzzles.is_file() else None
        record = history.with_name(f"{history.name}.json")
        made = json.loads(record.read_text())["parameters"] if record.is_file() else {}
        return TrainedNet(
            header.feature_set,
            header.n_features,
            header.l1,
            header.l2,
            float(epochs[-1]["validation_loss"]),
            sum(float(epoch["seconds"]) for epoch in _rows(times)),
            float(error["mean_cp"]),
            float(error["rms_cp"]),
            float(error["max_cp"]),
            None if solved is None else float(solved),
            made.get("objective"),
        )
    except OSError as problem:
        raise UserError(
            f"{problem.filename}: {problem.strerror}; train and verify {net}"
        ) from problem
    except (ValueError, KeyError, IndexError) as problem:
        raise UserError(
            f"{history}, its record, {times}, {verify} or {puzzles} is damaged ({problem!r}); "
            "delete them and run again"
        ) from problem


def read_imported(net: Path) -> TrainedNet:
    """A net made elsewhere; UserError when it is missing or damaged."""
    from nnuelab.nnue.netfile import read_net

    header = read_net(net)
    return TrainedNet(header.feature_set, header.n_features, header.l1, header.l2)


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
