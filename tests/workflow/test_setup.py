"""./run brings the environment up once, goes on after a kill, and says what is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Stands for an interpreter and for everything in the .venv that it makes; tells what it was asked.
PYTHON = r"""#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in
*version_info*) echo "${FAKE_VERSION:-3.12}" ;;
*ensurepip*) exit "${FAKE_NO_VENV:-0}" ;;
--version) echo "Python 3.12.1" ;;
*results_folder*) echo results/pairwise_table.csv ;;
*"venv --clear .venv/audit"*)
    mkdir -p .venv/audit/bin
    for name in python pip-audit; do cp "$0" ".venv/audit/bin/$name"; done ;;
*freeze*) printf 'numpy==2.0\ntorch==2.13.0+cpu\n' ;;
*"venv --clear"*)
    rm -rf .venv
    mkdir -p .venv/bin
    echo "version = 3.12.1" > .venv/pyvenv.cfg
    for name in python snakemake sphinx-build nnuelab uv; do cp "$0" ".venv/bin/$name"; done ;;
*"$FAKE_BROKEN"*) echo "no network" >&2; exit 1 ;;
*"${FAKE_MADE:-(none)}"*) : >"$FAKE_MADE" ;;
*"$FAKE_KILL"*) kill -9 $PPID ;;
esac
"""
CHECK = "nnuelab params check"


@pytest.fixture
def clone(tmp_path):
    """A folder with what ./run needs, and an interpreter that only writes down its calls."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in ("run", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for tool in (
        "sh",
        "awk",
        "cat",
        "cksum",
        "grep",
        "head",
        "rm",
        "sed",
        "mv",
        "mkdir",
        "cp",
        "basename",
        "dirname",
    ):
        (bin_folder / tool).symlink_to(shutil.which(tool))
    python = bin_folder / "python3.12"
    python.write_text(PYTHON)
    python.chmod(0o755)
    return folder


def run(clone, *arguments, **variables):
    """(exit status, lines of stderr, calls) of ./run with nothing else on PATH."""
    calls = clone.parent / "calls"
    calls.write_text("")
    environment = {
        "PATH": str(clone.parent / "bin"),
        "CALLS": str(calls),
        "FAKE_BROKEN": "(none)",
        "FAKE_KILL": "(none)",
        **variables,
    }
    done = subprocess.run(
        ["./run", *arguments], cwd=clone, env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stderr.splitlines(), calls.read_text().splitlines()


def test_help_needs_no_environment(clone):
    status, said, calls = run(clone, "--help")
    assert (status, said, calls) == (0, [], [])
    assert not (clone / ".venv").exists()


def test_setup_installs_the_lock_then_torch_then_the_package(clone):
    status, said, calls = run(clone, "--setup")
    assert status == 0
    steps = ("setting up .venv", "requirements.lock", "torch==", "compiling the engine")
    assert all(step in line for step, line in zip(steps, said, strict=True))
    assert calls[-1] == "nnuelab uci"
    installs = [call for call in calls if "install" in call]
    assert [
        next(
            word
            for word in ("installers.txt", "requirements.lock", "torch==", "--editable")
            if word in call
        )
        for call in installs
        if "--no-index" not in call
    ] == ["installers.txt", "requirements.lock", "torch==", "--editable"]
    assert all("--require-hashes" in call for call in installs[:2])
    lines = (clone / ".venv/installers.txt").read_text().splitlines()
    assert [line.partition("==")[0] for line in lines if "==" in line] == ["pip", "uv"]
    assert sum("--hash=sha256:" in line for line in lines) > 2


def test_second_call_does_nothing_and_is_quick(clone):
    run(clone, "--setup")
    start = time.monotonic()
    status, said, calls = run(clone, "--setup")
    assert (status, said, calls) == (0, [], [])
    assert time.monotonic() - start < 1


def test_another_lock_updates_the_environment_in_place(clone):
    run(clone, "--setup")
    with open(clone / "requirements.lock", "a") as file:
        file.write("# edited\n")
    status, _, calls = run(clone, "--setup")
    assert status == 0
    assert not any("venv" in call and "--clear" in call for call in calls)
    assert any("requirements.lock" in call for call in calls)
    assert run(clone, "--setup")[2] == []


def test_a_folder_that_was_moved_gets_a_new_environment(clone):
    run(clone, "--setup")
    moved = clone.rename(clone.parent / "moved")
    assert any("--clear" in call for call in run(moved, "--setup")[2])


def test_killed_setup_is_done_again(clone):
    status, _, _ = run(clone, "--setup", FAKE_KILL="torch==")
    assert status != 0
    assert not (clone / ".venv/stamp").exists()
    status, _, calls = run(clone, "--setup")
    assert status == 0
    assert any("--clear" in call for call in calls)


def test_uv_that_fails_is_replaced_by_pip(clone):
    status, _, calls = run(clone, "--setup", FAKE_BROKEN="pip install --python")
    assert status == 0
    assert any("-m pip" in call and "requirements.lock" in call for call in calls)


def test_what_is_installed_is_compared_with_what_was_asked_for(clone):
    calls = run(clone, "--setup")[2]
    checks = [call for call in calls if "--no-index" in call]
    assert ["requirements.lock" in checks[0], "torch==" in checks[1]] == [True, True]
    assert calls.index(checks[0]) > next(i for i, c in enumerate(calls) if "torch==" in c)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"FAKE_VERSION": "3.9"}, "no Python 3.11 to 3.13 found"),
        ({"PYTHON": "nothing-of-that-name"}, "no Python 3.11 to 3.13 found"),
        ({"FAKE_NO_VENV": "1"}, "apt install python3.12-venv"),
        ({"FAKE_BROKEN": "requirements.lock"}, "connect and run again"),
        ({"FAKE_BROKEN": "installers.txt"}, "couldn't install the pip and uv"),
        ({"FAKE_BROKEN": "torch=="}, "couldn't install torch=="),
        ({"FAKE_BROKEN": "--no-index -r"}, "other versions than requirements.lock"),
        ({"FAKE_BROKEN": "--no-index torch"}, "other versions than torch=="),
    ],
    ids=["too old", "not there", "no venv", "no network", "no pip", "no torch", "other", "torch"],
)
def test_what_is_missing_is_said_in_one_line_with_the_remedy(clone, variables, message):
    status, said, _ = run(clone, "--setup", **variables)
    assert status == 1
    told = [line for line in said if not re.match("run: (setting up|fetching|compiling)", line)]
    assert len(told) == 1
    assert message in told[0]


def test_arguments_go_to_snakemake(clone):
    run(clone, "--setup")
    assert run(clone, "-n", "results/x y")[2] == [CHECK, "snakemake -n results/x y"]


def test_alone_it_makes_the_table_of_the_default_experiment_and_prints_it(clone):
    run(clone, "--setup")
    checked, made, asked, shown = run(clone)[2]
    assert (checked, made) == (CHECK, "snakemake all")
    assert asked.startswith("python -c")
    assert shown == "nnuelab inspect results/pairwise_table.csv"
    assert run(clone, FAKE_BROKEN="all")[2] == [checked, made]
    # The workflow shows what it makes.
    tables = clone / "results"
    tables.mkdir()
    (tables / "pairwise_table.csv").touch()
    os.utime(tables / "pairwise_table.csv", (2**32, 2**32))
    assert len(run(clone)[2]) == 3


def test_settings_that_cannot_be_are_told_without_a_frame(clone):
    run(clone, "--setup")
    (clone / "my.yaml").touch()
    given = ["--configfile", "my.yaml", "missing.yaml", "--cores", "2"]
    for words, checked in (
        ([], ""),
        (["a_table.csv", *given], " --overlay my.yaml --overlay missing.yaml"),
    ):
        done = run(clone, *words, FAKE_BROKEN="params check")
        assert done == (1, ["no network"], [CHECK + checked])


def test_overlays_alone_make_the_table_too(clone):
    run(clone, "--setup")
    (clone / "my.yaml").touch()
    checked, made, asked, shown = run(clone, "--configfile", "my.yaml")[2]
    assert checked == f"{CHECK} --overlay my.yaml"
    assert made == "snakemake all --configfile my.yaml"
    assert asked.endswith("my.yaml")
    assert shown.startswith("nnuelab inspect")
    words = ["--configfile", "my.yaml", "-n"]
    assert run(clone, *words)[2] == [checked, "snakemake " + " ".join(words)]


def test_a_lock_is_looked_at_before_a_run(clone):
    run(clone, "--setup")
    locks = clone / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").touch()
    assert run(clone, "report")[2] == ["nnuelab unlock", CHECK, "snakemake report"]
    status, _, calls = run(clone, "report", FAKE_BROKEN="unlock")
    assert (status, calls) == (1, ["nnuelab unlock"])
    assert run(clone, "-n")[2] == [CHECK, "snakemake -n"]


def test_the_table_of_a_search_makes_the_search_first(clone):
    run(clone, "--setup")
    words = ["results-my/search_table.csv", "-j", "2"]
    searches = "snakemake results-my/search/front.yaml -j 2"
    assert run(clone, *words)[2] == [CHECK, searches]
    broken = run(clone, *words, FAKE_BROKEN="front.yaml")
    assert (broken[0], broken[2]) == (1, [CHECK, searches])
    (clone / "results-my/search").mkdir(parents=True)
    played = "snakemake " + " ".join(words)
    front = "results-my/search/front.yaml"
    assert run(clone, *words, FAKE_MADE=front)[2] == [CHECK, searches, played]
    assert run(clone, *words)[2] == [CHECK, played]


def test_list_is_the_packages(clone):
    run(clone, "--setup")
    assert run(clone, "--list", "--overlay", "my.yaml")[2] == [
        "nnuelab params list --overlay my.yaml"
    ]
    assert run(clone, "--list", "--configfile", "my.yaml", "other.yaml")[2] == [
        "nnuelab params list --overlay my.yaml --overlay other.yaml"
    ]


def test_docs_are_built_after_setup_and_their_place_is_told(clone):
    status, said, calls = run(clone, "--docs")
    assert status == 0
    assert said[-1] == "run: made docs/_build/index.html"
    assert calls[-1].startswith("sphinx-build")
    assert "--fail-on-warning" in calls[-1]
    assert run(clone, "--docs", FAKE_BROKEN="docs/_build")[0] != 0


def test_no_file_names_a_package_index():
    tracked = subprocess.run(
        ["git", "grep", "-lIE", "(pypi|pythonhosted|download.pytorch)[.]org"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert tracked.stdout == ""


def test_an_audit_has_an_environment_of_its_own_and_knows_torch_by_its_version(clone):
    status, said, calls = run(clone, "--audit")
    assert status == 0, said
    assert (clone / ".venv/audit.txt").read_text() == "numpy==2.0\ntorch==2.13.0\n"
    assert calls[-1].startswith("pip-audit --strict ")
    run(clone, "--audit")
    assert run(clone, "--audit", FAKE_BROKEN="--strict")[0] != 0
    assert not any("venv --clear" in call for call in run(clone, "--audit")[2])
