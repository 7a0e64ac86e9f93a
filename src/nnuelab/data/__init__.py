"""From games to datasets: PGN, sampling, labels, packed records.

Streams of text (`streams`), games out of PGN (one by one: `pgn`, millions: `reader`), which
positions are taken (`sampling`), what they are worth (`labels`), the record of one position
(`records`), files of them (`dataset`), where games come from (`download`), worker processes
(`parallel`), what moves change in the features of positions (`feature_counts`).

May import features, chess and the ground floor. A labeller is handed in as a callable, so that
nothing here knows of nets or searches.
"""

from nnuelab.data.dataset import Dataset, open

__all__ = ["Dataset", "open"]
