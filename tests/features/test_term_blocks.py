"""Blocks of classical evaluation terms, against python-chess and by hand."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab import sources
from nnuelab.chess import notation
from nnuelab.features import Block, check, fingerprint, parse, registry
from nnuelab.features.kinds.computed import Computed
from tests.features.boards import of_games, strewn
from tests.naive import terms as naive


def built_in() -> list[Block]:
    return [block for block in registry.load().values() if isinstance(block, Computed)]


ALL = parse("+".join(naive.BLOCKS))


def compared(board: chess.Board) -> None:
    """Compares all blocks with their twins, for both perspectives."""
    position = notation.from_fen(board.fen())
    for perspective, color in enumerate((chess.WHITE, chess.BLACK)):
        found = np.array(check.extracted(ALL, position, perspective))
        for block, start in zip(ALL.blocks, ALL.offsets, strict=True):
            own = found[(found >= start) & (found < start + block.size)] - start
            values = [block.values(index) for index in own]
            assert values == naive.block(block.name, board, color), (board.fen(), block.name, color)


def test_every_block_that_is_a_function_has_a_twin():
    assert {block.name for block in built_in()} <= set(naive.BLOCKS)


@pytest.mark.parametrize("name", naive.BLOCKS)
def test_a_block_has_the_concepts_of_its_twin(name):
    block = parse(name).blocks[0]
    assert tuple(concept.size for concept in block.concepts) == naive.BLOCKS[name][0]


def test_blocks_are_their_twins_in_games():
    for board in of_games(400)[::5]:
        compared(board)


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 10**9), men=st.integers(2, 20))
def test_blocks_are_their_twins_on_boards_that_no_game_has(seed, men):
    compared(strewn(seed, men))


def named(name: str, fen: str) -> list[str]:
    """What White sees."""
    features = parse(name)
    found = check.extracted(features, notation.from_fen(fen), 0)
    return [features.feature_name(index) for index in found]


@pytest.mark.parametrize(
    ("name", "fen", "said"),
    [
        ("DOUBLED", "4k3/8/8/8/4P3/4P3/8/4K3 w - - 0 1", ["DOUBLED: rank 3, file e"]),
        ("BACKWARD", "4k3/8/3p4/8/3P4/4P3/8/4K3 w - - 0 1", []),
        ("BACKWARD", "4k3/8/8/5p2/3P4/4P3/8/4K3 w - - 0 1", ["BACKWARD: rank 3, file e"]),
        ("PASSED", "4k3/8/8/3p4/3P2P1/8/8/4K3 w - - 0 1", ["PASSED: rank 4, file g"]),
        (
            "PASSED_WAY",
            "4k3/8/6n1/6P1/8/8/8/4K3 w - - 0 1",
            ["PASSED_WAY: taken by an enemy piece, rank 5, file g"],
        ),
        (
            "MOBILITY",
            "4k3/8/8/2p5/8/1P6/3N4/4K3 w - - 0 1",
            # b1, c4, e4, f1, f3: not b3, where a pawn of its own stands, nor what c5 attacks
            ["MOBILITY: knight, 5 squares, d2"],
        ),
        ("SEVENTH", "8/1R6/4k3/8/8/8/8/4K3 w - - 0 1", []),
        ("SEVENTH", "4k3/1R6/8/8/8/8/8/4K3 w - - 0 1", ["SEVENTH: rook, file b"]),
        (
            "SHELTER",
            "4k3/8/8/8/8/7P/6P1/7K w - - 0 1",
            [
                "SHELTER: the king's file, rank 3, file h",
                "SHELTER: a file beside the king's, rank 2, file g",
                "SHELTER: a file beside the king's, no pawn, file f",
            ],
        ),
        ("TEMPO", "4k3/8/8/8/8/8/8/4K3 b - - 0 1", []),
    ],
)
def test_blocks_by_hand(name, fen, said):
    assert named(name, fen) == said


def test_what_is_not_possible_has_no_weight():
    mobility = parse("MOBILITY").blocks[0]
    alive = mobility.alive().reshape(4, 28, 64).all(axis=2)
    assert alive.sum(axis=1).tolist() == [9, 14, 15, 28]
    assert (alive == mobility.alive().reshape(4, 28, 64).any(axis=2)).all()


def test_a_kernel_can_be_loaded_wherever_the_package_lies():
    """Its module is named in it: by a name that any process can import."""
    for block in built_in():
        module = block.function.__module__
        assert Path(inspect.getfile(importlib.import_module(module))) == block.file


def test_a_code_hash_has_the_files_of_what_a_function_calls(monkeypatch):
    edited, digest = sources.file_of("nnuelab.chess.control"), sources.digest
    names = ("HANGING", "SHELTER", "MOBILITY", "DOUBLED", "TEMPO", "ALL")
    before = {name: fingerprint.code(parse(name)) for name in names}
    monkeypatch.setattr(sources, "digest", lambda file: digest(file) + b"!" * (file == edited))
    after = {name: fingerprint.code(parse(name)) for name in names}
    assert [name for name in names if before[name] != after[name]] == ["HANGING", "MOBILITY"]
