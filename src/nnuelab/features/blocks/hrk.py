"""HRK(axis): half-relative king-piece: where a piece stands, as seen from the own king."""

from nnuelab.features import (
    COLORS,
    FILES,
    RANKS,
    ROLES,
    Concept,
    Word,
    family,
    file_of,
    king_piece,
    rank_of,
)


def _distances(unit: str, more: str, less: str) -> tuple[str, ...]:
    def name(distance: int) -> str:
        if distance == 0:
            return f"the {unit} of the own king"
        many = f"{abs(distance)} {unit}{'s' if abs(distance) > 1 else ''}"
        return f"{many} {more if distance > 0 else less} the own king"

    return tuple(name(distance) for distance in range(-7, 8))


FILE_DISTANCES = Concept("FILE DISTANCES", _distances("file", "right of", "left of"))
RANK_DISTANCES = Concept("RANK DISTANCES", _distances("rank", "above", "below"))


@family("HRK", Word("axis", ("H", "V", "HV")), examples=("HRK(H)", "HRK(V)", "HRK(HV)"))
def half_relative_king(axis):
    """A piece of role r and colour c stands so many files (H), ranks (V) or both (HV) from the own
    king; the other coordinate is its own."""
    files = FILE_DISTANCES if "H" in axis else FILES
    ranks = RANK_DISTANCES if "V" in axis else RANKS

    @king_piece("HRK", files, ranks, ROLES, COLORS)
    def relative(king, square, role, color):
        file, rank = file_of(square), rank_of(square)
        if "H" in axis:
            file += 7 - file_of(king)
        if "V" in axis:
            rank += 7 - rank_of(king)
        return file, rank, role, color

    return relative
