"""What training runs on: threads of this process, a device, processes that torchrun started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import llvmlite.binding
import torch
import torch.distributed as dist

from nnuelab.errors import UserError

if llvmlite.binding.get_host_cpu_features().get("avx2"):
    # torch chooses its vector code by the kind of CPU when it first computes something, and with
    # AVX-512 sums otherwise. One choice gives the same bits; what takes time are our own kernels.
    os.environ["ATEN_CPU_CAPABILITY"] = "avx2"

T = TypeVar("T")
R = TypeVar("R")


class Threads:
    """A pool of threads for kernels that release the GIL; results come in the order of the tasks.

    Parameters
    ----------
    n : int
        Threads; 0 for as many as the process may use. 1 works in the calling thread.
    """

    def __init__(self, n: int = 0) -> None:
        self.n = n or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.n, initializer=_one_torch_thread)

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """``map`` on the pool, or here when one thread is all there is."""
        return map(function, tasks) if self.n == 1 else self._pool.map(function, tasks)

    def close(self) -> None:
        self._pool.shutdown()


def _one_torch_thread() -> None:
    torch.set_num_threads(1)


def device_of(name: str) -> torch.device:
    """The device that ``auto``, ``cpu`` or ``cuda`` names.

    Raises
    ------
    UserError
        When it is not there.
    """
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise UserError("there is no CUDA device that torch can use here; add --device cpu")
    if name == "auto":
        name = "cuda" if there else "cpu"
    return torch.device(f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if name == "cuda" else name)


class Group:
    """Processes that train together, each with a part of every batch; without torchrun, this one.

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
                advice = "start them with torchrun, or unset WORLD_SIZE"
                if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0":
                    # Restarted ones find the addresses of the dead in the store of torchrun.
                    advice = "start torchrun with TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"
                raise UserError(
                    f"can't join the {self.size} processes of this run ({error}); {advice}"
                ) from error
            self.rank = dist.get_rank()

    def sum(self, tensors: Iterable[torch.Tensor]) -> None:
        """Replaces each tensor by its sum over all processes."""
        if self.size > 1:
            for tensor in tensors:
                dist.all_reduce(tensor)

    def agree(self, state: str) -> None:
        """Raises UserError if the processes don't start with the same state."""
        if self.size > 1:
            states = [""] * self.size
            dist.all_gather_object(states, state)
            if len(set(states)) > 1:
                raise UserError(
                    "the processes of this run start differently; give all of them the same data "
                    "and checkpoints, in a shared folder"
                )

    def wait(self) -> None:
        """Until every process is here."""
        if self.size > 1:
            dist.barrier()

    def close(self) -> None:
        """Leaves the others."""
        if self.size > 1:
            dist.destroy_process_group()
