"""Settings, code hashes and names of files that the rules share; what is imported here is light."""

import ast
import os
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError

from nnuelab.artifacts import PACKAGE, code_hash
from nnuelab.errors import UserError
from nnuelab.features import block_files
from nnuelab.params import folder_of, options, validate

try:
    # Exports NNUELAB_BLOCKS, too, which every job inherits.
    settings = validate(config, "params.yaml and overlays")
except UserError as error:
    raise WorkflowError(str(error)) from None

EXPRESSIONS = {
    folder_of(name): name
    for experiment in settings.experiments.values()
    for name in experiment.feature_sets
}

# How artifacts are written and progress is shown changes nothing in them.
WITHOUT_EFFECT = {"nnuelab.artifacts", "nnuelab.errors", "nnuelab.progress"}


def source(name):
    """The file of a module of the package, or None."""
    place = PACKAGE.parent.joinpath(*name.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def imported(name):
    """Modules of the package that a module imports, inside functions, too."""
    found = set()
    for node in ast.walk(ast.parse(source(name).read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            inner = {part for part in parts if source(part)}
            found |= inner if inner == parts else inner | {node.module}
    return {part for part in found if part.startswith("nnuelab.")} - WITHOUT_EFFECT


def code(entry, sets=(), files=()):
    """Content hash of what a job runs: a module, all that it imports, the blocks of its sets."""
    reached, waiting = set(), [f"nnuelab.{entry}"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += imported(name)
    blocks = {file for expression in sets for file in block_files(expression)}
    used = {*map(source, reached), *blocks, *(Path(file).resolve() for file in files)}
    # In an order that doesn't depend on where the project lies.
    inside = sorted(file for file in used if file.is_relative_to(PACKAGE))
    return code_hash(
        (), [*inside, *sorted(used.difference(inside), key=lambda file: file.name)]
    )


def of_nets(experiment, file):
    """A file of each net of an experiment, by feature set and seed."""
    chosen = settings.experiments[experiment]
    return [
        f"results/nets/{folder_of(name)}/{seed}/{file}"
        for name in chosen.feature_sets
        for seed in chosen.seeds
    ]


def players(experiment):
    """NAME=NET of each net, as the tournament takes them."""
    chosen = settings.experiments[experiment]
    names = [f"{name}#{seed}" for name in chosen.feature_sets for seed in chosen.seeds]
    return [
        f"{name}={net}" for name, net in zip(names, of_nets(experiment, "net.nnue"))
    ]


# Tables are in git. One whose ratings aren't here came with the clone, so it is no result of this
# folder: as the oldest of all files it is made anew where it is asked for.
for experiment in settings.experiments:
    table = Path(f"results/{experiment}_table.csv")
    if (
        table.exists()
        and not Path(f"results/tournament/{experiment}_ratings.csv").exists()
    ):
        os.utime(table, (1, 1))
