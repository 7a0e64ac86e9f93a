"""Exported code against this project's evaluations, accumulators and features, bit for bit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nnuelab.errors import UserError
from nnuelab.export import flat, folder
from nnuelab.nnue.layers import Direct
from nnuelab.nnue.netfile import Net
from tests import feature_sets
from tests.conftest import ROOT
from tests.nnue_nets import random_net
from tests.test_docs import named

SETS = (
    "ALL+H+V",
    "KB(4)+PP",
    "KING*ALL+SC",
    "PHASE(2,H)*V",
    "YACGE*V+ALL",
    "PHASE(3,KB(4)+PH)",
    "ALL+MB",
    "MC+TH",
    "KING*MB+KB(4)+AB+PM",
    "PHASE(4,ALL+MB)+KING*AC+MC",
    "ALL+PP_3WIDE+FULL_THREATS(16)",
    "KING*HM(PP)+HM(SC+H)+POSSIBLE(MC+MB+KB(4)+PH)+POSSIBLE(HM(TH+PP))",
)
PAGES = "README.md", "docs/adding-a-feature-set.md", "docs/adding-a-kind.md"
SOURCES = '''
from nnuelab.features import *
from nnuelab.features import attackers, castling, double_steps, pinned, xrays
from nnuelab.features import attacked_by_lesser, king_zone


@square_set("TIED", "is tied to")
def tied(square, pieces):
    """Squares of pinned pieces, double steps, and squares behind others."""
    return pinned(square, pieces) | double_steps(square, pieces) | xrays(square, pieces)


@square_set("ZONE", "attacks the king at")
def zone(square, pieces):
    """Squares of the enemy king's zone that the own side attacks, where there is such a piece."""
    color = pieces[square][1]
    return king_zone(pieces, 1 - color) & of_side(attacks, pieces, color)


@square_count("WORN", Section(("attacked by", "piece"), most=(2, 2, 2, 2, 2, 2)))
def worn(square, pieces):
    """Pieces that attack those of a kind."""
    return attackers(square, pieces)


@piece_target("GOES", "can safely go to")
def goes(square, pieces):
    """Squares that a piece can move to, not attacked by lesser ones."""
    found = safe_moves(square, pieces) | double_steps(square, pieces)
    return found - attacked_by_lesser(square, pieces)


@piece_target("LOOKS", "shields", "looks through to")
def looks(square, pieces):
    """A slider attacks a piece through another one."""
    return xrays(square, pieces) & pieces.keys()


@square_set("CASTLES", "can castle to")
def castles(square, pieces):
    """Squares that a king reaches, by castling, too."""
    return safe_moves(square, pieces) | castling(square, pieces)
'''
"""Blocks that use all sources."""
USERS = "ALL+RING", "KING*SAFE+HANG", "TIED+GOES+PHASE(2,ZONE)", "LOOKS+WORN"
SHAPES: dict[str, dict[str, Any]] = {
    "squared": {"activation": "squared", "l1_shift": 1},
    "deep": {"l3": 5, "buckets": 4, "l1": 20},
    "deep and squared": {"l3": 5, "activation": "squared", "buckets": 32},
    "pairwise": {"pairwise": True, "l1": 72, "l1_shift": 2},
    "int8": {"rows": "<i1", "l1": 320, "l1_shift": 2},
    "dual": {"activation": "dual", "psqt": True},
    "psqt of buckets": {"psqt": 8, "buckets": 8},
    "direct": {"direct": Direct(), "l1": 40},
    "direct and squared": {"direct": Direct(200, 99, 321), "activation": "squared"},
    "direct, large": {"direct": Direct(255, 1 << 15, 400), "activation": "squared", "l1": 64},
    "all": {"pairwise": True, "activation": "dual", "psqt": True, "l3": 5, "buckets": 8, "l1": 24},
}
SANITIZED = "CFLAGS=-O1 -g -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"


def compiler(name: str) -> str:
    if shutil.which(name) is None or shutil.which("make") is None:
        pytest.skip(f"{name} and make are needed to compile exported code")
    return name


def run_test(path: Path, *options: str) -> str:
    done = subprocess.run(
        ["make", "-s", "-C", str(path), "test", *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_cpp(path: Path) -> str:
    """The same by a program in C++, with the library in C."""
    compiles = f"{compiler('gcc')} -O1 -c nnue.c -o nnue.o"
    links = f"{compiler('g++')} -Wall -Wextra -Wpedantic -Werror -x c++ test/test.c -x none nnue.o"
    for command in (compiles, links):
        subprocess.run(command.split(), cwd=path, check=True)
    runs = ["./a.out", "nnue.bin", "test/games.txt"]
    return subprocess.run(runs, cwd=path, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("features", SETS)
def test_c_agrees(features: str, tmp_path: Path) -> None:
    folder.write(tmp_path / "c", random_net(features, l1=24), "c", 5)
    assert ": 0 wrong" in run_test(tmp_path / "c", f"CC={compiler('gcc')}", SANITIZED)


def test_c_of_attacks_agrees_with_clang(tmp_path: Path) -> None:
    folder.write(tmp_path / "c", random_net("ALL+MB+TH+KING*AC", l1=24), "c", 5)
    assert ": 0 wrong" in run_test(tmp_path / "c", f"CC={compiler('clang')}", SANITIZED)


@pytest.mark.parametrize("shape", SHAPES)
def test_c_agrees_in_every_shape(shape: str, tmp_path: Path) -> None:
    folder.write(tmp_path / "c", random_net("ALL+H", **SHAPES[shape]), "c", 5)
    for machine in ("native", "x86-64"):
        (tmp_path / "c" / "test" / "test").unlink(missing_ok=True)
        options = f"CC={compiler('clang')}", f"{SANITIZED} -march={machine}"
        assert ": 0 wrong" in run_test(tmp_path / "c", *options)


@pytest.mark.parametrize("machine", ["armv8-a", "armv8.2-a+dotprod"])
@pytest.mark.parametrize("shape", [*SHAPES])
def test_c_agrees_on_arm(shape: str, machine: str, tmp_path: Path) -> None:
    if shutil.which("qemu-aarch64") is None:
        pytest.skip("qemu-user runs what is compiled for ARM")
    path = tmp_path / "c"
    folder.write(path, random_net("ALL+MB" if shape == "all" else "H", **SHAPES[shape]), "c", 2)
    cross = f"CC={compiler('aarch64-linux-gnu-gcc')} -static", f"CFLAGS=-O2 -march={machine}"
    subprocess.run(["make", "-s", "-C", str(path), "test/test", *cross], check=True)
    runs = ["qemu-aarch64", "test/test", "nnue.bin", "test/games.txt"]
    done = subprocess.run(runs, cwd=path, capture_output=True, text=True)
    assert ": 0 wrong" in done.stdout


def rust(program: str) -> str:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is needed to compile exported Rust")
    return compiler("gcc")


@pytest.mark.parametrize("features", ["ALL+H+V", "KING*MB+KB(4)+AB+PM", "KB(4)+PP"])
def test_rust_agrees(features: str, tmp_path: Path) -> None:
    folder.write(tmp_path / "rust", random_net(features, l1=24), "rust", 5)
    assert ": 0 wrong" in run_test(tmp_path / "rust", f"CC={rust('cargo')}")


def test_rust_agrees_without_cargo(tmp_path: Path) -> None:
    folder.write(tmp_path / "rust", random_net("ALL+TH", l1=24), "rust", 5)
    make = ["make", "-s", "-C", str(tmp_path / "rust"), "build/games", f"CC={rust('rustc')}"]
    subprocess.run(make, check=True)
    done = subprocess.run(
        ["build/games", "--nocapture"], cwd=tmp_path / "rust", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": 0 wrong" in done.stdout


def test_rust_finds_a_mistake(tmp_path: Path) -> None:
    folder.write(tmp_path / "rust", random_net("H", l1=8), "rust", 5)
    source = tmp_path / "rust" / "nnue.c"
    assert "!--*counted" in source.read_text()
    source.write_text(source.read_text().replace("!--*counted", "0"))
    make = ["make", "-s", "-C", str(tmp_path / "rust"), "test", f"CC={rust('cargo')}"]
    done = subprocess.run(make, capture_output=True, text=True)
    assert done.returncode != 0
    assert "move by move: found" in done.stdout


@pytest.mark.parametrize(
    ("language", "programs", "options", "needed"),
    [
        ("rust", ["make", "sh", "gcc"], ["CC=gcc"], "cargo or rustc"),
        ("rust", ["make", "sh"], ["CC=none"], "a C compiler"),
        ("c", ["make", "sh"], ["CC=none -m64"], "a C compiler"),
    ],
)
def test_what_is_missing_is_named(
    language: str, programs: list[str], options: list[str], needed: str, tmp_path: Path
) -> None:
    folder.write(tmp_path / "code", random_net("ALL", l1=8), language, 1)
    path = tmp_path / "bin"
    path.mkdir()
    for program in programs:
        found = shutil.which(program)
        if found is None:
            pytest.skip(f"{program} is needed")
        (path / program).symlink_to(found)
    make = [str(path / "make"), "-s", "-C", str(tmp_path / "code"), "test", *options]
    done = subprocess.run(make, env={"PATH": str(path)}, capture_output=True, text=True)
    assert done.returncode != 0
    assert len(done.stdout.splitlines()) == 1
    assert f"needs {needed}" in done.stdout


@pytest.mark.parametrize(
    "net",
    [random_net(features, l1=8) for features in SETS]
    + [random_net("ALL+H", **shape) for shape in SHAPES.values()],
)
def test_numpy_agrees(net: Net, tmp_path: Path) -> None:
    folder.write(tmp_path / "numpy", net, "python", 1)
    command = [sys.executable, str(tmp_path / "numpy" / "nnue.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ": 0 wrong" in done.stdout


@pytest.mark.parametrize(
    ("features", "name", "old", "new"),
    [
        ("H", "nnue.c", "!--*counted", "0"),
        ("KB(4)", "nnue.c", "keys[own_king(from, view)] == keys[own_king(to, view)]", "true"),
        ("H*V", "nnue.c", "if (*mark) removed", "if (!*mark) removed"),
        ("H", "nnue_layers.h", "sides[turn ^ view]", "sides[turn]"),
        ("MB", "nnue.c", "p->found = false;", ""),
        ("MB", "nnue_squares.h", "(of_colour(attacked, !colour) | g->shadows)", "g->shadows"),
        ("MB", "nnue_squares.h", "~(of_colour(attacked, !colour) | g->shadows)", "~attacked[0]"),
        ("MB", "nnue_squares.h", "if (checks) allowed", "if (0) allowed"),
        ("PM", "nnue.c", "if (changed >> i & 1) kept = 0;", ""),
        ("TH", "nnue.c", "f->n > 1 ? changed : 0", "0"),
    ],
)
def test_make_test_finds_a_mistake(
    features: str, name: str, old: str, new: str, tmp_path: Path
) -> None:
    folder.write(tmp_path / "c", random_net(features, l1=8), "c", 5)
    source = tmp_path / "c" / name
    assert old in source.read_text()
    source.write_text(source.read_text().replace(old, new))
    options = ["test", f"CC={compiler('gcc')}", "CFLAGS=-O1"]
    command = ["make", "-s", "-C", str(source.parent), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "expected" in done.stdout


def test_weights_of_another_net_are_refused(tmp_path: Path) -> None:
    for seed in range(2):
        folder.write(tmp_path / str(seed), random_net("ALL", seed=seed), "c", 1)
    shutil.copy(tmp_path / "1" / "nnue.bin", tmp_path / "0" / "nnue.bin")
    command = ["make", "-s", "-C", str(tmp_path / "0"), "test", f"CC={compiler('gcc')}"]
    assert "of another net" in subprocess.run(command, capture_output=True, text=True).stderr


@pytest.mark.parametrize("machine", ["x86-64", "alderlake", "sapphirerapids"])
def test_c_compiles_for_other_machines(machine: str, tmp_path: Path) -> None:
    folder.write(tmp_path / "c", random_net("ALL+MB"), "c", 1)
    options = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-march={machine}"]
    subprocess.run([compiler("gcc"), *options, "-c", "nnue.c"], cwd=tmp_path / "c", check=True)


def test_cpp_agrees(tmp_path: Path) -> None:
    folder.write(tmp_path / "c", random_net("KB(4)+PP", l1=24), "c", 5)
    assert ": 0 wrong" in run_cpp(tmp_path / "c")


def test_nothing_is_allocated(tmp_path: Path) -> None:
    folder.write(tmp_path / "c", random_net("ALL+MB+TH+KING*AC", l1=24), "c", 1)
    command = [compiler("gcc"), "-std=c11", "-fPIC", "-shared", "nnue.c", "-o", "libnnue.so"]
    subprocess.run(command, cwd=tmp_path / "c", check=True)
    names = subprocess.run(
        ["nm", "-uD", "libnnue.so"], cwd=tmp_path / "c", capture_output=True, text=True, check=True
    )
    called = {name.split()[-1].partition("@")[0] for name in names.stdout.splitlines()}
    assert {name for name in called if not name.startswith("_")} == {
        *("fopen", "fread", "fclose"),  # by nnue_load alone
        *("memcpy", "memset"),
    }


@pytest.fixture
def own_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of the documentation, and those above."""
    files = {"sources.py": SOURCES}
    for page in PAGES:
        files |= named(ROOT / page)
    del files["my_blocks.py"]  # the same as the README's
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("NNUELAB_BLOCKS", os.pathsep.join(str(tmp_path / name) for name in files))


@pytest.mark.parametrize("features", USERS)
@pytest.mark.usefixtures("own_blocks")
def test_blocks_of_a_users_own_agree(features: str, tmp_path: Path) -> None:
    net = random_net(features, l1=8)
    for language in ("c", "python"):
        folder.write(tmp_path / language, net, language, 1)
    command = [sys.executable, str(tmp_path / "python" / "nnue.py")]
    assert ": 0 wrong" in subprocess.run(command, capture_output=True, text=True).stdout
    assert ": 0 wrong" in run_test(tmp_path / "c", f"CC={compiler('gcc')}", SANITIZED)


@pytest.mark.parametrize(
    ("features", "reason"),
    [
        ("ALL+PASSED", "block PASSED can't be exported: a compiled function"),
        ("KING*OPEN", "block OPEN can't be exported: a compiled function"),
        ("ALL+PF", "block PF can't be exported: its kind, LineCount, has no translation"),
        ("POSSIBLE(KING*H)", r"a choice of features of a product or by phases, KING\*H, has"),
        ("CASTLES", "block CASTLES can't be exported: castling depends on the right to it"),
    ],
)
@pytest.mark.usefixtures("own_blocks")
def test_sets_without_code_are_refused_before_anything_is_written(
    features: str, reason: str, tmp_path: Path
) -> None:
    net = random_net(features, l1=8)
    for language in ("c", "python"):
        with pytest.raises(UserError, match=reason) as error:
            folder.write(tmp_path / "out", net, language, 1)
        assert "\n" not in str(error.value)
    assert all(path.suffix == ".py" for path in tmp_path.iterdir())


def test_code_has_only_what_its_net_needs(tmp_path: Path) -> None:
    folder.write(tmp_path / "plain", random_net("ALL+H+V"), "c", 1)
    folder.write(tmp_path / "product", random_net("PHASE(2,H)*V", l3=4), "c", 1)
    plain, product = ((tmp_path / name / "nnue.c").read_text() for name in ("plain", "product"))
    for needed in ("change_listed", "net.wh", "BY_COUNT) {"):
        assert needed in product
        assert needed not in plain
    assert "OF_PAIRS) {" not in product
    assert not (tmp_path / "plain" / "nnue_squares.h").exists()
    folder.write(tmp_path / "plain" / "numpy", random_net("ALL+H+V"), "python", 1)

    def lines(files: str) -> int:
        return sum(len(file.read_text().splitlines()) for file in tmp_path.glob(f"plain/{files}"))

    assert lines("**/*.[ch]") < 700
    assert lines("**/*.py") <= 100


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text("int x;")
    with pytest.raises(UserError, match="is there already"):
        folder.write(tmp_path, random_net("ALL"), "c", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.c"]


def test_a_folder_that_another_run_fills_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faster(*_: object) -> list[str]:
        (tmp_path / "code").mkdir()
        (tmp_path / "code/mine.c").write_text("int x;")
        return []

    monkeypatch.setattr(folder.proof, "lines", faster)
    with pytest.raises(UserError, match=r"can't write .*code: Directory not empty"):
        folder.write(tmp_path / "code", random_net("ALL"), "c", 1)
    assert [path.name for path in tmp_path.rglob("*")] == ["code", "mine.c"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "features", [*feature_sets.blocks(), *feature_sets.PRODUCTS, *SETS, *USERS]
)
@pytest.mark.usefixtures("own_blocks")
def test_every_set_agrees_on_100_000_positions(
    features: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In C, with sanitizers and without, C++ and Rust; or it is refused and nothing is written."""
    feature_sets.pair_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    net = random_net(features, l1=8)
    try:
        flat.terms_of(net.features)
    except UserError:
        with pytest.raises(UserError, match="can't be exported"):
            folder.write(tmp_path / "c", net, "c", 1)
        assert not (tmp_path / "c").exists()
        return
    folder.write(tmp_path / "c", net, "c", 870)
    for options in (SANITIZED, "CFLAGS=-O3 -march=native"):
        answer = run_test(tmp_path / "c", "-B", f"CC={compiler('gcc')}", options)
        assert ": 0 wrong" in answer
        assert int(answer.split()[0]) >= 100_000
    assert ": 0 wrong" in run_cpp(tmp_path / "c")
    if shutil.which("cargo"):
        folder.write(tmp_path / "rust", net, "rust", 1)
        shutil.copy(tmp_path / "c" / "test" / "games.txt", tmp_path / "rust" / "test")
        assert ": 0 wrong" in run_test(tmp_path / "rust", "CC=gcc")
