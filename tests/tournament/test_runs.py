"""The runner: games that are legal and end rightly, order, determinism, kills, refusals."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.data.journal import Journal
from nnuelab.errors import UserError
from nnuelab.parts import Part
from nnuelab.settings.games import Rules
from nnuelab.tournament.adjudication import Adjudicator, told
from nnuelab.tournament.headers import read_results
from nnuelab.tournament.runner import Table, join, tournament
from nnuelab.tournament.schedule import Pair, Settings
from nnuelab.tournament.words import Format
from tests.fake_player import RandomEntrant
from tests.naive import tournament as naive

RULES = Rules(draw_move=5, draw_plies=4, resign_plies=3, max_plies=60)
# Positions where random players soon meet every end: mates, stalemates, bare kings, fifty moves.
ENDGAMES = [
    "k7/8/1K6/8/8/8/8/6Q1 w - -",
    "8/8/8/8/8/1k6/3q4/K7 w - -",
    "4k3/8/8/8/8/8/4r3/4K3 w - -",
    "8/8/4k3/8/8/3NK3/8/8 b - -",
    "8/2k5/8/8/8/5K2/3R4/8 w - - 93 80",
    "8/P3k3/8/8/8/8/3K3p/8 b - - 0 41",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq -",
    "7k/5Q2/8/8/8/8/8/K7 w - - 0 38",
]


def write_book(path: Path, openings: int) -> Path:
    lines = dict.fromkeys(ENDGAMES)
    for first in chess.Board().legal_moves:
        board = chess.Board()
        board.push(first)
        for second in board.legal_moves:
            board.push(second)
            lines[board.epd()] = None
            board.pop()
    path.write_text("\n".join(list(lines)[:openings]) + "\n")
    return path


def write_nets(folder: Path, *kinds: str) -> dict[str, Path]:
    nets = {}
    for i, kind in enumerate(kinds):
        name = f"{'ABCDEFG'[i]}#{i}"
        nets[name] = folder / f"{i}.net"
        nets[name].write_text(f"{kind} {i}")
    return nets


def entrants(nets: dict[str, Path]) -> dict[str, RandomEntrant]:
    return {name: RandomEntrant(net) for name, net in nets.items()}


def play(
    folder: Path,
    nets: dict[str, Path],
    games: int = 32,
    rules: Rules = RULES,
    processes: int = 1,
    format: Format = Format.ROUND_ROBIN,
) -> str:
    book = write_book(folder / "book.epd", 60)
    output = folder / "games.pgn"
    settings = Settings(games, format, seed=3, rules=rules)
    tournament(entrants(nets), book, output, settings, processes=processes)
    return output.read_text()


def read(text: str) -> list[chess.pgn.Game]:
    stream, games = io.StringIO(text), []
    while game := chess.pgn.read_game(stream):
        assert game.errors == []
        games.append(game)
    return games


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tournament of three players, 16 openings per pairing, played by two workers."""
    folder = tmp_path_factory.mktemp("three")
    return play(folder, write_nets(folder, "a", "a", "a"), processes=2)


# --- the games


def _scores(game: chess.pgn.Game) -> tuple[list[int], list[int]]:
    """Scores from White's view and move numbers, out of the comments."""
    scores, numbers = [], []
    for node in game.mainline():
        score = node.comment.split("/")[0]
        value = int(score[0] + "99999") if score[1] == "M" else round(float(score) * 100)
        board = node.parent.board()
        scores.append(value if board.turn == chess.WHITE else -value)
        numbers.append(board.fullmove_number)
    return scores, numbers


def _ended(board: chess.Board) -> str | None:
    """What the rules say of a position that the runner should have stopped at."""
    if board.is_checkmate():
        return "0-1" if board.turn == chess.WHITE else "1-0"
    if (
        board.is_stalemate()
        or board.is_insufficient_material()
        or board.halfmove_clock >= 100
        or board.is_repetition(3)
    ):
        return "1/2-1/2"
    return None


def test_every_game_is_legal_and_ends_where_and_as_it_should(text: str) -> None:
    reasons: Counter[str] = Counter()
    for game in read(text):
        board = game.board()
        for move in game.mainline_moves():
            assert _ended(board) is None
            board.push(move)
        played = len(board.move_stack)
        assert game.headers["PlyCount"] == str(played)
        result = game.headers["Result"]
        reason = game.end().comment.rpartition("n=10 ")[2]
        reasons[reason] += 1
        verdict = naive.adjudicate(*_scores(game), RULES)
        if game.headers["Termination"] == "normal":
            assert _ended(board) == result
            assert verdict is None or (verdict[0] == played and board.is_game_over())
        elif reason == "maximum length":
            assert (_ended(board), verdict, played) == (None, None, RULES.max_plies)
            assert result == "1/2-1/2"
        else:
            assert verdict == (played, result, reason)
    assert len(reasons) >= 6, reasons


def test_games_are_pairs_with_colours_swapped_and_no_opening_twice(text: str) -> None:
    games = read(text)
    assert len(games) == 3 * 32
    seen = set()
    for k in range(0, len(games), 2):
        first, second = games[k].headers, games[k + 1].headers
        assert (first["White"], first["Black"]) == (second["Black"], second["White"])
        assert first["FEN"] == second["FEN"]
        assert (first["Round"], second["Round"]) == (f"{k // 2 + 1}.1", f"{k // 2 + 1}.2")
        pairing = frozenset((first["White"], first["Black"]))
        assert (pairing, first["FEN"]) not in seen
        seen.add((pairing, first["FEN"]))


def test_results_so_far_are_balanced_over_pairings(text: str) -> None:
    pairings = [frozenset((g.headers["White"], g.headers["Black"])) for g in read(text)]
    for end in range(0, len(pairings), 6):
        assert len(set(Counter(pairings[:end]).values())) <= 1


def test_ratings_read_the_tournament_by_pairs(text: str, tmp_path: Path) -> None:
    path = tmp_path / "g.pgn"
    path.write_text(text)
    results = read_results([path])
    assert results.players == ["A#0", "B#1", "C#2"]
    assert set(Counter(results.pair.tolist()).values()) == {2}


def test_pgn_holds_nothing_that_depends_on_time(text: str) -> None:
    assert '[Date "????.??.??"]' in text
    assert max(map(len, text.splitlines())) < 100


def test_a_game_does_not_depend_on_the_games_before(tmp_path: Path) -> None:
    table = Table(entrants(write_nets(tmp_path, "a", "a")), Settings(2, rules=RULES))
    pairs = [Pair(i, "A#0", "B#1", fen + " 0 1") for i, fen in enumerate(ENDGAMES[:4])]
    forward = [table(pair) for pair in pairs]
    assert [table(pair) for pair in reversed(pairs)] == forward[::-1]


# --- adjudication


@given(
    st.lists(st.sampled_from([0, 5, -10, 11, 999, 1000, -1000, 2000]), max_size=40),
    st.builds(
        Rules,
        draw_move=st.integers(1, 12),
        draw_plies=st.integers(0, 5),
        draw_score=st.just(10),
        resign_score=st.just(1000),
        resign_plies=st.integers(0, 4),
    ),
)
def test_adjudicator_equals_the_naive_twin(scores: list[int], rules: Rules) -> None:
    numbers = [1 + i // 2 for i in range(len(scores))]
    adjudicator, found = Adjudicator(rules), None
    for i, (score, number) in enumerate(zip(scores, numbers, strict=True), 1):
        if end := adjudicator.verdict(score, number):
            found = (i, *told(end, turn=0)[:2])
            break
    assert found == naive.adjudicate(scores, numbers, rules)


def test_level_players_draw_at_the_draw_move(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_text(chess.STARTING_FEN)
    nets = write_nets(tmp_path, "level", "level")
    output = tmp_path / "g.pgn"
    tournament(entrants(nets), book, output, Settings(2), processes=1)
    for game in read(output.read_text()):
        if game.headers["Termination"] == "adjudication":
            assert game.headers["Result"] == "1/2-1/2"
            assert game.headers["PlyCount"] == "79"  # White's 40th move


# --- determinism and kills

SCRIPT = """
import sys
from pathlib import Path
from tests.tournament import test_runs as t

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    t.play(folder, t.write_nets(folder, "a", "a", "a"), processes=int(sys.argv[2]))
"""


def start(folder: Path, processes: int) -> subprocess.Popen[bytes]:
    root = Path(__file__).resolve().parents[2]
    path = f"{root / 'src'}:{root}"
    script = folder / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, str(script), str(folder), str(processes)],
        env={**os.environ, "PYTHONPATH": path, "FAKE_PLAYER_LOG": str(folder / "log")},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_killed_and_continued_gives_the_same_bytes_and_replays_nothing(
    text: str, tmp_path: Path
) -> None:
    journal = tmp_path / "games.pgn.partial"
    process = start(tmp_path, 1)
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 5):
        assert process.poll() is None
        time.sleep(0.02)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = journal.read_bytes().count(b"\n")
    assert kept < 1 + 48, "the kill came too late to show anything"
    assert not (tmp_path / "games.pgn").exists()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == []
    games = (tmp_path / "log").read_text().count("\n")
    assert start(tmp_path, 1).wait() == 0
    games = ((tmp_path / "log").read_text().count("\n") - games) // 2
    assert games == 2 * (48 - (kept - 1))
    assert (tmp_path / "games.pgn").read_text() == text
    assert not journal.exists()
    assert (tmp_path / "games.pgn.json").is_file()


# --- parts

PAIR = Pair(0, "a", "b", "")


def play_part(folder: Path, text: str, parts: list[Path]) -> Path:
    """The tournament of `text`, or a part of it."""
    part = Part.parse(text) if text else None
    output = folder / (text.replace("/", "of") + ".part" if text else "games.pgn")
    book = write_book(folder / "book.epd", 60)
    nets = entrants(write_nets(folder, "a", "a", "a"))
    settings = Settings(32, seed=3, rules=RULES)
    tournament(nets, book, output, settings, processes=1, part=part, parts=parts)
    return output


@pytest.mark.parametrize(
    ("n", "lost"), [(1, 0), (7, 3), pytest.param(50, 0, marks=pytest.mark.slow)]
)
def test_parts_make_the_same_bytes_and_a_lost_one_is_played(
    n: int, lost: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {i: play_part(tmp_path, f"{i}/{n}", []) for i in range(n, 0, -1)}
    before = parts[1].read_bytes()
    if lost:
        parts.pop(lost).unlink()
    monkeypatch.setenv("FAKE_PLAYER_LOG", str(tmp_path / "log"))
    assert play_part(tmp_path, f"1/{n}", [parts[1]]).read_bytes() == before
    assert not (tmp_path / "log").exists(), "what was given is played"
    assert play_part(tmp_path, "", list(parts.values())).read_text() == text
    games = (tmp_path / "log").read_text().count("\n") // 2 if lost else 0
    assert games == (2 * len(Part(lost, n).of([PAIR] * 48)) if lost else 0)
    rated = read_results(parts.values())
    assert len(rated.points) == 96 - games
    if not lost:
        whole = read_results([tmp_path / "games.pgn"])
        assert sorted(rated.points) == sorted(whole.points)
        assert sorted(np.bincount(rated.cluster)) == sorted(np.bincount(whole.cluster))


@given(st.integers(0, 200), st.integers(1, 60))
def test_every_opening_is_in_one_part(count: int, n: int) -> None:
    pairs = [replace(PAIR, number=i) for i in range(count)]
    found = [pair for i in range(1, n + 1) for pair in Part(i, n).of(pairs)]
    assert found == pairs


def test_what_is_no_part_of_this_tournament_is_refused(tmp_path: Path) -> None:
    for wrong in ("0/2", "3/2", "1", "1/2/3", "-1/2", "\u0661/2"):
        with pytest.raises(UserError, match="it must be I/N"):
            Part.parse(wrong)
    part = play_part(tmp_path, "1/3", [])
    whole = part.read_bytes()
    for damaged in (
        whole[:-9],
        whole.replace(b'"points": [', b'"points": [2, ', 1),
        whole.replace(b"1/2-1/2", b"1-0"),
    ):
        assert damaged != whole
        part.write_bytes(damaged)
        with pytest.raises(UserError, match="is damaged, or of an earlier"):
            play_part(tmp_path, "", [part])
    part.write_bytes(whole.replace(b'"seed": 3', b'"seed": 4', 1))
    with pytest.raises(UserError, match="is no part of this run"):
        play_part(tmp_path, "", [part])
    with pytest.raises(UserError, match="can't read"):
        play_part(tmp_path, "", [tmp_path / "missing.part"])


OUTCOME = {"first": "a", "second": "b", "points": [0, 2], "troubles": {}}
ENTRY = {"pair": 0, "games": ["", ""], "outcome": OUTCOME}


@pytest.mark.parametrize(
    "entry",
    [
        *(5, {}, ENTRY | {"pair": 9}, ENTRY | {"pair": []}, ENTRY | {"outcome": 5}),
        *(ENTRY | {"games": games} for games in (5, "ab", [""], ["", 1], ["", "\ud800"])),
        *(
            ENTRY | {"outcome": OUTCOME | lie}
            for lie in (
                {"first": "c"},
                *({"points": points} for points in ([1], [1, 3], [1, -1], [1, True], [1, 1.0])),
                *({"troubles": {"a": found}} for found in (5, {"x": 1}, {"stall": 0})),
                *({"troubles": {"a": {"stall": count}}} for count in (0, "1", None)),
                {"troubles": {"c": {}}},
            )
        ),
    ],
)
def test_an_entry_that_is_no_pair_of_games_is_refused(tmp_path: Path, entry: object) -> None:
    pairs = [replace(PAIR, number=number) for number in range(2)]
    path = tmp_path / "part"
    with Journal(tmp_path / "made", {}) as made, path.open("wb") as part:
        made.append(ENTRY | {"pair": 1})
        made.append(entry)
        made.write(part, range(2))
    with Journal(tmp_path / "joined", {}) as journal:
        with pytest.raises(UserError, match="part has an entry that is no pair of games"):
            join(journal, [path], pairs)
        assert len(journal) == 1
        journal.append(entry)
        with pytest.raises(UserError, match="joined has an entry that is no pair of games"):
            join(journal, [], pairs)


# --- what goes wrong


def test_a_worker_that_is_ended_while_it_ends_says_nothing() -> None:
    program = """
import atexit, multiprocessing, os, signal
from nnuelab.tournament import workers
atexit.register(os.kill, os.getpid(), signal.SIGTERM)
ours, theirs = multiprocessing.Pipe()
ours.close()
workers._work(theirs, lambda: abs, None)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("crash", UserError, "worker process died .exit status 7"),
        ("raise", RuntimeError, "on purpose"),
    ],
)
def test_broken_worker_stops_the_tournament_and_leaves_no_pgn(
    tmp_path: Path, kind: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        play(tmp_path, write_nets(tmp_path, "a", kind), processes=1)
    assert not (tmp_path / "games.pgn").exists()
    assert (tmp_path / "games.pgn.partial").exists()


def test_broken_net_is_said_before_the_first_game(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no net"):
        play(tmp_path, write_nets(tmp_path, "a", "broken"))
    assert not (tmp_path / "games.pgn.partial").exists()


def test_wrong_numbers_are_refused(tmp_path: Path) -> None:
    nets = write_nets(tmp_path, "a", "a")
    with pytest.raises(UserError, match="31 games per pairing: it must be even"):
        play(tmp_path, nets, games=31)
    with pytest.raises(UserError, match=r"122 games need 61 openings, and the book .* has 60"):
        play(tmp_path, nets, games=122)
    with pytest.raises(UserError, match="two players"):
        play(tmp_path, dict(list(nets.items())[:1]))


def nnuelab(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nnuelab.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_command_refuses_two_players_of_one_name_and_wrong_calls(tmp_path: Path) -> None:
    options = ["--book", "b", "--output", tmp_path / "o.pgn", "--games-per-pairing", 2]
    done = nnuelab("tournament", "a=x", "a=y", *options)
    assert done.returncode == 1
    assert (
        done.stderr == 'nnuelab: error: two players are called "a"; give each a name of its own\n'
    )
    assert nnuelab("tournament", "x", "y", *options).returncode == 2
    done = nnuelab("tournament", *options)
    assert done.returncode == 2


# --- formats and summary


def test_in_a_gauntlet_the_first_meets_each_of_the_others(tmp_path: Path) -> None:
    nets = write_nets(tmp_path, "a", "a", "a", "a")
    games = read(play(tmp_path, nets, 4, format=Format.GAUNTLET))
    met = Counter(frozenset((g.headers["White"], g.headers["Black"])) for g in games)
    assert met == {frozenset(("A#0", other)): 4 for other in ("B#1", "C#2", "D#3")}


def test_the_summary_agrees_with_the_games(tmp_path: Path) -> None:
    nets = write_nets(tmp_path, "a", "illegal", "a")
    games = read(play(tmp_path, nets, 8))
    told = json.loads((tmp_path / "games.pgn.json").read_text())["summary"]
    results: dict[str, Counter[str]] = {name: Counter() for name in nets}
    for game in games:
        for side, won in (("White", "1-0"), ("Black", "0-1")):
            result = game.headers["Result"]
            outcome = "draws" if "1/2" in result else "wins" if result == won else "losses"
            results[game.headers[side]][outcome] += 1
    for name, row in told["players"].items():
        assert {key: row[key] for key in ("wins", "draws", "losses")} == {
            key: results[name][key] for key in ("wins", "draws", "losses")
        }
    lost = [game for game in games if game.headers["Termination"] == "rules infraction"]
    illegal = {name: row["illegal_move"] for name, row in told["players"].items()}
    assert illegal == {"A#0": 0, "B#1": len(lost), "C#2": 0}
    assert len(lost) > 8
    for game in lost:
        loser = "White" if game.headers["Result"] == "0-1" else "Black"
        assert game.headers[loser] == "B#1"
        assert f"{loser} plays b1a1, an illegal move" in str(game)
    meetings = {(row["player"], row["opponent"]): row for row in told["pairings"]}
    assert len(meetings) == 6
    one, other = meetings["A#0", "C#2"], meetings["C#2", "A#0"]
    assert one["pairs"] == other["pairs"][::-1]
    assert sum(one["pairs"]) == 4
    assert one["elo"] is None or one["elo"] == pytest.approx(-other["elo"])
