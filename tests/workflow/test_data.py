"""From games to datasets under Snakemake and DVC: a month of Lichess, a set that tests."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import yaml
import zstandard

from nnuelab import data
from nnuelab.data import conversion, dataset, pgn
from tests.data.test_download import Handler
from tests.data.test_formats import whole_games
from tests.naive.data import samples
from tests.workflow.project import NOTHING, ROOT, Folder, change, project, ran

MONTH = "2013-01"
DATA = {"download", "sample", "label"}


@pytest.fixture
def games(shared) -> list[str]:
    """Real games with evaluations."""
    return [text.decode() for text in pgn.texts(shared / "data/games/fixture_evals_200.pgn")]


@pytest.fixture
def mirror(games) -> Iterator[tuple[str, type[Handler]]]:
    """Address and handler class of a server with one month of the Lichess database."""
    body = zstandard.compress("\n".join(games).encode(), 7)
    content = {
        **{"body": body, "checksum": hashlib.sha256(body).hexdigest()},
        **{"cuts": [], "asked": [], "statuses": [], "listed": []},
    }
    kind = type("Month", (Handler,), content)
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", kind
        server.shutdown()


@pytest.fixture
def folder(tmp_path) -> Folder:
    """The project without results, in a git repository of its own."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    (tmp_path / "project").mkdir()
    found = Folder(project(tmp_path / "project"))
    found.git("init", "--quiet")
    return found


def settings(folder: Folder, section: str, **values: object) -> None:
    for key, value in values.items():
        change(folder, section, key, value)


def scored(*sets: Path) -> Counter[tuple[str, int]]:
    """Positions of datasets with their scores."""
    found: Counter[tuple[str, int]] = Counter()
    for path in sets:
        frame = data.open(path).to_pandas()
        found.update(zip(frame["fen"], frame["score"], strict=True))
    return found


def test_a_month_of_lichess_from_a_mirror_to_datasets(mirror, games, folder) -> None:
    """All is killed in the download and called again."""
    address, kind = mirror
    slow = len(kind.body) / 20e6  # MB/s: it takes twenty seconds
    settings(folder, "data", source="lichess", months=[MONTH], mirror=address, max_rate=slow)
    settings(folder, "sample", only_evaluated=True)
    part = folder.path / f"results/games/{MONTH}.pgn.zst.part"
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "data"],
        cwd=folder.path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    while process.poll() is None and not (part.exists() and part.stat().st_size > 5000):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    have = part.stat().st_size
    assert 5000 < have < len(kind.body)
    assert not part.with_suffix("").exists()

    assert "unlocked" in folder.run("nnuelab", "unlock")
    settings(folder, "data", max_rate=0)
    assert ran(folder.run("snakemake", "data")) == DATA
    assert kind.asked == [None, f"bytes={have}-"]
    fetched = folder.path / f"results/games/{MONTH}.pgn.zst"
    assert fetched.read_bytes() == kind.body
    record = fetched.with_name(fetched.name + ".json")
    assert json.loads(record.read_text())["parameters"]["checked"]
    assert {*fetched.parent.iterdir()} == {fetched, record}
    assert NOTHING in folder.run("snakemake", "data")

    # What python-chess finds in the same games.
    sets = [folder.path / f"results/data/{name}.npy" for name in ("train", "validation")]
    wanted = Counter(
        (fen, score)
        for text in games
        for fen, score, _ in samples(text, 16, skip_check=True, skip_captures=True)
        if score is not None and abs(score) <= 5000
    )
    assert scored(*sets) == wanted
    train, validation = (set(np.load(path)["game"]) for path in sets)
    assert not train & validation


@pytest.mark.slow
def test_a_set_that_tests_comes_and_goes_for_dvc_too(games, folder) -> None:
    (folder.path / "games.pgn").write_text("\n".join(games))
    settings(folder, "data", source="files", files=["games.pgn"])
    settings(folder, "label", test_share=0.3)
    folder.git("add", "--all")
    sets = [folder.path / f"results/data/{name}.npy" for name in ("train", "validation", "test")]
    assert ran(folder.run("dvc", "repro", "data")) == {"sample", "label"}
    three = scored(*sets)
    played = [set(np.load(path)["game"]) for path in sets]
    assert sum(map(len, played)) == len(set.union(*played))
    assert NOTHING in folder.run("snakemake", "data")
    assert "up to date" in folder.run("dvc", "repro", "data")

    # It is missed by both when it is gone ...
    sets[2].unlink()
    assert folder.would_run("data") == {"label": 1}
    assert ran(folder.run("dvc", "repro", "data")) == {"label"}
    assert scored(*sets) == three

    # ... and is empty when its games train again.
    settings(folder, "label", test_share=0)
    assert ran(folder.run("dvc", "repro", "data")) == {"label"}
    assert len(np.load(sets[2])) == 0
    assert scored(*sets[:2]) == three
    assert NOTHING in folder.run("snakemake", "data")
    assert "up to date" in folder.run("dvc", "repro", "data")
    listed = yaml.safe_load((folder.path / "dvc.lock").read_text())["stages"]["data"]["params"]
    assert listed["params.yaml"]["label"]["test_share"] == 0


@pytest.mark.slow
def test_games_of_self_play_are_data_of_experiments(folder) -> None:
    """All generations in all their parts, no two of which begin alike."""
    settings(folder, "data", source="selfplay")
    settings(folder, "selfplay", generations=2, parts=2, games=6, nodes=20)
    settings(folder, "label", validation_share=0.4)
    settings(folder, "train", l1=16, l2=4, epochs=1, batch_size=64)
    folder.run("snakemake", "data")
    files = [
        folder.path / f"results/selfplay/{generation}/games-{part}.pgn.zst"
        for generation in (1, 2)
        for part in (1, 2)
    ]
    texts = [text.decode() for file in files for text in pgn.texts(file)]
    assert len(texts) == 24
    assert len({text.partition("\n1. ")[2] for text in texts}) == 24
    wanted = Counter(
        (fen, score)
        for text in texts
        for fen, score, _ in samples(text, 16, skip_check=True, skip_captures=True)
        if score is not None and abs(score) <= 5000
    )
    assert (
        scored(*(folder.path / f"results/data/{n}.npy" for n in ("train", "validation"))) == wanted
    )


def test_files_of_positions_take_the_place_of_games(folder) -> None:
    for name, seed in (("a", 1), ("b", 2), ("v", 3)):
        with dataset.writing(folder.path / f"{name}.npy") as writer:
            writer.append(whole_games(300 if name == "a" else 30, seed))
    for name in ("a.binpack", "v.plain"):
        conversion.convert(folder.path / f"{name[0]}.npy", folder.path / name)
    settings(folder, "data", source="positions", positions=["a.binpack=2", "b.npy"])
    settings(folder, "label", validation_share=0.5)
    settings(folder, "train", l1=16, l2=4, epochs=1, batch_size=64)
    net = "results/nets/ALL/1/net.nnue"
    assert ran(folder.run("snakemake", net)) == {"index", "train", "quantize"}
    index, validation = (
        folder.path / f"results/data/{n}" for n in ("train.shards", "validation.npy")
    )
    opened = data.open(index)
    assert opened.weights == (2, 1)
    assert len(opened.shards[1]) == len(np.load(folder.path / "b.npy"))
    assert len(np.load(validation)) > 0
    assert NOTHING in folder.run("snakemake", net, "data")
    assert not {"sample", "label", "download"} & folder.would_run().keys()

    # Another file to validate with, and a file that changed
    settings(folder, "data", validation="v.plain")
    assert ran(folder.run("snakemake", "data")) == {"index", "validation"}
    assert len(data.open(index).shards[0]) == len(np.load(folder.path / "a.npy"))
    assert len(np.load(validation)) == len(np.load(folder.path / "v.npy"))
    conversion.convert(folder.path / "v.npy", folder.path / "a.binpack")
    assert folder.would_run(net) == {"index": 1, "train": 1, "quantize": 1}

    assert "data.source positions has no games" in folder.run(
        "snakemake", "-n", "results/data/sampled.npy", status=1
    )
    settings(folder, "data", positions=["a.binpack=0"])
    assert "has weight 0; leave it out" in folder.run("snakemake", "-n", status=1)


def test_what_a_store_has_lost_is_named_and_made_again(games, folder, tmp_path) -> None:
    """DVC then pulls nothing of its folder."""
    (folder.path / "games.pgn").write_text("\n".join(games))
    settings(folder, "data", source="files", files=["games.pgn"])
    folder.git("add", "--all")
    folder.run("dvc", "repro", "data")
    store, train = tmp_path / "store", "results/data/train.npy"
    folder.run("dvc", "remote", "add", "--default", "store", str(store))
    folder.commit()
    folder.run("dvc", "push")
    whole = (folder.path / train).read_bytes()
    (lost,) = (path for path in store.rglob("*") if path.is_file() and path.read_bytes() == whole)
    lost.unlink()
    folder.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    clone = Folder(tmp_path / "clone")
    told = clone.run("dvc", "pull", status=1)
    assert f"{lost.parent.name}{lost.name}" in told
    assert "Traceback" not in told
    assert ran(clone.run("snakemake", "data")) == {"sample", "label"}
    assert (clone.path / train).read_bytes() == whole
