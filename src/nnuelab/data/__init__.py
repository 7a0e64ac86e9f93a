"""From games to datasets: PGN, sampling, labels, packed records.

Text streams (`streams`), PGN game by game (`pgn`) or by the million (`reader`), the choice of
positions (`sampling`), their scores (`labels`), the record of a position (`records`), files of
records (`dataset`, `joining`), other formats (`formats`, `conversion`, `encoded`), downloads
(`download`), UCI engines (`uci`), workers (`parallel`), the features that moves change
(`feature_counts`).

May import features, chess and the ground floor. A labeller is handed in as a callable, so that
nothing here knows of nets or searches.
"""

from nnuelab.data.dataset import Dataset, open

__all__ = ["Dataset", "open"]
