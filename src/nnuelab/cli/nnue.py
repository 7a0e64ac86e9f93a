"""Commands of nets: train, quantize, verify."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.cli.options import with_settings
from nnuelab.errors import UserError
from nnuelab.settings import MAX_SEED
from nnuelab.settings import found as found_settings
from nnuelab.settings.quantize import Quantization, Verification
from nnuelab.settings.train import Training


@app.command()
@with_settings()
def train(
    *,
    features: Annotated[
        str,
        typer.Option(
            help='Feature set, such as "ALL+H+V".', autocompletion=completion.feature_sets
        ),
    ],
    train: Annotated[Path, typer.Option(help="Dataset to train on, .npy.")],
    validation: Annotated[Path, typer.Option(help="Dataset for the validation loss, .npy.")],
    checkpoint: Annotated[Path, typer.Option(help="Checkpoint to write, or to resume.")],
    history: Annotated[Path, typer.Option(help="Losses per epoch, .csv.")],
    chosen: Training,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="Of weights, order and triplets.")
    ] = 1,
    start: Annotated[
        Path | None, typer.Option("--from", help="Checkpoint to start from (fine-tuning).")
    ] = None,
    found: Annotated[
        list[Path] | None,
        typer.Option(
            help="A setting that nnuelab size or learning-rate found, .json, instead of the option."
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=0, help="0: all; doesn't change the net.")] = 0,
    blocks: Blocks = None,
) -> None:
    """Train a net; interrupted runs resume.

    Example: nnuelab train --features ALL --train train.npy --validation validation.npy
    --checkpoint checkpoint.pt --history history.csv --epochs 5

    Example: nnuelab train --features ALL --train train.npy --validation validation.npy
    --from checkpoint.pt --method pqr --learning-rate 0.00001 --epochs 1 --checkpoint tuned.pt
    --history tuned.csv
    """
    inputs = [train, validation, *filter(None, [start]), *(found or []), *(blocks or [])]
    artifacts.check_apart(inputs, [checkpoint, history])
    from nnuelab.features import parse
    from nnuelab.nnue import training

    chosen = found_settings.applied(chosen, found or [])
    settings = training.Settings.of(parse(features).name, chosen, seed)
    done = training.train(
        settings,
        train,
        validation,
        checkpoint,
        history,
        threads,
        start,
        device_name=chosen.device,
    )
    row = done.history[done.epoch - 1]
    typer.echo(
        f"{checkpoint}: {done.feature_set}, {done.epoch} epochs, "
        f"validation loss {row['validation_loss']:.6f}",
        err=True,
    )


@app.command()
@with_settings()
def quantize(
    *,
    checkpoint: Annotated[Path, typer.Argument(help="Checkpoint of nnuelab train.")],
    output: Annotated[Path, typer.Option(help="Net to write, .nnue, or .nn for that format.")],
    format: Annotated[
        Literal["nnue", "nn"], typer.Option(help="The project's file, or the study's.")
    ] = "nnue",
    settings: Quantization,
    positions: Annotated[
        Path | None,
        typer.Option(help="Dataset, .npy, whose mean error is subtracted."),
    ] = None,
    blocks: Blocks = None,
) -> None:
    """Quantize a trained net to integers.

    Example: nnuelab quantize checkpoint.pt --output net.nnue --positions train.npy

    Example: nnuelab quantize checkpoint.pt --output net.nn --format nn
    """
    inputs = {"checkpoint": checkpoint, **({"positions": positions} if positions else {})}
    artifacts.check_apart([*inputs.values(), *(blocks or [])], [output])
    artifacts.check_ending(output, f"a net of --format {format}", f".{format}")
    scheme = settings.scheme or ("study" if format == "nn" else str(Quantization.scheme))
    if positions and scheme == "study":
        raise UserError(
            "the study's scheme doesn't correct the mean error: leave out --positions, "
            "or quantize with --scheme fine"
        )
    from nnuelab.data import validation
    from nnuelab.nnue import netfile
    from nnuelab.nnue.checkpoint import Checkpoint
    from nnuelab.nnue.quantize import centred
    from nnuelab.nnue.quantize import quantize as to_integers

    trained = Checkpoint.read(checkpoint)
    net = to_integers(trained, scheme)
    if positions and settings.count:
        net = centred(net, trained, validation.spaced(positions, settings.count))
    write = netfile.write_nn if format == "nn" else netfile.write_net
    write(output, net)
    artifacts.provenance(
        output,
        inputs=inputs,
        parameters={"scheme": scheme, "format": format, "count": settings.count},
        module="nnue.quantize",
    )
    typer.echo(f"{output}: {net}", err=True)


@app.command()
@with_settings()
def verify(
    *,
    net: Annotated[
        Path, typer.Argument(help="Quantized net, .nnue or .nn.", autocompletion=completion.nets)
    ],
    checkpoint: Annotated[Path, typer.Option(help="The float net that it was made from.")],
    positions: Annotated[Path, typer.Option(help="Dataset, .npy.")],
    output: Annotated[Path, typer.Option(help="Figures, .json.")],
    plot: Annotated[Path, typer.Option(help="Histogram of the differences, .png.")],
    settings: Verification,
    blocks: Blocks = None,
) -> None:
    """Compare a quantized net with its float net; exit status 1 if they differ too much.

    Example: nnuelab verify net.nnue --checkpoint checkpoint.pt --positions validation.npy
    --output verify.json --plot verify.png

    Example: nnuelab verify net.nnue --checkpoint checkpoint.pt --positions test.npy
    --output verify.json --plot verify.png --max-abs-mean 5 --min-share-within-50 0.99
    """
    artifacts.check_apart([net, checkpoint, positions, *(blocks or [])], [output, plot])
    artifacts.check_ending(plot, "the histogram", ".png")
    from nnuelab.nnue import verify as verification

    figures = verification.verify(net, checkpoint, positions, settings.count)
    artifacts.write_json(output, figures)
    verification.plot(plot, figures)
    inputs = {"net": net, "checkpoint": checkpoint, "positions": positions}
    for path in (output, plot):
        artifacts.provenance(path, inputs=inputs, parameters=asdict(settings), module="nnue.verify")
    typer.echo(
        f"{output}: {figures['n']:,} positions, mean {figures['mean_cp']:+.2f}, "
        f"rms {figures['rms_cp']:.2f}, max {figures['max_cp']:.0f} cp",
        err=True,
    )
    verification.check(figures, settings.max_abs_mean, settings.min_share_within_50)
