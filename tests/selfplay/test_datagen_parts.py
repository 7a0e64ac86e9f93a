"""Generated games in parts: any make the bytes of the whole, and a lost one costs itself."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nnuelab.data.journal import Journal
from nnuelab.errors import UserError
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.parts import Part
from nnuelab.selfplay import datagen as module
from nnuelab.selfplay.datagen import Parameters, Source, Speed, datagen
from nnuelab.tournament.limits import Limit

PARAMETERS = Parameters(Limit(nodes=10), random_plies=6, max_opening_score=50, seed=3)
RESULTS = ["1-0", "1/2-1/2", "0-1"]


class StandIn(Source):
    """A player that isn't there, of games that `Played` makes up."""

    def __init__(self, name: str = "stand-in") -> None:
        super().__init__(player=NetEvaluator())
        self.__dict__["called"] = name

    def files(self) -> dict[str, Path]:
        return {}

    def name(self) -> str:
        return self.__dict__["called"]

    def code(self, module: str) -> str:
        return module


class Played:
    """In place of workers: a game's opening is the one given for its number, then new ones."""

    def __init__(self, openings: Sequence[int]) -> None:
        self.openings = openings
        self.numbers: list[int] = []

    def game(self, number: int) -> dict[str, Any]:
        first = self.openings[number - 1] if number <= len(self.openings) else -number
        result = RESULTS[number % 3]
        return {"number": number, "opening": f"{first}", "result": result, "pgn": f"{number}\n"}

    def ordered(
        self, function: Callable[..., object], items: Iterable[int], *_: object
    ) -> Iterator[tuple[dict[str, Any], Speed]]:
        for number in items:
            self.numbers.append(number)
            yield self.game(number), Speed(searched=1)


def contents(path: Path) -> list[bytes]:
    return [path.read_bytes(), path.with_name(path.name + ".json").read_bytes()]


part_of_any_division = st.integers(1, 7).flatmap(
    lambda n: st.builds(Part, st.integers(1, n), st.just(n))
)


@given(
    openings=st.lists(st.integers(0, 5), max_size=20),
    games=st.integers(1, 20),
    divisions=st.lists(st.tuples(part_of_any_division, st.integers(1, 25)), max_size=5),
)
@example([1, 1, 2, 1, 2, 3], 6, [(Part(3, 3), 6), (Part(1, 3), 6), (Part(2, 3), 6)])
def test_any_parts_in_any_order_make_the_bytes_of_the_whole(
    openings: list[int], games: int, divisions: list[tuple[Part, int]]
) -> None:
    """Also those of fewer or more games, and where parts have the same games."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        played = Played(openings)
        patch.setattr(module, "ordered", played.ordered)
        output, parts = Path(folder) / "games.pgn.zst", []
        results, _ = datagen(output, StandIn(), games, PARAMETERS)
        assert sum(results.values()) == games
        whole, needed = contents(output), set(played.numbers)
        for place, (part, of) in enumerate(divisions):
            played.numbers.clear()
            parts.append(Path(folder) / f"{place}.part")
            datagen(parts[-1], StandIn(), of, PARAMETERS, part=part)
            assert played.numbers == list(part.of(range(1, of + 1)))
            needed -= set(played.numbers)
        played.numbers.clear()
        datagen(output, StandIn(), games, PARAMETERS, parts=parts)
        assert contents(output) == whole
        assert played.numbers == sorted(needed)
        assert not list(Path(folder).glob("*.partial"))


def test_three_parts_of_a_real_player_make_its_games_and_a_lost_one_is_played(
    tmp_path: Path,
) -> None:
    source, few = Source(NetEvaluator()), replace(PARAMETERS, random_plies=4)
    output = tmp_path / "games.pgn.zst"
    datagen(output, source, 8, few, workers=1)
    whole = contents(output)
    parts = [tmp_path / f"{i}.part" for i in (3, 1, 2)]
    for path in parts:
        datagen(path, source, 8, few, workers=1, part=Part(int(path.stem), 3))
    record = json.loads((tmp_path / "2.part.json").read_text())
    assert record["part"] == {"i": 2, "n": 3, "games": 8}
    assert record["games"] == 3
    for given_parts, left in ((parts, 0), (parts[1:], 3)):
        results, speed = datagen(output, source, 8, few, workers=1, parts=given_parts)
        assert contents(output) == whole
        assert sum(results.values()) == 8
        assert (speed.searched > 0) == (left > 0)


def test_a_part_goes_on_where_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played, path = Played([1, 1, 2]), tmp_path / "2.part"
    monkeypatch.setattr(module, "ordered", played.ordered)
    datagen(path, StandIn(), 9, PARAMETERS, part=Part(2, 2))
    whole = contents(path)
    path.unlink()
    game = played.game

    def killed(number: int) -> dict[str, Any]:
        if number == 7:
            raise KeyboardInterrupt
        return game(number)

    played.game = killed
    with pytest.raises(KeyboardInterrupt):
        datagen(path, StandIn(), 9, PARAMETERS, part=Part(2, 2))
    played.game = game
    played.numbers.clear()
    datagen(path, StandIn(), 9, PARAMETERS, part=Part(2, 2))
    assert played.numbers == [7, 8, 9]
    assert contents(path) == whole


def test_what_is_no_part_of_these_games_is_refused_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ordered", Played([]).ordered)
    output, path, sound = (tmp_path / name for name in ("games.pgn.zst", "1.part", "2.part"))
    datagen(sound, StandIn(), 6, PARAMETERS, part=Part(2, 2))
    for source, parameters in (
        (StandIn("another"), PARAMETERS),
        (StandIn(), replace(PARAMETERS, seed=4)),
        (StandIn(), replace(PARAMETERS, limit=Limit(depth=2))),
    ):
        datagen(path, source, 6, parameters, part=Part(1, 2))
        with pytest.raises(UserError, match=r"1\.part is no part of this run"):
            datagen(output, StandIn(), 6, PARAMETERS, parts=[sound, path])
    datagen(path, StandIn(), 6, PARAMETERS, part=Part(1, 2))
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for damaged in (
        *(whole[:-9], whole.replace(b"1-0", b"0-1"), whole + b"\n"),
        b"".join([lines[0], *lines[2:]]),
    ):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"1\.part is damaged, or of an earlier"):
            datagen(output, StandIn(), 6, PARAMETERS, parts=[path, sound])
    with pytest.raises(UserError, match=r"can't read .*missing\.part"):
        datagen(output, StandIn(), 6, PARAMETERS, parts=[tmp_path / "missing.part"])
    assert not output.exists()
    assert path.read_bytes() == damaged
    with Journal(output.with_name("games.pgn.zst.partial"), json.loads(lines[0])) as journal:
        assert [entry["number"] for entry in journal] == [4, 5, 6]  # of the part that is sound


ENTRY = {"number": 1, "opening": "a", "result": "1-0", "pgn": ""}


@pytest.mark.parametrize(
    "entry",
    [
        *(5, {}, [], ENTRY | {"result": ["1-0"]}, ENTRY | {"result": "*"}),
        *(ENTRY | {"number": number} for number in (0, -1, True, 1.0, "1", None, [1])),
        *(ENTRY | {"opening": opening} for opening in (1, None, ["a"])),
        *(ENTRY | {"pgn": pgn} for pgn in (1, None, [""])),
    ],
)
def test_an_entry_that_is_no_game_is_refused(
    tmp_path: Path, entry: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ordered", Played([]).ordered)
    path = tmp_path / "1.part"
    datagen(path, StandIn(), 1, PARAMETERS, part=Part(1, 1))
    head = path.read_bytes().splitlines(keepends=True)[0]
    body = head + json.dumps(entry).encode() + b"\n"
    path.write_bytes(body + f"{hashlib.sha256(body).hexdigest()}\n".encode())
    with pytest.raises(UserError, match=r"1\.part has an entry that is no game; delete it"):
        datagen(tmp_path / "games.pgn.zst", StandIn(), 1, PARAMETERS, parts=[path])
