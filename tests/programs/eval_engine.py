"""A UCI engine for tests that says the same evaluation of every position, in pawns, for White.

Arguments: the evaluation; then a word that makes it misbehave from the third move of a line on:
``dies`` or ``hangs``; then what it says of features.
"""

import sys
import time

value, fault, plies = sys.argv[1], sys.argv[2], 0
for line in sys.stdin:
    words = line.split()
    if words[:1] == ["uci"]:
        print("uciok")
    elif words[:1] == ["isready"]:
        print("readyok")
    elif words[:1] == ["position"]:
        plies = len(words[9:])
    elif words[:1] in (["eval"], ["features"]):
        if plies > 2 and fault == "dies":
            break
        if plies > 2 and fault == "hangs":
            time.sleep(1000)
        said = f"Final evaluation: {value} (white side)"
        print(said if words[0] == "eval" else sys.argv[3])
    sys.stdout.flush()
