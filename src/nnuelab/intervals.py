"""95 % intervals of shares, of means and of medians."""

from __future__ import annotations

import math

import numpy as np

SIGNIFICANCE = 1.959963984540054  # standard deviations: the two-sided 95 % of a normal


def wilson(count: float, n: float) -> tuple[float, float]:
    """The interval of ``count`` in ``n`` independent trials (Wilson 1927); neither need be whole.

    Written out, as a library's function takes a second to import, in each of many short jobs.
    """
    z, share = SIGNIFICANCE, count / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max((centre - half) / scale, 0.0), min((centre + half) / scale, 1.0)


def effective(asked: np.ndarray, right: np.ndarray) -> float:
    """The effective number of independent trials: share (1 - share) / variance.

    The variance is that of a ratio of sums over clusters (Cochran, *Sampling Techniques*, 6.4).
    Never more than the trials; the clusters where no variance shows.

    Parameters
    ----------
    asked, right : ndarray [clusters]
        Trials of each cluster, and what they scored, 0 to 1 each.
    """
    trials, share = asked.sum(), right.sum() / asked.sum()
    variance = float(((right - share * asked) ** 2).sum()) / trials**2
    if variance == 0:
        return float(len(asked))
    return min(share * (1 - share) / variance, trials)


def clustered(asked: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """The Wilson interval of a share whose trials come in clusters: see `effective`."""
    n = effective(asked, right)
    return wilson(right.sum() / asked.sum() * n, n)


def clustered_mean(values: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """The mean of values, float64 [n], and its standard error with those of a cluster as one.

    The sums over clusters of what differs from the mean are independent; their squares add up to
    the variance of the sum (Liang and Zeger 1986), with the factor G / (G - 1) of G clusters.

    Parameters
    ----------
    clusters : ndarray [n]
        What tells clusters apart, such as numbers of games.
    """
    mean = float(values.mean())
    _, number = np.unique(clusters, return_inverse=True)
    sums = np.bincount(number, values - mean)
    scale = len(sums) / max(len(sums) - 1, 1)
    return mean, float(np.sqrt(scale * np.sum(sums**2)) / len(values))


def median(values: np.ndarray) -> tuple[float, float, float]:
    """The median of values, float64 [n], and its interval, whatever their distribution.

    From the k-th smallest to the k-th largest value, where a binomial of n coins is below k with
    2.5 % at most (Conover, *Practical Nonparametric Statistics*, 3.2); infinite for n < 6.
    """
    from scipy.stats import binom

    ordered, middle = np.sort(values), float(np.median(values))
    k = int(binom.ppf(0.025, len(values), 0.5))
    if k < 1:
        return middle, -np.inf, np.inf
    return middle, float(ordered[k - 1]), float(ordered[-k])
