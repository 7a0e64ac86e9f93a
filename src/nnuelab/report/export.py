"""What the page shows as files that other tools read: figures as SVG, tables as metrics of DVC.

Their folders hold nothing else: DVC takes every file there for a figure or for metrics. So their
hashes stand in the provenance of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from nnuelab import artifacts
from nnuelab.charts import Figure, save
from nnuelab.report import table
from nnuelab.report.results import Experiment
from nnuelab.tournament import yardsticks

# What answers the question, as `dvc exp show` has a column for each number of each row.
METRICS = [
    "val_loss_mean",
    *(
        name
        for kind in (yardsticks.NODES, yardsticks.COST)
        for name in (kind.column, f"{kind.column}_error", kind.p)
    ),
]


def figures(drawn: Mapping[str, Figure], folder: Path) -> dict[str, str]:
    """Writes each figure as ``folder/NAME.svg``; returns their SHA-256 by path."""
    found = {}
    for name, figure in drawn.items():
        path = folder / f"{name}.svg"
        save(path, figure)
        found[path.as_posix()] = artifacts.sha256(path)
    return found


def metrics(experiments: Iterable[Experiment], folder: Path) -> dict[str, str]:
    """Writes each row of a table as ``folder/EXPERIMENT/SET.json``; returns their SHA-256 by path.

    Of a variant it is ``SET,VARIANT.json``. Numbers are those of the CSV; what was not measured is
    left out. In names all but letters, digits, and ``+ , . - _`` is written as in addresses
    (``KING%2AALL``).
    """
    found = {}
    for experiment in experiments:
        for row in experiment.rows:
            path = folder / experiment.name / f"{quote(table.entry(row), safe='+,')}.json"
            values = {name: float(row[name]) for name in METRICS if row[name]}
            artifacts.write_json(path, values)
            found[path.as_posix()] = artifacts.sha256(path)
    return found
