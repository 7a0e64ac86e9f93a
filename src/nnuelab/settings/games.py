"""Settings of the stages that play: tournament, puzzles and datagen."""

from __future__ import annotations

from dataclasses import dataclass

from nnuelab.settings import NO_LIMIT, seed_setting, setting

DRAWS = 0.16  # share between equals, as in the published tables at 400 nodes
MOST_DRAWS = 0.99  # of games between equals: all of them would tell nothing
ORDERING_DEPTH, ORDERING_DEPTH_MAX = 2, 127  # plies left, from which on a policy orders moves


@dataclass(frozen=True)
class Rules:
    """Adjudication as in cutechess and fastchess; a count of 0 turns a rule off."""

    draw_move: int = setting(40, "Draws are adjudicated from this move on.", ge=0)
    draw_plies: int = setting(16, "Level half-moves in a row that make a draw; 0: never.", ge=0)
    draw_score: int = setting(10, "Level: within this many centipawns of 0.", ge=0)
    resign_score: int = setting(1000, "Lost: this many centipawns behind.", ge=1)
    resign_plies: int = setting(8, "Lost half-moves in a row that end a game; 0: never.", ge=0)
    max_plies: int = setting(400, "A draw after this many half-moves.", ge=1, le=20_000)


@dataclass(frozen=True)
class Games:
    """Settings of a tournament."""

    games_per_pairing: int = setting(
        48,
        "Even: each opening is played twice, with colours swapped.",
        ge=2,
        multiple_of=2,
    )
    nodes: int | None = setting(400, "Nodes per move.", ge=1, implied=NO_LIMIT)
    seed: int = seed_setting("Draws the openings.")
    hash: int = setting(4, "Hash table of each player, MB.", ge=1, le=65536)


@dataclass(frozen=True)
class Pricing:
    """What a node costs with each net, measured by the engine's searches."""

    precision: float = setting(
        0.01, "Half of the 95 % interval of a cost at which it ends, as a share.", gt=0, lt=1
    )
    rounds: int = setting(150, "At most, where it isn't reached.", ge=1)
    seed: int = seed_setting("Draws the positions.")


@dataclass(frozen=True)
class Puzzling:
    """Puzzles for every net, at fixed nodes per move."""

    nodes: int | None = setting(1000, "Nodes per move.", ge=1, implied=NO_LIMIT)
    count: int = setting(0, "Only this many, the first ones; 0: all.", ge=0)


@dataclass(frozen=True)
class Generating:
    """Self-play games of the engine."""

    games: int = setting(8000, "How many games.", ge=1)
    nodes: int | None = setting(2000, "Nodes per move.", ge=1, implied=NO_LIMIT)
    random_plies: int = setting(
        8, "Random moves at a game's start: this many, or one more.", ge=4, le=100
    )
    max_opening_score: int = setting(100, "Less balanced openings aren't played, centipawns.", ge=1)
    seed: int = seed_setting("Of everything random.")
