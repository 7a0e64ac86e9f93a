"""A training step: a network, its optimizer, and what fuses them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self, SupportsFloat

import torch

from nnuelab.errors import UserError
from nnuelab.features import FeatureSet
from nnuelab.learning import schedules
from nnuelab.learning.averaging import Average
from nnuelab.learning.filters import Filters
from nnuelab.learning.first_layer import FirstLayers
from nnuelab.learning.graphs import Later, Replayed
from nnuelab.learning.loader import Labelled, Loader, Ready
from nnuelab.learning.optimizers import DenseAdam, RowAdam
from nnuelab.learning.parallel import Group, Threads
from nnuelab.learning.resident import WIDTH, Held, Resident
from nnuelab.learning.sparse import Batch, pad
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.layers import USUAL, Layers
from nnuelab.nnue.losses import Objective, Scores, objective_of
from nnuelab.nnue.network import DENSE, Network, of_clipped
from nnuelab.nnue.scales import shifts_of
from nnuelab.settings.train import Training

CALIBRATION = 65536  # positions over which activations are averaged

# Settings that older checkpoints don't have, and what these were trained with
LATER: dict[str, Any] = {
    **USUAL,
    "fake_quantize_epochs": 0,
    "games_share": 1.0,
    "epoch_share": 1.0,
    "min_ply": 0,
    "min_pieces": 2,
    "max_pieces": 32,
    "max_disagreement": 1.0,
    "epoch_positions": 0,
    "skip_check": False,
    "skip_captures": False,
    "weight_decay": 0.0,
    "average": 0.0,
    "factorize": "kings",
}


@dataclass(frozen=True)
class Settings:
    """Everything about a run but its data.

    Attributes
    ----------
    feature_set : str
        Canonical expression.
    l1, l2 : int
        M and O.
    l3 : int
        P, neurons of a further hidden layer; 0: there is none.
    activation : {"clipped", "squared", "dual"}
    buckets : int
        Nets behind the first layer, chosen by the number of pieces.
    pairwise : bool
        The second layer gets products of pairs of neurons.
    psqt : bool
        Each feature has a value that is added behind the last layer.
    fake_quantize_epochs : int
        So many of the last epochs see the rounding of the integer net.
    epochs, batch_size : int
    games_share : float
        Of the games to learn from, so many.
    min_ply, min_pieces, max_pieces, max_disagreement, epoch_share, epoch_positions, skip_check,
    skip_captures
        See ``filters.Filters``.
    factorize : {"none", "kings", "all"}
        What features share in training: see ``FeatureSet.shared_rows``.
    optimizer : str
        Of the first layer's rows: adam, or rowwise-adam (see ``optimizers.RowAdam``).
    learning_rate : float
        The highest.
    schedule : str
        See ``schedules.factor``, with
    lr_decay : float
        for the schedule step, and
    warmup : int
        in steps.
    clip_norm : float
        A longer gradient (of all parameters together, L2) is shortened to it; 0: never.
    weight_decay : float
        Of AdamW: a step takes this times the rate from each weight, as a share.
    average : float
        See ``averaging.Average``; 0: the net has the last weights.
    patience : int
        Epochs without a lower validation loss after which the run ends with the best net; 0: never.
    seed : int
    objective : Objective
    """

    feature_set: str
    l1: int = Training.l1
    l2: int = Training.l2
    epochs: int = Training.epochs
    batch_size: int = Training.batch_size
    optimizer: str = Training.optimizer
    learning_rate: float = Training.learning_rate
    schedule: str = Training.schedule
    lr_decay: float = Training.lr_decay
    warmup: int = Training.warmup
    clip_norm: float = Training.clip_norm
    patience: int = Training.patience
    seed: int = 1
    objective: Objective = field(default_factory=Scores)
    l3: int = Training.l3
    activation: str = Training.activation
    buckets: int = Training.buckets
    pairwise: bool = Training.pairwise
    psqt: bool = Training.psqt
    fake_quantize_epochs: int = Training.fake_quantize_epochs
    games_share: float = Training.games_share
    weight_decay: float = Training.weight_decay
    average: float = Training.average
    factorize: str = Training.factorize
    min_ply: int = Training.min_ply
    min_pieces: int = Training.min_pieces
    max_pieces: int = Training.max_pieces
    max_disagreement: float = Training.max_disagreement
    epoch_share: float = Training.epoch_share
    epoch_positions: int = Training.epoch_positions
    skip_check: bool = Training.skip_check
    skip_captures: bool = Training.skip_captures

    @classmethod
    def of(cls, feature_set: str, chosen: Training, seed: int) -> Self:
        """A run as `Training` describes it, whose method and its parameters are an objective."""
        own = cls.__dataclass_fields__.keys()
        shared = {name: value for name, value in vars(chosen).items() if name in own}
        return cls(feature_set, seed=seed, objective=objective_of(chosen), **shared)

    @property
    def filters(self) -> Filters:
        """Which positions it learns from."""
        named = Filters.__dataclass_fields__.keys() & vars(self).keys()
        scale = getattr(self.objective, "target_scale", Training.target_scale)
        return Filters(**{name: getattr(self, name) for name in named}, target_scale=scale)

    def layers(self, feature_set: FeatureSet) -> Layers:
        """Those of its net."""
        optional = {name: getattr(self, name) for name in USUAL}
        return Layers(feature_set.size, self.l1, self.l2, **optional)

    def described(self) -> dict[str, Any]:
        """All of it as flat JSON types.

        What came later and is as it was before isn't named: runs from before go on.
        """
        flat = asdict(self)
        del flat["objective"]
        for name, before in LATER.items():
            if flat[name] == before:
                del flat[name]
        return flat | self.objective.described()

    @property
    def extendable(self) -> bool:
        """Whether a run of more epochs begins as this one does."""
        return (
            self.schedule == "step"
            and not self.patience
            and not self.fake_quantize_epochs
            and self.objective.is_constant
        )


class Trainer:
    """A network, its optimizer, and the step that fuses them.

    Parameters
    ----------
    settings : Settings
    feature_set : FeatureSet
        That of the settings.
    threads : Threads
    group : Group, optional
        Processes that train together.
    device : torch.device, optional
        Where the net is: on the CPU the kernels of ``first_layer`` work, elsewhere torch's own.

    Attributes
    ----------
    network : Network
        What steps train.
    kept : Network
        What is validated and kept: the same one, or its average.
    """

    def __init__(
        self,
        settings: Settings,
        feature_set: FeatureSet,
        threads: Threads,
        group: Group | None = None,
        device: torch.device | None = None,
    ) -> None:
        torch.set_num_threads(1)  # the pool splits the work; torch would split sums by threads
        self.settings, self.feature_set, self.threads = settings, feature_set, threads
        self.device = device or torch.device("cpu")
        self.group = group or Group(self.device)
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.network = Network.untrained(
            feature_set, settings.layers(feature_set), self.generator, settings.factorize
        )
        self.network.to(self.device)
        self.average = Average(self.network, settings.average) if settings.average else None
        self.kept = self.average.model if self.average else self.network
        self._layers: FirstLayers | None = None
        parameters = list(self.network.parameters())
        if self.device.type == "cpu":
            self._layers = self.network.first_layers(threads, whole=self.group.size > 1)
            rowwise = settings.optimizer == "rowwise-adam"
            self.rows_optimizer = RowAdam(self.network.w1, rowwise, settings.weight_decay)
            parameters = self.network.dense_parameters()
        elif settings.optimizer != "adam":
            raise UserError(f"{settings.optimizer} is for the CPU; add --device cpu")
        on_gpu = self.device.type == "cuda"
        if on_gpu:
            # What isn't in bfloat16 is in TF32, whose steps are those that a net is rounded to.
            precision = "highest" if settings.fake_quantize_epochs else "high"
            torch.set_float32_matmul_precision(precision)
        self.optimizer = DenseAdam(parameters, settings.learning_rate, settings.weight_decay)
        plain = not settings.clip_norm and self.group.size == 1
        self._graphed = on_gpu and plain and feature_set.size <= DENSE["cuda"]
        self._replayed: Replayed | None = None

    def learning_rate(self, done: int, per_epoch: int) -> float:
        """After ``done`` steps, with ``per_epoch`` in an epoch."""
        s = self.settings
        return s.learning_rate * schedules.factor(
            s.schedule, done, per_epoch, s.epochs, s.lr_decay, s.warmup
        )

    def begin_epoch(self, epoch: int) -> None:
        """From the first of the last epochs on, the net rounds."""
        rounding = epoch >= self.settings.epochs - self.settings.fake_quantize_epochs
        if rounding and not self.network.shifts:  # else the run goes on within these epochs
            self.fake_quantize()

    def fake_quantize(self) -> None:
        """From now on the net rounds as its integer net would if quantized now."""
        self._replayed = None  # the graph of a net that doesn't
        shifts = shifts_of(self.kept, self.feature_set)
        for network in (self.network, self.kept):
            network.shifts = dict(shifts)
            network.clip_weights()

    def step(self, samples: Labelled | Held, rate: float) -> SupportsFloat:
        """One step of the optimizer; returns the sum of the losses before it."""
        self.optimizer.set_rate(rate)
        if self._graphed and samples.total == self.settings.batch_size:
            if self._replayed is None:
                whole = partial(self._by_torch, samples.total)
                self._replayed = Replayed(whole, self.optimizer.zero_grad)
            total = self._replayed(*self._ready(samples))
        elif self._layers is None:
            self.optimizer.zero_grad()
            total = self._by_torch(samples.total, *self._ready(samples))
        else:
            self.optimizer.zero_grad()
            output = self._valued(self.network, samples)
            total = self._update(output, samples.target, samples.total, rate)
        if self.average:
            self.average.step(self.network)
        return Later(total) if self.device.type == "cuda" else float(total)

    def _by_torch(
        self, samples: int, active: torch.Tensor, target: torch.Tensor, pieces: torch.Tensor
    ) -> torch.Tensor:
        """A step by torch's own operators, which a graph can hold."""
        half = self.device.type == "cuda" and not self.network.shifts
        dtype = torch.bfloat16 if half else torch.float32
        output = self.network.by_torch(active, pieces, dtype)
        return self._update(output, target, samples)

    def _update(
        self, output: torch.Tensor, target: torch.Tensor, samples: int, rate: float = 0.0
    ) -> torch.Tensor:
        """Moves the weights against the gradient; the sum of the losses before that."""
        loss = self.settings.objective.losses(output, target).sum()
        (loss / samples).backward()
        gradients = []
        if self._layers is not None:
            gradients = [torch.from_numpy(self._layers.gradient)]
        gradients += [p.grad for p in self.network.parameters() if p.grad is not None]
        # Under another name, since what is summed over processes is replaced.
        total = loss.detach().double()
        self.group.sum([total, *gradients])
        if self.settings.clip_norm:
            _clip(gradients, self.settings.clip_norm)
        if self._layers is not None:
            self.rows_optimizer.step(self._layers, rate)
        self.optimizer.step()
        self.network.clip_weights()
        return total

    def is_finite(self) -> bool:
        """Whether all weights are numbers."""
        return all(bool(weights.isfinite().all()) for weights in self.network.parameters())

    @torch.no_grad()
    def outputs(self, samples: Labelled | Held) -> torch.Tensor:
        """Centipawns for the side to move, float32 [B * positions], on the device."""
        return self._valued(self.kept, samples)

    def _valued(self, network: Network, samples: Labelled | Held) -> torch.Tensor:
        if self._layers is None:
            active, _, pieces = self._ready(samples)
            return network.by_torch(active, pieces)
        assert isinstance(samples, Labelled)
        return network.valued(samples.batch, self._layers)

    def _ready(self, samples: Labelled | Held) -> Ready:
        if isinstance(samples, Held):
            return samples.ready
        return samples.ready or self.ready(samples.batch, samples.target)

    def ready(self, batch: Batch, target: torch.Tensor) -> Ready:
        """What a step takes of a batch, on the device."""
        pinned = self.device.type == "cuda"  # is copied while the device computes
        width = -(-max(int(batch.n.max()), 1) // WIDTH) * WIDTH
        active = torch.empty((2, len(batch), width), dtype=torch.int32, pin_memory=pinned)
        pad(batch.rows, batch.n, self.network.layers.n_features, active.numpy())
        here = [target, torch.from_numpy(batch.pieces)]
        sent = [active, *(each.pin_memory() if pinned else each for each in here)]
        return Ready(*(each.to(self.device, non_blocking=pinned) for each in sent))

    def validate(self, loader: Loader | Resident) -> dict[str, float]:
        """Means over all samples of a dataset.

        Returns
        -------
        dict
            validation_loss, and for triplets right_sign: the share whose value after the move
            played is lower than after the other one, each seen by the side to move there.
        """
        total, right = 0.0, 0
        triplets = self.settings.objective.positions == 3
        for samples in loader.in_order():
            outputs = self.outputs(samples)
            losses = self.settings.objective.losses(outputs, samples.target.to(self.device))
            total += float(losses.double().sum())
            if triplets:
                _, q, r = outputs.view(-1, 3).unbind(1)
                right += int((r > q).sum())
        found = {"validation_loss": total / len(loader)}
        return found | {"right_sign": right / len(loader)} if triplets else found

    def state(self, loader: Loader, **run: Any) -> Checkpoint:
        """The checkpoint: the net, and what the run says of itself."""
        optimizer = {"dense": self.optimizer.state_dict()}
        if self._layers is not None:
            optimizer["rows"] = self.rows_optimizer.state_dict()
        if self.average:
            optimizer["average"] = self.average.state_dict()
            optimizer["last"] = dict(self.network.state_dict())
        return Checkpoint(
            model=_on_cpu(dict(self.kept.state_dict())),
            optimizer=_on_cpu(optimizer),
            activations=self.mean_activations(loader),
            generator=self.generator.get_state(),
            shifts=dict(self.network.shifts),
            **run,
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Resumes from a checkpoint."""
        self.kept.load_state_dict(checkpoint.model)
        if self.average:
            self.average.load_state_dict(checkpoint.optimizer["average"])
            self.network.load_state_dict(checkpoint.optimizer["last"])
        for network in (self.network, self.kept):
            network.shifts = dict(checkpoint.shifts)
        if self._layers is not None:
            self.rows_optimizer.load_state_dict(checkpoint.optimizer["rows"])
        self.optimizer.load_state_dict(checkpoint.optimizer["dense"])
        self.generator.set_state(checkpoint.generator)

    def start_from(self, checkpoint: Checkpoint, path: Path) -> None:
        """Begins with the net of another run.

        Raises
        ------
        UserError
            When it has another feature set, other sizes, or shares other rows.
        """

        def shape(feature_set: str, network: Network) -> str:
            return f"{feature_set}, {network.layers}, {len(network.shared)} shared rows"

        there = shape(checkpoint.feature_set, checkpoint.network())
        here = shape(self.settings.feature_set, self.network)
        if there != here:
            raise UserError(
                f"{path} holds a net of {there}, not of {here}; start from one of the same shape"
            )
        for network in (self.network, self.kept):
            network.load_state_dict(checkpoint.model)

    @torch.no_grad()
    def mean_activations(self, loader: Loader) -> torch.Tensor:
        """Mean inputs of the second layer, over a fixed random choice of positions."""
        batches = max(CALIBRATION // loader.batch_size, 1)
        layers = self.kept.layers
        total, positions = torch.zeros(2 * layers.inputs, dtype=torch.float64), 0
        for labelled in islice(loader.shuffled(self.settings.seed, 0), batches):
            if self._layers is not None:
                own, shared = (table.numpy() for table in self.kept.tables())
                bias = self.kept.b1.numpy()
                clipped = self._layers.accumulators(own, shared, bias, labelled.batch)
                found = of_clipped(torch.from_numpy(clipped), layers.first).flatten(1)
            else:
                found = self.kept.accumulators(self._ready(labelled).active)
            total += found.double().sum(0).cpu()
            positions += len(found)
        return (total / positions).float()


def _clip(gradients: list[torch.Tensor], longest: float) -> None:
    """Shortens all gradients together to a length (L2)."""
    length = torch.stack([gradient.norm() for gradient in gradients]).norm()
    if length > longest:
        for gradient in gradients:
            gradient.mul_(longest / length)


def _on_cpu(value: Any) -> Any:
    """The same nested dicts and lists, with every tensor on the CPU."""
    if isinstance(value, torch.Tensor):
        return value.cpu()
    if isinstance(value, dict):
        return {key: _on_cpu(item) for key, item in value.items()}
    return [_on_cpu(item) for item in value] if isinstance(value, list) else value
