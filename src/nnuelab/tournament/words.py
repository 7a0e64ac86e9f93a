"""Words of the command line: it reads them before anything heavy is imported."""

from __future__ import annotations

from enum import StrEnum

BASELINES = ("random", "material")
"""Players to measure others by."""


class Format(StrEnum):
    """Who meets whom: each the others, sets an anchor above all, the first the others, or two."""

    ROUND_ROBIN = "round-robin"
    ANCHORED = "anchored"
    GAUNTLET = "gauntlet"
    MATCH = "match"


class Runner(StrEnum):
    """Who runs the games: this project, or a tournament manager that is installed."""

    OWN = "own"
    FASTCHESS = "fastchess"
    CUTECHESS = "cutechess-cli"


class Model(StrEnum):
    """What an Elo is: of the expected score, or of the score in units of its deviation.

    The normalized one asks for the same number of games whatever the share of draws.
    """

    LOGISTIC = "logistic"
    NORMALIZED = "normalized"
