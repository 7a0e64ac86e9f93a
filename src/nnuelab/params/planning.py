"""An experiment before it is made: what it will tell, and the plan of least time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.params.entries import Entry, Plan
from nnuelab.params.experiments import kind_at, plan_of
from nnuelab.params.minutes import minutes
from nnuelab.params.models import GAMES, Params, Tournament
from nnuelab.tournament import power
from nnuelab.tournament.power import Design, Forecast
from nnuelab.tournament.spread import Pooling, Spread
from nnuelab.tournament.words import Format
from nnuelab.tournament.yardsticks import Yardstick


@dataclass(frozen=True)
class Planner:
    """What a forecast is made from.

    Attributes
    ----------
    params : Params
    known : sequence of Spread
        Of experiments that were made.
    draws : float
        Share of the games between equals that are drawn.
    training_sd : float or None
        Standard deviation of trainings to assume, rating points; None: as known.
    cores : int
    speed : mapping of str to float
        See `minutes.measured`.
    assumed : set of str
        Kinds of games, met so far, of which no experiment tells how far trainings scatter.
    """

    params: Params
    known: Sequence[Spread]
    draws: float
    training_sd: float | None
    cores: int
    speed: Mapping[str, float]
    assumed: set[str] = field(default_factory=set)

    def hours(self, plan: Plan) -> float:
        """From nothing to the table."""
        return minutes(plan, self.cores, self.speed) / 60

    def pooling(self, name: str, plan: Plan, yardstick: Yardstick) -> Pooling:
        """What the table of an experiment will pool."""
        kind = kind_at(self.params, plan.tournament, yardstick)
        return Pooling(name, kind, plan.groups, self.known)

    def training(self, pooling: Pooling) -> float:
        """The variance of trainings to expect; raises UserError where nothing is known."""
        if self.training_sd is not None:
            return self.training_sd**2
        found = power.expected_spread(pooling)
        if not found.information:
            self.assumed.add(pooling.kind)
        return found.variance

    def forecast(self, name: str, plan: Plan, yardstick: Yardstick) -> Forecast:
        """What the games of an experiment at a yardstick will tell; raises UserError."""
        pooling = self.pooling(name, plan, yardstick)
        return power.forecast(self._design(plan, yardstick), pooling, self.training(pooling))

    def cheapest(
        self, name: str, plan: Plan, detect: float, seeds: Iterable[int], *, primary: bool
    ) -> Plan:
        """The plan of least time that will find a difference of ``detect`` at each yardstick.

        Seeds and games differ from those of ``plan``; games alike set by one setting have the
        larger number.

        Raises
        ------
        UserError
            Where none of the numbers of ``seeds`` suffices.
        """
        best: Plan | None = None
        for number in seeds:
            tried = replace(plan, seeds=list(range(1, number + 1)))
            needed: dict[Yardstick, int] = {}
            for yardstick in plan.tournament.yardsticks:
                pooling = self.pooling(name, plan, yardstick)
                games = power.games_needed(
                    self._design(tried, yardstick),
                    pooling,
                    self.training(pooling),
                    detect,
                    primary=primary,
                )
                if games is None:
                    break
                needed[yardstick] = games
            else:
                found = with_games(tried, needed)
                # With more seeds games get fewer at first; then the nets cost more than they save.
                if best is not None and self.hours(found) >= self.hours(best):
                    break
                best = found
        if best is None:
            raise UserError(
                f"no number of games finds {detect:g} Elo with these seeds: trainings scatter too "
                "much; plan more seeds, or a larger difference"
            )
        return best

    def _design(self, plan: Plan, yardstick: Yardstick) -> Design:
        sets = list(dict.fromkeys(str(entry.name) for entry in plan.entries))
        games = plan.tournament.games_at(yardstick)
        format = Format(plan.tournament.format)
        return Design(sets, plan.anchor, len(plan.seeds), games, self.draws, format)


def with_games(plan: Plan, games: Mapping[Yardstick, int]) -> Plan:
    """A plan with other numbers of games of a pairing."""
    changes: dict[str, int] = {}
    for yardstick, number in games.items():
        changes[GAMES[yardstick]] = max(number, changes.get(GAMES[yardstick], 0))
    return replace(plan, tournament=plan.tournament.model_copy(update=changes))


def of_sets(params: Params, sets: int) -> Plan:
    """A plan of so many sets, as large as ALL, with the settings of ``params`` and two seeds."""
    entry = partial(Entry, folder="", train=params.train, quantize=params.quantize, start=None)
    names = [NetName("ALL", str(number)) for number in range(1, sets + 1)]
    entries = [entry(name) for name in names]
    tournament: Tournament = params.tournament
    return plan_of(params, entries, [1, 2], str(names[0]), tournament, {})
