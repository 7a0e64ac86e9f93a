"""Commands that give samples scores."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.cli.options import with_settings
from nnuelab.errors import UserError
from nnuelab.settings.label import Labelling

if TYPE_CHECKING:
    from nnuelab.data.searching import Searching

NETS = {"show_default": "the shipped one", "autocompletion": completion.nets}
OPTIONS = {"names": ("--option", "--options")}


@app.command()
@with_settings(net=NETS, options=OPTIONS)
def label(
    *,
    sampled: Annotated[Path, typer.Argument(help="Samples, .npy.")],
    train: Annotated[Path, typer.Option(help="Dataset for training, .npy.")],
    validation: Annotated[Path, typer.Option(help="Dataset for validation, .npy.")],
    test: Annotated[
        Path | None, typer.Option(help="Dataset for a last test, .npy; empty without --test-share.")
    ] = None,
    parts: Annotated[
        list[Path] | None,
        typer.Option(help="Files of label-part, all of them; then nothing is searched."),
    ] = None,
    settings: Labelling,
    workers: Annotated[int, typer.Option(min=0, help="Engines; 0: one per core.")] = 0,
    blocks: Blocks = None,
) -> None:
    """Score each sample, and split them by game.

    Example: nnuelab label sampled.npy --train train.npy --validation validation.npy

    Example: nnuelab label sampled.npy --train train.npy --validation validation.npy
    --labeller stockfish --nodes 20000 --cache labels
    """
    from nnuelab.data import labels

    outputs = [path for path in (train, validation, test) if path is not None]
    counts = labels.label(
        sampled,
        train,
        validation,
        _searching(settings, workers, outputs, blocks)
        or (labels.pgn if settings.labeller == "pgn" else labels.result),
        name=settings.labeller,
        test=test,
        skip_captures=settings.skip_captures,
        max_score=settings.max_score,
        validation_share=settings.validation_share,
        test_share=settings.test_share,
        seed=settings.seed,
        cache=None if settings.cache is None else Path(settings.cache),
        max_unusable=settings.max_unusable,
        parts=parts or (),
    )
    for name, count in sorted(counts.items()):
        typer.echo(f"{name}: {count:,}", err=True)


@app.command("label-part")
@with_settings(net=NETS, options=OPTIONS)
def label_part(
    *,
    sampled: Annotated[Path, typer.Argument(help="Samples, .npy.")],
    part: Annotated[str, typer.Option(help="The I-th of N parts.", metavar="I/N")],
    output: Annotated[Path, typer.Option(help="Their labels, .labels, for label --parts.")],
    settings: Labelling,
    workers: Annotated[int, typer.Option(min=0, help="Engines; 0: one per core.")] = 0,
    blocks: Blocks = None,
) -> None:
    """Search a part of the samples for scores, on one of several machines.

    `nnuelab label --parts` filters positions, and writes the same files as one job.

    Example: nnuelab label-part sampled.npy --labeller engine --nodes 500 --part 2/7
    --output 2of7.labels

    Example: nnuelab label-part sampled.npy --labeller stockfish --depth 9 --option Hash=64
    --part 1/7 --output 1of7.labels
    """
    from nnuelab.data import labels
    from nnuelab.parts import Part

    searching = _searching(settings, workers, [output], blocks)
    if searching is None:
        raise UserError(
            "label-part is for scores that are searched: --labeller stockfish or engine"
        )
    limit, name = settings.max_unusable, settings.labeller
    cache = None if settings.cache is None else Path(settings.cache)
    labels.label_part(
        sampled, Part.parse(part), output, searching, name=name, cache=cache, max_unusable=limit
    )


def _searching(
    settings: Labelling, workers: int, outputs: Iterable[Path], blocks: Blocks
) -> Searching | None:
    """The labeller, if it is one that searches."""
    if settings.labeller == "stockfish":
        from nnuelab.data import labels, uci

        path, options = uci.find_engine(settings.engine), settings.options
        artifacts.check_apart([path, *options.values()], outputs)
        patience = settings.patience
        return labels.stockfish(path, settings.limit, workers, options=options, patience=patience)
    if settings.labeller == "engine":
        from nnuelab import evaluator
        from nnuelab.selfplay.labels import engine as this_engine

        net = None if settings.net is None else Path(settings.net)
        artifacts.check_apart([*([net] if net else []), *(blocks or [])], outputs)
        return this_engine(evaluator.read(net), settings.limit, workers)
    return None
