"""Random nets for the tests of the rooms that use nets."""

from __future__ import annotations

import chess
import numpy as np

from nnuelab import features
from nnuelab.nnue.layers import Direct
from nnuelab.nnue.netfile import Net, no_second_layer


def random_net(
    feature_set: str = "ALL",
    l1: int = 32,
    l2: int = 8,
    seed: int = 0,
    l1_shift: int = 0,
    l2_shift: int = 6,
    out_shift: int = 4,
    l3: int = 0,
    buckets: int = 1,
    activation: str = "clipped",
    pairwise: bool = False,
    psqt: int = 0,
    rows: str = "<i2",
    direct: Direct | None = None,
) -> Net:
    """A net whose activations are spread over the whole range, clipped ones included.

    ``psqt`` is the number of its values of a feature, ``rows`` the type of its first layer; with
    ``direct`` there is no second layer.
    """
    rng = np.random.default_rng(seed)
    n, both = features.parse(feature_set).size, 2 if activation == "dual" else 1

    def integers(spread: float, dtype: str, *shape: int) -> np.ndarray:
        limits = np.iinfo(dtype)
        drawn = np.rint(rng.standard_normal(shape) * spread)
        return np.clip(drawn, limits.min, limits.max).astype(dtype)

    if direct is not None:
        return Net(
            feature_set,
            w1=integers(direct.one / 6, rows, n, l1),
            b1=integers(direct.one / 2, "<i2", l1),
            w3=integers(direct.weight / 2, "<i2", 2 * l1),
            b3=integers(direct.one * direct.weight / 4, "<i4", 1),
            activation=activation,
            direct=direct,
            provenance={"made by": "tests"},
            **no_second_layer(l1),
        )

    return Net(
        feature_set,
        w1=integers(20 * 2**l1_shift, rows, n, l1),
        b1=integers(60 * 2**l1_shift, "<i2", l1),
        w2=integers(
            600 * 2.0 ** (l2_shift - 6) / l1**0.5, "<i1", buckets * l2, l1 if pairwise else 2 * l1
        ),
        b2=integers(127 * 2.0**l2_shift / 2, "<i4", buckets * l2),
        w3=integers(40, "<i2", buckets * (l3 or l2) * both),
        b3=integers(1000, "<i4", buckets),
        wh=integers(90, "<i1", buckets * l3, l2 * both) if l3 else None,
        bh=integers(127 * 2.0**6 / 2, "<i4", buckets * l3) if l3 else None,
        l3_shift=6 if l3 else 0,
        buckets=buckets,
        activation=activation,
        pairwise=pairwise,
        psqt=integers(300 * 2**out_shift, "<i4", n, *[psqt] * (psqt > 1)) if psqt else None,
        l1_shift=l1_shift,
        l2_shift=l2_shift,
        out_shift=out_shift,
        provenance={"made by": "tests"},
    )


def random_games(count: int, plies: int = 160) -> list[str]:
    """FENs of random legal games, by python-chess."""
    fens = []
    for seed in range(count):
        rng, board = np.random.default_rng(seed), chess.Board()
        while board.ply() < plies and not board.is_game_over():
            fens.append(board.fen())
            moves = list(board.legal_moves)
            board.push(moves[rng.integers(len(moves))])
    return fens
