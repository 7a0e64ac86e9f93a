"""A net in numpy, for reading: features, accumulators, inference. Yours to use and change.

`python nnue.py` compares it with test/games.txt; `python nnue.py FEN` evaluates a position.
A place is piece * 64 + square: pieces P p N n B b R r Q q K k, squares from a1 to h8.
"""

import json
import sys
from importlib import import_module
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
NET = dict(np.load(FOLDER / "nnue.npz"))
ABOUT = json.loads(str(NET["about"]))
SOURCES = import_module("squares") if any(ABOUT["sets"]) else None
OWN_KING = 10


def places_of(fen):
    """The places of all pieces as White sees them, and the side to move: 0 White, 1 Black."""
    board, turn = fen.split()[:2]
    places = []
    for rank, row in zip(range(7, -1, -1), board.split("/"), strict=True):
        file = 0
        for letter in row:
            if letter.isdigit():
                file += int(letter)
            else:
                places.append("PpNnBbRrQqKk".index(letter) * 64 + rank * 8 + file)
                file += 1
    return places, int(turn == "b")


def rows_of(factor, places):
    """The active rows of a factor, from the places as its player sees them."""
    kind, rows = ABOUT["kinds"][factor], NET[f"rows_{factor}"]
    king = next(place % 64 for place in places if place // 64 == OWN_KING)
    if kind == "BY_PLACE":  # a piece on its square, by the class of the own king's square
        found = {rows[NET[f"classes_{factor}"][king], place] for place in places}
    elif kind == "BY_COUNT":  # the number of pieces
        found = {rows[len(places)]}
    elif kind == "OF_PAIRS":  # two pieces on their squares
        numbers = [n for n in NET[f"numbers_{factor}"][places] if n >= 0]
        found = {rows[a, b] for a, b in combinations(numbers, 2)}
    elif kind in ("OF_SQUARES", "OF_NUMBERS"):  # squares of the sets of pieces, or how many
        sets = [squares_of(code, places, places) for code in ABOUT["sets"][factor]]
        if kind == "OF_NUMBERS":
            found = {rows[i, len(squares)] for i, squares in enumerate(sets)}
        else:
            found = {rows[i, square] for i, squares in enumerate(sets) for square in squares}
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
    else:  # ON_LINES: two pieces with nothing between them
        on = {place % 64: place // 64 for place in places}
        found = set()
        for line, squares in enumerate(NET[f"squares_{factor}"]):
            pieces = [on[square] for square in squares if square in on]
            found |= {rows[line, a * 12 + b] for a, b in pairwise(pieces)}
    left = [int(row) for row in found if row >= 0]
    if (chosen := NET[f"chosen_{factor}"]).size:  # some rows, by the class of the own king
        left = [row for row in chosen[NET[f"classes_{factor}"][king], left].tolist() if row >= 0]
    return left


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


def features_of(places, view):
    """The active features of a perspective, 0 White's, 1 Black's."""
    seen = [place ^ (64 | 56) for place in places] if view else places
    found = []
    for offset, factors in ABOUT["terms"]:
        rows = [[row * stride for row in rows_of(factor, seen)] for factor, stride in factors]
        found += [offset + sum(chosen) for chosen in product(*rows)]
    return found


def activated(sums, shift, activation):
    """Sums as the inputs of the next layer."""
    if activation == "clipped":
        return np.clip(sums >> shift, 0, 127)
    limited = np.clip(sums, 0, 127 << shift)
    one, other = np.split(limited, 2) if activation == "pairwise" else (limited, limited)
    products = (one * other + (64 << 2 * shift)) >> (7 + 2 * shift)
    if activation != "dual":
        return products
    return np.concatenate([products, activated(sums + ((1 << shift) >> 1), shift, "clipped")])


def quotient(value, divisor):
    """Rounded towards 0, as in C."""
    return value // divisor if value >= 0 else -(-value // divisor)


def value_without_layers(sums, one, weight, centipawns):
    """Centipawns from both accumulators, of a net without a second layer."""
    x, squared = np.clip(sums, 0, one), ABOUT["activations"][1] == "squared"
    value = int(NET["w3"].astype(np.int64) @ (x * x if squared else x))
    value = quotient(value, one) if squared else value
    return quotient((value + int(NET["b3"][0])) * centipawns, one * weight)


def evaluate(fen):
    """Centipawns for the side to move, the features and the accumulators of both perspectives."""
    places, turn = places_of(fen)
    features = [features_of(places, view) for view in range(2)]
    sums = [NET["b1"] + NET["w1"][rows].sum(0, dtype=np.int64) for rows in features]
    accumulators = [each.astype(np.int16) for each in sums]
    bucket = (len(places) - 1) * ABOUT["buckets"] // 32
    w = {
        name: NET[name].astype(np.int64)
        for name in ("w2", "b2", "wh", "bh", "w3", "b3")
        if name in NET
    }
    w = {k: v.reshape(ABOUT["buckets"], -1, *v.shape[1:])[bucket] for k, v in w.items()}
    shift1, shift2, shift3, shift_out = ABOUT["shifts"]
    first, hidden = ABOUT["activations"]
    both = [accumulators[view].astype(np.int64) for view in (turn, 1 - turn)]
    if ABOUT["direct"]:
        return value_without_layers(np.concatenate(both), **ABOUT["direct"]), features, accumulators
    x = np.concatenate([activated(each, shift1, first) for each in both])
    x = activated(w["b2"] + w["w2"] @ x, shift2, hidden)
    if "wh" in w:
        x = activated(w["bh"] + w["wh"] @ x, shift3, hidden)
    value = int(w["b3"][0] + w["w3"] @ x)
    if "psqt" in NET:
        psqt = NET["psqt"].astype(np.int64).reshape(len(NET["w1"]), -1)
        psqt = psqt[:, bucket if psqt.shape[1] > 1 else 0]
        value += sum(
            int(psqt[features[view]].sum()) * (1 if view == turn else -1) for view in range(2)
        )
    return value >> shift_out, features, accumulators


def hash_of(accumulator):
    """As in test/games.txt."""
    h = 0
    for number in accumulator.astype(np.uint16).tolist():
        h = (h * 16777619 + number) % 2**32
    return h


def main(words):
    if words:
        return print(evaluate(" ".join(words))[0])
    lines = [line for line in (FOLDER / "test/games.txt").read_text().split("\n") if ";" in line]
    wrong = 0
    for line in lines:
        value, features, accumulators = evaluate(line.split(";")[0])
        found = [value, *map(len, features), *map(hash_of, accumulators)]
        if found != [int(number) for number in line.split(";")[1:]]:
            wrong += 1
            print(f"{line}\nfound {found}")
    print(f"{len(lines)} positions: {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
