"""Groups of features, against the words that features are named by."""

from __future__ import annotations

import numpy as np
import pytest

from nnuelab.errors import UserError
from nnuelab.features import parse
from nnuelab.features.concepts import ROLE_NAMES
from nnuelab.features.groups import axes, chosen, groups
from tests import feature_sets

SETS = [
    "ALL+H+V",
    "KING*H",
    "ALL+MB+MC",
    "PHASE(2,ALL+PP)",
    "KB(4)",
    "PH*MC",
    "YACGE+TH",
    "PP_3WIDE",
]


@pytest.mark.parametrize("name", [n for n in SETS if n not in ("YACGE+TH", "PP_3WIDE")])
def test_a_feature_is_in_the_groups_of_the_roles_that_its_name_has(name: str) -> None:
    features = parse(name)
    found = groups(features, "role")
    rng = np.random.default_rng(1)
    for index in rng.choice(features.size, min(features.size, 300), replace=False):
        words = (
            features.feature_name(int(index)).replace("own king on", "").replace("pawns", "pawn")
        )
        for role in ROLE_NAMES[:5]:
            assert found[role][index] == (role in words or role + "s" in words), words


@pytest.mark.parametrize("name", [*SETS, *feature_sets.PRODUCTS])
def test_terms_part_the_features_and_a_product_of_axes_is_an_intersection(name: str) -> None:
    features = parse(name)
    terms = groups(features, "term")
    assert (np.sum([*terms.values()], axis=0) == 1).all()
    assert [members.sum() for members in terms.values()] == [t.size for t in features.terms]
    for axis in axes(features):
        alone, together = groups(features, axis), groups(features, f"term*{axis}")
        assert all(members.any() for members in [*alone.values(), *together.values()])
        for term, there in terms.items():
            for value, members in alone.items():
                name = f"{term}, {value}"
                assert (together.get(name, np.zeros_like(there)) == (there & members)).all()


def test_files_of_squares_are_those_of_files() -> None:
    features = parse("ALL+MB")
    for file, members in groups(features, "file").items():
        for index in range(features.size):
            where = features.feature_name(index).split()[-1]
            assert members[index] == (where[0] == file[-1])


def test_pairs_are_grouped_by_the_distance_of_their_files() -> None:
    features = parse("ALL+PP+FULL_THREATS(16)")
    found = groups(features, "term*files apart")
    assert not any(name.startswith("ALL") for name in found)
    for name, members in found.items():
        for index in np.random.default_rng(1).choice(np.flatnonzero(members), 20):
            words = features.feature_name(int(index)).split(" (")[0].split()
            a, b = (ord(word[0]) for word in words if len(word) == 2 and word[1].isdigit())
            assert name.endswith(f" {abs(a - b)} files apart"), words


def test_unknown_groups_are_errors() -> None:
    features = parse("ALL+H")
    with pytest.raises(UserError, match="only by term, role, color, file, rank"):
        groups(features, "squares")
    with pytest.raises(UserError, match="did you mean H, knight"):
        chosen(features, "term*role", ["H, knigt"])
    assert chosen(features, "term*role", ["H, knight", "H, king"]).sum() == 32
