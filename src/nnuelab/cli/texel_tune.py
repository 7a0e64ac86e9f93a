"""Commands of Texel tuning that fit weights: tune, simplify, outliers."""

from __future__ import annotations

from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks
from nnuelab.cli.options import with_settings
from nnuelab.cli.texel import EvaluationFile, texel_app
from nnuelab.errors import UserError
from nnuelab.settings import MAX_SEED
from nnuelab.settings.tuning import Tuning

if TYPE_CHECKING:
    from nnuelab.hce.evaluation import Evaluation

TraceFile = Annotated[
    Path, typer.Argument(metavar="TRACE", help="Positions to learn from: nnuelab texel trace.")
]
Threads = Annotated[int, typer.Option(min=0, help="0: one per core; doesn't change the result.")]


@texel_app.command()
@with_settings()
def tune(
    *,
    trace: TraceFile,
    output: Annotated[Path, typer.Option(help="Tuned evaluation, .yaml.")],
    history: Annotated[Path, typer.Option(help="A row per generation, .csv.")],
    terms: Annotated[Path, typer.Option(help="A row per weight, .csv.")],
    evaluation: EvaluationFile = None,
    validation: Annotated[
        Path | None, typer.Option(help="Trace of games that are held out.")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="Evaluation of the same terms whose error is to be passed.",
            show_default="the start weights",
        ),
    ] = None,
    chosen: Tuning,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of everything random.")] = 1,
    threads: Threads = 0,
    blocks: Blocks = None,
) -> None:
    """Tune the weights of an evaluation; interrupted runs resume.

    Example: nnuelab texel tune train.trace --validation validation.trace --output tuned.yaml
    --history history.csv --terms terms.csv --optimizer pbil --bits 515

    Example: nnuelab texel tune train.trace --optimizer gauss-newton --l2 0.3 --freeze material
    --output tuned.yaml --history history.csv --terms terms.csv
    """
    from nnuelab.hce import checkpoint, outcome, tuning
    from nnuelab.hce import trace as traces
    from nnuelab.hce.evaluation import DEFAULT, ENDINGS, read

    place = evaluation or DEFAULT
    inputs = {"evaluation": place, "train": trace}
    inputs |= {"validation": validation} if validation else {}
    inputs |= {"reference": reference} if reference else {}
    outputs = [output, history, terms]
    artifacts.check_apart(
        [*inputs.values(), *(blocks or [])], [*outputs, checkpoint.beside(output)]
    )
    artifacts.check_ending(output, "an evaluation", *ENDINGS)
    start = read(place)
    tuned = tuning.tune(
        start,
        traces.open(trace, start),
        traces.open(validation, start) if validation else None,
        chosen,
        seed,
        tuning.Files(output, history, terms),
        inputs,
        _of_same_terms(reference, start) if reference else None,
        threads,
    )
    for line in outcome.summary(tuned):
        typer.echo(f"{output}: {line}", err=True)


def _of_same_terms(path: Path, start: Evaluation) -> Evaluation:
    from nnuelab.hce.evaluation import read

    found = read(path)
    if found.fingerprint() != start.fingerprint():
        raise UserError(
            f"{path} has other terms than {start.name}: its error on this trace can't be computed; "
            "give a reference with the same terms"
        )
    return found


@texel_app.command()
def simplify(
    trace: TraceFile,
    validation: Annotated[Path, typer.Option(help="Trace of games that are held out.")],
    output: Annotated[Path, typer.Option(help="A row per dropped term, .csv.")],
    evaluation: EvaluationFile = None,
    weight: Annotated[
        list[str] | None, typer.Option(help="A weight to drop, too, by its label; or: all.")
    ] = None,
    k: Annotated[
        float, typer.Option(min=0, help="Of the sigmoid; 0: the one that it was tuned with.")
    ] = 0.0,
    steps: Annotated[
        int, typer.Option(min=1, help="Gauss-Newton steps in which the others are fitted again.")
    ] = 3,
    threads: Threads = 0,
    blocks: Blocks = None,
) -> None:
    """Drop each term, fit the others again, and tell what that does to the held-out error.

    Example: nnuelab texel simplify train.trace --validation validation.trace
    --evaluation tuned.yaml --output simplify.csv

    Example: nnuelab texel simplify train.trace --validation validation.trace --output simplify.csv
    --weight all --steps 5
    """
    import pandas as pd

    from nnuelab.hce import error
    from nnuelab.hce import simplify as simplifying
    from nnuelab.hce import trace as traces
    from nnuelab.hce.evaluation import DEFAULT, read
    from nnuelab.intervals import SIGNIFICANCE
    from nnuelab.progress import Progress

    place = evaluation or DEFAULT
    inputs = {"evaluation": place, "train": trace, "validation": validation}
    artifacts.check_apart([*inputs.values(), *(blocks or [])], [output])
    start = read(place)
    train, held_out = traces.open(trace, start), traces.open(validation, start)
    used = k or error.k_of(start, train, threads)
    names = start.labels if weight == ["all"] else weight or []
    names = [name for name in names if name not in start.starts]
    found = []
    with Progress(len(start.terms) + len(names), "terms", "simplify") as progress:
        for row in simplifying.simplify(start, train, held_out, used, names, steps, threads):
            found.append(row)
            progress.advance(1)
    found.sort(key=lambda row: (-row.validation, row.dropped))
    columns = [field.name for field in fields(simplifying.Row)]
    table = pd.DataFrame([astuple(row) for row in found], columns=columns)
    with artifacts.atomic(output) as temporary:
        table.to_csv(temporary, index=False, float_format="%.6g", lineterminator="\n")
    artifacts.provenance(
        output,
        inputs=inputs,
        parameters={"k": used, "steps": steps, "weights": names},
        module="hce.simplify",
    )
    for row in found:
        typer.echo(
            f"{row.dropped:32} {1e6 * row.validation:+9.1f} +- "
            f"{1e6 * SIGNIFICANCE * row.standard_error:.1f} millionths"
        )


@texel_app.command()
def outliers(
    trace: TraceFile,
    positions: Annotated[
        Path, typer.Argument(metavar="POSITIONS", help="Dataset that was traced, .npy.")
    ],
    evaluation: EvaluationFile = None,
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
    k: Annotated[
        float, typer.Option(min=0, help="Of the sigmoid; 0: the one that it was tuned with.")
    ] = 0.0,
    blocks: Blocks = None,
) -> None:
    """List the positions whose results an evaluation is most wrong about.

    Example: nnuelab texel outliers train.trace train.npy --evaluation tuned.yaml

    Example: nnuelab texel outliers validation.trace validation.npy --evaluation tuned.yaml
    --count 100
    """
    from nnuelab.hce import error
    from nnuelab.hce import outliers as found
    from nnuelab.hce import trace as traces
    from nnuelab.hce.evaluation import DEFAULT, read

    start = read(evaluation or DEFAULT)
    opened = traces.open(trace, start)
    used = k or error.k_of(start, opened)
    for row in found.find(start, opened, positions, used, count):
        typer.echo(
            f"{row.result:3.1f} {row.expected:5.3f} {row.score:+6.0f}  game {row.game}  {row.fen}"
        )
