"""Labels in parts: any number of them makes the files of the whole."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from nnuelab.data import labels
from nnuelab.data.searching import Searching, Unlabelled
from nnuelab.errors import UserError
from nnuelab.parts import Part
from tests.data.labelling import counting, distinct, run


def part_of(folder: Path, i: int, n: int, labeller: Searching, **more) -> Path:
    path = folder / f"{i}-of-{n}.labels"
    labels.label_part(folder / "sampled.npy", Part(i, n), path, labeller, name="test", **more)
    return path


@pytest.mark.parametrize("n", [1, 3, 50])
def test_parts_make_the_files_of_the_whole(tmp_path: Path, n: int) -> None:
    distinct(tmp_path / "sampled.npy", 40)
    seen: list[bytes] = []
    run(tmp_path, counting(seen))
    files = {path: path.read_bytes() for path in tmp_path.glob("*.npy*")}
    parts = [part_of(tmp_path, i, n, counting(seen)) for i in range(1, n + 1)]
    found = len(seen)
    run(tmp_path, counting(seen), parts=parts[::-1])
    assert len(seen) == found
    assert {path: path.read_bytes() for path in tmp_path.glob("*.npy*")} == files


def test_a_part_goes_on_where_it_was_to_the_same_bytes(tmp_path: Path) -> None:
    distinct(tmp_path / "sampled.npy", 40)
    whole = part_of(tmp_path, 1, 2, counting([])).read_bytes()
    seen: list[bytes] = []

    class Stops:
        def __init__(self, score: int) -> None:
            self.score = score

        def __call__(self, record: np.void) -> tuple[int, int]:
            if len(seen) >= 5:
                raise UserError("it is over")
            return counting(seen, self.score).make()(record)

        def close(self) -> None:
            pass

    for score in (8, 7):  # the first is another labeller's
        seen.clear()
        with pytest.raises(UserError, match="it is over"):
            part_of(tmp_path, 1, 2, Searching(lambda s=score: Stops(s), {"score": score}, 2))
    path = part_of(tmp_path, 1, 2, counting(seen))
    assert len(seen) == len(set(seen)) == 20
    assert path.read_bytes() == whole
    assert not list(tmp_path.glob("*.partial*"))


def test_what_failed_in_parts_counts(tmp_path: Path, capsys) -> None:
    distinct(tmp_path / "sampled.npy", 40)

    class Fails:
        def __call__(self, record: np.void) -> tuple[int, int]:
            if record["game"] in (3, 30):
                raise Unlabelled("it crashed")
            return 7, 0

        def close(self) -> None:
            pass

    fails = Searching(Fails, {}, 1)
    with pytest.raises(UserError, match="unusable"):
        part_of(tmp_path, 1, 2, fails)
    parts = [part_of(tmp_path, i, 2, fails, max_unusable=1) for i in (1, 2)]
    with pytest.raises(UserError, match="2 unusable"):
        run(tmp_path, fails, parts=parts, max_unusable=1)
    train, validation = run(tmp_path, fails, parts=parts, max_unusable=2)
    assert len(train) + len(validation) == 38
    assert "2 unusable" in capsys.readouterr().err


def test_parts_that_do_not_belong_are_one_line(tmp_path: Path) -> None:
    distinct(tmp_path / "sampled.npy", 40)
    one, two = (part_of(tmp_path, i, 2, counting([])) for i in (1, 2))
    third = part_of(tmp_path, 3, 3, counting([]))
    other = tmp_path / "other.labels"
    wrong: list[tuple[list[Path], labels.Labeller | Searching, str]] = [
        ([one], counting([]), "part 2/2 of the labels is missing"),
        ([one, two, one], counting([]), "is part 1/2, beside .*1-of-2.labels, one of 2; give each"),
        ([one, third], counting([]), "is part 3/3, beside"),
        ([one, two], counting([], 9), "is of other samples or another labeller"),
        ([one, other], counting([]), "can't read .*other.labels: No such file"),
        ([one, two], labels.result, "searches for nothing"),
    ]
    for parts, labeller, message in wrong:
        with pytest.raises(UserError, match=message):
            run(tmp_path, labeller, parts=parts)
    content = one.read_bytes()
    for damaged in (
        b"",
        content[:100],
        content.replace(b"\x07\x00\x07\x00", b"\x07\x00\x09\x00", 1),
    ):
        other.write_bytes(damaged)
        with pytest.raises(
            UserError, match=r"other\.labels is damaged, or no part of labels; make"
        ):
            run(tmp_path, counting([]), parts=[other, two])
    with zipfile.ZipFile(one) as sound, zipfile.ZipFile(other, "w") as archive:
        for name in sound.namelist():
            archive.writestr(name, b"no array" if name == "scores.npy" else sound.read(name))
    with pytest.raises(UserError, match=r"other\.labels is damaged: its labels aren't those"):
        run(tmp_path, counting([]), parts=[other, two])
    distinct(tmp_path / "sampled.npy", 42)
    with pytest.raises(UserError, match="is of other samples"):
        run(tmp_path, counting([]), parts=[one, two])
    assert not (tmp_path / "train.npy").exists()
