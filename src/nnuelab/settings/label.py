"""Settings of the stage label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nnuelab.settings import MOST, NO_LIMIT, seed_setting, setting


@dataclass(frozen=True)
class Labelling:
    """Which score each sample gets, and which games are for validation."""

    labeller: Literal["pgn", "stockfish", "engine", "result"] = setting(
        "pgn", "The games' [%eval] comments, a UCI engine, this engine, or the result of the game."
    )
    engine: str = setting("stockfish", "For stockfish: a UCI engine, by name on PATH or by path.")
    net: str | None = setting(
        None, "For engine: its net, or hand-crafted evaluation; the shipped net by default."
    )
    depth: int | None = setting(
        10, "For stockfish and engine: plies per position.", ge=1, implied=NO_LIMIT
    )
    nodes: int | None = setting(
        None, "For stockfish and engine: nodes per position, instead of a depth.", ge=1, le=MOST
    )
    movetime: int | None = setting(
        None, "Or ms per position, for both: such labels aren't reproducible.", ge=1, le=MOST
    )
    options: dict[str, str] = setting(
        {},
        "For stockfish: UCI options by name; by default Threads is 1 and Hash 4.",
    )
    patience: float = setting(
        120.0, "For stockfish: seconds for a position until the engine counts as hanging.", ge=1
    )
    cache: str | None = setting(
        None, "For stockfish and engine: a folder that keeps labels for other runs."
    )
    max_unusable: int = setting(10, "For stockfish and engine: positions that may fail.", ge=0)
    skip_captures: bool = setting(
        False,
        "Leave out positions where the best move (the engine's; without one, the move played) is a "
        "capture or a promotion.",
    )
    max_score: int = setting(5000, "Leave out a larger |score|, centipawns.", ge=1, le=32000)
    validation_share: float = setting(0.1, "Share of the games for validation.", gt=0, lt=1)
    test_share: float = setting(
        0.0,
        "Share of the games for the test set; 0: it is empty.",
        ge=0,
        lt=1,
    )
    seed: int = seed_setting("Seed of the split.")

    def __post_init__(self) -> None:
        if len(self._limits) > 1:
            raise ValueError(f"label takes one limit, not {' and '.join(self._limits)}")
        if self.movetime is not None and self.movetime >= self.patience * 1000:
            raise ValueError("movetime is longer than patience: every engine would hang")
        if self.validation_share + self.test_share >= 1:
            raise ValueError("validation_share and test_share leave no game for training")

    @property
    def _limits(self) -> dict[str, int]:
        limits = {"depth": self.depth, "nodes": self.nodes, "movetime": self.movetime}
        return {name: value for name, value in limits.items() if value is not None}

    @property
    def limit(self) -> str:
        """Of each search, as UCI's ``go`` takes it."""
        (name, value), *_ = [*self._limits.items(), ("depth", Labelling.depth)]
        return f"{name} {value}"
