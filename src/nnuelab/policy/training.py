"""Training a policy from moves that were played: data and settings to a checkpoint and a policy.

The loop, its checkpoints and how it resumes are those of nets (`nnuelab.learning.run`).
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import torch

from nnuelab.learning.parallel import Group
from nnuelab.learning.run import SAVE_SECONDS, Run
from nnuelab.policy.policyfile import write_policy
from nnuelab.policy.trainer import Checkpoint, Settings, Trainer


def train(
    settings: Settings,
    train_path: Path,
    validation_path: Path,
    checkpoint_path: Path,
    history_path: Path,
    policy_path: Path,
    start: Path | None = None,
    save_seconds: float = SAVE_SECONDS,
) -> Checkpoint:
    """Trains a policy, or resumes an interrupted run.

    Parameters
    ----------
    settings : Settings
    train_path, validation_path : Path
        Datasets; positions without a move are left out.
    checkpoint_path : Path
        Written as ``.partial`` on the way, under its name at the end.
    history_path : Path
        CSV with a row per epoch.
    policy_path : Path
        The policy file, written at the end.
    start : Path, optional
        Checkpoint whose policy the training begins with; its optimizer is left behind.
    save_seconds : float
        Between two checkpoints within an epoch. Doesn't change the result.

    Raises
    ------
    UserError
        When there is too little data, data is damaged, a checkpoint doesn't fit, the loss is no
        number any more, or a file can't be written.
    """
    group = Group(torch.device("cpu"))
    try:
        trainer = Trainer(settings, group)
        data = train_path, validation_path
        run = Run(Checkpoint, settings, trainer, data, checkpoint_path, start, group=group)
        run.epochs(history_path, save_seconds)
        if group.rank == 0:
            run.finish(history_path)
            write_policy(policy_path, Checkpoint.read(checkpoint_path).policy())
            outputs = checkpoint_path, history_path, policy_path
            run.provenance(outputs, asdict(settings), "policy.training")
        group.wait()
    finally:
        group.close()
    return Checkpoint.read(checkpoint_path)
