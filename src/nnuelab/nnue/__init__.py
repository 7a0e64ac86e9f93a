"""Nets: files, integer inference, and training.

Two halves. `netfile`, `simd`, `inference` and `evaluator` are what a search needs and never import
torch;
`first_layer`, `network`, `losses`, `loader`, `checkpoint`, `training`, `quantize` and `verify`
are training and what follows it, in torch. May import data, features and chess.
"""
