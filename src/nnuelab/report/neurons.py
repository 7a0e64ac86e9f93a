"""Activity and influence of the first layer's neurons on real positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nnuelab import features
from nnuelab.features.tables import compiled
from nnuelab.nnue.layers import Direct, activated, bucket_of
from nnuelab.nnue.netfile import Net

POSITIONS = 1000  # evenly spaced in the dataset
_CHUNK = 256  # positions at once; a sum of rows takes 2 * chunk * active * M * 4 bytes


@dataclass(frozen=True)
class Activity:
    """Per neuron of the first layer, or pair of neurons where a net multiplies these.

    Over both perspectives of some positions.

    Attributes
    ----------
    active, saturated : float64[M]
        Share of the views in which its output is above 0, and at its limit.
    influence : float64[M]
        Centipawns, root of the mean square: how much the evaluation changes when the neuron is held
        at its mean output. That is how neurons are ranked.
    seen : bool[N]
        Features that are active in some view. Rows of others, pawns on the first rank among them,
        may be as they were before the training.
    """

    active: np.ndarray
    saturated: np.ndarray
    influence: np.ndarray
    seen: np.ndarray

    @property
    def dead(self) -> np.ndarray:
        """bool[M]: no position makes it active."""
        return self.active == 0

    @property
    def constant(self) -> np.ndarray:
        """bool[M]: always at its limit, so no more than a bias."""
        return self.saturated == 1

    @property
    def order(self) -> np.ndarray:
        """int64[M]: neurons by influence, the largest first."""
        return np.argsort(-self.influence, kind="stable")


def inputs(net: Net, records: np.ndarray) -> np.ndarray:
    """int64[P, 2M], or [P, M] of pairs: what the next layer gets, side to move first."""
    return _inputs(net, _rows(net, records))


def _inputs(net: Net, rows: np.ndarray) -> np.ndarray:
    positions = rows.shape[1]
    found = np.empty((positions, 2, net.l1), np.int64)
    weights = np.concatenate([net.w1, np.zeros((1, net.l1), net.w1.dtype)])
    for side in range(2):
        for start in range(0, positions, _CHUNK):
            part = rows[side, start : start + _CHUNK]
            part = part[:, : max(int((part >= 0).sum(1).max()), 1)]
            found[start : start + _CHUNK, side] = weights[part].sum(axis=1, dtype=np.int64)
    if net.direct is not None:
        x = np.clip(found + net.b1, 0, net.direct.one)
        x = x * x if net.activation == "squared" else x
    else:
        x = activated(found + net.b1, net.l1_shift, net.layers.first)
    return x.reshape(positions, -1)


def _rows(net: Net, records: np.ndarray) -> np.ndarray:
    """int32[2, P, max_active]: active features, side to move first, with -1 behind them."""
    feature_set = net.features
    shape = (len(records), feature_set.max_active)
    rows, counts = np.empty((2, *shape), np.int32), np.empty((2, len(records)), np.int64)
    features.batch(compiled(feature_set), records, rows[0], rows[1], counts[0], counts[1])
    rows[np.arange(shape[1]) >= counts[:, :, None]] = -1
    return rows


def evaluations(net: Net, x: np.ndarray, records: np.ndarray) -> np.ndarray:
    """Centipawns for the side to move, int64[P], from `inputs`."""
    if net.direct is not None:
        sums = x @ net.w3.astype(np.int64)
        if net.activation == "squared":
            sums = _quotient(sums, net.direct.one)
        unit = net.direct.one * net.direct.weight
        return _quotient((sums + net.b3[0]) * net.direct.centipawns, unit)
    sums = x @ net.w2.T.astype(np.int64) + net.b2
    value = _output(net, sums, _buckets(net, records))
    if net.psqt is not None:
        values = np.append(net.psqt.reshape(len(net.psqt), -1), [[0] * net.psqt_buckets], 0)
        stm, other = values[_rows(net, records)].sum(2, dtype=np.int64)
        chosen = _buckets(net, records) if net.psqt_buckets > 1 else 0
        value += (stm - other)[np.arange(len(records)), chosen]
    return value >> net.out_shift


def _quotient(values: np.ndarray, divisor: int) -> np.ndarray:
    """int64: rounded towards 0."""
    return np.asarray(np.sign(values) * (np.abs(values) // divisor))


def _buckets(net: Net, records: np.ndarray) -> np.ndarray:
    """int64[P]: which of the nets behind the first layer a position has."""
    return bucket_of(np.bitwise_count(records["occupied"]), net.buckets)


def _output(net: Net, sums: np.ndarray, buckets: np.ndarray) -> np.ndarray:
    """int64[P] before the last shift, from the sums of the second layer, int64[P, buckets * O]."""
    every = np.arange(len(sums))

    def chosen(of_all: np.ndarray) -> np.ndarray:
        return of_all.reshape(len(of_all), net.buckets, -1)[every, buckets]

    y = activated(chosen(sums), net.l2_shift, net.activation)
    if net.wh is not None and net.bh is not None:
        sums = chosen(y @ net.wh.T.astype(np.int64) + net.bh)
        y = activated(sums, net.l3_shift, net.activation)
    w3 = net.w3.astype(np.int64).reshape(net.buckets, -1)
    return np.asarray((y * w3[buckets]).sum(axis=1) + net.b3[buckets])


def activity(net: Net, records: np.ndarray) -> Activity:
    """Measures the neurons on positions (RECORD [P])."""
    rows = _rows(net, records)
    x, seen = _inputs(net, rows), np.isin(np.arange(net.n_features), rows)
    m = net.layers.inputs
    views = x.reshape(-1, m)
    if net.direct is not None:
        return _of_direct(net.direct, net.w3, x, net.activation == "squared", seen)
    w2 = net.w2.T.astype(np.int64)
    sums = x @ w2 + net.b2
    buckets = _buckets(net, records)
    value = _output(net, sums, buckets)
    mean = np.rint(views.mean(axis=0)).astype(np.int64)
    influence = np.empty(m)
    for j in range(m):
        own = np.outer(mean[j] - x[:, j], w2[j])
        other = np.outer(mean[j] - x[:, m + j], w2[m + j])
        change = _output(net, sums + own + other, buckets) - value
        influence[j] = np.sqrt(np.mean(change.astype(np.float64) ** 2)) / 2.0**net.out_shift
    limit = int(net.layers.unit("w2"))
    return Activity((views > 0).mean(axis=0), (views == limit).mean(axis=0), influence, seen)


def _of_direct(
    direct: Direct, w3: np.ndarray, x: np.ndarray, squared: bool, seen: np.ndarray
) -> Activity:
    """The same of a net without a second layer, whose output is a sum over neurons."""
    limit = direct.one**2 if squared else direct.one
    views = x.reshape(-1, x.shape[1] // 2)
    # Where neurons held at their means would leave it, less where they are.
    change = ((views.mean(axis=0) - views).reshape(len(x), -1) * w3).reshape(len(x), 2, -1).sum(1)
    cp = direct.centipawns / (direct.one * direct.weight * (direct.one if squared else 1))
    influence = np.sqrt((change**2).mean(axis=0)) * cp
    return Activity((views > 0).mean(axis=0), (views == limit).mean(axis=0), influence, seen)


def strongest(net: Net, seen: np.ndarray, neuron: int, count: int) -> list[tuple[str, float]]:
    """The ``seen`` features (bool[N]) with the largest weights of a neuron, by name.

    Weights are as in the float net. Of a pair, each feature has the larger one of its two weights.
    """
    pair = net.w1[:, neuron :: net.layers.inputs].astype(np.int64)
    column = np.take_along_axis(pair, np.abs(pair).argmax(1)[:, None], 1)[:, 0]
    order = np.argsort(-np.abs(column), kind="stable")
    scale = net.scales["w1"]
    largest = order[seen[order]][:count]
    return [(net.features.feature_name(int(i)), float(column[i] / scale)) for i in largest]
