"""Position files of the field: read as their authors mean them, written as they would."""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab import data
from nnuelab.data import conversion
from nnuelab.data.dataset import write_index, writing
from nnuelab.data.formats import binpack, bulletformat
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT, from_fen, to_fen
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError
from tests.naive import formats as naive
from tests.nnue_data import pack_move

ALL = set(RECORD.names)
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
KEPT = {  # by format: what it holds of a record
    ".npy": ALL,
    ".csv": ALL,
    ".binpack": ALL - {"game"},
    ".plain": ALL - {"game"},
    ".plain.gz": ALL - {"game"},
    ".epd": ALL - {"game", "move"},
    ".fen": ALL - {"game", "move"},
    ".csv.zst": ALL,
    ".bf": {"score", "result"},
}


def whole_games(n: int, seed: int = 1) -> np.ndarray:
    """RECORD of ``n`` random games, all positions with moves, results and scores, some mates."""
    draw = random.Random(seed)
    found = []
    for game in range(n):
        board, won = chess.Board(), draw.choice([1, 0, -1])
        for _ in range(draw.randrange(5, 150)):
            legal = list(board.legal_moves)
            if not legal:
                break
            special = [m for m in legal if m.promotion or board.is_castling(m)]
            move = draw.choice(special or legal)
            record = from_fen(board.fen(en_passant="legal"))
            record["game"], record["ply"] = game, board.ply()
            record["result"] = won if board.turn else -won
            record["score"] = draw.choice([0, 35, -700, 31_990, -31_999, 31_000])
            record["move"] = pack_move(board, move)
            found.append(record)
            board.push(move)
    return np.array(found, RECORD)


def saved(path: Path, records: np.ndarray) -> Path:
    with writing(path) as writer:
        writer.append(records)
    return path


def read(path: Path, limit: int = 0) -> np.ndarray:
    return np.concatenate([*conversion.of(path).read(path, Unusable(path, limit))])


@pytest.fixture(scope="module")
def small(shared: Path) -> Path:
    return shared / "data" / "evals" / "nnue-pytorch_small.binpack"


@pytest.fixture(scope="module")
def decoded(small: Path) -> np.ndarray:
    return read(small)


def test_binpack_is_what_its_authors_decode(small: Path, decoded: np.ndarray) -> None:
    assert len(decoded) == 434_921
    with small.with_name(small.stem + "_binpack_first20k.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row, record in zip(rows, decoded, strict=False):
        # Its writer counts moves in another way; the ply tells the same.
        assert to_fen(record).rsplit(" ", 1)[0] == row["fen"].rsplit(" ", 1)[0]
        score = 32_002 if record["score"] == NO_SCORE else record["score"]
        found = str(score), str(record["result"]), str(record["ply"])
        assert found == (row["score_stm"], row["result_stm"], row["ply"])


def test_binpack_is_what_the_twin_reads(small: Path, decoded: np.ndarray) -> None:
    frame = data.Dataset(small, (decoded[:5000],)).to_pandas()
    found = zip(*(frame[name] for name in ("fen", "move", "score", "result", "ply")), strict=True)
    for ours, twin in zip(found, naive.binpack(small.read_bytes(), 5000), strict=False):
        score = NO_SCORE if twin.score == 32_002 else twin.score
        assert ours == (twin.fen, twin.move, score, twin.result, twin.ply)


def test_binpack_is_written_as_stockfish_writes_it(small: Path, decoded: np.ndarray) -> None:
    file = io.BytesIO()
    binpack.write(file, np.array_split(decoded, 7), Counter())
    assert file.getvalue() == small.read_bytes()


def test_positions_of_a_binpack_are_legal_games(decoded: np.ndarray) -> None:
    board = None
    for record in decoded[-20_000:]:
        if board is None or board.fen(en_passant="legal") != to_fen(record):
            board = chess.Board(to_fen(record))
            assert board.is_valid()
        move = chess.Move.from_uci(data.Dataset(Path(), (record[None],)).to_pandas()["move"][0])
        assert board.is_legal(move)
        board.push(move)


def test_bulletformat_is_what_its_twin_writes(shared: Path) -> None:
    path = shared / "data" / "evals" / "bullet_batch.bf"
    records, content = read(path), path.read_bytes()
    assert len(records) == 16_273
    for i, record in enumerate(records[:2000]):
        board = chess.Board(to_fen(record))
        assert board.is_valid()
        packed = naive.bulletformat(board, int(record["score"]), int(record["result"]))
        assert packed == content[32 * i : 32 * i + 32]
    file = io.BytesIO()
    bulletformat.write(file, [records], Counter())
    assert file.getvalue() == content


def test_bulletformat_turns_the_board_for_black() -> None:
    records = whole_games(5)
    file = io.BytesIO()
    bulletformat.write(file, [records], Counter())
    twins = (
        naive.bulletformat(chess.Board(to_fen(r)), int(r["score"]), int(r["result"]))
        for r in records
    )
    assert file.getvalue() == b"".join(twins)


@pytest.mark.parametrize("suffix", KEPT)
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str) -> None:
    records = whole_games(30)
    source, other = saved(tmp_path / "a.npy", records), tmp_path / f"b{suffix}"
    written, unusable, left_out = conversion.convert(source, other)
    assert (written, unusable.count, left_out) == (len(records), 0, Counter())
    found = read(other)
    for name in sorted(KEPT[suffix]):
        assert np.array_equal(found[name], records[name]), name
    if suffix in (".binpack", ".plain"):
        assert np.array_equal(found["game"], records["game"])  # games of other results or plies
    again = tmp_path / f"c{suffix}"
    conversion.convert(other, again)
    assert again.read_bytes() == other.read_bytes()


def test_unknown_scores_and_results_are_kept_or_counted(tmp_path: Path) -> None:
    records = whole_games(3)
    records["score"][::3], records["result"][::2] = NO_SCORE, UNKNOWN_RESULT
    source = saved(tmp_path / "a.npy", records)
    scored, known = records["score"] != NO_SCORE, records["result"] != UNKNOWN_RESULT
    for suffix, kept in {
        ".csv": scored | True,
        ".binpack": known,
        ".plain": known,
        ".epd": scored | True,
        ".fen": scored & known,
        ".bf": scored & known,
    }.items():
        written, _, left_out = conversion.convert(source, tmp_path / f"b{suffix}")
        assert written == kept.sum() == len(records) - left_out.total(), suffix
        found = read(tmp_path / f"b{suffix}")
        assert np.array_equal(found["score"], records["score"][kept]), suffix


def test_lines_of_many_dialects(tmp_path: Path) -> None:
    board = "4k3/8/8/8/8/8/4P3/4K3"
    lines = {
        f"{board} w - - 3 20": (NO_SCORE, UNKNOWN_RESULT, 38),
        f"{board} w - -": (NO_SCORE, UNKNOWN_RESULT, 0),
        f"{board} b - - ce 35; hmvc 3; fmvn 20;": (35, UNKNOWN_RESULT, 39),
        f'{board} b - - c9 "1-0";': (NO_SCORE, -1, 1),
        f"{board} b - - dm 3;": (31_997, UNKNOWN_RESULT, 1),
        f"{board} b - - 3 20 [0.0]": (NO_SCORE, 1, 39),
        f"{board} w - - 3 20; 1/2-1/2": (NO_SCORE, 0, 38),
        f"{board} b - - 3 20 | -120 | 0.5": (120, 0, 39),
        f'{board} w - - bm e4; id "endings 1-0 and others";': (NO_SCORE, 1, 0),
    }
    path = tmp_path / "lines.epd"
    path.write_text("# positions\n\n" + "\n".join(lines))
    found = [(r["score"], r["result"], r["ply"]) for r in read(path)]
    assert found == list(lines.values())


@pytest.mark.parametrize("name", ["wac_new.epd", "bratko_kopec.epd", "perft_standard.epd"])
def test_real_epd_is_read_as_python_chess_does(shared: Path, name: str) -> None:
    path = shared / "data" / "epd" / name
    records = read(path)
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert len(records) == len(lines)
    for record, line in zip(records, lines, strict=True):
        board = chess.Board()
        board.set_epd(" ".join(line.split(" ;")[0].split(" ")[:4]))
        assert to_fen(record).split(" ")[:4] == board.epd(en_passant="legal").split(" ")


def test_broken_positions_are_told_with_their_lines(shared: Path, tmp_path: Path) -> None:
    path = shared / "data" / "epd" / "broken_positions.epd"
    unusable = Unusable(path, 10_000)
    kept = np.concatenate([*conversion.of(path).read(path, unusable)])
    n = sum(bool(line.strip()) and line[0] != "#" for line in path.read_text().splitlines())
    assert len(kept) + unusable.count == n
    assert unusable.examples[0].startswith("line ")
    for record in kept:
        chess.Board(to_fen(record))


def test_the_deepest_evaluation_of_lichess_counts(tmp_path: Path) -> None:
    # Black to move, and White's view: two bishops against a bare king.
    evals = [
        {"pvs": [{"cp": 200, "line": "e4d3 a3c5"}], "knodes": 765, "depth": 20},
        {
            "pvs": [{"mate": 14, "line": "e4d4"}, {"cp": 9, "line": "e4d3"}],
            "knodes": 9,
            "depth": 30,
        },
        {"pvs": [{"cp": 1, "line": "e4e3"}], "knodes": 8, "depth": 30},
    ]
    castling = {"fen": "4k3/8/8/8/8/8/8/4K2R w K -", "evals": [
        {"pvs": [{"cp": 500, "line": "e1h1 e8e7"}], "knodes": 1, "depth": 2}]}  # fmt: skip
    bishops = {"fen": "8/1B2K3/8/8/4k3/B7/8/8 b - -", "evals": evals}
    path = tmp_path / "evals.jsonl"
    path.write_text(json.dumps(bishops) + "\n" + json.dumps(castling) + "\n")
    frame = data.Dataset(path, (read(path),)).to_pandas()
    assert frame["score"].tolist() == [-31_986, 500]
    assert frame["move"].tolist() == ["e4d4", "e1g1"]
    assert frame["result"].tolist() == [UNKNOWN_RESULT] * 2


def bad_files() -> Iterator[tuple[str, str, str]]:
    yield ".csv", f"fen,score\n{START},5\nx y z,1\n", "line 3: broken FEN 'x y z'"
    yield ".csv", f"fen,score\n{START},much\n", "line 2: the score 'much' is not a number"
    yield ".csv", f"fen,score\n{START},40000\n", "line 2: the score 40000 is beyond 32700"
    yield ".csv", f"fen,score\n{START},1,2\n", "line 2: 3 cells instead of 2"
    yield ".csv", f"fen,result\n{START},won\n", "line 2: the result 'won' is not 1, 0 or -1"
    yield ".csv", f"fen,game\n{START},-3\n", "line 2: the game '-3' is not a number from 0"
    yield ".csv", f"fen,move\n{START},e2e5\n", "line 2: 'e2e5' is not a legal move in rnbqkbnr"
    yield ".csv", f"board\n{START}\n", "has no column fen"
    yield ".epd", "8/8/8/8/8/8/8/8 w - - 0 1\n", "line 1: broken FEN .*White has 0 kings"
    yield ".fen", "\x00" * 5000, "line 1: 5,000 bytes are not a FEN"
    yield ".plain", f"fen {START}\nscore 3\n", "line 1: a position without its end"
    yield ".plain", f"fen {START}\nskore 3\ne\n", "line 2: 'skore 3'"
    yield ".plain", "move e2e4\ne\n", "line 1: a position without a line `fen`"
    yield ".jsonl", "{]\n", "line 1: not JSON"
    yield ".jsonl", "[" * 100_000, "line 1: not JSON"
    yield ".jsonl", '{"fen": 3, "evals": []}\n', "line 1: not a Lichess evaluation"
    yield ".bf", "x" * 32, "byte 0: no position"
    yield ".bf", "x" * 31, "byte 0: it is cut off"
    yield ".binpack", "x" * 32, "no .binpack"
    yield ".binpack", "BINP\x05\0\0\0abcde", "chain at byte 8: it is cut off"
    yield ".binpack", "BINP\xff\0\0\0abcde", "chunk at byte 0: it is cut off"
    yield ".binpack", "BINP\0\0\0\0" + "x" * 32, "damaged, or of something else from byte 8 on"
    yield ".binpack", "", "has no position that .*out.npy can hold: it is empty"
    yield ".npy", "x" * 32, "is not a dataset"
    yield ".pgn", "1. e4 *", "nnuelab sample"


@pytest.mark.parametrize(("suffix", "content", "told"), [*bad_files()])
def test_bad_input_is_one_line_that_says_where(
    tmp_path: Path, suffix: str, content: str, told: str
) -> None:
    path, output = tmp_path / f"bad{suffix}", tmp_path / "out.npy"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match=told) as error:
        conversion.convert(path, output)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_unusable_lines_are_left_out_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("fen\n" + f"{START}\nbroken\n" * 5)
    written, unusable, _ = conversion.convert(path, tmp_path / "out.npy", max_unusable=5)
    assert (written, unusable.count) == (5, 5)
    with pytest.raises(UserError, match=r"5 unusable \(line 3: .*; line 5: .*; line 7.*--max-unus"):
        conversion.convert(path, tmp_path / "out.npy", max_unusable=4)
    counts = json.loads((tmp_path / "out.npy.json").read_text())["counts"]
    assert counts == {"positions": 5, "unusable": 5}


@settings(max_examples=150)
@given(st.data())
def test_a_damaged_binpack_is_never_more_than_unusable(small: Path, tmp_path_factory, data) -> None:
    content = bytearray(small.read_bytes()[:6000])
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "x.binpack"
    path.write_bytes(content[: data.draw(st.integers(9, len(content)))])
    try:
        records = [*binpack.read(path, Unusable(path, 5))]
    except UserError as error:
        assert str(path) in str(error)  # noqa: PT017
        return
    for record in np.concatenate(records)[-50:]:
        assert chess.Board(to_fen(record)).king(chess.WHITE) is not None


def test_names_without_a_format_are_refused_with_those_that_have_one(tmp_path: Path) -> None:
    for name, told in (
        ("x.txt", r"\.binpack \(Stockfish's\)"),
        ("x.npy.gz", "unpack it first"),
        ("x", "ends in"),
    ):
        with pytest.raises(UserError, match=told):
            conversion.convert(tmp_path / name, tmp_path / "out.npy")
    saved(tmp_path / "a.npy", whole_games(1))
    with pytest.raises(UserError, match="read only"):
        conversion.convert(tmp_path / "a.npy", tmp_path / "a.csv.bz2")
    with pytest.raises(UserError, match="would overwrite"):
        conversion.convert(tmp_path / "a.npy", tmp_path / "a.npy")


def test_an_index_is_read_and_a_damaged_dataset_refused(tmp_path: Path) -> None:
    records = whole_games(4)
    shards = [saved(tmp_path / f"{i}.npy", part) for i, part in enumerate(np.split(records, [40]))]
    index = tmp_path / "all.shards"
    write_index(index, shards)
    assert np.array_equal(read(index), records)
    for name in "other.shards", "other.jsonl":
        with pytest.raises(UserError, match="can't be written"):
            conversion.convert(index, tmp_path / name)
    records["occupied"][50] = 0
    with pytest.raises(UserError, match="is damaged"):
        conversion.convert(saved(tmp_path / "a.npy", records), tmp_path / "a.csv")


def test_the_command_tells_what_it_did(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text(f"fen,score\n{START},7\nbroken,1\n")
    command = [sys.executable, "-m", "nnuelab.cli", "data", "convert", str(path)]
    done = subprocess.run(
        [*command, str(tmp_path / "out.epd")], check=True, capture_output=True, text=True
    )
    assert "out.epd: 1 positions" in done.stderr
    assert "1 unusable (line 3: broken FEN" in done.stderr
