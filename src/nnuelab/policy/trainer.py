"""A training step of a policy, and the checkpoint of its run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch

from nnuelab import features
from nnuelab.errors import UserError
from nnuelab.features import FeatureSet
from nnuelab.features.tables import compiled
from nnuelab.learning import schedules
from nnuelab.learning.checkpoint import RunState, consistent
from nnuelab.learning.loader import Labelled, Loader, Objective, extract
from nnuelab.learning.optimizers import DenseAdam
from nnuelab.learning.parallel import Group
from nnuelab.policy import losses
from nnuelab.policy.labels import legal_pairs, mirrored, played
from nnuelab.policy.network import Network, Seen, seen_by_the_mover
from nnuelab.policy.policyfile import SQUARES, Policy
from nnuelab.settings.policy import PolicyTraining


class Played(Objective):
    """Positions with the move played next."""

    method: ClassVar[str] = "played"
    samples: ClassVar[str] = "positions with the move played"
    missing: ClassVar[str] = "no position with the move played; sample it from games"

    def keep(self, records: np.ndarray) -> np.ndarray:
        """Those whose move is known, bool [n]."""
        found: np.ndarray = records["move"] != 0
        return found


@dataclass(frozen=True, kw_only=True)
class Settings(PolicyTraining):
    """Everything about a run but its data.

    Attributes
    ----------
    feature_set : str
        Canonical expression.
    seed : int
        Of the first weights and of the order of positions.
    """

    feature_set: str
    seed: int = 1

    @classmethod
    def of(cls, feature_set: str, chosen: PolicyTraining, seed: int) -> Self:
        """A run as `PolicyTraining` describes it."""
        return cls(feature_set=feature_set, seed=seed, **vars(chosen))

    @property
    def objective(self) -> Played:
        """What a sample is."""
        return Played()

    @property
    def extendable(self) -> bool:
        """Whether a run of more epochs begins as this one does."""
        return self.schedule == "step" and not self.patience

    def described(self) -> dict[str, Any]:
        """All of it as JSON types."""
        return {**asdict(self), "method": Played.method}


def made(feature_set: FeatureSet, shape: PolicyTraining, generator: torch.Generator) -> Network:
    """A net as settings describe it, with its first weights."""
    named = ("layers", "head", "rank", "activation", "inputs")
    found = {name: getattr(shape, name) for name in named}
    return Network(feature_set, generator, value=shape.value_weight > 0, **found)


@dataclass(kw_only=True)
class Checkpoint(RunState):
    """The state of a run that trains a policy."""

    FORMAT: ClassVar[int] = 2

    def network(self) -> Network:
        """The float net."""
        names = {field.name for field in fields(Settings)}
        if not names <= self.settings.keys():
            raise UserError("the checkpoint is not of a policy; give one of nnuelab policy train")
        with consistent():
            shape = Settings(**{name: self.settings[name] for name in names})
            network = made(self.features, shape, torch.Generator())
            network.load_state_dict(self.model)
        return network

    def policy(self) -> Policy:
        """What its net is as a policy file, with where it came from."""
        told = {"checkpoint": self.digest(), "epochs": self.epoch, "settings": self.settings}
        return self.network().policy(self.settings["loss"], told)


class Trainer:
    """A policy, its optimizer, and the step.

    Parameters
    ----------
    settings : Settings
    group : Group
        Processes that train together.
    """

    def __init__(self, settings: Settings, group: Group) -> None:
        torch.set_num_threads(1)  # more would split sums otherwise
        self.settings, self.group = settings, group
        self.feature_set = features.parse(settings.feature_set)
        self._tables, self._mirroring = compiled(self.feature_set), False
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.network = made(self.feature_set, settings, self.generator)
        self.optimizer = DenseAdam(
            self.network.parameters(), settings.learning_rate, settings.weight_decay
        )

    def learning_rate(self, done: int, per_epoch: int) -> float:
        """After ``done`` steps, with ``per_epoch`` in an epoch."""
        s = self.settings
        return s.learning_rate * schedules.factor(
            s.schedule, done, per_epoch, s.epochs, s.lr_decay, s.warmup
        )

    def begin_epoch(self, epoch: int) -> None:
        """Every second epoch may be mirrored."""
        self._mirroring = self.settings.mirror and epoch % 2 == 1

    def step(self, labelled: Labelled, rate: float) -> float:
        """One step of the optimizer; returns the sum of the losses before it."""
        self.optimizer.set_rate(rate)
        self.optimizer.zero_grad()
        records, batch = labelled.records, labelled.batch
        if self._mirroring:
            records = mirrored(records)
            batch = extract(self._tables, records, self.feature_set.max_active)
        loss = self.losses(self.network.seen(*seen_by_the_mover(batch)), records).sum()
        (loss / labelled.total).backward()
        total = loss.detach().double()
        gradients = [p.grad for p in self.network.parameters() if p.grad is not None]
        self.group.sum([total, *gradients])
        self.optimizer.step()
        return float(total)

    def losses(self, seen: Seen, records: np.ndarray) -> torch.Tensor:
        """The loss of each position, [B]."""
        s = self.settings
        start, square = map(torch.from_numpy, played(records))
        if s.loss == "mse":
            found = losses.squared_error(self.network, seen.outputs, start, square)
        elif s.loss == "softmax":
            found = losses.among_all(self.network, seen.outputs, start, square)
        else:
            pairs, counts = map(torch.from_numpy, legal_pairs(records))
            same = pairs == (SQUARES * start + square)[:, None]
            if not same.any(1).all():
                raise UserError("a move of the data is not legal; sample the games anew")
            legal = seen.legal(pairs, counts)
            found = losses.among_legal(legal, same.int().argmax(1))
            if s.legal_weight:
                logits = self.network.pair_logits(seen.outputs)
                found = found + s.legal_weight * losses.of_legality(logits, legal)
        if not self.network.has_value:
            return found
        results = torch.from_numpy(records["result"].astype(np.float32))
        return found + s.value_weight * losses.of_values(seen.values, results)

    def is_finite(self) -> bool:
        """Whether all weights are numbers."""
        return self.network.is_finite()

    @torch.no_grad()
    def validate(self, loader: Loader) -> dict[str, float]:
        """Means over all samples of a dataset.

        Returns
        -------
        dict
            validation_loss; accuracy: the share whose likeliest pair of squares was played.
        """
        total, right = 0.0, 0
        for labelled in loader.in_order():
            seen = self.network.seen(*seen_by_the_mover(labelled.batch))
            total += float(self.losses(seen, labelled.records).double().sum())
            out = seen.outputs
            start, square = map(torch.from_numpy, played(labelled.records))
            if self.settings.head == "fromto":
                first = out[:, :SQUARES].argmax(1) == start
                right += int((first & (out[:, SQUARES:].argmax(1) == square)).sum())
            else:
                best = self.network.pair_logits(out).argmax(1)
                right += int((best == SQUARES * start + square).sum())
        return {"validation_loss": total / len(loader), "accuracy": right / len(loader)}

    def state(self, loader: Loader, **run: Any) -> Checkpoint:
        """The checkpoint: the net, and what the run says of itself."""
        return Checkpoint(
            model=dict(self.network.state_dict()),
            optimizer=self.optimizer.state_dict(),
            generator=self.generator.get_state(),
            **run,
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Resumes from a checkpoint."""
        self.network.load_state_dict(checkpoint.model)
        self.optimizer.load_state_dict(checkpoint.optimizer)
        self.generator.set_state(checkpoint.generator)

    def start_from(self, checkpoint: Checkpoint, path: Path) -> None:
        """Begins with the policy of another run.

        Raises
        ------
        UserError
            When it has another feature set or shape.
        """
        there = {name: list(tensor.shape) for name, tensor in checkpoint.model.items()}
        here = {name: list(tensor.shape) for name, tensor in self.network.state_dict().items()}
        if (checkpoint.feature_set, there) != (self.settings.feature_set, here):
            raise UserError(
                f"{path} holds a policy of {checkpoint.feature_set} with other layers or another "
                f"head than this one of {self.settings.feature_set}; start from one of the same "
                "shape"
            )
        self.network.load_state_dict(checkpoint.model)
