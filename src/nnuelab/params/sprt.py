"""Sequential tests of an experiment's nets against the anchor's: their settings, and who plays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.params.sections import Even, Section
from nnuelab.tournament.words import Model

Risk = Annotated[float, Field(gt=0, lt=0.5)]


class SequentialTest(Section):
    """Matches that end as soon as a test has decided: ./run results/sprt/EXPERIMENT.csv."""

    elo0: float
    """Null hypothesis: the net is this much stronger than the anchor's."""
    elo1: float
    """Alternative hypothesis."""
    alpha: Risk = 0.05
    """Chance of accepting elo1 if elo0 is true."""
    beta: Risk = 0.05
    """Chance of accepting elo0 if elo1 is true."""
    model: Model = Model.LOGISTIC
    """Kind of Elo of the hypotheses."""
    games: Even = 24000
    """At most; two for each opening of the book."""

    @model_validator(mode="after")
    def _can_be_tested(self) -> Self:
        from nnuelab.tournament.sprt import Sprt

        try:
            Sprt(self.elo0, self.elo1, self.alpha, self.beta, self.model)
        except UserError as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def options(self) -> list[str]:
        """Of `nnuelab tournament`."""
        numbers = (self.elo0, self.elo1, self.alpha, self.beta)
        test = ",".join(map(repr, numbers))
        return [f"--sprt={test}", f"--sprt-model={self.model}", f"--games-per-pairing={self.games}"]


def duels(players: Mapping[str, str], anchor: str) -> dict[str, tuple[str, str]]:
    """Who is tested against whom: each net of another set, and the anchor's of the same seed.

    Parameters
    ----------
    players : mapping of str to str
        Folder of the net of each player, ``NAME#SEED``.
    anchor : str
        ``SET`` or ``SET,VARIANT``. Where it has no net of that seed, its first one plays.

    Returns
    -------
    dict
        Player and opponent, by the folder of the player's net.
    """
    names = {player: NetName.parse(player) for player in players}
    anchors = {name.seed: player for player, name in names.items() if name.entry == anchor}
    first = next(iter(anchors.values()))
    return {
        players[player]: (player, anchors.get(name.seed, first))
        for player, name in names.items()
        if name.entry != anchor
    }
