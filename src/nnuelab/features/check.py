"""The properties that every feature set must have, tried on random games.

``nnuelab features check`` and the tests run the same functions: those in :data:`PROPERTIES`.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import islice

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.moves import (
    CASTLING,
    EN_PASSANT,
    NO_MOVE,
    PROMOTION,
    kind,
    make_null,
)
from nnuelab.chess.position import EMPTY, NO_SQUARE, POSITION
from nnuelab.features.algebra import Block, FeatureSet, Product
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.kernels.lists import unpack
from nnuelab.features.legality import Seen
from nnuelab.features.tables import compiled

STARTS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",  # castling, everything
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",  # promotions
    "4k3/2p1p1p1/8/1P1P1P1P/1p1p1p1p/8/P1P1P1P1/4K3 w - - 0 1",  # en passant
    "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",  # castling, rooks that take rooks
)
MAX_PLIES = 120

PLACEMENT = np.dtype(
    [
        ("occupied", "<u8"),
        ("pieces_low", "<u8"),
        ("pieces_high", "<u8"),
        ("flags", "u1"),
        ("ep", "u1"),
    ]
)
"""The fields of a dataset record that ``kernels.batch`` reads."""


class PropertyFailed(Exception):
    """A property doesn't hold: the message names the position, the move and the features."""


@dataclass(frozen=True)
class Game:
    """Positions of a game; ``moves[i]`` leads from ``positions[i]`` to the next (0: null move)."""

    positions: list[np.void]
    moves: list[int]
    definitions: dict[Product, list[tuple[np.ndarray, ...]]] = field(default_factory=dict)

    @cached_property
    def seen(self) -> list[tuple[Seen, Seen]]:
        """The positions as White and as Black sees them."""
        return [(seen(position, 0), seen(position, 1)) for position in self.positions]

    def defined(self, features: FeatureSet, number: int, perspective: int) -> list[int]:
        """The same as :func:`defined` of a position; each term is only asked once."""
        found = []
        for offset, term in zip(features.offsets, features.terms, strict=True):
            if term not in self.definitions:
                self.definitions[term] = [
                    tuple(term.defined(view) for view in views) for views in self.seen
                ]
            found.append(offset + self.definitions[term][number][perspective])
        return np.concatenate(found).tolist()


def random_games(n: int, seed: int) -> list[Game]:
    """Games of random legal moves and a few null moves, from positions rich in special moves."""
    rng = random.Random(seed)
    return [_random_game(rng, STARTS[i % len(STARTS)]) for i in range(n)]


def _random_game(rng: random.Random, fen: str) -> Game:
    game = Game([notation.from_fen(fen)], [])
    while len(game.moves) < MAX_PLIES:
        position = game.positions[-1]
        legal = sorted(notation.moves_of(position))
        if not legal:
            break
        if not position["checkers"] and rng.random() < 0.05:
            move, new = NO_MOVE, np.zeros(1, POSITION)[0]
            make_null(position, new)
        else:
            # Special moves are rare among random ones: half of the time one is taken if there is.
            special = [m for m in legal if kind.py_func(m) >= CASTLING]
            move = rng.choice(special if special and rng.random() < 0.5 else legal)
            new = notation.after(position, move)
        game.moves.append(move)
        game.positions.append(new)
    return game


@cache
def crowded_positions() -> list[np.void]:
    """Positions with as many pieces of a kind as a FEN can hold, in order and strewn at random."""
    rng = random.Random(0)
    armies = [(role * 15, role * 15) for role in "PNBRQ"]
    armies += [(role * n, "") for role in "PNBRQ" for n in (8, 30)]
    mixed = ["".join(rng.choices("PNBRQ", k=15)) for _ in range(20)]
    armies += zip(mixed[::2], mixed[1::2], strict=True)
    found = []
    for own, enemy in armies:
        rows = ("K" + own)[:16].ljust(16), ("K" + enemy)[:16].ljust(16)
        ranks = range(8, 24) if "P" in own + enemy else range(16)
        pieces = list(zip(ranks, rows[0], strict=True))
        pieces += [
            (square ^ 56, piece.lower()) for square, piece in zip(ranks, rows[1], strict=True)
        ]
        boards = [dict(pieces)]
        for _ in range(20):
            men = "Kk" + own + enemy.lower()
            inner = rng.sample(range(8, 56), len(men))
            boards.append(dict(zip(inner, men, strict=True)))
        positions = filter(None, map(_position_of, boards))
        found += list(islice(positions, 2))
    return found


def _position_of(pieces: dict[int, str]) -> np.void | None:
    """A position with pieces by square, none where it is illegal for either side to move."""
    ranks = ["".join(pieces.get(8 * rank + file, " ") for file in range(8)) for rank in range(8)]
    text = re.sub(" +", lambda found: str(len(found[0])), "/".join(reversed(ranks)))
    for turn in "wb":
        with suppress(notation.FenError):
            return notation.from_fen(f"{text} {turn} - - 0 1")
    return None


def census(games: Iterable[Game]) -> dict[str, int]:
    """How many moves of each special kind the games hold."""
    kinds = [(kind.py_func(move), move) for game in games for move in game.moves]
    return {
        "moves": len(kinds),
        "castling": sum(k == CASTLING for k, _ in kinds),
        "en passant": sum(k == EN_PASSANT for k, _ in kinds),
        "promotions": sum(k >= PROMOTION for k, _ in kinds),
        "null moves": sum(move == NO_MOVE for _, move in kinds),
    }


# The obvious way ---------------------------------------------------------------------------------


def defined(features: FeatureSet, position: np.void, perspective: int) -> list[int]:
    """Active features by the definition of the blocks, ascending; slow, nothing compiled."""
    return features.defined(seen(position, perspective))


def seen(position: np.void, perspective: int) -> Seen:
    """A position as one player sees it."""
    flip = 56 * perspective
    board = position["board"][np.arange(64) ^ flip]
    board = np.where(board == EMPTY, board, board ^ perspective)
    pieces = {s: divmod(int(board[s]), 2) for s in np.flatnonzero(board != EMPTY).tolist()}
    turned = np.zeros(1, POSITION).view(np.recarray)[0]
    for name in POSITION.names or ():
        turned[name] = position[name]
    if perspective == 1:
        turned["roles"], turned["colors"] = turned["roles"].byteswap(), turned["colors"].byteswap()
        turned["colors"] = turned["colors"][::-1].copy()
        turned["checkers"], turned["pinned"] = (
            turned[name].byteswap() for name in ("checkers", "pinned")
        )
        turned["castling"] = turned["castling"] >> 2 | (turned["castling"] & 3) << 2
        turned["ep"] = turned["ep"] ^ flip if turned["ep"] != NO_SQUARE else NO_SQUARE
    turned["board"], turned["turn"] = board, position["turn"] ^ perspective
    return Seen(pieces, turned)


def extracted(features: FeatureSet, position: np.void, perspective: int) -> list[int]:
    """Active features by the kernel, ascending."""
    out = np.empty(features.max_active, np.int32)
    n = kernels.active(compiled(features).record, position, perspective, out)
    compiled(features).check()
    return sorted(out[:n].tolist())


def flipped(position: np.void) -> np.void:
    """The same position with the board turned over and the colours exchanged."""
    placement, turn, castling, *rest = notation.to_fen(position).split()
    placement = "/".join(reversed(placement.split("/"))).swapcase()
    ep = rest[0] if rest[0] == "-" else rest[0][0] + str(9 - int(rest[0][1]))
    turn = "b" if turn == "w" else "w"
    castling = "".join(sorted(castling.swapcase()))
    return notation.from_fen(" ".join([placement, turn, castling, ep, *rest[1:]]))


def pack(positions: list[np.void]) -> np.ndarray:
    """PLACEMENT[n] of positions, packed in plain Python."""
    records = np.zeros(len(positions), PLACEMENT)
    for record, position in zip(records, positions, strict=True):
        squares = np.flatnonzero(position["board"] != EMPTY).tolist()
        nibbles = sum(int(position["board"][s]) << (4 * i) for i, s in enumerate(squares))
        record["occupied"] = sum(1 << square for square in squares)
        record["pieces_low"], record["pieces_high"] = nibbles % (1 << 64), nibbles >> 64
        record["flags"] = position["turn"] | position["castling"] << 1
        record["ep"] = position["ep"]
    return records


# The properties ----------------------------------------------------------------------------------

Property = Callable[[FeatureSet, list[Game]], None]
PROPERTIES: dict[str, Property] = {}
FOUNDATIONS = ("indices and bounds", "extraction = definition")
"""Where one of these fails, those behind it would blame something else."""

AT_ONCE = 1 << 26  # features, in lists as long as they can get: 256 MB


def _property(name: str) -> Callable[[Property], Property]:
    def register(function: Property) -> Property:
        PROPERTIES[name] = function
        return function

    return register


@_property("names are unique")
def names_are_unique(features: FeatureSet, games: list[Game]) -> None:
    """No two features of a block have one name, so neither have those of a product.

    Terms of a sum may say the same: in ALL+KING two features are ``own king on e1``.
    """
    for block in _named(features):
        owner: dict[str, int] = {}
        for index in range(block.size):
            other = owner.setdefault(block.feature_name(index), index)
            if other != index:
                name = block.feature_name(index)
                raise PropertyFailed(
                    f"features {other} and {index} of {block.name} are both {name!r}"
                )


def _named(features: FeatureSet) -> Iterator[Block]:
    """The blocks that names come from: those of phases and sums, not these themselves."""
    for block in features.blocks:
        if block.parts is None:
            yield block
        else:
            yield from _named(block.parts)


@_property("indices and bounds")
def indices_and_bounds(features: FeatureSet, games: list[Game]) -> None:
    """Indices are within the size and there once, none is dead, and the bound holds.

    Also where no game gets to: on boards full of queens, of knights, of whatever one can set up.
    """
    alive = features.alive()
    for game in [*games, Game(crowded_positions(), [])]:
        for number, position in enumerate(game.positions):
            for perspective in range(2):
                found = game.defined(features, number, perspective)
                place = partial(_place, position, perspective)
                if wrong := [f for f in found if not 0 <= f < features.size]:
                    raise PropertyFailed(f"{place()}: active though out of range: {wrong}")
                if wrong := [f for f, n in Counter(found).items() if n > 1]:
                    names = _names(features, wrong)
                    raise PropertyFailed(f"{place()}: more than once in the list: {names}")
                # What is dead is so in positions of games.
                if game.moves and (wrong := [f for f in found if not alive[f]]):
                    raise PropertyFailed(f"{place()}: active though dead: {wrong}")
                if len(found) > features.max_active:
                    raise PropertyFailed(
                        f"{place()}: {len(found)} features are active, "
                        f"more than at_most, or max_active of a kind, says: {features.max_active}"
                    )


@_property("extraction = definition")
def extraction_is_definition(features: FeatureSet, games: list[Game]) -> None:
    """The kernel finds what the definition says, each feature once, for both perspectives.

    And it leaves the position, which is the engine's own, as it is.
    """
    for game in games:
        for number, position in enumerate(game.positions):
            for perspective in range(2):
                wanted = game.defined(features, number, perspective)
                copy = position.copy()
                found = extracted(features, copy, perspective)
                written = [n for n in POSITION.names or () if np.any(position[n] != copy[n])]
                if written:
                    raise PropertyFailed(
                        f"{_place(position, perspective)}: the function changes the position "
                        f"itself ({', '.join(written)}); let it change variables of its own"
                    )
                if found != wanted:
                    raise PropertyFailed(
                        _difference(features, position, perspective, wanted, found)
                    )


@_property("colour flip")
def colour_flip(features: FeatureSet, games: list[Game]) -> None:
    """Turning the board over and exchanging the colours exchanges the perspectives."""
    for game in games:
        for position in game.positions[::4]:
            mirror = flipped(position)
            for perspective in range(2):
                wanted = extracted(features, position, perspective)
                found = extracted(features, mirror, 1 - perspective)
                if found != wanted:
                    raise PropertyFailed(
                        _difference(features, mirror, 1 - perspective, wanted, found)
                    )


@_property("incremental = refresh after every move")
def incremental_is_refresh(features: FeatureSet, games: list[Game]) -> None:
    """What a move adds and removes leads to what the new position has, for both perspectives."""
    for game in games:
        state = [extracted(features, game.positions[0], perspective) for perspective in range(2)]
        for i, move in enumerate(game.moves):
            old, new = game.positions[i], game.positions[i + 1]
            text = partial(notation.move_to_uci, move)
            state = [_updated(features, old, new, p, state[p], text) for p in range(2)]


@_property("incremental for both at once = for each")
def both_at_once(features: FeatureSet, games: list[Game]) -> None:
    """The engine's way to update both accumulators finds what is found for each perspective."""
    tables = compiled(features).record
    alone = np.empty((2, features.max_active), np.int32)
    both = np.empty((2, 2, features.max_active), np.int32)
    for game in games:
        for i, move in enumerate(game.moves):
            old, new = game.positions[i], game.positions[i + 1]
            packed = kernels.changes_of_both(tables, old, new, *both)
            for perspective in range(2):
                counts = kernels.changes(tables, old, new, perspective, *alone)
                for lists, lengths, n, wanted in zip(both, packed, counts, alone, strict=True):
                    length = unpack.py_func(lengths)[perspective]
                    found = sorted(lists[perspective, :length].tolist())
                    if found != sorted(wanted[:n].tolist()):
                        text = notation.move_to_uci(move)
                        raise PropertyFailed(
                            _difference(features, old, perspective, wanted[:n], found, text)
                        )


@_property("incremental = refresh over many moves")
def incremental_over_many_moves(features: FeatureSet, games: list[Game]) -> None:
    """The same between positions that lie any number of plies apart, forwards and backwards."""
    rng = random.Random(0)
    for game in games:
        for old in game.positions:
            new = rng.choice(game.positions)
            for perspective in range(2):
                before = extracted(features, old, perspective)
                _updated(features, old, new, perspective, before, partial(_to, new))


@_property("batch extraction = definition")
def batch_is_definition(features: FeatureSet, games: list[Game]) -> None:
    """The extractor for training agrees with the definition."""
    step = max(AT_ONCE // (2 * features.max_active), 1)
    for game in games:
        for start in range(0, len(game.positions), step):
            _batch_is_definition(features, game, range(len(game.positions))[start : start + step])


def _batch_is_definition(features: FeatureSet, game: Game, numbers: range) -> None:
    positions = [game.positions[number] for number in numbers]
    shape = len(positions), features.max_active
    rows = [np.full(shape, -2, np.int32) for _ in range(2)]
    counts = [np.zeros(len(positions), np.int64) for _ in range(2)]
    kernels.batch(compiled(features).record, pack(positions), *rows, *counts)
    for i, (number, position) in enumerate(zip(numbers, positions, strict=True)):
        for side in range(2):
            perspective = int(position["turn"]) ^ side
            wanted = game.defined(features, number, perspective)
            n = int(counts[side][i])
            found = sorted(rows[side][i, :n].tolist())
            if found != wanted:
                raise PropertyFailed(_difference(features, position, perspective, wanted, found))


def _updated(
    features: FeatureSet,
    old: np.void,
    new: np.void,
    perspective: int,
    state: list[int],
    move: Callable[[], str],
) -> list[int]:
    """The active features of ``new`` by way of ``changes``; raises where that isn't a refresh."""
    added, removed = np.empty((2, features.max_active), np.int32)
    n_added, n_removed = kernels.changes(
        compiled(features).record, old, new, perspective, added, removed
    )
    gained, lost = added[:n_added].tolist(), removed[:n_removed].tolist()
    before = set(state)
    after = sorted([*before.difference(lost), *gained])
    wanted = extracted(features, new, perspective)
    if after != wanted:
        raise PropertyFailed(_difference(features, old, perspective, wanted, after, move()))
    idle = sorted(before.intersection(gained) | set(lost) - before)
    if idle or len(set(lost)) < len(lost):
        raise PropertyFailed(
            f"{_place(old, perspective)}, move {move()}: added or removed without need: "
            f"{_names(features, idle or lost)}"
        )
    return after


def _to(position: np.void) -> str:
    return f"to {notation.to_fen(position)}"


def _place(position: np.void, perspective: int) -> str:
    return f"{notation.to_fen(position)}, seen by {('White', 'Black')[perspective]}"


def _names(features: FeatureSet, indices: Iterable[int]) -> str:
    shown = [
        f"{i} ({features.feature_name(i)})" if 0 <= i < features.size else str(i) for i in indices
    ]
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")


def _difference(
    features: FeatureSet,
    position: np.void,
    perspective: int,
    wanted: Iterable[int],
    found: Iterable[int],
    move: str = "",
) -> str:
    # As multisets: a feature that is found twice is surplus once.
    missing = sorted((Counter(wanted) - Counter(found)).elements())
    surplus = sorted((Counter(found) - Counter(wanted)).elements())
    parts = [
        f"{label} {_names(features, indices)}"
        for label, indices in (("missing", missing), ("surplus", surplus))
        if indices
    ]
    place = _place(position, perspective) + (f", move {move}" if move else "")
    return f"{place}: {'; '.join(parts)}"
