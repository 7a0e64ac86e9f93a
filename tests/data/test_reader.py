"""The reader of games is python-chess, a thousand times as fast."""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.data import pgn, reader, sampling
from nnuelab.data.records import NO_SCORE, RECORD, to_fen
from nnuelab.data.sample_counts import UNREADABLE
from nnuelab.data.sampling import sample
from nnuelab.data.streams import blocks
from nnuelab.errors import UserError
from nnuelab.settings.sample import Sampling
from tests.naive import data as naive

ALL = Sampling(
    min_ply=0, skip_check=False, skip_captures=False, skip_promotions=False, max_unreadable=1
)
TAGS = '[Event "x"]\n[White "J\u00e9r\u00f4me"]\n[Result "1-0"]\n'


def games_of(path: Path) -> Iterator[chess.pgn.Game]:
    text = io.TextIOWrapper(io.BytesIO(b"".join(blocks(path))), encoding="latin-1")
    while (game := chess.pgn.read_game(text)) is not None:
        yield game


def take(
    path: Path, tmp_path: Path, options: Sampling = ALL, workers: int = 1, **more
) -> tuple[np.ndarray, dict]:
    output = tmp_path / "sampled.npy"
    found = sample([path], output, replace(options, **more), workers)
    return np.load(output), found


def check_games(records: np.ndarray, games: Iterator[tuple[int, chess.pgn.Game]]) -> int:
    """Compares positions, moves, scores, results; returns the number of evaluations."""
    evaluations = 0
    begins = {int(game): i for i, game in reversed(list(enumerate(records["game"])))}
    for number, game in games:
        ours = iter(records[begins[number] :])
        result = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}.get(game.headers["Result"])
        for board, move, score in naive.played(game):
            record = next(ours)
            where = (game.headers.get("Site"), board.fen())
            assert to_fen(record) == board.fen(en_passant="legal"), where
            assert notation.move_to_uci(int(record["move"])) == move.uci(), where
            assert int(record["score"]) == (NO_SCORE if score is None else score), where
            if result is not None:
                assert record["result"] == (result if board.turn else -result), where
            evaluations += score is not None
        assert next(ours, {"game": -1})["game"] != number
        # That of the last position, which has no next move, is no sample.
        evaluations += game.end().eval() is not None
    return evaluations


@pytest.mark.parametrize("name", ["fixture_evals_200.pgn", "fixture_clk_200.pgn"])
def test_games_are_those_of_python_chess(shared, tmp_path, name: str) -> None:
    path = shared / "data/games" / name
    records, _ = take(path, tmp_path)
    check_games(records, itertools.islice(enumerate(games_of(path)), 60))


def test_games_over_the_board_are_those_of_python_chess(shared, tmp_path) -> None:
    path = shared / "data/games/otb_sample_40k.pgn.zst"
    records, found = take(path, tmp_path, max_positions=10_000)
    assert sum(found.counts[f"skipped: {reason}"] for reason in UNREADABLE) == 0
    check_games(records, itertools.islice(enumerate(games_of(path)), 100))


@pytest.mark.slow
def test_all_evaluations_of_real_games_are_those_of_python_chess(shared, tmp_path) -> None:
    path = shared / "data/games/lichess_carlsen_evals.pgn.zst"
    records, _ = take(path, tmp_path)
    assert check_games(records, enumerate(games_of(path))) == 917_833


@pytest.mark.slow
def test_games_of_chess960_are_counted_and_the_others_read(shared, tmp_path) -> None:
    path = shared / "data/games/tcec_evals_lichess_style.pgn.zst"
    records, found = take(path, tmp_path)
    assert found.counts["games"] == 27_318
    # Two more than say so: the others only have castling rights with kings that aren't at home.
    assert found.counts["skipped: Chess960"] == 5_226 + 2
    read = set(records["game"].tolist())
    assert len(read) == 27_318 - 5_228 - found.counts["skipped: no moves"]
    some = ((n, game) for n, game in enumerate(games_of(path)) if n in read and n % 20 == 0)
    check_games(records, some)


def test_odd_games_are_read_or_refused_by_file_game_and_line(shared, tmp_path) -> None:
    path = shared / "data/games/edge/lichess_variants_and_odd_games.pgn"
    records, found = take(path, tmp_path)
    read = set(records["game"].tolist())
    refused = 0
    for number, game in enumerate(games_of(path)):
        variant = game.headers.get("Variant", "Standard")
        good = variant in ("Standard", "From Position") and bool(list(game.mainline()))
        good &= not game.board().has_chess960_castling_rights() and not game.errors
        assert (number in read) == good, game.headers
        refused += not good
    assert refused == sum(n for name, n in found.counts.items() if name.startswith("skipped"))
    for reason, places in found.examples.items():
        assert all(f"{path.name}, game " in p and f": {reason}" in p for p in places)
    good_games = ((n, g) for n, g in enumerate(games_of(path)) if n in read)
    check_games(records, itertools.islice(good_games, 100))


@pytest.mark.parametrize(
    ("moves", "told"),
    [
        ("1. e4 e5\n2. Ke3 *", "line 6: illegal move 'Ke3'"),
        ("1. e4 e5 2. Bb5 a6 3. Bxd7+ Nc6 *", "illegal move 'Nc6'"),
        ("1. Nf3 a6 2. d3 a5 3. Nd2 *", "line 5: ambiguous move 'Nd2'"),
        ("1. e4 e9 *", "line 5: unreadable move 'e9'"),
        ("1. e4 -- 2. d4 *", "line 5: null move '--'"),
        ("1. e4 {[%eval 0.1] e5 *", "line 5: comment without end"),
        ("1-0", "line 1: no moves"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, moves: str, told: str) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(f"{TAGS}\n{moves}\n\n{TAGS}\n1. e4 e5 1-0\n", "latin-1")
    records, found = take(path, tmp_path)
    ((place, *more),) = found.examples.values()
    assert not more
    assert place.startswith(f"{path}, game 1, line ")
    assert told in place
    assert set(records["game"]) == {1}


def test_too_many_mistakes_stop_the_work_with_examples(tmp_path) -> None:
    path = tmp_path / "games.pgn"
    bad, good = f"{TAGS}\n1. e4 Ke2 *\n\n", f"{TAGS}\n1. e4 e5 1-0\n\n"
    path.write_text(good * 8 + bad * 2, "latin-1")
    with pytest.raises(UserError, match=r"2 of 10 games .*game 9, line .* illegal move 'Ke2'"):
        take(path, tmp_path, replace(ALL, max_unreadable=0.1))
    assert list(tmp_path.iterdir()) == [path]
    _, found = take(path, tmp_path, replace(ALL, max_unreadable=0.2))
    assert found.counts["skipped: illegal move"] == 2


def test_a_comment_without_end_costs_one_game(tmp_path) -> None:
    path = tmp_path / "games.pgn"
    games = [f"{TAGS}\n1. e4 e5 1-0\n", f"{TAGS}\n1. d4 {{ d5\n1-0\n", f"{TAGS}\n1. c4 c5 1-0\n"]
    path.write_text("\n".join(games), "latin-1")
    records, found = take(path, tmp_path)
    assert found.counts["skipped: comment without end"] == 1
    assert records["game"].tolist() == [0, 0, 2, 2]


def test_games_without_tags_or_empty_lines_are_told_apart(tmp_path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text("1. e4 e5 1-0\n1. d4 d5 2. c4 0-1\n\n1. c4 1/2-1/2\n" + TAGS + "1. a3 *")
    records, found = take(path, tmp_path)
    assert found.counts["games"] == 4
    assert records["game"].tolist() == [0, 0, 1, 1, 1, 2, 3]
    assert records["result"].tolist() == [1, -1, -1, 1, -1, 0, 1]


def _mixed_games(shared: Path) -> str:
    """Games of every dialect one after the other."""
    edge = shared / "data/games/edge"
    texts = [pgn_text.decode("latin-1") for pgn_text in pgn.texts(edge / "stockfish-learning.pgn")]
    texts += [p.decode("latin-1") for p in pgn.texts(shared / "data/games/fixture_evals_200.pgn")]
    texts = [texts[0], *texts[1:12]]
    texts += [
        "1. e4 e5 2. Nf3 {two\n\n[Ev lines} 2... Nc6 1-0\n",
        f"{TAGS}\n1. d4 {{ never closed\n\n",
        f'{TAGS}[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]\n\n1. e4 Kd7 1/2-1/2\n',
        f"{TAGS}\n1. e4 Ke3 *\n",
        f"{TAGS}\n\n",
        f"{TAGS}\r\n1. e4 e5\r\n2. Nc3 1-0\r\n",
    ]
    random.Random(5).shuffle(texts)
    return "\n".join(texts)


def test_where_the_text_is_cut_changes_nothing(shared, tmp_path, monkeypatch) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(_mixed_games(shared), "latin-1", newline="")
    options = replace(ALL, per_game=9, skip_duplicates=True, seed=4)
    whole, found = take(path, tmp_path, options)
    limited, cut_found = take(path, tmp_path, options, max_positions=40)
    assert np.array_equal(limited, whole[:40])
    assert found.counts["games"] > 15
    plain = reader.chunks
    for size in (1, 50, 700, 4000):
        monkeypatch.setattr(sampling, "chunks", lambda path, size=size: plain(path, size))
        pieces = list(sampling.chunks(path))
        assert b"".join(pieces) == path.read_bytes()
        monkeypatch.setattr("nnuelab.data.streams.BLOCK", 64)
        assert len(list(sampling.chunks(path))) > 2
        for workers in (1, 3):
            again, same = take(path, tmp_path, options, workers=workers)
            assert np.array_equal(again, whole)
            assert (same.counts, same.examples) == (found.counts, found.examples)
            assert np.array_equal(same.ratings, found.ratings)
            again, same = take(path, tmp_path, options, workers=workers, max_positions=40)
            assert np.array_equal(again, limited)
            assert same.counts == cut_found.counts


def test_single_games_are_those_of_the_reader(shared: Path, tmp_path) -> None:
    files = [*(shared / "data/games/edge").glob("*.pgn"), tmp_path / "header-only.pgn"]
    files[-1].write_text(f"{TAGS}\n\n" * 3)
    for path in files:
        known = reader.Reader(reader.kernel_options({}))
        chunks = reader.chunks(path)
        assert len([*pgn.games(path)]) == sum(known.read(text).games for text in chunks), path


def test_a_file_that_is_no_pgn_is_one_line(tmp_path, monkeypatch) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(b"{" + b"x" * 10_000)
    monkeypatch.setattr(reader, "LONGEST", 4000)
    monkeypatch.setattr("nnuelab.data.streams.BLOCK", 500)
    with pytest.raises(UserError, match="no game ends within"):
        list(reader.chunks(path, 1000))


POSITION_FILTERS = [
    ("min_ply", 30, lambda board, move, score: board.ply() < 30),
    ("skip_check", True, lambda board, move, score: board.is_check()),
    ("skip_captures", True, lambda board, move, score: board.is_capture(move)),
    ("skip_promotions", True, lambda board, move, score: bool(move.promotion)),
    ("min_pieces", 12, lambda board, move, score: len(board.piece_map()) < 12),
    ("max_pieces", 20, lambda board, move, score: len(board.piece_map()) > 20),
    ("max_score", 150, lambda board, move, score: score is not None and abs(score) > 150),
]


@pytest.mark.parametrize(("option", "value", "drops"), POSITION_FILTERS)
def test_each_filter_of_positions_drops_what_it_says(
    shared, tmp_path, option: str, value: int, drops
) -> None:
    path = shared / "data/games/fixture_evals_200.pgn"
    records, found = take(path, tmp_path, replace(ALL, **{option: value}))
    expected = [
        (number, board.ply())
        for number, game in itertools.islice(enumerate(games_of(path)), 50)
        for board, move, score in naive.played(game)
        if not drops(board, move, score)
    ]
    ours = records[records["game"] < 50]
    assert list(zip(ours["game"].tolist(), ours["ply"].tolist(), strict=True)) == expected
    (filtered,) = [n for name, n in found.counts.items() if name.startswith("filtered")]
    assert filtered == found.counts["positions"] - len(records) > 0


GAME_TAGS = [
    ({"WhiteElo": "1500", "BlackElo": "1700"}, "rating"),
    ({"WhiteElo": "2000", "BlackElo": "2500"}, "rating"),
    ({"WhiteElo": "2000"}, "rating"),
    ({"TimeControl": "60+0"}, "time control"),
    ({"TimeControl": "-"}, "time control"),
    ({"TimeControl": "40/9000"}, "time control"),
    ({"Termination": "Abandoned"}, "termination"),
    ({"FEN": "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"}, "start position"),
    ({"Variant": "Atomic"}, "variant"),
    ({"Variant": "Fischerandom"}, "Chess960"),
    ({"TimeControl": "180+2"}, ""),
    ({"TimeControl": "40/600"}, ""),
    ({"Termination": "time forfeit", "Variant": "Chess"}, ""),
]


@pytest.mark.parametrize(("tags", "reason"), GAME_TAGS)
def test_each_filter_of_games_drops_what_it_says(tmp_path, tags: dict, reason: str) -> None:
    usual = {
        "Event": "?",
        "WhiteElo": "1900",
        "BlackElo": "2100",
        "TimeControl": "600",
        "Termination": "Normal",
    }
    if "WhiteElo" in tags and "BlackElo" not in tags:
        del usual["BlackElo"]
    path = tmp_path / "games.pgn"
    given = "".join(f'[{name} "{value}"]\n' for name, value in {**usual, **tags}.items())
    other = "".join(
        f'[{name} "{value}"]\n' for name, value in {**usual, "BlackElo": "1950"}.items()
    )
    path.write_text(
        f"{given}\n1. e4 Kd7 *\n\n{other}\n1. e4 e5 *\n".replace(
            "Kd7", "e5" if "FEN" not in tags else "Kd7"
        )
    )
    options = replace(
        ALL,
        min_rating=1800,
        max_rating=2200,
        min_seconds=120,
        max_seconds=3000,
        terminations=("normal", "Time forfeit"),
        start_positions=False,
    )
    records, found = take(path, tmp_path, options)
    assert found.counts["games"] == 2
    assert set(records["game"]) == ({1} if reason else {0, 1})
    if reason:
        assert found.counts[f"skipped: {reason}"] == 1


def test_duplicates_are_those_of_all_positions_before(shared, tmp_path) -> None:
    path = shared / "data/games/fixture_evals_200.pgn"
    everything, _ = take(path, tmp_path)
    seen: set[str] = set()
    first = []
    for record in everything[:3000]:
        name = " ".join(to_fen(record).split()[:4])
        first.append(name not in seen)
        seen.add(name)
    records, found = take(path, tmp_path, replace(ALL, skip_duplicates=True))
    expected = everything[:3000][first]
    assert np.array_equal(records[: len(expected)], expected)
    assert found.counts["filtered: duplicate"] == len(everything) - len(records) > 100


def test_draws_are_uniform_and_by_game(shared, tmp_path) -> None:
    path = shared / "data/games/fixture_evals_200.pgn"
    everything, _ = take(path, tmp_path)
    sizes = np.bincount(everything["game"])
    ranks = []
    for seed in range(40):
        records, found = take(path, tmp_path, replace(ALL, per_game=3, seed=seed))
        assert np.array_equal(np.bincount(records["game"]), np.minimum(sizes, 3))
        assert np.isin(records, everything).all()
        assert found.counts["filtered: not drawn"] == len(everything) - len(records)
        ranks.append(records["ply"] / sizes[records["game"]])
    share, _ = np.histogram(np.concatenate(ranks), 10, (0, 1))
    assert abs(share / share.sum() - 0.1).max() < 0.01


def test_a_quiet_filter_is_asked_before_the_draw(shared, tmp_path) -> None:
    path = shared / "data/games/fixture_evals_200.pgn"

    def even(records: np.ndarray) -> np.ndarray:
        assert records.dtype == RECORD
        return records["ply"] % 2 == 0

    options = replace(ALL, per_game=1, quiet_only=True)
    output = tmp_path / "sampled.npy"
    found = sample([path], output, options, workers=2, quiet=even)
    records = np.load(output)
    assert (records["ply"] % 2 == 0).all()
    assert len(records) == 200
    assert found.counts["filtered: not quiet"] > 1000
