"""Work in parts through the workflow: their number is nothing that games and labels depend on."""

from __future__ import annotations

import pytest
import zstandard

from nnuelab.tournament import yardsticks
from tests.workflow.project import NOTHING, Folder, change, ran, tiny_project

GAMES = "results/tournament/axis.pgn"
PARTS = ["results/tournament/parts/axis/1-of-2.part", "results/tournament/parts/axis/2-of-2.part"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The project at tiny scale, after two nets have played their games as a whole."""
    with tiny_project(tmp_path_factory.mktemp("project")) as (path, settings):
        settings["experiments"] = {
            "axis": {"feature_sets": ["ALL", "H+V"], "seeds": [1], "anchor": "ALL"}
        }
    found = Folder(path)
    found.run("snakemake", GAMES)
    return found


def in_parts(number):
    return "--config", f"tournament={{'parts': {number}}}"


def test_another_number_of_parts_plays_nothing_again(folder):
    assert NOTHING in folder.run("snakemake", GAMES, *in_parts(3))
    # Those at other limits aren't there yet.
    jobs = folder.would_run("results/axis_table.csv", *in_parts(3))
    assert jobs["tournament_part"] == 3 * jobs["tournament"] == 3 * (len(yardsticks.ALL) - 1)


def test_parts_make_the_same_games(folder):
    games = folder.path / GAMES
    whole = games.read_bytes()
    games.unlink()
    told = folder.run("snakemake", GAMES, *in_parts(2))
    assert ran(told) == {"tournament_part", "tournament"}
    assert games.read_bytes() == whole
    assert not any((folder.path / part).exists() for part in PARTS)
    for number in (1, 2, 5):
        assert NOTHING in folder.run("snakemake", GAMES, *in_parts(number))


def test_an_edit_plays_them_again_in_the_same_parts(folder):
    """Those of the test before."""
    change(folder, "tournament", "resign_score", 900)
    assert folder.would_run(GAMES) == {"tournament_part": 2, "tournament": 1}
    (folder.path / GAMES).unlink()
    assert folder.would_run(GAMES) == {"tournament": 1}


@pytest.fixture(scope="module")
def three_files(folder):
    """Settings by which games are those of three files."""
    embedded = folder.path / "resources/embedded/games.pgn.zst"
    text = zstandard.ZstdDecompressor().stream_reader(embedded.open("rb")).read(200_000)
    games = text.split(b"\n\n[Event")[:60]
    names = [f"{name}.pgn" for name in "abc"]
    for i, name in enumerate(names):
        own = b"\n\n[Event".join(games[20 * i : 20 * i + 20])
        (folder.path / name).write_bytes(b"[Event" * (i > 0) + own + b"\n")
    return f"data={{'source': 'files', 'files': {names}}}"


@pytest.mark.parametrize(("of", "rule"), [("", "sample"), ("moves/", "sample_moves")])
def test_parts_make_the_same_samples(folder, three_files, of, rule):
    def read(parts):
        return "--config", three_files, f"sample={{'parts': {parts}, 'max_positions': 0}}"

    names = [f"results/data/{of}{name}" for name in ("sampled.npy", "sample_report.json")]
    files = [folder.path / name for name in names]
    folder.run("snakemake", *names, *read(1))
    whole = [file.read_bytes() for file in files]
    assert NOTHING in folder.run("snakemake", *names, *read(2))
    for file in files:
        file.unlink()
    assert folder.would_run(names[0], *read(99)) == {"sample_part": 3, rule: 1}
    told = folder.run("snakemake", *names, *read(2))
    assert ran(told) == {"sample_part", rule}
    assert [file.read_bytes() for file in files] == whole
    assert not list((folder.path / "results/data" / of / "parts").glob("*.sample*"))
    for number in (1, 2, 3):
        assert NOTHING in folder.run("snakemake", *names, *read(number))


@pytest.mark.parametrize("folder_of", ["results/data", "results/data/moves"])
def test_parts_make_the_same_labels(folder, folder_of):
    def searched(parts):
        return "--config", f"label={{'labeller': 'engine', 'depth': 1, 'parts': {parts}}}"

    names = [f"{folder_of}/{part}.npy" for part in ("train", "validation", "test")]
    files = [folder.path / name for name in names]
    folder.run("snakemake", *names, *searched(1))
    whole = [file.read_bytes() for file in files]
    for number in (1, 3):
        assert NOTHING in folder.run("snakemake", *names, *searched(number))
    for file in files:
        file.unlink()
    told = folder.run("snakemake", *names, *searched(3))
    assert "label_part" in ran(told)
    assert [file.read_bytes() for file in files] == whole
    assert not list((folder.path / folder_of / "parts").glob("*.labels*"))
    for number in (1, 3):
        assert NOTHING in folder.run("snakemake", *names, *searched(number))
    # Those that are there had parts, of which labels that aren't searched have none.
    rule = "label_moves" if "moves" in folder_of else "label"
    assert folder.would_run(*names, "--config", "label={'labeller': 'pgn', 'parts': 3}") == {
        rule: 1
    }
