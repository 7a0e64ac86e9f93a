"""Random draws by hashes: functions of names, numbers and a seed, without a generator."""

import numpy as np

from nnuelab.jit import inline, jit

STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: from one word to the next


@inline
def splitmix64(word):  # type: ignore[no-untyped-def]
    """Mix a 64-bit word, so that neighbouring ones give unrelated ones.

    The finalizer of Steele, Lea and Flood (2014), without the step before it.

    Parameters
    ----------
    word : uint64, or an ndarray of it outside of jitted code (``splitmix64.py_func``)

    Returns
    -------
    uint64, or ndarray of uint64
    """
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inline
def uniform(state):
    """The next number of a generator (uint64 [1], updated) in 0..1, 1 excluded."""
    state[0] += STEP
    return np.float64(splitmix64(state[0]) >> np.uint64(11)) / (1 << 53)


def seed_of(seed: int, *numbers: int) -> np.uint64:
    """The first state of a generator: unrelated ones for different numbers."""
    found = np.uint64(seed)
    with np.errstate(over="ignore"):
        for number in numbers:
            found = splitmix64.py_func(found + (np.uint64(number) + np.uint64(1)) * STEP)
    return found


@jit
def per_game(records, kept, hashes, wanted, seed):
    """Keeps ``wanted`` positions of each game, drawn uniformly from those kept so far.

    Each position gets a number from its ply, the moves of its game, and the seed; the smallest ones
    stay. So a draw depends neither on other games nor on the number of this one.

    Parameters
    ----------
    records : RECORD [n]
        Those of one game together.
    kept : bool [n], changed
    hashes : uint64
        Of the moves of the games, in the order of the records.
    wanted : int64
    seed : uint64
    """
    numbers = np.empty(len(records), np.uint64)
    begin = game = 0
    while begin < len(records):
        end = begin
        count = 0
        while end < len(records) and records[end].game == records[begin].game:
            if kept[end]:
                numbers[begin + count] = _number(hashes[game] ^ seed, np.uint64(records[end].ply))
                count += 1
            end += 1
        if count > wanted:
            limit = np.sort(numbers[begin : begin + count])[wanted - 1]
            for i in range(begin, end):
                number = _number(hashes[game] ^ seed, np.uint64(records[i].ply))
                kept[i] &= number <= limit
        begin = end
        game += 1


@inline
def _number(hash_of_game, ply):
    """Another number for every ply of a game."""
    return splitmix64(hash_of_game + (ply + np.uint64(1)) * STEP)
