"""What the draws of samples, parts, triplets and openings have in common."""

import numpy as np

from nnuelab.data.draws import STEP, splitmix64

# The first numbers of the published generator (Steele, Lea and Flood 2014) with the state 1234567.
PUBLISHED = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


def test_the_published_numbers_come_out_one_by_one_and_as_an_array() -> None:
    states = np.uint64(1234567) + STEP * np.arange(1, 6, dtype=np.uint64)
    assert [int(splitmix64(state)) for state in states] == PUBLISHED
    assert splitmix64.py_func(states).tolist() == PUBLISHED
