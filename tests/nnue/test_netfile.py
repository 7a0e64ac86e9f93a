"""Net files: what is read is what was written, and nothing wrong is read."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from nnuelab import features
from nnuelab.errors import UserError
from nnuelab.nnue.netfile import Net, read_net, write_net, write_nn
from tests.nnue_nets import random_net


def same(a: Net, b: Net) -> bool:
    settings = [(n.feature_set, n.l1_shift, n.l2_shift, n.out_shift) for n in (a, b)]
    return settings[0] == settings[1] and all(
        np.array_equal(array, b.arrays()[name]) for name, array in a.arrays().items()
    )


@pytest.mark.parametrize("rows", ["<i2", "<i1"])
def test_a_net_survives_the_file(tmp_path: Path, rows: str) -> None:
    net = random_net("ALL+H", 24, 8, l1_shift=3, l2_shift=7, out_shift=12, rows=rows)
    write_net(tmp_path / "a.nnue", net)
    read = read_net(tmp_path / "a.nnue")
    assert same(net, read)
    assert read.w1.dtype == rows
    assert read.provenance == net.provenance
    write_net(tmp_path / "b.nnue", read)
    assert (tmp_path / "a.nnue").read_bytes() == (tmp_path / "b.nnue").read_bytes()


def test_the_study_s_layout_is_exact(tmp_path: Path) -> None:
    net = random_net("ALL", 512, 32)
    path = tmp_path / "net.nn"
    write_nn(path, net)
    content = path.read_bytes()
    assert len(content) == 820_403 + len("all") - len("hv")
    assert content[:4] == b"all\0"
    assert struct.unpack_from("<III", content, 4) == (768, 512, 32)
    # Feature-major rows follow the sizes; the last four bytes are the output bias.
    assert np.array_equal(np.frombuffer(content, "<i2", 512, 16), net.w1[0])
    assert struct.unpack_from("<i", content, len(content) - 4)[0] == net.b3[0]
    assert same(net, read_net(path))


def test_the_study_s_other_name_of_all_is_read(tmp_path: Path) -> None:
    write_nn(tmp_path / "all.nn", random_net("ALL", 8, 8))
    content = (tmp_path / "all.nn").read_bytes()
    (tmp_path / "hv.nn").write_bytes(b"hv\0" + content[4:])
    assert read_net(tmp_path / "hv.nn").feature_set == "ALL"


def test_nn_refuses_what_it_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "net.nn"
    with pytest.raises(UserError, match="l1_shift is 3"):
        write_nn(path, random_net("H", 8, 8, l1_shift=3))
    net = random_net("H", 8, 8)
    net.w3[:2] = 200, -300
    with pytest.raises(UserError, match=r"2 of 8 output weights don't fit int8 \(-300 to 200\)"):
        write_nn(path, net)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("extension", ["nnue", "nn"])
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"net.{extension}"
    (write_net if extension == "nnue" else write_nn)(path, random_net("H", 16, 8))
    content = path.read_bytes()
    broken = [content[:20], content[:-1], content + b"\0", b"", b"\0" * 50, b"garbage" * 9]
    if extension == "nnue":  # only this format has a checksum
        for place in (4, 9, 40, len(content) // 2, len(content) - 1):
            changed = bytearray(content)
            changed[place] ^= 1
            broken.append(bytes(changed))
    for wrong in broken:
        path.write_bytes(wrong)
        with pytest.raises(UserError) as error:
            read_net(path)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"feature_set": "ALL"', b'"feature_set": null '),
        (b'"sizes": {', b'"sizes": [], "x": {'),
        (b'"blocks": {', b'"blocks": 3, "x": {'),
        (b'"blocks": {', b'"blocks": {}, "x": ' + 100_000 * b"["),
    ],
)
def test_a_header_with_other_things_than_it_should_have_is_refused(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    path = tmp_path / "net.nnue"
    write_net(path, random_net("ALL", 8, 8))
    content = path.read_bytes()
    (length,) = struct.unpack_from("<I", content, 12)
    header = content[16 : 16 + length]
    assert old in header
    header = header.replace(old, new)
    body = content[:12] + struct.pack("<I", len(header)) + header + content[16 + length : -32]
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(UserError, match=r"net\.nnue is not a usable net: bad header"):
        read_net(path)


def test_a_net_that_does_not_fit_its_feature_set_is_refused(tmp_path: Path) -> None:
    net = random_net("H", 8, 8)
    wrong = Net("V+H", **net.arrays())
    write_net(tmp_path / "net.nnue", wrong)
    with pytest.raises(UserError, match=r"96 first-layer rows, but its feature set V\+H has 192"):
        read_net(tmp_path / "net.nnue")


def test_an_unknown_feature_set_is_named(tmp_path: Path) -> None:
    net = random_net("H", 8, 8)
    write_net(tmp_path / "net.nnue", Net("QX", **net.arrays()))
    with pytest.raises(features.UnknownBlock, match="QX"):
        read_net(tmp_path / "net.nnue")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.nnue"):
        read_net(tmp_path / "none.nnue")


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    net = random_net("H", 8, 8)
    with pytest.raises(ValueError, match="w2 is int8"):
        Net("H", **{**net.arrays(), "w2": net.w2[:, :-1]})
    with pytest.raises(ValueError, match="l1_shift is 30"):
        Net("H", **net.arrays(), l1_shift=30)
