"""An engine that answers from a file: to uci, isready and go the parts between form feeds."""

import sys

with open(sys.argv[1], "rb") as file:
    answers = [*file.read().split(b"\f"), b"", b"", b""]
for line in sys.stdin:
    first = (line.split() or [""])[0]
    if first in ("uci", "isready", "go"):
        sys.stdout.buffer.write(answers[("uci", "isready", "go").index(first)])
        sys.stdout.buffer.flush()
    elif first == "quit":
        break
