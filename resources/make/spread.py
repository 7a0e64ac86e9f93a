"""Writes what the published tables say about the spread of trainings: spread.csv.

    python resources/make/spread.py results/published/*_table.csv --csv resources/spread.csv

Where the details of an experiment's games are beside its table they say it (`nnuelab spread`).
Older tables tell it by their errors: in their round robins each net has the same variance by games,
w, and two sets with n seeds each have errors of 1.96 sqrt(2 w / n) by the games and of
t(df) sqrt(2 s2 / n) by the seeds. Tables of sets that don't scatter alike (size, pqr) say nothing
that way, and are left out.
"""

import argparse
import csv
import json
import shlex
import sys
from pathlib import Path

from scipy.stats import t

from nnuelab import artifacts
from nnuelab.intervals import SIGNIFICANCE
from nnuelab.tournament.spread import Spread, of_row, to_csv

UNLIKE = {"size", "pqr"}
KINDS = {
    "elo": "nodes 400",
    "elo_cost": "nodes 400",
    "elo_time": "movetime 10",
}


def spread_of(table: Path, column: str) -> Spread | None:
    """What an experiment's table says about its trainings, in the games of a column if any."""
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows[0].get(column):
        return None
    seeds = int(rows[0]["seeds"])
    freedom = len(rows) * (seeds - 1)
    others = [row for row in rows if float(row[column])]
    games = [(float(row[f"{column}_error_games"]) / SIGNIFICANCE) ** 2 for row in others]
    scatter = (float(others[0][f"{column}_error_seeds"]) / t.ppf(0.975, freedom)) ** 2
    return Spread(
        table.name.removesuffix("_table.csv"),
        KINDS[column],
        "",
        scatter * seeds / 2,
        sum(games) / len(games) * seeds / 2,
        freedom,
    )


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("tables", nargs="+", type=Path)
parser.add_argument("--csv", type=Path, required=True)
given = parser.parse_args()
sources, rows = [], []
for table in given.tables:
    experiment = table.name.removesuffix("_table.csv")
    if details := sorted(table.parent.glob(f"{experiment}*_details.json")):
        sources += details
        told = [row for path in details for row in json.loads(path.read_text())["spread"]]
        rows += [of_row(row, experiment) for row in told]
    elif experiment not in UNLIKE:
        sources.append(table)
        found = (spread_of(table, column) for column in KINDS)
        rows += [row for row in found if row is not None]
with artifacts.atomic(given.csv) as temporary:
    temporary.write_text(to_csv(rows))
artifacts.provenance(
    given.csv,
    inputs=artifacts.by_name(sources),
    parameters={},
    module="tournament.spread",
    command=shlex.join(["python", *sys.argv]),
)
