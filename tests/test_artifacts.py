"""Files are written whole or not at all, whatever goes wrong, and say how they were made."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from nnuelab import artifacts, features, sources
from nnuelab.data import download
from nnuelab.data.journal import Journal
from nnuelab.errors import UserError
from nnuelab.features import fingerprint


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_half(path: Path, error: Exception) -> None:
    with artifacts.atomic(path) as temporary:
        temporary.write_text("half")
        raise error


def test_a_file_appears_under_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with artifacts.atomic(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert names(path.parent) == ["file"]


def test_a_failure_keeps_the_old_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        write_half(path, RuntimeError())
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_full_disk_is_one_line_and_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(UserError, match="No space left on device") as error:
        write_half(path, full)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_pipe_or_device_is_not_replaced(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    for write in (lambda: artifacts.check_apart([], [pipe]), lambda: _write(pipe)):
        with pytest.raises(UserError, match="it is a device or pipe; choose another place"):
            write()
    assert pipe.is_fifo()
    target = tmp_path / "target"
    target.write_text("of a cache")
    link.symlink_to(target)
    _write(link)
    assert (link.read_text(), target.read_text()) == ("new", "of a cache")


def _write(path: Path) -> None:
    with artifacts.atomic(path) as temporary:
        temporary.write_text("new")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="can't write"):
        artifacts.write_json(tmp_path / "file" / "below.json", {})


def test_a_folder_below_a_file_is_one_line_wherever_it_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "folder" / "output"
    with pytest.raises(UserError, match=r"can't be made \(Not a directory\)"):
        artifacts.make_parent(below)
    with pytest.raises(UserError, match="can't be made"):
        artifacts.write_json(below, {})
    with pytest.raises(UserError, match="can't be made"):
        download.lichess("2013-01", below, "http://localhost:9")
    with pytest.raises(UserError, match="can't be made"), Journal(below, {}):
        pass


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with artifacts.atomic(path) as first:
        first.write_text("first")
        with artifacts.atomic(path) as second:
            second.write_text("second")
            assert first.read_text() == "first"
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert names(tmp_path) == ["file"]


def test_a_folder_appears_whole_in_place_of_an_empty_one(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with suppress(RuntimeError), artifacts.atomic(folder, folder=True) as temporary:
        (temporary / "half").write_text("half")
        raise RuntimeError
    assert names(tmp_path) == []
    folder.mkdir()
    with artifacts.atomic(folder, folder=True) as temporary:
        (temporary / "whole").write_text("whole")
    assert names(folder) == ["whole"]
    with (
        pytest.raises(UserError, match="Directory not empty"),
        artifacts.atomic(folder, folder=True),
    ):
        pass
    assert names(tmp_path) == ["folder"]


KILLED = """
import os, sys
from nnuelab import artifacts
with artifacts.atomic(sys.argv[1], folder="folder" in sys.argv) as temporary:
    (temporary / "half" if "folder" in sys.argv else temporary).write_text("half")
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file[1]"
    with artifacts.atomic(path) as alive:
        alive.write_text("alive")
        subprocess.run([sys.executable, "-c", KILLED, str(path), kind])
        assert len(names(tmp_path)) == 2
        artifacts.write_json(path, {})
        assert names(tmp_path) == sorted([alive.name, "file[1]"])


def test_a_folder_that_is_read_only_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts.check_apart([], [tmp_path / "new" / "file", Path("file")])
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(UserError, match=f"the folder {tmp_path} is read-only"):
        artifacts.check_apart([], [tmp_path / "new" / "file"])


def test_inputs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "games.pgn", tmp_path / "b" / "games.pgn", tmp_path / "c.pgn"]
    assert artifacts.by_name(paths) == dict(
        zip(["games.pgn", "games.pgn#2", "c.pgn"], paths, strict=True)
    )
    assert list(artifacts.by_name(paths[:1] * 3)) == ["games.pgn", "games.pgn#2", "games.pgn#3"]


def test_a_code_hash_is_the_same_wherever_files_of_one_name_lie(tmp_path: Path) -> None:
    for folder, text in (("a", "1"), ("b", "2"), ("c", "2"), ("d", "1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "block.py").write_text(text)
    here, there = ([tmp_path / f / "block.py" for f in folders] for folders in ("ab", "cd"))
    assert artifacts.code_hash(None, here) == artifacts.code_hash(None, there)


def small_files_only() -> None:
    """Files of this process can't grow beyond a page: what a full disk does, for real."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_stage_that_runs_out_of_disk_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    moves = "1. Nf3 Nf6 2. Ng1 Ng8 " * 20
    games = tmp_path / "games.pgn"
    games.write_text(f'[Event "?"]\n[Result "1/2-1/2"]\n\n{moves}1/2-1/2\n\n' * 20)
    command = [sys.executable, "-m", "nnuelab.cli", "sample", str(games), "--workers", "1"]
    command += ["--output", str(tmp_path / "sampled.npy")]
    subprocess.run(command, check=True, capture_output=True)  # compiles the kernels
    for path in tmp_path.glob("sampled*"):
        path.unlink()
    done = subprocess.run(command, preexec_fn=small_files_only, capture_output=True, text=True)
    assert done.returncode == 1
    assert "can't write" in done.stderr.splitlines()[-1]
    assert names(tmp_path) == ["games.pgn"]


def test_provenance_names_what_an_artifact_came_from(tmp_path: Path) -> None:
    source, made = tmp_path / "source", tmp_path / "made"
    source.write_text("in")
    made.write_text("out")
    net = sources.PACKAGE / "nnue/nets/default.nnue"
    book = artifacts.RESOURCES / "embedded/openings.epd.gz"
    record = artifacts.provenance(
        made,
        inputs={"games": source, "net": net, "book": book},
        parameters={"depth": 3},
        seed=7,
        module="chess.perft",
    )
    # Where the project lies is no one's concern.
    assert record["inputs"]["net"]["path"] == "nnuelab/nnue/nets/default.nnue"
    assert record["inputs"]["book"]["path"] == "resources/embedded/openings.epd.gz"
    assert record["inputs"]["games"]["path"] == str(source)
    assert json.loads((tmp_path / "made.json").read_text()) == record
    assert record["inputs"]["games"]["sha256"] == artifacts.sha256(source)
    assert record["sha256"] == artifacts.sha256(made)
    assert record["seed"] == 7
    assert record["parameters"] == {"depth": 3}
    assert record["versions"]["nnuelab"]


def test_a_code_hash_covers_a_module_with_its_imports_and_files_of_the_user(tmp_path: Path) -> None:
    block = tmp_path / "block.py"
    block.write_text("a")
    before = artifacts.code_hash("chess.perft", [block])
    assert before == artifacts.code_hash("chess.perft", [block])
    assert before != artifacts.code_hash("chess.moves", [block])
    block.write_text("b")
    assert before != artifacts.code_hash("chess.perft", [block])
    with pytest.raises(ValueError, match="no module"):
        artifacts.code_hash("nothing")


def test_sources_follow_imports_down_and_nothing_else() -> None:
    files = {
        file.relative_to(sources.PACKAGE).as_posix()
        for file in sources.closure("nnuelab.chess.perft")
    }
    assert {"chess/perft.py", "chess/moves.py", "chess/attacks.py", "jit.py"} <= files
    assert not any(file.startswith(("nnue", "engine", "cli")) for file in files)
    played = {file.parent.name for file in sources.closure("nnuelab.tournament.runner")}
    assert {"engine", "features", "chess"} <= played  # imported inside functions, too
    assert "nnue" not in played  # by name: kinds of players
    nets = {file.parent.name for file in sources.closure("nnuelab.tournament.nets")}
    assert "nnue" in nets


def test_an_output_is_neither_an_input_nor_another_output(tmp_path: Path) -> None:
    there = tmp_path / "a.pgn"
    there.touch()
    (tmp_path / "link.pgn").symlink_to(there)
    os.link(there, tmp_path / "hard.pgn")
    for outputs in (["a.pgn"], ["./b/../a.pgn"], ["link.pgn"], ["hard.pgn"], ["c", "c"]):
        (tmp_path / "b").mkdir(exist_ok=True)
        with pytest.raises(UserError, match="would overwrite"):
            artifacts.check_apart([there], [tmp_path / name for name in outputs])
    with pytest.raises(UserError, match=r"c\.json would overwrite"):  # provenance
        artifacts.check_apart([tmp_path / "c.json"], [tmp_path / "c"])
    artifacts.check_apart([there, there], [tmp_path / "c", tmp_path / "d"])
    with pytest.raises(UserError, match="it is a folder; name a file in it"):
        artifacts.check_apart([there], [tmp_path / "b"])


@pytest.mark.parametrize(
    ("kernels", "expression", "other"),
    [
        ("square_sets", "ALL+MB", "ALL+PH"),
        ("sources", "PHASE(2,TH)", "PH"),
        ("lines", "ALL*PH", "KA+MB"),
        ("pairs", "PP", "ALL+AC"),
        ("writing", "ALL*DOUBLED", "ALL+TEMPO"),
    ],
)
def test_a_code_hash_has_the_kernels_of_the_blocks_that_are_used(
    kernels: str, expression: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited, digest = sources.file_of(f"nnuelab.features.kernels.{kernels}"), sources.digest
    assert edited is not None
    assert edited not in sources.closure("nnuelab.nnue.training")

    def hashes() -> list[str]:
        blocks = [fingerprint.code(features.parse(name)) for name in (expression, other)]
        return [artifacts.code_hash("nnue.training", more=[block]) for block in blocks]

    before = hashes()
    monkeypatch.setattr(sources, "digest", lambda file: digest(file) + b"!" * (file == edited))
    after = hashes()
    assert (after[0] != before[0], after[1] == before[1]) == (True, True)
