"""Players that are hand-crafted evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nnuelab.hce.evaluation import DEFAULT
from nnuelab.hce.evaluator import HceEvaluator
from nnuelab.tournament import own
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.players import Defaults

SETTINGS = own.SETTINGS


class HceEntrant(own.OwnEntrant):
    """This project's engine with a hand-crafted evaluation."""

    kind, word, shipped = "hce", "an evaluation", DEFAULT

    def evaluator(self) -> HceEvaluator:
        """The evaluation."""
        return HceEvaluator(self.file)


def entrant(settings: Mapping[str, Any], limit: Limit, defaults: Defaults) -> HceEntrant:
    """An evaluation with its options; UserError for others than an engine with one has."""
    return own.own_entrant(HceEntrant, settings, limit, defaults)
