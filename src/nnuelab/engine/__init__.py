"""The engine: a net, lazily updated accumulators, alpha-beta, a transposition table, UCI.

Everything that the recursion touches is one record (:mod:`state`); the jitted half is, bottom up,
:mod:`clock`, :mod:`table`, :mod:`accumulators`, :mod:`exchange`, :mod:`ordering`, :mod:`node`,
:mod:`quiescence`, :mod:`alphabeta`, which can be built without some of its :mod:`terms`,
:mod:`deepening`, :mod:`match`. :mod:`search` drives it from Python, iteration by iteration,
:mod:`uci` speaks to the world. The room may import ``nnue``'s integer half, ``features`` and
``chess``, and never torch.
"""
