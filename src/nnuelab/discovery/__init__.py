"""Search for feature sets: what is worth having at which cost of a node.

Sets are expressions, so new ones can be written by rule (:mod:`grammar`). Each is trained shortly
on the same positions with the same seeds (:mod:`screen`); the best go on to longer screens, and the
next generation is made of them (:mod:`search`). What was tried, and the front of loss and cost, is
in the :mod:`history`.
"""
