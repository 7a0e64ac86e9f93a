"""``params.yaml``: its models, from which schema, messages and command lines are derived.

Settings of stages are those of their commands (`nnuelab.settings`): a key of a section is the name
of an option (``min_ply`` is ``--min-ply``), so that `options` can render one from the other. Every
key has to be in ``params.yaml``, which so shows all that can be set; a run or a variant names what
it changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nnuelab.artifacts import logs_of
from nnuelab.params.entries import Entry, Plan
from nnuelab.params.experiments import (
    FINDING_SEED,
    default_experiment,
    fixed,
    kind_at,
    plans,
)
from nnuelab.params.files import check_files
from nnuelab.params.jobs import core_seconds
from nnuelab.params.minutes import (
    measured,
    minutes,
    policy_minutes,
    policy_seconds,
    selfplay_minutes,
    selfplay_seconds,
    texel_minutes,
    texel_seconds,
)
from nnuelab.params.models import Params
from nnuelab.params.reading import (
    FILE,
    ParamsError,
    check_names,
    found_experiments,
    merge,
    read,
    validate,
)
from nnuelab.params.sections import Section
from nnuelab.params.sprt import duels

__all__ = [
    "FILE",
    "FINDING_SEED",
    "Entry",
    "Params",
    "ParamsError",
    "Plan",
    "Section",
    "check_files",
    "check_names",
    "core_seconds",
    "default_experiment",
    "duels",
    "fixed",
    "found_experiments",
    "kind_at",
    "measured",
    "merge",
    "minutes",
    "options",
    "plans",
    "policy_minutes",
    "policy_seconds",
    "read",
    "results_folder",
    "schema",
    "selfplay_minutes",
    "selfplay_seconds",
    "speed_here",
    "texel_minutes",
    "texel_seconds",
    "validate",
]


def options(
    section: Section, *, without: Iterable[str] = (), only: Iterable[str] | None = None
) -> list[str]:
    """A section as the words of its command's options, which rules quote: ``{params.options:q}``.

    ``min_ply: 16`` is ``--min-ply 16``, ``skip_check: true`` is ``--skip-check`` and ``false``
    is ``--no-skip-check``, a list repeats its option, a mapping does so with ``NAME=VALUE``, and
    ``null`` leaves the option out.
    """
    left_out = set(without)
    if only is not None:
        left_out |= set(type(section).model_fields) - set(only)
    return [
        word
        for key, value in section.model_dump(mode="json", by_alias=True).items()
        if key not in left_out
        for word in _words(key, value)
    ]


def _words(key: str, value: Any) -> Iterator[str]:
    name = key.replace("_", "-")
    if value is None:
        return
    if isinstance(value, bool):
        yield f"--{name}" if value else f"--no-{name}"
    elif isinstance(value, list):
        for item in value:
            yield from _words(key, item)
    elif isinstance(value, dict):
        for item in value.items():
            yield from (f"--{name}", "=".join(map(str, item)))
    else:
        yield from (f"--{name}", str(value))


def results_folder(files: Iterable[Path | str]) -> str:
    """Where a run with these files of settings puts what it makes.

    Overlays in another order mean other settings.

    >>> results_folder(["params.yaml"]), results_folder(["config/tiny.yaml", "params.yaml"])
    ('results', 'results-tiny')
    >>> results_folder(["config/paper.yaml", "my.yaml", "params.yaml"])
    'results-paper+my'
    """
    overlays = "+".join(Path(file).stem for file in files if Path(file) != FILE)
    return f"results-{overlays}" if overlays else "results"


def speed_here(
    planned: Mapping[str, Plan], overlays: Sequence[Path], cores: int
) -> dict[str, float]:
    """How many times as long as estimated jobs take here (`measured`).

    By the benchmarks of runs of these plans, and for rules of which those have left none, of runs
    without the overlays that make the plans. Raises UserError for a file that is no benchmark.
    """
    found = measured(planned, logs_of(results_folder(overlays)) / "benchmarks", cores)
    if overlays:
        default = measured(plans(read()), logs_of(results_folder([])) / "benchmarks", cores)
        found = default | found
    return found


def schema() -> str:
    """JSON schema of ``params.yaml``, as it stands in ``params.schema.json``."""
    return json.dumps(Params.model_json_schema(), indent=2) + "\n"
