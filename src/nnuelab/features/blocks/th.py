"""TH: threats, which piece attacks or defends which."""

from nnuelab.features.kinds.attacks import attacks
from nnuelab.features.kinds.targets import THREAT, piece_target


@piece_target("TH", *THREAT)
def threats(square, pieces):
    """A piece of role r and colour c on a square attacks or defends another piece on another."""
    return attacks(square, pieces) & pieces.keys()
