"""``nnuelab texel``: tune a hand-crafted evaluation on results of games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks, Commands, Workers, app
from nnuelab.cli.options import with_settings
from nnuelab.settings.texel import Positions

texel_app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Texel tuning: weights of a hand-crafted evaluation, learnt from results of games.",
)
app.add_typer(texel_app, name="texel")

EvaluationFile = Annotated[
    Path | None,
    typer.Option(
        "--evaluation",
        metavar="FILE",
        help="Hand-crafted evaluation, .yaml.",
        show_default="the shipped one",
    ),
]


@texel_app.command()
@with_settings()
def positions(
    *,
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="Games (.pgn), datasets (.npy, .shards, .binpack), or lines with a FEN and a "
            'result: .epd with c9 "1-0" or [0.5], .csv with the columns fen and result; text '
            "also .zst, .gz, .bz2.",
        ),
    ],
    output: Annotated[Path, typer.Option(help="Positions to tune on, .npy.")],
    validation: Annotated[Path, typer.Option(help="Positions of other games, to check on, .npy.")],
    filters: Annotated[Path, typer.Option(help="What each filter left out, .csv.")],
    evaluation: EvaluationFile = None,
    settings: Positions,
    workers: Workers = 0,
    blocks: Blocks = None,
) -> None:
    """Take quiet positions with results out of games, and split them by game.

    Example: nnuelab texel positions games.pgn --output train.npy --validation validation.npy
    --filters filters.csv

    Example: nnuelab texel positions lichess.csv.zst --quiet skip --sample 1000000
    --output train.npy --validation validation.npy --filters filters.csv
    """
    from nnuelab.hce.evaluator import HceEvaluator
    from nnuelab.selfplay import texel_positions

    outputs = [output, validation, filters]
    artifacts.check_apart([*([evaluation] if evaluation else []), *(blocks or [])], outputs)
    counts = texel_positions.make(
        sources, output, validation, filters, HceEvaluator(evaluation), settings, workers
    )
    for name, count in counts.items():
        typer.echo(f"{name}: {count:,}", err=True)


@texel_app.command()
def trace(
    positions: Annotated[Path, typer.Argument(help="Positions with results, .npy.")],
    output: Annotated[Path, typer.Option(help="Trace to write, .trace.")],
    evaluation: EvaluationFile = None,
    blocks: Blocks = None,
) -> None:
    """Count the terms of an evaluation in each position, for its tuning.

    Example: nnuelab texel trace train.npy --output train.trace

    Example: nnuelab texel trace train.npy --evaluation my_evaluation.yaml --blocks my_terms.py
    --output train.trace
    """
    from nnuelab.data import dataset
    from nnuelab.hce import evaluation as evaluations
    from nnuelab.hce import trace as traces

    path = evaluation or evaluations.DEFAULT
    artifacts.check_apart([positions, path, *(blocks or [])], [output])
    read = evaluations.read(path)
    found = traces.write(output, dataset.open(positions), read)
    artifacts.provenance(
        output,
        inputs={"positions": positions, "evaluation": path},
        parameters={},
        module="hce.trace",
        counts={"positions": len(found), "entries": len(found.terms)},
    )
    typer.echo(f"{output}: {len(found):,} positions, {len(found.terms):,} counts", err=True)
    if never := traces.never_hit(found.coverage(), read):
        typer.echo(
            f"warning: no position has {', '.join(never[:5])}"
            + (f" and {len(never) - 5:,} others" if len(never) > 5 else "")
            + ": tuning leaves their weights as they are",
            err=True,
        )
