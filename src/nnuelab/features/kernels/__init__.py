"""All jitted code of the room: what is compiled, and nothing that builds what it reads.

:mod:`feature_set` is what the rest of the package calls; behind it are a module for each kind of
blocks, reached by address, and batches of packed positions. Modules here import only
:mod:`~nnuelab.features.records`, ``chess`` and ``jit``.
"""
