"""What is no file is told before it is read: some have no end, and some no beginning."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nnuelab import files
from nnuelab.errors import UserError
from nnuelab.hce import evaluation
from nnuelab.learning import checkpoint
from nnuelab.nnue import netfile
from nnuelab.params import reading
from nnuelab.report import diff, inspect
from nnuelab.tournament import players


def understood(path: Path) -> object:
    """A player of the command line."""
    return players._understood(str(path))


READERS: list[Callable[[Path], object]] = [
    files.check,
    reading.found_experiments,
    netfile.read_net,
    checkpoint.content_of,
    evaluation.read,
    players.players_of,
    understood,
    inspect.inspect,
    lambda path: diff.pairs(path, path),
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("folder", "folder"),
        ("pipe", "device or a pipe"),
        ("/dev/zero", "device or a pipe"),
        ("loop", "symbolic links"),
    ],
)
def test_what_is_no_file_is_one_line(
    tmp_path: Path, name: str, said: str, read: Callable[[Path], object]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    if name == "loop" and read in (reading.found_experiments, understood):
        pytest.skip("is nothing that exists")
    if name == "folder" and read is READERS[-1]:
        pytest.skip("folders are compared, too")
    with pytest.raises(UserError, match=said) as caught:
        read(tmp_path / name)
    assert "delete it" not in str(caught.value)


def test_files_by_hand_are_not_of_any_size(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.truncate(files.SMALL + 1)  # takes no place on the disk
    for read in (reading.check_names, players.players_of, evaluation.read):
        with pytest.raises(UserError, match="it has 64 MB"):
            read([path] if read is reading.check_names else path)  # type: ignore[operator]
