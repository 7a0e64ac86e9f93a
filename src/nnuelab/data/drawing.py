"""Some positions of each game, drawn by its moves and a seed."""

import numpy as np

from nnuelab.data.mixing import STEP, splitmix64
from nnuelab.jit import inline, jit


@jit
def draw(records, kept, hashes, wanted, seed):
    """Leaves ``wanted`` positions of each game, drawn uniformly of those that are kept so far.

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
