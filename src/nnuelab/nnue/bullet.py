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

A net of its examples, (768 -> M) x2 -> 1, has l1w and l1b in place of the last four arrays:

=====  ======  ============  ===============================
l1w    int16   [2M]          64
l1b    int16   [1]           255 * 64
=====  ======  ============  ===============================

and 255 for 1.0 of its first layer; its engine says what 1.0 of the output is, 400 centipawns.

Chess768 numbers a piece of colour c (0 own), role r on square s as 384 c + 64 r + s. Sources:
jw1912/bullet, ``Chess768::map_features``, ``SavedFormat`` and ``examples/simple.rs``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts, features, files
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.nnue import study
from nnuelab.nnue.layers import Direct
from nnuelab.nnue.netfile import Net, no_second_layer, plain

INPUTS = 768
PADDED = 64  # bytes
FILLING = b"bullet"
BITS = {"w1": "<i2", "b1": "<i2", "w2": "<i1", "b2": "<i4", "w3": "<i2", "b3": "<i4"}
DIRECT_BITS = {"w1": "<i2", "b1": "<i2", "w3": "<i2", "b3": "<i2"}


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
    if net.direct is None:
        plain(path, net, "bullet's layout of clipped layers")
    if net.feature_set != "ALL":
        raise UserError(
            f"{path}: bullet's inputs Chess768 can't hold {net.feature_set}, they are ALL alone; "
            "convert a net of ALL, or to .nn"
        )
    bits, arrays = BITS, {**net.arrays(), "w1": net.w1[_order()]}
    if net.direct is None:
        arrays["w2"] = net.w2.T
    else:
        bits = DIRECT_BITS
        if abs(int(net.b3[0])) > np.iinfo(np.int16).max:
            raise UserError(f"{path}: the last bias, {net.b3[0]}, doesn't fit bullet's int16")
    body = b"".join(np.ascontiguousarray(arrays[k], t).tobytes() for k, t in bits.items())
    with artifacts.atomic(path) as temporary:
        temporary.write_bytes(body + _filling(len(body)))


def _filling(length: int) -> bytes:
    return (FILLING * PADDED)[: _padded(length) - length]


def read(path: Path | str, l2: int, shifts: Mapping[str, int]) -> Net:
    """Reads a net (768 -> M) x2 -> O -> 1 in bullet's layout.

    The file doesn't say how many neurons it has nor what its integers mean.

    Parameters
    ----------
    l2 : int
        O; M follows from the file's length.
    shifts : mapping
        ``l1_shift``, ``l2_shift`` and ``out_shift`` of :class:`Net`.

    Raises
    ------
    UserError
        When the file is missing, or its length is not that of such a net.
    """
    content = _content(path)
    m = _neurons(path, content, lambda m: _length(m, l2), f"{l2} -> 1", "--l2")
    shapes = {"w1": (INPUTS, m), "b1": (m,), "w2": (2 * m, l2), "b2": (l2,), "w3": (l2,)}
    arrays = _arrays(content, BITS, shapes)
    return _net(path, {**arrays, **shifts, "w2": arrays["w2"].T})


def read_direct(path: Path | str, direct: Direct, activation: str) -> Net:
    """Reads a net (768 -> M) x2 -> 1 in bullet's layout.

    Parameters
    ----------
    direct : Direct
        What its integers mean.
    activation : {"clipped", "squared"}

    Raises
    ------
    UserError
        When the file is missing, or its length is not that of such a net.
    """
    content = _content(path)
    m = _neurons(path, content, _simple_length, "1", "--direct")
    arrays = _arrays(content, DIRECT_BITS, {"w1": (INPUTS, m), "b1": (m,), "w3": (2 * m,)})
    b3 = arrays["b3"].astype(np.int32)
    return _net(
        path,
        {**arrays, "b3": b3, **no_second_layer(m), "direct": direct, "activation": activation},
    )


def is_direct(path: Path | str) -> bool:
    """Whether a file may be a net without a second layer: its length is that of one."""
    length = len(_content(path))
    m = (length - _simple_length(0)) // (_simple_length(1) - _simple_length(0))
    return m >= 1 and _padded(_simple_length(m)) == length


def _content(path: Path | str) -> bytes:
    try:
        return files.content(path)
    except OSError as error:
        raise UserError(f"can't read the net {path}: {error.strerror}; check its name") from error


def _neurons(
    path: Path | str, content: bytes, length: Callable[[int], int], behind: str, option: str
) -> int:
    """M, by the length of a file that has ``length(M)`` bytes; UserError where there is none."""
    m = max((len(content) - length(0)) // (length(1) - length(0)), 1)
    need = _padded(length(m))
    if need != len(content):
        raise UserError(
            f"{path} has {len(content):,} bytes; a net (768 -> M) x2 -> {behind} has {need:,} "
            f"with M = {m} and {_padded(length(m + 1)):,} with M = {m + 1}: it is cut off, or has "
            f"other layers than {option} says"
        )
    if content[length(m) :] != _filling(length(m)):
        raise UserError(
            f"{path} doesn't end as bullet's files of a net (768 -> {m}) x2 -> {behind} do: "
            f"it is damaged, or has other layers than {option} says"
        )
    return m


def _arrays(
    content: bytes, bits: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    """The arrays in their order, each of a shape, or a single number."""
    arrays: dict[str, np.ndarray] = {}
    offset = 0
    for name, dtype in bits.items():
        shape = shapes.get(name, (1,))
        raw = np.frombuffer(content, dtype, int(np.prod(shape)), offset)
        arrays[name] = raw.reshape(shape).copy()
        offset += raw.nbytes
    w1 = np.empty_like(arrays["w1"])
    w1[_order()] = arrays["w1"]
    return {**arrays, "w1": w1}


def _net(path: Path | str, fields: Mapping[str, Any]) -> Net:
    blocks = fingerprint.of_blocks(features.parse("ALL"))
    try:
        return Net("ALL", **fields, provenance={"format": "bullet"}, blocks=blocks)
    except ValueError as error:
        raise UserError(f"{path} can't be a net of this project: {error}") from error
