"""The table of all numbers in docs/answers.md is what the published tables say.

`python -m tests.test_answers` prints it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from operator import itemgetter

from .conftest import ROOT

HEAD = (
    "| set | layers | positions | scores | seeds | at 400 nodes | 5,000 "
    "| cost of a node | at equal cost, 400 | 5,000 | experiment |\n"
    "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|---|"
)
DATA = {
    **dict.fromkeys(("axis", "pairwise", "mobility", "beyond", "rates"), ("763,000", "of a net")),
    **dict.fromkeys(
        ("teacher", "mirrored", "replication", "together", "layers", "modern", "filtered"),
        ("770,000", "of Stockfish"),
    ),
    "search": ("770,000", "of Stockfish"),
    "people": ("780,000", "of Stockfish"),
    **dict.fromkeys(("few", "thinned"), ("940,000", "of a net")),
    "many": ("870,000", "of a net"),
    "mirroring": ("1.4 million", "of Stockfish"),
    **dict.fromkeys(("scored", "sized"), ("3.5 million", "of Stockfish")),
    "quarter": ("3.75 million", "of a net"),
    **dict.fromkeys(
        ("answers", "mobility16", "found", "widths", "large"), ("15 million", "of a net")
    ),
}
"""Positions to learn from, and whose scores they have, in experiments that compare sets."""
VARIANTS = {
    "fair": ", a rate of its own",
    "modern": ", layers of SFNNv5",
    "lambda": ", lambda to .75",
    "filtered": ", filtered",
}
MEASURES = ("elo", "elo_deep", "elo_cost", "elo_deep_cost")


def rows() -> Iterator[tuple[str, ...]]:
    """Of each set in each experiment, but the anchor, as the page shows them."""
    for experiment, data in DATA.items():
        path = f"results/published/{experiment}_table.csv"
        with open(ROOT / path, newline="") as file:
            for row in csv.DictReader(file):
                if float(row["elo_error"]) == 0:
                    continue
                told = VARIANTS.get(row.get("variant", ""), "")
                fixed, deep, cost, deep_cost = (_elo(row, measure) for measure in MEASURES)
                yield (
                    row["feature_set"] + told,
                    f"{row['l1']}/{row['l2']}",
                    *data,
                    row["seeds"],
                    fixed,
                    deep,
                    f"{float(row['cost_ratio']):.2f}" if row.get("cost_ratio") else "",
                    cost,
                    deep_cost,
                    f"[{experiment}](../{path})",
                )


def _elo(row: dict[str, str], measure: str) -> str:
    if not row.get(measure):
        return ""
    return f"{float(row[measure]):+.1f} ± {row[f'{measure}_error']}".replace("-", "\N{MINUS SIGN}")


def table() -> str:
    lines = [f"| {' | '.join(row)} |" for row in sorted(rows(), key=itemgetter(0, 1))]
    return "\n".join([HEAD, *lines])


def test_all_numbers_are_those_of_the_published_tables():
    assert f"\n{table()}\n" in (ROOT / "docs/answers.md").read_text()


if __name__ == "__main__":
    print(table())
