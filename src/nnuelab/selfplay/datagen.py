"""Generated games: an engine plays itself at a fixed limit from random balanced openings.

Guarantees: the same parameters and seed give the same games, whatever the number of workers;
interrupted runs resume and end with the same file.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import zstandard

from nnuelab import __version__, artifacts
from nnuelab.chess import notation
from nnuelab.chess.position import WHITE
from nnuelab.chess.san import replay, sans
from nnuelab.data.journal import Journal
from nnuelab.data.parallel import cores, ordered
from nnuelab.data.uci import UciEngine, find_engine
from nnuelab.engine.search import DEFAULT_NET, load_net
from nnuelab.engine.state import INFINITE
from nnuelab.errors import UserError
from nnuelab.features import block_files
from nnuelab.progress import Progress
from nnuelab.selfplay.openings import START, opening
from nnuelab.tournament.adjudication import Rules
from nnuelab.tournament.external import StrictUciPlayer
from nnuelab.tournament.game import Game, Move, Seat
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.pgn import game_text
from nnuelab.tournament.play import play
from nnuelab.tournament.players import NetEntrant

FIRST_PLY = 16  # where `sample` begins by default
MAX_REPEATED = 1_000  # games in a row with known openings: then openings have run out
HASH_MB = 4  # cleared before every game and every judgement of an opening
COMPRESSION = 12  # zstd's level: 16 MB/s; 22 makes files 15 % smaller, at 1 MB/s
# A game that both sides see decided has nothing more to teach; half as long as in a tournament.
RULES = Rules(resign_plies=4, max_plies=300)


@dataclass(frozen=True)
class Parameters:
    """All that the games depend on, besides the player."""

    limit: Limit  # nodes or depth, per move
    random_plies: int  # or one more
    max_opening_score: int  # centipawns
    seed: int
    rules: Rules = RULES


@dataclass(frozen=True)
class Source:
    """Who plays: this engine with a net (None: the one that ships with the package), or another.

    Attributes
    ----------
    engine : str or None
        Path of a UCI engine, which then plays instead.
    net : path or None
    """

    engine: str | None = None
    net: Path | None = None

    def start(self, limit: Limit) -> Seat:
        """The player, made in this process, with its limit; UserError when it can't be."""
        if self.engine is not None:
            return Seat(StrictUciPlayer(UciEngine([self.engine], hash_mb=HASH_MB)), limit)
        player = NetEntrant(self.net, limit, HASH_MB).start()
        # All kernels are loaded now, or compiled, and that once for all workers.
        quick = Seat(player, Limit(nodes=1))
        opening(quick, 0, 0, 4, INFINITE)
        play(quick, quick, notation.STARTING_FEN, Rules(max_plies=1))
        return Seat(player, limit)

    def files(self) -> dict[str, Path]:
        """Files that the games depend on, for the provenance."""
        return {} if self.engine is not None else {"net": self.net or DEFAULT_NET}

    def name(self) -> str:
        """The name of the player, with its version; UserError when it can't play."""
        if self.engine is None:
            self.start(Limit(nodes=1)).player.close()
            return f"nnuelab {__version__} {load_net(self.net).feature_set}"
        with UciEngine([self.engine]) as engine:
            return engine.name

    def code(self, module: str) -> str:
        """The code hash of a module that plays games, with the blocks of the net's features."""
        blocks = [] if self.engine is not None else block_files(load_net(self.net).feature_set)
        return artifacts.code_hash(module, blocks)


@dataclass
class Speed:
    """Cost and yield of a run."""

    searched: int = 0  # positions
    kept: int = 0  # of them, by the filters that `sample` has by default
    nodes: int = 0
    thinking: float = 0.0  # CPU seconds in searches of games, where they are known
    cpu: float = 0.0  # CPU seconds of all processes, but for their start
    seconds: float = 0.0

    def add(self, other: Speed) -> None:
        """Adds another's counts."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def __str__(self) -> str:
        """For people, in a line."""
        seconds = max(self.seconds, 1e-9)
        text = f"{self.searched:,} positions, {self.kept:,} kept, {self.kept / seconds:,.0f}/s"
        if self.thinking:
            per_core, share = self.nodes / self.cpu, self.thinking / self.cpu
            text += f"; {per_core:,.0f} nodes/s per core, {share:.0%} of the CPU time in search"
        return text


_seat: Seat  # of this worker process
_name: str
_parameters: Parameters


def _start_worker(source: Source, name: str, parameters: Parameters) -> None:
    global _seat, _name, _parameters
    _seat = source.start(parameters.limit)
    _name, _parameters = name, parameters


def _play_number(number: int) -> tuple[dict[str, Any], Speed]:
    """A game as the journal keeps it, and its cost."""
    began = time.process_time()
    p = _parameters
    start = opening(_seat, p.seed, number, p.random_plies, p.max_opening_score)
    game = play(_seat, _seat, notation.STARTING_FEN, p.rules, start.moves)
    tags = {
        "Event": f"nnuelab datagen: {p.limit} per move, seed {p.seed}",
        "Site": "?",
        "Date": "????.??.??",
        "Round": str(number),
        "White": _name,
        "Black": _name,
        "Result": game.result,
        "Termination": game.termination,
    }
    before = sans(replay(START, start.moves), start.moves)
    moves = [*before, *(move.san for move in game.moves)]
    entry = {
        "number": number,
        # For "each opening once"; JSON has no integers of 64 bits everywhere.
        "opening": f"{int(start.position['key']):016x}",
        "result": game.result,
        "pgn": game_text(tags, moves, _comments(game, len(before)), lichess=True),
    }
    speed = Speed(
        searched=len(game.moves),
        kept=_kept(moves),
        nodes=sum(move.nodes or 0 for move in game.moves),
        thinking=game.thinking or 0.0,
        cpu=time.process_time() - began,
    )
    return entry, speed


def _comments(game: Game, first: int) -> list[str]:
    """The comment behind each move: the score of the position after it.

    The search for the reply finds it; a position that is not searched has none.
    """
    turns = enumerate(game.moves, first)
    scores = [_comment(move, ply % 2 == WHITE) for ply, move in turns]
    return [*[""] * first, *scores, ""][1:]


def _comment(move: Move, is_white: bool) -> str:
    """``[%eval]`` as Lichess writes it: pawns from White's view, ``#n`` for mates."""
    sign = 1 if is_white else -1
    if move.mate is not None:
        return f"[%eval #{sign * move.mate}]"
    return "" if move.score_cp is None else f"[%eval {sign * move.score_cp / 100:.2f}]"


def _kept(moves: list[str]) -> int:
    """How many positions of a game (in SAN) `sample` takes by default.

    Not those of the first plies, nor in check, nor before a capture or a promotion.
    """
    return sum(
        ply >= FIRST_PLY and last[-1] != "+" and "x" not in san and "=" not in san
        for ply, (last, san) in enumerate(pairwise(moves), 1)
    )


def datagen(
    output: Path,
    source: Source,
    games: int,
    parameters: Parameters,
    *,
    compression: int = COMPRESSION,
    workers: int = 0,
) -> tuple[dict[str, int], Speed]:
    """Plays ``games`` games into ``output`` (.pgn.zst); see the module's guarantees.

    An unfinished run with another player, other parameters or code gives way.

    Returns
    -------
    dict
        Number of games by result.
    Speed
        Of what was played in this run.

    Raises
    ------
    UserError
        Without the engine or net, or when the parameters give no further opening.
    """
    if source.engine is not None:
        source = Source(find_engine(source.engine))
    name = source.name()
    identity = {
        "player": name,
        "files": {kind: artifacts.sha256(file) for kind, file in source.files().items()},
        "code": source.code("selfplay.datagen"),
        **asdict(parameters),
    }
    with Journal(output.with_name(output.name + ".partial"), identity) as journal:
        speed = _play_on(games, journal, source, name, parameters, workers)
        told = _write(output, itertools.islice(journal, games), compression)
        artifacts.provenance(
            output,
            inputs=source.files(),
            parameters={**asdict(parameters), "limit": str(parameters.limit)},
            seed=parameters.seed,
            module="selfplay.datagen",
            player=name,
            **told,
        )
        journal.remove()
    return told["results"], speed


def _play_on(
    games: int,
    journal: Journal,
    source: Source,
    name: str,
    parameters: Parameters,
    workers: int,
) -> Speed:
    """Plays until there are enough games, each of another opening."""
    speed, began, own = Speed(), time.monotonic(), time.process_time()
    seen, last = set(), 0
    for entry in journal:
        seen.add(entry["opening"])
        last = entry["number"]
    arguments = (source, name, parameters)
    numbers = itertools.count(last + 1)
    workers = min(workers or cores(), games)  # more would start for nothing
    with (
        Progress(games, "games", "datagen", done=len(journal)) as progress,
        closing(ordered(_play_number, numbers, workers, _start_worker, arguments)) as results,
    ):
        while len(journal) < games:
            # Judged here, in the order of the numbers, not in the workers: whose game comes
            # first must not depend on how many there are.
            entry, cost = next(results)
            speed.add(cost)
            if entry["opening"] not in seen:
                seen.add(entry["opening"])
                journal.append(entry)
                rate = speed.kept / (time.monotonic() - began)
                progress.advance(kept=f"{speed.kept:,} positions, {rate:,.0f}/s")
                last = entry["number"]
            elif entry["number"] - last >= MAX_REPEATED:
                raise UserError(
                    f"{MAX_REPEATED:,} openings in a row have been played before, after "
                    f"{len(journal):,} of {games:,} games: ask for fewer --games, or give more "
                    "--random-plies or a larger --max-opening-score"
                )
    speed.seconds = time.monotonic() - began
    speed.cpu += time.process_time() - own
    return speed


def _write(output: Path, entries: Any, level: int) -> dict[str, Any]:
    """Writes the games in order; returns their counts for the provenance."""
    results: Counter[str] = Counter()
    evaluations = 0
    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True)
    with (
        artifacts.atomic(output) as temporary,
        temporary.open("wb") as file,
        compressor.stream_writer(file, closefd=False) as stream,
    ):
        for entry in entries:
            text = entry["pgn"].encode("ascii", "replace")
            stream.write(text)
            results[entry["result"]] += 1
            evaluations += text.count(b"[%eval ")
    return {
        "games": results.total(),
        "results": dict(sorted(results.items())),
        "evaluations": evaluations,
    }
