"""Command label: a score for each sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.cli.options import with_settings
from nnuelab.settings.label import Labelling

NETS = {"show_default": "the shipped one", "autocompletion": completion.nets}


@app.command()
@with_settings(net=NETS, options={"names": ("--option", "--options")})
def label(
    *,
    sampled: Annotated[Path, typer.Argument(help="Samples, .npy.")],
    train: Annotated[Path, typer.Option(help="Dataset for training, .npy.")],
    validation: Annotated[Path, typer.Option(help="Dataset for validation, .npy.")],
    test: Annotated[
        Path | None, typer.Option(help="Dataset for a last test, .npy; empty without --test-share.")
    ] = None,
    settings: Labelling,
    workers: Annotated[int, typer.Option(min=0, help="Engines; 0: one per core.")] = 0,
    blocks: Blocks = None,
) -> None:
    """Score each sample, and split them by game.

    Example: nnuelab label sampled.npy --train train.npy --validation validation.npy
    """
    from nnuelab.data import labels, uci

    outputs = [path for path in (train, validation, test) if path is not None]
    chosen: labels.Labeller | labels.Searching
    if settings.labeller == "stockfish":
        path, options = uci.find_engine(settings.engine), settings.options
        artifacts.check_apart([path, *options.values()], outputs)
        patience = settings.patience
        chosen = labels.stockfish(path, settings.limit, workers, options=options, patience=patience)
    elif settings.labeller == "engine":
        from nnuelab import evaluator
        from nnuelab.selfplay.labels import engine as this_engine

        net = None if settings.net is None else Path(settings.net)
        artifacts.check_apart([*([net] if net else []), *(blocks or [])], outputs)
        chosen = this_engine(evaluator.read(net), settings.limit, workers)
    else:
        chosen = labels.pgn if settings.labeller == "pgn" else labels.result
    counts = labels.label(
        sampled,
        train,
        validation,
        chosen,
        name=settings.labeller,
        test=test,
        skip_captures=settings.skip_captures,
        max_score=settings.max_score,
        validation_share=settings.validation_share,
        test_share=settings.test_share,
        seed=settings.seed,
        cache=None if settings.cache is None else Path(settings.cache),
        max_unusable=settings.max_unusable,
    )
    for name, count in sorted(counts.items()):
        typer.echo(f"{name}: {count:,}", err=True)
