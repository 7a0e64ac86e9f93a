"""Nets and trainings that have a name in the field: what `preset` of a variant stands for.

A preset is a few settings of train and quantize; all others are the experiment's own.
"""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    # The layers behind the first one of Stockfish's SFNNv5 (nnue-pytorch, docs/nnue.md).
    "sfnnv5": {
        "pairwise": True,
        "activation": "dual",
        "psqt": True,
        "l2": 16,
        "l3": 32,
        "buckets": 8,
    },
    # The training of jw1912/bullet, examples/simple.rs: squared error of the sigmoid, a target of
    # three quarters result, no second layer. Its batches are larger, and its rate falls to a tenth
    # after 18 of 40 parts.
    "bullet_simple": {
        "l1": 128,
        "l2": 0,
        "activation": "squared",
        "exponent": 2.0,
        "output_scale": 400.0,
        "target_scale": 400.0,
        "score_share": 0.25,
        "learning_rate": 0.001,
        "weight_decay": 0.01,
        "schedule": "step",
    },
    # M. E. Lombardo, "Feature set analysis for chess NNUE networks", 2024: epochs of 100 million
    # positions, and the integers of its .nn files.
    "study": {
        "l1": 512,
        "l2": 32,
        "activation": "clipped",
        "batch_size": 16384,
        "learning_rate": 0.0005,
        "schedule": "step",
        "lr_decay": 0.99,
        "exponent": 2.6,
        "output_scale": 361.0,
        "target_scale": 410.0,
        "score_share": 1.0,
        "scheme": "study",
    },
}


def expanded(changes: dict[str, Any]) -> dict[str, Any]:
    """Changes with those of their preset, if they name one, before them."""
    others = {name: value for name, value in changes.items() if name != "preset"}
    return {**PRESETS.get(changes.get("preset") or "", {}), **others}
