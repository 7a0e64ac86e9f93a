"""Foreign net files: what they say is what their authors mean, and they come back unchanged."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import nnuelab.cli.net  # noqa: F401  (registers the command)
from nnuelab import artifacts
from nnuelab.chess import notation
from nnuelab.cli.app import app
from nnuelab.data.records import RECORD, pack
from nnuelab.errors import UserError
from nnuelab.features import COLORS, FILES, RANKS, ROLES, SQUARES, Concept, parse, registry
from nnuelab.nnue import bullet, study
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.netfile import Net, read_net, write_net, write_nn
from nnuelab.report import neurons
from tests.naive import netfile as naive
from tests.nnue_nets import random_games, random_net

KNOWN = [name for name in naive.STUDY_SIZES if name in registry.load()]
FENS = random.Random(1).sample(random_games(3), 12)
SCALES = {"l1_shift": 0, "l2_shift": 6, "out_shift": 4}

small = [name for name in KNOWN if naive.STUDY_SIZES[name] < 2000]
sums = st.lists(st.sampled_from(small), min_size=1, max_size=4, unique=True)
seeds = st.integers(0, 2**32 - 1)
once_a_folder = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def convert(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["net", "convert", *map(str, arguments)])


# The study's file --------------------------------------------------------------------------------


@once_a_folder
@given(blocks=sums, l1=st.integers(1, 40), l2=st.integers(1, 20), seed=seeds)
def test_import_export_import_gives_the_same_bytes(
    tmp_path: Path, blocks: list[str], l1: int, l2: int, seed: int
) -> None:
    net = random_net("+".join(blocks), l1, l2, seed)
    net = replace(net, w3=np.clip(net.w3, -128, 127))  # what the format holds
    write_nn(tmp_path / "a.nn", net)
    for source, target in ("a.nn", "a.nnue"), ("a.nnue", "b.nn"), ("b.nn", "b.nnue"):
        done = convert(tmp_path / source, tmp_path / target)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "a.nn").read_bytes() == (tmp_path / "b.nn").read_bytes()
    assert (tmp_path / "a.nnue").read_bytes() == (tmp_path / "b.nnue").read_bytes()
    read = read_net(tmp_path / "b.nnue")
    assert read.feature_set == net.feature_set
    for name, array in net.arrays().items():
        np.testing.assert_array_equal(read.arrays()[name], array)


@pytest.mark.parametrize("name", KNOWN)
def test_a_block_means_what_the_study_s_engine_takes_it_for(tmp_path: Path, name: str) -> None:
    """The value of the net by the bytes of the file alone, with the study's own indices."""
    other = "H" if name == "V" else "V"
    net = random_net(f"{name}+{other}", 16, 8)
    write_nn(tmp_path / "net.nn", net)
    content = (tmp_path / "net.nn").read_bytes()
    values = [naive.study_value(content, [name, other], fen) for fen in FENS]
    assert len(set(values)) > 6
    assert Inference(read_net(tmp_path / "net.nn")).evaluate_fens(FENS) == values
    assert Inference(net).evaluate_fens(FENS) == values


@pytest.mark.parametrize("name", ["hv", "all", "HV+h", "all + d1"])
def test_a_name_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    net = random_net(study.our_expression(name), 8, 8)
    write_nn(tmp_path / "a.nn", net)
    content = (tmp_path / "a.nn").read_bytes()
    content = name.encode() + content[content.index(b"\0") :]
    (tmp_path / "a.nn").write_bytes(content)
    write_net(tmp_path / "b.nnue", read_net(tmp_path / "a.nn"))
    write_nn(tmp_path / "c.nn", read_net(tmp_path / "b.nnue"))
    assert (tmp_path / "c.nn").read_bytes() == content


PIECE = ("ROLES", "COLORS")
BY_NAME = {concept.name: concept for concept in (FILES, RANKS, SQUARES, ROLES, COLORS)}
BY_NAME["-COLORS"] = Concept("COLORS", COLORS.values[::-1])
BY_NAME["KING SQUARES"] = Concept("KING SQUARES", SQUARES.values)


def block(name: str, *concepts: str) -> Any:
    """A block as far as an order looks at it."""
    shape = [BY_NAME[c].size for c in concepts]
    return SimpleNamespace(
        name=name,
        file="blocks.py",
        concepts=tuple(BY_NAME[c] for c in concepts),
        size=int(np.prod(shape)),
        formula=" x ".join(concepts),
        index=lambda *values: int(np.ravel_multi_index(values, shape)),
    )


def order_of(made: Any) -> np.ndarray:
    term = SimpleNamespace(name=made.name, factors=(made,))
    return study.order(SimpleNamespace(offsets=(0,), terms=(term,)))  # type: ignore[arg-type]


@given(st.integers(0, 7), *[st.integers(0, n) for n in (5, 1, 5, 1)])
def test_pairs_have_their_colours_exchanged(line: int, r1: int, c1: int, r2: int, c2: int) -> None:
    for name, lines in ("PH", "RANKS"), ("PV", "FILES"):
        index = line * 144 + r1 * 24 + (1 - c1) * 12 + r2 * 2 + (1 - c2)
        made = block(name, lines, *PIECE, *PIECE)
        assert order_of(made)[index] == made.index(line, r1, c1, r2, c2)
        same = block(name, lines, "ROLES", "-COLORS", "ROLES", "-COLORS")
        assert order_of(same)[index] == same.index(line, r1, 1 - c1, r2, 1 - c2) == index


@given(st.integers(0, 7), st.integers(0, 7), st.integers(0, 5), st.integers(0, 1))
def test_squares_are_numbered_by_rank_or_file_as_the_study_does(
    f: int, k: int, r: int, c: int
) -> None:
    for name, index in ("ALL", (f * 8 + k) * 12 + r * 2 + c), ("MB", (f + 8 * k) * 12 + r * 2 + c):
        value = {"FILES": f, "RANKS": k, "ROLES": r, "COLORS": c}
        for concepts in permutations(value):
            made = block(name, *concepts)
            assert order_of(made)[index] == made.index(*(value[x] for x in concepts))
        made = block(name, "SQUARES", *PIECE)
        assert order_of(made)[index] == made.index(f + 8 * k, r, c)


@given(st.integers(0, 63), st.integers(0, 767))
def test_a_king_s_tables_are_tables_of_all(king: int, index: int) -> None:
    made = block("KA", "KING SQUARES", "FILES", "RANKS", *PIECE)
    values = np.unravel_index(index, (8, 8, 6, 2))
    assert order_of(made)[king * 768 + index] == made.index(king, *values)


def test_another_block_of_a_study_s_name_is_refused() -> None:
    with pytest.raises(UserError, match=r"the block PH is FILES x ROLES x COLORS, the one"):
        order_of(block("PH", "FILES", *PIECE))
    with pytest.raises(UserError, match="the block H is FILES x RANKS"):
        order_of(block("H", "FILES", "RANKS", *PIECE))


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("H*V", "no products as H[*]V, they know .*; keep the net as .nnue"),
        ("RIM", "no such block as RIM"),
        ("PHASE(4,H+V)", r"no such block as PHASE\(4,H\+V\)"),
    ],
)
def test_what_the_study_does_not_know_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str, reason: str
) -> None:
    blocks = tmp_path / "rim.py"
    blocks.write_text(
        "from nnuelab.features import *\n"
        '@piece_square("RIM", COLORS)\n'
        "def rim(square, role, color):\n"
        '    """A piece stands on file a."""\n'
        "    return color if square % 8 == 0 else None\n"
    )
    monkeypatch.setenv(registry.VARIABLE, str(blocks))
    # Another scale would not help: first of all the features are what the format can't hold.
    with pytest.raises(UserError, match=reason):
        write_nn(tmp_path / "net.nn", random_net(expression, 8, 8, l1_shift=3))
    assert not (tmp_path / "net.nn").exists()
    with pytest.raises(UserError, match=reason):
        study.study_name(parse(expression))


# bullet's layout ---------------------------------------------------------------------------------


@once_a_folder
@given(
    l1=st.integers(1, 40),
    l2=st.integers(1, 20),
    shifts=st.tuples(st.integers(0, 3), st.integers(6, 8), st.integers(4, 12)),
    seed=seeds,
)
def test_a_net_comes_back_out_of_bullet_s_layout(
    tmp_path: Path, l1: int, l2: int, shifts: tuple[int, int, int], seed: int
) -> None:
    net = random_net("ALL", l1, l2, seed, *shifts)
    write_net(tmp_path / "a.nnue", net)
    options = ("--l2", str(l2), "--shifts", ",".join(map(str, shifts)))
    assert convert(tmp_path / "a.nnue", tmp_path / "a.bin").exit_code == 0
    done = convert(tmp_path / "a.bin", tmp_path / "b.nnue", *options)
    assert done.exit_code == 0, done.output
    assert convert(tmp_path / "b.nnue", tmp_path / "b.bin").exit_code == 0
    assert (tmp_path / "a.bin").read_bytes() == (tmp_path / "b.bin").read_bytes()
    assert (tmp_path / "a.bin").stat().st_size % 64 == 0
    read = read_net(tmp_path / "b.nnue")
    assert [getattr(read, name) for name in SCALES] == list(shifts)
    for name, array in net.arrays().items():
        np.testing.assert_array_equal(read.arrays()[name], array)


def test_bullet_s_layout_means_what_its_examples_take_it_for(tmp_path: Path) -> None:
    shifts = (2, 7, 9)
    net = random_net("ALL", 16, 8, 3, *shifts)
    bullet.write(tmp_path / "net.bin", net)
    content = (tmp_path / "net.bin").read_bytes()
    values = [naive.bullet_value(content, 16, 8, shifts, fen) for fen in FENS]
    assert len(set(values)) > 6
    assert Inference(net).evaluate_fens(FENS) == values


def packed(fens: list[str]) -> np.ndarray:
    """RECORD [n]."""
    found = np.zeros(len(fens), RECORD)
    for fen, record in zip(fens, found, strict=True):
        pack(notation.from_fen(fen), record)
    return found


def simple_file(m: int, seed: int, large: int = 40) -> bytes:
    """A file of bullet's example by its definition: weights, then the word bullet to 64 bytes."""
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(0, large, 768 * m), rng.normal(60, 60, m), rng.normal(0, large, 2 * m), 99]
    body = b"".join(np.clip(np.rint(a), -32768, 32767).astype("<i2").tobytes() for a in arrays)
    return body + (b"bullet" * 11)[: -len(body) % 64]


@pytest.mark.parametrize(("m", "large"), [(16, 40), (33, 40), (8, 30000)])
@pytest.mark.parametrize("activation", ["squared", "clipped"])
def test_a_net_without_a_second_layer_means_what_bullet_s_example_says(
    tmp_path: Path, activation: str, m: int, large: int
) -> None:
    source, there, back = (tmp_path / name for name in ("a.bin", "a.nnue", "b.bin"))
    # Sums of rows beyond int16 would be no net's: the large weights are those of the last layer.
    content = bytearray(simple_file(m, 3))
    last = np.random.default_rng(4).integers(-large, large, 2 * m).astype("<i2").tobytes()
    content[2 * 769 * m : 2 * 771 * m] = last
    source.write_bytes(content)
    done = convert(source, there, "--direct", "255,64,400", "--activation", activation)
    assert done.exit_code == 0, done.output
    assert f"768 -> {m} x2 -> 1" in done.output
    values = [naive.bullet_simple_value(content, m, fen, activation == "squared") for fen in FENS]
    assert len(set(values)) > 6
    net = read_net(there)
    assert Inference(net).evaluate_fens(FENS) == values
    assert convert(there, back).exit_code == 0
    assert back.read_bytes() == content
    records = packed(FENS)
    x = neurons.inputs(net, records)
    assert neurons.evaluations(net, x, records).tolist() == values
    measured = neurons.activity(net, records)
    held = x.astype(float)
    held[:, [0, m]] = held[:, [0, m]].mean()
    change = (held - x) @ net.w3 / (255 if activation == "squared" else 1) * 400 / (255 * 64)
    assert measured.influence[0] == pytest.approx(np.sqrt(np.mean(change**2)))
    assert measured.active[0] == (x[:, [0, m]] > 0).mean()
    most = 255**2 if activation == "squared" else 255
    assert measured.saturated.tolist() == (x.reshape(-1, m) == most).mean(0).tolist()


# Bad input ---------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """One good file of each kind."""
    net = random_net("ALL", 8, 8)
    found = {kind: tmp_path / f"net.{kind}" for kind in ("nnue", "nn", "bin")}
    write_net(found["nnue"], net)
    write_nn(found["nn"], net)
    bullet.write(found["bin"], net)
    simple = tmp_path / "simple.bin"
    simple.write_bytes(simple_file(8, 1))
    return found | {"simple": simple}


def refused(source: Path, output: Path, *options: str) -> str:
    """The one line that a conversion is refused with."""
    done = convert(source, output, *options)
    assert done.exit_code == 1
    assert not output.exists()
    lines = done.output.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize("kind", ["nn", "bin"])
def test_a_cut_or_longer_file_is_refused(files: dict[str, Path], kind: str) -> None:
    path, options = files[kind], ("--l2", "8") if kind == "bin" else ()
    content = path.read_bytes()
    for changed, said in (
        (content[:-1], "truncated|cut off"),
        (content + b"\0", "behind its end|cut off"),
        (content[: len(content) // 2], "truncated|damaged"),
        (content[:3], "neither|cut off"),
    ):
        path.write_bytes(changed)
        message = refused(path, path.with_name("out.nnue"), *options)
        assert any(part in message for part in said.split("|"))
        assert str(path) in message


def test_numbers_that_a_format_cannot_hold_are_named(files: dict[str, Path]) -> None:
    source, output = files["nnue"], files["nn"].with_name("out.nn")
    good = random_net("ALL", 8, 8)
    write_net(source, Net("ALL", **good.arrays(), l1_shift=3))
    assert "l1_shift is 3, the format has 0" in refused(source, output)
    write_net(source, Net("ALL", **{**good.arrays(), "w3": np.full(8, 300, np.int16)}))
    assert "8 of 8 output weights don't fit int8" in refused(source, output)
    changed = bytearray(files["nn"].read_bytes())
    place = len("all\0") + 12 + 2 * 8 * 769 + 2 * 8 * 8  # the first bias of the second layer
    changed[place : place + 4] = (1 << 30).to_bytes(4, "little")
    files["nn"].write_bytes(changed)
    assert "2^30" in refused(files["nn"], output.with_name("out.nnue"))


def test_names_that_nobody_knows_are_refused(files: dict[str, Path]) -> None:
    content = files["nn"].read_bytes()
    files["nn"].write_bytes(b"alb" + content[3:])
    assert "there is no block 'ALB'" in refused(files["nn"], files["nn"].with_name("out.nnue"))
    assert "ends in .nnue" in refused(files["nnue"], files["nnue"].with_suffix(".onnx"))
    assert "no net" in refused(files["nn"].with_name("no net.nn"), files["nn"].with_name("o.nnue"))


def test_what_bullet_s_layout_cannot_say_or_hold_is_told(files: dict[str, Path]) -> None:
    output = files["nnue"].with_name("out.nnue")
    assert "give those of the second with --l2" in refused(files["bin"], output)
    for option, value in ("--l2", "8"), ("--shifts", "3,8,12"), ("--direct", "255,64,400"):
        assert f"{option}: for a .bin" in refused(files["nn"], output, option, value)
    assert "other layers than --l2 says" in refused(files["bin"], output, "--l2", "9")
    assert "--direct 255,64,400" in refused(files["simple"], output)
    assert "--direct" not in refused(files["bin"], output)
    assert "than --direct says" in refused(files["bin"], output, "--direct", "255,64,400")
    for wrong in "255,64", "256,64,400", "0,64,400":
        assert convert(files["simple"], output, "--direct", wrong).exit_code == 2
    assert convert(files["simple"], output, "--direct", "255,64,400", "--l2", "8").exit_code == 2
    write_net(files["nnue"], random_net("ALL+H", 8, 8))
    assert "Chess768 can't hold ALL+H" in refused(files["nnue"], output.with_suffix(".bin"))
    for wrong in "1", "0,6," + 5000 * "9":  # Python refuses to read the latter as a number
        assert convert(files["bin"], output, "--l2", "8", "--shifts", wrong).exit_code == 2
    assert "l1_shift is 77" in refused(files["bin"], output, "--l2", "8", "--shifts", "77,6,4")


def test_a_net_without_a_second_layer_is_refused_where_it_can_t_be_held(
    files: dict[str, Path],
) -> None:
    there = files["nnue"].with_name("direct.nnue")
    assert convert(files["simple"], there, "--direct", "255,64,400").exit_code == 0
    assert "no second layer" in refused(there, there.with_suffix(".nn"))
    net = read_net(there)
    for wrong in (
        {"direct": None},
        {"activation": "dual"},
        {"buckets": 2, "b3": np.zeros(2, np.int32), "w3": np.tile(net.w3, 2)},
        {"psqt": np.zeros(768, np.int32)},
    ):
        with pytest.raises(ValueError, match="second layer"):
            replace(net, **wrong)


def test_a_converted_net_says_where_it_comes_from(files: dict[str, Path]) -> None:
    output = files["nnue"].with_name("out.bin")
    assert convert(files["nnue"], output).exit_code == 0
    told = json.loads(output.with_name("out.bin.json").read_text())
    assert told["parameters"] == {"feature_set": "ALL", "l1": 8, "l2": 8, **SCALES}
    assert list(told["inputs"]) == ["net"]
    assert told["code"] == artifacts.code_hash("nnue.bullet")
    assert convert(files["nnue"], output.with_name("out.nn")).exit_code == 0
    told = json.loads(output.with_name("out.nn.json").read_text())
    assert told["code"] == artifacts.code_hash("nnue.netfile")
