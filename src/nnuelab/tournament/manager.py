"""Games played by fastchess or cutechess-cli.

They are given one pairing at a time, with the openings that this project's runner would take.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import chess
import chess.pgn

from nnuelab.chess import notation
from nnuelab.data.parallel import run_guarded
from nnuelab.errors import UserError
from nnuelab.settings.games import Rules
from nnuelab.tournament.game import Fault, Game
from nnuelab.tournament.headers import POINTS
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.players import Entrant
from nnuelab.tournament.schedule import Pair
from nnuelab.tournament.summary import outcome
from nnuelab.tournament.words import Runner

BATCH = 50  # openings of one run; a kill undoes no more
FAULTS = {  # both write these words into the tag Termination
    "illegal move": Fault.ILLEGAL,
    "rules infraction": Fault.ILLEGAL,
    "abandoned": Fault.CRASH,
    "stalled connection": Fault.HANG,
    "time forfeit": Fault.TIME,
}


@dataclass(frozen=True)
class Side:
    """A player as a manager takes it."""

    name: str
    command: tuple[str, ...]
    options: Mapping[str, Any]
    limit: Limit


class Manager:
    """A tournament manager of others.

    Parameters
    ----------
    runner : Runner
        FASTCHESS or CUTECHESS.
    rules : Rules
        Counts of half-moves are rounded up to whole moves, which is how a manager counts.
    concurrency : int
        Games at once.

    Raises
    ------
    UserError
        When it isn't installed.
    """

    def __init__(self, runner: Runner, rules: Rules, concurrency: int) -> None:
        self.runner, self._rules, self._concurrency = runner, rules, concurrency
        found = shutil.which(runner)
        if found is None:
            raise UserError(f"{runner} is not on PATH; install it, or play without --runner")
        self.program = Path(found)

    def command(self, sides: tuple[Side, Side], rounds: int, book: Path, games: Path) -> list[str]:
        """Its command line for a match of two: ``rounds`` openings of ``book``, into ``games``."""
        rules, is_fastchess = self._rules, self.runner is Runner.FASTCHESS
        words = [str(self.program)]
        for side in sides:
            words += ["-engine", f"name={side.name}", "proto=uci", f"dir={Path.cwd()}"]
            words += self._program(side) + self._limit(side.limit)
            words += [f"option.{name}={_text(value)}" for name, value in side.options.items()]
        words += ["-rounds", str(rounds), "-games", "2", "-repeat", "-recover"]
        words += ["-concurrency", str(self._concurrency)]
        words += ["-openings", f"file={book}", "format=epd", "order=sequential"]
        words += ["-pgnout", *([f"file={games}", "nodes=true"] if is_fastchess else [str(games)])]
        words += ["-maxmoves", _moves(rules.max_plies)]
        if rules.draw_plies:
            counts = f"movenumber={rules.draw_move}", f"movecount={_moves(rules.draw_plies)}"
            words += ["-draw", *counts, f"score={rules.draw_score}"]
        if rules.resign_plies:
            count = f"movecount={_moves(rules.resign_plies)}"
            words += ["-resign", count, f"score={rules.resign_score}", "twosided=true"]
        return words

    def _program(self, side: Side) -> list[str]:
        program, *arguments = side.command
        if self.runner is Runner.CUTECHESS:
            return [f"cmd={program}", *(f"arg={argument}" for argument in arguments)]
        for argument in arguments:
            if len(argument.split()) != 1:
                raise UserError(
                    f"player {side.name}: fastchess takes no argument with spaces ({argument!r}); "
                    "start the engine by a script"
                )
        return [f"cmd={program}", *([f"args={' '.join(arguments)}"] if arguments else [])]

    def _limit(self, limit: Limit) -> list[str]:
        if limit.is_time:
            what = f"tc={limit}" if limit.movetime is None else f"st={limit.movetime / 1e3:g}"
            return [what, f"timemargin={math.ceil(limit.margin)}"]
        if self.runner is Runner.FASTCHESS:
            return [f"plies={limit.depth}" if limit.nodes is None else f"nodes={limit.nodes}"]
        return ["tc=inf", f"depth={limit.depth}" if limit.nodes is None else f"nodes={limit.nodes}"]

    def play(self, pairs: list[Pair], players: Mapping[str, Entrant]) -> Iterator[dict[str, Any]]:
        """Entries like those of `runner.Table`, of each pairing after the other.

        Raises
        ------
        UserError
            When it fails, or leaves games out.
        """
        sides = {name: _side(name, player) for name, player in players.items()}

        def meeting(pair: Pair) -> tuple[str, str]:
            return pair.first, pair.second

        for (first, second), group in groupby(sorted(pairs, key=meeting), meeting):
            met = list(group)
            for start in range(0, len(met), BATCH):
                yield from self._match(sides[first], sides[second], met[start : start + BATCH])

    def _match(self, first: Side, second: Side, pairs: list[Pair]) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory(prefix="nnuelab-") as place:
            book, games, log = (Path(place) / name for name in ("book.epd", "games.pgn", "log"))
            book.write_text("".join(f"{_epd(pair.fen)}\n" for pair in pairs))
            status = self._run(self.command((first, second), len(pairs), book, games), log)
            said = log.read_text(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(said) if line.strip()), "nothing")
            found = _read(games) if games.exists() else []
        try:
            return [_entry(pair, found) for pair in pairs]
        except LookupError:
            raise UserError(
                f"{self.runner} left out games of {first.name} against {second.name} "
                f"({len(found)} of {2 * len(pairs)} are there; exit status {status}; it said: "
                f"{last}); run the same command again to resume"
            ) from None

    def _run(self, command: list[str], log: Path) -> int:
        return run_guarded(command, log, folder=log.parent)  # it leaves files where it is started


def _side(name: str, player: Entrant) -> Side:
    try:
        return Side(name, *player.as_engine(), player.limit)
    except UserError as error:
        raise UserError(f"player {name}: {error}") from None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _moves(plies: int) -> str:
    return str(math.ceil(plies / 2))


def _epd(fen: str) -> str:
    *position, halfmoves, number = fen.split()
    return f"{' '.join(position)} hmvc {halfmoves}; fmvn {number};"


def _position(fen: str) -> str:
    """What is the same in the FENs of any program: en passant only where it is legal, no counts."""
    return notation.to_fen(notation.from_fen(fen)).rsplit(" ", 2)[0]


def _read(path: Path) -> list[chess.pgn.Game]:
    """The finished games of a PGN file."""
    found = []
    with path.open(encoding="utf-8", errors="replace") as file:
        while (game := chess.pgn.read_game(file)) is not None:
            if not game.errors and game.headers["Result"] in POINTS:
                found.append(game)
    return found


def _entry(pair: Pair, found: list[chess.pgn.Game]) -> dict[str, Any]:
    """Both games of an opening as `runner.Table` tells them; LookupError when one isn't there."""
    sides = [(pair.first, pair.second), (pair.second, pair.first)]
    opening = _position(pair.fen)
    by_sides = {
        (game.headers["White"], game.headers["Black"]): game
        for game in found
        if _position(game.headers.get("FEN", notation.STARTING_FEN)) == opening
    }
    games, texts = [], []
    for i, (white, black) in enumerate(sides, 1):
        game = by_sides[white, black]
        game.headers["Round"] = f"{pair.number + 1}.{i}"
        ended = game.headers.get("Termination", "normal").lower()
        games.append(Game([], game.headers["Result"], ended, ended, FAULTS.get(ended)))
        texts.append(f"{game}\n\n")
    told = outcome((games[0], games[1]), pair.first, pair.second)
    return {"pair": pair.number, "games": texts, "outcome": told}
