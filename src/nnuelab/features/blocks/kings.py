"""Blocks about one piece, its square and the square of the own king.

KA is the study's KING-ALL and Stockfish's HalfKA, KP the first feature set of NNUE. KB(n) has
buckets of king squares as bullet's ChessBucketsMirrored: with the own king on files e to h the
board is mirrored, so that it always stands on a to d. HRK(axis) says where a piece stands as seen
from the own king; HRK(HV) is nnue-pytorch's HalfRelativeKA.

HALFKAV2 and HALFKAV2_HM are those of Stockfish (src/nnue/features/half_ka_v2.h, half_ka_v2_hm.h),
HALFRELATIVEKP is that of its trainer (half_relative_kp.h).
"""

from nnuelab.features import (
    COLORS,
    FILES,
    KING,
    KING_SQUARES,
    RANKS,
    ROLES,
    ROLES_BUT_KING,
    SQUARES,
    Concept,
    Number,
    Word,
    family,
    file_of,
    king_piece,
    rank_of,
)


@king_piece("KA", KING_SQUARES, FILES, RANKS, ROLES, COLORS, aliases=("KINGALL", "HALFKA"))
def king_all(king, square, role, color):
    """The own king stands on k, and a piece of role r and colour c on the square."""
    return king, file_of(square), rank_of(square), role, color


@king_piece("KP", KING_SQUARES, FILES, RANKS, ROLES_BUT_KING, COLORS, aliases=("HALFKP",))
def half_kp(king, square, role, color):
    """The own king stands on k, and a piece of role r (no king) and colour c on the square."""
    if role == KING:
        return None
    return king, file_of(square), rank_of(square), role, color


# Bucket of the own king by files a to d (across) and ranks 8 to 1 (down): the squares where kings
# are most of the time have buckets of their own first.
LAYOUTS = {
    1: "aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa",
    2: "bbbb bbbb bbbb bbbb bbbb bbbb bbbb aaaa",
    4: "dddd dddd dddd dddd dddd dddd cccc aabb",
    8: "hhhh hhhh hhhh hhhh gggg gggg eeff abcd",
    16: "pppp oooo nnnn mmmm kkll iijj efgh abcd",
    32: "CDEF yzAB uvwx qrst mnop ijkl efgh abcd",
}
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEF"


@family(
    "KB",
    Number("n", tuple(LAYOUTS)),
    examples=("KB(1)", "KB(4)", "KB(16)"),
    aliases=("CHESSBUCKETSMIRRORED",),
)
def king_buckets(n):
    """The own king stands in bucket b of n, and a piece of role r and colour c on the square; the
    board is mirrored when the own king stands on files e to h. King squares of a bucket: of 1 all;
    of 2 rank 1, the rest; of 4 two on rank 1, rank 2, the rest; of 8 one on rank 1, two on rank 2,
    then ranks 3 and 4, and 5 to 8; of 16 one on ranks 1 and 2, two on ranks 3 and 4, a rank beyond;
    of 32 one each."""
    ranks = LAYOUTS[n].split()[::-1]
    names = []
    for letter in LETTERS[:n]:
        squares = [
            "abcd"[f] + "12345678"[k] for k in range(8) for f in range(4) if ranks[k][f] == letter
        ]
        ends = dict.fromkeys([squares[0], squares[-1]])
        names.append("-".join(ends))
    buckets = Concept("BUCKETS", tuple(names), "(mirrored: own king on {})")

    @king_piece("KB", buckets, FILES, RANKS, ROLES, COLORS, shared_by=buckets)
    def king_bucket(king, square, role, color):
        mirror = 7 if file_of(king) > 3 else 0
        bucket = LETTERS.index(ranks[rank_of(king)][file_of(king) ^ mirror])
        return bucket, file_of(square) ^ mirror, rank_of(square), role, color

    return king_bucket


PLANES = Concept(
    "PLANES", (*(f"{c} {r}" for r in ROLES.values[:KING] for c in COLORS.values), "king"), ""
)
HALVED = Concept(
    "KING SQUARES", tuple(s for s in SQUARES.values if s[0] < "e"), "(mirrored: own king on {})"
)


@king_piece("HALFKAV2", KING_SQUARES, PLANES, SQUARES)
def half_ka_v2(king, square, role, color):
    """The own king stands on k, and a piece of role r and colour c on the square; the two kings
    share a plane."""
    return king, min(2 * role + color, 2 * KING), square


@king_piece("HALFKAV2_HM", HALVED, PLANES, SQUARES, shared_by=HALVED)
def half_ka_v2_hm(king, square, role, color):
    """The own king stands on k, and a piece of role r and colour c on the square; the two kings
    share a plane, and the board is mirrored when the own king stands on files e to h."""
    mirror = 7 if file_of(king) > 3 else 0
    bucket = 4 * rank_of(king) + (file_of(king) ^ mirror)
    return bucket, min(2 * role + color, 2 * KING), square ^ mirror


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


@king_piece("HALFRELATIVEKP", FILE_DISTANCES, RANK_DISTANCES, ROLES_BUT_KING, COLORS)
def half_relative_kp(king, square, role, color):
    """A piece of role r (no king) and colour c stands so many files and ranks from the own king."""
    if role == KING:
        return None
    return file_of(square) + 7 - file_of(king), rank_of(square) + 7 - rank_of(king), role, color
