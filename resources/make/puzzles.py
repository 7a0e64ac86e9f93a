"""Puzzles out of games: positions in which exactly one move clearly wins, and how it goes on.

The method is that of Lichess' own generator (https://github.com/ornicar/lichess-puzzler): a move
loses much, by the game's own evaluations; the best answer has to be better than the second best by
a wide margin of winning chances, and so at every further move of the solver. Who made the mistake
didn't see the answer under the limit of the game: so these puzzles ask for more than that.

The same games, engine and limit give the same file with any number of workers.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import math
import shlex
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import chess
import chess.pgn

from nnuelab import artifacts
from nnuelab.data import pgn
from nnuelab.data.parallel import ordered
from nnuelab.data.records import MATE, mate_score
from nnuelab.data.uci import UciEngine, UciError, Variation, find_engine
from nnuelab.errors import UserError
from nnuelab.progress import Progress

FIRST_PLY = 12  # earlier positions are those of the random opening
WON = 150  # centipawns, at least, of the side that is to find the move
MISTAKE = 0.2  # winning chances (-1..1) that the move before loses; the word is Lichess', too
ONLY_MOVE = 0.5  # winning chances (-1..1) by which the best move is better than the second best
LONGEST = 6  # moves of the solver
# Nodes by which the engine tries to solve what it has made: how many it needs tells how hard it is.
LADDER = tuple(4**k for k in range(8))
EASIEST, RUNG = 600, 200  # rating of what one node solves, and of each further rung


@dataclass(frozen=True)
class Puzzle:
    """A row of the CSV, with the columns of the Lichess puzzle database.

    Attributes
    ----------
    PuzzleId : str
    FEN : str
        Before the opponent's move that the puzzle begins with.
    Moves : str
        UCI: the opponent's move, then the solver's and the opponent's by turns.
    Rating : int
        How hard it is for the engine that made it (see `LADDER`), not for people.
    RatingDeviation, Popularity, NbPlays, OpeningTags : str
        Empty: nobody has played it.
    Themes : str
        In Lichess' words.
    GameUrl : str
        File, number of the game and ply of the first move.
    """

    PuzzleId: str
    FEN: str
    Moves: str
    Rating: int
    RatingDeviation: str
    Popularity: str
    NbPlays: str
    Themes: str
    GameUrl: str
    OpeningTags: str


COLUMNS = tuple(field.name for field in fields(Puzzle))


def candidates(evals: dict[int, int], plies: int) -> Iterator[int]:
    """Plies of mistakes behind which the other side is won, by a game's evaluations.

    Parameters
    ----------
    evals : dict of int to int
        By ply: centipawns from White's view of the position with so many moves played.
    plies : int
        Moves of the game, White's being the even ones.
    """
    for ply in range(FIRST_PLY, plies - 1):
        if not {ply, ply + 1} <= evals.keys():
            continue
        sign = -1 if ply % 2 == 0 else 1  # the solver moves after it
        before, after = sign * evals[ply], sign * evals[ply + 1]
        if after >= WON and chance(after) - chance(before) >= MISTAKE:
            yield ply


def chance(score: int) -> float:
    """Winning chances, -1..1, of centipawns, by the curve that Lichess fitted to games."""
    return math.tanh(0.00368208 / 2 * score)


def centipawns(line: Variation) -> int:
    """For the side to move, mates among them."""
    return (line.cp or 0) if line.mate is None else mate_score(line.mate)


_engine: UciEngine  # of this worker process
_nodes: int


def _start_worker(path: str, nodes: int) -> None:
    global _engine, _nodes
    _engine, _nodes = UciEngine([path]), nodes


def _analyse(board: chess.Board, nodes: int, lines: int) -> list[Variation]:
    try:
        _engine.configure({"MultiPV": lines})
        # Without its memory of others, what is found depends on nothing before.
        return _engine.search(f"fen {board.fen()}", f"nodes {nodes}", clear=True).variations
    except UciError as error:
        raise UserError(f"the engine failed on {board.fen()!r}: {error}; run again") from None


def _best(board: chess.Board, nodes: int) -> chess.Move:
    return chess.Move.from_uci(_analyse(board, nodes, 1)[0].moves[0])


def _only_move(board: chess.Board, nodes: int) -> chess.Move | None:
    """The one move that clearly wins; None where there is none, or are more."""
    found = _analyse(board, nodes, 2)
    best = centipawns(found[0])
    second = chance(centipawns(found[1])) if len(found) > 1 else -1.0
    if chance(best) - second < ONLY_MOVE or best < WON:
        return None
    return chess.Move.from_uci(found[0].moves[0])


def _solution(board: chess.Board) -> list[chess.Move]:
    """Moves from ``board`` on, the solver's first and last; empty where it makes no puzzle."""
    solver, taken_back = board.turn, board.peek().to_square
    line: list[chess.Move] = []
    board = board.copy(stack=False)
    if board.legal_moves.count() < 2:  # that is no riddle
        return []
    while len(line) < 2 * LONGEST and not board.is_game_over():
        if board.turn == solver:
            only = _only_move(board, _nodes)
            if only is None or (not line and only.to_square == taken_back):
                break
            move = only
        else:
            move = _best(board, _nodes)
        line.append(move)
        board.push(move)
    if len(line) % 2 == 0:
        line = line[:-1]  # the opponent's last answer asks for nothing
    # A single move that takes what hangs is no riddle; a mate is.
    mates = board.is_checkmate() and len(line) % 2 == 1
    return line if len(line) >= 3 or (line and mates) else []


def _rating(board: chess.Board, line: list[chess.Move]) -> int:
    """By the fewest nodes of `LADDER` from which on the engine finds every move of the solver."""
    rating = EASIEST + RUNG * len(LADDER)
    for rung, nodes in reversed(list(enumerate(LADDER))):
        position = board.copy(stack=False)
        for i, move in enumerate(line):
            if i % 2 == 0 and _best(position, nodes) != move:
                return rating
            position.push(move)
        rating = EASIEST + RUNG * rung
    return rating


def themes(board: chess.Board, line: list[chess.Move]) -> str:
    """What Lichess would call a puzzle, as far as it can be told without an engine."""
    solver, end = board.turn, board.copy(stack=False)
    found = set()
    for i, move in enumerate(line):
        if i % 2 == 0:
            if move.promotion:
                found.add("promotion" if move.promotion == chess.QUEEN else "underPromotion")
            if end.is_castling(move):
                found.add("castling")
            if end.is_en_passant(move):
                found.add("enPassant")
            if i == 0 and not (end.is_capture(move) or end.gives_check(move)):
                found.add("quietMove")
        end.push(move)
    moves = (len(line) + 1) // 2
    if end.is_checkmate() and end.turn != solver:
        found |= {"mate", f"mateIn{min(moves, 5)}"}
    found.add({1: "oneMove", 2: "short", 3: "long"}.get(moves, "veryLong"))
    pieces = chess.popcount(board.occupied & ~board.pawns & ~board.kings)
    found.add(
        "opening" if board.fullmove_number < 13 else "middlegame" if pieces > 6 else "endgame"
    )
    return " ".join(sorted(found))


def _puzzle_of(task: tuple[int, str, bytes]) -> Puzzle | None:
    """The first puzzle of a game, None without."""
    number, name, text = task
    game = chess.pgn.read_game(io.StringIO(text.decode("latin-1")))
    if game is None or game.errors or "Variant" in game.headers:
        return None
    board, ply = game.board(), 0
    if board.turn != chess.WHITE or not board.is_valid():
        return None
    moves, evals = [], dict[int, int]()
    for node in game.mainline():
        moves.append(node.move)
        if score := node.eval():
            evals[len(moves)] = score.white().score(mate_score=MATE)
    for candidate in candidates(evals, len(moves)):
        for move in moves[ply:candidate]:
            board.push(move)
        ply = candidate
        before = board.copy(stack=False)
        after = before.copy(stack=False)
        after.push(moves[candidate])
        if line := _solution(after):
            return Puzzle(
                PuzzleId=f"g{number + 1:05d}",
                FEN=before.fen(),
                Moves=" ".join(move.uci() for move in (moves[candidate], *line)),
                Rating=_rating(after, line),
                RatingDeviation="",
                Popularity="",
                NbPlays="",
                Themes=themes(after, line),
                GameUrl=f"{name}#{number + 1}/{candidate + 1}",
                OpeningTags="",
            )
    return None


def puzzles(
    games: Path, output: Path, engine: str, count: int, nodes: int, workers: int = 0
) -> int:
    """Writes up to ``count`` puzzles, at most one of each game, to ``output`` (.csv or .csv.gz).

    Returns
    -------
    int
        How many there are.

    Raises
    ------
    UserError
        Without the engine, games that can't be read, or not one puzzle in them.
    """
    path = find_engine(engine)
    with UciEngine([path]) as probe:
        name = probe.name
    found: dict[str, Puzzle] = {}
    tasks = ((number, games.name, text) for number, text in enumerate(pgn.texts(games)))
    with (
        Progress(count, "puzzles", "puzzles") as progress,
        closing(ordered(_puzzle_of, tasks, workers, _start_worker, (path, nodes))) as stream,
    ):
        for puzzle in stream:
            # Two games may come into the same position.
            if puzzle is not None and puzzle.FEN not in found:
                found[puzzle.FEN] = puzzle
                progress.advance()
            if len(found) == count:
                break
    if not found:
        raise UserError(
            f"no puzzle in {games}: a game needs [%eval] comments, and a mistake after which "
            "only one move wins"
        )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(astuple, found.values()))
    data = text.getvalue().encode()
    with artifacts.atomic(output) as temporary:
        # Without a time of its own the file is the same, byte for byte, whenever it is made.
        temporary.write_bytes(gzip.compress(data, 9, mtime=0) if output.suffix == ".gz" else data)
    artifacts.provenance(
        output,
        inputs={games.name: games},
        parameters={"puzzles": count, "nodes": nodes},
        command=shlex.join(["python", *sys.argv]),
        code=artifacts.code_hash(None, [__file__]),
        engine=name,
    )
    return len(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("games", type=Path, help="with [%%eval] comments, PGN")
    parser.add_argument("output", type=Path, help=".csv or .csv.gz")
    parser.add_argument("--puzzles", type=int, default=1000, help="at most")
    parser.add_argument("--workers", type=int, default=0)
    given = parser.parse_args()
    try:
        puzzles(given.games, given.output, "stockfish", given.puzzles, 20_000, given.workers)
    except UserError as error:
        sys.exit(str(error))
