"""Nets of the trainer nnue-pytorch, ``.nnue`` files as Stockfish read them until its version 14.1.

All little-endian; [..] are arrays, each raw or, behind ``COMPRESSED_LEB128`` and a uint32 with its
bytes, signed LEB128::

    uint32 version, uint32 hash of all, uint32 length, description
    uint32 hash of the feature transformer, [int16 M], [int16 N x M], [int32 N x K of the psqt]
    for each of K layer stacks:
        uint32 hash of the layers, and of each: int32 biases, int8 weights [outputs][inputs],
        inputs filled up with zeros to a multiple of 32

Nothing says how large the layers are but the hashes and the length. A layer's hash is made of that
of the layer before. What a net says is, in integers,

    x = clamp(acc, 0, 127); y = clamp((b + w x) >> 6, 0, 127), twice
    value = ((w y + b) + (psqt of the side to move - psqt of the other) / 2) / 16

Sources: official-stockfish/nnue-pytorch, ``serialize.py`` and ``halfka_v2_hm.py``; Stockfish,
``nnue_common.h``, ``layers/`` and ``evaluate_nnue.cpp`` of its version 14.1.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnuelab import features
from nnuelab.errors import UserError
from nnuelab.nnue import study

MAGIC = struct.pack("<I", 0x7AF32F20)  # the version
COMPRESSED = b"COMPRESSED_LEB128"
SETS = {0x7F234CB8: "HALFKAV2_HM", 0x5F234CB8: "HALFKAV2"}
OTHER_SETS = {0x5D69D5B8: "HalfKP", 0x5F134CB8: "HalfKA"}
AXES = "KING SQUARES x PLANES x RANKS x FILES"
PADDED = 32  # inputs of a layer
STACKS = (1, 8)  # their piece counts are those of our buckets
WIDEST = 1 << 14  # neurons of an accumulator
MOST = 512  # neurons of a further layer, when sizes are looked for
CHUNK = 1 << 22  # bytes that are decompressed at once
LONGEST = 5  # bytes of a number of 32 bits


@dataclass
class _Reader:
    """Reads a file from its beginning to its end."""

    content: bytes
    place: int = 0

    @property
    def left(self) -> int:
        return len(self.content) - self.place

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise UserError(f"it is truncated: {size:,} bytes should follow byte {self.place:,}")
        self.place += size
        return self.content[self.place - size : self.place]

    def word(self) -> int:
        return int(struct.unpack("<I", self.take(4))[0])

    def array(self, dtype: str, count: int) -> np.ndarray:
        return np.frombuffer(self.take(count * np.dtype(dtype).itemsize), dtype)

    @property
    def is_compressed(self) -> bool:
        return self.content.startswith(COMPRESSED, self.place)

    def compressed(self, dtype: str, *counts: int) -> np.ndarray:
        """The numbers of a compressed section, as many as one of ``counts``.

        They are counted before memory for them is taken.
        """
        self.take(len(COMPRESSED))
        content = np.frombuffer(self.take(self.word()), np.uint8)
        found = np.count_nonzero(content < 0x80)
        if found not in counts:
            told = " or ".join(f"{count:,}" for count in counts)
            raise UserError(f"a compressed section has {found:,} numbers, should have {told}")
        return decompressed(content, dtype)

    def tensor(self, dtype: str, count: int) -> np.ndarray:
        """An array of so many numbers, raw or compressed."""
        return self.compressed(dtype, count) if self.is_compressed else self.array(dtype, count)


def decompressed(content: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers of signed LEB128, uint8[bytes]: 7 bits a byte, low ones first, a mark on all but
    the last byte of a number, whose highest bit is the sign."""
    ends = np.flatnonzero(content < 0x80) + 1
    if not len(content) or not len(ends) or ends[-1] != len(content):
        raise UserError("a compressed section ends within a number")
    found = np.empty(len(ends), dtype)
    limits = np.iinfo(dtype)
    first = 0
    while first < len(ends):
        start = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, start + CHUNK, "right")), first + 1)
        lengths = np.diff(ends[first:last], prepend=start)
        if lengths.max() > LONGEST:
            raise UserError("a compressed section has a number of more than 32 bits")
        starts = np.cumsum(lengths) - lengths
        part = content[start : int(ends[last - 1])].astype(np.int64)
        places = np.arange(len(part)) - np.repeat(starts, lengths)
        values = np.add.reduceat((part & 0x7F) << (7 * places), starts)
        values -= (part[starts + lengths - 1] >> 6 & 1) << (7 * lengths)
        if values.min() < limits.min or values.max() > limits.max:
            raise UserError(f"a compressed section has a number of more than {limits.bits} bits")
        found[first:last] = values
        first = last
    return found


def parse(content: bytes) -> dict[str, Any]:
    """The fields of a Net, of a file that begins with MAGIC.

    Raises
    ------
    UserError
        When it is damaged, or has layers or features that no net of this project has.
    """
    reader = _Reader(content, len(MAGIC))
    of_all, length = reader.word(), reader.word()
    said = reader.take(length).decode(errors="replace")
    of_features = reader.word()
    expression, m = _features_of(of_features)
    n = features.parse(expression).size
    fields: dict[str, Any] = {"b1": reader.tensor("<i2", m)}
    fields["w1"] = reader.tensor("<i2", n * m).reshape(n, m)
    of_layers = of_all ^ of_features
    psqt, stacks, o, p = _behind(reader, n, m, _sizes_of(of_layers, m))
    layers = [_stack(reader, of_layers, 2 * m, o, p) for _ in range(stacks)]
    _check_skip(layers, o)
    for name in ("w2", "b2", "wh", "bh", "w3", "b3"):
        fields[name] = np.concatenate([stack[name] for stack in layers])
    fields |= {"w3": fields["w3"].astype(np.int16), "buckets": stacks}
    fields |= {"l1_shift": 0, "l2_shift": 6, "l3_shift": 6, "out_shift": 4}
    if psqt is not None:  # halved there, so all else is doubled
        if np.abs(fields["b3"], dtype=np.int64).max() > np.iinfo(np.int32).max // 2:
            raise UserError("the last bias is too large to be doubled")
        fields |= {"w3": 2 * fields["w3"], "b3": 2 * fields["b3"], "out_shift": 5}
        fields["psqt"] = psqt
    for name in ("w1", "psqt"):
        if name in fields:
            ours = np.empty_like(fields[name])
            ours[_order(expression)] = fields[name]
            fields[name] = ours
    told = "".join(c for c in said if c.isprintable())[:200]
    fields["provenance"] = {"format": "nnue-pytorch", "description": told}
    return {"feature_set": expression, **fields}


def _features_of(found: int) -> tuple[str, int]:
    """The feature set and M, by the hash of the feature transformer."""
    sizes = {
        value: (found ^ value) // 2 for value in (SETS | OTHER_SETS) if not (found ^ value) & 1
    }
    known = {value: m for value, m in sizes.items() if 1 <= m <= WIDEST}
    for value, m in known.items():
        if value in SETS:
            return SETS[value], m
    if known:
        told = OTHER_SETS[next(iter(known))]
        raise UserError(f"its features are {told}; HalfKAv2_hm and HalfKAv2 can be read")
    raise UserError(
        f"its features are unknown (hash {found:#010x}: newer ones, such as threats, or a damaged "
        "file); HalfKAv2_hm and HalfKAv2 can be read"
    )


def layers_hash(m: int, *outputs: Any) -> Any:
    """uint32 of layers with so many neurons, the last one with 1; of arrays an array."""
    found: Any = np.uint64(0xEC42E90D ^ (2 * m))
    for size in outputs:
        sizes = np.asarray(size, np.uint64)
        found = (0xCC03DAE4 + sizes) ^ (found >> np.uint64(1)) ^ (found << np.uint64(31))
        found = found & np.uint64(0xFFFFFFFF)
        found = np.where(sizes != 1, (found + 0x538D24C7) & np.uint64(0xFFFFFFFF), found)
    return found


def _sizes_of(found: int, m: int) -> list[tuple[int, int]]:
    """O and P that the hash of the layers may stand for: one of each, but by chance."""
    sizes = np.arange(2, MOST + 1)
    fits = np.argwhere(layers_hash(m, sizes[:, None], sizes, 1) == found) + 2
    if not len(fits):
        raise UserError(
            f"its layers are unknown (hash {found:#010x}): nets {m} x2 -> O -> P -> 1 can be read"
        )
    return [(int(o), int(p)) for o, p in fits]


def _filled(size: int) -> int:
    return -(-size // PADDED) * PADDED


def _stack_bytes(inputs: int, o: int, p: int) -> int:
    layers = ((inputs, o), (o, p), (p, 1))
    return 4 + sum(outputs * (4 + _filled(size)) for size, outputs in layers)


def _behind(
    reader: _Reader, n: int, m: int, sizes: list[tuple[int, int]]
) -> tuple[np.ndarray | None, int, int, int]:
    """The psqt, int32[N, stacks] or [N], number of stacks, O and P, by the length of what is left.

    The layers follow.
    """
    psqt = (
        reader.compressed("<i4", *(n * stacks for stacks in STACKS))
        if reader.is_compressed
        else None
    )
    counts = (0, *STACKS) if psqt is None else (len(psqt) // n,)
    for inputs in (2 * m, m):
        for o, p in sizes:
            for values in counts:
                for stacks in STACKS:
                    here = 4 * n * values if psqt is None else 0
                    fits = reader.left == here + stacks * _stack_bytes(inputs, o, p)
                    if not fits or values not in (0, stacks):
                        continue
                    if inputs == m:
                        raise UserError(
                            "its second layer gets products of pairs of neurons, rounded down "
                            "(Stockfish since SFNNv4), which no net of this project has"
                        )
                    if psqt is None and values:
                        psqt = reader.array("<i4", n * values)
                    if psqt is not None and values > 1:
                        psqt = psqt.reshape(n, values)
                    return psqt, stacks, o, p
    o, p = sizes[0]
    raise UserError(
        f"{reader.left:,} bytes follow the features, which aren't 1 or 8 stacks of layers "
        f"{m} x2 -> {o} -> {p} -> 1, each with a psqt or without: it is damaged, or has others"
    )


def _stack(reader: _Reader, hash_: int, inputs: int, o: int, p: int) -> dict[str, np.ndarray]:
    """The arrays of one stack; ``wh`` as wide as in the file."""
    found = reader.word()
    if found != hash_:
        raise UserError(f"the hash of a layer stack is {found:#010x}, should be {hash_:#010x}")
    arrays: dict[str, np.ndarray] = {}
    for weights, biases, size, outputs in (
        ("w2", "b2", inputs, o),
        ("wh", "bh", o, p),
        ("w3", "b3", p, 1),
    ):
        arrays[biases] = reader.array("<i4", outputs)
        wide = reader.array("<i1", outputs * _filled(size)).reshape(outputs, -1)
        if weights == "wh" and wide[:, size:].any():
            raise UserError(
                f"its third layer gets more than the {size} sums of the second: squares, too "
                "(Stockfish since SFNNv5), as they are rounded in no net of this project"
            )
        if wide[:, size:].any():
            raise UserError("there are weights where a layer has no inputs; it is damaged")
        arrays[weights] = wide[:, :size]
    return arrays | {"w3": arrays["w3"].ravel()}


def _check_skip(stacks: list[dict[str, np.ndarray]], o: int) -> None:
    """Nets whose last neuron of the second layer goes to the output have the hash of others."""
    if not any(stack["wh"][:, -1].any() for stack in stacks):
        raise UserError(
            f"the last of {o} neurons of its second layer isn't read by the third, but goes "
            "straight to the output (as in SFNNv4); no net of this project has that"
        )


def _order(expression: str) -> np.ndarray:
    """int64[N]: our number of each feature, in the file's order.

    That is by king, piece and square, as ours; but where boards are mirrored, the king stands on
    files e to h there, and its squares are numbered from h8 to e1.
    """
    numbers = study.by_axes(features.parse(expression).terms[0].factors[0], AXES)
    if expression == "HALFKAV2":
        return numbers
    by_king = numbers.reshape(8, 4, 11, 8, 8)  # ranks, files a to d; planes; ranks, files
    return by_king[::-1, :, :, :, ::-1].ravel()
