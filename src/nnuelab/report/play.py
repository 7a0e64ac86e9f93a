"""A game against a policy in a browser: what it thinks of a line of moves, and what it chooses.

Nothing is kept between questions: each has the whole line, which the rules of chess need.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.chess import notation, outcome
from nnuelab.chess.moves import MAX_MOVES, make
from nnuelab.chess.position import POSITION
from nnuelab.chess.san import sans
from nnuelab.engine.policy_uci import OPTIONS, read_setting
from nnuelab.errors import UserError
from nnuelab.policy import maps
from nnuelab.policy.maps import Maps
from nnuelab.policy.mover import Candidate, Mover, Style, walked
from nnuelab.policy.policyfile import Policy, read_policy
from nnuelab.report import document
from nnuelab.tournament import adjudication

LONGEST = 600  # half-moves of a game
LONGEST_FEN = 120  # characters
DIGITS = 6  # of probabilities, after the point
ASKED = ("policy", "fen", "moves", *OPTIONS.values())
WALKED = ("from_rank", "to_rank", "tries", "checks")


def gather(folder: Path, named: Iterable[Path]) -> tuple[dict[str, Policy], list[str]]:
    """Policies by name, and what is wrong with others.

    Parameters
    ----------
    folder : Path
        ``results``; a policy there that can't be read is a problem.
    named : iterable of Path
        Others, which have to be readable; they come first.
    """
    found, problems = {str(path): read_policy(path) for path in named}, []
    for kind, place in (("", "nets"), ("selfplay-", "selfplay")):
        for path in sorted(folder.glob(f"policy/{place}/*/*/net.policy")):
            try:
                found[f"{kind}{path.parts[-3]}#{path.parts[-2]}"] = read_policy(path)
            except UserError as error:
                problems.append(str(error))
    return found, problems


class Opponents:
    """Policies to play against; they think one at a time.

    Parameters
    ----------
    policies : dict of str to Policy
        By name; the first is the one that is played when none is asked for.
    """

    def __init__(self, policies: Mapping[str, Policy]) -> None:
        self._policies = policies
        self._mover: tuple[str, Mover] | None = None  # one: large policies would add up
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """Of the policies."""
        return list(self._policies)

    @cached_property
    def page(self) -> bytes:
        """The board, and all that is beside it."""
        return document.html(
            "play/play.html",
            styles=["page/page.css", "play/play.css"],
            scripts=["page/base.js", "page/boards.js", "page/squares.js", "play/play.js"],
            policies={
                name: {"value": policy.has_value, "told": _told(policy)}
                for name, policy in self._policies.items()
            },
            starting_fen=notation.STARTING_FEN,
        ).encode()

    def choose(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """A position, and what a policy would play in it, as JSON.

        Parameters
        ----------
        asked : dict of str to str
            ``fen``, where the game began, and ``moves`` since then by UCI, with spaces between;
            ``policy``, its name; settings of its style.

        Raises
        ------
        UserError
            When something can't be read or played, or the game was over before its last move.
        """
        if unknown := sorted(asked.keys() - set(ASKED)):
            raise UserError(f"{unknown[0]!r} is none of {', '.join(ASKED)}")
        style = _style({name: asked[name] for name in OPTIONS.values() if name in asked})
        name = asked.get("policy") or next(iter(self._policies))
        if name not in self._policies:
            raise UserError(f"there is no policy {name!r}; there are {', '.join(self._policies)}")
        line, moves, end = follow(asked.get("fen", ""), asked.get("moves", "").split())
        position = line[-1]
        found = {
            "fen": notation.to_fen(position),
            "turn": "wb"[position["turn"]],
            "check": bool(position["checkers"]),
            "sans": sans(line, moves),
            "end": None,
            "moves": [],
        }
        if end != outcome.ONGOING:
            result, reason, _ = adjudication.told(end, int(position["turn"]))
            return {**found, "end": {"result": result, "reason": reason}}
        with self._lock:
            mover = self._mover_of(name, style)
            ranked = mover.ranked(position, line["key"][:-1], MAX_MOVES)
            activations = mover.activations(position)
        loss, turn = self._policies[name].loss, int(position["turn"])
        walk = walked(position, activations)
        others = set(notation.moves_of(position)) - {found.move for found in ranked}
        return {
            **found,
            "moves": [_candidate(position, candidate) for candidate in ranked]
            + [{"move": notation.move_to_uci(move)} for move in sorted(others)],
            "wdl": ranked[0].wdl,
            "mates": ranked[0].mates,
            "maps": {
                "legal": _rounded(
                    maps.of_moves([c.move for c in ranked], [c.probability for c in ranked])
                ),
                "raw": _rounded(maps.of_outputs(activations, loss, turn)),
            },
            "walk": {
                "san": _san(position, int(walk["move"])),
                **{counter: int(walk[counter]) for counter in WALKED},
            },
        }

    def _mover_of(self, name: str, style: Style) -> Mover:
        if self._mover is None or self._mover[0] != name:
            self._mover = name, Mover(self._policies[name])
        mover = self._mover[1]
        mover.style = style
        return mover


def follow(fen: str, moves: Sequence[str]) -> tuple[np.ndarray, list[int], int]:
    """A game as far as it was played.

    Parameters
    ----------
    fen : str
        Where it began.
    moves : sequence of str
        By UCI.

    Returns
    -------
    positions : POSITION [n + 1]
    moves : list of int [n]
    end : int
        `outcome.outcome` of the last position.

    Raises
    ------
    UserError
        When a move isn't legal, or the game was over before it.
    """
    if len(moves) > LONGEST:
        raise UserError(f"{len(moves)} half-moves are more than {LONGEST}; begin a new game")
    line, keys = np.zeros(len(moves) + 1, POSITION), np.zeros(len(moves) + 1, np.uint64)
    played: list[int] = []
    line[0] = notation.from_fen(fen_of(fen))
    keys[0] = line[0]["key"]
    for ply in range(len(moves) + 1):
        end = outcome.outcome(line, keys, ply, len(notation.moves_of(line[ply])))
        if ply == len(moves):
            break
        if end != outcome.ONGOING:
            reason = adjudication.told(end, int(line[ply]["turn"]))[1]
            raise UserError(f"the game was over before {moves[ply]!r}: {reason}")
        try:
            played.append(notation.parse_uci(line[ply], moves[ply]))
        except ValueError as error:
            raise UserError(str(error)) from None
        make(line[ply], line[ply + 1], played[ply])
        keys[ply + 1] = line[ply + 1]["key"]
    return line, played, int(end)


def fen_of(text: str) -> str:
    """A FEN of a request, in one line; UserError when there is none, or it is too long."""
    fen = " ".join(text.split())
    if not fen or len(fen) > LONGEST_FEN:
        raise UserError(f"give a FEN of at most {LONGEST_FEN} characters, as fen=")
    return fen


def _style(settings: Mapping[str, str]) -> Style:
    try:
        return Style(**{name: read_setting(name, text) for name, text in settings.items()})
    except ValueError as error:
        raise UserError(str(error)) from None


def _told(policy: Policy) -> str:
    layers = "-".join(map(str, policy.sizes)) or "no hidden layer"
    return f"{policy.feature_set}, {layers}, head {policy.head}, loss {policy.loss}"


def _candidate(position: np.void, candidate: Candidate) -> dict[str, Any]:
    value = candidate.value
    return {
        "move": notation.move_to_uci(candidate.move),
        "san": _san(position, candidate.move),
        "probability": round(candidate.probability, DIGITS),
        "value": None if value is None else round(value, DIGITS),
    }


def _san(position: np.void, move: int) -> str:
    return sans(np.array([position, notation.after(position, move)]), [move])[0]


def _rounded(found: Maps) -> dict[str, Any]:
    """As JSON: ``from``, and ``to`` by the square to go from, None where none is gone to."""
    goals = np.round(found.goal, DIGITS).tolist()
    rows = [None if math.isnan(row[0]) else row for row in goals]
    return {"from": np.round(found.start, DIGITS).tolist(), "to": rows}
