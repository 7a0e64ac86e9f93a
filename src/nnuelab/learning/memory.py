"""How much memory training takes at least, known before it is allocated."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from nnuelab.errors import UserError
from nnuelab.features import FeatureSet
from nnuelab.learning.sparse import BLOCK

FLOAT, INDEX = 4, 4  # bytes
# Tables as large as the first layer: weights, gradient, Adam's two moments, and the panels that the
# kernels read. Those of the rows that features share are the first four.
TABLES, SHARED_TABLES = 5, 4
BATCHES = 2  # of active features at once: the one in work and the next
GB = 1e9
EXTRACTED = 1 << 28  # bytes of lists that need not be larger


def check_training(
    features: FeatureSet,
    l1: int,
    batch_size: int,
    optimizer: str,
    factorize: str,
    average: bool = False,
) -> None:
    """Checks that this machine has the memory for the first layer's training.

    ``rowwise-adam`` has one of the moments for a row instead of a weight; an average of the weights
    is a further table.

    Raises
    ------
    UserError
        With what is needed for what, and what there is.
    """
    tables = TABLES - (optimizer == "rowwise-adam") + average
    weights = tables * FLOAT * features.size * l1
    blocks = -(-batch_size // BLOCK)
    lists = 2 * INDEX * features.max_active * (BATCHES * batch_size + blocks * BLOCK)
    lists += 2 * blocks * INDEX * features.size  # which features have positions, and where
    lists += FLOAT * batch_size * 2 * l1  # accumulators
    there = installed()
    if weights + lists <= there:  # else listing what is shared might be too much, too
        shared = int(features.shared_rows(factorize).max(initial=-1)) + 1
        weights += (SHARED_TABLES + average) * FLOAT * shared * l1
    if weights + lists > there:
        raise UserError(
            f"training {features.name} takes at least {(weights + lists) / GB:,.1f} GB of memory, "
            f"this machine has {there / GB:,.1f}: {weights / GB:,.1f} are for {features.size:,} "
            f"rows of {l1:,} weights, {lists / GB:,.1f} for batches of {batch_size:,} positions "
            f"with up to {features.max_active:,} active features; make --l1 or --batch-size "
            "smaller, or leave out a factor"
        )


def positions_at_once(features: FeatureSet, most: int) -> int:
    """How many positions can be extracted at once, at most ``most``, in lists of 256 MB."""
    return max(min(most, EXTRACTED // (2 * INDEX * features.max_active)), 1)


def installed() -> int:
    """Bytes of memory that this process can ever have: the machine's, or its container's."""
    bytes_there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # no container, or one without a limit: "max"
        bytes_there = min(bytes_there, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return bytes_there
