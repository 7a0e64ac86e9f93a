"""Checkpoints of nets: all that training needs to go on, or to make a net of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from nnuelab.errors import UserError
from nnuelab.features import FeatureSet, fingerprint, parse
from nnuelab.learning import checkpoint as container
from nnuelab.learning.checkpoint import Running
from nnuelab.nnue.network import Network

FORMAT = 4


@dataclass
class Checkpoint:
    """The state of a training run.

    Attributes
    ----------
    feature_set : str
        Canonical expression.
    settings : dict
        Everything that the result depends on, for comparison; JSON types.
    epoch : int
        Whole epochs done.
    model, optimizer : dict
        State of the network and of Adam.
    activations : float32 [2M]
        Mean outputs of the first layer over training positions: quantization needs them to centre
        the error that rounding the second layer's weights makes.
    generator : uint8 tensor
        State of the generator that the initial weights came from.
    history : list of dict
        A row of history.csv per epoch.
    files : dict
        Content of the files that the feature set names, by name.
    blocks : dict
        Fingerprint of each block's definition, by name.
    running : Running
        What is done of the next epoch.
    shifts : dict
        Those of the integer net whose rounding the net was trained with; empty: none.
    """

    feature_set: str
    settings: dict[str, Any]
    epoch: int
    model: dict[str, torch.Tensor]
    optimizer: dict[str, Any]
    activations: torch.Tensor
    generator: torch.Tensor
    history: list[dict[str, float]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    running: Running = field(default_factory=Running)
    shifts: dict[str, int] = field(default_factory=dict)

    @property
    def features(self) -> FeatureSet:
        """The feature set, as it was when training began."""
        return parse(self.feature_set, self.files)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """N, M and O."""
        n, m = self.model["w1"].shape
        return n, m, self.model["b2"].shape[0] // self.buckets

    @property
    def buckets(self) -> int:
        """Nets behind the first layer."""
        return self.model["b3"].shape[0]

    def network(self) -> Network:
        """The float net; one that was trained to round rounds here, too."""
        virtual = self.features.virtual() if "shared" in self.model else None
        network = Network(
            *self.sizes,
            torch.Generator(),
            virtual=virtual,
            l3=self.model["bh"].shape[0] // self.buckets if "bh" in self.model else 0,
            activation=self.settings.get("activation", "clipped"),
            buckets=self.buckets,
        )
        network.load_state_dict(self.model)
        network.shifts = self.shifts
        return network

    def content(self) -> dict[str, Any]:
        """The attributes as plain types; tensors, which may be large, are not copied."""
        return {**vars(self), "running": asdict(self.running)}

    def digest(self) -> str:
        """SHA-256 of all tensors: the same for the same net, whatever else is in the file."""
        return container.digest(self.content())

    def checksum(self) -> str:
        """SHA-256 of all that the file says."""
        return container.checksum(self.content())

    def write(self, path: Path) -> None:
        """Writes the file, atomically."""
        container.write(path, self.content(), FORMAT)


def read(path: Path | str) -> Checkpoint:
    """Reads a checkpoint of a feature set whose blocks are still what they were.

    Raises
    ------
    UserError
        When there is none, the file is damaged or something else, or a block is not there or
        defined otherwise now.
    """
    checkpoint = load(path)
    try:
        fingerprint.check(checkpoint.features, checkpoint.blocks)
    except UserError as error:
        raise type(error)(f"{path}: {error}") from error
    return checkpoint


def load(path: Path | str) -> Checkpoint:
    """Reads a checkpoint, whatever has become of its blocks.

    Raises
    ------
    UserError
        When there is none, or the file is damaged or something else.
    """
    content = container.read(path, FORMAT)
    try:
        return Checkpoint(**{**content, "running": Running(**content["running"])})
    except (KeyError, TypeError) as error:
        raise container.damaged(path, "parts are missing") from error
