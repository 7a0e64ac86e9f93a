"""What Tab gives in a shell, at once: commands, options, and the names that are there."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

OWN = """
from nnuelab.features import COLORS, Concept, piece_square

@piece_square("MINE", COLORS)
def mine(square, role, color):
    'A piece.'
    return color
"""
NETS = ["results/nets/ALL/1/net.nnue", "results/nets/H+V/2/net.nnue"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for net in NETS:
        (tmp_path / net).parent.mkdir(parents=True)
        (tmp_path / net).touch()
    (tmp_path / "results/pairwise_table.csv").touch()
    (tmp_path / "params.yaml").symlink_to(ROOT / "params.yaml")
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "broken.py").write_text("@piece_square(")
    return tmp_path


def completed(line: str, folder: Path, **variables: str) -> list[str]:
    """What bash is given for the last word of a line."""
    environment = {
        **os.environ,
        "_NNUELAB_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        **variables,
    }
    program = [str(Path(sys.executable).with_name("nnuelab"))]
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nnuelab tr", ["train"]),
        ("nnuelab features st", ["stats"]),
        ("nnuelab tournament --adj", []),
        ("nnuelab train --score-s", ["--score-share", "--score-share-end"]),
        ("nnuelab train --features ALL+YAC", ["ALL+YACGE"]),
        ("nnuelab features check king*m", ["king*mb", "king*mc", "king*men", "king*mobility"]),
        ("nnuelab features check PHASE(4,AL", ["PHASE(4,ALL"]),
        ("nnuelab features check --blocks mine.py MI", ["MINE"]),
        ("nnuelab features check --blocks broken.py YA", ["YACGE"]),
        ("nnuelab features check --blocks missing.py YA", ["YACGE"]),
        ("nnuelab uci --net ", NETS),
        ("nnuelab verify results/nets/H", NETS[1:]),
        ("nnuelab verify elsewhere/", []),  # then shells complete files
        ("nnuelab puzzles --net ", ["default", *NETS]),
        ("nnuelab report p", ["pairwise", "pqr"]),
        ("nnuelab table --experiment a", ["axis"]),
        ("nnuelab bench se", ["search", "selfplay"]),
    ],
)
def test_names_that_are_there(line: str, expected: list[str], folder: Path) -> None:
    assert completed(line, folder) == expected


def test_blocks_of_ones_own_by_the_variable(folder: Path) -> None:
    assert completed("nnuelab features check MI", folder, NNUELAB_BLOCKS="mine.py") == ["MINE"]


def test_broken_settings_complete_what_has_a_table(folder: Path) -> None:
    (folder / "params.yaml").unlink()
    assert completed("nnuelab report ", folder) == ["pairwise"]
    (folder / "params.yaml").write_text("experiments: [")
    assert completed("nnuelab report ", folder) == ["pairwise"]


def test_every_block_of_the_package_is_found(tmp_path: Path) -> None:
    from nnuelab.features import Block
    from nnuelab.features.registry import load

    names = {block.name for block in load().values() if isinstance(block, Block)}
    assert set(completed("nnuelab features check ", tmp_path)) == names


def test_nothing_slow_is_loaded(folder: Path) -> None:
    program = """if True:
        import sys
        from nnuelab.cli.__main__ import run
        try:
            run()
        finally:
            slow = {"numba", "numpy", "torch", "pandas", "altair"}
            print(slow & set(sys.modules), file=sys.stderr)
    """
    for line in ("nnuelab features check A", "nnuelab uci --net ", "nnuelab report "):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder,
            env={
                **os.environ,
                "_NNUELAB_COMPLETE": "complete_bash",
                "COMP_WORDS": line,
                "COMP_CWORD": str(len(line.split(" ")) - 1),
            },
            capture_output=True,
            text=True,
        )
        assert done.stdout
        assert done.stderr.strip() == "set()"


def test_bash_takes_what_show_completion_prints(folder: Path) -> None:
    place = Path(sys.executable).parent
    script = f"""
        PATH={shlex.quote(str(place))}:$PATH
        eval "$(nnuelab --show-completion)"
        COMP_WORDS=(nnuelab features check ALL+YAC) COMP_CWORD=3
        _nnuelab_completion nnuelab
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=folder, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("ALL+YACGE\n", "")
