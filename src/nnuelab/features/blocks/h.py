"""H: which pieces stand on each file."""

from nnuelab.features import COLORS, FILES, ROLES, file_of, piece_square


@piece_square("H", FILES, ROLES, COLORS)
def on_file(square, role, color):
    """A piece of role r and colour c stands on file f."""
    return file_of(square), role, color
