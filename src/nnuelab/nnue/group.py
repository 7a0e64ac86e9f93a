"""Processes that train one net together, started by torchrun: each has a part of every batch."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch
import torch.distributed as dist

from nnuelab.errors import UserError


class Group:
    """The processes of a run; without torchrun, this one alone.

    Attributes
    ----------
    rank, size : int
        Which of how many this process is. Rank 0 writes the files.
    """

    def __init__(self, device: torch.device) -> None:
        self.rank, self.size = 0, int(os.environ.get("WORLD_SIZE", "1"))
        if self.size > 1:
            backend = "nccl" if device.type == "cuda" else "gloo"
            try:
                dist.init_process_group(backend)
            except (ValueError, RuntimeError) as error:
                raise UserError(
                    f"can't join the {self.size} processes of this run ({error}); start them with "
                    "torchrun, or unset WORLD_SIZE"
                ) from error
            self.rank = dist.get_rank()

    def sum(self, tensors: Iterable[torch.Tensor]) -> None:
        """Replaces each tensor by its sum over all processes."""
        if self.size > 1:
            for tensor in tensors:
                dist.all_reduce(tensor)

    def agree(self, state: str) -> None:
        """Raises UserError where the processes don't begin with the same state."""
        if self.size > 1:
            states = [""] * self.size
            dist.all_gather_object(states, state)
            if len(set(states)) > 1:
                raise UserError(
                    "the processes of this run don't begin alike; give all of them the same data "
                    "and checkpoints, by a folder that they share"
                )

    def wait(self) -> None:
        """Until every process is here."""
        if self.size > 1:
            dist.barrier()

    def close(self) -> None:
        """Leaves the others."""
        if self.size > 1:
            dist.destroy_process_group()
