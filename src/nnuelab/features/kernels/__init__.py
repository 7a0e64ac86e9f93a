"""All jitted code of the room: what is compiled, and nothing that builds what it reads.

:mod:`feature_set` is what the rest of the package calls; behind it are tables of piece-square
blocks, a module for each other kind, reached by address, and batches of packed positions. Modules
here import only :mod:`~nnuelab.features.records`, ``chess`` and ``jit``.
"""
