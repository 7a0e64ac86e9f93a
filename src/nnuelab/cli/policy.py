"""Commands of policies: policy train, evaluate, table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, Commands, app
from nnuelab.cli.options import with_settings
from nnuelab.settings import MAX_SEED
from nnuelab.settings.policy import PolicyTraining

policy_app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Policies: nets that choose moves by the squares they go from and to.",
)
app.add_typer(policy_app, name="policy")


@policy_app.command()
@with_settings()
def train(
    *,
    features: Annotated[
        str,
        typer.Option(
            help='Feature set, such as "ALL" or "YACGE".', autocompletion=completion.feature_sets
        ),
    ],
    train: Annotated[Path, typer.Option(help="Dataset with moves to learn, .npy.")],
    validation: Annotated[Path, typer.Option(help="Dataset for the validation loss, .npy.")],
    checkpoint: Annotated[Path, typer.Option(help="Checkpoint to write, or to resume.")],
    history: Annotated[Path, typer.Option(help="Losses per epoch, .csv.")],
    output: Annotated[Path, typer.Option(help="Policy to write, .policy.")],
    chosen: PolicyTraining,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of weights and order.")] = 1,
    start: Annotated[
        Path | None, typer.Option("--from", help="Checkpoint to start from (fine-tuning).")
    ] = None,
    blocks: Blocks = None,
) -> None:
    """Train a policy on the moves that were played; interrupted runs resume.

    Example: nnuelab policy train --features ALL --layers 256 --train train.npy
    --validation validation.npy --checkpoint checkpoint.pt --history history.csv
    --output net.policy

    Example: nnuelab policy train --features ALL --layers 512 --layers 64 --value-weight 0.5
    --epochs 4 --train train.npy --validation validation.npy --checkpoint checkpoint.pt
    --history history.csv --output net.policy
    """
    inputs = [train, validation, *([start] if start else []), *(blocks or [])]
    artifacts.check_apart(inputs, [checkpoint, history, output])
    artifacts.check_ending(output, "a policy", ".policy")
    from nnuelab.features import parse
    from nnuelab.policy import training

    settings = training.Settings.of(parse(features).name, chosen, seed)
    done = training.train(settings, train, validation, checkpoint, history, output, start)
    told = f"{output}: {done.feature_set}, {done.epoch} epochs"
    if done.epoch:
        row = done.history[done.epoch - 1]
        told += f", validation loss {row['validation_loss']:.4f}, accuracy {row['accuracy']:.1%}"
    typer.echo(told, err=True)


@policy_app.command()
def evaluate(
    policies: Annotated[list[Path], typer.Argument(metavar="POLICY...", help="Policies.")],
    positions: Annotated[Path, typer.Option(help="Held-out positions with moves, .npy.")],
    csv: Annotated[Path, typer.Option(help="A row for each policy, .csv.")],
    count: Annotated[
        int, typer.Option(min=0, help="Positions, evenly spaced; 0: all of them.")
    ] = 20_000,
    blocks: Blocks = None,
) -> None:
    """Measure how well policies know the moves of held-out positions.

    Example: nnuelab policy evaluate net.policy --positions validation.npy --csv evaluation.csv

    Example: nnuelab policy evaluate first.policy second.policy --positions validation.npy --count 0
    --csv evaluation.csv
    """
    from nnuelab.policy import metrics, table

    artifacts.check_ending(csv, "a table", ".csv")
    artifacts.check_apart([*policies, positions, *(blocks or [])], [csv])
    records = metrics.positions_of(positions, count)
    rows = [metrics.row_of(path, records) for path in policies]
    table.write(csv, rows)
    artifacts.provenance(
        csv,
        inputs={"positions": positions, **artifacts.by_name(policies)},
        parameters={"count": count},
        module="policy.metrics",
    )
    for row in rows:
        typer.echo(
            f"{row['policy']}: first pair legal {row['legal_first']:.1%}, accuracy "
            f"{row['accuracy']:.1%}, among legal {row['legal_accuracy']:.1%}, "
            f"{row['mean_tries']:.2f} tries",
            err=True,
        )


@policy_app.command(name="table")
def make_table(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...", help="NAME/SEED, with evaluation.csv and history.csv in it."
        ),
    ],
    csv: Annotated[Path, typer.Option(help="A row for each name, .csv.")],
) -> None:
    """Put what policies of several seeds were measured at into one table.

    Example: nnuelab policy table results/policy/nets/pair/1 results/policy/nets/pair/2
    --csv table.csv

    Example: nnuelab policy table results/policy/nets/*/* --csv table.csv
    """
    from nnuelab.policy import table

    read = [folder / name for folder in folders for name in (table.EVALUATION, table.HISTORY)]
    artifacts.check_ending(csv, "a table", ".csv")
    artifacts.check_apart(read, [csv])
    rows = table.rows_of(folders)
    table.write(csv, rows)
    artifacts.provenance(csv, inputs=artifacts.by_name(read), parameters={}, module="policy.table")
    for row in rows:
        typer.echo(table.line(row))
