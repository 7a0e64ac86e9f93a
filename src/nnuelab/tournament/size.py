"""The first layer with which a node of a feature set costs what the anchor's does.

The engine pads accumulators to a multiple of `LANES` neurons, so a size in between costs about as
much as the next multiple: only multiples are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nnuelab.errors import UserError
from nnuelab.nnue.netfile import read_net
from nnuelab.nnue.simd import LANES
from nnuelab.settings.games import Pricing
from nnuelab.tournament import cost
from nnuelab.tournament.cost import Cost

ANCHOR = "anchor"  # among the costs
DEAREST = 1.1  # of a net that still counts as affordable: rounding comes to as much


@dataclass(frozen=True)
class Size:
    """A first layer by its cost.

    Attributes
    ----------
    l1 : int
        A multiple of LANES.
    exact : float
        Neurons that would cost what the anchor's do, within the sizes measured.
    cost : float
        Of a node with ``l1`` neurons, relative to the anchor's; foretold.
    """

    l1: int
    exact: float
    cost: float


def fitted(sizes: Sequence[int], costs: Sequence[float]) -> Size:
    """The size whose node costs 1, by straight lines between measurements.

    Parameters
    ----------
    sizes : sequence of int
        Neurons of the first layer, in any order.
    costs : sequence of float
        Of a node, relative to the anchor's.

    Raises
    ------
    UserError
        Where the smallest one costs more than the anchor.
    """
    order = np.argsort(sizes)
    padded = -(-np.asarray(sizes)[order] // LANES) * LANES
    # By noise a larger net may seem cheaper.
    rising = np.maximum.accumulate(np.asarray(costs, float)[order])
    if rising[0] > DEAREST:
        raise UserError(
            f"even with {min(sizes)} neurons a node costs {rising[0]:.2f} times what the anchor's "
            "does; give the anchor a larger l1"
        )
    exact = float(np.interp(1.0, rising, padded))
    l1 = max(round(exact / LANES), 1) * LANES
    return Size(l1, exact, float(np.interp(l1, padded, rising)))


def measure(
    anchor: Path, nets: Sequence[Path], positions: Path, settings: Pricing, output: Path
) -> tuple[Size, list[Cost]]:
    """The size of a set, and what the nets cost: the anchor first.

    Parameters
    ----------
    anchor : path
        The net whose cost is 1.
    nets : sequence of path
        Of one feature set, with first layers of several sizes; equal otherwise.
    positions : path
        A dataset to draw positions from.
    settings : Pricing
    output : path
        What the costs are for, as in `cost.measure`.

    Raises
    ------
    UserError
        Nets that differ by more than the first layer, by nothing, or that all cost too much.
    """
    read = [read_net(net) for net in nets]
    sizes = [net.l1 for net in read]
    others = {
        (net.feature_set, replace(net.layers, l1=0)): path
        for net, path in zip(read, nets, strict=True)
    }
    if len(others) > 1:
        first, second, *_ = others.values()
        raise UserError(f"{first} and {second} differ by more than the size of their first layers")
    if len(set(sizes)) < max(len(sizes), 2):
        raise UserError("give two or more nets of the set, each with another size of first layer")
    names = [ANCHOR, *(f"{net.feature_set},l1-{net.l1}" for net in read)]
    paths = dict(zip(names, (anchor, *nets), strict=True))
    found = cost.measure(paths, positions, ANCHOR, settings, output)
    return fitted(sizes, [each.cost for each in found[1:]]), found
