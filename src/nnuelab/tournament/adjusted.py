"""p-values adjusted for the number of comparisons: the chance that *any* of them errs."""

from __future__ import annotations

import numpy as np

LEVEL = 0.05  # of p-values, below which a set is called stronger or weaker
NODES = 40  # of each integral


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
    size = np.abs(statistic)
    found = np.empty(len(size))
    order = np.argsort(-size, kind="stable")
    before = 0.0
    for step, i in enumerate(order):
        rest = order[step:]
        chance = _largest(size[i], correlation[np.ix_(rest, rest)], freedom)
        found[i] = before = min(1.0, max(before, chance))
    return found


def _largest(size: float, correlation: np.ndarray, freedom: float) -> float:
    """The chance that the largest of statistics, jointly t, is at least ``size``, two-sided."""
    from scipy.stats import multivariate_t, t

    own = float(2 * t.sf(size, freedom))
    if len(correlation) == 1:
        return own
    box = np.full(len(correlation), size)
    inside = multivariate_t.cdf(
        box,
        shape=correlation,
        df=freedom,
        allow_singular=True,
        lower_limit=-box,
        random_state=np.random.default_rng(1),  # of its integration: the same every time
    )
    return max(1 - float(inside), own)


def critical(comparisons: int, freedom: float) -> float:
    """Dunnett's two-sided critical value at `LEVEL`: of the largest statistic.

    All sets have as many nets as the anchor, so that any two differences correlate by 1/2. Then the
    statistics are (z_i - z) / (sqrt(2) s) with one z and one s in common; given these they are
    independent, which leaves two integrals (Dunnett, *JASA* 50, 1955).
    """
    from scipy.optimize import brentq
    from scipy.special import gammaincinv, ndtr, stdtrit

    z, weight = np.polynomial.hermite_e.hermegauss(NODES)
    u, share = np.polynomial.legendre.leggauss(NODES)
    s = np.sqrt(2 * gammaincinv(freedom / 2, (u + 1) / 2) / freedom)  # by quantiles of chi^2

    def excess(bound: float) -> float:
        width = np.sqrt(2) * bound * s[:, None]
        inside = (ndtr(z + width) - ndtr(z - width)) ** comparisons
        return float(share @ inside @ weight / 2 / np.sqrt(2 * np.pi)) - (1 - LEVEL)

    alone, bonferroni = stdtrit(freedom, [1 - LEVEL / 2, 1 - LEVEL / 2 / comparisons])
    return float(brentq(excess, 0.99 * alone, 1.01 * bonferroni))
