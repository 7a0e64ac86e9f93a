"""Reading settings: overlays, canonical names, and all mistakes at once."""

from __future__ import annotations

import os
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from nnuelab import files, yaml_text
from nnuelab.data.parallel import cores
from nnuelab.discovery.grammar import Grammar, check_hours
from nnuelab.errors import UserError, nearest, quoted
from nnuelab.names import NetName
from nnuelab.params import experiments, made
from nnuelab.params.models import Params, Search
from nnuelab.params.sections import Section, repeated
from nnuelab.settings import taken
from nnuelab.settings.policy_selfplay import METHODS
from nnuelab.settings.search import Searching

FILE = Path("params.yaml")


class ParamsError(UserError):
    """Every mistake in the settings, each with its dotted path."""

    def __init__(self, source: str, mistakes: Iterable[str]) -> None:
        self.mistakes = list(mistakes)
        number = len(self.mistakes)
        head = f"{source}: {number} mistake{'s' if number > 1 else ''}"
        super().__init__("\n  ".join([head, *self.mistakes]))


def read(path: Path | str = FILE, overlays: Iterable[Path | str] = ()) -> Params:
    """The settings of a file with overlays merged into it, later ones winning.

    Raises
    ------
    ParamsError
        With all mistakes at once.
    UserError
        A file is missing or is no YAML.
    """
    merged: dict[str, Any] = {}
    for place in (path, *overlays):
        merge(merged, _load(Path(place)))
    return validate(merged, " + ".join(str(place) for place in (path, *overlays)))


def found_experiments(path: Path | str) -> dict[str, Any]:
    """The experiments that a search has written, none before it has.

    Raises
    ------
    UserError
        For a file that is no YAML.
    """
    found = _load(Path(path)).get("experiments") if os.path.exists(path) else None
    return found if isinstance(found, dict) else {}


def check_names(paths: Iterable[Path | str]) -> None:
    """Checks that files of settings name nothing twice, for readers that don't look.

    Raises
    ------
    UserError
        With the line.
    """
    for path in paths:
        _load(Path(path))


def _load(path: Path) -> dict[str, Any]:
    try:
        value = yaml_text.load(files.content(path, files.SMALL))
    except FileNotFoundError:
        remedy = "check its name"
        if path == FILE:
            remedy = "run in the folder of a project (nnuelab new makes one)"
        raise UserError(f"there is no file {path}; {remedy}") from None
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}; name a file of settings") from error
    except yaml.YAMLError as error:
        place, problem = yaml_text.told(error)
        raise UserError(f"{path}{', ' if place else ''}{place}: {problem}") from error
    if not isinstance(value, dict):
        raise UserError(f"{path}: expected sections (data: ..., train: ...), found none")
    return value


def merge(base: dict[str, Any], overlay: Mapping[str, Any]) -> None:
    """Lays ``overlay`` over ``base`` in place: mappings merge, anything else replaces."""
    for key, value in overlay.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            merge(base[key], value)
        else:
            base[key] = value


def validate(settings: Mapping[str, Any], source: str = str(FILE)) -> Params:
    """Checks merged settings; feature sets come back in their canonical form.

    Raises
    ------
    ParamsError
        With all mistakes at once.
    """
    named, unknown = _canonical(settings)
    mistakes: list[str] = []
    try:
        params = Params.model_validate({**settings, **named})
        experiments.plans(params, mistakes)
        mistakes += made.mistakes(params)
        mistakes += [] if unknown else _of_search(params.search)
    except ValidationError as error:
        mistakes = [_line(dict(mistake)) for mistake in error.errors()]
    if mistakes + unknown:
        raise ParamsError(source, mistakes + unknown)
    return params


def _of_search(given: Search) -> Iterator[str]:
    """What would end a search before it begins: nothing is made for it in vain."""
    settings = taken(Searching, given)
    try:
        Grammar(settings)
        check_hours(settings, settings.positions, cores())
    except UserError as error:
        yield f"search.{error}"


def _canonical(settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The raw sections that name feature sets, with canonical names; what is wrong with the names.

    Works before the models do, so that a wrong block is told together with mistakes elsewhere.
    """
    from nnuelab import features
    from nnuelab.features import registry

    # A file that fails is told once and left out: otherwise every expression would fail for it.
    mistakes: list[str] = []
    try:
        registry.load()
    except UserError as error:
        mistakes.append(f"{registry.VARIABLE} in the environment: {error}")
        os.environ[registry.VARIABLE] = ""
    blocks = settings.get("blocks")
    for i, file in enumerate(blocks if isinstance(blocks, list) else []):
        before = os.environ.get(registry.VARIABLE, "")
        try:
            registry.add_files([str(file)] if file else [])
        except (UserError, OSError) as error:
            said = error.strerror if isinstance(error, OSError) else error
            mistakes.append(f"blocks[{i}]: {said}")
            os.environ[registry.VARIABLE] = before

    def name_of(expression: Any, path: str) -> Any:
        try:
            return features.parse(expression).name if isinstance(expression, str) else expression
        except UserError as error:
            mistakes.append(f"{path}: {error}")
            return expression

    sections: dict[str, Any] = {}
    selfplay = settings.get("selfplay")
    if isinstance(selfplay, Mapping) and "feature_set" in selfplay:
        name = name_of(selfplay["feature_set"], "selfplay.feature_set")
        sections["selfplay"] = {**selfplay, "feature_set": name}
    search = settings.get("search")
    if isinstance(search, Mapping):
        sections["search"] = found_names = dict(search)
        for key in ("terms", "factors"):
            if isinstance(texts := search.get(key), list):
                found_names[key] = [
                    name_of(text, f"search.{key}[{i}]") for i, text in enumerate(texts)
                ]
        if "anchor" in search:
            found_names["anchor"] = name_of(search["anchor"], "search.anchor")
    policy = settings.get("policy")
    if isinstance(policy, Mapping):
        policy = _with_names(policy, "variants", "feature_set", "policy", name_of)
        if isinstance(learning := policy.get("selfplay"), Mapping):
            learning = _with_names(learning, "runs", "features", "policy.selfplay", name_of)
            policy = {**policy, "selfplay": learning}
        sections["policy"] = policy
    raw = settings.get("experiments")
    if not isinstance(raw, Mapping):
        return sections, mistakes
    found: dict[str, Any] = {}
    sections["experiments"] = found
    for name, experiment in raw.items():
        path = f"experiments.{name}"
        found[name] = experiment
        if not isinstance(experiment, Mapping):
            continue
        sets, seeds = experiment.get("feature_sets"), experiment.get("seeds")
        anchor = experiment.get("anchor")
        alone = not experiment.get("variants") and not experiment.get("grid")

        nets = experiment.get("nets")
        nets = nets if isinstance(nets, Mapping) else {}

        def entry(name: Any, place: str, alone: bool = alone, nets: Any = nets) -> Any:
            told = NetName.parse(name) if isinstance(name, str) else None
            if alone and not (nets and told and told.variant):
                return name_of(name, place)
            if told and told.variant:
                return str(replace(told, feature_set=name_of(told.feature_set, place)))
            return name

        anchor = entry(anchor, f"{path}.anchor")
        if nets:
            named = {entry(key, f"{path}.nets.{key}"): file for key, file in nets.items()}
            experiment = {**experiment, "nets": named}
        asked = experiment.get("hypothesis")
        if isinstance(asked, Mapping) and "set" in asked:
            asked = {**asked, "set": entry(asked["set"], f"{path}.hypothesis.set")}
            experiment = {**experiment, "hypothesis": asked}
        if isinstance(sets, list):
            sets = [name_of(text, f"{path}.feature_sets[{i}]") for i, text in enumerate(sets)]
            if twice := repeated(sets):
                mistakes.append(f"{path}.feature_sets: {twice[0]} is listed twice")
        if isinstance(seeds, list) and (twice := repeated(seeds)):
            mistakes.append(f"{path}.seeds: {twice[0]} is listed twice")
        found[name] = {**experiment, "feature_sets": sets, "anchor": anchor}
    return sections, mistakes


def _with_names(
    section: Mapping[str, Any],
    entries: str,
    key: str,
    path: str,
    name_of: Callable[[Any, str], Any],
) -> Mapping[str, Any]:
    """A section whose ``entries``, by name, have a feature set at ``key``: in canonical form."""
    found = section.get(entries)
    if not isinstance(found, Mapping):
        return section
    named = {
        name: {**entry, key: name_of(entry[key], f"{path}.{entries}.{name}.{key}")}
        if isinstance(entry, Mapping) and key in entry
        else entry
        for name, entry in found.items()
    }
    return {**section, entries: named}


def _line(mistake: dict[str, Any]) -> str:
    """One mistake found by pydantic, with its dotted path and what to do."""
    place, known = _followed(mistake["loc"])
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".")
    if mistake["type"] == "extra_forbidden":
        names = [name.rstrip("_") for name in known]  # from_ is from
        hint = nearest(str(place[-1]), names) or f"; known are {', '.join(names)}"
        return f"{path}: unknown{hint}"
    if mistake["type"].startswith("union_tag"):
        return f"{path}: method must be one of {', '.join(METHODS)}"
    if mistake["type"] == "missing":
        return f"{path}: missing"
    text = mistake["msg"].removeprefix("Value error, ")
    text = text[0].lower() + text[1:]
    given = mistake["input"]
    shown = "" if isinstance(given, Mapping | list) else f", not {quoted(given)}"
    return f"{path}: {text}{shown}"


def _followed(place: Iterable[int | str]) -> tuple[list[int | str], Iterable[str]]:
    """A path without what pydantic adds for unions, and the fields of the section that it ends in.

    The word that tells the members of a union apart, such as ``method``, is a step of its own.
    """
    steps: list[int | str] = []
    kind: Any = Params
    last: Iterable[str] = ()
    for step in place:
        if typing.get_origin(kind) is typing.Annotated:
            members = typing.get_args(typing.get_args(kind)[0])
            kind = next((m for m in members if step in _words_of(m)), None)
            continue
        if typing.get_origin(kind) is typing.Union:
            continue
        steps.append(step)
        last = ()
        if isinstance(kind, type) and issubclass(kind, Section):
            last = kind.model_fields
            field = kind.model_fields.get(str(step))
            kind = field.annotation if field else None
        else:
            inner = {dict: 1, list: 0}.get(typing.get_origin(kind))
            kind = None if inner is None else typing.get_args(kind)[inner]
    return steps, last


def _words_of(section: Any) -> tuple[Any, ...]:
    """What the settings of a section that are one of some words may be."""
    fields = getattr(section, "model_fields", {}).values()
    return tuple(word for field in fields for word in typing.get_args(field.annotation))
