"""Reproducible experiments on NNUE feature sets, from games to a table of Elo differences.

Rooms import only downwards: cli > params > report > selfplay > tournament > engine > nnue > data >
features > chess > what stands alone (jit, vectors, artifacts, intervals, progress ...) > errors.
"""

__version__ = "0.2.0.dev0"
