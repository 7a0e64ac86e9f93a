"""Nets in the raw layout of the trainer bullet: its weights one after another, without a header.

What bullet writes as ``quantised.bin`` is the list of arrays of its ``save_format``, little-endian,
matrices column-major (so the outputs of one input lie together), filled up with the word "bullet"
to a multiple of 64 bytes. For a net of ours that is, with its inputs ``Chess768``:

=====  ======  ============  ===============================
array  type    shape         quantised by
=====  ======  ============  ===============================
l0w    int16   [768][M]      127 * 2^l1_shift
l0b    int16   [M]           127 * 2^l1_shift
l1w    int8    [2M][O]       2^l2_shift
l1b    int32   [O]           127 * 2^l2_shift
l2w    int16   [O]           centipawns * 2^out_shift / 127
l2b    int32   [1]           centipawns * 2^out_shift
=====  ======  ============  ===============================

Chess768 numbers a piece of colour c (0 own), role r on square s as 384 c + 64 r + s. Sources:
jw1912/bullet, ``Chess768::map_features``, ``SavedFormat`` and ``examples/simple.rs``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts, features
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.nnue import study
from nnuelab.nnue.netfile import Net, plain

INPUTS = 768
PADDED = 64  # bytes
FILLING = b"bullet"
BITS = {"w1": "<i2", "b1": "<i2", "w2": "<i1", "b2": "<i4", "w3": "<i2", "b3": "<i4"}


def _order() -> np.ndarray:
    """int64[768]: our number of each feature of Chess768."""
    return study.by_axes(
        features.parse("ALL").terms[0].factors[0], "COLORS x ROLES x RANKS x FILES"
    )


def _length(m: int, o: int) -> int:
    """Bytes of a net's arrays."""
    return 2 * INPUTS * m + 2 * m + 2 * m * o + 4 * o + 2 * o + 4


def _simple_length(m: int) -> int:
    """Bytes of a net of bullet's example ``simple``: (768 -> M) x2 -> 1, all int16."""
    return 2 * (INPUTS * m + m + 2 * m + 1)


def _padded(length: int) -> int:
    return -(-length // PADDED) * PADDED


def write(path: Path | str, net: Net) -> None:
    """Writes a net of ALL in bullet's layout, atomically.

    Raises
    ------
    UserError
        When the net has other inputs or layers.
    """
    plain(path, net, "bullet's layout of clipped layers")
    if net.feature_set != "ALL":
        raise UserError(
            f"{path}: bullet's inputs Chess768 can't hold {net.feature_set}, they are ALL alone; "
            "convert a net of ALL, or to .nn"
        )
    arrays = {**net.arrays(), "w1": net.w1[_order()], "w2": net.w2.T}
    body = b"".join(np.ascontiguousarray(arrays[k], t).tobytes() for k, t in BITS.items())
    with artifacts.atomic(path) as temporary:
        temporary.write_bytes(body + _filling(len(body)))


def _filling(length: int) -> bytes:
    return (FILLING * PADDED)[: _padded(length) - length]


def read(path: Path | str, l2: int | None, shifts: Mapping[str, int]) -> Net:
    """Reads a net (768 -> M) x2 -> O -> 1 in bullet's layout.

    The file doesn't say how many neurons it has nor what its integers mean.

    Parameters
    ----------
    l2 : int or None
        O; M follows from the file's length.
    shifts : mapping
        ``l1_shift``, ``l2_shift`` and ``out_shift`` of :class:`Net`.

    Raises
    ------
    UserError
        When the file is missing, or its length is not that of such a net.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"can't read the net {path}: {error.strerror}") from error
    if l2 is None:
        raise UserError(
            f"{path} doesn't say how many neurons its layers have; give those of the second with "
            f"--l2{_no_second_layer(len(content))}"
        )
    m = max((len(content) - _length(0, l2)) // (_length(1, l2) - _length(0, l2)), 1)
    need = _padded(_length(m, l2))
    if need != len(content):
        more = _padded(_length(m + 1, l2))
        raise UserError(
            f"{path} has {len(content):,} bytes; a net (768 -> M) x2 -> {l2} -> 1 has {need:,} "
            f"with M = {m} and {more:,} with M = {m + 1}: it is cut off, or has another --l2"
            f"{_no_second_layer(len(content))}"
        )
    if content[_length(m, l2) :] != _filling(_length(m, l2)):
        raise UserError(
            f"{path} doesn't end as bullet's files of a net (768 -> {m}) x2 -> {l2} -> 1 do: "
            "it is damaged, or has another --l2 or other layers"
        )
    shapes = {"w1": (INPUTS, m), "b1": (m,), "w2": (2 * m, l2), "b2": (l2,), "w3": (l2,)}
    arrays: dict[str, np.ndarray] = {}
    offset = 0
    for name, dtype in BITS.items():
        shape = shapes.get(name, (1,))
        raw = np.frombuffer(content, dtype, int(np.prod(shape)), offset)
        arrays[name] = raw.reshape(shape).copy()
        offset += raw.nbytes
    w1 = np.empty_like(arrays["w1"])
    w1[_order()] = arrays["w1"]
    try:
        fields: dict[str, Any] = {**arrays, **shifts, "w1": w1, "w2": arrays["w2"].T}
        blocks = fingerprint.of_blocks(features.parse("ALL"))
        return Net("ALL", **fields, provenance={"format": "bullet"}, blocks=blocks)
    except ValueError as error:
        raise UserError(f"{path} can't be a net of this project: {error}") from error


def _no_second_layer(length: int) -> str:
    """What to say of a length that is that of bullet's usual nets, which can't be held."""
    m = (length - _simple_length(0)) // (_simple_length(1) - _simple_length(0))
    if m < 1 or _padded(_simple_length(m)) != length:
        return ""
    return (
        f" (if it is bullet's `simple`, (768 -> {m}) x2 -> 1: a net of this project has a second "
        "layer and clipped activations with 127 for 1.0, so it can't hold that)"
    )
