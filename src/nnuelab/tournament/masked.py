"""What groups of features are worth in games: a net against itself with their rows zeroed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from nnuelab.features.groups import alone_or_together
from nnuelab.nnue import netfile
from nnuelab.settings.games import Games
from nnuelab.tournament import sprt
from nnuelab.tournament.players import Defaults, Entrant, read_players
from nnuelab.tournament.runner import tournament
from nnuelab.tournament.schedule import Settings
from nnuelab.tournament.words import Format

WHOLE = "whole"


def name_of(group: str) -> str:
    """The player without a group."""
    return f"without {group}"


def play(
    path: Path,
    by: str,
    together: Sequence[str],
    book: Path,
    pgn: Path,
    games: Games,
    processes: int,
) -> dict[str, tuple[float, float]]:
    """Plays a net without each group of its features against the whole net.

    Parameters
    ----------
    path : Path
        Net.
    by : str
    together : sequence of str
        Groups to be left out as one, instead of each; see `nnuelab.features.groups`.
    book : Path
    pgn : Path
        Where the games go; a run that was killed goes on.
    games : Games
        For each group.
    processes : int
        0: one per core.

    Returns
    -------
    dict of str to (float, float)
        By group: logistic Elo of the net without it, and half of its 95 % interval. Infinite, and
        NaN, where one of them has won everything.

    Raises
    ------
    UserError
        As of `tournament`, or when there is no such group.
    """
    net = netfile.read_net(path)
    groups = alone_or_together(net.features, by, together)
    with tempfile.TemporaryDirectory() as folder:
        files = {WHOLE: path}
        for number, (group, members) in enumerate(groups.items()):
            files[name_of(group)] = Path(folder) / f"{number}.nnue"
            without = netfile.masked(net, members, by, together or [group])
            netfile.write_net(files[name_of(group)], without)
        defaults = Defaults({"nodes": games.nodes}, games.hash)
        players: dict[str, Entrant] = {}
        for name, file in files.items():
            # A name may have a "=" in it.
            players[name] = read_players(None, [f"{WHOLE}={file}"], defaults)[WHOLE]
        settings = Settings(games.games_per_pairing, Format.GAUNTLET, games.seed)
        tournament(players, book, pgn, settings, processes=processes)
    return {group: sprt.from_pgn([pgn], name_of(group)).elo() for group in groups}
