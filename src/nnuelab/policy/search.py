"""A small search that a policy guides (PUCT, as in AlphaZero), and games with it; compiled code.

The tree is flat: nodes and edges in arrays. The positions of a path are made anew from the root,
which is cheaper than to keep them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, legal_moves, make
from nnuelab.chess.outcome import FIFTY_MOVES, MATE, ONGOING, outcome, repetitions
from nnuelab.chess.position import POSITION
from nnuelab.data.draws import uniform
from nnuelab.data.records import NO_SCORE, RECORD, pack
from nnuelab.jit import at, inline, jit
from nnuelab.policy.choice import without_underpromotions
from nnuelab.policy.games import LIMIT, points
from nnuelab.policy.inference import hidden, move_logits, value

SEARCH = np.dtype(
    [
        ("simulations", "i8"),
        ("exploration", "f8"),  # c of PUCT
        ("unvisited", "f8"),  # how much worse than its parent an unvisited move is taken to be
        ("concentration", "f8"),  # of Dirichlet's noise at the root
        ("noise", "f8"),  # its share there
        ("discount", "f8"),  # of values, for each half-move
        ("drawn_plies", "i8"),  # first ones whose moves are drawn by visits
        ("random_plies", "i8"),  # at most so many random ones come before
        ("max_plies", "i8"),
        ("material_share", "f8"),  # of a win that material can be worth in a draw by length
        ("material_scale", "f8"),  # points that are worth 76 % of that
    ]
)

DEEPEST = 256  # half-moves of a path
LEAST_SPREAD = 0.02  # of means in a tree: less is noise


class Tree(NamedTuple):
    """Memory of a search: of nodes, then of edges, then of one path."""

    first: np.ndarray  # int64 [nodes]: edge
    n_edges: np.ndarray  # int64; 0: the game is over there
    visits: np.ndarray  # int64
    values: np.ndarray  # float64: of the node itself, for its player to move
    moves: np.ndarray  # int64 [edges]
    priors: np.ndarray  # float32
    n: np.ndarray  # int64
    totals: np.ndarray  # float64: of values for the player who chooses
    children: np.ndarray  # int64: node, -1 for none yet
    path: np.ndarray  # int64 [DEEPEST]: edges
    nodes: np.ndarray  # int64 [DEEPEST]: where they begin
    used: np.ndarray  # int64 [2]: nodes, edges
    bounds: np.ndarray  # float64 [2]: lowest and highest mean so far, for the player at the root


def tree(simulations: int) -> Tree:
    """Memory for a search."""
    nodes, edges = simulations + 2, (simulations + 2) * MAX_MOVES
    return Tree(
        first=np.zeros(nodes, np.int64),
        n_edges=np.zeros(nodes, np.int64),
        visits=np.zeros(nodes, np.int64),
        values=np.zeros(nodes),
        moves=np.zeros(edges, np.int64),
        priors=np.zeros(edges, np.float32),
        n=np.zeros(edges, np.int64),
        totals=np.zeros(edges),
        children=np.zeros(edges, np.int64),
        path=np.zeros(DEEPEST, np.int64),
        nodes=np.zeros(DEEPEST, np.int64),
        used=np.zeros(2, np.int64),
        bounds=np.zeros(2),
    )


@jit
def _expand(policy, tree, positions, keys, ply, is_root, moves, logits):
    """Adds the node of positions[ply]; returns it, its value is in ``tree.values``."""
    node, first = tree.used[0], tree.used[1]
    tree.used[0] += 1
    position = positions[at(ply)]
    n = legal_moves(position, moves)
    end = outcome(positions, keys, ply, n)
    tree.first[at(node)], tree.visits[at(node)] = first, 0
    if not is_root and (end != ONGOING or repetitions(keys, ply, position) > 0):
        # A position that comes back is as good as a draw: one who can do better needn't go there.
        tree.n_edges[at(node)] = 0
        tree.values[at(node)] = -1.0 if end == MATE else 0.0
        return node
    n = without_underpromotions(moves, n)
    hidden(policy, position)
    move_logits(policy, position, moves, n, logits)
    highest, total = logits[0], 0.0
    for i in range(1, n):
        highest = max(highest, logits[at(i)])
    for i in range(n):
        edge = first + i
        weight = np.exp(np.float64(logits[at(i)] - highest))
        total += weight
        tree.moves[at(edge)], tree.priors[at(edge)] = moves[at(i)], weight
        tree.n[at(edge)], tree.totals[at(edge)], tree.children[at(edge)] = 0, 0.0, -1
    for i in range(n):
        tree.priors[at(first + i)] /= np.float32(total)
    tree.n_edges[at(node)] = n
    tree.used[1] += n
    tree.values[at(node)] = value(policy)
    return node


@inline
def _select(search, tree, node):
    """The edge with the highest upper bound.

    Means count by how much they differ in this tree, as in MuZero: whoever is far ahead, or knows
    little yet, has values that are all nearly the same.
    """
    spread = max(tree.bounds[1] - tree.bounds[0], LEAST_SPREAD)
    first, best, chosen = tree.first[at(node)], -np.inf, np.int64(0)
    scale = search.exploration * spread * np.sqrt(np.float64(tree.visits[at(node)] + 1))
    unvisited = tree.values[at(node)] - search.unvisited * spread
    for edge in range(first, first + tree.n_edges[at(node)]):
        n = tree.n[at(edge)]
        mean = tree.totals[at(edge)] / n if n > 0 else unvisited
        bound = mean + scale * tree.priors[at(edge)] / (1 + n)
        if bound > best:
            best, chosen = bound, np.int64(edge)
    return chosen


@jit
def _simulate(policy, search, tree, positions, keys, ply, moves, logits):
    node, depth = np.int64(0), np.int64(0)
    while tree.n_edges[at(node)] > 0 and depth < DEEPEST - 1:
        edge = _select(search, tree, node)
        tree.path[at(depth)], tree.nodes[at(depth)] = edge, node
        make(positions[at(ply + depth)], positions[at(ply + depth + 1)], tree.moves[at(edge)])
        depth += 1
        keys[at(ply + depth)] = positions[at(ply + depth)].key
        node = tree.children[at(edge)]
        if node < 0:
            node = _expand(policy, tree, positions, keys, ply + depth, False, moves, logits)
            tree.children[at(edge)] = node
            break
    found = tree.values[at(node)]
    while depth > 0:
        depth -= 1
        found = -found * search.discount
        edge = tree.path[at(depth)]
        tree.n[at(edge)] += 1
        tree.totals[at(edge)] += found
        mean = tree.totals[at(edge)] / tree.n[at(edge)]
        mean = -mean if depth & 1 else mean
        tree.bounds[0], tree.bounds[1] = min(tree.bounds[0], mean), max(tree.bounds[1], mean)
        tree.visits[at(tree.nodes[at(depth)])] += 1


@jit
def _gamma(shape, state):
    """A draw of the gamma distribution (Marsaglia and Tsang, 2000)."""
    d = shape + 1 - 1 / 3  # for shape + 1, and brought down by a power below
    c = 1 / np.sqrt(9 * d)
    while True:
        radius = np.sqrt(-2 * np.log(1 - uniform(state)))
        x = radius * np.cos(2 * np.pi * uniform(state))
        v = (1 + c * x) ** 3
        if v > 0 and np.log(1 - uniform(state)) < x * x / 2 + d * (1 - v + np.log(v)):
            return d * v * (1 - uniform(state)) ** (1 / shape)


@jit
def _add_noise(search, tree, state):
    n, total = tree.n_edges[0], 0.0
    drawn = np.empty(n)
    for i in range(n):
        drawn[at(i)] = _gamma(search.concentration, state)
        total += drawn[at(i)]
    for i in range(n):
        share = drawn[at(i)] / max(total, 1e-300)
        prior = tree.priors[at(i)]
        tree.priors[at(i)] = (1 - search.noise) * prior + search.noise * share


@jit
def think(policy, search, tree, positions, keys, ply, state, moves, logits):
    """Searches from positions[ply], where the game goes on; what it found is in the edges 0..n.

    Parameters
    ----------
    policy : POLICY record
    search : SEARCH record
    tree : Tree
    positions, keys : POSITION, uint64 [more than ply + DEEPEST]
        Filled up to ply; overwritten behind it.
    state : uint64 [1], updated
        For the noise.
    moves, logits : int64, float32 [MAX_MOVES], scratch

    Returns
    -------
    float
        The mean value for the player to move.
    """
    tree.used[:] = 0
    _expand(policy, tree, positions, keys, ply, True, moves, logits)
    tree.bounds[:] = tree.values[0]
    if search.noise > 0:
        _add_noise(search, tree, state)
    for _ in range(search.simulations):
        _simulate(policy, search, tree, positions, keys, ply, moves, logits)
    total = 0.0
    for edge in range(tree.n_edges[0]):
        total += tree.totals[at(edge)]
    return total / search.simulations


@jit
def chosen(tree, drawn, state):
    """The edge of the move to play: the most visited, or one drawn by visits."""
    n, best = tree.n_edges[0], np.int64(0)
    for edge in range(n):
        if tree.n[at(edge)] > tree.n[at(best)]:
            best = np.int64(edge)
    if drawn:
        left = uniform(state) * tree.visits[0]
        for edge in range(n):
            left -= tree.n[at(edge)]
            if left < 0:
                return np.int64(edge)
    return best


@jit
def play(policy, search, tree, positions, keys, state, records, legal, visits, values):
    """Plays a game of a policy with itself, from positions[0].

    Parameters
    ----------
    positions, keys : POSITION, uint64 [max_plies + DEEPEST + 2], written
    records : RECORD [max_plies], written
        But for the results.
    legal : uint16 [max_plies], written
        Number of moves that were searched.
    visits : uint16 [max_plies * MAX_MOVES], written
        Of these moves, one position after another, in the order of the move generator.
    values : float32 [max_plies], written
        Of the search, for the player to move.

    Returns
    -------
    int, int, int, float
        Half-moves in the records, those before that were random, what ended the game, and its
        result for White, -1..1.
    """
    moves, logits = np.empty(MAX_MOVES, np.int64), np.empty(MAX_MOVES, np.float32)
    n_random = np.int64(uniform(state) * (search.random_plies + 1))
    ply, n_visits, end = np.int64(0), np.int64(0), np.int64(ONGOING)
    while True:
        position = positions[at(ply)]
        n = legal_moves(position, moves)
        end = np.int64(outcome(positions, keys, ply, n))
        if end == ONGOING and ply >= search.max_plies:
            end = np.int64(LIMIT)
        if end != ONGOING:
            break
        if ply < n_random:
            move = moves[at(np.int64(uniform(state) * without_underpromotions(moves, n)))]
        else:
            k = ply - n_random
            found = think(policy, search, tree, positions, keys, ply, state, moves, logits)
            edge = chosen(tree, ply < search.drawn_plies, state)
            move = tree.moves[at(edge)]
            record = records[at(k)]
            pack(position, record)
            record.move, record.ply, record.score = move, ply, NO_SCORE
            legal[at(k)] = tree.n_edges[0]
            for i in range(tree.n_edges[0]):
                visits[at(n_visits + i)] = tree.n[at(i)]
            n_visits += tree.n_edges[0]
            values[at(k)] = found
        make(positions[at(ply)], positions[at(ply + 1)], move)
        ply += 1
        keys[at(ply)] = positions[at(ply)].key
    last = positions[at(ply)]
    result = 0.0
    if end == MATE:
        result = 1.0 if last.turn else -1.0
    elif end in (LIMIT, FIFTY_MOVES):
        ahead = points(last, np.int64(0)) - points(last, np.int64(1))
        result = search.material_share * np.tanh(ahead / search.material_scale)
    n_random = min(n_random, ply)
    return ply - n_random, n_random, end, result


def memory(max_plies: int) -> tuple[np.ndarray, ...]:
    """positions, keys, records, legal, visits, values for `play`."""
    n = max_plies + DEEPEST + 2
    return (
        np.zeros(n, POSITION),
        np.zeros(n, np.uint64),
        np.zeros(max_plies, RECORD),
        np.zeros(max_plies, np.uint16),
        np.zeros(max_plies * MAX_MOVES, np.uint16),
        np.zeros(max_plies, np.float32),
    )
