"""Policies with random weights, and the seed's own numbers."""

from __future__ import annotations

import numpy as np

from nnuelab import features
from nnuelab.features import fingerprint
from nnuelab.policy.policyfile import Policy, outputs_of

# "move 1" of the seed's listing; an underscore stands for a zero, the first row is rank 8.
MOVE_1_FROM = """
_.__2195 _.__1443 _.__1997 _.__1731 _.__1862 _.__1614 _.__1113 _.__1429
_.__1381 _.__1736 _.__2202 _.__1505 _.__1523 _.__2002 _.__1815 _.__1794
_.__1631 _.__2232 _.__1279 _.__1614 _.__1673 _.__1571 _.__1827 _.__1952
_.__1369 _.__1592 _.__1795 _.__1014 _.__1303 _.__1655 _.__2127 _.__1591
_._11357 _.__6727 _.__1848 _._14977 _.__2664 _.__2028 _.__1814 _.__8190
_._20234 _._23869 _.__8546 _._29754 _._13037 _.__8765 _.__6992 _._37838
_.161353 _._59909 _._35909 _._76755 _._32026 _._14384 _._23037 _._21860
_._10155 _._16474 _._16182 _._18081 _._22670 _._24611 _._12363 _._22117
"""
MOVE_1_TO = """
_.__2027 _.__1786 _.__1499 _.__2023 _.__1303 _.___998 _.__1396 _.__2029
_.__1200 _.__2022 _.__1542 _.__1290 _.__1431 _.__1646 _.__1465 _.__1346
_.__1351 _.__1454 _.__1818 _.__1176 _.__1810 _.__1528 _.__2420 _.__1155
_.__1970 _.__1765 _.__2400 _.__1571 _.__3485 _.__1760 _.__1707 _.__1645
_.__1411 _._19643 _._11618 _.__2896 _._18135 _.__5058 _.__2284 _.__2911
_._16914 _._80085 _._56358 _._30357 _._51646 _._30339 _._12861 _._19281
_._33478 _._17652 _.__8320 _.__8741 _.__8156 _.__9200 _.__1591 _.__1473
_.__3255 _.__2344 _.__1724 _.__2002 _.__1199 _.__1449 _.__1345 _.__1991
"""
SECOND_FROM = """
0.000466 0.000474 0.000458 0.000480 0.000474 0.000484 0.000449 0.000467
0.000480 0.000464 0.000461 0.000465 0.000472 0.000450 0.000477 0.000465
0.000462 0.000464 0.000465 0.000466 0.000455 0.000462 0.000481 0.000464
0.000457 0.000535 0.000486 0.000945 0.000471 0.000453 0.000475 0.000478
0.001363 0.000537 0.000596 0.000444 0.000469 0.000468 0.000469 0.000484
0.000900 0.001112 0.011174 0.001514 0.001808 0.002027 0.001140 0.001363
0.008865 0.009094 0.008909 0.008958 0.009090 0.008887 0.008944 0.008994
0.018268 0.019505 0.009009 0.009096 0.009101 0.008827 0.009093 0.009096
"""
SECOND_TO = """
0.000458 0.000457 0.000469 0.000473 0.000457 0.000484 0.000454 0.000449
0.000474 0.000476 0.000460 0.000462 0.000494 0.000505 0.000479 0.000462
0.000453 0.000458 0.000464 0.000452 0.000486 0.000456 0.000446 0.000462
0.000477 0.000492 0.000505 0.000514 0.000529 0.000458 0.000458 0.000439
0.000490 0.000485 0.000494 0.000505 0.000484 0.000498 0.000480 0.000478
0.000466 0.000521 0.000530 0.000550 0.000800 0.000768 0.000928 0.000606
0.000553 0.000448 0.000468 0.000470 0.000513 0.000557 0.000454 0.000475
0.000481 0.016113 0.018434 0.000995 0.000470 0.000459 0.000531 0.000453
"""


def table(text: str) -> np.ndarray:
    """float32 [64], by square, of a printed table."""
    rows = [line.replace("_", "0").split() for line in text.split("\n") if line]
    return np.array(rows[::-1], np.float32).ravel()


def random_policy(
    head: str = "pair",
    sizes: tuple[int, ...] = (16,),
    *,
    seed: int = 1,
    feature_set: str = "YACGE",
    activation: str = "relu",
    loss: str = "masked",
    value: bool = True,
    scale: float = 0.5,
) -> Policy:
    """Noise."""
    rng = np.random.default_rng(seed)
    parsed = features.parse(feature_set)
    rank = 3 if head == "product" else 0

    def noise(*shape: int) -> np.ndarray:
        return rng.normal(0, scale, shape).astype(np.float32)

    width, weights, biases = parsed.size, [], []
    for size in sizes:
        weights.append(noise(width, size))
        biases.append(noise(size))
        width = size
    outputs = outputs_of(head, rank)
    return Policy(
        parsed.name,
        weights=weights,
        biases=biases,
        output=noise(width, outputs),
        output_bias=noise(outputs),
        head=head,
        activation=activation,
        loss=loss,
        rank=rank,
        value_weights=noise(width) / 4 if value else None,
        value_bias=noise(1) if value else None,
        blocks=fingerprint.of_blocks(parsed),
    )
