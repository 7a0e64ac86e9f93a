"""A UCI engine that plays for data, by the lean client of labels.

At 1,000 nodes per move games are 1.6 times as fast as through python-chess.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from nnuelab.chess import notation
from nnuelab.data.engines import HASH_MB, find_engine, started
from nnuelab.data.uci import UciError, move_of, score_of
from nnuelab.errors import UserError
from nnuelab.tournament.game import Answer, Line
from nnuelab.tournament.limits import Turn


class UciEngine:
    """A UCI engine as a subprocess, a player under limits of nodes or depth; a context manager.

    It never fails as a player does: what is wrong with it is a UserError, since its games are not
    for winning.

    Parameters
    ----------
    path : str or Path
        The engine's program, looked for by `find_engine`.
    hash_mb : int
        Transposition table; small, because it is cleared before every game.
    """

    def __init__(self, path: str | Path, hash_mb: int = HASH_MB) -> None:
        self.path = find_engine(path)
        self._line: Line | None = None
        self._moves: list[str] = []
        self._process = started(self.path, {"Hash": str(hash_mb)})
        self.name = self._process.name
        self.new_game()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the engine's process."""
        self._process.close()

    def new_game(self) -> None:
        """Forgets everything: what follows depends on nothing that was searched before."""
        self._ask("ucinewgame\nisready\n", "readyok")

    def search(self, line: Line, turn: Turn) -> Answer:
        """Asks the engine; UserError when it dies, hangs, or answers without score or move."""
        if self._line is not line:
            self._line, self._moves = line, []
        self._moves += map(notation.move_to_uci, line.moves[len(self._moves) :])
        kind = "depth" if turn.limit.nodes is None else "nodes"
        moves = " ".join(self._moves)
        limit = f"{kind} {getattr(turn.limit, kind)}"
        lines = self._ask(f"position fen {line.fen} moves {moves}\ngo {limit}\n", "bestmove")
        score = score_of(lines)
        if score is None:
            raise UserError(f"the engine {self.name} gave a move without a score ({lines[-1]!r})")
        try:
            move = notation.parse_uci(line.position, move_of(lines))
        except ValueError as error:
            raise UserError(f"the engine {self.name}: {lines[-1]!r}: {error}") from None
        words = next((text for text in reversed(lines) if " score " in text), "").split()
        is_mate = score[0] == "mate"
        return Answer(
            move=move,
            score_cp=None if is_mate else score[1],
            mate=score[1] if is_mate else None,
            depth=_number(words, "depth"),
            nodes=_number(words, "nodes"),
        )

    def _ask(self, commands: str, end: str) -> list[str]:
        try:
            return self._process.ask(commands, end)
        except UciError as error:
            raise UserError(
                f"the engine {self.path} failed ({error}); start it by hand and type `uci`: it has "
                "to be a UCI engine for this machine"
            ) from error


def _number(words: list[str], name: str) -> int | None:
    return int(words[words.index(name) + 1]) if name in words else None
