"""The block NAME: it means what it should, and has the properties of a feature set."""

from pathlib import Path

import pytest

from nnuelab import features
from nnuelab.chess import notation
from nnuelab.features import check

FILE = Path(__file__).with_name("FILE")


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setenv("NNUELAB_BLOCKS", str(FILE))


def test_a_position():
    found = features.parse("NAME")
    position = notation.from_fen("4k3/8/8/8/4P3/8/8/4K3 w - - 0 1")
    names = {found.feature_name(index) for index in check.extracted(found, position, 0)}
    assert names == {"own king on the rim", "enemy king on the rim", "own pawn on the centre"}


@pytest.mark.parametrize("holds", check.PROPERTIES.values(), ids=check.PROPERTIES)
def test_a_property(holds):
    holds(features.parse("NAME"), check.random_games(10, seed=1))
