"""How fast games become samples, against python-chess, a reader in Rust, and bare ``zstd -dc``.

With what datasets cost (`dataset_bench`) it is ``nnuelab bench data``. All on the games that come
with the project, by CPU time, in turn: the machine's speed drifts.
"""

from __future__ import annotations

import io
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess.pgn
import zstandard

from nnuelab.bench_rows import row
from nnuelab.data import download, pgn
from nnuelab.data.dataset_bench import dataset_rows
from nnuelab.data.reader import chunks
from nnuelab.data.sampling import Sampling, Worker, sample
from nnuelab.data.streams import blocks
from nnuelab.errors import UserError

ROUNDS = 5
PYTHON_GAMES = 20  # that python-chess reads in a round
RUST = "rust_pgn_reader_python_binding"
LARGE = 10_000  # MB of the file whose memory is measured
ALL = Sampling(min_ply=0, skip_check=False, skip_captures=False, skip_promotions=False)

# At least, and the aim
PYTHON, RUST_BOUNDS, ZSTD, MEMORY = (300.0, 1000.0), (2.0, 7.0), (0.15, 0.35), (500.0, 200.0)

_TAGS = """[Event "Rated Bullet game"]
[Site "https://localhost/abcdefgh"]
[Date "2024.01.01"]
[Round "-"]
[White "somebody"]
[Black "somebody_else"]
[Result "1-0"]
[UTCDate "2024.01.01"]
[UTCTime "00:00:01"]
[WhiteElo "2012"]
[BlackElo "1987"]
[WhiteRatingDiff "+6"]
[BlackRatingDiff "-6"]
[ECO "B12"]
[Opening "Caro-Kann Defense: Advance Variation, Botvinnik-Carls Defense"]
[TimeControl "60+0"]
[Termination "Normal"]
"""


# Peak memory by /proc: what getrusage tells begins with that of the process which forked.
_PEAK = """
import re
from nnuelab.cli.__main__ import run
try:
    run()
except SystemExit as end:
    print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
    raise
"""


def data_rows() -> list[dict[str, Any]]:
    """Rows for ``nnuelab bench data``; what needs a program that isn't installed is left out.

    Returns
    -------
    list of dict
        name, ours, reference, unit, ratio, at_least, aim; the bounds are those of ``ratio``.
    """
    games = b"".join(blocks(download.EMBEDDED))
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.pgn"
        plain.write_bytes(without_comments(games))
        lichess = Path(folder) / "lichess.pgn.zst"
        text = like_lichess(games)
        lichess.write_bytes(zstandard.compress(text, 7))
        rows = [*_reading(plain), *_sampling(lichess, len(text)), *_memory(Path(folder), text)]
    try:
        rows += dataset_rows()
    except UserError as error:
        _left_out("the bench of datasets and labels", str(error))
    return rows


def without_comments(games: bytes) -> bytes:
    """Tags and moves only, as databases of games over the board have them."""
    return re.sub(rb"\d+\.\.\. ", b"", re.sub(rb"\{[^}]*\} ?", b"", games))


def like_lichess(games: bytes) -> bytes:
    """The tags of a Lichess game, and a clock behind every evaluation."""
    moves = re.sub(rb"(?m)^\[.*\]\n", b"", games).replace(b"] }", b"] [%clk 0:00:59] }")
    found = [text for text in moves.split(b"\n\n") if text.strip()]
    return b"".join(_TAGS.encode() + b"\n" + text.strip() + b"\n\n" for text in found)


def _in_turn(sides: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The median of ROUNDS of each side's rate; the first round is for the caches."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS + 1):
        for name, measure in sides.items():
            found[name].append(measure())
    return {name: statistics.median(rates[1:]) for name, rates in found.items()}


def _left_out(name: str, reason: str) -> None:
    print(f"{name} is left out: {reason}", file=sys.stderr)


def _reading(path: Path) -> list[dict[str, Any]]:
    pieces = list(chunks(path))
    worker = Worker(ALL)

    def ours() -> float:
        start = time.process_time()
        positions = 0
        for chunk in pieces:
            piece = worker((path, chunk))
            positions += piece.games.positions
            worker.release(piece)
        return positions / (time.process_time() - start)

    some = b"\n".join(list(pgn.texts(path))[:PYTHON_GAMES]).decode("latin-1")
    sides = {"ours": ours, "python-chess": lambda: _python_chess(some)}
    name = "PGN without comments to packed positions, against "
    rust = _rust(path)
    if rust is None:
        _left_out(f"{name}{RUST}", f"it is not installed: pip install {RUST.replace('_', '-')}")
    else:
        sides["rust"] = rust
    rates = _in_turn(sides)
    rows = [
        row(f"{name}python-chess", rates["ours"], rates["python-chess"], "positions/s", *PYTHON)
    ]
    if rust is not None:
        rows.append(row(f"{name}{RUST}", rates["ours"], rates["rust"], "positions/s", *RUST_BOUNDS))
    return rows


def _python_chess(text: str) -> float:
    """Positions as its documentation gets them: moves made on a board. They aren't packed."""
    start = time.process_time()
    stream, positions = io.StringIO(text), 0
    while (game := chess.pgn.read_game(stream)) is not None:
        board = game.board()
        for move in game.mainline_moves():
            board.push(move)
            positions += 1
    return positions / (time.process_time() - start)


def _rust(path: Path) -> Callable[[], float] | None:
    try:
        import pyarrow
        import rust_pgn_reader_python_binding as binding
    except ImportError:
        return None
    games = pyarrow.chunked_array([pyarrow.array([t.decode("latin-1") for t in pgn.texts(path)])])

    def measure() -> float:
        start = time.process_time()
        parsed = binding.parse_games(games, num_threads=1)
        return float(parsed.num_moves / (time.process_time() - start))

    return measure


def _sampling(path: Path, size: int) -> list[dict[str, Any]]:
    name = "Lichess .pgn.zst with evaluations and clocks to samples, against zstd -dc"
    zstd = shutil.which("zstd")
    if zstd is None:
        _left_out(name, "zstd is not installed (Debian: apt install zstd)")
        return []

    def ours() -> float:
        start = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            sample([path], Path(folder) / "sampled.npy", Sampling(), workers=1)
        return size / 1e6 / (time.process_time() - start)

    def reference() -> float:
        before = _children()
        subprocess.run([zstd, "-dcq", path], stdout=subprocess.DEVNULL, check=True)
        return size / 1e6 / (_children() - before)

    rates = _in_turn({"ours": ours, "zstd": reference})
    return [row(name, rates["ours"], rates["zstd"], "MB/s", *ZSTD)]


def _children() -> float:
    """CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memory(folder: Path, text: bytes) -> list[dict[str, Any]]:
    """Memory of a whole process, most of it libraries; a ratio above 1 is less than asked for."""
    name = f"memory of one worker on a file of {LARGE // 1000} GB"
    if not Path("/proc/self/status").exists():
        _left_out(name, "this system has no /proc")
        return []
    path = folder / "large.pgn.zst"
    piece = text[: text.rindex(b"\n\n[Event ", 0, 1_000_000) + 2]
    with path.open("wb") as file, zstandard.ZstdCompressor(3).stream_writer(file) as writer:
        for _ in range(LARGE * 1_000_000 // len(piece)):
            writer.write(piece)
    arguments = ["sample", str(path), "--output", str(folder / "sampled.npy"), "--per-game", "1"]
    command = [sys.executable, "-c", _PEAK, *arguments, "--workers", "1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    used = int(done.stdout) * 1024 / 1e6
    most, aim = MEMORY
    return [row(name, used, most, "MB", 1.0, most / aim, ratio=most / used)]
