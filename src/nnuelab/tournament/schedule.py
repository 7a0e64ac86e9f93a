"""Who plays whom, from which opening, in which order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

from nnuelab.errors import UserError
from nnuelab.names import NetName
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
        Even: two per opening. Of the format anchored, the mean over all pairings of a round robin.
    format : Format
    seed : int
        Draws the openings.
    rules : Rules
        Adjudication.
    sprt : Sprt or None
        Of a match: it ends when this test of its first player has decided.
    anchor : str or None
        Of the format anchored: the set that the others are compared with.
    """

    games_per_pairing: int
    format: Format = Format.ROUND_ROBIN
    seed: int = 0
    rules: Rules = field(default_factory=Rules)
    sprt: Sprt | None = None
    anchor: str | None = None


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
    if settings.format is Format.ANCHORED:
        sets = {NetName.parse(name).entry for name in names}
        if settings.anchor not in sets or len(sets) < 2:
            raise UserError(
                "the format anchored compares sets with one of them, the anchor, which is "
                f"{settings.anchor or 'not given'}; the sets are {', '.join(sorted(sets))}"
            )
    if settings.games_per_pairing < 2 or settings.games_per_pairing % 2:
        raise UserError(
            f"{settings.games_per_pairing} games per pairing: it must be even, two per opening"
        )
    if settings.rules.max_plies < 1:
        raise UserError(f"max_plies {settings.rules.max_plies}: it must be at least 1")


def pairings(names: list[str], settings: Settings) -> dict[tuple[str, str], int]:
    """Who meets whom, from how many openings."""
    openings = settings.games_per_pairing // 2
    if settings.format is Format.GAUNTLET:
        return dict.fromkeys(((names[0], other) for other in names[1:]), openings)
    meetings = dict.fromkeys(combinations(names, 2), openings)
    if settings.format is Format.ANCHORED:
        return _anchored(meetings, str(settings.anchor))
    return meetings


def _anchored(meetings: dict[tuple[str, str], int], anchor: str) -> dict[tuple[str, str], int]:
    """As many openings, shared out so that all sets' differences from the anchor are known best.

    Nets of one set don't meet: that says nothing of sets. Of k sets, those of the anchor play
    1 + sqrt(k) times as much with each other net as others do. For games with the information x
    between a set and the anchor, and y between two others, the variance of a difference from the
    anchor is (1/x + (k - 2)/(x + (k - 1) y)) / (k - 1), by the inverse of their Laplacian;
    that is the x/y where it is smallest, given the sum of all games.
    """
    sets = {name: NetName.parse(name).entry for pair in meetings for name in pair}
    more = 1 + math.sqrt(len(set(sets.values())))
    shares = {
        (first, second): more if anchor in (sets[first], sets[second]) else 1.0
        for first, second in meetings
        if sets[first] != sets[second]
    }
    unit = sum(meetings.values()) / sum(shares.values())
    return {pair: max(round(unit * share), 1) for pair, share in shares.items()}


def schedule(names: list[str], book: Book, settings: Settings) -> list[Pair]:
    """All opening pairs in canonical order: each pairing's first opening, then each one's second...

    Results so far are therefore always balanced over the pairings; those with more openings than
    others play them the closer together. Each pairing draws its own openings: what one of them
    adds to a player's strength is then averaged over all its pairings.
    """
    meetings = pairings(names, settings)
    places = [
        ((k + 0.5) / openings, i, players, fen)
        for i, (players, openings) in enumerate(meetings.items())
        for k, fen in enumerate(book.draw(openings, settings.seed, i))
    ]
    return [
        Pair(number, first, second, fen)
        for number, (_, _, (first, second), fen) in enumerate(sorted(places))
    ]
