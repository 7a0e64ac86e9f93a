"""TOPK(k, file): the pairs of pieces on squares that are most frequent in some dataset.

``nnuelab features topk DATA -k N --output FILE`` makes the list. Nets carry it inside.
"""

from nnuelab.features import File, Number, family, listed_pairs


@family("TOPK", Number("k", range(1, 100_001)), File("file"), examples=("TOPK(512,pairs.csv)",))
def top_pairs(k, file):
    """Two pieces stand on two squares, one of the k pairs at the head of the list."""
    return listed_pairs(k, file)
