"""Nets of nnue-pytorch: files by the format's definition, and what a slow reader makes of them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nnuelab.cli.net  # noqa: F401  (registers the command)
from nnuelab.chess import notation
from nnuelab.cli.app import app
from nnuelab.data.records import RECORD, pack
from nnuelab.errors import UserError
from nnuelab.nnue import nnue_pytorch
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.netfile import read_net
from nnuelab.report import neurons
from tests.naive import netfile as naive
from tests.nnue_nets import random_games

FENS = [*random_games(2)[::29], "8/8/4k3/8/8/3K4/4P3/8 b - - 0 1"]
KINDS = [
    {"stacks": 1, "psqt": 0, "compressed": False},
    {"stacks": 8, "psqt": 8, "compressed": False},
    {"stacks": 8, "psqt": 8, "compressed": True},
    {"stacks": 8, "psqt": 0, "compressed": True},
    {"stacks": 1, "psqt": 1, "compressed": False},
]


def convert(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["net", "convert", *map(str, arguments)])
    return done.exit_code, done.output


@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_net_says_what_a_slow_reader_makes_of_the_file(
    tmp_path: Path, kind: dict[str, int], mirrored: bool
) -> None:
    content = naive.stockfish_file(6, 16, 32, mirrored=mirrored, **kind)
    source, there = tmp_path / "a.nnue", tmp_path / "b.nnue"
    source.write_bytes(content)
    status, told = convert(source, there)
    assert status == 0, told
    exact = [naive.stockfish_value(content, fen, **kind) for fen in FENS]
    assert len({value >> 5 for value in exact}) > 6
    net = read_net(there)
    assert net.feature_set == ("HALFKAV2_HM" if mirrored else "HALFKAV2")
    assert Inference(net).evaluate_fens(FENS) == [value >> 5 for value in exact]
    assert Inference(read_net(source)).evaluate_fens(FENS) == [value >> 5 for value in exact]
    records = np.zeros(len(FENS), RECORD)
    for fen, record in zip(FENS, records, strict=True):
        pack(notation.from_fen(fen), record)
    said = neurons.evaluations(net, neurons.inputs(net, records), records)
    assert said.tolist() == [value >> 5 for value in exact]
    assert net.provenance["description"] == "made by a test [31m"


def test_what_no_net_here_has_is_named(tmp_path: Path) -> None:
    source, there = tmp_path / "a.nnue", tmp_path / "b.nnue"
    plain = naive.stockfish_file(6, 16, 32)
    layers = len(plain) - _stack_bytes(12)
    third = layers + 4 + 16 * (4 + 32) + 32 * 4  # the weights of its third layer

    def patched(place: int, new: bytes, content: bytes = plain) -> bytes:
        return content[:place] + new + content[place + len(new) :]

    no_skip = plain
    for row in range(32):
        no_skip = patched(third + 32 * row + 15, b"\0", no_skip)
    said = 12 + struct.unpack_from("<I", plain, 8)[0]
    of_features = struct.unpack_from("<I", plain, said)[0]
    cases = {
        "products of pairs of neurons": naive.stockfish_file(64, 16, 32, 8, 8, inputs=64),
        "third layer gets more than the 16 sums": patched(third + 16, b"\1"),
        "the last of 16 neurons of its second layer isn't read": no_skip,
        "its features are HalfKP": patched(
            said, struct.pack("<I", of_features ^ 0x7F234CB8 ^ 0x5D69D5B8)
        ),
        "its features are unknown": patched(said, b"\1\2\3\4"),
        "its layers are unknown": patched(4, b"\1\2\3\4"),
        "the hash of a layer stack": patched(layers, b"\0\0\0\0"),
        "where a layer has no inputs": patched(layers + 4 + 64 + 12, b"\1"),
        "aren't 1 or 8 stacks": plain + b"\0",
        "it is truncated": plain[: len(plain) // 3],
        "should follow byte 12": patched(8, b"\xff\xff\xff\xff"),
    }
    for reason, content in cases.items():
        source.write_bytes(content)
        status, told = convert(source, there)
        assert status == 1
        assert reason in told, (reason, told)
        assert str(source) in told
        assert len(told.strip().splitlines()) == 1
        assert not there.exists()
    for cut in (*range(0, 70), *range(70, len(plain), 9973)):
        source.write_bytes(plain[:cut])
        with pytest.raises(UserError):
            read_net(source)


def _stack_bytes(inputs: int) -> int:
    return 4 + 16 * (4 + -(-inputs // 32) * 32) + 32 * (4 + 32) + 4 + 32


def test_numbers_are_decompressed_in_parts_and_damage_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = [0, 63, 64, -64, -65, 8191, -8192, 32767, -32768, 1, -1] * 3
    raw = bytearray()
    for number in numbers:
        value = number
        while not -64 <= value < 64:
            raw.append(value & 127 | 128)
            value >>= 7
        raw.append(value & 127)
    for chunk in (1, 2, 5, 1000):
        monkeypatch.setattr(nnue_pytorch, "CHUNK", chunk)
        found = nnue_pytorch.decompressed(np.frombuffer(raw, np.uint8), "<i2")
        assert found.dtype == np.int16
        assert found.tolist() == numbers
    for bad, said in (
        (b"", "ends within a number"),
        (b"\x80", "ends within a number"),
        (b"\x80\x80\x80\x80\x80\x00", "more than 32 bits"),
        (b"\x80\x80\x02", "more than 16 bits"),
        (b"\xff\xff\x7d", "more than 16 bits"),
    ):
        with pytest.raises(UserError, match=said):
            nnue_pytorch.decompressed(np.frombuffer(bad, np.uint8), "<i2")


def test_a_section_that_lies_about_its_size_is_refused_before_it_is_decompressed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(nnue_pytorch, "decompressed")
    size = 1000
    content = nnue_pytorch.COMPRESSED + size.to_bytes(4, "little") + bytes(size)
    with pytest.raises(UserError, match="has 1,000 numbers, should have 8 or 64"):
        nnue_pytorch._Reader(content).compressed("<i4", 8, 64)
    with pytest.raises(UserError, match="has 1,000 numbers, should have 16"):
        nnue_pytorch._Reader(content).tensor("<i2", 16)
