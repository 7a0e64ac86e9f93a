"""The kinds of blocks: what a predicate is about, and with that how its features are kept up.

A kind is a module with a subclass of :class:`nnuelab.features.block.Block` and the decorator that
makes blocks of it, and a second module with ``_kernels`` behind the name for what is compiled:
a definition needs no compiled code.
"""
