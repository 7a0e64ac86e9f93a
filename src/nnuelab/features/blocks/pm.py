"""PM: each piece on its square with each of its moves."""

from nnuelab.features.kinds.attacks import moves
from nnuelab.features.kinds.targets import MOVE, piece_target


@piece_target("PM", *MOVE)
def piece_moves(square, pieces):
    """A piece of role r and colour c on a square can move to another, checks and pins aside."""
    return moves(square, pieces)
