"""Let the machine find feature sets: `nnuelab search`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks, app
from nnuelab.cli.options import with_settings
from nnuelab.settings.search import Searching

if TYPE_CHECKING:
    from nnuelab.discovery.history import Row

QUESTION = "What is the front of the search worth in games?"
# Of the nets that play; screens have 1 to 100, so the games don't flatter what these chose.
FIRST_SEED = 101


@app.command()
@with_settings()
def search(
    *,
    train: Annotated[Path, typer.Option(help="Dataset to train on, .npy.")],
    validation: Annotated[Path, typer.Option(help="Dataset that tells the loss, .npy.")],
    output: Annotated[Path, typer.Option(help="Folder of the history and the front.")],
    settings: Searching,
    workers: Annotated[
        int, typer.Option(help="Sets trained at once; 0: one for each core.", min=0)
    ] = 0,
    blocks: Blocks = None,
) -> None:
    """Search sums and products of blocks for sets worth having at each cost of a node.

    Writes prices.csv (what a node of ALL costs with each term beside it, measured first, or taken
    where it is there), history.csv (every set on every screen: number, generation, rung,
    feature_set, move, parents, n_features, rows, cost, loss), front.csv (those of the longest
    screen that no other one beats in loss and cost), and front.yaml, an experiment in which the
    front plays with fresh seeds. A search that is killed continues, and so does one that is given
    more hours.

    Example: nnuelab search --train results/data/train.npy --validation results/data/validation.npy
    --output results/search --hours 6

    Example: nnuelab search --train results/data/train.npy --validation results/data/validation.npy
    --output results/search --factors KING --max-cost 1.4 --rungs 2
    """
    import yaml

    from nnuelab.discovery import history
    from nnuelab.discovery.search import Search
    from nnuelab.report.render import print_csv

    made = [output / name for name in ("history.csv", "front.csv", "front.yaml")]
    journal = output / "search.journal"
    prices = output / "prices.csv"
    artifacts.check_apart([train, validation, *(blocks or [])], [*made, journal, prices])
    found = Search(settings, train, validation, journal, prices, workers)
    parameters = found.identity()
    # Hashed once, not after each generation; prices are measured before the first.
    data = {"train": artifacts.told_input(train), "validation": artifacts.told_input(validation)}

    def write(path: Path, text: str) -> None:
        _write(path, text)
        artifacts.provenance(
            path,
            inputs={**data, "prices": prices},
            parameters=parameters,
            module="discovery.search",
        )

    rows: list[history.Row] = []
    for rows in found.generations():
        write(made[1], history.to_csv(history.front(rows)))
        write(made[0], history.to_csv(rows))  # last: who sees it changed finds its front, too
    front = history.front(rows)
    sets = [found.anchor, *(row.feature_set for row in _spaced(front, settings.play, found.anchor))]
    seeds = list(range(FIRST_SEED, FIRST_SEED + settings.play_seeds))
    experiment = {
        "question": QUESTION,
        "feature_sets": sets,
        "seeds": seeds,
        "anchor": found.anchor,
    }
    write(made[2], yaml.safe_dump({"experiments": {"search": experiment}}, sort_keys=False))
    print_csv(history.to_csv(front))
    print(
        f"{rows[-1].number + 1} sets, {found.screens} screens, {found.rate:.0f} an hour and core",
        file=sys.stderr,
    )


def _spaced(front: list[Row], most: int, anchor: str) -> list[Row]:
    """Up to ``most`` rows of a front but the anchor, evenly spaced by cost, the best loss last."""
    others = [row for row in front if row.feature_set != anchor]
    if len(others) <= most:
        return others
    return [others[(i + 1) * len(others) // most - 1] for i in range(most)]


def _write(path: Path, text: str) -> None:
    with artifacts.atomic(path) as temporary:
        temporary.write_text(text)


@app.command("search-check")
@with_settings()
def search_check(
    *,
    train: Annotated[Path, typer.Option(help="Dataset to train on, .npy.")],
    validation: Annotated[Path, typer.Option(help="Dataset that tells the loss, .npy.")],
    csv: Annotated[Path, typer.Option(help="Table to write.")],
    count: Annotated[int, typer.Option(help="Sets to train.", min=3)] = 20,
    full_epochs: Annotated[int, typer.Option(help="Of a full training.", min=1)] = 6,
    settings: Searching,
    workers: Annotated[
        int, typer.Option(help="Sets trained at once; 0: one for each core.", min=0)
    ] = 0,
    blocks: Blocks = None,
) -> None:
    """Ask how well the first screen of a search foretells a full training.

    Random sums of the anchor and other terms, which no search has chosen, are trained as the first
    screen does, and with all positions. Writes a row for each with both losses, and prints their
    rank correlation.

    Example: nnuelab search-check --train results/data/train.npy --validation
    results/data/validation.npy --csv check.csv --count 5

    Example: nnuelab search-check --train results/data/train.npy
    --validation results/data/validation.npy --csv check.csv --positions 2000000 --epochs 1
    """
    from nnuelab.discovery import foretold, trust

    journal = csv.with_name(f"{csv.name}.journal")
    artifacts.check_apart([train, validation, *(blocks or [])], [csv, journal])
    rows = trust.trust(
        settings, train, validation, journal, count=count, epochs=full_epochs, workers=workers
    )
    _write(csv, foretold.to_csv(rows))
    artifacts.provenance(
        csv,
        inputs={"train": train, "validation": validation},
        parameters={**asdict(settings), "count": count, "full_epochs": full_epochs},
        module="discovery.trust",
    )
    print(f"rank correlation of {count} sets: {foretold.agreement(rows):.3f}")
