"""Players that are nets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import DEFAULT_NET
from nnuelab.tournament import own
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.players import Defaults

SETTINGS = own.SETTINGS


class NetEntrant(own.OwnEntrant):
    """This project's engine with a net."""

    kind, word, shipped = "net", "a net", DEFAULT_NET

    def evaluator(self) -> NetEvaluator:
        """The net."""
        return NetEvaluator(self.file)


def entrant(settings: Mapping[str, Any], limit: Limit, defaults: Defaults) -> NetEntrant:
    """A net with its options; UserError for others than an engine with a net has."""
    return own.own_entrant(NetEntrant, settings, limit, defaults)
