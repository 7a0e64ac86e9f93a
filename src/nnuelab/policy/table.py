"""The table of policies: a row for each variant, with means over seeds."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from nnuelab import artifacts, files
from nnuelab.errors import UserError

EVALUATION, HISTORY = "evaluation.csv", "history.csv"
FACTS = ("feature_set", "inputs", "head", "loss", "layers", "activation", "parameters")
MEASURES = (
    "legal_first",
    "illegal_probability",
    "from_accuracy",
    "accuracy",
    "walk_accuracy",
    "legal_accuracy",
    "mean_tries",
    "median_tries",
    "mean_checks",
    "value_error",
    "train_seconds",
)


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes rows of equal keys as CSV; what isn't measured, nan, is blank."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_told(value) for value in row.values()] for row in rows)
    with artifacts.atomic(path) as temporary:
        temporary.write_text(text.getvalue())


def _told(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value


def rows_of(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """A row for each name of folders NAME/SEED, in their order.

    Raises
    ------
    UserError
        When a file is missing or has other columns, or seeds of a name are different policies.
    """
    found: dict[str, list[dict[str, str]]] = {}
    for folder in folders:
        found.setdefault(folder.absolute().parent.name, []).append(_read(folder))
    return [_row(name, seeds) for name, seeds in found.items()]


def _read(folder: Path) -> dict[str, str]:
    """The only row of an evaluation, and how long the training took."""
    rows = _rows(folder / EVALUATION)
    if len(rows) != 1 or not {*FACTS, *MEASURES[:-1], "positions"} <= rows[0].keys():
        raise UserError(
            f"{folder / EVALUATION} is not of one policy; make it with nnuelab policy evaluate"
        )
    timed = artifacts.timed(folder / HISTORY)
    try:
        seconds = [float(row.get("seconds") or 0) for row in _rows(timed)]
        if not all(
            map(math.isfinite, (*seconds, *(float(rows[0][m] or 0) for m in MEASURES[:-1])))
        ):
            raise ValueError("a value that isn't finite")
    except ValueError as error:
        raise UserError(
            f"{folder / EVALUATION} or {timed} is damaged ({error}); make it again"
        ) from None
    return {**rows[0], "train_seconds": str(sum(seconds))}


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        files.require(path)
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"can't read {path}: {told}") from error


def _row(name: str, seeds: list[dict[str, str]]) -> dict[str, Any]:
    facts = {fact: seeds[0][fact] for fact in FACTS}
    if any(seed[fact] != facts[fact] for seed in seeds for fact in FACTS):
        raise UserError(f"the seeds of {name} are different policies; evaluate them anew")
    row: dict[str, Any] = {"name": name, **facts, "seeds": len(seeds)}
    row["positions"] = seeds[0]["positions"]
    for measure in MEASURES:
        values = [float(seed[measure]) for seed in seeds if seed[measure]]
        row[measure] = fmean(values) if values else math.nan
        if measure != "train_seconds":
            row[f"{measure}_sd"] = stdev(values) if len(values) > 1 else math.nan
    return row


def line(row: Mapping[str, Any]) -> str:
    """A row for a person."""
    return (
        f"{row['name']:<10} first legal {row['legal_first']:6.1%}  accuracy {row['accuracy']:6.1%}"
        f"  among legal {row['legal_accuracy']:6.1%}  tries {row['mean_tries']:7.2f}"
        f"  {row['train_seconds']:5.0f} s"
    )
