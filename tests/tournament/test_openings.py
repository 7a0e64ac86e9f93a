"""Books: formats, what counts as an opening, drawing without replacement, refusals."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import chess
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.errors import UserError
from nnuelab.tournament import openings
from nnuelab.tournament.openings import Book

FENS = [
    "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
    "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1",
    "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2",
]
EPD = "\n".join([FENS[0], " ".join(FENS[1].split()[:4]) + ' id "x"; hmvc 0;', "", FENS[2]])
PGN = """[Event "one"]
[Result "*"]

1. e4 {[%eval 0.3]} *

[Event "two"]

1. d4 (1. c4 e5) *

[Event "three"]
[SetUp "1"]
[FEN "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"]

1... e5 *
"""


def write(path: Path, text: str) -> Path:
    data = text.encode()
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
    elif path.suffix == ".zst":
        path.write_bytes(zstandard.compress(data))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(path.stem, data)
    else:
        path.write_bytes(data)
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".zip"])
@pytest.mark.parametrize(("name", "text"), [("b.epd", EPD), ("b.pgn", PGN)])
def test_books_of_every_format_hold_the_same(
    tmp_path: Path, suffix: str, name: str, text: str
) -> None:
    book = Book(write(tmp_path / (name + suffix), text))
    assert [book.fen(i) for i in range(len(book))] == FENS


def test_real_books_are_read(shared: Path) -> None:
    for name, least in (("noob_3moves.epd.zip", 100_000), ("2moves_v2.pgn.zip", 10_000)):
        book = Book(shared / "data" / "books" / name)
        assert len(book) > least
        drawn = book.draw(50, 1, 0)
        assert len(set(drawn)) == 50
        assert all(chess.Board(fen).is_valid() for fen in drawn)


@given(st.integers(1, 3), st.integers(0, 10**9), st.integers(0, 100))
def test_draws_are_without_replacement_and_the_same_every_time(
    tmp_path_factory: pytest.TempPathFactory, n: int, seed: int, pairing: int
) -> None:
    book = Book(write(tmp_path_factory.mktemp("book") / "b.epd", EPD))
    drawn = book.draw(n, seed, pairing)
    assert len(set(drawn)) == n
    assert book.draw(3, seed, pairing)[:n] == drawn


def test_equal_openings_are_one(tmp_path: Path) -> None:
    assert len(Book(write(tmp_path / "b.epd", "\n".join(FENS * 3)))) == 3


def test_openings_that_transpose_are_one_when_drawn(tmp_path: Path) -> None:
    book = Book(
        write(tmp_path / "b.pgn", '[A ""]\n\n1. d4 d5 2. c4 *\n\n[A ""]\n\n1. c4 d5 2. d4 *\n')
    )
    assert len(book) == 2
    with pytest.raises(UserError, match=r"4 games need 2 openings, and the book .* has 1"):
        book.draw(2, 0, 0)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("b.epd", "", "has no opening"),
        ("b.epd", "# only\n\n", "has no opening"),
        ("b.epd", FENS[0] + "\nnonsense\n", "line 2: broken FEN"),
        ("b.epd", "4k3/8/8/8/8/8/4R3/4K3 w - -\n", "line 1: .*in check"),
        ("b.epd", "R5k1/5ppp/8/8/8/8/8/4K3 b - -\n", "line 1: the game is over"),
        ("b.pgn", '[Event "x"]\n\n1. e5 *\n', "game 1: illegal san"),
        ("b.zip", "", "has no opening"),
    ],
)
def test_bad_books_name_the_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        Book(write(tmp_path / name, text)).fen(0)


@pytest.mark.parametrize("name", ["b.epd.zst", "b.zip"])
def test_a_book_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = write(tmp_path / name, EPD)
    monkeypatch.setattr(openings, "LARGEST", len(EPD.encode()))
    assert len(Book(path))
    monkeypatch.setattr(openings, "LARGEST", len(EPD.encode()) - 1)
    with pytest.raises(UserError, match="give a smaller book"):
        Book(path)


def test_missing_and_damaged_books_are_said(tmp_path: Path) -> None:
    for name in ("absent.epd", "absent.epd.zip"):
        with pytest.raises(UserError, match="there is no file"):
            Book(tmp_path / name)
    (tmp_path / "b.zip").write_bytes(b"PK nothing")
    with pytest.raises(UserError, match="damaged"):
        Book(tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "hole.zip", "w") as archive:
        archive.writestr("b.epd", EPD)
    content = (tmp_path / "hole.zip").read_bytes()
    (tmp_path / "hole.zip").write_bytes(content[:30] + content[90:])
    with pytest.raises(UserError, match="can't unpack"):
        Book(tmp_path / "hole.zip")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a", EPD)
        archive.writestr("b", EPD)
    with pytest.raises(UserError, match="holds 2 files"):
        Book(tmp_path / "two.zip")
