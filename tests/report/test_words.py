"""What the page says of a table in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.report import sets, table, words
from nnuelab.report.results import Experiment, Results
from nnuelab.tournament.yardsticks import DEEP, NODES


def row(name, elo, games="", error="", loss="", time="", p=""):
    empty = dict.fromkeys(table.COLUMNS, "")
    return empty | {
        "feature_set": name,
        "elo": elo,
        "elo_error_games": games,
        "elo_error": error,
        "p_adjusted": p,
        "val_loss_mean": loss,
        "elo_time": time,
    }


@pytest.mark.parametrize(
    ("games_error", "error", "p", "verdict", "said"),
    [
        ("10.0", "20.0", "0.0100", "stronger", "p = 0.010, all sets taken together"),
        ("10.0", "20.0", "0.0500", "undecided", "among all these sets it isn't (p = 0.050)"),
        ("10.0", "40.0", "0.3000", "undecided", "new trainings could turn it round"),
        ("10.0", "", "", "undecided", "nothing is known about new trainings"),
        ("40.0", "50.0", "0.6000", "undecided", "less than its error"),
    ],
)
def test_a_verdict_follows_the_adjusted_p(games_error, error, p, verdict, said):
    for sign, word in (("", verdict), ("-", verdict.replace("stronger", "weaker"))):
        found = row("H", f"{sign}30.0", games_error, error, p=p)
        assert words.verdict(found, "ALL") == word
        assert said in words.why(found, "ALL")


@given(st.lists(st.tuples(st.floats(-500, 500), st.floats(0, 1)), min_size=1, max_size=4))
def test_an_answer_names_nobody_stronger_than_it_can_tell(found):
    rows = [
        row(f"S{i}", f"{elo:.1f}", "5.0", "9.0", p=f"{p:.4f}") for i, (elo, p) in enumerate(found)
    ]
    said = words.answer([*rows, row("ALL", "0.0", "0.0", "0.0")], "ALL")
    head, _, rest = said.partition(" stronger than ALL")
    for each in rows:
        verdict = words.verdict(each, "ALL")
        name = each["feature_set"]
        assert (name in head) == (verdict == "stronger")
        assert (name in rest) == (verdict != "stronger")
    assert ("none" in head) == (not any(name in head for name in ("S0", "S1", "S2", "S3")))


def test_an_answer_counts_where_names_are_too_many():
    rows = [row(f"S{i}", "-50.0", "5.0", "9.0", p="0.001") for i in range(6)]
    said = words.answer([*rows, row("ALL", "0.0")], "ALL")
    assert said == "At fixed nodes none is stronger than ALL (weaker: 6)."


def test_both_yardsticks_are_answered_and_told_together_where_they_agree():
    rows = [row("ALL", "0.0", time="0.0"), row("H", "30.0", "5.0", "9.0", p="0.001", time="30.0")]
    assert words.answer(rows, "ALL") == (
        "At fixed nodes H is stronger than ALL; "
        "at fixed time none is stronger than ALL (undecided: H)."
    )
    rows[1] |= {"p_time_adjusted": "0.001"}
    assert words.answer(rows, "ALL") == "At fixed nodes and at fixed time H is stronger than ALL."


def test_the_answer_is_of_what_the_hypothesis_is_of():
    rows = [row("ALL", "0.0"), row("H", "30.0", "5.0", "9.0", p="0.001")]
    for column in ("elo_cost", "elo_deep_cost"):
        rows[0][column], rows[1][column] = "0.0", "-9.0"
    rows[1]["p_deep_cost_adjusted"] = "0.001"
    asked = {"set": "H", "is": "weaker", "within": None, "column": "elo_deep_cost"}
    head = "At fixed nodes H is stronger than ALL; at equal cost"
    assert words.answer(rows, "ALL") == f"{head} none is stronger than ALL (undecided: H)."
    said = words.answer(rows, "ALL", asked, 5000)
    assert said == f"{head}, 5,000 nodes none is stronger than ALL (weaker: H)."
    asked = {**asked, "column": "elo"}
    assert words.answer(rows, "ALL", asked).startswith(f"{head} none")


def test_what_a_hypothesis_has_answered_is_not_undecided():
    rows = [row("ALL", "0.0"), row("H", "3.0", "2.0", "2.0", p="0.5"), row("V", "5.0", p="0.4")]
    asked = {"set": "H", "is": "stronger", "within": None, "column": "elo"}
    assert words.answer(rows, "ALL", asked).endswith("(undecided: V).")
    assert words.answer(rows, "ALL", asked | {"column": "elo_cost"}).endswith("(undecided: V, H).")


def test_a_set_has_the_price_of_a_node_that_it_makes_itself(tmp_path):
    """Not that of a smaller net; in all experiments; and the features of the table of all sets."""
    priced = {"ALL,l1-64": "0.8", "ALL,l1-256": "1.0", "H,l1-64": "0.9", "H,l1-256": "1.2"}
    rows = []
    for name, cost in priced.items():
        feature_set, variant = name.split(",")
        rows.append(row(feature_set, "0.0") | {"variant": variant, "cost_ratio": cost})
    counted = [
        {"feature_set": "H", "perspective": "both", "measured_ns": ns} for ns in ("1.00", "2.00")
    ]
    experiments = [Experiment("sizes", rows, "ALL,l1-256")]
    experiments += [
        Experiment(name, [row("ALL", "0.0"), row("H", "0.0") | {"cost_ratio": cost}], "ALL")
        for name, cost in (("one", "1.304"), ("two", "1.25"))
    ]
    found = Results(tmp_path, experiments, statistics=counted)
    facts = {view.title: dict(view.facts) for view in sets.views(found)}
    assert facts == {
        "ALL": {},
        "H": {
            "update of an accumulator (ns)": "2.00",
            "cost of a node (\u00d7 ALL)": "1.20 to 1.30",
        },
    }


def test_what_is_unknown_of_a_design_is_left_out():
    rows = [row("ALL", "0.0") | {"seeds": "4"}, row("H", "0.0") | {"seeds": "2"}]
    games = {NODES: 1200, DEEP: 34}
    assert words.design(rows, (0, 0), {}) == "2 rows, 2 to 4 trainings of each."
    assert words.design(rows[:1], (400, 5000), games) == (
        "1 row, 4 trainings of each, 400 nodes a move. "
        "Games: 1,200 at fixed nodes; 34 at 5,000 nodes."
    )


def test_nothing_rated_is_said():
    assert words.answer([row("ALL", "")], "ALL") == "No set has a rating yet."
