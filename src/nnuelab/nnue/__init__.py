"""Nets: files, integer inference, and training.

Two halves. :mod:`netfile`, :mod:`simd`, :mod:`inference` and :mod:`evaluator` are what a search
needs and never import torch, nor does :mod:`replay`, which measures them; :mod:`network`,
:mod:`losses`, :mod:`training`, :mod:`quantize` and :mod:`verify` are training and what follows it.
May import learning, data, features and chess.
"""
