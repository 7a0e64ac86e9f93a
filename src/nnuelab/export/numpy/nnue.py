"""A net in numpy, for reading: features, accumulators, inference. Yours to use and change.

`python nnue.py` compares it with test/games.txt; `python nnue.py FEN` evaluates a position.
A place is piece * 64 + square: pieces P p N n B b R r Q q K k, squares from a1 to h8.
"""

import itertools
import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
NET = dict(np.load(FOLDER / "nnue.npz"))
ABOUT = json.loads(str(NET["about"]))
# if SETS
SOURCES = __import__("squares")
# endif
OWN_KING = 10


def places_of(fen):
    """The places of all pieces as White sees them, and the side to move: 0 White, 1 Black."""
    board, turn = fen.split()[:2]
    for digit in "12345678":
        board = board.replace(digit, "." * int(digit))
    squares = enumerate("".join(reversed(board.split("/"))))
    pieces = [(square, "PpNnBbRrQqKk.".index(letter)) for square, letter in squares]
    return [piece * 64 + square for square, piece in pieces if piece < 12], int(turn == "b")


def rows_of(factor, places):
    """The active rows of a factor, from the places as its player sees them."""
    kind, rows = ABOUT["kinds"][factor], NET[f"rows_{factor}"]
    king = next(place % 64 for place in places if place // 64 == OWN_KING)
    if kind == "BY_PLACE":  # a piece on its square, by the class of the own king's square
        found = {rows[NET[f"classes_{factor}"][king], place] for place in places}
    # if HAS_BY_COUNT
    elif kind == "BY_COUNT":  # the number of pieces
        found = {rows[len(places)]}
    # endif
    # if HAS_OF_PAIRS
    elif kind == "OF_PAIRS":  # two pieces on their squares
        numbers = [n for n in NET[f"numbers_{factor}"][places] if n >= 0]
        found = {rows[a, b] for a, b in itertools.combinations(numbers, 2)}
    # endif
    # if HAS_OF_NUMBERS
    elif kind == "OF_NUMBERS":  # how many squares the sets of pieces have
        sets = [squares_of(code, places, places) for code in ABOUT["sets"][factor]]
        found = {rows[i, len(squares)] for i, squares in enumerate(sets)}
    # endif
    # if HAS_OF_SQUARES
    elif kind == "OF_SQUARES":  # squares of the sets of pieces
        sets = [squares_of(code, places, places) for code in ABOUT["sets"][factor]]
        found = {rows[i, square] for i, squares in enumerate(sets) for square in squares}
    # endif
    # if HAS_OF_TARGETS
    elif kind == "OF_TARGETS":  # a piece and a square that it acts on, or what stands there
        on = {place % 64: place // 64 for place in places}
        masks = [int(mask) for mask in NET[f"masks_{factor}"]]
        found = set()
        for place in places:
            for target in squares_of(ABOUT["sets"][factor][place // 64], places, [place]):
                victim = on.get(target) if rows.shape[1] > 1 else 0
                if victim is not None and rows[place, victim] >= 0:
                    lower = masks[place] & masks[768 + victim] & ((1 << target) - 1)
                    found.add(rows[place, victim] + lower.bit_count())
    # endif
    # if HAS_ON_LINES
    elif kind == "ON_LINES":  # two pieces with nothing between them
        on = {place % 64: place // 64 for place in places}
        found = set()
        for line, squares in enumerate(NET[f"squares_{factor}"]):
            pieces = [on[square] for square in squares if square in on]
            found |= {rows[line, a * 12 + b] for a, b in itertools.pairwise(pieces)}
    # endif
    left = [int(row) for row in found if row >= 0]
    # if CHOOSES
    if (chosen := NET[f"chosen_{factor}"]).size:  # some rows, by the class of the own king
        left = [row for row in chosen[NET[f"classes_{factor}"][king], left].tolist() if row >= 0]
    # endif
    return left


# if SETS
def squares_of(code, places, asked):
    """A set of squares, from instructions: of the places that are asked, and of all."""
    board = {place % 64: (place // 64 // 2, place // 64 % 2) for place in places}
    stack: list[set[int]] = []
    for operation, name, pieces in code:
        if operation in ("AND", "OR", "MINUS"):
            right, left = stack.pop(), stack.pop()
            stack.append(
                {"AND": left & right, "OR": left | right, "MINUS": left - right}[operation]
            )
            continue
        whose = [p for p in (asked if operation == "PIECE" else places) if pieces >> p // 64 & 1]
        union = set().union(*(getattr(SOURCES, name)(place % 64, board) for place in whose))
        if operation != "GATE":
            stack.append(union)
        elif not union:
            stack[-1] = set()
    return stack.pop()


# endif
def features_of(places, view):
    """The active features of a perspective, 0 White's, 1 Black's."""
    seen = [place ^ (64 | 56) for place in places] if view else places
    found = []
    for offset, factors in ABOUT["terms"]:
        rows = [[row * stride for row in rows_of(factor, seen)] for factor, stride in factors]
        found += [offset + sum(chosen) for chosen in itertools.product(*rows)]
    return found


# if L2
def activated(sums, shift, activation):
    """Sums as the inputs of the next layer."""
    # if MULTIPLIES
    if activation != "clipped":
        limited = np.clip(sums, 0, 127 << shift)
        one, other = np.split(limited, 2) if activation == "pairwise" else (limited, limited)
        products = (one * other + (64 << 2 * shift)) >> (7 + 2 * shift)
        if activation != "dual":
            return products
        return np.concatenate([products, activated(sums + ((1 << shift) >> 1), shift, "clipped")])
    # endif
    return np.clip(sums >> shift, 0, 127)


# else
def quotient(value, divisor):
    """Rounded towards 0, as in C."""
    return value // divisor if value >= 0 else -(-value // divisor)


def value_without_layers(sums, one, weight, centipawns):
    """Centipawns from both accumulators, of a net without a second layer."""
    x, squared = np.clip(sums, 0, one), ABOUT["activations"][1] == "squared"
    value = int(NET["w3"].astype(np.int64) @ (x * x if squared else x))
    value = quotient(value, one) if squared else value
    return quotient((value + int(NET["b3"][0])) * centipawns, one * weight)


# endif
def evaluate(fen):
    """Centipawns for the side to move, the features and the accumulators of both perspectives."""
    places, turn = places_of(fen)
    features = [features_of(places, view) for view in range(2)]
    sums = [NET["b1"] + NET["w1"][rows].sum(0, dtype=np.int64) for rows in features]
    accumulators = [each.astype(np.int16) for each in sums]
    both = [accumulators[view].astype(np.int64) for view in (turn, 1 - turn)]
    # if L2
    buckets, (first, hidden) = ABOUT["buckets"], ABOUT["activations"]
    bucket, shifts = (len(places) - 1) * buckets // 32, ABOUT["shifts"]
    w = {name: NET[name].astype(np.int64) for name in NET if name[0] in "wb" and name[1] != "1"}
    w = {name: each.reshape(buckets, -1, *each.shape[1:])[bucket] for name, each in w.items()}
    x = np.concatenate([activated(each, shifts[0], first) for each in both])
    x = activated(w["b2"] + w["w2"] @ x, shifts[1], hidden)
    # if L3
    x = activated(w["bh"] + w["wh"] @ x, shifts[2], hidden)
    # endif
    value = int(w["b3"][0] + w["w3"] @ x)
    # if PSQT
    psqt = NET["psqt"].astype(np.int64).reshape(len(NET["w1"]), -1)
    psqt = psqt[:, bucket if psqt.shape[1] > 1 else 0]
    value += int(psqt[features[turn]].sum() - psqt[features[1 - turn]].sum())
    # endif
    value >>= shifts[3]
    # else
    value = value_without_layers(np.concatenate(both), **ABOUT["direct"])
    # endif
    return value, features, accumulators


def hash_of(accumulator):
    """As in test/games.txt."""
    h = 0
    for number in accumulator.astype(np.uint16).tolist():
        h = (h * 16777619 + number) % 2**32
    return h


def main():
    """Compares all lines of test/games.txt; returns how many are wrong."""
    lines = [line for line in (FOLDER / "test/games.txt").read_text().split("\n") if ";" in line]
    wrong = 0
    for line in lines:
        fen, *told = line.split(";")
        value, features, accumulators = evaluate(fen)
        found = [value, *map(len, features), *map(hash_of, accumulators)]
        if found != [int(number) for number in told]:
            wrong += 1
            print(f"{line}\nfound {found}")
    print(f"{len(lines)} positions: {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(print(evaluate(" ".join(sys.argv[1:]))[0]) if sys.argv[1:] else main() > 0)
