"""Settings of training that another command has found: JSON, such as ``{"l1": 128}``."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import Any

from nnuelab import artifacts, files, json_text
from nnuelab.errors import UserError
from nnuelab.settings.train import Training

# By the command that finds it; what of a variant may be ``auto``.
COMMANDS = {"l1": "nnuelab size", "learning_rate": "nnuelab learning-rate"}

_FIELDS = {field.name: field for field in fields(Training) if field.name in COMMANDS}


def write(path: Path, name: str, value: float) -> None:
    """Writes the value alone: found again, the file is the same."""
    artifacts.write_json(path, {name: value})


def applied(settings: Training, paths: Iterable[Path]) -> Training:
    """Settings with what was found in place of theirs.

    Raises
    ------
    UserError
        For a file that holds no such setting, or one that doesn't go with the others.
    """
    for path in paths:
        name, value = read(path)
        try:
            settings = replace(settings, **{name: value})
        except ValueError as error:
            raise UserError(f"{path}: {error}") from None
    return settings


def read(path: Path) -> tuple[str, Any]:
    """A setting and its value, as `write` or a person has written them.

    Raises
    ------
    UserError
        For a file without one.
    """
    commands = " or ".join(COMMANDS.values())
    try:
        found = json_text.load(files.content(path, files.SMALL))
    except OSError as error:
        raise UserError(
            f"can't read the setting in {path}: {error.strerror}; find it: {commands}"
        ) from None
    except ValueError:
        found = None
    if isinstance(found, dict) and len(found) == 1:
        ((name, value),) = found.items()
        if name in _FIELDS and _fits(_FIELDS[name], value):
            return name, value
    meant = " or ".join(f'{{"{name}": {field.default}}}' for name, field in _FIELDS.items())
    raise UserError(f"{path} holds no setting: it must be such as {meant} ({commands})")


def _fits(field: Field[Any], value: Any) -> bool:
    kinds = (int,) if type(field.default) is int else (int, float)
    return (
        type(value) in kinds
        and math.isfinite(value)
        and all(
            getattr(operator, how)(value, bound) for how, bound in field.metadata["bounds"].items()
        )
    )
