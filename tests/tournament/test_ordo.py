"""The program ordo: where it is installed it rates, and where it is broken that costs a line."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from nnuelab.tournament import ordo, ratings
from tests.tournament.test_ratings import write_pgn

FAKE = """#!{python}
import csv, re, sys, time
out = sys.argv[sys.argv.index("-c") + 1]
pgn = open(sys.argv[sys.argv.index("-p") + 1]).read()
names = sorted(set(re.findall(r'\\[(?:White|Black) "(.*)"\\]', pgn)))
{body}
"""
WORKS = """
with open(out, "w") as file:
    file.write('"#","PLAYER","RATING","ERROR","POINTS","PLAYED","(%)"\\n')
    for i, name in enumerate(names):
        file.write(f'{i + 1},"{name}",{100.0 - 200 * i},"-",1.0,2,50\\n')
"""
BROKEN = {
    "fails": ("print('no way'); sys.exit(1)", "exit status 1: no way"),
    "hangs": (
        "import subprocess; subprocess.Popen(['sleep', '60']); time.sleep(60)",
        "no answer within",
    ),
    "prints garbage": ("open(out, 'wb').write(bytes(range(256)) * 9)", "can't be read"),
    "misses a player": ("open(out, 'w').write('PLAYER,RATING\\np0,1\\n')", "can't be read"),
    "says nan": ("open(out, 'w').write('PLAYER,RATING\\np0,nan\\np1,0\\n')", "not finite"),
    "writes nothing": ("pass", "no table"),
}


def fake(folder: Path, body: str) -> None:
    path = folder / "ordo"
    path.write_text(FAKE.format(python=sys.executable, body=body))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


GAMES = [("a", "b", "1-0"), ("b", "a", "1-0"), ("a", "b", "1/2-1/2"), ("b", "a", "0-1")]


def test_ratings_come_from_ordo_where_it_is_installed(no_ordo: Path, tmp_path: Path) -> None:
    path = write_pgn(tmp_path / "g.pgn", GAMES)
    own = ratings.rate(path)
    fake(no_ordo, WORKS)
    theirs = ratings.rate(path)
    assert [(row.name, row.elo) for row in theirs] == [("a", 100.0), ("b", -100.0)]
    assert [row.error for row in theirs] == [row.error for row in own]


@pytest.mark.parametrize("how", BROKEN)
def test_broken_ordo_costs_a_line_not_the_ratings(
    no_ordo: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    path = write_pgn(tmp_path / "g.pgn", GAMES)
    own = ratings.rate(path)
    body, said = BROKEN[how]
    fake(no_ordo, body)
    monkeypatch.setattr(ordo, "TIMEOUT", 1.0)
    start = time.monotonic()
    assert ratings.rate(path) == own
    assert time.monotonic() - start < 60
    assert said in capsys.readouterr().err


def test_ordo_that_cannot_be_started_costs_a_line(
    no_ordo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (no_ordo / "ordo").write_bytes(b"\x7fELF nothing")
    os.chmod(no_ordo / "ordo", 0o755)
    assert len(ratings.rate(write_pgn(tmp_path / "g.pgn", GAMES))) == 2
    assert "can't be started" in capsys.readouterr().err
