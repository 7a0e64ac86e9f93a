"""Checked reading of the stages' tables and records: no NaN, nothing cut off."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pydantic

from nnuelab import files, json_text
from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.tournament.ratings import COLUMNS as RATING_COLUMNS

MOST_BYTES = 64 << 20  # of a table or a record; in memory it takes ten times as much


class _Input(pydantic.BaseModel):
    path: str
    sha256: str


class _Record(pydantic.BaseModel):
    """What the page needs of a record of provenance, see `artifacts.provenance`."""

    sha256: str
    command: str = ""
    code: str | None = None
    inputs: dict[str, _Input] = {}
    parameters: dict[str, Any] = {}
    versions: dict[str, str] = {}


def read_csv(
    path: Path, needed: Sequence[str] = (), texts: Sequence[str] | None = ()
) -> list[dict[str, str]]:
    """The rows of a table, cells as text.

    Parameters
    ----------
    path : Path
    needed : sequence of str
        Columns that have to be there, with a value in each row.
    texts : sequence of str, optional
        Columns that hold text; all others hold finite numbers, or nothing. None: whatever it is.

    Raises
    ------
    UserError
        When it is missing, empty, cut off or damaged: with line and column.
    """
    try:
        rows = list(csv.DictReader(io.StringIO(text_of(path), newline="")))
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}; make it again") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is damaged ({error}); make it again") from error
    if not rows or any(None in row or None in row.values() for row in rows):
        raise UserError(f"{path} is cut off or has no rows; make it again")
    if missing := [name for name in needed if name not in rows[0]]:
        raise UserError(f"{path} has no column {missing[0]}; make it again")
    for line, row in enumerate(rows, 2):
        for name, cell in row.items():
            wanted = name in needed or cell
            if wanted and texts is not None and name not in texts and not _is_finite(cell):
                raise UserError(
                    f"{path} is damaged ({name} in line {line} is {cell[:40]!r}, no number); "
                    "make it again"
                )
    return rows


def text_of(path: Path) -> str:
    """The content of a table or a record; raises UserError for a file that is too large for one."""
    files.require(path)
    with open(path, newline="") as file:
        if (size := os.fstat(file.fileno()).st_size) > MOST_BYTES:
            raise UserError(
                f"{path} has {size / 1e6:,.0f} MB, more than any table or record; check its name"
            )
        return file.read()


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of an experiment's table, of whatever version; raises UserError."""
    rows = read_csv(path, ("feature_set",), texts=("feature_set", "variant"))
    seen = set[str]()
    for line, row in enumerate(rows, 2):
        if (entry := NetName(row["feature_set"], row.get("variant", "")).entry) in seen:
            raise UserError(
                f"{path} is damaged ({entry} in line {line} has a row already); make it again"
            )
        seen.add(entry)
        for name, cell in row.items():
            if "_error" in name and cell and float(cell) < 0:
                raise UserError(
                    f"{path} is damaged ({name} in line {line} is {cell}, less than 0); "
                    "make it again"
                )
    if "elo" in rows[0] and not any(row["elo"] and float(row["elo"]) == 0 for row in rows):
        raise UserError(f"{path} is damaged (no row is the anchor's, of Elo 0); make it again")
    return rows


def read_ratings(path: Path) -> list[dict[str, str]]:
    """The rows of what `nnuelab rate` wrote, descending; raises UserError."""
    return read_csv(path, RATING_COLUMNS, texts=("name",))


def read_sequential(path: Path) -> list[dict[str, str]]:
    """The rows of what `nnuelab sprt-table` wrote; raises UserError."""
    texts = ("player", "opponent", "model", "verdict", "counts", "elo", "error")
    numbers = ("elo0", "elo1", "llr", "lower", "upper", "games")
    rows = read_csv(path, (*texts, *numbers), texts)
    if unknown := {row["verdict"] for row in rows} - {"elo0", "elo1", ""}:
        raise UserError(f"{path} is damaged (no verdict: {unknown.pop()[:40]!r}); make it again")
    return rows


def read_statistics(path: Path) -> list[dict[str, str]]:
    """The rows of what `nnuelab features stats` wrote; raises UserError."""
    needed = ("feature_set", "perspective", "features", "active", "added", "removed")
    return read_csv(path, needed, texts=("feature_set", "perspective"))


def read_json(path: Path, *keys: str) -> dict[str, Any]:
    """A JSON object that has some keys, with finite numbers; raises UserError otherwise."""
    try:
        value = json_text.load(text_of(path), json_text.no_number)
        # Escaped, there may be halves of characters, which no file can hold; 1e999 is infinite.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}; make it again") from error
    except ValueError as error:
        raise UserError(f"{path} is damaged ({error}); make it again") from error
    if not isinstance(value, dict):
        raise UserError(f"{path} is damaged (it is not an object); make it again")
    if missing := [key for key in keys if key not in value]:
        raise UserError(f"{path} is damaged (it has no {missing[0]}); make it again")
    return value


def read_record(path: Path) -> dict[str, Any]:
    """A record of provenance; raises UserError when it isn't one."""
    value = read_json(path, "sha256")
    try:
        checked = _Record.model_validate(value)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(
            f"{path} is damaged ({place}: {first['msg']}); make {path.with_suffix('')} again"
        ) from error
    return value | checked.model_dump()


def parameters_of(path: Path) -> dict[str, Any]:
    """What the record beside a file says that it was made with, {} without one.

    Raises UserError when the record is damaged.
    """
    record = path.with_name(f"{path.name}.json")
    made: dict[str, Any] = read_record(record)["parameters"] if record.is_file() else {}
    return made


def nodes_of(record: Mapping[str, Any], anchor: str) -> int:
    """Nodes of a move of the anchor's, by the record of its games; 0: unknown."""
    players = record.get("parameters", {}).get("players", {})
    try:
        limits = (of for name, of in players.items() if NetName.parse(name).entry == anchor)
        first: Mapping[str, Any] = next(limits, {})
        return int(first.get("nodes") or 0)
    except (AttributeError, TypeError, ValueError):  # not a record of games
        return 0


def nodes_in(pgn: Path, anchor: str) -> int:
    """The same, where the record of the games is beside them; raises UserError when damaged."""
    record = pgn.with_name(f"{pgn.name}.json")
    return nodes_of(read_record(record), anchor) if record.is_file() else 0
