"""First-layer weights for the weight browser: pictures of a set, and numbers of its nets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from nnuelab.features import FeatureSet
from nnuelab.nnue.netfile import Net
from nnuelab.report.geometry import Picture, pictures
from nnuelab.report.neurons import Activity, strongest

MOST_CELLS = 30_000  # of the pictures of one term
MOST_WEIGHTS = 400_000  # of one net
MOST_OF_ALL = 2_500_000  # 4 MB of the page, unless a neuron of each net takes more
MOST_NEURONS = 32
STRONGEST = 8  # features named for each neuron


def neurons_shown(net: Net, activity: Activity, nets: int) -> np.ndarray:
    """The neurons with the most influence, as many as one of so many nets has room for."""
    room = min(MOST_WEIGHTS, MOST_OF_ALL // nets)
    return activity.order[: int(np.clip(room // net.n_features, 1, MOST_NEURONS))]


def layout(feature_set: FeatureSet, weights: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """The pictures of a set as JSON, and the features in them (int64[kept], ascending).

    Cells count these features, not all. Where a term has too many pictures, the groups with the
    largest weights (int16[N, neurons]) stay.
    """
    largest = np.abs(weights.astype(np.int64)).max(axis=1)
    terms = []
    for name, drawn in pictures(feature_set):
        groups = [(label, list(part)) for label, part in groupby(drawn, lambda p: p.group)]
        terms.append((name, len(groups), _largest(groups, largest)))
    used = [p.cells.ravel() for _, _, groups in terms for _, drawn in groups for p in drawn]
    kept = np.unique(np.concatenate(used))
    kept = kept[kept >= 0]
    place = np.full(feature_set.size + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    said = [
        {
            "name": name,
            "all": count,
            "groups": [
                {"label": label, "pictures": [_picture(p, place) for p in drawn]}
                for label, drawn in groups
            ],
        }
        for name, count, groups in terms
    ]
    return {"terms": said}, kept


def _largest(
    groups: list[tuple[str, list[Picture]]], largest: np.ndarray
) -> list[tuple[str, list[Picture]]]:
    """Groups with the largest weights until there is no room, in their order; one at least."""

    def weight(i: int) -> float:
        cells = np.concatenate([picture.cells.ravel() for picture in groups[i][1]])
        return float(largest[cells[cells >= 0]].max(initial=0))

    order = sorted(range(len(groups)), key=weight, reverse=True)
    sizes = np.cumsum([sum(p.cells.size for p in groups[i][1]) for i in order])
    count = max(int(np.searchsorted(sizes, MOST_CELLS, side="right")), 1)
    return [groups[i] for i in sorted(order[:count])]


def _picture(picture: Picture, place: np.ndarray) -> dict[str, Any]:
    # Index -1 of place is its last entry, -1.
    said: dict[str, Any] = {"title": picture.title, "cells": place[picture.cells].ravel().tolist()}
    if not picture.board:
        said |= {"rows": picture.rows, "columns": picture.columns}
    return said


def numbers(net: Net, activity: Activity, kept: np.ndarray, shown: Sequence[int]) -> dict[str, Any]:
    """The weights of some neurons as JSON, integers of the net, and what 1.0 is."""
    return {
        "set": net.feature_set,
        "scale": net.scales["w1"],
        "neurons": [
            {
                "neuron": int(j),
                "influence": round(float(activity.influence[j]), 2),
                "active": round(float(activity.active[j]), 4),
                "saturated": round(float(activity.saturated[j]), 4),
                "bias": int(net.b1[j]),
                "weights": net.w1[kept, j].tolist(),
                "strongest": strongest(net, activity.seen, int(j), STRONGEST),
            }
            for j in shown
        ],
    }
