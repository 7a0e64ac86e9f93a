"""Damaged records are found; positions of games are not."""

from __future__ import annotations

from pathlib import Path

import chess
import numpy as np
import pytest

from nnuelab.data.records import NO_SCORE, RECORD, from_fen
from nnuelab.data.validation import check, first_fault
from nnuelab.errors import UserError
from tests.naive.data import fault
from tests.nnue_nets import random_games

START = from_fen(chess.STARTING_FEN)


def test_positions_of_games_are_sound() -> None:
    fens = [
        *random_games(15),
        "rnbqkb1r/ppp1pppp/5n2/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 3",
        "4k3/8/8/8/3pP3/8/8/4K2R b K e3 0 1",
        "4k3/8/8/8/8/8/8/4K3 w - - 0 1",
    ]
    records = np.array([from_fen(fen) for fen in fens], RECORD)
    assert first_fault(records) == (-1, 0)


FAULTS = [
    ({"pieces_low": 0}, "pieces"),
    ({"occupied": 2**64 - 1}, "pieces"),
    ({"pieces_low": 2**64 - 1}, "pieces"),
    ({"pieces_low": int(START["pieces_low"]) & ~15}, "pieces"),  # a pawn on a1
    ({"flags": 32}, "castling"),
    ({"ep": 65}, "en-passant"),
    ({"ep": 20}, "en-passant"),
    ({"ep": 44}, "en-passant"),
    ({"result": 3}, "result"),
    ({"result": -2}, "result"),
    ({"score": 32_701}, "score"),
    ({"score": -32_701}, "score"),
]


@pytest.mark.parametrize(("change", "named"), FAULTS)
def test_a_fault_is_told_with_its_place(change: dict[str, int], named: str) -> None:
    records = np.array([START] * 3, RECORD)
    records["score"][0] = NO_SCORE
    records["game"] = [11, 12, 13]
    for field, value in change.items():
        records[1][field] = value
    with pytest.raises(
        UserError, match=f"set.npy: the position after ply 0 of game 12 is damaged: .*{named}"
    ) as error:
        check(records, Path("set.npy"))
    assert "\n" not in str(error.value)


def test_the_side_to_move_cannot_take_the_king() -> None:
    """Kernels that make such a move look for a king that isn't there."""
    records = np.array([from_fen("4k3/4R3/8/8/8/8/8/4K3 b - - 0 1")], RECORD)
    check(records, Path("set.npy"))
    records["flags"] = 0
    with pytest.raises(UserError, match="the side to move could take the king"):
        check(records, Path("set.npy"))


def test_castling_rights_need_king_and_rook_at_home() -> None:
    record = from_fen("4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1")
    for flags, sound in ((1 << 1, True), (1 << 3, True), (1 << 2, False), (1 << 4, False)):
        records = np.array([record], RECORD)
        records["flags"] = flags
        assert (first_fault(records)[0] == -1) is sound


def test_of_any_damaged_record_it_finds_what_the_plain_twin_finds() -> None:
    """One to three bits turned in positions of games."""
    rng = np.random.default_rng(4)
    sound = np.array([from_fen(fen) for fen in random_games(10)], RECORD)
    records = sound[rng.integers(len(sound), size=20_000)]
    raw = records.view(np.uint8).reshape(len(records), -1)
    for damage in range(3):
        some = np.flatnonzero(rng.random(len(raw)) < (1.0, 0.4, 0.2)[damage])
        bits = rng.integers(8 * 30, size=len(some))  # up to the score
        np.bitwise_xor.at(raw, (some, bits // 8), (1 << bits % 8).astype(np.uint8))
    kinds = np.array([fault(record) for record in records])
    assert (np.bincount(kinds, minlength=6) > 100).all()
    for i, kind in enumerate(kinds):
        assert first_fault(records[i : i + 1])[1] == kind
    assert first_fault(records[kinds == 0]) == (-1, 0)
    place = int(np.argmax(kinds > 0))
    assert first_fault(records) == (place, kinds[place])
