"""The summary of a tournament: points and Elo by pairing, and faults by player."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nnuelab.tournament.adjudication import BLACK_WINS, WHITE_HALF_POINTS
from nnuelab.tournament.game import Fault, Game
from nnuelab.tournament.sprt import LiveTest, Tally

STALL = "stall"
TROUBLES = (*(str(fault) for fault in Fault), STALL)


def outcome(games: tuple[Game, Game], first: str, second: str) -> dict[str, Any]:
    """An opening pair as JSON: half points of the first player by game, and troubles by player.

    The first player has White in the first game.
    """
    points, troubles = [], {first: Counter[str](), second: Counter[str]()}
    for game, sides in zip(games, ((first, second), (second, first)), strict=True):
        white = WHITE_HALF_POINTS[game.result]
        points.append(white if sides[0] == first else 2 - white)
        if game.fault is not None:
            loser = sides[0] if game.result == BLACK_WINS else sides[1]
            troubles[loser][str(game.fault)] += 1
        for side, stalls in zip(sides, game.stalls, strict=True):
            if stalls:
                troubles[side][STALL] += stalls
    return {
        "first": first,
        "second": second,
        "points": points,
        "troubles": {name: dict(found) for name, found in troubles.items() if found},
    }


def is_outcome(value: Any, first: str, second: str) -> bool:
    """Whether a value of JSON is an `outcome` of two players.

    Raises
    ------
    AttributeError, LookupError, TypeError
        For others, which aren't even alike.
    """
    points, troubles = value["points"], value["troubles"]
    counts = [count for found in troubles.values() for count in found.values()]
    return (
        (value["first"], value["second"]) == (first, second)
        and [*map(type, (*points, *counts))] == [int] * (2 + len(counts))
        and {*points} <= {0, 1, 2}
        and troubles.keys() <= {first, second}
        and all(found.keys() <= {*TROUBLES} for found in troubles.values())
        and min(counts, default=1) > 0
    )


@dataclass
class Score:
    """Results from one player's view.

    Attributes
    ----------
    games : list of int
        Lost, drawn and won.
    tally : Tally
        By opening pairs.
    """

    games: list[int] = field(default_factory=lambda: [0, 0, 0])
    tally: Tally = field(default_factory=Tally.empty)

    def add(self, points: Iterable[int]) -> None:
        """Counts the half points of an opening pair's games."""
        points = list(points)
        for half in points:
            self.games[half] += 1
        self.tally.counts[sum(points)] += 1

    def told(self) -> dict[str, Any]:
        """As JSON; what is infinite or can't be told is null."""
        losses, draws, wins = self.games
        elo, error = self.tally.elo()
        return {
            "games": sum(self.games),
            "wins": wins,
            "draws": draws,
            "losses": losses,
            "score": (wins + draws / 2) / sum(self.games) if any(self.games) else None,
            "elo": elo if math.isfinite(elo) else None,
            "elo_error": error if math.isfinite(error) else None,
            "pairs": list(self.tally.counts),
        }


class Summary:
    """Counts opening pairs as they end; with the sequential test of a match, if there is one."""

    def __init__(self, names: list[str], test: LiveTest | None = None) -> None:
        self.names, self.test = names, test
        self.scores = {name: Score() for name in names}
        self.meetings: dict[tuple[str, str], Score] = {}
        self.troubles = {name: Counter[str]() for name in names}

    def add(self, pair: dict[str, Any]) -> None:
        """Counts an `outcome`."""
        first, second, points = pair["first"], pair["second"], pair["points"]
        swapped = [2 - half for half in points]
        self.scores[first].add(points)
        self.scores[second].add(swapped)
        self.meetings.setdefault((first, second), Score()).add(points)
        self.meetings.setdefault((second, first), Score()).add(swapped)
        for name, found in pair["troubles"].items():
            self.troubles[name].update(found)

    def progress(self) -> str:
        """The first player's score so far, and how many games have ended by a fault of a player."""
        score = self.scores[self.names[0]]
        losses, draws, wins = score.games
        elo, error = score.tally.elo()
        difference = "" if math.isnan(elo) else f"  Elo {elo:+.0f}"
        spread = f" +-{error:.0f}" if math.isfinite(error) else ""
        faults = sum(found[fault] for found in self.troubles.values() for fault in map(str, Fault))
        lost = f"  {faults} lost by faults" if faults else ""
        return f"{self.names[0]} +{wins} ={draws} -{losses}{difference}{spread}{lost}"

    def told(self) -> dict[str, Any]:
        """As JSON: players with their troubles, then pairings from both sides."""
        return {
            **({} if self.test is None else {"sprt": self.test.told()}),
            "players": {
                name: {
                    **self.scores[name].told(),
                    **{
                        trouble.replace(" ", "_"): self.troubles[name][trouble]
                        for trouble in TROUBLES
                    },
                }
                for name in self.names
            },
            "pairings": [
                {"player": player, "opponent": opponent, **score.told()}
                for player in self.names
                for opponent in self.names
                if (score := self.meetings.get((player, opponent)))
            ],
        }

    def __str__(self) -> str:
        """A table for people: each player, below it its opponents."""
        head = ["", "games", "won", "drawn", "lost", "score", "Elo", "+-", *TROUBLES]
        rows = [head]
        for name in self.names:
            counts = [str(self.troubles[name][trouble]) for trouble in TROUBLES]
            rows.append([name, *_row(self.scores[name]), *counts])
            met = [other for other in self.names if (name, other) in self.meetings]
            if len(met) > 1:
                rows += [
                    [f"  {other}", *_row(self.meetings[name, other]), *[""] * len(TROUBLES)]
                    for other in met
                ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, *([] if self.test is None else [str(self.test)])])


def _row(score: Score) -> list[str]:
    losses, draws, wins = score.games
    elo, error = score.tally.elo()
    games = sum(score.games)
    return [
        *map(str, (games, wins, draws, losses)),
        f"{(wins + draws / 2) / games:.1%}" if games else "",
        f"{elo:+.1f}" if games else "",
        f"{error:.1f}" if math.isfinite(error) else "",
    ]
