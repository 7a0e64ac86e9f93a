"""Which positions of the games become samples.

Guarantees: the output depends on the files, the options and the seed alone, neither on the number
of workers nor on the other games (but for `max_positions`, which cuts the end off).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import chess
import numpy as np

from nnuelab import artifacts
from nnuelab.data import pgn
from nnuelab.data.dataset import writing
from nnuelab.data.parallel import ordered
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT, pack_bitboards, pack_move
from nnuelab.errors import UserError
from nnuelab.progress import Progress

_RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}  # from White's view
_SCORE_LIMIT = 32_700  # [%eval 999.99] of a foreign tool has to fit int16 too


@dataclass(frozen=True)
class Sampling:
    """The options of a sample, each of which counts what it leaves out."""

    min_ply: int = 16  # half-moves played before; opening theory says little about evaluation
    per_game: int = 0  # positions drawn uniformly from a game; 0: all of them
    skip_check: bool = True  # positions in check
    skip_captures: bool = True  # those where the move played next is a capture or a promotion
    only_evaluated: bool = False  # skip games without any [%eval] before they are parsed
    seed: int = 1


class _Sampler(pgn.Visitor):
    def __init__(self, options: Sampling, counts: Counter[str]) -> None:
        self.options, self.counts = options, counts
        self.taken: list[tuple[int, ...]] = []
        self.seen: Counter[str] = Counter()

    def position(self, board: chess.Board, move: chess.Move) -> None:
        self.seen["positions"] += 1
        if board.ply() < self.options.min_ply:
            self.seen["filtered: too early"] += 1
        elif self.options.skip_check and board.is_check():
            self.seen["filtered: in check"] += 1
        elif self.options.skip_captures and (move.promotion or board.is_capture(move)):
            self.seen["filtered: capture or promotion next"] += 1
        else:
            self.taken.append(_row(board, move))


def _row(board: chess.Board, move: chess.Move) -> tuple[int, ...]:
    """All that a record takes from a board: 7 bitboards, then single values."""
    rights = board.clean_castling_rights()
    castling = (
        bool(rights & chess.BB_H1)
        | bool(rights & chess.BB_A1) << 1
        | bool(rights & chess.BB_H8) << 2
        | bool(rights & chess.BB_A8) << 3
    )
    legal_ep = board.ep_square is not None and board.has_legal_en_passant()
    return (
        board.pawns,
        board.knights,
        board.bishops,
        board.rooks,
        board.queens,
        board.kings,
        board.occupied_co[chess.BLACK],
        (not board.turn) | castling << 1,
        board.ep_square if legal_ep and board.ep_square is not None else 64,
        min(board.halfmove_clock, 255),
        board.ply(),
        pack_move(board, move),
    )


def sample_game(text: bytes, number: int, options: Sampling, counts: Counter[str]) -> np.ndarray:
    """The samples of one game.

    Parameters
    ----------
    text : bytes
        PGN of the game.
    number : int
        Its number in the source.
    counts : Counter
        What was seen and left out is added here.

    Returns
    -------
    ndarray of RECORD
        By ply, ascending.
    """
    counts["games"] += 1
    if options.only_evaluated and b"[%eval" not in text:
        counts["skipped: no evaluation"] += 1
        return np.zeros(0, RECORD)
    game = _Sampler(options, counts)
    pgn.walk(text, game)
    if game.skipped:
        counts[f"skipped: {game.skipped}"] += 1
        return np.zeros(0, RECORD)
    counts.update(game.seen)
    rows = game.taken
    if options.per_game and len(rows) > options.per_game:
        # A string seed is hashed with SHA-512: the same on every platform, and by game.
        draw = random.Random(f"{options.seed}/{number}")
        rows = sorted(draw.sample(rows, options.per_game), key=lambda row: row[10])
        counts["filtered: not drawn"] += len(game.taken) - len(rows)
    counts["sampled"] += len(rows)
    return _records(rows, game, number)


def _records(rows: list[tuple[int, ...]], game: pgn.Visitor, number: int) -> np.ndarray:
    records = np.zeros(len(rows), RECORD)
    if not rows:
        return records
    table = np.array(rows, np.uint64)
    pack_bitboards(np.ascontiguousarray(table[:, :7]), records)
    for column, name in enumerate(("flags", "ep", "halfmove", "ply", "move"), 7):
        records[name] = table[:, column]
    records["game"] = number
    sign = np.where(records["flags"] & 1, -1, 1)
    scores = np.array([game.evals.get(row[10], NO_SCORE) for row in rows])
    limited = sign * np.clip(scores, -_SCORE_LIMIT, _SCORE_LIMIT)
    records["score"] = np.where(scores == NO_SCORE, NO_SCORE, limited)
    result = _RESULTS.get(game.outcome)
    records["result"] = UNKNOWN_RESULT if result is None else sign * result
    return records


def _sample_chunk(
    options: Sampling, chunk: tuple[int, list[bytes]]
) -> tuple[np.ndarray, Counter[str]]:
    first, texts = chunk
    counts: Counter[str] = Counter()
    found = [sample_game(text, first + i, options, counts) for i, text in enumerate(texts)]
    return np.concatenate(found), counts


def sample(
    paths: Iterable[Path],
    output: Path,
    options: Sampling,
    max_positions: int = 0,
    workers: int = 0,
) -> Counter[str]:
    """Writes the samples of all games to ``output`` (.npy of RECORD), with provenance.

    The score is that of the comment ``[%eval]`` of the position (`labels` judges it), else
    NO_SCORE.

    Parameters
    ----------
    paths : iterable of Path
        PGN files, plain, .zst, .bz2 or .gz, read one after the other.
    max_positions : int
        Stop after so many; 0: no limit.

    Returns
    -------
    Counter
        Games, skipped games by reason, positions, filtered positions by filter, sampled ones.

    Raises
    ------
    UserError
        When a file can't be read, or nothing is left; no output is written then.
    """
    paths = list(paths)
    for path in paths:
        if not path.is_file():
            raise UserError(f"there is no file {path}; check its name")
    counts: Counter[str] = Counter()
    with Progress(None, "games", "sample") as progress, writing(output) as writer:
        results = ordered(partial(_sample_chunk, options), pgn.chunks(paths), workers)
        for records, seen in results:
            counts += seen
            if max_positions:
                records = records[: max_positions - writer.count]
            writer.append(records)
            progress.advance(seen["games"], positions=f"{writer.count:,}")
            if max_positions and writer.count >= max_positions:
                break
        results.close()
        counts["sampled"] = writer.count
        if not writer.count:
            raise UserError(
                f"no position of {', '.join(map(str, paths))} passes the filters: {summary(counts)}"
            )
    artifacts.provenance(
        output,
        inputs=artifacts.by_name(paths),
        parameters={**asdict(options), "max_positions": max_positions},
        seed=options.seed,
        module="data.sampling",
        counts=dict(sorted(counts.items())),
    )
    return counts


def summary(counts: Counter[str]) -> str:
    """The counts in one line."""
    return ", ".join(f"{name} {n:,}" for name, n in sorted(counts.items()))
