"""The engine: alpha-beta over an evaluator, a transposition table, time, UCI.

Everything that the recursion touches is one record (:mod:`state`), which :mod:`memory` owns; the
jitted half is, bottom up, :mod:`clock`, :mod:`table`, :mod:`exchange`, :mod:`ordering`,
:mod:`node`, :mod:`quiescence`, :mod:`alphabeta`, which can be built without some of its
:mod:`terms`, :mod:`deepening`, :mod:`match`. :mod:`search` drives it from Python, iteration by
iteration, :mod:`uci` speaks to the world. No module of it knows a kind of evaluator.
"""
