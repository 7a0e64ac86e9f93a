"""Labels of a part of the samples, by one of several jobs, and all parts put together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nnuelab import artifacts, files, json_text
from nnuelab.errors import UserError
from nnuelab.parts import Part, whole


class Labelled(NamedTuple):
    """Labels of some samples, in their order.

    Attributes
    ----------
    scores : int16 [n]
        NO_SCORE: none.
    moves : uint16 [n]
        The best ones.
    failed : int
        Positions that have none because the labeller failed.
    """

    scores: np.ndarray
    moves: np.ndarray
    failed: int


def write(path: Path, identity: Mapping[str, Any], part: Part, labels: Labelled) -> None:
    """Writes a part, a .npz, whose members have checksums.

    Parameters
    ----------
    path : Path
    identity : mapping
        JSON: all that the labels of all parts depend on.
    part : Part
    labels : Labelled
        Of that part of the samples.
    """
    head = {"identity": identity, "part": [part.i, part.n], "failed": labels.failed}
    text = np.frombuffer(json.dumps(head, sort_keys=True).encode(), np.uint8)
    with artifacts.atomic(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, head=text, scores=labels.scores, moves=labels.moves)


def join(paths: Iterable[Path], identity: Mapping[str, Any], count: int) -> Labelled:
    """The labels of all ``count`` samples, from all parts in any order.

    Raises
    ------
    UserError
        For a file that is damaged, of other samples or another labeller, and for parts that are
        missing or there twice.
    """
    scores, moves, failed = np.zeros(count, np.int16), np.zeros(count, np.uint16), 0
    seen: dict[int, Path] = {}
    among = 0
    for path in paths:
        part, found = _read(path, identity, count)
        among = among or part.n
        if part.i in seen or part.n != among:
            raise UserError(
                f"{path} is part {part.i}/{part.n}, beside {next(iter(seen.values()))}, one of "
                f"{among}; give each part once, all of one division"
            )
        seen[part.i] = path
        places = part.of(range(count))
        scores[places.start : places.stop] = found.scores
        moves[places.start : places.stop] = found.moves
        failed += found.failed
    missing = next((i for i in range(1, among + 1) if i not in seen), 0)
    if missing:
        raise UserError(
            f"part {missing}/{among} of the labels is missing; make it (nnuelab label-part)"
        )
    return Labelled(scores, moves, failed)


def _read(path: Path, identity: Mapping[str, Any], count: int) -> tuple[Part, Labelled]:
    with whole(path, "part of labels"):
        files.check_archive(path)
        with np.load(path, allow_pickle=False) as members:
            # A member whose first bytes are damaged comes as bytes.
            text, scores, moves = (np.asarray(members[n]) for n in ("head", "scores", "moves"))
        head = json_text.load(text.tobytes())
        part = Part.parse("{}/{}".format(*head["part"]))
        labels = Labelled(scores, moves, int(head["failed"]))
        is_sound = head["identity"] == identity
    if not is_sound:
        raise UserError(f"{path} is of other samples or another labeller; make it again")
    kinds = (labels.scores.dtype, labels.moves.dtype)
    shapes = {labels.scores.shape, labels.moves.shape}
    if kinds != (np.int16, np.uint16) or shapes != {(len(part.of(range(count))),)}:
        raise UserError(f"{path} is damaged: its labels aren't those of its part; make it again")
    return part, labels
