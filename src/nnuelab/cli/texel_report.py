"""Commands of Texel tuning that show what came out: plots, errors, export, the match."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks
from nnuelab.cli.texel import EvaluationFile, texel_app


@texel_app.command()
def plot(
    histories: Annotated[
        list[str],
        typer.Argument(metavar="HISTORY|NAME=HISTORY...", help="Of `texel tune`, .csv."),
    ],
    error: Annotated[
        Path | None, typer.Option(help="Error, the reference as a line: .svg, .png or .html.")
    ] = None,
    scale: Annotated[
        Literal["linear", "log"], typer.Option(help="Of the error; log: above the lowest.")
    ] = "linear",
    entropy: Annotated[Path | None, typer.Option(help="Entropy of the bits.")] = None,
    bits: Annotated[
        Path | None, typer.Option(help="Histogram of the bits at the end, of one history.")
    ] = None,
) -> None:
    """Draw the histories of runs: error, entropy, and where the bits ended.

    Example: nnuelab texel plot results/texel/pbil/history.csv --error error.svg --bits bits.svg

    Example: nnuelab texel plot adam=adam/history.csv pbil=pbil/history.csv --error error.svg
    --scale log
    """
    from nnuelab import charts
    from nnuelab.cli.app import named_files
    from nnuelab.errors import UserError
    from nnuelab.report import texel, texel_plots

    files = named_files(histories)
    outputs = [path for path in (error, entropy, bits) if path is not None]
    if not outputs:
        raise typer.BadParameter("say what to draw: --error, --entropy or --bits")
    artifacts.check_apart(files.values(), outputs)
    for path in outputs:
        artifacts.check_ending(path, "a figure", *charts.FORMATS)
    runs = {name: texel.read_history(path) for name, path in files.items()}
    drawn = {}
    if error is not None:
        drawn[error] = texel_plots.error(runs, scale)
    if entropy is not None or bits is not None:
        for name, rows in runs.items():
            if not texel.has_bits(rows):
                raise UserError(f"{name} has no bits: only the optimizers pbil and ga do")
    if entropy is not None:
        drawn[entropy] = texel_plots.entropy(runs)
    if bits is not None:
        if len(files) > 1:
            raise typer.BadParameter("--bits draws one history")
        drawn[bits] = texel_plots.bits(texel.read_bits(*files.values()))
    for path, figure in drawn.items():
        charts.save(path, figure)
        artifacts.provenance(
            path, inputs=files, parameters={"scale": scale}, module="report.texel_plots"
        )


@texel_app.command()
def residuals(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Of `texel trace`.")],
    positions: Annotated[Path, typer.Option(help="Dataset that was traced, .npy.")],
    output: Annotated[Path, typer.Option(help="All figures, .json.")],
    evaluation: EvaluationFile = None,
    k: Annotated[
        float, typer.Option(min=0, help="Of the sigmoid; 0: the one that it was tuned with.")
    ] = 0.0,
    k_plot: Annotated[Path | None, typer.Option(help="Error against K.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Residuals by phase and material.")] = None,
    blocks: Blocks = None,
) -> None:
    """Tell where an evaluation is wrong: by phase, by material, with which K, in which positions.

    Example: nnuelab texel residuals validation.trace --positions validation.npy
    --evaluation tuned.yaml --output residuals.json --plot residuals.svg

    Example: nnuelab texel residuals validation.trace --positions validation.npy
    --output residuals.json --k-plot k.svg
    """
    from nnuelab import charts
    from nnuelab.hce import evaluation as evaluations
    from nnuelab.hce import trace as traces
    from nnuelab.report import texel_plots, texel_residuals

    place = evaluation or evaluations.DEFAULT
    inputs = {"trace": trace, "positions": positions, "evaluation": place}
    figures = [path for path in (k_plot, plot) if path is not None]
    artifacts.check_apart([*inputs.values(), *(blocks or [])], [output, *figures])
    for path in figures:
        artifacts.check_ending(path, "a figure", *charts.FORMATS)
    read = evaluations.read(place)
    content = texel_residuals.content(read, traces.open(trace, read), positions, k or None)
    artifacts.write_json(output, content)
    if k_plot is not None:
        charts.save(k_plot, texel_plots.k_curve(content))
    if plot is not None:
        charts.save(plot, texel_plots.all_residuals(content))
    for path in (output, *figures):
        artifacts.provenance(
            path, inputs=inputs, parameters={"k": content["k"]}, module="report.texel_residuals"
        )


@texel_app.command()
def errors(
    positions: Annotated[
        Path, typer.Argument(metavar="POSITIONS", help="Of games that nothing was tuned on, .npy.")
    ],
    players: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=FILE...", help="Evaluations and nets, as in `nnuelab tournament`."
        ),
    ],
    csv: Annotated[Path | None, typer.Option(help="Also write the table to this file.")] = None,
    blocks: Blocks = None,
) -> None:
    """Compare evaluations and nets by their error on the same positions, each with its best K.

    Prints CSV: name, error, k, difference to the first and half of its 95 % interval.

    Example: nnuelab texel errors validation.npy tuned=tuned.yaml net=default

    Example: nnuelab texel errors validation.npy 'untuned={hce: default}' tuned=tuned.yaml
    --csv errors.csv
    """
    from nnuelab.report import texel_errors
    from nnuelab.report.render import print_csv

    found = texel_errors.evaluators(players)
    inputs = {
        f"{name} {word}": path
        for name, evaluator in found.items()
        for word, path in evaluator.files().items()
    }
    outputs = [csv] if csv is not None else []
    artifacts.check_apart([positions, *inputs.values(), *(blocks or [])], outputs)
    table = texel_errors.to_csv(texel_errors.compare(found, positions))
    for path in outputs:
        with artifacts.atomic(path) as temporary:
            temporary.write_text(table)
        artifacts.provenance(
            path, inputs={"positions": positions, **inputs}, module="report.texel_errors"
        )
    print_csv(table)


@texel_app.command()
def export(
    evaluation: Annotated[Path, typer.Argument(metavar="EVALUATION", help="YAML.")],
    language: Annotated[Literal["c", "rust"], typer.Option(help="Of the tables.")] = "c",
    output: Annotated[
        Path | None, typer.Option(help="Source code.", show_default="to the terminal")
    ] = None,
    order: Annotated[
        Literal["a1", "a8"], typer.Option(help="The first square of a table of squares.")
    ] = "a1",
    blocks: Blocks = None,
) -> None:
    """Write the weights of an evaluation as tables of C or Rust, S(mg, eg), for other engines.

    Example: nnuelab texel export results/texel/adam/tuned.yaml --language rust --output terms.rs

    Example: nnuelab texel export tuned.yaml --order a8 > terms.h
    """
    from nnuelab.hce import evaluation as evaluations
    from nnuelab.hce import export as exporting

    code = exporting.to_text(evaluations.read(evaluation), language, order)
    if output is None:
        sys.stdout.write(code)
        return
    artifacts.check_apart([evaluation, *(blocks or [])], [output])
    with artifacts.atomic(output) as temporary:
        temporary.write_text(code)
    artifacts.provenance(
        output,
        inputs={"evaluation": evaluation},
        parameters={"language": language, "order": order},
        module="hce.export",
    )


@texel_app.command(name="match-table")
def match_table(
    pgn: Annotated[list[Path], typer.Argument(help="PGN files, plain or compressed.")],
    output: Annotated[Path | None, typer.Option(help="Also write the table here, .txt.")] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Ratings of the same games as `nnuelab rate` has them.")
    ] = None,
    anchor: Annotated[
        str | None, typer.Option(help="With --csv: the player whose rating is 0.")
    ] = None,
) -> None:
    """Print the table of a match as BayesElo does: rank, Elo, errors, score, opponents, draws.

    Example: nnuelab texel match-table results/texel/games.pgn --csv match.csv --anchor untuned

    Example: nnuelab texel match-table results/texel/games.pgn --output match.txt
    """
    from nnuelab.tournament import bayeselo, ratings

    outputs = [path for path in (output, csv) if path is not None]
    artifacts.check_apart(pgn, outputs)
    if anchor is not None and csv is None:
        raise typer.BadParameter("--anchor is that of --csv; give that, too")
    results, fitted = ratings.rated(pgn, anchor)
    text = bayeselo.to_text(bayeselo.rows(results, fitted))
    made = {output: text}
    if csv is not None:
        made[csv] = ratings.to_csv(ratings.table(results, fitted, anchor))
    for path in outputs:
        with artifacts.atomic(path) as temporary:
            temporary.write_text(made[path])
        artifacts.provenance(
            path,
            inputs=artifacts.by_name(pgn),
            parameters={"anchor": anchor},
            module="tournament.bayeselo",
        )
    sys.stdout.write(text)
