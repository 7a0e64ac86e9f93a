"""How fast games become samples and labelled positions, on the games that come with the project.

Reading is held against python-chess, a reader in Rust and bare ``zstd -dc``, by CPU time; labels
against the same engine with the same commands in its pipe, all at once, by one who only counts its
answers. What needs a program that isn't installed is left out.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import chess.pgn
import numpy as np
import zstandard

from benchmarks.harness import Row, children, in_turn, rate, row
from nnuelab.chess import moves, notation
from nnuelab.chess.position import POSITION
from nnuelab.data import dataset, download, joining, labels, pgn, reader, records, sampler, uci
from nnuelab.data.cache import Cache
from nnuelab.data.formats import binpack
from nnuelab.data.record_text import texts
from nnuelab.data.sampling import Sampling, Worker, sample
from nnuelab.data.searching import BATCH
from nnuelab.data.streams import blocks
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError

ROUNDS = 5  # of each side
PYTHON_GAMES = 20  # that python-chess reads in a round
RUST = "rust_pgn_reader_python_binding"
LARGE = 10_000  # MB of the file whose memory is measured
LABELLED = 200  # positions of a round
SAMPLED = 3_000_000  # positions, nearly three windows
SHUFFLED = 16_384  # positions of a batch
LIMIT = "depth 10"
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


def rows() -> Iterator[Row]:
    """Games to samples, then labels, shuffled batches, and .binpack both ways."""
    games = b"".join(blocks(download.EMBEDDED))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, lichess = folder / "plain.pgn", folder / "lichess.pgn.zst"
        plain.write_bytes(without_comments(games))
        text = like_lichess(games)
        lichess.write_bytes(zstandard.compress(text, 7))
        yield from _reading(plain)
        yield from _sampling(lichess, len(text))
        yield from _memory(folder, text)
        yield from _labels(folder)
        yield _batches(folder)
        yield from _binpack(folder)


def without_comments(games: bytes) -> bytes:
    """Tags and moves only, as databases of games over the board have them."""
    return re.sub(rb"\d+\.\.\. ", b"", re.sub(rb"\{[^}]*\} ?", b"", games))


def like_lichess(games: bytes) -> bytes:
    """The tags of a Lichess game, and a clock behind every evaluation."""
    moves = re.sub(rb"(?m)^\[.*\]\n", b"", games).replace(b"] }", b"] [%clk 0:00:59] }")
    found = [text for text in moves.split(b"\n\n") if text.strip()]
    return b"".join(_TAGS.encode() + b"\n" + text.strip() + b"\n\n" for text in found)


def _left_out(name: str, reason: object) -> None:
    print(f"{name} is left out: {reason}", file=sys.stderr)


def _reading(path: Path) -> Iterator[Row]:
    chunks, worker = list(reader.chunks(path)), Worker(ALL)

    def ours() -> float:
        start, positions = time.process_time(), 0
        for chunk in chunks:
            piece = worker((path, chunk))
            positions += piece.games.positions
            worker.release(piece)
        return positions / (time.process_time() - start)

    some = b"\n".join(list(pgn.texts(path))[:PYTHON_GAMES]).decode("latin-1")
    sides = {"ours": ours, "python-chess": lambda: _python_chess(some)}
    name = "PGN without comments to packed positions, against "
    if rust := _rust(path):
        sides[RUST] = rust
    else:
        _left_out(f"{name}{RUST}", f"it is not installed: pip install {RUST.replace('_', '-')}")
    found = in_turn(sides, ROUNDS)
    for side, bounds in {"python-chess": PYTHON, RUST: RUST_BOUNDS}.items():
        if side in found:
            yield row(name + side, "positions/s", found["ours"], found[side], *bounds)


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


def _sampling(path: Path, size: int) -> Iterator[Row]:
    name = "Lichess .pgn.zst with evaluations and clocks to samples, against zstd -dc"
    zstd = shutil.which("zstd")
    if zstd is None:
        _left_out(name, "zstd is not installed (Debian: apt install zstd)")
        return

    def ours() -> None:
        with tempfile.TemporaryDirectory() as folder:
            sample([path], Path(folder) / "sampled.npy", Sampling(), workers=1)

    def reference() -> None:
        subprocess.run([zstd, "-dcq", path], stdout=subprocess.DEVNULL, check=True)

    sides = {
        "ours": partial(rate, size / 1e6, ours, time.process_time),
        "zstd": partial(rate, size / 1e6, reference, children),
    }
    found = in_turn(sides, ROUNDS)
    yield row(name, "MB/s", found["ours"], found["zstd"], *ZSTD)


def _memory(folder: Path, text: bytes) -> Iterator[Row]:
    """Memory of a whole process, most of it libraries."""
    name = f"memory of one worker on a file of {LARGE // 1000} GB"
    if not Path("/proc/self/status").exists():
        _left_out(name, "this system has no /proc")
        return
    path = folder / "large.pgn.zst"
    piece = text[: text.rindex(b"\n\n[Event ", 0, 1_000_000) + 2]
    with path.open("wb") as file, zstandard.ZstdCompressor(3).stream_writer(file) as writer:
        for _ in range(LARGE * 1_000_000 // len(piece)):
            writer.write(piece)
    arguments = ["sample", str(path), "--output", str(folder / "sampled.npy"), "--per-game", "1"]
    command = [sys.executable, "-c", _PEAK, *arguments, "--workers", "1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    path.unlink()
    used, (most, aim) = int(done.stdout) * 1024 / 1e6, MEMORY
    yield row(name, "MB", used, most, 1.0, most / aim, less_is_better=True)


def random_games(n: int) -> np.ndarray:
    """RECORD [n]: all positions of random games, of which each is another one."""
    rng = np.random.default_rng(0)
    found, legal = np.zeros(n, records.RECORD), np.zeros(moves.MAX_MOVES, np.int64)
    start = notation.from_fen(notation.STARTING_FEN)
    stack, game, ply = np.zeros(2, POSITION), 0, 0
    stack[0] = start
    for record in found:
        records.pack(stack[0], record)
        count = moves.legal_moves(stack[0], legal)
        if not count or ply == 120:
            stack[0], game, ply = start, game + 1, 0
            records.pack(stack[0], record)
            count = moves.legal_moves(stack[0], legal)
        record["game"], record["ply"] = game, ply
        record["score"] = rng.integers(-500, 500)
        record["move"] = move = legal[rng.integers(count)]
        moves.make(stack[0], stack[1], move)
        stack[0], ply = stack[1], ply + 1
    return found


def _labels(folder: Path) -> Iterator[Row]:
    try:
        path = uci.find_engine("stockfish")
    except UserError as error:
        _left_out("labels by Stockfish", error)
        return
    # Every twentieth position: neighbours are alike.
    chosen = np.ascontiguousarray(random_games(20 * LABELLED)[10::20])
    boards = (fen.decode().rsplit(" ", 1)[0] for fen in texts(chosen)[0])
    asked = "".join(f"ucinewgame\nposition fen {board} 1\ngo {LIMIT}\n" for board in boards)
    commands = f"setoption name Hash value {uci.HASH_MB}\n{asked}ucinewgame\n"
    labeller = labels.stockfish(path, LIMIT, 1)
    samples = dataset.Dataset(folder, (chosen,))

    # Both begin to count behind some positions, when the engine has started.

    def ours() -> float:
        with Cache(folder / "cache", {}) as cache:
            found = labeller.labels(samples, range(len(chosen)), cache, Unusable(folder, 0))
            begun = len(next(found)[0])
            started = time.perf_counter()
            done = sum(len(batch) for batch, _, _ in found)
            seconds = time.perf_counter() - started
            cache.remove()
        assert begun + done == LABELLED
        return done / seconds

    def bare() -> float:
        with subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            writing = threading.Thread(target=process.stdin.write, args=[commands.encode()])
            writing.start()
            done, started, text = 0, 0.0, b""
            while done < LABELLED:
                text = text[-7:] + os.read(process.stdout.fileno(), 1 << 16)
                done += text.count(b"bestmove")
                if not started and done >= BATCH:
                    begun, started = done, time.perf_counter()
            seconds = time.perf_counter() - started
            writing.join()
            process.kill()
        return (LABELLED - begun) / seconds

    found = in_turn({"ours": ours, "bare": bare}, ROUNDS)
    name = f"labels by {labeller.identity['engine']} at {LIMIT}, one process, against a bare pipe"
    yield row(name, "positions/s", found["ours"], found["bare"], 0.9, 0.95)


def _batches(folder: Path) -> Row:
    path = folder / "large.npy"
    with dataset.writing(path) as writer:
        writer.append(np.resize(random_games(10_000), SAMPLED))
    opened = dataset.open(path)

    def take() -> None:
        for _ in sampler.shuffled(opened, SHUFFLED, 1, 0):
            pass

    found = in_turn({"ours": partial(rate, SAMPLED, take, time.process_time)}, ROUNDS)["ours"]
    name = f"shuffled batches of {SHUFFLED:,} out of {SAMPLED:,} positions, per core"
    return row(name, "positions/s", found, [1e7] * ROUNDS, 1.0)


def _binpack(folder: Path) -> Iterator[Row]:
    games, path = random_games(60_000), folder / "games.binpack"

    def write() -> None:
        with path.open("wb") as file:
            binpack.write(file, [games], Counter())

    def read() -> None:
        for _ in binpack.read(path, Unusable(path, 0)):
            pass

    write()
    opened = joining.join(folder / "games.shards", {path: 1})[0]
    walk = sampler.Walk(opened)

    def stream() -> None:
        for _ in sampler.shuffled(opened, SHUFFLED, 1, 0, walk=walk):
            pass

    sides = {"written": write, "read": read, "to shuffled batches": stream}
    rates = {name: partial(rate, len(games), action) for name, action in sides.items()}
    for name, found in in_turn(rates, ROUNDS).items():
        yield row(f".binpack {name}", "positions/s", found)
