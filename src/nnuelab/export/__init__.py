"""Nets for other people's engines: generated code with its tests, and a check of an engine.

A feature set is flattened to tables (:mod:`flat`), which the C library (:mod:`c`) and the numpy
reference (:mod:`python`) both read; :mod:`proof` writes the positions that both are compared with.
"""
