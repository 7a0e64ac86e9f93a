"""Net files: the project's own (``.nnue``) and the study's interchange format (``.nn``).

The project's file is a :mod:`nnuelab.learning.container` with the magic ``NNUELAB\\0``. Its header
has the canonical feature set, fingerprints of its blocks, sizes, activation, scales, shifts, the
list of arrays, and provenance.

The study's file (``.nn``) has no magic, version or checksum: name, NUL, N, M, O, then the arrays,
its features by other names and in another order (:mod:`study`).
This module needs neither numba nor torch.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import artifacts, features
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.learning import container
from nnuelab.nnue import nnue_pytorch, study
from nnuelab.nnue.layers import ACTIVATIONS, LEVELS, MAX_PIECES, OF_FEATURES, Direct, Layers

DEFAULT_NET = Path(__file__).parent / "nets" / "default.nnue"  # which ships with the package
MAGIC = b"NNUELAB\0"
VERSION = 1

# The study's scheme (its only one): x127 activations, x64 second-layer weights, 1/16 centipawns.
STUDY_SHIFTS = {"l1_shift": 0, "l2_shift": 6, "out_shift": 4}

_ARRAYS = {
    "w1": ("<i2", "<i1"),
    "b1": ("<i2",),
    "w2": ("<i1",),
    "b2": ("<i4",),
    "wh": ("<i1",),
    "bh": ("<i4",),
    "w3": ("<i2",),
    "b3": ("<i4",),
    "psqt": ("<i4",),
}
_NN_ARRAYS = {"w1": "<i2", "b1": "<i2", "w2": "<i1", "b2": "<i4", "w3": "<i1", "b3": "<i4"}
_SHIFT_LIMITS = {
    "l1_shift": (0, 8),
    "l2_shift": (0, 16),
    "l3_shift": (0, 16),
    "out_shift": (0, 24),
}
# Of sums that are multiplied: accumulators by 16 bits, rounded at bit 15; the others by 32
_PRODUCT_SHIFT_LIMITS = {"l1_shift": (0, 4), "l2_shift": (0, 8), "l3_shift": (0, 8)}
MAX_PSQT = 16  # buckets: their sums follow an accumulator, in the place of 64 neurons
_MAX_NAME = 1024  # bytes of a feature-set name in a .nn file
_MAX_WIDTH = 1 << 14  # neurons of a layer; keeps every sum of a layer within int32


@dataclass(frozen=True, eq=False)
class Net:
    """A quantized net; with acc the accumulator of a perspective, all in integers::

        acc   = b1 + sum of the active rows of w1               (int16)
        x     = a(acc, l1_shift), side to move then other       (2M, or M)
        y     = a(b2 + w2 x, l2_shift)                          (O, or 2O)
        z     = a(bh + wh y, l3_shift)                          (P, or 2P), else y
        value = (b3 + w3 . z + psqt) >> out_shift   centipawns for the side to move

    The activation ``clipped`` is ``a(s, k) = clamp(s >> k, 0, 127)``. ``squared`` is, with
    ``v = clamp(s, 0, 127 * 2^k)``, ``a(s, k) = (v * v + 2^(6 + 2k)) >> (7 + 2k)``: its square,
    rounded to nearest, 0..126. Where a net is ``pairwise``, that is x, of a product in place of a
    square, ``v * w``: of the neurons i and i + M/2 of one accumulator. ``dual`` is, behind a
    clipped first layer, first the squares of all sums, then ``clamp(s + half >> k, 0, 127)`` with
    ``half`` a half of 2^k. Other shifts are arithmetic (they round down); a net that rounds to
    nearest has half a unit of each shift folded into its biases.

    Of a net without a second layer, see `Direct`, w3 follows the accumulators, clipped to ``one``
    or squared behind that::

        sum   = w3 . clamp(acc, 0, one), or w3 . clamp(acc, 0, one)^2 / one
        value = (sum + b3) * centipawns / (one * weight)

    where each division rounds towards 0.

    The last term, where there is a psqt, is its sum over the active features of the side to move,
    less that over those of the other side.

    Behind the first layer there may be several nets, of which the number of pieces on the board
    (both kings and pawns included) chooses one, see `bucket_of`. Their neurons stand one after
    another, those of bucket 0 first.

    Attributes
    ----------
    feature_set : str
        Canonical expression; its size is N.
    w1 : int16 or int8 [N, M]
        Row i is what feature i adds to an accumulator.
    b1 : int16 [M]
    w2 : int8 [buckets * O, 2M]
        The first half of the inputs are the side to move's; M of all where the net is pairwise.
    b2 : int32 [buckets * O]
    w3 : int16 [buckets * O], or [buckets * P]; twice as long where the activation is dual
    b3 : int32 [buckets]
    wh : int8 [buckets * P, O or 2O] or None
        The further hidden layer, where there is one, and
    bh : int32 [buckets * P] or None
        its biases.
    psqt : int32 [N], or [N, buckets], or None
        What each feature is worth by itself, in centipawns times 2^out_shift; perhaps for each of
        at most 16 buckets.
    activation : {"clipped", "squared", "dual"}
    buckets : int
    pairwise : bool
    l1_shift, l2_shift, l3_shift, out_shift : int
    provenance : dict
        Where the net comes from; free-form JSON.
    files : dict
        Content of the files that the feature set names (the list of a TOPK), by name: a net needs
        no file but itself.
    blocks : dict
        Fingerprint of each block's definition when the net was trained, by name.
    direct : Direct or None
        Of a net without a second layer: O is 0, ``w3`` has 2M weights, and shifts have no meaning.
    """

    feature_set: str
    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    b2: np.ndarray
    w3: np.ndarray
    b3: np.ndarray
    l1_shift: int = 0
    l2_shift: int = 6
    out_shift: int = 4
    provenance: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)
    wh: np.ndarray | None = None
    bh: np.ndarray | None = None
    l3_shift: int = 0
    activation: str = "clipped"
    buckets: int = 1
    pairwise: bool = False
    psqt: np.ndarray | None = None
    direct: Direct | None = None

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"its activation is {self.activation!r}, not {', '.join(ACTIVATIONS)}")
        if self.psqt_buckets > MAX_PSQT:
            raise ValueError(f"its psqt has {self.psqt_buckets} buckets, at most {MAX_PSQT} fit")
        if not 1 <= self.buckets <= MAX_PIECES:
            raise ValueError(f"it has {self.buckets} buckets, should be 1 to {MAX_PIECES}")
        if self.w1.ndim != 2:
            raise ValueError(f"w1 has {self.w1.ndim} dimensions, should have 2")
        if self.pairwise and self.l1 % 2:
            raise ValueError(f"it has products of pairs of {self.l1} neurons, an odd number")
        if (self.wh is None) != (self.bh is None):
            raise ValueError("it has only one of wh and bh, should have both or neither")
        layers, deep = self.layers, self.wh is not None
        self._check_direct()
        for name, shape in layers.shapes.items():
            if name not in OF_FEATURES:
                shape = (self.buckets * shape[0], *shape[1:])
            array = getattr(self, name)
            if name == "psqt" and self.psqt_buckets > 1:
                shape = (*shape, self.buckets)
            if array.dtype not in map(np.dtype, _ARRAYS[name]) or array.shape != shape:
                raise ValueError(
                    f"{name} is {array.dtype}{list(array.shape)}, "
                    f"should be {np.dtype(_ARRAYS[name][0])}{list(shape)}"
                )
            # Inference reads the arrays by address.
            object.__setattr__(self, name, np.ascontiguousarray(array))
        sizes = (self.l1, 1 if self.direct else self.l2, self.l3 if deep else 1)
        if self.n_features < 1 or not all(1 <= size <= _MAX_WIDTH for size in sizes):
            raise ValueError(f"sizes {layers} are out of range")
        for name in ("b2", "bh") if deep else ("b2",):
            if np.abs(getattr(self, name), dtype=np.int64).max(initial=0) >= 1 << 30:
                raise ValueError(f"a bias of {name} is 2^30 or more, sums could overflow int32")
        limits = dict(_SHIFT_LIMITS)
        activations = {"l1_shift": layers.first, "l2_shift": self.activation}
        for name, activation in (activations | {"l3_shift": self.activation}).items():
            if activation != "clipped":
                limits[name] = _PRODUCT_SHIFT_LIMITS[name]
        for name, (low, high) in limits.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}, should be {low} to {high}")

    def __str__(self) -> str:
        """Its set, layers, and what its integers mean, for people."""
        numbers = ", ".join(map(str, self.units.values()))
        units = f"{'shifts' if self.shifts else 'scales'} {numbers}"
        return f"{self.feature_set}, {self.layers}, {units}"

    @property
    def psqt_buckets(self) -> int:
        """Values of the psqt for each feature; 1 without one."""
        return 1 if self.psqt is None or self.psqt.ndim < 2 else int(self.psqt.shape[1])

    def _check_direct(self) -> None:
        """Checks that a net without a second layer has nothing that only others have."""
        if (self.direct is None) != (self.l2 > 0):
            raise ValueError("its second layer has no neurons, or ones that nothing reads")
        unusual = [self.wh is not None, self.buckets > 1, self.pairwise, self.psqt is not None]
        if self.direct is not None and (any(unusual) or self.activation == "dual"):
            raise ValueError(f"a net without a second layer can't have these: {self.layers}")

    @property
    def features(self) -> features.FeatureSet:
        """The feature set, as it was when the net was made."""
        return features.parse(self.feature_set, self.files)

    @property
    def n_features(self) -> int:
        """N, rows of the first layer."""
        return int(self.w1.shape[0])

    @property
    def l1(self) -> int:
        """M, neurons of an accumulator."""
        return int(self.w1.shape[1])

    @property
    def l2(self) -> int:
        """O, neurons of the second layer."""
        return int(self.b2.size) // self.buckets

    @property
    def l3(self) -> int:
        """P, neurons of the further hidden layer; 0 without one."""
        return 0 if self.bh is None else int(self.bh.size) // self.buckets

    @property
    def layers(self) -> Layers:
        """Sizes and what is unusual."""
        sizes = self.n_features, self.l1, self.l2, self.l3
        there = self.psqt is not None
        return Layers(*sizes, self.activation, self.buckets, self.pairwise, there)

    @property
    def shifts(self) -> dict[str, int]:
        """The shifts by name; that of the further hidden layer only where there is one.

        None of a net without a second layer.
        """
        if self.direct is not None:
            return {}
        names = [name for name in _SHIFT_LIMITS if name != "l3_shift" or self.wh is not None]
        return {name: getattr(self, name) for name in names}

    @property
    def units(self) -> dict[str, int]:
        """What its integers mean, by name: its shifts, or the numbers of `Direct`."""
        return self.shifts if self.direct is None else asdict(self.direct)

    @property
    def scales(self) -> dict[str, float]:
        """What 1.0 of the float net is in the integers of each layer (cp for the output)."""
        layers = self.layers
        if self.direct is not None:
            one, weight = float(self.direct.one), float(self.direct.weight)
            per_centipawn = weight * one / self.direct.centipawns
            return {"activation": one, "w1": one, "w3": weight, "output_per_cp": per_centipawn}
        scales = {
            "activation": layers.unit("w3"),
            "w1": LEVELS * 2.0**self.l1_shift,
            "w2": layers.scale("w2", self.l2_shift),
            "w3_per_centipawn": 2.0**self.out_shift / layers.unit("w3"),
        }
        return scales if self.wh is None else scales | {"wh": layers.scale("wh", self.l3_shift)}

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, in the order of the file; of a layer that isn't there, none."""
        found = {name: getattr(self, name) for name in _ARRAYS}
        return {name: array for name, array in found.items() if array is not None and array.size}


def no_second_layer(l1: int) -> dict[str, np.ndarray]:
    """Its arrays in a net without one."""
    return {"w2": np.zeros((0, 2 * l1), np.int8), "b2": np.zeros(0, np.int32)}


def read_net(path: Path | str) -> Net:
    """Reads a net of this project, the study's or nnue-pytorch's, told apart by their content.

    Raises
    ------
    UserError
        When the file is missing, truncated, corrupt, of a newer version, or doesn't fit the feature
        set that it names: the blocks are not there, or defined otherwise now.
    """
    path = Path(path)
    content = container.content_of(path, "net", ".nnue or .nn")
    with container.usable(path, "net", "nnuelab quantize"):
        net = _parser(content)(content)
        feature_set = net.features
        fingerprint.check(feature_set, net.blocks)
    size = feature_set.size
    if net.n_features != size:
        raise UserError(
            f"{path} has {net.n_features} first-layer rows, but its feature set "
            f"{net.feature_set} has {size} features; make it again with nnuelab quantize"
        )
    return net


def _parser(content: bytes) -> Callable[[bytes], Net]:
    if content.startswith(MAGIC):
        return _parse
    return _parse_nnue_pytorch if content.startswith(nnue_pytorch.MAGIC) else _parse_nn


def _parse_nnue_pytorch(content: bytes) -> Net:
    found = nnue_pytorch.parse(content)
    blocks = fingerprint.of_blocks(features.parse(found["feature_set"]))
    return Net(**found, blocks=blocks)


def _parse(content: bytes) -> Net:
    header, arrays = container.unpacked(content, VERSION, _ARRAYS)
    known = {text: activation for activation, text in ACTIVATIONS.items()}
    if header["activation"] not in known:
        raise ValueError(f"its activation is {header['activation']!r}, not {' or '.join(known)}")
    direct = header.get("direct")
    known_shifts = () if direct is not None else _SHIFT_LIMITS
    shifts = [name for name in known_shifts if name != "l3_shift" or "wh" in arrays]
    fields: dict[str, Any] = {name: int(header["shifts"][name]) for name in shifts}
    fields["activation"] = known[header["activation"]]
    fields["buckets"] = int(header["sizes"].get("buckets", 1))
    fields["pairwise"] = bool(header.get("pairwise", False))
    fields |= {"provenance": header["provenance"], "files": header.get("files", {})}
    fields["blocks"] = header.get("blocks", {})
    if direct is not None:
        fields |= {"direct": Direct(**direct), **no_second_layer(arrays["w1"].shape[1])}
    return Net(header["feature_set"], **fields, **arrays)


def write_net(path: Path | str, net: Net) -> None:
    """Writes the project's file, atomically. The same net gives the same bytes."""
    header: dict[str, Any] = {
        "feature_set": net.feature_set,
        "blocks": dict(net.blocks),
        "sizes": {"features": net.n_features, "l1": net.l1, "l2": net.l2} | _unusual(net),
        "activation": ACTIVATIONS[net.activation],
        "scales": net.scales,
        "shifts": net.shifts,
        "arrays": container.listed(net.arrays()),
        "provenance": dict(net.provenance),
    }
    if net.pairwise:
        header["pairwise"] = True
    if net.direct is not None:
        header["direct"] = asdict(net.direct)
    if net.files:
        header["files"] = dict(net.files)
    content = container.packed(MAGIC, VERSION, header, net.arrays())
    with artifacts.atomic(path) as temporary:
        temporary.write_bytes(content)


def masked(net: Net, members: np.ndarray, by: str, names: Sequence[str]) -> Net:
    """The net with zeroed rows of some features, bool [N]: those of groups ``names`` by ``by``."""
    return replace(
        net,
        w1=net.w1 * ~members[:, None],
        psqt=None if net.psqt is None else (net.psqt.T * ~members).T,
        provenance={**net.provenance, "masked": {"by": by, "without": list(names)}},
    )


def _unusual(net: Net) -> dict[str, int]:
    """Sizes that only some nets have."""
    found = {"l3": net.l3} if net.l3 else {}
    return found | ({"buckets": net.buckets} if net.buckets > 1 else {})


def plain(path: Path | str, net: Net, kind: str) -> None:
    """Checks that a net fits other programs' layouts of (N -> M) x2 -> O -> 1.

    Raises
    ------
    UserError
        With all that is too much.
    """
    reasons = [
        reason
        for reason, there in (
            ("no second layer", net.direct is not None),
            ("products of pairs of neurons", net.pairwise),
            ("a psqt", net.psqt is not None),
            (f"{net.activation} activation", net.activation != "clipped"),
            (f"{net.buckets} output buckets", net.buckets > 1),
            (f"a further hidden layer of {net.l3} neurons", net.l3 > 0),
        )
        if there
    ]
    if reasons:
        raise UserError(
            f"{path}: {kind} can't hold this net: it has {', '.join(reasons)}; keep it as .nnue"
        )


def _parse_nn(content: bytes) -> Net:
    end = content.find(b"\0", 0, _MAX_NAME)
    if end < 1 or len(content) < end + 13:
        raise ValueError("it is neither a .nnue nor a .nn file")
    try:
        name = content[:end].decode()
    except UnicodeDecodeError as error:
        raise ValueError("it is neither a .nnue nor a .nn file") from error
    if not name.isprintable():
        raise ValueError("it is neither a .nnue nor a .nn file")
    n, m, o = struct.unpack_from("<III", content, end + 1)
    shapes = {"w1": (n, m), "b1": (m,), "w2": (o, 2 * m), "b2": (o,), "w3": (o,), "b3": (1,)}
    need = (
        end + 13 + sum(math.prod(shapes[k]) * np.dtype(t).itemsize for k, t in _NN_ARRAYS.items())
    )
    if need != len(content):
        wrong = "is truncated" if need > len(content) else "has bytes behind its end"
        raise ValueError(
            f"it {wrong}: {n} -> {m} x2 -> {o} takes {need:,} bytes, the file has {len(content):,}"
        )
    fields: dict[str, Any] = dict(STUDY_SHIFTS)
    offset = end + 13
    for key, dtype in _NN_ARRAYS.items():
        count = math.prod(shapes[key])
        raw = np.frombuffer(content, dtype, count, offset).reshape(shapes[key])
        fields[key] = raw.astype(_ARRAYS[key][0])
        offset += raw.nbytes
    feature_set = features.parse(study.our_expression(name))
    if feature_set.size == n:  # else the caller says so
        raw = fields["w1"]
        fields["w1"] = np.empty_like(raw)
        fields["w1"][study.order(feature_set)] = raw
    fields["blocks"] = fingerprint.of_blocks(feature_set)
    return Net(feature_set.name, **fields, provenance={"format": "nn", "name": name})


def write_nn(path: Path | str, net: Net) -> None:
    """Writes the study's layout, atomically.

    Raises
    ------
    UserError
        When the layout can't hold the net: it has other layers or shifts, an output weight outside
        int8, or features that the study doesn't know.
    """
    plain(path, net, "the .nn format")
    feature_set = net.features
    try:
        order = study.order(feature_set)
    except UserError as error:
        raise type(error)(f"{path}: {error}") from error
    reasons = [
        f"{name} is {getattr(net, name)}, the format has {value}"
        for name, value in STUDY_SHIFTS.items()
        if getattr(net, name) != value
    ]
    outside = int(np.count_nonzero((net.w3 < -128) | (net.w3 > 127)))
    if outside:
        reasons.append(
            f"{outside} of {net.l2} output weights don't fit int8 "
            f"({net.w3.min()} to {net.w3.max()})"
        )
    if reasons:
        raise UserError(
            f"{path}: the .nn format can't hold this net: {'; '.join(reasons)}; "
            "quantize with --scheme study"
        )
    body = _nn_name(net).encode() + b"\0" + struct.pack("<III", net.n_features, net.l1, net.l2)
    for key, array in {**net.arrays(), "w1": net.w1[order]}.items():
        body += array.astype(_NN_ARRAYS[key]).tobytes()
    with artifacts.atomic(path) as temporary:
        temporary.write_bytes(body)


def _nn_name(net: Net) -> str:
    """The study's name of the feature set: as it was read, so that a file comes back the same."""
    read = net.provenance.get("name")
    if net.provenance.get("format") == "nn" and isinstance(read, str):
        with suppress(UserError):
            if features.parse(study.our_expression(read)).name == net.feature_set:
                return read
    return study.study_name(net.features)
