"""Who plays whom, from which opening, in which order."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

from nnuelab.errors import UserError
from nnuelab.settings.games import Rules
from nnuelab.tournament.openings import Book
from nnuelab.tournament.sprt import Sprt
from nnuelab.tournament.words import Format


@dataclass(frozen=True)
class Settings:
    """What every game of a tournament has in common.

    Attributes
    ----------
    games_per_pairing : int
        Even: two per opening.
    format : Format
    seed : int
        Draws the openings.
    rules : Rules
        Adjudication.
    sprt : Sprt or None
        Of a match: it ends when this test of its first player has decided.
    """

    games_per_pairing: int
    format: Format = Format.ROUND_ROBIN
    seed: int = 0
    rules: Rules = field(default_factory=Rules)
    sprt: Sprt | None = None


@dataclass(frozen=True)
class Pair:
    """An opening that two players play twice, with colours swapped."""

    number: int
    first: str
    second: str
    fen: str


def check(names: list[str], settings: Settings) -> None:
    """Raises UserError for players or settings of which no tournament can be made."""
    if len(names) < 2:
        raise UserError(f"a tournament needs two players or more, not {len(names)}")
    if settings.format is Format.MATCH and len(names) != 2:
        raise UserError(f"a match has two players, not {len(names)}; use a gauntlet")
    if settings.sprt is not None and settings.format is not Format.MATCH:
        raise UserError("a sequential test needs two players; use the format match")
    for name in names:
        if not name.strip() or not name.isprintable():
            raise UserError(f"{name!r} can't be the name of a player: it must be printable")
    if settings.games_per_pairing < 2 or settings.games_per_pairing % 2:
        raise UserError(
            f"{settings.games_per_pairing} games per pairing: it must be even, two per opening"
        )
    if settings.rules.max_plies < 1:
        raise UserError(f"max_plies {settings.rules.max_plies}: it must be at least 1")


def pairings(names: list[str], settings: Settings) -> list[tuple[str, str]]:
    """Who meets whom."""
    if settings.format is Format.GAUNTLET:
        return [(names[0], other) for other in names[1:]]
    return list(combinations(names, 2))


def schedule(names: list[str], book: Book, settings: Settings) -> list[Pair]:
    """All opening pairs in canonical order: each pairing's first opening, then each one's second...

    Results so far are therefore always balanced over the pairings.
    """
    meetings = pairings(names, settings)
    openings = settings.games_per_pairing // 2
    drawn = [book.draw(openings, settings.seed, i) for i in range(len(meetings))]
    return [
        Pair(k * len(meetings) + i, first, second, drawn[i][k])
        for k in range(openings)
        for i, (first, second) in enumerate(meetings)
    ]
