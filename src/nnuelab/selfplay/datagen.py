"""Generated games: an engine plays itself at a fixed limit from random balanced openings.

Guarantees: the same parameters and seed give the same games, whatever the number of workers and
whatever parts they are made in; interrupted runs resume and end with the same file.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
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
from nnuelab.engine.search import Engine
from nnuelab.engine.state import INFINITE
from nnuelab.errors import UserError
from nnuelab.evaluator import Evaluator
from nnuelab.parts import Part
from nnuelab.progress import Progress
from nnuelab.selfplay.openings import START, opening
from nnuelab.settings.games import Rules
from nnuelab.settings.sample import Sampling
from nnuelab.tournament.adjudication import BLACK_WINS, DRAW, WHITE_WINS
from nnuelab.tournament.external import StrictUciPlayer
from nnuelab.tournament.game import Game, Move, Seat
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.pgn import game_text
from nnuelab.tournament.play import EnginePlayer, play

FIRST_PLY = Sampling.min_ply  # where `sample` begins by default
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
    """Who plays: this engine with an evaluator, or another, a UCI engine by its path."""

    player: Evaluator | str

    def start(self, limit: Limit) -> Seat:
        """The player, made in this process, with its limit; UserError when it can't be."""
        if isinstance(self.player, str):
            return Seat(StrictUciPlayer(UciEngine([self.player], hash_mb=HASH_MB)), limit)
        player = EnginePlayer(Engine(self.player, HASH_MB))
        # All kernels are loaded now, or compiled, and that once for all workers.
        quick = Seat(player, Limit(nodes=1))
        opening(quick, 0, 0, 4, INFINITE)
        play(quick, quick, notation.STARTING_FEN, Rules(max_plies=1))
        return Seat(player, limit)

    def files(self) -> dict[str, Path]:
        """Files that the games depend on, for the provenance."""
        if isinstance(self.player, str):
            return {"engine": Path(self.player)}
        return dict(self.player.files())

    def name(self) -> str:
        """The name of the player, with its version; UserError when it can't play."""
        if isinstance(self.player, str):
            with UciEngine([self.player]) as engine:
                return engine.name
        self.start(Limit(nodes=1)).player.close()
        return f"nnuelab {__version__} {self.player.name}"

    def code(self, module: str) -> str:
        """The code hash of a module that plays games, with that of the evaluator."""
        own = [] if isinstance(self.player, str) else [self.player.code()]
        return artifacts.code_hash(module, more=own)


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
    part: Part | None = None,
    parts: Sequence[Path] = (),
) -> tuple[dict[str, int], Speed]:
    """Plays ``games`` games into ``output`` (.pgn.zst); see the module's guarantees.

    An unfinished run with another player, other parameters or code gives way.

    Parameters
    ----------
    output : Path
    source : Source
    games : int
    parameters : Parameters
    compression : int
        zstd's level.
    workers : int
        Processes; 0 for one per core.
    part : Part, optional
        Only these of the numbers 1 to ``games`` are played, and ``output`` is a part of the games,
        not a PGN.
    parts : sequence of Path
        Parts of these games, made anywhere, of any divisions and numbers of games; what none of
        them has is played.

    Returns
    -------
    dict
        Number of games by result.
    Speed
        Of what was played in this run.

    Raises
    ------
    UserError
        Without the engine or net, when the parameters give no further opening, and for parts of
        other games.
    """
    if isinstance(source.player, str):
        source = Source(find_engine(source.player))
    name = source.name()
    identity = {
        "player": name,
        "files": {kind: artifacts.sha256(file) for kind, file in source.files().items()},
        "code": source.code("selfplay.datagen"),
        **asdict(parameters),
    }
    with Journal(output.with_name(output.name + ".partial"), identity) as journal:
        places = journal.join(parts, _number, "game")
        arguments = (source, name, parameters)
        chosen, speed = _play_on(games, part, journal, places, arguments, workers)
        if part is None:
            told = _write(output, (journal[place] for place in chosen), compression)
        else:
            told = _write_part(output, journal, chosen)
            told["part"] = {**asdict(part), "games": games}
        artifacts.provenance(
            output,
            inputs=source.files(),
            parameters={**asdict(parameters), "limit": str(parameters.limit)},
            seed=parameters.seed,
            code=identity["code"],
            player=name,
            **told,
        )
        journal.remove()
    return told["results"], speed


def _number(entry: Any) -> int:
    """Of a game that an entry is of; ValueError and the like where it is none."""
    number, texts = entry["number"], (entry["opening"], entry["pgn"])
    if type(number) is not int or number < 1 or [*map(type, texts)] != [str, str]:
        raise ValueError("no game with a number")
    if entry["result"] not in (WHITE_WINS, DRAW, BLACK_WINS):
        raise ValueError("no result")
    return number


def _play_on(
    games: int,
    part: Part | None,
    journal: Journal,
    places: dict[int, int],
    arguments: tuple[Source, str, Parameters],
    workers: int,
) -> tuple[list[int], Speed]:
    """Plays the numbers that are left; returns where in the journal the games stand, in order.

    The whole has the first game of each opening. A part has all of its numbers: only the whole
    knows which of their openings have been played before.
    """
    speed, began, own = Speed(), time.monotonic(), time.process_time()
    numbers = range(1, games + 1) if part is None else part.of(range(1, games + 1))
    wanted = len(numbers)
    if part is None:
        numbers = range(1, sys.maxsize)  # each opening that comes again takes one number more
    workers = min(workers or cores(), wanted)  # more would start for nothing
    chosen, seen, last = list[int](), set[str](), 0
    with (
        Progress(wanted, "games", "datagen") as progress,
        closing(_in_order(numbers, journal, places, arguments, workers)) as found,
    ):
        for entry, cost in found:
            # Judged here, in the order of the numbers, not in the workers: whose game comes
            # first must not depend on how many there are.
            number, opening = entry["number"], entry["opening"]
            if cost is not None:
                speed.add(cost)
            if part is not None or opening not in seen:
                seen.add(opening)
                chosen.append(places[number])
                last = number
                rate = speed.kept / max(time.monotonic() - began, 1e-9)
                progress.found(cost is None)
                progress.advance(kept=f"{speed.kept:,} positions, {rate:,.0f}/s")
            elif number - last >= MAX_REPEATED:
                raise UserError(
                    f"{MAX_REPEATED:,} openings in a row have been played before, after "
                    f"{len(chosen):,} of {games:,} games: ask for fewer --games, or give more "
                    "--random-plies or a larger --max-opening-score"
                )
            if len(chosen) == wanted:
                break
    speed.seconds = time.monotonic() - began
    speed.cpu += time.process_time() - own
    return chosen, speed


def _in_order(
    numbers: range,
    journal: Journal,
    places: dict[int, int],
    arguments: tuple[Source, str, Parameters],
    workers: int,
) -> Generator[tuple[dict[str, Any], Speed | None], None, None]:
    """The games of these numbers, each with its cost where it is played now, not before."""
    left = (number for number in numbers if number not in places)
    with closing(ordered(_play_number, left, workers, _start_worker, arguments)) as played:
        for number in numbers:
            if number in places:
                yield journal[places[number]], None
            else:
                entry, cost = next(played)
                places[number] = len(journal)
                journal.append(entry)
                yield entry, cost


def _write_part(output: Path, journal: Journal, places: list[int]) -> dict[str, Any]:
    """Writes a part in the order of its numbers; returns its counts for the provenance."""
    with artifacts.atomic(output) as temporary, temporary.open("wb") as file:
        journal.write(file, places)
    return _told(Counter(journal[place]["result"] for place in places))


def _told(results: Counter[str]) -> dict[str, Any]:
    return {"games": results.total(), "results": dict(sorted(results.items()))}


def _write(output: Path, entries: Iterable[Any], level: int) -> dict[str, Any]:
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
    return {**_told(results), "evaluations": evaluations}
