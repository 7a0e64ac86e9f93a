"""Commands of nets: train, quantize, verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.errors import UserError


def need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"this command needs torch ({error}); run ./run --setup, or pip install torch"
        ) from error


@app.command()
def train(
    features: Annotated[
        str,
        typer.Option(
            help='Feature set, such as "ALL+H+V".', autocompletion=completion.feature_sets
        ),
    ],
    train: Annotated[Path, typer.Option(help="Dataset to learn from, .npy.")],
    validation: Annotated[Path, typer.Option(help="Dataset for the validation loss, .npy.")],
    checkpoint: Annotated[Path, typer.Option(help="Checkpoint to write, or to continue.")],
    history: Annotated[Path, typer.Option(help="Losses per epoch, .csv.")],
    l1: Annotated[int, typer.Option(min=1, max=16384, help="Neurons per perspective.")] = 512,
    l2: Annotated[int, typer.Option(min=1, max=16384, help="Neurons of the second layer.")] = 32,
    l3: Annotated[
        int, typer.Option(min=0, max=16384, help="Neurons of a further hidden layer; 0: none.")
    ] = 0,
    activation: Annotated[
        Literal["clipped", "squared"], typer.Option(help="Clipped ReLU, or its square.")
    ] = "clipped",
    buckets: Annotated[
        int, typer.Option(min=1, max=32, help="Nets behind the first layer, by number of pieces.")
    ] = 1,
    epochs: Annotated[int, typer.Option(min=1)] = 6,
    fake_quantize_epochs: Annotated[
        int, typer.Option(min=0, help="Last epochs that see the integer net's rounding.")
    ] = 0,
    games_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the games to learn from.")
    ] = 1,
    batch_size: Annotated[int, typer.Option(min=1, help="Positions per step.")] = 1024,
    optimizer: Annotated[
        Literal["adam", "rowwise-adam"],
        typer.Option(help="rowwise-adam: faster for king-piece sets."),
    ] = "adam",
    learning_rate: Annotated[float, typer.Option(min=0, help="Adam's peak learning rate.")] = 2e-3,
    schedule: Annotated[
        Literal["step", "cosine", "one-cycle"],
        typer.Option(help="step: by --lr-decay; cosine: to 0; one-cycle: up and down."),
    ] = "step",
    lr_decay: Annotated[
        float, typer.Option(min=0, max=1, help="For the schedule step: factor per epoch.")
    ] = 0.5,
    warmup: Annotated[int, typer.Option(min=0, help="Steps in which the learning rate rises.")] = 0,
    clip_norm: Annotated[
        float, typer.Option(min=0, help="Clip gradients to this L2 norm; 0: off.")
    ] = 0,
    patience: Annotated[
        int, typer.Option(min=0, help="Stop after this many epochs without progress; 0: never.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights, order and triplets.")] = 1,
    method: Annotated[
        Literal["scores", "pqr", "triplet"],
        typer.Option(help="scores: labels; pqr, triplet: the move played against another."),
    ] = "scores",
    exponent: Annotated[float, typer.Option(min=1, help="For scores: exponent of the loss.")] = 2.6,
    output_scale: Annotated[
        float, typer.Option(min=1, help="Centipawns of the net's sigmoid.")
    ] = 361,
    target_scale: Annotated[
        float, typer.Option(min=1, help="For scores: centipawns of the labels' sigmoid.")
    ] = 410,
    score_share: Annotated[
        float, typer.Option(min=0, max=1, help="For scores: 1 learns scores, 0 game results.")
    ] = 1,
    kappa: Annotated[float, typer.Option(min=0, help="For pqr: weight of p = -q.")] = 1,
    margin: Annotated[float, typer.Option(min=0, help="For triplet, in values of -1..1.")] = 0.1,
    moves_quantile: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="For pqr, triplet: leave out this share, those with the fewest legal moves.",
        ),
    ] = 0,
    start: Annotated[
        Path | None, typer.Option("--from", help="Checkpoint to begin with (fine-tuning).")
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="auto: cuda where there is one.")
    ] = "auto",
    threads: Annotated[int, typer.Option(min=0, help="0: all; doesn't change the net.")] = 0,
    blocks: Blocks = None,
) -> None:
    """Train a net; interrupted runs resume.

    Example: nnuelab train --features ALL --train train.npy --validation validation.npy
    --checkpoint checkpoint.pt --history history.csv --epochs 5
    """
    inputs = [train, validation, *([start] if start else []), *(blocks or [])]
    artifacts.check_apart(inputs, [checkpoint, history])
    need_torch()
    from nnuelab.features import parse
    from nnuelab.nnue import training
    from nnuelab.nnue.losses import PQR, Scores, Triplet

    objective = {
        "scores": Scores(exponent, output_scale, target_scale, score_share),
        "pqr": PQR(output_scale, kappa, moves_quantile),
        "triplet": Triplet(output_scale, margin, moves_quantile),
    }[method]
    settings = training.Settings(
        feature_set=parse(features).name,
        l1=l1,
        l2=l2,
        l3=l3,
        activation=activation,
        buckets=buckets,
        epochs=epochs,
        fake_quantize_epochs=fake_quantize_epochs,
        games_share=games_share,
        batch_size=batch_size,
        optimizer=optimizer,
        learning_rate=learning_rate,
        schedule=schedule,
        lr_decay=lr_decay,
        warmup=warmup,
        clip_norm=clip_norm,
        patience=patience,
        seed=seed,
        objective=objective,
    )
    done = training.train(
        settings,
        train,
        validation,
        checkpoint,
        history,
        threads,
        start,
        device_name=device,
    )
    row = done.history[done.epoch - 1]
    typer.echo(
        f"{checkpoint}: {done.feature_set}, {done.epoch} epochs, "
        f"validation loss {row['validation_loss']:.6f}",
        err=True,
    )


@app.command()
def quantize(
    checkpoint: Annotated[Path, typer.Argument(help="What nnuelab train wrote.")],
    output: Annotated[Path, typer.Option(help="Net to write, .nnue, or .nn for that format.")],
    format: Annotated[
        Literal["nnue", "nn"], typer.Option(help="The project's file, or the study's.")
    ] = "nnue",
    scheme: Annotated[
        Literal["fine", "study"] | None,
        typer.Option(help="Integers; by default study for nn, else fine."),
    ] = None,
    positions: Annotated[
        Path | None,
        typer.Option(help="Dataset, .npy: the mean error on it is removed from the net."),
    ] = None,
    count: Annotated[
        int, typer.Option(min=0, help="Of its positions, evenly spaced; 0: none.")
    ] = 50_000,
    blocks: Blocks = None,
) -> None:
    """Turn a trained net into integers.

    Example: nnuelab quantize checkpoint.pt --output net.nnue --positions train.npy
    """
    inputs = {"checkpoint": checkpoint, **({"positions": positions} if positions else {})}
    artifacts.check_apart([*inputs.values(), *(blocks or [])], [output])
    artifacts.check_ending(output, f"a net of --format {format}", f".{format}")
    chosen = scheme or ("study" if format == "nn" else "fine")
    if positions and chosen == "study":
        raise UserError(
            "the study's scheme leaves the error where it is: leave out --positions, "
            "or quantize with --scheme fine"
        )
    need_torch()
    from nnuelab.data import validation
    from nnuelab.nnue import checkpoint as checkpoints
    from nnuelab.nnue import netfile
    from nnuelab.nnue.quantize import centred
    from nnuelab.nnue.quantize import quantize as to_integers

    trained = checkpoints.read(checkpoint)
    net = to_integers(trained, chosen)
    if positions and count:
        net = centred(net, trained, validation.spaced(positions, count))
    write = netfile.write_nn if format == "nn" else netfile.write_net
    write(output, net)
    artifacts.provenance(
        output,
        inputs=inputs,
        parameters={"scheme": chosen, "format": format, "count": count},
        module="nnue.quantize",
    )
    typer.echo(
        f"{output}: {net.feature_set}, {net.layers}, shifts "
        f"{', '.join(map(str, net.shifts.values()))}",
        err=True,
    )


@app.command()
def verify(
    net: Annotated[
        Path, typer.Argument(help="Quantized net, .nnue or .nn.", autocompletion=completion.nets)
    ],
    checkpoint: Annotated[Path, typer.Option(help="The float net that it was made from.")],
    positions: Annotated[Path, typer.Option(help="Dataset, .npy.")],
    output: Annotated[Path, typer.Option(help="Figures, .json.")],
    plot: Annotated[Path, typer.Option(help="Histogram of the differences, .png.")],
    count: Annotated[int, typer.Option(min=1, help="Positions, evenly spaced.")] = 50_000,
    max_abs_mean: Annotated[float, typer.Option(min=0, help="Bound of |mean|, cp.")] = 10,
    min_share_within_50: Annotated[
        float, typer.Option(min=0, max=1, help="Least share of differences within 50 cp.")
    ] = 0.97,
    blocks: Blocks = None,
) -> None:
    """Compare a quantized net with its float net; exit 1 when they differ too much.

    Example: nnuelab verify net.nnue --checkpoint checkpoint.pt --positions validation.npy
    --output verify.json --plot verify.png
    """
    artifacts.check_apart([net, checkpoint, positions, *(blocks or [])], [output, plot])
    artifacts.check_ending(plot, "the histogram", ".png")
    need_torch()
    from nnuelab.nnue import verify as verification

    figures = verification.verify(net, checkpoint, positions, count)
    artifacts.write_json(output, figures)
    verification.plot(plot, figures)
    inputs = {"net": net, "checkpoint": checkpoint, "positions": positions}
    bounds = {"max_abs_mean": max_abs_mean, "min_share_within_50": min_share_within_50}
    parameters = {"count": count, **bounds}
    for path in (output, plot):
        artifacts.provenance(path, inputs=inputs, parameters=parameters, module="nnue.verify")
    typer.echo(
        f"{output}: {figures['n']:,} positions, mean {figures['mean_cp']:+.2f}, "
        f"rms {figures['rms_cp']:.2f}, max {figures['max_cp']:.0f} cp",
        err=True,
    )
    verification.check(figures, max_abs_mean, min_share_within_50)
