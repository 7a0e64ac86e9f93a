"""A round robin at fixed nodes, over all cores, that a kill doesn't undo.

Guarantees, each with a test: the PGN is the same byte for byte for any number of workers and with
or without a kill in between; no finished pair is played again; both games of an opening are there
or none; within a pairing no opening comes twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from nnuelab import artifacts
from nnuelab.chess import notation
from nnuelab.data.journal import Journal
from nnuelab.data.parallel import cores
from nnuelab.errors import UserError
from nnuelab.features import registry
from nnuelab.progress import Progress
from nnuelab.tournament import workers
from nnuelab.tournament.adjudication import Rules
from nnuelab.tournament.game import Factory, Player, play
from nnuelab.tournament.openings import Book
from nnuelab.tournament.pgn import to_pgn


@dataclass(frozen=True)
class Settings:
    """What every game of a tournament has in common.

    Attributes
    ----------
    games_per_pairing : int
        Even: two per opening.
    nodes : int
        Per move.
    seed : int
        Draws the openings.
    hash_mb : int
        Hash table of each player.
    rules : Rules
        Adjudication.
    """

    games_per_pairing: int
    nodes: int = 1000
    seed: int = 0
    hash_mb: int = 4
    rules: Rules = field(default_factory=Rules)


@dataclass(frozen=True)
class Pair:
    """An opening that two players play twice, with colours swapped."""

    number: int
    first: str
    second: str
    fen: str


def engine(net: Path, hash_mb: int) -> Player:
    """The project's engine with a net file."""
    from nnuelab.engine.search import Engine

    return Engine(net, hash_mb)


def schedule(names: list[str], book: Book, settings: Settings) -> list[Pair]:
    """All opening pairs in canonical order: each pairing's first opening, then each one's second...

    Results so far are therefore always balanced over the pairings.
    """
    pairings = list(combinations(names, 2))
    openings = settings.games_per_pairing // 2
    drawn = [book.draw(openings, settings.seed, i) for i in range(len(pairings))]
    return [
        Pair(k * len(pairings) + i, first, second, drawn[i][k])
        for k in range(openings)
        for i, (first, second) in enumerate(pairings)
    ]


def tournament(
    players: Mapping[str, Path],
    book: Path | str,
    output: Path | str,
    settings: Settings,
    *,
    processes: int = 0,
    factory: Factory = engine,
) -> Path:
    """Plays a round robin and writes its PGN, with provenance beside it.

    Finished pairs are kept in ``<output>.partial`` until the end; started again after a kill with
    the same nets, book, settings and code, the tournament continues.

    Parameters
    ----------
    players : mapping of str to Path
        Name to net file; at least two.
    book : path
        See `openings.Book`.
    output : path
        The PGN; written whole or not at all.
    settings : Settings
    processes : int
        Workers; 0 for one per core.
    factory : callable
        Makes a player; must be importable by name (workers are spawned).

    Raises
    ------
    UserError
        A broken net or book, too small a book, an odd number of games, fewer than two players.
    """
    output = Path(output)
    _check(players, settings)
    pairs = schedule(list(players), Book(book), settings)
    for net in players.values():
        player = factory(net, settings.hash_mb)
    # One search here compiles the kernels once for all workers.
    start = notation.from_fen(notation.STARTING_FEN)
    player.search(start, np.empty(0, np.uint64), nodes=1)
    del player

    blocks = {block.file for block in registry.load().values()}
    own = [file for file in blocks if not file.is_relative_to(artifacts.PACKAGE)]
    own.sort(key=lambda file: (file.name, artifacts.sha256(file)))
    inputs = {
        "book": Path(book),
        **{f"net {name}": net for name, net in players.items()},
        **{f"block {name}": file for name, file in artifacts.by_name(own).items()},
    }
    identity = {
        "players": [[name, artifacts.sha256(net)] for name, net in players.items()],
        "book": artifacts.sha256(book),
        "settings": asdict(settings),
        "code": artifacts.code_hash("tournament.runner", blocks),
    }
    with Journal(output.with_name(output.name + ".partial"), identity) as journal:
        _play(pairs, dict(players), settings, journal, processes or cores(), factory)
        places = _finished(journal)
        with artifacts.atomic(output) as temporary, open(temporary, "w", newline="\n") as file:
            for pair in pairs:
                file.writelines(journal[places[pair.number]]["games"])
        artifacts.provenance(
            output,
            inputs=inputs,
            parameters={"players": {n: str(p) for n, p in players.items()}, **asdict(settings)},
            seed=settings.seed,
            module="tournament.runner",
        )
        journal.remove()
    return output


def _check(players: Mapping[str, Path], settings: Settings) -> None:
    if len(players) < 2:
        raise UserError(f"a tournament needs two players or more, not {len(players)}")
    for name, net in players.items():
        if not name.strip() or not name.isprintable():
            raise UserError(f"{name!r} can't be the name of a player: it must be printable")
        if not net.is_file():
            raise UserError(f"there is no net {net} (player {name})")
    if settings.games_per_pairing < 2 or settings.games_per_pairing % 2:
        raise UserError(
            f"{settings.games_per_pairing} games per pairing: it must be even, two per opening"
        )
    if settings.nodes < 1:
        raise UserError(f"{settings.nodes} nodes per move: it must be at least 1")
    if settings.rules.max_plies < 1:
        raise UserError(f"max_plies {settings.rules.max_plies}: it must be at least 1")


def _play(
    pairs: list[Pair],
    nets: dict[str, Path],
    settings: Settings,
    journal: Journal,
    processes: int,
    factory: Factory,
) -> None:
    finished = _finished(journal)
    left = [pair for pair in pairs if pair.number not in finished]
    if not left:
        return
    prepare = partial(_prepare, nets, settings, factory)
    done = 2 * (len(pairs) - len(left))
    with Progress(2 * len(pairs), "games", "tournament", done) as progress:
        for number, games in workers.run(left, prepare, min(processes, len(left))):
            journal.append({"pair": number, "games": games})
            progress.advance(len(games))


def _finished(journal: Journal) -> dict[int, int]:
    """Where in the journal the games of a pair are, by the pair's number."""
    return {entry["pair"]: index for index, entry in enumerate(journal)}


def _prepare(
    nets: dict[str, Path], settings: Settings, factory: Factory
) -> Callable[[Pair], tuple[int, list[str]]]:
    """In a worker: its players, and the function that plays a pair with them."""
    players = {name: factory(net, settings.hash_mb) for name, net in nets.items()}
    return partial(play_pair, players, settings)


def play_pair(
    players: Mapping[str, Player], settings: Settings, pair: Pair
) -> tuple[int, list[str]]:
    """The pair's number and its two games as PGN; rounds ``N.1`` and ``N.2`` mark the pair."""
    games = []
    for i, (white, black) in enumerate([(pair.first, pair.second), (pair.second, pair.first)], 1):
        game = play(players[white], players[black], pair.fen, settings.nodes, settings.rules)
        games.append(to_pgn(game, white, black, pair.fen, f"{pair.number + 1}.{i}"))
    return pair.number, games
