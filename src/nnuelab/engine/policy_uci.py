"""A policy in a conversation by UCI: its likeliest moves, without a search.

Each line of ``info`` is a move with its probability; with a value head, also with its score and
``wdl``. The module that plays is imported by name: games of engines don't depend on its code.
"""

from __future__ import annotations

import sys
import time
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from nnuelab.engine.protocol import (
    COMPILING,
    MULTIPV_MAX,
    THREADS,
    Conversation,
    announced,
    any_move,
    integer,
    within,
)

if TYPE_CHECKING:
    import numpy as np

OPTIONS = {
    "Temperature": "temperature",
    "TopP": "top_p",
    "Walk": "walk",
    "Underpromotions": "underpromotions",
    "ValueHead": "value_head",
    "Plies": "plies",
    "Seed": "seed",
}
"""Options of UCI by the settings of a style that they are."""
SEED_MAX = (1 << 31) - 1  # GUIs keep spins in 32 bits


class PolicyUci(Conversation):
    """A conversation with a policy.

    Parameters
    ----------
    file : path
        The policy.
    """

    def __init__(self, file: Path, output: TextIO = sys.stdout) -> None:
        super().__init__(output)
        self._file = file
        self._mover: Any = None
        self._chosen: dict[str, Any] = {}  # settings of its style
        self._multipv, self._shows_wdl = 1, True
        self.options = (
            "option name Temperature type string default 0",
            "option name TopP type string default 1",
            f"option name MultiPV type spin default 1 min 1 max {MULTIPV_MAX}",
            "option name Walk type check default false",
            "option name Underpromotions type check default false",
            "option name Plies type spin default 0 min 0 max 1",
            "option name ValueHead type check default true",
            f"option name Seed type spin default 1 min 0 max {SEED_MAX}",
            "option name UCI_ShowWDL type check default true",
            "option name PolicyFile type string default <empty>",
            "option name Ponder type check default false",
            THREADS,
        )

    def _load(self) -> None:
        if self._mover is None:
            with announced(lambda: self._say(f"info string {COMPILING}")):
                self._mover = self._made(self._file, self._chosen)
                # Compiled now, not on the clock of the first move.
                position = self._current()[-1] if self._game else None
                if position is not None:
                    self._mover.ranked(position, [])

    def _made(self, file: Path, chosen: dict[str, Any]) -> Any:
        mover = import_module("nnuelab.policy.mover")
        policy = import_module("nnuelab.policy.policyfile").read_policy(file)
        return mover.Mover(policy, mover.Style(**chosen))

    def _set_option(self, name: str, value: str) -> None:
        settings = {option.lower(): setting for option, setting in OPTIONS.items()}
        if name == "multipv":
            self._multipv = within(value, "MultiPV", 1, MULTIPV_MAX)
        elif name == "uci_showwdl":
            self._shows_wdl = _checked(value, "UCI_ShowWDL")
        elif name == "policyfile":
            if value not in ("", "<empty>"):
                self._mover = self._made(Path(value), self._chosen)
                self._file = Path(value)
        elif name in settings:
            self._set_style({**self._chosen, settings[name]: read_setting(settings[name], value)})
        elif name != "ponder":
            raise ValueError(f"no option {name!r}")

    def _set_style(self, chosen: dict[str, Any]) -> None:
        style = import_module("nnuelab.policy.mover").Style
        default = style()
        told = {f.name: chosen.get(f.name, getattr(default, f.name)) for f in fields(style)}
        made = replace(default, **told)  # raises before anything is changed
        if self._mover is not None:
            self._mover.style = made
        self._chosen = chosen

    def _begin(self, words: list[str]) -> None:
        go, moves = self._read_go(words)
        self._load()
        positions = self._current()
        self._is_limited, self._is_pondering = not go.infinite and not go.ponder, go.ponder
        self._may_answer.clear()
        if self._is_limited:
            self._may_answer.set()

        def think() -> None:
            position = positions[-1]
            keys = [int(p["key"]) for p in positions[:-1]]
            began = time.perf_counter()
            try:
                ranked = self._mover.ranked(position, keys, self._multipv, moves or None)
            except Exception as error:
                self._say(f"info string error: the policy failed: {error!r}")
                self._say(f"bestmove {any_move(position)}")
                return
            self._tell(position, ranked, int((time.perf_counter() - began) * 1000))
            self._may_answer.wait()
            self._say(f"bestmove {_told(ranked[0].move) if ranked else '(none)'}")

        self._think(think)

    def _tell(self, position: np.void, ranked: list[Any], ms: int) -> None:
        depth = self._mover.style.plies
        for number, candidate in enumerate(ranked, 1):
            score = ""
            if candidate.mates:
                score = " score mate 1"
            elif candidate.value is not None:
                score = f" score cp {candidate.centipawns}"
            if score and self._shows_wdl:
                score += " wdl " + " ".join(map(str, candidate.wdl))
            self._say(
                f"info depth {depth} multipv {number}{score} nodes {candidate.nodes} time {ms} "
                f"pv {_told(candidate.move)} string probability {candidate.probability:.6f}"
            )
        if not ranked:
            self._say(f"info depth 0 score {'mate 0' if position['checkers'] else 'cp 0'}")


def _told(move: int) -> str:
    from nnuelab.chess import notation

    return notation.move_to_uci(move)


def read_setting(setting: str, text: str) -> Any:
    """A setting of a style from text; ValueError when it isn't one of its kind."""
    if setting in ("walk", "underpromotions", "value_head"):
        return _checked(text, setting)
    if setting in ("plies", "seed"):
        return integer(text, setting)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{setting} needs a number, not {text!r}") from None


def _checked(text: str, name: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{name} is true or false, not {text!r}")
    return text.lower() == "true"
