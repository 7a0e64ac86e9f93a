"""Positions as counts of weights: what an evaluation with any weights has to know of them.

A hand-crafted evaluation is linear in its weights. So a position is a short list of weights and of
how often each of them counts, White's less Black's, with the phase and the result of its game. The
error of any weights is then one pass over this memory, without boards, features or a search (the
idea is A. Grant's, "Evaluation & Tuning in Chess Engines", 2020).

A trace is one file: MAGIC, a JSON header of HEADER bytes in all, then the arrays, each on a cache
line. It is mapped into memory when it is opened.
"""

from __future__ import annotations

import builtins
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from nnuelab import __version__, artifacts, files, json_text
from nnuelab.data import validation
from nnuelab.data.dataset import Dataset
from nnuelab.data.records import white_results
from nnuelab.errors import UserError
from nnuelab.hce.evaluation import FULL, Evaluation
from nnuelab.jit import CACHE_LINE
from nnuelab.progress import Progress

MAGIC = b"nnuelab trace 1\n"
HEADER = 4096  # bytes
CHUNK = 1 << 13  # positions that are traced at once
MOST_WEIGHTS = 1 << 16  # what uint16 numbers
_ARRAYS: dict[str, np.dtype] = {
    "starts": np.dtype("<u8"),
    "phase": np.dtype("u1"),
    "results": np.dtype("<f4"),
    "games": np.dtype("<u4"),
    "terms": np.dtype("<u2"),
    "counts": np.dtype("i1"),
}
_FAULTS = ("", "starts", "weights", "phases", "results")


@dataclass(frozen=True, eq=False)
class Trace:
    """Positions as counts of weights.

    Attributes
    ----------
    path : Path or None
        None: made in memory.
    fingerprint : str
        Of the evaluation, whatever its weights (`Evaluation.fingerprint`).
    n_weights : int
    starts : ndarray of uint64 [n + 1]
        The entries of position i are starts[i] to starts[i + 1].
    terms : ndarray of uint16 [all]
        Numbers of weights, ascending within a position, each once.
    counts : ndarray of int8 [all]
        How often White has it, less how often Black has it; not 0.
    phase : ndarray of uint8 [n]
        0 to 24, middlegame.
    results : ndarray of float32 [n]
        Of the game, for White: 1, 0.5, 0.
    games : ndarray of uint32 [n]
        Number of the game.
    """

    path: Path | None
    fingerprint: str
    n_weights: int
    starts: np.ndarray
    terms: np.ndarray
    counts: np.ndarray
    phase: np.ndarray
    results: np.ndarray
    games: np.ndarray

    def __len__(self) -> int:
        return len(self.phase)

    def coverage(self) -> np.ndarray:
        """The share of positions in which each weight counts, float64 [n_weights, 2].

        A middlegame weight counts where a piece with a phase is left, an endgame weight where one
        is missing.
        """
        from nnuelab.hce import trace_kernels as kernels

        hits = np.zeros((self.n_weights, 2), np.int64)
        kernels.hits(self.starts, self.terms, self.phase, hits)
        return hits / max(len(self), 1)


def never_hit(coverage: np.ndarray, evaluation: Evaluation) -> list[str]:
    """Labels of the weights that no position counts: nothing can be learnt of them."""
    return [label for label, own in zip(evaluation.labels, coverage, strict=True) if not own.any()]


def open(path: Path | str, evaluation: Evaluation | None = None) -> Trace:
    """The trace of a file, mapped into memory and read once, to check it.

    Parameters
    ----------
    path : Path
    evaluation : Evaluation, optional
        That it has to belong to.

    Raises
    ------
    UserError
        When the file is missing, none, damaged, or made with other terms.
    """
    path = Path(path)
    header = _header(path)
    arrays, offset = {}, HEADER
    for name, dtype in _ARRAYS.items():
        n = header["entries"] if name in ("terms", "counts") else header["positions"]
        n += name == "starts"
        # A mapping of nothing is an error.
        arrays[name] = np.memmap(path, dtype, "r", offset, (n,)) if n else np.zeros(0, dtype)
        offset = _aligned(offset + n * dtype.itemsize)
    trace = Trace(path, header["fingerprint"], header["n_weights"], **arrays)
    _check(trace)
    if evaluation is not None and evaluation.fingerprint() != trace.fingerprint:
        raise UserError(
            f"{path} is a trace of another evaluation ({header['evaluation']}: other terms, phases "
            f"or blocks than {evaluation.name}); make it again with `nnuelab texel trace`"
        )
    return trace


def _header(path: Path) -> dict[str, Any]:
    try:
        files.require(path)
        size = path.stat().st_size
        with builtins.open(path, "rb") as file:
            head = file.read(HEADER)
    except FileNotFoundError:
        raise UserError(f"there is no trace {path}; make it with `nnuelab texel trace`") from None
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}; name a trace") from error
    if not head.startswith(MAGIC):
        raise UserError(f"{path} is no trace; make one with `nnuelab texel trace`")
    try:
        header = json_text.load(head[len(MAGIC) :])
        whole = _size(header["positions"], header["entries"])
        fits = 0 < header["n_weights"] <= MOST_WEIGHTS and size == whole
        fits = fits and all(isinstance(header[name], str) for name in ("fingerprint", "evaluation"))
    except (ValueError, KeyError, TypeError):
        fits = False
    if not fits:
        raise UserError(f"{path} is damaged or cut off; make it again with `nnuelab texel trace`")
    return header


def _check(trace: Trace) -> None:
    """Raises UserError where an index of a file leads out of its arrays."""
    from nnuelab.hce import trace_kernels as kernels

    starts = trace.starts
    found = kernels.fault(
        starts, trace.terms, trace.phase, trace.results, trace.n_weights, np.uint8(FULL)
    )
    if starts[0] != 0 or starts[-1] != len(trace.terms):
        found = 1
    if found:
        raise UserError(
            f"{trace.path} is damaged: its {_FAULTS[found]} can't be; make it again with "
            "`nnuelab texel trace`"
        )


def _aligned(offset: int) -> int:
    return -(-offset // CACHE_LINE) * CACHE_LINE


def _size(positions: int, entries: int) -> int:
    """Bytes of a file."""
    offset = HEADER
    for name, dtype in _ARRAYS.items():
        n = entries if name in ("terms", "counts") else positions + (name == "starts")
        offset = _aligned(offset + n * dtype.itemsize)
    return offset


def write(path: Path | str, positions: Dataset, evaluation: Evaluation) -> Trace:
    """Traces all positions of a dataset into a file, chunk by chunk.

    Raises
    ------
    UserError
        When a position has no result or there is none, when a count doesn't fit, or when the disk
        is full; no file is written then.
    """
    path = Path(path)
    n = len(positions)
    if not n:
        raise UserError(f"{positions.path} has no positions; nothing can be learnt of them")
    places, entries, done = _places(n), 0, 0
    with (
        artifacts.atomic(path) as temporary,
        builtins.open(temporary, "r+b") as file,
        # Numbers of weights are written as they come. How many there will be, nobody knows, so what
        # comes behind them waits in a file of its own.
        tempfile.TemporaryFile(dir=path.parent) as counted,
        Progress(n, "positions", "trace") as progress,
    ):
        _put(file, places["starts"], np.zeros(1, np.uint64))
        for chunk in traced(positions, evaluation):
            chunk["starts"] += np.uint64(entries)
            for name in ("starts", "phase", "results", "games"):
                row = done + (name == "starts")
                _put(file, places[name] + row * _ARRAYS[name].itemsize, chunk[name])
            _put(file, places["terms"] + 2 * entries, chunk["terms"])
            counted.write(chunk["counts"].data)
            entries += len(chunk["terms"])
            done += len(chunk["phase"])
            progress.advance(len(chunk["phase"]))
        file.seek(_aligned(places["terms"] + 2 * entries))
        counted.seek(0)
        shutil.copyfileobj(counted, file, 1 << 20)
        file.truncate(_size(n, entries))
        header = {
            "fingerprint": evaluation.fingerprint(),
            "evaluation": evaluation.name[:200],
            "n_weights": evaluation.n_weights,
            "positions": n,
            "entries": entries,
            "dataset": positions.content_hash(),
            "version": __version__,
        }
        head = MAGIC + json.dumps(header).encode()
        _put(file, 0, np.frombuffer(head.ljust(HEADER), np.uint8))
    return open(path, evaluation)


def _places(positions: int) -> dict[str, int]:
    """Where the arrays begin; ``counts``, behind an unknown number of entries, isn't among them."""
    places, offset = {}, HEADER
    for name, dtype in _ARRAYS.items():
        if name == "counts":
            break
        places[name] = offset
        offset = _aligned(offset + (positions + (name == "starts")) * dtype.itemsize)
    return places


def _put(file: BinaryIO, at: int, array: np.ndarray) -> None:
    file.seek(at)
    file.write(array.tobytes())


def traced(positions: Dataset, evaluation: Evaluation) -> Iterator[dict[str, np.ndarray]]:
    """The arrays of a trace, CHUNK positions at a time; ``starts`` are ends, counted in the chunk.

    Raises
    ------
    UserError
        When a position is damaged or has no result, or a count doesn't fit.
    """
    from nnuelab.hce.tracer import Tracer

    if evaluation.n_weights > MOST_WEIGHTS:
        raise UserError(
            f"{evaluation.name} has {evaluation.n_weights:,} weights, a trace holds "
            f"{MOST_WEIGHTS:,}: leave terms out, or name fewer concepts in `by`"
        )
    tracer = Tracer(evaluation, CHUNK)
    for start in range(0, len(positions), CHUNK):
        for records in positions.parts(start, start + CHUNK):
            validation.check(records, positions.path)
            results = _results(positions, records)
            try:
                ends, terms, counts, phase = tracer(records)
            except OverflowError as error:
                raise UserError(f"{positions.path}: {error}") from None
            yield {
                "starts": ends.astype(np.uint64),
                "phase": phase,
                "results": results,
                "games": records["game"].astype(np.uint32),
                "terms": terms,
                "counts": counts,
            }


def _results(positions: Dataset, records: np.ndarray) -> np.ndarray:
    """float32 [n]: for White, of the results for the side to move."""
    if np.abs(records["result"]).max() > 1:  # UNKNOWN_RESULT, too
        raise UserError(
            f"{positions.path} has positions without a result; take those of games that ended: "
            "nnuelab texel positions"
        )
    return ((white_results(records) + np.float32(1)) / 2).astype(np.float32)
