"""The section ``policy`` of ``params.yaml``: policies that learn from games, and from their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from nnuelab.errors import nearest
from nnuelab.params.sections import (
    CountOrZero,
    Even,
    Name,
    Section,
    Seeds,
    each_once,
    given,
    overrides,
    section,
)
from nnuelab.settings.policy import PolicyTraining
from nnuelab.settings.policy_selfplay import METHODS
from nnuelab.tournament.words import BASELINES


class PolicyTrain(section(PolicyTraining)):  # type: ignore[misc]
    __doc__ = PolicyTraining.__doc__


class PolicyVariant(overrides("PolicyOverrides", PolicyTrain)):  # type: ignore[misc]
    """A policy: its features, and what it changes of policy.train."""

    feature_set: str
    """Its input, seen by the side to move."""


def _run(method: str) -> type[Section]:
    """What a run may change: all settings of its method but the seed."""
    return overrides("RunOverrides", section(*METHODS[method]), without="seed")


class SeedRun(_run("seed")):  # type: ignore[misc]
    """Changes to the defaults of `nnuelab policy selfplay seed`."""

    method: Literal["seed"]
    """How it learns."""


class GradientRun(_run("gradient")):  # type: ignore[misc]
    """Changes to the defaults of `nnuelab policy selfplay gradient`."""

    method: Literal["gradient"]
    """How it learns."""


class ExpertRun(_run("expert")):  # type: ignore[misc]
    """Changes to the defaults of `nnuelab policy selfplay expert`."""

    method: Literal["expert"]
    """How it learns."""


SelfplayRun = Annotated[SeedRun | GradientRun | ExpertRun, Field(discriminator="method")]


def _all_make_sense(what: str, names: Iterable[str], settings_of: Callable[[str], Section]) -> None:
    """Raises ValueError for the first one whose settings together can't be."""
    for name in names:
        try:
            settings_of(name)
        except ValidationError as error:
            told = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ValueError(f"{what}.{name}: {told}") from None


class PolicySelfplay(Section):
    """Policies that learn from their own games: results/policy/vs_random.csv."""

    runs: Annotated[dict[Name, SelfplayRun], Field(min_length=1)]
    """Runs by name, each with its method and what it changes of that method's settings:
    results/policy/selfplay/NAME."""
    seeds: Seeds
    """Of weights and games: each run learns with every seed."""
    policies: Annotated[list[Name], AfterValidator(each_once)]
    """Policies of policy.variants that play in the match, too."""
    opponents: Annotated[list[Name], Field(min_length=1), AfterValidator(each_once)]
    """Whom all of them meet: random, material, or runs, of which the first seed's policy plays."""
    games_per_pairing: Even
    """Even: each opening is played twice, with colours swapped."""

    @model_validator(mode="after")
    def _has_runs_that_make_sense(self) -> Self:
        _all_make_sense("runs", self.runs, self.settings_of)
        known = [*BASELINES, *self.runs]
        for name in self.opponents:
            if name not in known:
                raise ValueError(f"opponents: there is no {name}{nearest(name, known)}")
        for name in BASELINES:
            if name in self.runs:
                raise ValueError(f"runs.{name}: an opponent is called {name}; rename the run")
        return self

    def settings_of(self, name: str) -> Section:
        """All settings of a run, with those of its method that it leaves alone."""
        changes = given(self.runs[name])
        kinds = METHODS[changes.pop("method")]
        defaults = {key: value for kind in kinds for key, value in asdict(kind()).items()}
        return section(*kinds).model_validate(defaults | changes)


class Policies(Section):
    """Policies that learn the moves of games: results/policy_table.csv."""

    min_ply: CountOrZero
    """Half-moves played before a position, at least. The rest is as in sample, with any move."""
    max_positions: CountOrZero
    """Of the games, from the first one on; 0: all."""
    count: CountOrZero
    """Held-out positions that each policy is measured on; 0: all."""
    train: PolicyTrain
    """For every variant."""
    variants: Annotated[dict[Name, PolicyVariant], Field(min_length=1)]
    """Policies by name, each with what it changes of train: results/policy/nets/NAME."""
    seeds: Seeds
    """Of training; two or more show the spread between trainings."""
    selfplay: PolicySelfplay

    @model_validator(mode="after")
    def _has_variants_that_make_sense(self) -> Self:
        _all_make_sense("variants", self.variants, self.settings_of)
        for name in self.selfplay.policies:
            if name not in self.variants:
                near = nearest(name, self.variants)
                raise ValueError(f"selfplay.policies: there is no variant {name}{near}")
            if name in self.selfplay.runs:
                raise ValueError(f"selfplay: a run and a policy are called {name}; rename the run")
        return self

    def settings_of(self, name: str) -> PolicyTrain:
        """What a variant is trained with."""
        changes = given(self.variants[name])
        del changes["feature_set"]
        return PolicyTrain.model_validate(self.train.model_dump() | changes)
