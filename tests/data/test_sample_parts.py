"""Samples of some of the games, put together, are those of all; what isn't whole is refused."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.data import sample_parts, sampling
from nnuelab.errors import UserError
from nnuelab.parts import Part
from nnuelab.settings.sample import Sampling
from tests.data.test_sampling import ANY, GAME

BROKEN = GAME.replace(b"2. Nf3", b"2. Ng6")
EVERY = replace(ANY, per_game=4)


@pytest.fixture(scope="module")
def games(tmp_path_factory) -> list[Path]:
    """Files of games, two of a name; one without a sample, and one with games that are broken."""
    folder = tmp_path_factory.mktemp("games")
    texts = {
        "a.pgn": GAME * 3,
        "b/a.pgn": BROKEN + GAME.replace(b"a6", b"h6"),
        "b.pgn": BROKEN,
        "c.pgn": GAME.replace(b" 4. Ba4 Nf6", b"") + BROKEN * 4,
        "d.pgn": GAME.replace(b" 4. Ba4 Nf6", b" 4. Ba4 d6"),
    }
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)
    return paths


def parts_of(games: list[Path], n: int, folder: Path, options: Sampling = EVERY) -> list[Path]:
    paths = [folder / f"{i}-of-{n}.sample" for i in range(1, n + 1)]
    for i, path in enumerate(paths, 1):
        sampling.sample_part(Part(i, n).of(games), path, options, workers=2)
    return paths


@pytest.mark.parametrize("duplicates", [True, False])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_parts_make_the_file_of_the_whole(games, tmp_path, n, duplicates) -> None:
    options = replace(EVERY, skip_duplicates=duplicates)
    whole, joined = (tmp_path / name / "sampled.npy" for name in ("whole", "joined"))
    found = sampling.sample(games, whole, options)
    again = sampling.join(parts_of(games, n, tmp_path, options), joined, options)
    assert again.to_json() == found.to_json()
    assert found.counts["skipped: illegal move"] == 6
    assert (found.counts["filtered: duplicate"] > 0) == duplicates
    assert joined.read_bytes() == whole.read_bytes()
    records = [json.loads(Path(f"{path}.json").read_text()) for path in (whole, joined)]
    assert records[0] == records[1]
    assert set(records[0]["inputs"]) == {"a.pgn", "a.pgn#2", "b.pgn", "c.pgn", "d.pgn"}


@given(division=st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_any_division_in_order_makes_it(games, tmp_path_factory, division) -> None:
    folder = tmp_path_factory.mktemp("parts")
    parts, first = [], 0
    for i, count in enumerate([*division, len(games)]):
        if chosen := games[first : first + count]:
            parts.append(folder / f"{i}.sample")
            sampling.sample_part(chosen, parts[-1], EVERY, workers=1)
        first += count
    whole, joined = folder / "whole.npy", folder / "joined.npy"
    sampling.sample(games, whole, EVERY, workers=1)
    sampling.join(parts, joined, EVERY)
    assert joined.read_bytes() == whole.read_bytes()


def test_a_part_is_the_same_bytes_each_time_and_with_any_workers(games, tmp_path) -> None:
    paths = [tmp_path / name / "a.sample" for name in ("one", "two")]
    for workers, path in enumerate(paths, 1):
        sampling.sample_part(games, path, EVERY, workers)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_share_of_unreadable_games_is_that_of_all(games, tmp_path) -> None:
    strict = replace(EVERY, max_unreadable=0.5)
    (broken,) = parts_of([games[2]], 1, tmp_path / "broken", strict)  # one game, which is broken
    rest = parts_of(games[:1], 1, tmp_path, strict)
    output = tmp_path / "sampled.npy"
    assert sampling.join([*rest, broken], output, strict).counts["skipped: illegal move"] == 1
    with pytest.raises(UserError, match=r"1 of 1 games can't be read, more than 50%.*b\.pgn"):
        sampling.join([broken], output, strict)
    with pytest.raises(UserError, match=r"no position of .* passes the filters"):
        sampling.join([broken], output, EVERY)


def test_parts_that_do_not_belong_are_one_line(games, tmp_path) -> None:
    output = tmp_path / "sampled.npy"
    parts = parts_of(games, 2, tmp_path)
    with pytest.raises(UserError, match="other options; give the same, or make it again"):
        sampling.join(parts, output, replace(EVERY, min_ply=3))
    with pytest.raises(UserError, match=r"has games of another part, .*a\.pgn"):
        sampling.join([*parts, *parts_of(games[:1], 1, tmp_path / "again")], output, EVERY)
    limited = replace(EVERY, max_positions=10)
    with pytest.raises(UserError, match="max_positions ends before all games are read"):
        sampling.join(parts, output, limited)
    with pytest.raises(UserError, match="max_positions ends before all games are read"):
        sampling.sample_part(games, tmp_path / "a.sample", limited)
    with pytest.raises(UserError, match="no file"):
        sampling.sample_part([tmp_path / "no.pgn"], tmp_path / "a.sample", EVERY)
    with pytest.raises(UserError, match=r"ends in \.sample"):
        sampling.sample_part(games, tmp_path / "a.npy", EVERY)
    with pytest.raises(UserError, match="can't read"):
        sampling.join([tmp_path / "no.sample"], output, EVERY)
    assert not output.exists()


def test_any_flipped_bit_is_refused_or_changes_nothing(games, tmp_path) -> None:
    (part,) = parts_of(games, 1, tmp_path)
    output = tmp_path / "sampled.npy"
    sampling.join([part], output, EVERY)
    whole, sound = output.read_bytes(), part.read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for place in rng.choice(len(sound), 300, replace=False):
        damaged = bytearray(sound)
        damaged[place] ^= 1 << int(rng.integers(8))
        part.write_bytes(damaged)
        try:
            sampling.join([part], output, EVERY)
        except UserError:
            refused += 1
        assert output.read_bytes() == whole
    assert refused > 250


def changed(part: Path, **values) -> None:
    """Writes a part anew, with another head."""
    with zipfile.ZipFile(part) as archive:
        head = json.loads(archive.read(sample_parts.HEAD))
        records = archive.read(sample_parts.RECORDS)
    with zipfile.ZipFile(part, "w") as archive:
        archive.writestr(sample_parts.RECORDS, records)
        archive.writestr(sample_parts.HEAD, json.dumps(head | values))


def test_more_games_than_can_be_numbered_are_one_line(games, tmp_path) -> None:
    first, second = parts_of(games, 2, tmp_path)
    for count, fits in ((2**32 - 9, True), (2**32, False)):
        changed(first, counts={"games": count})
        if fits:
            assert sampling.join([first, second], tmp_path / "a.npy", EVERY).counts["games"] > count
        else:
            with pytest.raises(UserError, match="4,294,967,296 games are the most"):
                sampling.join([first, second], tmp_path / "b.npy", EVERY)


@pytest.mark.parametrize(
    ("change", "value"),
    [("counts", {"games": -1}), ("ratings", [1]), ("examples", 3), ("inputs", [{}])],
)
def test_a_head_that_tells_nonsense_is_damage(games, tmp_path, change, value) -> None:
    (part,) = parts_of(games, 1, tmp_path)
    changed(part, **{change: value})
    with pytest.raises(UserError, match="is damaged, or no part of samples"):
        sampling.join([part], tmp_path / "sampled.npy", EVERY)
