"""KB(n): ALL by n buckets of own king squares, mirrored, in the spirit of HalfKAv2_hm.

With the own king on files e to h the board is mirrored, so that it always stands on a to d.
"""

from nnuelab.features import (
    COLORS,
    FILES,
    RANKS,
    ROLES,
    Concept,
    Number,
    family,
    file_of,
    king_piece,
    rank_of,
)

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


@family("KB", Number("n", tuple(LAYOUTS)), examples=("KB(1)", "KB(4)", "KB(16)"))
def king_buckets(n):
    """The own king stands in bucket b of n, and a piece of role r and colour c on the square; the
    board is mirrored when the own king stands on files e to h."""
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
