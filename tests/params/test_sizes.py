"""First layers by cost, `l1: auto`: which nets are planned, and what can't be."""

from __future__ import annotations

import pytest

from nnuelab import params


def mistakes(settings):
    with pytest.raises(params.ParamsError) as caught:
        params.validate(settings)
    return caught.value.mistakes


def test_sets_get_a_size_by_the_cost_of_the_anchor(settings):
    """All but the anchor's own, which would be the anchor once more."""
    grid = {"l1": [192, "auto"], "l2": [8, 16]}
    change = {"feature_sets": ["ALL", "H+V"], "grid": grid, "anchor": "ALL,l1-192,l2-8"}
    settings["experiments"]["baseline"] |= change
    plan = params.plans(params.validate(settings))["baseline"]
    given, sized = [e for e in plan.entries if not e.like], [e for e in plan.entries if e.like]
    assert len(given) == 4
    assert [str(entry.name) for entry in sized] == [
        "ALL,l1-auto,l2-16",
        "H+V,l1-auto,l2-8",
        "H+V,l1-auto,l2-16",
    ]
    assert all(not entry.probes for entry in given)
    for entry in sized:
        anchor, *own = entry.probes
        assert (anchor.feature_set, anchor.train.l1, anchor.train.l2) == ("ALL", 192, 8)
        assert [probe.train.l1 for probe in own] == [48, 96, 192, 384]
        assert {(p.feature_set, p.train.l2) for p in own} == {(entry.feature_set, entry.train.l2)}
    folders = {net.folder for entry in plan.entries for net in (entry, *entry.probes)}
    assert len(folders) == len(plan.entries) + 1 + 3 * 4


def test_a_size_by_another_anchor_is_another_meaning(settings):
    change = {"variants": {"small": {"l1": 64}, "fixed": {}, "sized": {"l1": "auto"}}}
    for name, anchor in (("axis", "ALL,fixed"), ("pairwise", "ALL,small")):
        settings["experiments"][name] |= {**change, "anchor": anchor}
    (line,) = mistakes(settings)
    assert "experiments.pairwise.variants.sized: means other settings than in" in line


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"variants": {"sized": {"l1": "atuo"}}}, "pqr.variants.sized.l1: input should be a valid"),
        ({"variants": {"sized": {"l1": 0}}}, "pqr.variants.sized.l1: input should be greater"),
        (
            {"anchor": "ALL,sized", "variants": {"sized": {"l1": "auto"}}},
            "experiments.pqr.anchor: ALL,sized has l1: auto",
        ),
        (
            {"variants": {"small": {"from": "scores", "l1": "auto"}}},
            "experiments.pqr: small: nets with l1: auto can neither begin with another one",
        ),
        (
            {"variants": {"pqr": {"l1": "auto"}, "tuned": {"from": "pqr"}}},
            "experiments.pqr: tuned: nets with l1: auto can neither begin with another one",
        ),
        (
            {"variants": {"sized": {"l1": "auto"}, "again": {"l1": "auto"}}},
            "pqr.variants.again: means the same settings as sized",
        ),
    ],
)
def test_sizes_that_make_no_sense_are_one_line_each(settings, change, told):
    params.merge(settings, {"experiments": {"pqr": change}})
    (line,) = mistakes(settings)
    assert told in line


def test_a_mistake_in_a_list_of_sizes_has_its_place(settings):
    settings["experiments"]["baseline"]["grid"]["l1"] = ["auto", 256, 0]
    (line,) = mistakes(settings)
    assert line.startswith("experiments.baseline.grid.l1[2]: input should be greater")


def test_only_variants_have_sizes_by_cost(settings):
    settings["train"]["l1"] = "auto"
    (line,) = mistakes(settings)
    assert line.startswith("train.l1: input should be a valid integer")
