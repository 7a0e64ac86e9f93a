"""Generated games: an engine plays itself at a fixed limit from random balanced openings.

Guarantees: the same parameters and seed give the same games, whatever the number of workers; a
run that was killed continues where it stopped and ends with the same file.
"""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import chess
import chess.pgn
import zstandard

from nnuelab import artifacts
from nnuelab.data.engines import find_engine
from nnuelab.data.journal import Journal
from nnuelab.data.parallel import ordered
from nnuelab.errors import UserError
from nnuelab.progress import Progress
from nnuelab.selfplay.openings import DECISIVE, opening
from nnuelab.selfplay.uci import UciEngine

COMPRESSION = 22  # zstd's highest level: the file is made once, and kept in git
MAX_REPEATED = 1_000  # games in a row that were played for nothing: then openings have run out


@dataclass(frozen=True)
class Adjudication:
    """When a game is stopped; scores in centipawns, as every engine tournament does it."""

    win_score: int = 1000  # both sides agree on this much ...
    win_plies: int = 4  # ... for so many plies in a row; a mate score counts as that much
    draw_score: int = 10  # within this much of 0 ...
    draw_plies: int = 16  # ... for so many plies (8 moves of each side) in a row,
    draw_from_move: int = 40  # from this move on
    max_plies: int = 300  # then it is a draw

    def result(self, scores: list[int], move_number: int, plies: int) -> str | None:
        """The verdict, or None to play on.

        Parameters
        ----------
        scores : list of int
            Scores of the positions so far from White's view, the last one being the present one.
        move_number, plies : int
            Number of the move to be played; plies played so far.
        """
        last = scores[-self.win_plies :]
        if len(last) == self.win_plies:
            if min(last) >= self.win_score:
                return "1-0"
            if max(last) <= -self.win_score:
                return "0-1"
        last = scores[-self.draw_plies :]
        quiet = len(last) == self.draw_plies and max(map(abs, last)) <= self.draw_score
        if (quiet and move_number >= self.draw_from_move) or plies >= self.max_plies:
            return "1/2-1/2"
        return None


@dataclass(frozen=True)
class Parameters:
    """What the games depend on, besides the engine itself."""

    limit: str  # nodes N or depth N, per move
    random_plies: int  # or one more
    max_opening_score: int  # centipawns
    seed: int
    adjudication: Adjudication = Adjudication()


@dataclass(frozen=True)
class Played:
    """One game, as the journal keeps it."""

    number: int
    opening: str  # EPD: for "each opening once"
    pgn: str


def play(engine: UciEngine, start: chess.Board, rules: Adjudication) -> chess.pgn.Game:
    """Plays a game from ``start`` to its end or adjudication.

    The comment ``[%eval]`` of a move is the score of the position after it, found by the search
    for the reply (as Lichess writes it: pawns from White's view, ``#n`` for mates).
    """
    engine.new_game()
    board = start.copy()
    game = chess.pgn.Game.from_board(board)
    node = game.end()
    moves = [move.uci() for move in board.move_stack]
    scores: list[int] = []
    verdict = None
    while not (ended := over(board)):
        found = engine.search(moves, board.turn)
        node.set_eval(found.score)
        scores.append(found.score.white().score(mate_score=DECISIVE))
        verdict = rules.result(scores, board.fullmove_number, board.ply())
        if verdict:
            break
        board.push(found.move)
        moves.append(found.move.uci())
        node = node.add_variation(found.move)
    game.headers["Result"] = verdict or ended
    game.headers["Termination"] = "adjudication" if verdict else "normal"
    return game


def over(board: chess.Board) -> str:
    """The result by the rules of chess, empty while the game goes on.

    A third repetition and the 50-move rule end a game: engines claim.
    """
    if board.is_repetition(3) or (board.halfmove_clock >= 100 and not board.is_checkmate()):
        return "1/2-1/2"
    outcome = board.outcome()
    return outcome.result() if outcome else ""


_engine: UciEngine  # of this worker process
_parameters: Parameters


def _start_worker(path: str, parameters: Parameters) -> None:
    global _engine, _parameters
    _engine, _parameters = UciEngine(path, parameters.limit), parameters


def _play_number(number: int) -> Played:
    p = _parameters
    start = opening(_engine, p.seed, number, p.random_plies, p.max_opening_score)
    game = play(_engine, start, p.adjudication)
    tags = {
        "Event": f"nnuelab datagen: {p.limit} per move, seed {p.seed}",
        "Site": "?",
        "Date": "????.??.??",
        "Round": str(number),
        "White": _engine.name,
        "Black": _engine.name,
        "Result": game.headers["Result"],
        "Termination": game.headers["Termination"],
    }
    game.headers = chess.pgn.Headers(tags)
    text = game.accept(chess.pgn.StringExporter(columns=None))
    return Played(number, start.epd(), text)


def datagen(
    output: Path, engine: str, games: int, parameters: Parameters, workers: int = 0
) -> dict[str, int]:
    """Plays ``games`` games into ``output`` (.pgn.zst); see the module's guarantees.

    An unfinished run with another engine, parameters or code gives way.

    Returns
    -------
    dict
        Number of games by result.

    Raises
    ------
    UserError
        Without the engine, or when the parameters give no further opening.
    """
    path = find_engine(engine)
    with UciEngine(path, parameters.limit) as probe:
        name = probe.name
    identity = {
        "engine": name,
        "code": artifacts.code_hash("selfplay.datagen"),
        **asdict(parameters),
    }
    with Journal(output.with_name(output.name + ".partial"), identity) as journal:
        played = list({entry["number"]: Played(**entry) for entry in journal}.values())
        _play_on(played, games, journal, path, parameters, workers)
        results = _finish(output, played[:games], name, parameters)
        journal.remove()
    return results


def _play_on(
    played: list[Played],
    games: int,
    journal: Journal,
    path: str,
    parameters: Parameters,
    workers: int,
) -> None:
    """Plays until there are enough games, each of another opening."""
    seen = {game.opening for game in played}
    last = played[-1].number if played else 0
    arguments = (path, parameters)
    with (
        Progress(games, "games", "datagen", done=len(played)) as progress,
        closing(
            ordered(_play_number, itertools.count(last + 1), workers, _start_worker, arguments)
        ) as results,
    ):
        while len(played) < games:
            # Judged here, in the order of the numbers, not in the workers: whose game comes
            # first must not depend on how many there are.
            game = next(results)
            if game.opening not in seen:
                seen.add(game.opening)
                played.append(game)
                journal.append(asdict(game))
                progress.advance()
                last = game.number
            elif game.number - last >= MAX_REPEATED:
                raise UserError(
                    f"{MAX_REPEATED:,} openings in a row have been played before, after "
                    f"{len(played):,} of {games:,} games: ask for fewer --games, or give more "
                    "--random-plies or a larger --max-opening-score"
                )


def _finish(
    output: Path, played: list[Played], name: str, parameters: Parameters
) -> dict[str, int]:
    text = "".join(game.pgn + "\n\n" for game in played).encode("ascii")
    results: dict[str, int] = {}
    for game in played:
        result = game.pgn.rsplit(maxsplit=1)[1]
        results[result] = results.get(result, 0) + 1
    with artifacts.atomic(output) as temporary:
        compressor = zstandard.ZstdCompressor(level=COMPRESSION, write_checksum=True)
        temporary.write_bytes(compressor.compress(text))
    artifacts.provenance(
        output,
        parameters=asdict(parameters),
        seed=parameters.seed,
        module="selfplay.datagen",
        engine=name,
        games=len(played),
        results=dict(sorted(results.items())),
        evaluations=text.count(b"[%eval "),
    )
    return results
