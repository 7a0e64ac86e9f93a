"""Options of a command, made from classes of settings: names, defaults, bounds and help."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from nnuelab import json_text
from nnuelab.errors import UserError, quoted
from nnuelab.settings import MOST

Command = Callable[..., None]
Kind = Annotated[
    str, typer.Option(help="Of the games and trainings: spreads of one kind are pooled.")
]
Group = Annotated[
    list[str] | None,
    typer.Option(help="GROUP=SET, a set whose trainings scatter otherwise than most; repeatable."),
]
OnePart = Annotated[
    str | None,
    typer.Option(help="Play only the I-th of N parts, for --parts.", metavar="I/N"),
]
Parts = Annotated[
    list[Path] | None,
    typer.Option(help="A part that is made; what is in none of them is played."),
]
Spread = Annotated[
    Path | None,
    typer.Option(
        help="How far trainings scatter in other experiments: CSV of `nnuelab spread`.",
    ),
]
Overlays = Annotated[
    list[Path], typer.Option(help="Laid over the settings, as snakemake --configfile does.")
]


def _fixed_of(text: str) -> dict[str, Any]:
    try:
        value = json_text.load(text)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("sha256"), str):
        raise typer.BadParameter("it must be a JSON object with a hypothesis and a sha256")
    return value


Fixed = Annotated[
    dict[str, Any] | None,
    typer.Option(
        parser=_fixed_of,
        metavar="JSON",
        help="Hypothesis of the experiment and hash of its design, for the provenance.",
    ),
]


def groups_of(words: list[str] | None) -> dict[str, str]:
    """Group by set, from options GROUP=SET.

    >>> groups_of(["few_games=ALL,games_share-0.125"])
    {'ALL,games_share-0.125': 'few_games'}
    """
    found: dict[str, str] = {}
    for word in words or []:
        group, _, entry = word.partition("=")
        if not (group and entry):
            raise UserError(f"group {word}: it must be GROUP=SET")
        found[entry] = group
    return found


def with_settings(**more: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Makes a command that has an option for each setting of its parameters' classes.

    A parameter whose type is a class of settings (`nnuelab.settings`) stands for an option
    ``--min-ply`` for each of its fields, such as ``min_ply``; a list is an option that may be
    repeated, and so is a mapping, as ``NAME=VALUE``.

    Parameters
    ----------
    **more
        What typer's options are given besides, by field: ``net={"autocompletion": nets}``.
    """

    def decorate(function: Command) -> Command:
        hints = typing.get_type_hints(function, include_extras=True)
        taken: dict[str, type] = {}
        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(function).parameters.items():
            kind = hints[name]
            if isinstance(kind, type) and is_dataclass(kind):
                taken[name] = kind
                parameters += _options(kind, more)
            else:
                parameters.append(parameter.replace(annotation=kind))

        @functools.wraps(function)
        def command(**values: Any) -> None:
            for name, kind in taken.items():
                values[name] = _made(kind, {f.name: values.pop(f.name) for f in fields(kind)})
            function(**values)

        keyword = inspect.Parameter.KEYWORD_ONLY
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameter.replace(kind=keyword) for parameter in parameters]
        )
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def limit_of(kind: type, **given: Any) -> dict[str, Any]:
    """The limit of a search by name: what was given, or else nodes, as many as the class has."""
    chosen = {name: value for name, value in given.items() if value is not None}
    return chosen or {"nodes": kind.nodes}  # type: ignore[attr-defined]


def _options(kind: type, more: Mapping[str, Mapping[str, Any]]) -> Iterator[inspect.Parameter]:
    hints = typing.get_type_hints(kind)
    for field in fields(kind):
        bounds, implied = field.metadata["bounds"], field.metadata["implied"]
        default, hint = _default(field), hints[field.name]
        options = {
            "help": field.metadata["meaning"],
            "min": bounds.get("ge", bounds.get("gt")),
            # For help, which would have it for most options: `_made` looks at it.
            "max": None if bounds.get("le") == MOST else bounds.get("le", bounds.get("lt")),
            **({"show_default": f"{default}, {implied}"} if implied else {}),
            **more.get(field.name, {}),
        }
        if typing.get_origin(hint) is dict:
            options.setdefault("metavar", "NAME=VALUE")
            hint, default = list[str], []
        names = options.pop("names", ())
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if implied else default,
            annotation=Annotated[hint | None if implied else hint, typer.Option(*names, **options)],
        )


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _made(kind: type, values: dict[str, Any]) -> Any:
    """The settings, checked for what typer doesn't; it ends with status 2."""
    hints = typing.get_type_hints(kind)
    for field in fields(kind):
        value, bounds = values[field.name], field.metadata["bounds"]
        option = f"--{field.name.replace('_', '-')}"
        if typing.get_origin(hints[field.name]) is dict:
            values[field.name] = _mapping(option, value)
        if value is None:
            continue
        if isinstance(value, int) and value > bounds.get("le", value):
            raise typer.BadParameter(f"{option} {value}: it must be at most {bounds['le']:,}")
        if value == bounds.get("gt"):
            raise typer.BadParameter(f"{option} {value}: it must be greater")
        if value == bounds.get("lt"):
            raise typer.BadParameter(f"{option} {value}: it must be less")
        if (step := bounds.get("multiple_of")) and value % step:
            raise typer.BadParameter(f"{option} {value}: it must be a multiple of {step}")
    try:
        return kind(**values)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _mapping(option: str, texts: list[str]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise UserError(f"{option} {quoted(text)}: write NAME=VALUE, as in Hash=16")
        if not text.isprintable():
            raise UserError(f"{option} {quoted(text)}: it has to be one line of text")
    return dict(text.split("=", 1) for text in texts)
