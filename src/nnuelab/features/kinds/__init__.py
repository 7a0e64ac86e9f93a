"""The kinds of blocks: what a predicate is about, and with that how its features are kept up.

A kind is a module with a subclass of :class:`nnuelab.features.algebra.Block` and the decorator that
makes blocks of it. Its memory layout stands in :mod:`~nnuelab.features.records`, its jitted code in
:mod:`~nnuelab.features.kernels`, found by name when a block is used: a definition needs no compiled
code. See docs/adding-a-kind.md.
"""
