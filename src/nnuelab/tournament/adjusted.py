"""p-values adjusted for the number of comparisons: the chance that *any* of them errs."""

from __future__ import annotations

import numpy as np


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's (1979) adjusted p-values [m], whatever the comparisons have in common."""
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1.0, np.arange(len(p), 0, -1) * p[order])
    found = np.empty(len(p))
    found[order] = np.maximum.accumulate(steps)
    return found


def dunnett(statistic: np.ndarray, correlation: np.ndarray, freedom: float) -> np.ndarray:
    """Step-down Dunnett: adjusted two-sided p-values of comparisons with one anchor.

    The statistics are jointly t with known correlations. The largest is compared with the largest
    of all, the next with that of the rest, and so on (Dunnett and Tamhane, *Statistics in Medicine*
    10, 1991); a p-value is never less than those before it, nor than its own.

    Parameters
    ----------
    statistic : ndarray [m]
        Differences from the anchor over their standard errors.
    correlation : ndarray [m, m]
        Of the differences: the anchor is in all of them.
    freedom : float
        Degrees of freedom of the standard errors, which have one estimate of variance in common.
    """
    from scipy.stats import multivariate_t, t

    size = np.abs(statistic)
    own = 2 * t.sf(size, freedom)
    found = np.empty(len(size))
    order = np.argsort(-size, kind="stable")
    before = 0.0
    for step, i in enumerate(order):
        rest = order[step:]
        if len(rest) == 1:
            chance = float(own[i])
        else:
            box = np.full(len(rest), size[i])
            inside = multivariate_t.cdf(
                box,
                shape=correlation[np.ix_(rest, rest)],
                df=freedom,
                allow_singular=True,
                lower_limit=-box,
                random_state=np.random.default_rng(1),  # of its integration: the same every time
            )
            chance = max(1 - float(inside), float(own[i]))
        found[i] = before = min(1.0, max(before, chance))
    return found
