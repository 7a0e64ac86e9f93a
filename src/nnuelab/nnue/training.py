"""Training: data and settings to a checkpoint, bit for bit the same however often interrupted.

What is guaranteed, each with a test:

* Weights, order of positions and result depend on the settings (with the seed) and the data alone:
  not on the number of threads, not on interruptions.
* A checkpoint is complete at every moment. While training it is ``CHECKPOINT.partial``, written
  after each epoch and every ten minutes, which gets the checkpoint's name at the end, so that a
  workflow never takes an unfinished run for a finished one.
* Nothing is lost by a loss that is no number: the run stops, and keeps the batch that made it so.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from nnuelab import features
from nnuelab.errors import UserError
from nnuelab.learning import memory
from nnuelab.learning.parallel import Group, Threads, device_of
from nnuelab.learning.run import SAVE_SECONDS, Run
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.trainer import Settings, Trainer


def train(
    settings: Settings,
    train_path: Path,
    validation_path: Path,
    checkpoint_path: Path,
    history_path: Path,
    n_threads: int = 0,
    start: Path | None = None,
    save_seconds: float = SAVE_SECONDS,
    device_name: str = "cpu",
) -> Checkpoint:
    """Trains a net, or resumes an interrupted run.

    Parameters
    ----------
    settings : Settings
    train_path, validation_path : Path
        Datasets.
    checkpoint_path : Path
        Written as ``.partial`` on the way, under its name at the end.
    history_path : Path
        CSV with a row per epoch, written after each epoch.
    n_threads : int
        0: all that the process may use. Doesn't change the result.
    start : Path, optional
        Checkpoint whose net the training begins with (fine-tuning); its optimizer is left behind.
    save_seconds : float
        Between two checkpoints within an epoch. Doesn't change the result.
    device_name : str
        cpu, cuda, or auto: cuda where there is one. The guarantee of equal bits is for the CPU.

    Raises
    ------
    UserError
        When there is too little memory or data, data is damaged, a checkpoint doesn't fit, the loss
        is no number any more, or a file can't be written.
    """
    if settings.patience and settings.fake_quantize_epochs:
        raise UserError(
            "patience may end a run before its last epochs, which --fake-quantize-epochs asks for; "
            "give one of them"
        )
    device = device_of(device_name)
    group = Group(device)
    threads = Threads(n_threads)
    try:
        feature_set = features.parse(settings.feature_set)
        positions = settings.batch_size * settings.objective.positions
        memory.check_training(
            feature_set,
            settings.l1,
            positions,
            settings.optimizer,
            settings.factorize,
            settings.average > 0,
        )
        trainer = Trainer(settings, feature_set, threads, group, device)
        run = Run(
            Checkpoint,
            settings,
            trainer,
            (train_path, validation_path),
            checkpoint_path,
            start,
            group=group,
            # On the CPU the threads have the training to do.
            workers=1 if device.type == "cpu" else threads.n,
            prepare=None if device.type == "cpu" else trainer.ready,
            device=device.type,
        )
        run.epochs(history_path, save_seconds)
        if group.rank == 0:
            run.finish(history_path)
            outputs = checkpoint_path, history_path
            run.provenance(outputs, asdict(settings), "nnue.training")
        group.wait()
    finally:
        threads.close()
        group.close()
    return Checkpoint.read(checkpoint_path)
