"""Real engines, where they are installed: whatever they do, ours plays legal moves in its time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nnuelab.data.uci import find_engine
from nnuelab.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "stockfish": "stockfish",
    "ethereal": "ethereal-chess",
    "fairy": "fairy-stockfish",
    "toga2": "toga2",
    "glaurung": "glaurung",
    "gnuchess": "gnuchess",
}


def installed(program: str) -> bool:
    try:
        find_engine(program)
    except UserError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("limit", [("--clock", "100+20"), ("--movetime", "50"), ("--depth", "4")])
def test_we_lose_no_game_but_on_the_board(tmp_path: Path, limit: tuple[str, str]) -> None:
    opponents = [name for name, program in PROGRAMS.items() if installed(program)]
    if not opponents:
        pytest.skip("none of Debian's engines is installed")
    command = [sys.executable, "-m", "nnuelab.cli", "tournament", *limit, "--format", "gauntlet"]
    command += ["nnuelab", *opponents, "--players", str(ROOT / "resources/players/debian.yaml")]
    command += ["--games-per-pairing", "2", "--workers", "1"]
    command += ["--book", str(ROOT / "resources/embedded/openings.epd.gz")]
    done = subprocess.run([*command, "--output", str(tmp_path / "o.pgn")], text=True)
    assert done.returncode == 0
    told = json.loads((tmp_path / "o.pgn.json").read_text())["summary"]["players"]
    assert set(told) == {"nnuelab", *opponents}
    for name, row in told.items():
        assert (row["illegal_move"], row["crash"], row["hang"]) == (0, 0, 0), name
    assert told["nnuelab"]["time_loss"] == 0
