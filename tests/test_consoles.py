"""Each line of each console on the pages runs, on small files and with small numbers.

The lines of a page run in their order and in one folder, so that one reads what another has
written. ``pytest -m slow -s`` tells the times.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from itertools import islice
from pathlib import Path

import pytest
import yaml
import zstandard

from nnuelab import params
from nnuelab.data.streams import lines
from tests import report_results
from tests.conftest import ROOT
from tests.export import test_openbench
from tests.fuzz import corpus
from tests.test_docs import PAGES, named, settings_on, shown
from tests.test_tutorial import lend_environment, served

pytestmark = pytest.mark.slow

WITH_CONSOLES = [page for page in PAGES if any(shown(page))]

# Beginnings of lines that can't run here, and why not.
LEFT_OUT = {
    "./test": "these tests",
    "dvc": "tests/workflow/test_players.py",
    "git": "a repository and a server of its own",
    "nnuelab download": "the network; tests/data/test_download.py has a server",
    ".venv/bin/pip": "the network",
    "./run results/axis_table.csv --workflow-profile": "tests/workflow/test_slurm.py",
    "./run report --report": "a finished run; tests/workflow/test_chain.py",
    "nnuelab --install-completion": "a shell at a terminal; tests/cli/test_completion.py",
    "torchrun": "tests/nnue/test_runs.py",
    "nnuelab policy watch": "a terminal; tests/policy/test_console.py",
    "nnuelab tournament --players resources/players/debian.yaml": "tests/tournament/test_debian.py",
    "nnuelab tournament nnuelab stockfish": "tests/tournament/test_debian.py",
    "nnuelab check-engine ./avx2": "tests/export/test_check_engine.py",
}
SERVERS = "nnuelab serve"
# Whole workflows aren't made: tests/workflow/test_chain.py and test_players.py do that.
DRY = "-n"
_PLAYED = "--games-per-pairing 2 --nodes 20 --max-plies 60 --workers 1"
_LEARN = "--iterations 1 --max-plies 20 --evaluation-games 2 --evaluation-plies 10"
# What is added to a line by its longest beginning: the last of an option's values counts.
SMALL = {
    "./run": DRY,
    "./run -n": "",
    "./run --list": "",
    "./run --setup": "",
    "snakemake": DRY,
    "nnuelab check-engine": "--games 4",
    "nnuelab check-engine ./engine --net": "--games 4 --tolerance 1e6",  # which has centipawns
    "nnuelab check-engine ./engine ./engine-from-scratch": "--games 2 --depth 2",
    "nnuelab cost": "--rounds 3",
    "nnuelab data index 2024.binpack": "--validation-share 0.3",
    "nnuelab datagen": "--games 12 --nodes 20 --workers 1",
    "nnuelab export": "--games 2",
    "nnuelab features stats": "--positions 50",
    "nnuelab importance": "--count 100 --games 2 --nodes 20 --workers 1",
    "nnuelab importance-path": "--count 100",
    "nnuelab label": "--validation-share 0.3",
    "nnuelab policy agreement": "--count 5",
    "nnuelab policy selfplay seed": f"{_LEARN} --epochs 1",
    "nnuelab policy selfplay gradient": f"{_LEARN} --games 2 --gate-games 2 --layers 16",
    "nnuelab policy selfplay expert": f"{_LEARN} --games 2 --simulations 4 --layers 16 --workers 1",
    "nnuelab policy train": "--epochs 1 --batch-size 256",
    "nnuelab puzzles": "--nodes 20 --count 10 --workers 1",
    "nnuelab puzzles lichess_db_puzzle.csv.zst": "--movetime 5 --count 10 --workers 1",
    "nnuelab search-check": "--terms ALL --terms H --terms V --count 3 --full-epochs 1"
    " --positions 1100 --epochs 1 --l1 32 --workers 1",
    "nnuelab serve": "--port 0",
    "nnuelab spsa": "--iterations 2 --nodes 20 --max-plies 30 --workers 1",
    "nnuelab texel tune": "--generations 3 --threads 1",
    "nnuelab texel positions": "--workers 1",
    "nnuelab tournament": _PLAYED,
    "nnuelab tournament a=default b=default": "--movetime 1 --games-per-pairing 2 --max-plies 20",
    "nnuelab tournament new=my-engine/engine": "--movetime 1 --games-per-pairing 2 --max-plies 20",
    "nnuelab train --features HALFKAV2_HM": "--epochs 1 --epoch-positions 1000 --batch-size 256"
    " --l1 32 --l2 8 --threads 1",
    "nnuelab train": "--epochs 1 --l1 32 --l2 8 --batch-size 256 --threads 1",
}
# What stands for something else: what the reader has, and games that take a minute to read.
MEANT = {
    "ALL#1=...": "ALL#1=results/nets/ALL/1/net.nnue",
    "ALL+MB#1=...": "ALL+MB#1=results/nets/ALL+MB/1/net.nnue",
    "resources/embedded/games.pgn.zst": "few.pgn.zst",
    " ...": " --train train.npy --validation validation.npy --checkpoint a.pt --history a.csv",
}
# Lines that show an error.
FAILS = "./run pairwise", "nnuelab inspect resluts"

# Makes the files which a page takes as given; $of is a folder with one of each kind.
_DATASETS = "cp $of/trained/train.npy $of/trained/validation.npy ."
_NETS = "for net in a b new old; do cp $of/kinds/a.nnue $net.nnue; done; cp $of/book.epd ."
_TRAIN = f"""{_DATASETS}
learn() {{
    mkdir -p results/nets/$1/1
    nnuelab train --features $1 --train train.npy --validation validation.npy --l1 32 \\
        --l2 ${{2:-8}} --epochs 1 --batch-size 256 --threads 1 \\
        --checkpoint results/nets/$1/1/checkpoint.pt --history results/nets/$1/1/history.csv
    nnuelab quantize results/nets/$1/1/checkpoint.pt --scheme study \\
        --output results/nets/$1/1/net.nnue
}}
engine() {{
    mkdir -p $(dirname $1)
    echo "#!/bin/sh\nexec nnuelab uci ${{2:+--net $2}}" > $1
    chmod +x $1
}}
"""
GIVEN = {
    "README": "for year in 2023 2024; do cp $of/kinds/a.binpack $year.binpack; done",
    "adding-a-feature-set": "printf 'experiments: {axis: {feature_sets: [ALL, ALL+RING]}}\n"
    "blocks: [my_blocks.py]\n' > mine.yaml",
    "adding-an-experiment": "cp results/axis_table.csv results/knights_table.csv",
    "check-engine": _TRAIN + "cp $of/kinds/a.nnue net.nnue; cp $of/kinds/a.pgn games.pgn; "
    "nnuelab export net.nnue my-engine/nnue --games 2; make -C my-engine/nnue; "
    "for build in engine engine-from-scratch engine-portable; do engine $build net.nnue; done",
    "data": "for month in 01 02; do cp $of/kinds/a.pgn.zst 2024-$month.pgn.zst; done",
    "datasets": _DATASETS + "; mv train.npy 2024-01.npy; mv validation.npy 2024-02.npy; "
    "nnuelab sample $of/games.pgn --workers 1 --output more.npy; "
    "nnuelab data convert more.npy 2024.binpack; cp 2024.binpack training.binpack; "
    "cp $of/kinds/a.binpack 2023.binpack; cp $of/kinds/a.bf mine.bf",
    "export": "cp $of/kinds/a.nnue net.nnue",
    "feature-statistics": "cp $of/kinds/a.pgn.zst games.pgn.zst",
    "first-nnue": _TRAIN + "engine my-engine/engine results/nets/ALL/1/net.nnue; "
    "engine my-engine-before/engine",
    "importance": _TRAIN + "for set in ALL+MB ALL+H+V ALL+PP; do learn $set; done; "
    "cp results/nets/ALL+MB/1/* results/data/validation.npy .",
    "judge": _TRAIN + _NETS + "; cp a.nnue net.nnue; engine myengine net.nnue; "
    'cp myengine tomine; cp -r "$of/my engine" ../mine; mv ../mine/make ../mine/src; '
    "cp a.nnue new.bin; head -c 100 a.nnue > old.bin; mkdir nets; cp a.nnue nets/mine.nnue; "
    "cp results/sprt/axis.csv results/sprt/mine.csv",
    "matches": _TRAIN + _NETS + "; cp $of/kinds/a.puzzles.csv puzzles.csv; "
    "cp $of/puzzles.csv.zst lichess_db_puzzle.csv.zst; engine engines/stockfish",
    "net-files": _TRAIN + "learn ALL 32; cp results/nets/ALL/1/net.nnue .; "
    "cp $of/kinds/a.direct quantised.bin; cp $of/kinds/a.pytorch theirs.nnue; "
    "cp $of/kinds/a.net.pt checkpoint.pt",
    "policy": _DATASETS + "; nnuelab report",
    "ratings": _TRAIN + _NETS + "; learn ALL+MB",
    "report": "cp -r results results-tiny; cp results/axis_table.csv results/pairwise_table.csv",
    "searching": "cp $of/trained/*.npy results/data",
    "spsa": "cp $of/book.epd .",
    "texel": "cp $of/games.pgn .; cp $of/book.epd openings.epd; mkdir my; "
    "cp $of/kinds/a.pgn.zst my/games.pgn.zst; cp $of/kinds/a.epd my/positions.epd; "
    "cd results/texel; cp -r material gauss_newton; cp -r material ../../a; cp -r material ../../b",
    "texel-questions": "cp $of/games.pgn .; cp results/texel/material/tuned.yaml .; "
    "nnuelab texel positions games.pgn --output train.npy --validation validation.npy "
    "--filters filters.csv --workers 1",
    "training": _TRAIN + "learn ALL; for name in scores tuned; do "
    "cp results/nets/ALL/1/checkpoint.pt $name.pt; done; cp validation.npy test.npy; "
    "cp $of/kinds/a.nnue last.nnue; cp $of/kinds/a.pgn.zst tcec.pgn.zst; "
    "cp $of/kinds/a.pgn.zst lichess.pgn.zst; cp $of/kinds/a.pgn.zst few.pgn.zst",
    "tutorial": "cp -r results results-tiny; cp -r results results-tiny+mine; "
    "mv results-tiny+mine/nets/ALL results-tiny+mine/nets/ALL+RING; "
    "nnuelab report --results results-tiny --output results-tiny/report.html",
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of each kind, and a folder of results."""
    scratch = tmp_path_factory.mktemp("scratch")
    corpus.make(scratch / "kinds", scratch)
    embedded = ROOT / "resources/embedded"
    openings = islice(lines(embedded / "openings.epd.gz"), 20)
    (scratch / "book.epd").write_bytes(b"".join(openings))
    played = b"".join(islice(lines(embedded / "games.pgn.zst"), 3000)).rpartition(b"[Event")[0]
    (scratch / "games.pgn").write_bytes(played)
    packed = zstandard.compress((scratch / "kinds/a.puzzles.csv").read_bytes())
    (scratch / "puzzles.csv.zst").write_bytes(packed)
    report_results.make_tuned(scratch / "results")
    report_results.make_sequential(scratch / "results")
    report_results.make_policies(scratch / "results")
    test_openbench.folder(scratch)
    return scratch


def world(folder: Path, page: Path, kinds: Path) -> dict[str, str]:
    """Fills a folder with what a reader of the page has; returns the environment of its lines."""
    for path in ROOT.iterdir():
        if not path.name.startswith((".", "results", "logs", "params.yaml")):
            (folder / path.name).symlink_to(path)
    shutil.copytree(kinds / "results", folder / "results")
    if "results/published" in page.read_text():
        shutil.copytree(ROOT / "results/published", folder / "results/published")
    overlays = named(page, "yaml", "yaml")
    overlays.pop("params.yaml", "")  # which is only changed
    for name, text in (named(page) | overlays).items():
        (folder / name).write_text(text)
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    for overlay in settings_on(page):
        if overlay not in map(yaml.safe_load, overlays.values()):
            params.merge(settings, overlay)
    (folder / "params.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
    lend_environment(folder)
    return os.environ | {
        "PATH": f"{folder}/.venv/bin:{folder}/engines:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(folder),  # which some lines write into
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "of": str(kinds),
    }


def small(line: str) -> str:
    """The line without its remark, with small numbers."""
    line = re.sub(r"(^|\s+)# .*$", "", line).strip()
    for dots, meant in MEANT.items():
        line = line.replace(dots, meant)
    command, chained, rest = line.partition(" && ")
    beginnings = [start for start in SMALL if f"{command} ".startswith(f"{start} ")]
    added = SMALL[max(beginnings, key=len)] if beginnings else ""
    return f"{command} {added}".strip() + chained + rest


def left_out(line: str) -> bool:
    return any(f"{line} ".startswith(f"{start} ") for start in LEFT_OUT)


@pytest.mark.parametrize("page", WITH_CONSOLES, ids=lambda page: page.stem)
def test_every_line_runs(page: Path, kinds: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    environment = world(folder, page, kinds)
    failed = []

    def start(line: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["sh", "-c", f"exec {line}" if line.startswith(SERVERS) else line],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    given = start(f"set -e; {GIVEN.get(page.stem, ':')}")
    said, _ = given.communicate()
    assert given.returncode == 0, said
    for line, printed in shown(page):
        if left_out(line):
            continue
        began, process = time.monotonic(), start(small(line))
        if line.startswith(SERVERS):
            said = served(process)
            if "<!doctype html>" not in said:
                failed.append(f"$ {small(line)}\n{said}")
        else:
            said, _ = process.communicate(timeout=600)
            fails = line.startswith(FAILS)
            if process.returncode != fails or (fails and printed.strip() not in said):
                failed.append(f"$ {small(line)}\n{said}")
        print(f"{time.monotonic() - began:6.1f} s  {small(line)}")
    assert not failed, "\n".join(failed)


def test_tables_name_lines_that_are_shown() -> None:
    every = [line for page in PAGES for line, _ in shown(page)]
    for begin in (*LEFT_OUT, *SMALL, SERVERS):
        assert any(f"{line} ".startswith(f"{begin} ") for line in every), begin
    for part in (*FAILS, *MEANT):
        assert any(part in line for line in every), part
    for reason in LEFT_OUT.values():
        for test in re.findall(r"tests/[\w/]+\.py", reason):
            assert (ROOT / test).is_file(), reason
    assert {page.stem for page in PAGES} >= GIVEN.keys()
