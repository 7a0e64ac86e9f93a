"""Features of any set: HM(EXPR) mirrors it by the own king, POSSIBLE(EXPR) leaves out dead ones."""

from nnuelab.features import Expression, family, selected


@family("HM", Expression("EXPR"), examples=("HM(PP)", "HM(SC+H)"))
def mirrored(parts):
    """The feature is active; the board is mirrored when the own king stands on files e to h."""
    return selected(parts, mirrored=True)


@family("POSSIBLE", Expression("EXPR"), examples=("POSSIBLE(HALFKAV2_HM)", "POSSIBLE(KB(4)+PH)"))
def possible(parts):
    """The feature is active; those that no legal position has are left out, as far as is known."""
    return selected(parts, parts.alive())
