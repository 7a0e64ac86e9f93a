"""Whether nets know which move was played: their values of held-out triplets P, Q, R.

The player of a move preferred Q to R, so a net that knows better from worse has f(R) > f(Q), each
seen by the side that is to move there; and a position is worth what its best move is: f(P) = -f(Q).
Training by PQR asks for both (``losses.PQR``), so what it has learnt shows on triplets of games
that it didn't see, beside what a net that learnt nothing and a count of material say of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from nnuelab import data, files, intervals
from nnuelab.data import sampler, triplets, validation
from nnuelab.data.dataset import evenly
from nnuelab.errors import UserError
from nnuelab.features import FeatureSet
from nnuelab.learning.loader import HELD_OUT
from nnuelab.nnue import inference, netfile, verify
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.network import Network

MATERIAL = "material"
PIECES = (100, 300, 300, 500, 900, 0)  # centipawns of P N B R Q K
UNTRAINED_SEED = 1
_ZIPPED = b"PK"  # what torch's files begin with


@dataclass(frozen=True)
class Judgement:
    """What one evaluation says of triplets; intervals are of 95 %.

    Triplets of one game aren't independent, so there are counted as many as would vary as much.

    Attributes
    ----------
    net : str
        Its name.
    triplets : int
    right_sign, right_sign_low, right_sign_high : float
        Share with f(R) > f(Q), and its Wilson interval.
    tied : float
        Share with f(R) = f(Q).
    with_coin, with_coin_low, with_coin_high : float
        Share that is right where a coin decides ties, likewise: what is fair to a count of
        material, to which most moves are alike. 0.5 knows nothing.
    correlation, slope : float or None
        Of f(P) against f(Q), by least squares: both would be -1. None where f(Q) doesn't vary.
    """

    net: str
    triplets: int
    right_sign: float
    right_sign_low: float
    right_sign_high: float
    tied: float
    with_coin: float
    with_coin_low: float
    with_coin_high: float
    correlation: float | None
    slope: float | None


@dataclass(frozen=True)
class Triplets:
    """Positions of which some evaluation is asked.

    Attributes
    ----------
    records : ndarray of RECORD [3n]
        P, Q, R of the first, P, Q, R of the second...
    """

    records: np.ndarray

    def __len__(self) -> int:
        return len(self.records) // 3

    @property
    def games(self) -> np.ndarray:
        """The game of each, int64 [n]; where the file knows no games, each is its own."""
        found = self.records["game"][::3].astype(np.int64)
        return found if len(np.unique(found)) > 1 else np.arange(len(self))


def held_out(path: Path, count: int) -> Triplets:
    """Triplets of a dataset: those that training validates with, evenly spaced over the file.

    Parameters
    ----------
    path : Path
        Dataset of games that the nets didn't learn from. Positions with their move and another
        legal one are taken; their R is always the same.
    count : int
        At most so many; 0: all.

    Raises
    ------
    UserError
        When the file is no dataset, is damaged, or no position makes a triplet.
    """
    found = data.open(path)
    least = triplets.least_moves((), 0)
    kept = []
    for part in sampler.parts(found):
        validation.check(part, path)
        kept.append(part[triplets.usable(part, least)])
    if not sum(map(len, kept)):
        raise UserError(
            f"{path} has no position with its move and another legal one; sample it from games"
        )
    usable = np.concatenate(kept)
    chosen = usable[evenly(len(usable), count or len(usable))]
    return Triplets(triplets.make_triplets(chosen, HELD_OUT, 0))


def material(records: np.ndarray) -> np.ndarray:
    """Own less enemy pieces by `PIECES`: centipawns for the side to move.

    Parameters
    ----------
    records : ndarray of RECORD [n]

    Returns
    -------
    ndarray of int64 [n]
    """
    # A piece's code is role * 2 + colour.
    worth = np.array([sign * value for value in PIECES for sign in (1, -1)])
    pieces, white = np.bitwise_count(records["occupied"]), np.zeros(len(records), np.int64)
    for i in range(32):
        words = records["pieces_low" if i < 16 else "pieces_high"]
        code = (words >> np.uint64(4 * (i % 16))) & np.uint64(15)
        white += np.where(i < pieces, worth[np.minimum(code, 11).astype(np.int64)], 0)
    return np.where(records["flags"] & 1, -white, white)


def values(nets: Mapping[str, Path], asked: Triplets) -> dict[str, np.ndarray]:
    """What each net says, then an untrained net of each of their shapes, then a count of material.

    Parameters
    ----------
    nets : mapping of str to Path
        Nets (``.nnue``, ``.nn``: by integers) and checkpoints (by floats), by name.
    asked : Triplets

    Returns
    -------
    dict of str to ndarray of float64 [n, 3]
        f(P), f(Q) and f(R), centipawns, each for its own side to move.

    Raises
    ------
    UserError
        When a file is no net, is damaged, or says of a position what is no number; or a net is
        called as the count of material is.
    """
    if MATERIAL in nets:
        raise UserError(f"{MATERIAL} is the count of pieces here; give that net another name")
    found: dict[str, np.ndarray] = {}
    shapes: dict[str, tuple[FeatureSet, Network | netfile.Net]] = {}
    for name, path in nets.items():
        net: Network | netfile.Net
        if _is_checkpoint(path):
            trained = Checkpoint.read(path)
            features, net = trained.features, trained.network()
            said = verify.float_outputs(features, net, asked.records)
        else:
            net = netfile.read_net(path)
            features = net.features
            said = inference.integer_outputs(net, asked.records)
        if not np.isfinite(said).all():
            raise UserError(f"{path} gives a value that is not a number; train it again")
        found[name] = said
        shapes[f"untrained {features.name}, {net.layers}"] = features, net
    for name, (features, net) in shapes.items():
        network = _untrained(features, net)
        found[name] = verify.float_outputs(features, network, asked.records)
    found[MATERIAL] = material(asked.records)
    return {name: said.astype(np.float64).reshape(-1, 3) for name, said in found.items()}


def _is_checkpoint(path: Path) -> bool:
    try:
        files.require(path)
        with open(path, "rb") as file:
            return file.read(len(_ZIPPED)) == _ZIPPED
    except OSError as error:
        raise UserError(
            f"can't read {path}: {error.strerror}; give a net or a checkpoint"
        ) from error


def _untrained(features: FeatureSet, net: Network | netfile.Net) -> Network:
    """What training of a net of this shape begins with."""
    generator = torch.Generator().manual_seed(UNTRAINED_SEED)
    return Network.untrained(features, net.layers, generator, "none")


def judge(name: str, said: np.ndarray, games: np.ndarray) -> Judgement:
    """Counts and intervals of what an evaluation says.

    Parameters
    ----------
    name : str
    said : ndarray of float64 [n, 3]
        f(P), f(Q), f(R).
    games : ndarray of int64 [n]
        Which game each triplet is of.
    """
    p, q, r = said.T
    right, tied = (r > q).astype(np.float64), (r == q).astype(np.float64)
    _, cluster = np.unique(games, return_inverse=True)
    asked = np.bincount(cluster).astype(np.float64)

    def share(scored: np.ndarray) -> tuple[float, float, float]:
        interval = intervals.clustered(asked, np.bincount(cluster, scored))
        return float(scored.mean()), *interval

    vary = p.std() > 0 and q.std() > 0
    return Judgement(
        name,
        len(said),
        *share(right),
        float(tied.mean()),
        *share(right + tied / 2),
        float(np.corrcoef(p, q)[0, 1]) if vary else None,
        float(np.polyfit(q, p, 1)[0]) if q.std() > 0 else None,
    )
