"""One spelling of a net's name in each place: text comes back as it was, and so do folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab import params
from nnuelab.names import NetName, changes_of, variant_of

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = st.sampled_from(["ALL", "H", "KB(16)", "TOPK(512,lists/a-b.csv)", "PHASE(4,KB(16))"])
SETS = st.recursive(
    BLOCKS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+*"), inner).map("".join),
        inner.map(lambda text: f"PHASE(4,{text})"),
    ),
    max_leaves=4,
)
POINTS = st.dictionaries(
    st.sampled_from(["l1", "learning_rate", "games_share", "scheme"]),
    st.one_of(st.integers(1, 9999), st.floats(1e-9, 1), st.sampled_from(["fine", "one-cycle"])),
    min_size=1,
)
VARIANTS = st.one_of(
    st.just(""), st.from_regex(r"[a-z][a-z0-9_]*", fullmatch=True), POINTS.map(variant_of)
)
NAMES = st.builds(NetName, SETS, VARIANTS, st.none() | st.integers(0, 10**6))


@given(NAMES)
def test_a_name_comes_back_from_its_text(name):
    assert NetName.parse(str(name)) == name
    assert NetName.parse(name.entry) == NetName(name.feature_set, name.variant)


@given(st.text(alphabet="AB(),#01+ x\n") | st.text())
def test_any_text_comes_back_as_it_was(text):
    assert str(NetName.parse(text)) == text


@given(NAMES)
def test_a_name_comes_back_from_its_folder_and_its_net(name):
    seeded = name.with_seed(name.seed or 1)
    found = NetName.of_folder(Path("results/nets") / seeded.folder, name.feature_set)
    assert found == seeded
    assert found.folder == seeded.folder


@given(st.dictionaries(st.sampled_from(["l1", "l2", "scheme"]), st.integers(0, 99).map(str)))
def test_settings_come_back_from_a_point_of_a_grid(changes):
    assert changes_of(variant_of(changes)) == changes


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("H+V#2", NetName("H+V", seed=2)),
        ("TOPK(512,pairs.csv)", NetName("TOPK(512,pairs.csv)")),
        ("TOPK(512,pairs.csv),l1-64,l2-8#10", NetName("TOPK(512,pairs.csv)", "l1-64,l2-8", 10)),
        ("stockfish", NetName("stockfish")),
        ("stockfish#old", NetName("stockfish#old")),
        ("ALL#01", NetName("ALL#01")),
        ("ALL,", NetName("ALL,")),
        ("#1", NetName("#1")),
    ],
)
def test_what_a_name_says(text, name):
    assert NetName.parse(text) == name


def test_nets_of_the_experiments_lie_apart():
    settings = params.read(ROOT / "params.yaml")
    entries = {e.name: e for plan in params.plans(settings).values() for e in plan.entries}
    meant: dict[str, set] = {}
    for name, entry in entries.items():
        meant.setdefault(entry.folder, set()).add((name.feature_set, entry.train, entry.quantize))
    assert all(len(trainings) == 1 for trainings in meant.values())
