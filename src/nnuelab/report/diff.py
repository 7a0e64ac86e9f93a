"""Differences between two nets, datasets, tournaments or tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import data, files
from nnuelab.data import validation
from nnuelab.data.records import NO_SCORE, from_fen, to_fen
from nnuelab.errors import UserError
from nnuelab.nnue.layers import LEVELS, USUAL
from nnuelab.nnue.netfile import Net, read_net
from nnuelab.report import inspect as summaries
from nnuelab.report import neurons, reading, table
from nnuelab.report.explorer import KNOWN
from nnuelab.report.inspect import Summary, Table
from nnuelab.report.results import tables_in
from nnuelab.report.words import number
from nnuelab.tournament import yardsticks

MOST_ROWS = 10  # of a list of what differs most
COMPARED = 2000  # positions that two nets evaluate
_SAME_POSITION = ["occupied", "pieces_low", "pieces_high", "flags", "ep"]


@dataclass
class Difference:
    """The differences between two files of one kind.

    Attributes
    ----------
    kind : str
    facts : dict
        Name to number or text.
    tables : dict of str to list of dict
    """

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"kind": self.kind, **self.facts, **self.tables}


def pairs(a: Path, b: Path) -> list[tuple[Path, Path]]:
    """What to compare: two files, or the tables that the folders of two runs both have.

    Raises
    ------
    UserError
        When one is missing, or folders have no table in common.
    """
    for path in (a, b):
        if not path.is_dir():
            files.check(path)
    if not (a.is_dir() and b.is_dir()):
        return [(a, b)]
    found = [(one, b / one.name) for one in tables_in(a)]
    if not (common := [pair for pair in found if pair[1].is_file()]):
        raise UserError(f"{a} and {b} have no table of the same experiment; name two files")
    return common


def diff(a: Path, b: Path, positions: Path | None = None) -> Difference:
    """Compares two files.

    Parameters
    ----------
    a, b : Path
    positions : Path, optional
        For nets: the dataset whose positions both evaluate.

    Raises
    ------
    UserError
        When one is missing or damaged, they are of different kinds, or of one that isn't compared.
    """
    first, second = summaries.inspect(a), summaries.inspect(b)
    if first.kind != second.kind:
        raise UserError(f"{a} is of the kind {first.kind}, {b} of the kind {second.kind}")
    makers: dict[str, Callable[[Difference, Summary, Summary], None]] = {
        "net": lambda found, one, other: _nets(found, one, other, positions),
        "dataset": _datasets,
        "tournament": _tournaments,
        "table": _tables,
        "ratings": _ratings,
    }
    if first.kind not in makers:
        raise UserError(
            f"{a} is of the kind {first.kind}; only these are compared: {', '.join(makers)}"
        )
    found = Difference(first.kind)
    with summaries.damaged(b):
        makers[first.kind](found, first, second)
    if first.provenance and second.provenance:
        changed = list(_provenance(first.provenance, second.provenance))
        found.tables["how they were made"] = changed
    return found


def _provenance(a: dict[str, Any], b: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Leaves of the two records that differ, hashes cut short; inputs of one alone are counted."""
    one, other = (
        {
            name: value
            for name, value in summaries.leaves(_with_contents(made))
            if not isinstance(value, list)
        }
        for made in (a, b)
    )
    inputs = [{name for name in made if name.startswith("inputs.")} for made in (one, other)]
    alone = inputs[0] ^ inputs[1]
    for name in dict.fromkeys([*one, *other]):
        is_told = name in alone or name in ("artifact", "sha256", "command")
        if one.get(name) != other.get(name) and not is_told:
            yield {"what": name, "a": _short(one.get(name)), "b": _short(other.get(name))}
    if alone:
        of_a, of_b = (len(of & alone) for of in inputs)
        yield {"what": "inputs in one only", "a": of_a, "b": of_b}


def _with_contents(made: dict[str, Any]) -> dict[str, Any]:
    """A record whose inputs are hashes, by names without the folder of the run they are of."""
    match made:
        case {"inputs": dict(inputs)}:
            return {**made, "inputs": dict(itertools.starmap(_content, inputs.items()))}
    return made


def _content(name: str, of: Any) -> tuple[str, Any]:
    match of:
        case {"path": path, "sha256": content}:
            return name.partition("/")[2] if name == path else name, content
    return name, of


def _short(value: Any) -> Any:
    return value[:16] if isinstance(value, str) and len(value) == 64 else value


def _nets(found: Difference, a: Summary, b: Summary, positions: Path | None) -> None:
    one, other = read_net(a.path), read_net(b.path)
    compared = ["feature_set", "n_features", "l1", "l2"]
    # What only some nets have is compared where one of the two has it.
    layers = one.layers, other.layers
    compared += [
        name for name, usual in USUAL.items() if any(getattr(of, name) != usual for of in layers)
    ]
    for name in compared:
        values = [getattr(net.layers if name in USUAL else net, name) for net in (one, other)]
        found.facts[name] = values[0] if values[0] == values[1] else f"{values[0]} and {values[1]}"
    rows = []
    alike = (one.l3, one.buckets) == (other.l3, other.buckets)
    for name, array in one.arrays().items():
        second = other.arrays().get(name)
        if not alike and name not in ("w1", "b1"):  # of one shape by chance at most
            continue
        if second is not None and array.shape == second.shape:
            # Scales may differ; what counts is the float that an integer stands for.
            change = array / _scale(one, name) - second / _scale(other, name)
            rows.append(
                {
                    "array": name,
                    "differing": int(np.count_nonzero(change)),
                    "of": array.size,
                    "rms": round(float(np.sqrt(np.mean(change**2))), 5),
                    "max": round(float(np.abs(change).max()), 5),
                }
            )
    found.tables["weights, as floats"] = rows
    if one.feature_set == other.feature_set and one.l1 == other.l1:
        change = one.w1 / _scale(one, "w1") - other.w1 / _scale(other, "w1")
        norm = np.sqrt((change**2).sum(axis=1))
        order = np.argsort(-norm, kind="stable")[:MOST_ROWS]
        found.tables["features whose weights differ most"] = [
            {"feature": one.features.feature_name(int(i)), "norm": round(float(norm[i]), 4)}
            for i in order
            if norm[i]
        ]
    if positions is None:
        records = np.array([from_fen(fen) for fen in KNOWN.values()])
    else:
        records = validation.spaced(positions, COMPARED)
    said = [neurons.evaluations(net, neurons.inputs(net, records), records) for net in (one, other)]
    change = said[1] - said[0]
    found.facts |= {
        "positions": len(records),
        "evaluation_mean_cp": round(float(change.mean()), 2),
        "evaluation_rms_cp": round(float(np.sqrt(np.mean(change.astype(float) ** 2))), 2),
        "evaluation_max_cp": int(np.abs(change).max()),
        "correlation": round(float(np.corrcoef(said[0], said[1])[0, 1]), 5)
        if len(records) > 1
        else None,
    }
    found.tables["positions that they evaluate most differently"] = [
        {"fen": to_fen(records[i]), "a": int(said[0][i]), "b": int(said[1][i])}
        for i in np.argsort(-np.abs(change), kind="stable")[:MOST_ROWS]
        if change[i]
    ]


def _scale(net: Net, name: str) -> float:
    """The integer of an array that stands for 1.0."""
    scales = net.scales
    if net.direct is not None:
        return {"b1": scales["w1"], "b3": scales["w1"] * scales["w3"]}.get(
            name, scales.get(name, 1.0)
        )
    return {
        "b1": scales["w1"],
        "b2": LEVELS * 2.0**net.l2_shift,
        "bh": LEVELS * 2.0**net.l3_shift,
        "w3": scales["w3_per_centipawn"],
        "b3": scales["w3_per_centipawn"] * scales["activation"],
        "psqt": scales["w3_per_centipawn"] * scales["activation"],
    }.get(name, scales.get(name, 1.0))


def _datasets(found: Difference, a: Summary, b: Summary) -> None:
    one, other = (data.open(summary.path).records for summary in (a, b))
    common, left, right = np.intersect1d(_bytes(one), _bytes(other), return_indices=True)
    found.facts |= {
        "positions": f"{len(one):,} and {len(other):,}",
        "different_positions_in_both": len(common),
    }
    scores = one["score"][left].astype(np.int64), other["score"][right].astype(np.int64)
    known = (scores[0] != NO_SCORE) & (scores[1] != NO_SCORE)
    if known.any():
        change = (scores[1] - scores[0])[known]
        found.facts |= {
            "scored_in_both": int(known.sum()),
            "with_another_score": int(np.count_nonzero(change)),
            "score_mean_cp": round(float(change.mean()), 2),
            "score_rms_cp": round(float(np.sqrt(np.mean(change.astype(float) ** 2))), 2),
        }
    rows = [{"what": name, "a": a.facts.get(name), "b": b.facts.get(name)} for name in a.facts]
    found.tables["facts that differ"] = [row for row in rows if row["a"] != row["b"]]


def _bytes(records: np.ndarray) -> np.ndarray:
    """The position of each record as one sortable value."""
    import numpy.lib.recfunctions as fields

    packed = np.array(fields.repack_fields(records[_SAME_POSITION]))
    return packed.view(np.dtype((np.void, packed.dtype.itemsize)))


def _tournaments(found: Difference, a: Summary, b: Summary) -> None:
    one, other = ({row["player"]: row for row in s.tables["players"]} for s in (a, b))
    found.facts |= {
        name: f"{a.facts[name]:,} and {b.facts[name]:,}"
        for name in ("games", "white_wins", "draws", "black_wins")
    }
    found.tables["scores"] = _compared(one, other, "player", ("games", "score"))


def _ratings(found: Difference, a: Summary, b: Summary) -> None:
    one, other = ({row["name"]: row for row in s.tables["ratings"]} for s in (a, b))
    found.tables["ratings"] = _compared(one, other, "name", ("elo", "error", "games"))


def _tables(found: Difference, a: Summary, b: Summary) -> None:
    one, other = (_by_entry(summary.path) for summary in (a, b))
    found.facts["sets"] = f"{len(one)} and {len(other)}"
    for side, own, its in (("a", one, other), ("b", other, one)):
        if only := [name for name in own if name not in its]:
            found.facts[f"only_in_{side}"] = " and ".join(only)  # commas stand in names
    if one.keys().isdisjoint(other):
        found.facts["in_both"] = "no row, so no cells are compared"
        return
    rows = []
    for name in one:
        for column, text in one[name].items():
            second = other.get(name, {}).get(column, text)
            if text == second or column in ("feature_set", "variant"):
                continue
            row: dict[str, Any] = {"feature_set": name, "column": column, "a": text, "b": second}
            row["difference"] = None
            if text and second:
                row["difference"] = round(float(second) - float(text), 6)
            row["beyond_both_errors"] = _beyond(one[name], other[name], column)
            rows.append(row)
    found.tables["cells that differ"] = rows


def _by_entry(path: Path) -> dict[str, dict[str, str]]:
    return {table.entry(row): row for row in reading.read_table(path)}


def _beyond(a: dict[str, str], b: dict[str, str], column: str) -> str | None:
    """Whether a difference of Elo is more than the errors of the games of both together."""
    if column not in [yardstick.column for yardstick in yardsticks.ALL]:
        return None
    change = [number(row, column) for row in (a, b)]
    errors = [number(row, f"{column}_error_games") for row in (a, b)]
    elo, limits = ([v for v in values if v is not None] for values in (change, errors))
    if len(elo) < 2 or len(limits) < 2:
        return None
    return "yes" if abs(elo[1] - elo[0]) > math.hypot(*limits) else "no"


def _compared(
    one: dict[str, Any], other: dict[str, Any], key: str, columns: tuple[str, ...]
) -> Table:
    rows = []
    for name in dict.fromkeys([*one, *other]):
        row: dict[str, Any] = {key: name}
        for column in columns:
            a, b = (rows_of.get(name, {}).get(column) for rows_of in (one, other))
            row |= {f"{column}_a": a, f"{column}_b": b}
            if a is not None and b is not None:
                row[f"{column}_difference"] = round(b - a, 6)
            else:
                row[f"{column}_difference"] = None
        rows.append(row)
    return rows
