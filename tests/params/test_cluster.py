"""Draws of slow and lost nodes, against what is known of them."""

from __future__ import annotations

import pytest

from nnuelab.params import bill, cluster
from nnuelab.params.cluster import Cluster, hours
from nnuelab.params.jobs import Job

HOUR = 3600.0
JOBS = [
    Job("data", "sample", "", 8 * HOUR, None, reads=HOUR),
    *(Job("nets", "train", "", HOUR * n, 1, reads=HOUR) for n in (1, 2, 3)),
    Job("nets", "quantize", "", HOUR),
]


@pytest.mark.parametrize(
    ("nodes", "cores", "data", "nets"),
    [(1, 1, 8, 6 + 1), (1, 2, 4, 3 + 1), (2, 1, 8, 3 + 1), (9, 8, 1, 3 + 1)],
)
def test_a_rule_waits_for_the_one_before_and_longest_jobs_begin(nodes, cores, data, nets):
    found = hours(JOBS, Cluster(nodes, cores), draws=3)
    assert found == {
        "data": pytest.approx((data,) * 3),
        "nets": pytest.approx((nets,) * 3),
        "total": pytest.approx((data + nets,) * 3),
    }


def test_slow_nodes_take_twice_as_long():
    assert hours(JOBS, Cluster(5, 2, slow=1.0))["nets"] == pytest.approx((4, 8, 8))
    _, median, most = hours(JOBS, Cluster(100, 8, slow=0.1), draws=500)["data"]
    assert (median, most) == pytest.approx((1, 2))  # a tenth of the draws has a slow node


def test_a_cluster_of_any_size_takes_no_more_than_its_jobs():
    found = hours(JOBS, Cluster(100_000, bill.MOST_CORES), draws=3)
    assert found["nets"] == pytest.approx((4, 4, 4))


def test_a_store_that_is_slow_is_waited_for():
    found = hours(JOBS, Cluster(9, 8, store=0.5))  # MB a second, where each job reads 3,600
    assert found["data"][0] == pytest.approx(2)
    assert found["nets"][0] == pytest.approx(6 + 1)


def test_losses_cost_what_was_not_kept_and_the_time_in_the_queue():
    day = [Job("nets", "train", "", 24 * HOUR)]
    losses = 50.0
    _, median, most = hours(day, Cluster(1, 1, losses=losses), draws=1000)["nets"]
    each = (cluster.REQUEUE + cluster.LOST / 2) / HOUR
    assert median == pytest.approx(24 + losses * each, rel=0.01)
    assert most == pytest.approx(24 + losses * each + 1.64 * each * losses**0.5, rel=0.02)


def test_the_seed_decides():
    some = Cluster(20, 4, slow=0.3, losses=1.0)
    assert hours(JOBS, some, seed=3) == hours(JOBS, some, seed=3)
    assert hours(JOBS, some, seed=3) != hours(JOBS, some, seed=4)
