"""From params to plans: which nets an experiment has, and what is wrong with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from nnuelab.errors import nearest
from nnuelab.names import NetName
from nnuelab.nnue.layers import USUAL
from nnuelab.params.entries import Entry, Plan
from nnuelab.params.models import (
    Experiment,
    Params,
    Quantize,
    Section,
    Tournament,
    Train,
    given,
)
from nnuelab.params.sections import AUTO
from nnuelab.settings import found as found_settings
from nnuelab.settings.label import Labelling
from nnuelab.settings.presets import expanded
from nnuelab.settings.quantize import Quantization
from nnuelab.settings.sample import Sampling
from nnuelab.settings.train import Training
from nnuelab.tournament.yardsticks import Yardstick

HARDWARE = ("device", "threads", "parts")
NO_DESIGN = (*HARDWARE, "sprt")  # what no game of the table depends on
Kind = TypeVar("Kind", bound=Section)

# What learning_rate: auto chooses from by default, as multiples of that of the section train.
RATES = (0.25, 0.5, 1, 2)

FINDING_SEED = 0  # of nets that find a setting, which takes no part in games

STUDY_LAYERS = {**USUAL, "fake_quantize_epochs": 0}


def fixed(params: Params, name: str) -> dict[str, Any]:
    """What an experiment fixes before its games, as JSON: its hypothesis, and a hash of all of it.

    The hash covers the hypothesis and the design: sets, trainings, seeds, games, and the settings
    of data, samples, labels, training and quantization.
    """
    experiment = params.experiments[name]
    sections = ("data", "sample", "label", "train", "quantize", "tournament")
    asked_for = experiment.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for variant, changes in asked_for.get("variants", {}).items():
        asked_for["variants"][variant] = expanded(changes)
    asked_for.pop("question", None)  # words, which change nothing
    games = asked_for.pop("tournament", {})
    if games := {key: value for key, value in games.items() if key not in NO_DESIGN}:
        asked_for["tournament"] = games
    unused = {"tournament": params.tournament.unused}
    design = {
        "experiment": asked_for,
        **{
            each: getattr(params, each).model_dump(
                mode="json", by_alias=True, exclude={*NO_DESIGN, *unused.get(each, ())}
            )
            for each in sections
        },
    }
    asked = experiment.hypothesis
    return {
        "hypothesis": asked and asked.model_dump(mode="json", by_alias=True),
        "sha256": hashlib.sha256(json.dumps(design, sort_keys=True).encode()).hexdigest(),
    }


def default_experiment(params: Params) -> str:
    """What is made without a target: axis, or else the first one.

    Of others no order is sure: to Snakemake those of an overlay come first.
    """
    return "axis" if "axis" in params.experiments else next(iter(params.experiments))


def _kind(params: Params, limit: str) -> str:
    """Of games at a limit, ``nodes 400``: with the settings of training that aren't the defaults.

    Where these are the same, equal trainings scatter by as much.
    """
    ours: dict[str, tuple[Any, Any]] = {
        "sample": (params.sample, Sampling()),
        "label": (params.label, Labelling()),
        "train": (params.train, Training()),
        "quantize": (params.quantize, Quantization()),
    }
    changed = [
        f"{name}.{field.name} {getattr(section, field.name)}"
        for name, (section, default) in ours.items()
        for field in fields(default)
        if field.name not in HARDWARE
        and getattr(section, field.name) != getattr(default, field.name)
    ]
    source = [] if params.data.source == "embedded" else [params.data.source]
    return ", ".join([limit, *source, *changed])


def kind_at(params: Params, tournament: Tournament, yardstick: Yardstick) -> str:
    """The kind of an experiment's games at a yardstick."""
    nodes = tournament.nodes_at(yardstick)
    if nodes is None:
        return _kind(params, f"movetime {tournament.movetime:g}")
    # At equal cost, too: a set's nets differ as much with somewhat fewer nodes.
    return _kind(params, f"nodes {nodes}")


def plan_of(
    params: Params,
    entries: list[Entry],
    seeds: list[int],
    anchor: str,
    tournament: Tournament,
    groups: dict[str, str],
    imported: Mapping[str, str] | None = None,
) -> Plan:
    """A plan with what its nets learn from, as ``params`` say."""
    selfplay = params.selfplay if params.data.source == "selfplay" else None
    files = selfplay.generations * selfplay.parts if selfplay else len(params.data.games)
    sample = params.sample.model_copy(update={"parts": min(params.sample.parts, max(files, 1))})
    learnt = selfplay, sample, params.label
    is_labelled = params.data.source == "positions"
    plan = Plan(entries, seeds, anchor, tournament, groups, *learnt, params.puzzles, is_labelled)
    return replace(plan, imported=imported or {})


def plans(params: Params, mistakes: list[str] | None = None) -> dict[str, Plan]:
    """The plan of each experiment; what is wrong with one is added to ``mistakes``."""
    told = [] if mistakes is None else mistakes
    found = {}
    meanings: dict[str, tuple[str, _Variant]] = {}
    for name, experiment in params.experiments.items():
        path = f"experiments.{name}"
        variants = _sized(path, experiment, params, _variants(path, experiment, params, told), told)
        for variant, meant in variants.items():
            first, known = meanings.setdefault(variant, (path, meant))
            if known != meant:
                told.append(
                    f"{path}.variants.{variant}: means other settings than in {first}; give it "
                    "another name"
                )
        entries = [
            entry
            for feature_set in experiment.feature_sets
            for variant, meant in variants.items()
            if not (entry := meant.entry(params, feature_set, variant, variants)).repeats_anchor
        ]
        tournament = params.tournament
        try:
            tournament = _overridden(tournament, given(experiment.tournament))
        except ValidationError as error:
            told += _lines(f"{path}.tournament", error)
        groups = {entry: group for group, sets in experiment.spreads.items() for entry in sets}
        found[name] = plan_of(
            params,
            entries,
            experiment.seeds,
            experiment.anchor,
            tournament,
            groups,
            experiment.nets,
        )
        told += _imported(path, found)
        told += _nonsense(path, experiment, found[name])
    told += _beyond_the_scheme(found.values())
    told += [
        f"report: there is no experiment {name}{nearest(name, found)}"
        for name in params.report
        if name not in found
    ]
    return found


@dataclass(frozen=True)
class _Variant:
    """Settings of a variant.

    ``begins_with`` is another one, whose checkpoint it starts from, ``auto`` the settings that are
    found before training, ``rates`` and ``like`` as in `Entry`.
    """

    train: Train
    quantize: Quantize
    begins_with: str | None = None
    auto: frozenset[str] = frozenset()
    rates: tuple[float, ...] = ()
    like: Entry | None = None

    def folder(self, params: Params, feature_set: str, name: str) -> str:
        """Below results/nets; that of the sections alone where nothing is changed."""
        settings = (self.train, self.quantize, self.auto)
        shared = settings == (params.train, params.quantize, frozenset())
        return NetName(feature_set, "" if shared else name).folder

    def entry(
        self, params: Params, feature_set: str, name: str, others: Mapping[str, _Variant]
    ) -> Entry:
        if self.begins_with is not None and self.begins_with in others:
            folder = others[self.begins_with].folder(params, feature_set, self.begins_with)
            start: str | None = f"<results>/nets/{folder}/{{seed}}/checkpoint.pt"
        else:
            start = self.train.from_ and self.train.from_.replace(
                "{name}", NetName(feature_set).folder
            )
        return Entry(
            NetName(feature_set, name),
            self.folder(params, feature_set, name),
            self.train,
            self.quantize,
            start,
            self.like,
            self.rates,
        )


def _variants(
    path: str, experiment: Experiment, params: Params, mistakes: list[str]
) -> dict[str, _Variant]:
    """What the variants of an experiment mean, by name."""
    found: dict[str, _Variant] = {}
    for name, changed in experiment.overrides.items():
        place = f"{path}.variants.{name}" if experiment.variants else f"{path}.grid"
        start = changed.get("from")
        # A checkpoint is a file, whose name has a suffix or a folder.
        named = start if start and start.isidentifier() else None
        if named and named not in experiment.variants:
            mistakes.append(
                f"{place}.from: {named} is neither a variant of this experiment nor a "
                f"checkpoint file{nearest(named, experiment.variants)}"
            )
        auto = frozenset(key for key in found_settings.COMMANDS if changed.get(key) == AUTO)
        rates = changed.get("rates")
        if "learning_rate" in auto:
            rates = rates or [params.train.learning_rate * share for share in RATES]
        elif rates:
            mistakes.append(f"{place}.rates: is for learning_rate: auto alone; put null there")
        changed = {key: value for key, value in changed.items() if key not in auto}
        try:
            train = _overridden(params.train, changed)
            meant = _Variant(
                train, _overridden(params.quantize, changed), named, auto, tuple(rates or [])
            )
        except ValidationError as error:
            mistakes += _lines(place, error)
            continue
        if same := [other for other, known in found.items() if known == meant]:
            mistakes.append(
                f"{place}: means the same settings as {same[0]}, and its nets would play against "
                "themselves; leave one out"
            )
        found[name] = meant
    mistakes += _circles(path, found)
    return found


def _sized(
    path: str,
    experiment: Experiment,
    params: Params,
    variants: dict[str, _Variant],
    mistakes: list[str],
) -> dict[str, _Variant]:
    """Variants, those with l1: auto with the anchor that they are to cost as much as."""
    sized = {name for name, meant in variants.items() if "l1" in meant.auto}
    for name, meant in variants.items():
        if len(meant.auto) > 1:
            mistakes.append(
                f"{path}: {name}: l1 and learning_rate can't both be auto; find the sizes first, "
                "and name them"
            )
        if "learning_rate" in meant.auto and FINDING_SEED in experiment.seeds:
            mistakes.append(
                f"{path}.seeds: seed {FINDING_SEED} chooses the learning rate of {name}, so its "
                "nets would play with an advantage; take another seed"
            )
        if (name in sized and meant.train.from_) or meant.begins_with in sized:
            mistakes.append(
                f"{path}: {name}: nets with l1: auto can neither begin with another one nor be "
                "what one begins with; leave out from"
            )
    anchor = NetName.parse(experiment.anchor)
    if anchor.variant in sized:
        mistakes.append(
            f"{path}.anchor: {anchor} has l1: auto, which is for others to cost as much as the "
            "anchor; choose one with a size of its own"
        )
    elif sized and anchor.variant in variants:
        like = variants[anchor.variant].entry(params, anchor.feature_set, anchor.variant, variants)
        for name in sized:
            train = variants[name].train.model_copy(update={"l1": like.train.l1})
            variants[name] = replace(variants[name], train=train, like=like)
    return variants


def _beyond_the_scheme(plans: Collection[Plan]) -> Iterable[str]:
    """Nets that their scheme has no integers for."""
    wrong = {
        setting
        for plan in plans
        for entry in plan.entries
        if entry.quantize.scheme == "study"
        for setting, plain in STUDY_LAYERS.items()
        if getattr(entry.train, setting) != plain
    }
    if wrong:
        asked = ", ".join(
            f"{name}: {str(plain).lower()}" for name, plain in STUDY_LAYERS.items() if name in wrong
        )
        yield f"quantize.scheme: study is for nets N -> M x2 -> O -> 1 alone; it needs {asked}"
    entries = [entry for plan in plans for entry in plan.entries if not entry.train.l2]
    for scheme in sorted({str(entry.quantize.scheme) for entry in entries} & {"int8", "study"}):
        yield f"quantize.scheme: {scheme} is for nets with a second layer; l2: 0 needs fine"


def _circles(path: str, variants: Mapping[str, _Variant]) -> Iterable[str]:
    """Variants that begin with each other, each circle once."""
    done: set[str] = set()
    for first in variants:
        way = [first]
        while (name := variants[way[-1]].begins_with) and name in variants and name not in way:
            way.append(name)
        if name and name in way and not done & set(way):
            circle = [*way[way.index(name) :], name]
            yield f"{path}.variants.{name}.from: goes in a circle: {' from '.join(circle)}"
        done |= set(way)


def _imported(path: str, plans: Mapping[str, Plan]) -> Iterable[str]:
    """Nets of the last of these plans that would lie where others lie."""
    *others, plan = plans.values()
    for name, file in plan.imported.items():
        place = f"{path}.nets.{name}"
        if any(name == str(entry.name) for known in plans.values() for entry in known.entries):
            yield f"{place}: nets of that name are trained; give it another name"
        elif any(known.imported.get(name, file) != file for known in others):
            yield f"{place}: another experiment has another net of that name"


def _nonsense(path: str, experiment: Experiment, plan: Plan) -> Iterable[str]:
    """Plans that can't be played or rated."""
    names = list(dict.fromkeys([*(str(entry.name) for entry in plan.entries), *plan.imported]))
    if plan.anchor not in names:
        kind = "variants" if experiment.variants or given(experiment.grid) else "feature sets"
        yield f"{path}.anchor: {plan.anchor} is none of the {kind}: {'; '.join(names)}"
    for group, sets in experiment.spreads.items():
        for entry in sets:
            if entry not in names:
                yield (f"{path}.spreads.{group}: {entry} is none of the sets: {'; '.join(names)}")
            elif plan.groups[entry] != group:
                yield f"{path}.spreads.{group}: {entry} is in {plan.groups[entry]}, too; choose one"
    asked = experiment.hypothesis
    if asked is not None:
        if asked.set not in names or asked.set == plan.anchor:
            others = "; ".join(name for name in names if name != plan.anchor)
            yield f"{path}.hypothesis.set: {asked.set} must be one of the other sets: {others}"
        columns = [yardstick.column for yardstick in plan.tournament.yardsticks]
        if asked.column not in columns:
            yield (
                f"{path}.hypothesis.column: no games are played for {asked.column}; there are "
                f"{', '.join(columns)}"
            )
    if len(plan.players) == 1:
        yield (
            f"{path}: one feature set with one seed is a single player; a tournament needs two: "
            "add a feature set, a seed or a variant"
        )


def _overridden(section: Kind, changed: Mapping[str, Any]) -> Kind:
    """A section with some of its settings changed; others are left alone."""
    values = section.model_dump(by_alias=True)
    mine = {key: value for key, value in changed.items() if key in values}
    return type(section).model_validate({**values, **mine})


def _lines(path: str, error: ValidationError) -> list[str]:
    """Settings that are right alone and wrong together."""
    return [f"{path}: {mistake['msg'].removeprefix('Value error, ')}" for mistake in error.errors()]
