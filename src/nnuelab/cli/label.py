"""Command label: a score for each sample."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.errors import UserError


class LabellerName(StrEnum):
    """Where scores come from."""

    pgn = "pgn"
    stockfish = "stockfish"
    engine = "engine"
    result = "result"


@app.command()
def label(
    sampled: Annotated[Path, typer.Argument(help="Samples, .npy.")],
    train: Annotated[Path, typer.Option(help="Dataset for training, .npy.")],
    validation: Annotated[Path, typer.Option(help="Dataset for validation, .npy.")],
    test: Annotated[
        Path | None, typer.Option(help="Dataset for a last test, .npy, with --test-share.")
    ] = None,
    labeller: Annotated[
        LabellerName,
        typer.Option(help="Scores: [%eval] comments, any UCI engine, this engine, or results."),
    ] = LabellerName.pgn,
    depth: Annotated[int | None, typer.Option(min=1, help="Depth per search.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Or nodes per search.")] = None,
    movetime: Annotated[
        int | None, typer.Option(min=1, help="Or ms per search: labels aren't reproducible.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="stockfish: a UCI engine, by path or by name on PATH.")
    ] = "stockfish",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "--options",
            metavar="NAME=VALUE",
            help="stockfish: a UCI option, given once or more.",
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=1, help="stockfish: seconds until an engine counts as hanging.")
    ] = 120.0,
    net: Annotated[
        Path | None,
        typer.Option(
            help="engine: its net.",
            show_default="the shipped one",
            autocompletion=completion.nets,
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder that keeps what engines have found, for other runs.")
    ] = None,
    skip_captures: Annotated[
        bool,
        typer.Option(
            help="Drop positions where the best move (without an engine: the one played) is a "
            "capture or a promotion."
        ),
    ] = False,
    max_score: Annotated[int, typer.Option(min=1, help="Drop larger |score|, centipawns.")] = 5000,
    score_share: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="1: scores; less: mixed with results of the games."),
    ] = 1.0,
    validation_share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of games to validate with.")
    ] = 0.1,
    test_share: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Share of games to test with.")
    ] = None,
    max_unusable: Annotated[
        int, typer.Option(min=0, help="Positions that an engine may fail on.")
    ] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the split.")] = 1,
    workers: Annotated[int, typer.Option(min=0, help="Engines; 0: one per core.")] = 0,
    blocks: Blocks = None,
) -> None:
    """Give each sample a score and split them by game.

    Example: nnuelab label sampled.npy --train train.npy --validation validation.npy
    """
    from nnuelab.data import labels, uci

    outputs = [path for path in (train, validation, test) if path is not None]
    chosen: labels.Labeller | labels.Searching
    if labeller is LabellerName.stockfish:
        path, options = uci.find_engine(engine), _options(option or [])
        artifacts.check_apart([path, *options.values()], outputs)
        limit = _limit(depth, nodes, movetime)
        if movetime is not None and movetime >= patience * 1000:
            raise typer.BadParameter(
                f"after --patience {patience:g} s an engine counts as hanging; --movetime is longer"
            )
        chosen = labels.stockfish(path, limit, workers, options=options, patience=patience)
    elif labeller is LabellerName.engine:
        from nnuelab.selfplay.labels import engine as this_engine

        given = [file for file in (net, *(blocks or [])) if file is not None]
        artifacts.check_apart(given, outputs)
        chosen = this_engine(net, _limit(depth, nodes, movetime), workers)
    else:
        chosen = labels.pgn if labeller is LabellerName.pgn else labels.result
    counts = labels.label(
        sampled,
        train,
        validation,
        chosen,
        name=labeller.value,
        test=test,
        skip_captures=skip_captures,
        max_score=max_score,
        score_share=score_share,
        validation_share=validation_share,
        test_share=test_share,
        seed=seed,
        cache=cache,
        max_unusable=max_unusable,
    )
    for name, count in sorted(counts.items()):
        typer.echo(f"{name}: {count:,}", err=True)


def _limit(depth: int | None, nodes: int | None, movetime: int | None) -> str:
    """The argument of UCI's ``go``."""
    given = {"depth": depth, "nodes": nodes, "movetime": movetime}
    chosen = [f"{name} {value}" for name, value in given.items() if value is not None]
    if len(chosen) > 1:
        raise typer.BadParameter("give one of --depth, --nodes and --movetime")
    return chosen[0] if chosen else "depth 10"


def _options(texts: list[str]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise UserError(f"--option {text!r}: write NAME=VALUE, as in Hash=16")
        if not text.isprintable():
            raise UserError(f"--option {text!r}: a UCI option is one line of text")
    return dict(text.split("=", 1) for text in texts)
