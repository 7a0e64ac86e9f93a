"""The settings of each stage: every one once, with its default, bounds and meaning.

Classes of settings are plain dataclasses, one module for each stage, and quick to import. A command
has an option for each setting (`cli.options`), params.yaml a key (`params.models`), and the stage
reads the values. The values in params.yaml are the defaults here; a test compares them. What only a
command or only the workflow knows, such as files and cores, is declared there.
"""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any, TypeVar

NO_LIMIT = "without another limit"  # of a search
LARGEST = 2**63 - 1  # integer of 64 bits
MAX_SEED = LARGEST
MOST = 10**12  # of anything that is counted: sums and products of two or three fit 64 bits
MOST_CORES = 1_000_000  # of a job, and of all


T = TypeVar("T")


def taken(kind: type[T], given: object) -> T:
    """A dataclass of what an object with more has, attribute by attribute."""
    return kind(**{each.name: getattr(given, each.name) for each in fields(kind)})  # type: ignore[arg-type]


def setting(default: Any, meaning: str, *, implied: str | None = None, **bounds: float) -> Any:
    """A field of a class of settings.

    Parameters
    ----------
    default : object
        Also that of params.yaml.
    meaning : str
        For the help of the command and the schema of params.yaml.
    implied : str, optional
        On the command line the value is None unless given, and this says when the default
        holds.
    **bounds
        As pydantic has them: ge, gt, le, lt and multiple_of. Whole numbers have MOST as ``le``
        unless told otherwise.
    """
    if isinstance(default, int) and not isinstance(default, bool):
        bounds.setdefault("le", MOST)
    told = {"meaning": meaning, "implied": implied, "bounds": bounds}
    if isinstance(default, list | dict):
        return field(default_factory=default.copy, metadata=told)
    return field(default=default, metadata=told)


def seed_setting(meaning: str) -> Any:
    """A field for what randomness starts from, 1 unless told otherwise."""
    return setting(1, meaning, ge=0, le=MAX_SEED)
