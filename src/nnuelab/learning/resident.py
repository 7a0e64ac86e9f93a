"""Samples that stay on a GPU: an epoch sends their order there, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from nnuelab.learning.loader import Loader, Ready

WIDTH = 32  # features of a position, of which a batch for a GPU has a multiple: a graph for each


@dataclass(frozen=True)
class Held:
    """Samples on a device; see ``loader.Labelled``.

    Attributes
    ----------
    ready : Ready
    places : int64 [B]
        Their numbers among the samples of the file, on the device.
    loader : Loader
    """

    ready: Ready
    places: torch.Tensor
    loader: Loader

    @property
    def target(self) -> torch.Tensor:
        """What each sample is to learn, float32 [B], on the device."""
        return self.ready.target

    @property
    def total(self) -> int:
        """Samples of the batch."""
        return len(self.places)

    @property
    def records(self) -> np.ndarray:
        """RECORD [B]: read from the file when it is asked for."""
        return self.loader.chosen(self.places.cpu().numpy())


class Resident:
    """All samples of a loader on a device, in the batches that the loader makes.

    Parameters
    ----------
    loader : Loader
    parts : list of Ready
        All of its samples in order.
    """

    def __init__(self, loader: Loader, parts: list[Ready]) -> None:
        self._loader = loader
        # An order takes about as long as its epoch: that of the next one is made meanwhile.
        self._pool = ThreadPoolExecutor(1)
        self._next = dict[tuple[int, int], Future[torch.Tensor]]()
        self._target = torch.cat([part.target for part in parts])
        self._pieces = torch.cat([part.pieces for part in parts])
        shape = 2, len(self._target), max(part.active.shape[2] for part in parts)
        self._active = parts[0].active.new_full(shape, loader.feature_set.size)
        place = 0
        for part in parts:
            _, samples, width = part.active.shape
            self._active[:, place : place + samples, :width] = part.active
            place += samples

    def __len__(self) -> int:
        """Samples."""
        return len(self._loader)

    def shuffled(self, seed: int, epoch: int, start: int = 0) -> Iterator[Held]:
        """All samples in random order, from batch ``start`` on: see ``Loader.shuffled``."""
        order = self._next.pop((seed, epoch), None) or self._pool.submit(self._order, seed, epoch)
        if epoch + 1 < self._loader.epochs:
            self._next = {(seed, epoch + 1): self._pool.submit(self._order, seed, epoch + 1)}
        batches = order.result().split(self._loader.batch_size)
        yield from map(self._held, batches[start : self._loader.batches])

    def in_order(self) -> Iterator[Held]:
        """All samples as they lie in the file."""
        places = torch.arange(len(self._target), device=self._target.device)
        yield from map(self._held, places.split(self._loader.batch_size))

    def _held(self, places: torch.Tensor) -> Held:
        ready = Ready(self._active[:, places], self._target[places], self._pieces[places])
        return Held(ready, places, self._loader)

    def _order(self, seed: int, epoch: int) -> torch.Tensor:
        return torch.from_numpy(self._loader.order(seed, epoch)).to(self._target.device)


def hold(loader: Loader, room: int) -> Loader | Resident:
    """The samples on their device if they are the same in all epochs and fit, else the loader.

    Parameters
    ----------
    loader : Loader
        Whose threads put there what a step takes of a batch.
    room : int
        Free bytes there. What is being made is there twice, and as much is left to the training.
    """
    if not loader.is_fixed:
        return loader
    kind = torch.int16 if loader.feature_set.size < 1 << 15 else torch.int32
    parts = list[Ready]()
    for labelled in loader.in_order():
        assert labelled.ready is not None
        parts.append(labelled.ready._replace(active=labelled.ready.active.to(kind)))
        room -= 3 * sum(each.nbytes for each in parts[-1])
        if room < 0:
            return loader
    return Resident(loader, parts)
