"""A tournament over all cores that survives interruptions and broken players.

Guarantees, each with a test: no finished pair is played again; both games of an opening are there
or none; within a pairing no opening comes twice; a player that crashes, hangs, comes late or plays
an illegal move loses that game and plays the next one. Where no limit is a time, the PGN is the
same byte for byte for any number of workers and with or without a kill in between.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from nnuelab import artifacts
from nnuelab.data.journal import Journal
from nnuelab.data.parallel import cores
from nnuelab.errors import UserError
from nnuelab.features import registry
from nnuelab.parts import Part
from nnuelab.progress import Progress
from nnuelab.sources import PACKAGE
from nnuelab.tournament import workers
from nnuelab.tournament.game import Player, Seat
from nnuelab.tournament.manager import Manager
from nnuelab.tournament.openings import Book
from nnuelab.tournament.pgn import to_pgn
from nnuelab.tournament.play import play
from nnuelab.tournament.players import Entrant, modules
from nnuelab.tournament.schedule import Pair, Settings, check, schedule
from nnuelab.tournament.sprt import LiveTest
from nnuelab.tournament.summary import Summary, is_outcome, outcome
from nnuelab.tournament.words import Runner


def tournament(
    players: Mapping[str, Entrant],
    book: Path | str,
    output: Path | str,
    settings: Settings,
    *,
    processes: int = 0,
    runner: Runner = Runner.OWN,
    costs: Path | None = None,
    fixed: Mapping[str, Any] | None = None,
    part: Part | None = None,
    parts: Sequence[Path] = (),
) -> Summary:
    """Plays a tournament and writes its PGN, with provenance and summary beside it.

    Finished pairs are kept in ``<output>.partial`` until the end; started again after a kill with
    the same players, book, settings and code, the tournament continues.

    Parameters
    ----------
    players : mapping of str to Entrant
        By name, at least two; pickled to the workers.
    book : path
        See `openings.Book`.
    output : path
        The PGN; written whole or not at all.
    settings : Settings
    processes : int
        Workers; 0 for one per core.
    runner : Runner
        Another one keeps nothing of this module's guarantees but that finished pairs are kept (in
        batches), and the openings.
    costs : path, optional
        Where the players' limits come from (`cost.read`), for the provenance. The games depend on
        the limits alone.
    fixed : mapping, optional
        The hypothesis of an experiment and its hash, for the provenance. Games that began under
        another one begin again.
    part : Part, optional
        Only these openings are played, and ``output`` is a part of the tournament, not a PGN.
    parts : sequence of path
        Parts of this very tournament, made anywhere; what none of them has is played. At fixed
        nodes or depth the PGN is the same byte for byte with any parts, or without.

    Raises
    ------
    UserError
        A player that doesn't start, a broken or too small book, an odd number of games, fewer than
        two players, a runner that isn't installed, parts of other games or of a sequential test.
    """
    output = Path(output)
    names = list(players)
    check(names, settings)
    pairs = scheduled = schedule(names, Book(book), settings)
    if part is not None:
        if settings.sprt is not None:
            raise UserError("a sequential test ends where its games say; play it as a whole")
        pairs = part.of(scheduled)
    processes = processes or cores()
    manager = None if runner is Runner.OWN else Manager(runner, settings.rules, processes)
    for player in players.values():
        # Broken ones are told before the first game, and kernels compiled once for all workers.
        player.start().close()

    files = {
        f"{kind} {name}": file
        for name, player in players.items()
        for kind, file in player.files().items()
    }
    if manager is not None:
        files["runner"] = manager.program
    blocks = {block.file for block in registry.load().values()}
    own = [file for file in blocks if not file.is_relative_to(PACKAGE)]
    own.sort(key=lambda file: (file.name, artifacts.sha256(file)))
    inputs = {
        "book": Path(book),
        **files,
        **{f"block {name}": file for name, file in artifacts.by_name(own).items()},
    }
    told = {name: player.settings() for name, player in players.items()}
    code = ["tournament.runner", *modules(players.values())]
    told_before = {} if fixed is None else {"fixed": dict(fixed)}
    identity = {
        "players": [[name, told[name]] for name in names],
        "files": {name: artifacts.sha256(file) for name, file in files.items()},
        "book": artifacts.sha256(book),
        "settings": asdict(settings),
        "code": artifacts.code_hash(code, blocks),
        **told_before,
    }
    with Journal(output.with_name(output.name + ".partial"), identity) as journal:
        join(journal, parts, scheduled)
        test = None if settings.sprt is None else LiveTest(settings.sprt)
        play_them = partial(_own, settings, processes) if manager is None else manager.play
        places = _play(pairs, players, test, journal, play_them)
        if test is not None:
            # What was played beyond the decision, by workers that were ahead, doesn't count.
            pairs = pairs[: test.end]
        summary = Summary(names, test)
        with artifacts.atomic(output) as temporary, open(temporary, "wb") as file:
            if part is not None:
                journal.write(file, (places[pair.number] for pair in pairs))
            for pair in pairs:
                entry = journal[places[pair.number]]
                summary.add(entry["outcome"])
                if part is None:
                    file.writelines(game.encode() for game in entry["games"])
        artifacts.provenance(
            output,
            inputs={**inputs, **({} if costs is None else {"costs": costs})},
            parameters={"players": told, **asdict(settings), **told_before},
            seed=settings.seed,
            module=code,
            summary=summary.told(),
        )
        journal.remove()
    return summary


def join(journal: Journal, parts: Sequence[Path], scheduled: Sequence[Pair]) -> None:
    """Adds what parts of a tournament have to its journal, which may have some of it.

    Parameters
    ----------
    journal : Journal
    parts : sequence of Path
        As `tournament` writes them.
    scheduled : sequence of Pair
        All of the tournament.

    Raises
    ------
    UserError
        For a part that can't be read, is of another tournament or damaged, and for entries that
        are no pair of games between the players that they should be of.
    """
    pairs = {pair.number: pair for pair in scheduled}
    journal.join(parts, partial(_number, pairs), "pair of games")


def _number(pairs: Mapping[int, Pair], entry: Any) -> int:
    """Of the pair that an entry is of; ValueError and the like where it is none."""
    pair = pairs[entry["pair"]]
    games = entry["games"]
    if [type(games), *map(type, games)] != [list, str, str]:
        raise ValueError("no texts of two games")
    if not is_outcome(entry["outcome"], pair.first, pair.second):
        raise ValueError("no outcome of this pair")
    "".join(games).encode()  # JSON may have halves of characters, which no file can hold
    return pair.number


def _play(
    pairs: list[Pair],
    players: Mapping[str, Entrant],
    test: LiveTest | None,
    journal: Journal,
    play_them: Callable[[list[Pair], Mapping[str, Entrant]], Iterator[dict[str, Any]]],
) -> dict[int, int]:
    """Plays the pairs that are left, until the test, if there is one, has decided.

    Returns where in the journal each pair stands.
    """
    summary = Summary(list(players))
    places: dict[int, int] = {}

    def count(entry: dict[str, Any]) -> None:
        summary.add(entry["outcome"])
        if test is not None:
            test.add(entry["pair"], sum(entry["outcome"]["points"]))

    for index, entry in enumerate(journal):
        places[entry["pair"]] = index
        count(entry)
    left = [pair for pair in pairs if pair.number not in places]
    if not left or (test is not None and test.end is not None):
        return places
    done = 2 * (len(pairs) - len(left))
    with Progress(2 * len(pairs), "games", "tournament", done) as progress:
        for entry in play_them(left, players):
            places[entry["pair"]] = len(journal)
            journal.append(entry)
            count(entry)
            llr = {} if test is None else {"llr": f"{test.told()['llr']:.2f}"}
            progress.advance(2, score=summary.progress(), **llr)
            if test is not None and test.end is not None:
                break
    return places


def _own(
    settings: Settings, processes: int, pairs: list[Pair], players: Mapping[str, Entrant]
) -> Iterator[dict[str, Any]]:
    prepare = partial(Table, dict(players), settings)
    # Both players of a timed game take turns on one core: whatever slows it meets both alike.
    timed = any(player.limit.is_time for player in players.values())
    return workers.run(pairs, prepare, min(processes, len(pairs)), pinned=timed)


class Table:
    """In a worker: players, each made when it is first needed, who play a pair when called.

    Attributes
    ----------
    thinking : float
        CPU seconds of searches so far, in games where they are known (`game.Game`).
    """

    def __init__(self, players: Mapping[str, Entrant], settings: Settings) -> None:
        self._entrants, self._settings = players, settings
        limits = {player.limit for player in players.values()}
        self._tells_limits = len(limits) > 1 or any(limit.is_time for limit in limits)
        self._players: dict[str, Player] = {}
        self.thinking = 0.0

    def _seat(self, name: str) -> Seat:
        if name not in self._players:
            self._players[name] = self._entrants[name].start()
            # The collector would look through all of it again, some 60 ms, on a player's clock.
            gc.collect()
            gc.freeze()
        return Seat(self._players[name], self._entrants[name].limit)

    def __call__(self, pair: Pair) -> dict[str, Any]:
        """Plays both games of an opening.

        Returns
        -------
        dict
            JSON: number of the ``pair``, its ``games`` as PGN, whose rounds are ``N.1`` and
            ``N.2``, and their `outcome`.
        """
        seats = {name: self._seat(name) for name in (pair.first, pair.second)}
        games, texts = [], []
        for i, sides in enumerate([(pair.first, pair.second), (pair.second, pair.first)], 1):
            white, black = (seats[name] for name in sides)
            limits = white.limit, black.limit
            is_time = any(limit.is_time for limit in limits)
            told = limits if self._tells_limits else None
            date = time.strftime("%Y.%m.%d") if is_time else "????.??.??"
            game = play(white, black, pair.fen, self._settings.rules)
            self.thinking += game.thinking or 0.0
            games.append(game)
            texts.append(to_pgn(game, *sides, pair.fen, f"{pair.number + 1}.{i}", told, date))
        return {
            "pair": pair.number,
            "games": texts,
            "outcome": outcome((games[0], games[1]), pair.first, pair.second),
        }

    def close(self) -> None:
        """Ends the players."""
        for player in self._players.values():
            player.close()
