"""Sources of square sets for ``jit.call``: they write twelve sets, by piece code.

Each takes a position, the squares of the pieces that count, and a pointer to uint64[12].
"""

import numpy as np

from nnuelab.chess import mobility
from nnuelab.chess.mobility import EVERYWHERE

# All pieces, as nearly always, are a constant that is compiled in: that spares what tells movers
# apart, some 4 % of mobility.


def attacks(position, movers, sets):
    if movers == EVERYWHERE:
        mobility.attacked(position, EVERYWHERE, sets)
    else:
        mobility.attacked(position, movers, sets)
    return np.int64(0)


def attackers(position, movers, sets):
    mobility.attackers(position, movers, sets)
    return np.int64(0)


def moves(position, movers, sets):
    mobility.moves(position, movers, sets)
    return np.int64(0)


def safe_moves(position, movers, sets):
    if movers == EVERYWHERE:
        mobility.mobility(position, EVERYWHERE, sets)
    else:
        mobility.mobility(position, movers, sets)
    return np.int64(0)


def xrays(position, movers, sets):
    mobility.xrays(position, movers, sets)
    return np.int64(0)


def pinned(position, movers, sets):
    mobility.pinned(position, movers, sets)
    return np.int64(0)


def double_steps(position, movers, sets):
    mobility.double_steps(position, movers, sets)
    return np.int64(0)


def castling(position, movers, sets):
    mobility.castling(position, movers, sets)
    return np.int64(0)


def standing(position, movers, sets):
    mobility.standing(position, movers, sets)
    return np.int64(0)
