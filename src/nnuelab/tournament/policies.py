"""Players that are policies: by their probabilities, by the walk, or with one ply of search."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from nnuelab.engine.policy_uci import OPTIONS, SEED_MAX
from nnuelab.errors import UserError
from nnuelab.policy.mover import Mover, Style
from nnuelab.policy.policyfile import read_policy
from nnuelab.tournament.game import Answer, Line
from nnuelab.tournament.limits import Limit, Turn
from nnuelab.tournament.players import Defaults

SETTINGS = tuple(setting.name for setting in fields(Style))


class PolicyPlayer:
    """A policy in this process."""

    def __init__(self, mover: Mover) -> None:
        self._mover = mover

    def new_game(self) -> None:
        """There is nothing to forget: what is drawn depends on the seed and the position alone."""

    def search(self, line: Line, turn: Turn) -> Answer:
        """Its move, whatever the limit."""
        found = self._mover.ranked(line.position, line.history)[0]
        mate = 1 if found.mates else None
        return Answer(found.move, found.centipawns, mate, self._mover.style.plies, found.nodes)

    def close(self) -> None:
        """Nothing runs outside of this process."""


@dataclass(frozen=True)
class PolicyEntrant:
    """A policy with a style; limits change nothing of what it plays."""

    file: Path
    limit: Limit
    style: Style = field(default_factory=Style)

    def start(self) -> PolicyPlayer:
        """A player, with its kernels loaded."""
        return PolicyPlayer(Mover(read_policy(self.file), self.style))

    def files(self) -> dict[str, Path]:
        """The policy's."""
        return {"policy": self.file}

    def settings(self) -> dict[str, Any]:
        """Limit and style."""
        return {"policy": str(self.file), **asdict(self.style), **self.limit.told()}

    def as_engine(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """`nnuelab uci --policy` in a process of its own."""
        if self.style.seed > SEED_MAX:
            raise UserError(f"only --runner own plays with a seed above {SEED_MAX}")
        style = asdict(self.style)
        default = asdict(Style())
        options = {
            option: _told(style[setting])
            for option, setting in OPTIONS.items()
            if style[setting] != default[setting]
        }
        command = (sys.executable, "-m", "nnuelab.cli", "uci", "--policy")
        return (*command, str(self.file.resolve())), options


def _told(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def entrant(settings: Mapping[str, Any], limit: Limit, defaults: Defaults) -> PolicyEntrant:
    """A policy with its style; UserError for a style that can't be."""
    file = Path(str(settings["policy"]))
    if not os.path.isfile(file):
        raise UserError(f"there is no policy {file}")
    given = {name: settings[name] for name in SETTINGS if settings.get(name) is not None}
    return PolicyEntrant(file, limit, Style(**given))
