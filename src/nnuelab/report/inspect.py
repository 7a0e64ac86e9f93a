"""What an artifact is, where it came from, and what is in it.

Each kind of file has one function that gathers facts; `render` shows them, ``--json`` dumps them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import files, json_text
from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.report import details, reading, table, texel_details
from nnuelab.tournament.pgn import EVENT
from nnuelab.tournament.ratings import COLUMNS as RATING_COLUMNS

MAX_GAMES = 100_000  # of a PGN file; a month of Lichess would take hours
TEXT = (".pgn", ".epd", ".fen")
LAYERS = {"l1_shift": "L1", "l2_shift": "L2", "l3_shift": "L3", "out_shift": "output"}
COMPRESSION = (".zst", ".gz", ".bz2")
KNOWN = "games (.pgn), openings (.epd), datasets (.npy), checkpoints (.pt), nets (.nnue, .nn), "
KNOWN += "policies (.policy), evaluations (.yaml), traces, .csv, .json, and all that have "
KNOWN += "provenance beside them"

Table = list[dict[str, Any]]

_UNEXPECTED: tuple[type[Exception], ...] = (
    *(ArithmeticError, AttributeError, EOFError, LookupError),
    *(RecursionError, TypeError, ValueError),
)

CROSS, BOARDS = "cross table (percent)", "sample positions"


@dataclass(frozen=True)
class Summary:
    """What is known about a file.

    Attributes
    ----------
    path : Path
    kind : str
        "games", "tournament", "openings", "dataset", "checkpoint", "net", "ratings", "table",
        "policy", "history", "verification", "rating details", "puzzles", "triplets", "provenance",
        "evaluation", "trace", "tuning", "terms", "residuals"; "rows" and "values" for other .csv
        and .json; for others that have provenance beside them "file".
    facts : dict
        Name to number or text.
    tables : dict of str to list of dict
        Title to rows of equal keys.
    provenance : dict or None
        What `artifacts.provenance` wrote beside it.
    """

    path: Path
    kind: str
    facts: dict[str, Any]
    tables: dict[str, Table] = field(default_factory=dict)
    provenance: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "path": str(self.path),
            "kind": self.kind,
            "bytes": self.path.stat().st_size,
            **self.facts,
            **self.tables,
            "provenance": self.provenance,
        }


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Reports the errors that unexpected content leads to as a damaged file."""
    try:
        yield
    except UserError:
        raise
    except _UNEXPECTED as error:
        told = f"{type(error).__name__}: {str(error)[:200]}"
        raise UserError(f"{path} is damaged ({told}); make it again") from error


def inspect(path: Path, positions: Path | None = None) -> Summary:
    """Summarizes a file of any kind that the stages make or read.

    Parameters
    ----------
    path : Path
    positions : Path, optional
        A dataset to try the neurons of a net on; by default that of the workflow the net is of.

    Raises
    ------
    UserError
        When the file is missing, damaged, or of no known kind.
    """
    files.check(path)
    if not path.stat().st_size:
        raise UserError(f"{path} is empty; make it again")
    with damaged(path):
        summary = _reader(path)(path)
        if summary.kind == "net":
            _try_neurons(summary, positions)
    return Summary(
        summary.path, summary.kind, summary.facts, summary.tables, _provenance(path, summary)
    )


def _reader(path: Path) -> Callable[[Path], Summary]:
    """The reader of a file, by its first bytes or its name."""
    from nnuelab.nnue.netfile import MAGIC

    with open(path, "rb") as file:
        start = file.read(len(texel_details.MAGIC))
    if start.startswith(MAGIC) or path.suffix in (".nn", ".nnue"):
        return _net
    if start.startswith(b"\x93NUMPY") or path.suffix in (".npy", ".shards"):
        return _dataset
    by_ending = {".pt": _checkpoint, ".policy": _policy, ".csv": _csv, ".json": _json}
    if path.suffix in by_ending:
        return by_ending[path.suffix]
    if path.suffix in texel_details.ENDINGS:
        return _evaluation
    if start.startswith(texel_details.MAGIC):
        return _trace
    inner = Path(path.stem).suffix if path.suffix in COMPRESSION else path.suffix
    if inner == ".pgn":
        return _games
    if inner in TEXT:
        return _openings
    if path.with_name(path.name + ".json").is_file():
        return lambda path: Summary(path, "file", {})
    raise UserError(f"{path}: unknown kind of file; known are {KNOWN}")


def _provenance(path: Path, summary: Summary) -> dict[str, Any] | None:
    within = summary.provenance or {}
    beside = path.with_name(path.name + ".json")
    if summary.kind != "provenance" and beside.is_file():
        within = {**reading.read_record(beside), **within}
    return within or None


# Games


def _games(path: Path) -> Summary:
    from nnuelab.data import pgn

    results: Counter[str] = Counter()
    players: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    games = pgn.games(path)
    for tags, text in islice(games, MAX_GAMES):
        counts["games"] += 1
        counts["tags"] += len(tags)
        counts["evaluations"] += text.count(b"[%eval")
        counts["evaluated"] += b"[%eval" in text
        counts["own"] += tags.get("Event") == EVENT
        counts["adjudicated"] += tags.get("Termination") == "adjudication"
        result = tags.get("Result", "*")
        if not text.rstrip().endswith(result.encode()):
            result = "*"  # the game is cut off
        results[result] += 1
        for colour, win in (("White", "1-0"), ("Black", "0-1")):
            score = players.setdefault(tags.get(colour, "?"), Counter())
            score["games"] += 1
            score["wins"] += result == win
            score["draws"] += result == "1/2-1/2"
    if not counts["tags"]:
        raise UserError(f"{path} is not a PGN file: not one of its games has a tag; fetch it again")
    more = next(games, None) is not None
    tournament = counts["own"] == counts["games"] or _is_tournament(path, players)
    facts = {
        "games": counts["games"],
        "complete": not more,
        "white_wins": results["1-0"],
        "draws": results["1/2-1/2"],
        "black_wins": results["0-1"],
        "unfinished": counts["games"] - sum(results[r] for r in ("1-0", "1/2-1/2", "0-1")),
        "players": len(players),
    }
    if tournament:
        facts["adjudicated"] = counts["adjudicated"]
    else:
        facts |= {"evaluated_games": counts["evaluated"], "evaluations": counts["evaluations"]}
    busiest = sorted(players.items(), key=lambda item: (-item[1]["games"], item[0]))
    rows = [
        {
            "player": name,
            "games": score["games"],
            "wins": score["wins"],
            "draws": score["draws"],
            "score": round(_share(score), 4),
        }
        for name, score in (busiest if tournament else busiest[:10])
    ]
    title = "players" if tournament or len(busiest) <= 10 else "busiest players"
    tables = {title: rows}
    if tournament:
        best = sorted(players, key=lambda name: -_share(players[name]))
        tables[CROSS] = details.cross(path, best)
    return Summary(path, "tournament" if tournament else "games", facts, tables)


def _share(score: Counter[str]) -> float:
    return (score["wins"] + score["draws"] / 2) / score["games"]


def _is_tournament(path: Path, players: dict[str, Counter[str]]) -> bool:
    """Whether the players are nets of an experiment (``FEATURE_SET#SEED``), or the record says so.

    Managers that are installed name the event as they like.
    """
    beside = path.with_name(path.name + ".json")
    if beside.is_file() and "summary" in reading.read_record(beside):
        return True
    return bool(players) and all(NetName.parse(name).seed is not None for name in players)


def _openings(path: Path) -> Summary:
    from nnuelab.data.streams import lines

    positions = [line.decode().strip() for line in lines(path) if line.strip()]
    facts = {
        "positions": len(positions),
        "different": len(set(positions)),
        "white_to_move": sum(" w " in line for line in positions),
    }
    return Summary(path, "openings", facts, {"first": [{"epd": text} for text in positions[:5]]})


# Datasets


def _dataset(path: Path) -> Summary:
    from nnuelab import data
    from nnuelab.data import validation
    from nnuelab.data.records import NO_SCORE, UNKNOWN_RESULT

    dataset = data.open(path)
    records = dataset.records  # of shards, in memory
    if not len(records):
        raise UserError(
            f"{path} has no positions; check the filters of params.yaml and label again"
        )
    validation.check(records, path)
    scored = records["score"][records["score"] != NO_SCORE]
    known = records["result"][records["result"] != UNKNOWN_RESULT]
    facts: dict[str, Any] = {
        "positions": len(records),
        "games": len(np.unique(records["game"])),
        "bytes_per_position": records.dtype.itemsize,
        "shards": len(dataset.shards),
        "content": dataset.content_hash(),
        "scored": len(scored),
        "ply": f"{records['ply'].min()} to {records['ply'].max()}",
    }
    if len(scored):
        low, middle, high = np.percentile(scored, (5, 50, 95))
        facts["score_percentiles_5_50_95"] = f"{low:.0f} / {middle:.0f} / {high:.0f} cp"
        facts["score_sd_cp"] = round(float(scored.astype(np.float64).std()), 1)
    if len(known):
        wins, draws = np.mean(known == 1), np.mean(known == 0)
        facts["results_of_side_to_move"] = (
            f"{wins:.1%} won, {draws:.1%} drawn, {1 - wins - draws:.1%} lost"
        )
    first = dataset.to_pandas(5).to_dict("records")
    tables = {"first positions": first, BOARDS: details.boards(records)}
    return Summary(path, "dataset", facts, tables)


# Nets


def _checkpoint(path: Path) -> Summary:
    import torch

    from nnuelab.learning.checkpoint import content_of

    facts: dict[str, Any] = {}
    tensors: Table = []
    for name, value in leaves(content_of(path)):
        if isinstance(value, torch.Tensor) and value.numel() > 1:
            part = value.detach().double()
            tensors.append(
                {
                    "tensor": name,
                    "shape": " x ".join(map(str, value.shape)),
                    "dtype": str(value.dtype).removeprefix("torch."),
                    "mean": round(float(part.mean()), 5),
                    "sd": round(float(part.std()), 5),
                    "max_abs": round(float(part.abs().max()), 5),
                }
            )
        elif isinstance(value, bool | int | float | str):
            facts[name] = value
    return Summary(path, "checkpoint", facts, {"tensors": tensors})


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Values of nested dicts with dotted names."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _net(path: Path) -> Summary:
    from nnuelab.nnue.netfile import read_net

    net = read_net(path)
    shifts = [f"{LAYERS[name]} {shift}" for name, shift in net.shifts.items()]
    facts = {
        "feature_set": net.feature_set,
        "layers": str(net.layers),
        **({"shifts": ", ".join(shifts)} if shifts else {}),
        "scales": ", ".join(f"{name} {scale:g}" for name, scale in net.scales.items()),
    }
    rows = []
    for name, array in net.arrays().items():
        limit = np.iinfo(array.dtype)
        rows.append(
            {
                "array": name,
                "shape": " x ".join(map(str, array.shape)),
                "dtype": str(array.dtype),
                "min": int(array.min()),
                "max": int(array.max()),
                "zero": round(float(np.mean(array == 0)), 4),
                "at_limit": int(np.sum((array == limit.min) | (array == limit.max))),
            }
        )
    more, strongest = details.features(net)
    tables = {"arrays": rows, "features with the largest weights": strongest}
    return Summary(path, "net", facts | more, tables, dict(net.provenance) or None)


def _try_neurons(summary: Summary, positions: Path | None) -> None:
    """Adds the activity of the neurons on positions, where there are some."""
    from nnuelab.nnue.netfile import read_net

    path = summary.path.absolute()
    if positions is None and len(path.parents) > 3:
        # The workflow's nets are results/nets/SET/SEED/net.nnue.
        positions = path.parents[3] / "data" / "validation.npy"
        if not positions.is_file():
            positions = None
    if positions is None:
        summary.facts["dead_neurons"] = "unknown without positions; give --positions DATA"
        return
    more, rows = details.neurons(read_net(summary.path), positions)
    summary.facts.update(more)
    summary.tables["neurons with the most influence"] = rows


def _policy(path: Path) -> Summary:
    return Summary(path, "policy", *details.of_policy(path))


# Hand-crafted evaluations


def _evaluation(path: Path) -> Summary:
    facts, tables, made = texel_details.of_evaluation(path)
    return Summary(path, "evaluation", facts, tables, made)


def _trace(path: Path) -> Summary:
    return Summary(path, "trace", *texel_details.of_trace(path))


# Tables


def _csv(path: Path) -> Summary:
    columns = tuple(reading.read_csv(path, texts=None)[0])
    if columns in (table.COLUMNS, table.WITH_VARIANT):
        text = reading.read_table(path)
        return Summary(path, "table", details.of_table(path, text), {"rows": _values(text)})
    if columns == RATING_COLUMNS:
        rows = _values(reading.read_ratings(path))
        games = sum(row["games"] for row in rows) // 2
        return Summary(path, "ratings", {"players": len(rows), "games": games}, {"ratings": rows})
    if "validation_loss" in columns:
        rows = _values(reading.read_csv(path, ("epoch", "validation_loss")))
        losses = [row["validation_loss"] for row in rows]
        facts = {"epochs": len(rows), "validation_loss": losses[-1], "lowest": min(losses)}
        return Summary(path, "history", facts, {"epochs": rows})
    rows = _values(reading.read_csv(path, texts=None))
    if {"generation", "best_so_far"} <= {*columns}:
        return Summary(path, "tuning", *texel_details.of_history(rows))
    if {"weight", "tuned", "coverage"} <= {*columns}:
        return Summary(path, "terms", *texel_details.of_terms(rows))
    return Summary(path, "rows", {"rows": len(rows)}, {"rows": rows})


def _values(rows: list[dict[str, str]]) -> Table:
    return [{name: _value(text) for name, text in row.items()} for row in rows]


def _value(text: str) -> int | float | str | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def _json(path: Path) -> Summary:
    content = json_text.load(reading.text_of(path))
    if isinstance(content, dict) and "rms_cp" in content:
        worst = [dict(row) for row in content.get("worst", [])]
        facts = {key: value for key, value in content.items() if not isinstance(value, list | dict)}
        return Summary(path, "verification", facts, {"worst": worst})
    if isinstance(content, dict) and {"solved_rating", "groups"} <= content.keys():
        return of_puzzles(path, content)
    if isinstance(content, dict) and "pqr_centipawns" in content:
        return of_triplets(path, content)
    if isinstance(content, dict) and "superiority" in content:
        tables = {name: value for name, value in content.items() if isinstance(value, list)}
        del tables["covariance"]
        facts = {key: value for key, value in content.items() if not isinstance(value, list)}
        return Summary(path, "rating details", facts, tables)
    if isinstance(content, dict) and {"artifact", "sha256", "command"} <= content.keys():
        return Summary(path, "provenance", {"artifact": content["artifact"]}, {}, content)
    if isinstance(content, dict) and {"k_curve", "outliers"} <= content.keys():
        return Summary(path, "residuals", *texel_details.of_residuals(content))
    facts = dict(leaves(content if isinstance(content, dict) else {"values": content}))
    many = {name: f"{len(v)} values" for name, v in facts.items() if isinstance(v, list)}
    return Summary(path, "values", facts | many, {})


def of_puzzles(path: Path, content: dict[str, Any], themes: int | None = None) -> Summary:
    """Puzzle scores, as `nnuelab puzzles` writes them, with the first ``themes`` themes."""
    facts = {
        **{name: content[name] for name in ("solved_rating", "solved_rating_error")},
        **content["player"],
    }
    tables = {
        kind: [_short(group) for group in content["groups"] if group["kind"] == kind]
        for kind in ("all", "rating", "theme")
    }
    return Summary(path, "puzzles", facts, {**tables, "theme": tables["theme"][:themes]})


def of_triplets(path: Path, content: dict[str, Any]) -> Summary:
    """Nets on held-out triplets, as `nnuelab pqr` writes them."""
    rows = []
    for net in content["nets"]:
        row = {"net": net["net"]}
        for name in ("correlation", "slope"):
            row[name] = "" if net[name] is None else f"{net[name]:.3f}"
        for name in ("right_sign", "with_coin"):
            low, high = (100 * net[f"{name}_{end}"] for end in ("low", "high"))
            row[f"{name} %"] = f"{100 * net[name]:.1f} [{low:.1f}, {high:.1f}]"
        rows.append({**row, "tied %": f"{100 * net['tied']:.1f}"})
    return Summary(path, "triplets", {"triplets": content["nets"][0]["triplets"]}, {"nets": rows})


def _short(group: dict[str, Any]) -> dict[str, Any]:
    """A group of puzzles, each share with its interval in percent."""
    shown = {}
    for name in ("accuracy", "solved"):
        share = group["solved_share" if name == "solved" else name]
        low, high = group[f"{name}_low"], group[f"{name}_high"]
        shown[name] = f"{share:.1%} ({low:.1%} to {high:.1%})"
    return {
        "group": group["group"] or "all",
        "puzzles": group["puzzles"],
        "moves": group["moves"],
        **shown,
    }
