"""Settings of the stage sample."""

from __future__ import annotations

from dataclasses import dataclass

from nnuelab.settings import seed_setting, setting


@dataclass(frozen=True)
class Sampling:
    """Which positions of the games become samples."""

    # Opening theory says little about evaluation.
    min_ply: int = setting(16, "Half-moves played before, at least.", ge=0)
    per_game: int = setting(0, "Positions drawn uniformly from each game; 0: all.", ge=0)
    skip_check: bool = setting(True, "Leave out positions in check.")
    skip_captures: bool = setting(
        True, "Leave out positions where the move played next is a capture."
    )
    skip_promotions: bool = setting(
        True, "Leave out positions where the move played next is a promotion."
    )
    skip_duplicates: bool = setting(False, "Leave out positions that occurred before.")
    min_pieces: int = setting(2, "Pieces on the board, kings included, at least.", ge=2, le=32)
    max_pieces: int = setting(32, "Pieces on the board, kings included, at most.", ge=2, le=32)
    max_score: int = setting(0, "Leave out a larger |[%eval]|, centipawns; 0: no limit.", ge=0)
    only_evaluated: bool = setting(False, "Skip games without any [%eval].")
    start_positions: bool = setting(
        True, "Include games that begin at other positions than the usual one."
    )
    min_rating: int = setting(
        0, "Elo of both players, at least; 0: any, and players without a rating.", ge=0
    )
    max_rating: int = setting(0, "Elo of both players, at most; 0: any.", ge=0)
    min_seconds: int = setting(
        0, "Time of a player for 40 moves (base + 40 increments), at least; 0: any.", ge=0
    )
    max_seconds: int = setting(0, "Time of a player for 40 moves, at most; 0: any.", ge=0)
    terminations: list[str] = setting(
        [], "Only games with one of these Termination tags (Normal, Time forfeit); none: any."
    )
    quiet_only: bool = setting(
        False,
        "Leave out positions whose static evaluation differs from their quiescence search.",
    )
    max_unreadable: float = setting(
        0.1, "Largest share of games with errors (illegal moves...).", ge=0, le=1
    )
    max_positions: int = setting(0, "Stop after this many; 0: never.", ge=0)
    seed: int = seed_setting("Seed of the draw.")

    def __post_init__(self) -> None:
        for name in ("pieces", "rating", "seconds"):
            low, high = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if high and low > high:
                raise ValueError(f"min_{name} {low} is larger than max_{name} {high}")
