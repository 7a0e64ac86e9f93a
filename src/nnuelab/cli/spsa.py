"""Command spsa: numbers tuned by game play."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import OWN_BOOK, Blocks, OwnBook, Workers, app
from nnuelab.cli.options import limit_of, with_settings
from nnuelab.settings.games import Rules
from nnuelab.settings.spsa import Spsa


@app.command()
@with_settings()
def spsa(
    *,
    output: Annotated[
        Path,
        typer.Option(help="The tuned evaluation; of constants a player for `tournament`; .yaml."),
    ],
    history: Annotated[Path, typer.Option(help="The way there, .csv.")],
    tune: Annotated[
        list[str] | None,
        typer.Option(
            help="Weights of --evaluation by number, label or term; * for any letters. "
            "May be repeated.",
            metavar="PATTERN[=STEP[,MIN,MAX]]",
        ),
    ] = None,
    constant: Annotated[
        list[str] | None,
        typer.Option(help="Instead: constants of the search.", metavar="PATTERN[=STEP[,MIN,MAX]]"),
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(help="Hand-crafted evaluation to play with.", show_default="the shipped"),
    ] = None,
    net: Annotated[
        Path | None,
        typer.Option(
            help="With --constant: the net to play with.",
            show_default="the shipped",
            autocompletion=completion.nets,
        ),
    ] = None,
    book: OwnBook = OWN_BOOK,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the values, .svg, .png or .html.")
    ] = None,
    settings: Spsa,
    depth: Annotated[int | None, typer.Option(min=1, help="Plies per move, instead of nodes.")] = (
        None
    ),
    rules: Rules,
    workers: Workers = 0,
    blocks: Blocks = None,
) -> None:
    """Tune weights of an evaluation, or constants of the search, by game play (SPSA).

    Killed and started again, it continues; the files are the same for any number of workers. A
    pattern is a number's name (`bishop_pair mg`), label (`material[*]`) or term (`mobility`); STEP
    is how far the last iterations look to both sides. Where several match, the last one counts.

    Example: nnuelab spsa --tune 'bishop_pair=10,0,200' --tune 'mobility*' --output tuned.yaml
    --history spsa.csv

    Example: nnuelab spsa --constant 'futility*' --net results/nets/ALL/1/net.nnue
    --iterations 10000 --output tuned.yaml --history spsa.csv
    """
    from nnuelab.evaluator import read
    from nnuelab.hce.evaluation import DEFAULT
    from nnuelab.hce.evaluator import HceEvaluator
    from nnuelab.tournament import spsa as algorithm
    from nnuelab.tournament import spsa_games as games
    from nnuelab.tournament.limits import Limit

    if tune and constant:
        raise typer.BadParameter("give --tune or --constant, not both")
    if net is not None and (evaluation is not None or not constant):
        raise typer.BadParameter("--net is for --constant, without --evaluation")
    if settings.nodes is not None and depth is not None:
        raise typer.BadParameter("give --nodes or --depth, not both")
    given = [book, *(file for file in (evaluation, net) if file is not None), *(blocks or [])]
    artifacts.check_apart(given, [output, history, *([plot] if plot is not None else [])])
    artifacts.check_ending(output, "what is tuned", ".yaml", ".yml")
    artifacts.check_ending(history, "a history", ".csv")
    if plot is not None:
        artifacts.check_ending(plot, "a figure", ".svg", ".png", ".html")

    limit = Limit(**limit_of(Spsa, nodes=settings.nodes, depth=depth))
    more = (book, limit, settings.hash, settings.seed, rules)
    subject: games.Games
    if constant:
        chosen = games.constants(constant)
        player = {"net": str(net or "default")} if evaluation is None else {"hce": str(evaluation)}
        subject = games.Constants(read(evaluation or net), chosen, *more, player)
    else:
        evaluator = HceEvaluator(evaluation or DEFAULT)
        chosen = games.weights(evaluator.evaluation, tune or [])
        subject = games.Weights(evaluator, chosen, *more)
    values = algorithm.tune(subject, settings, output, history, workers)
    if plot is not None:
        from nnuelab import charts

        charts.save(plot, algorithm.figure(chosen, values))
        artifacts.provenance(plot, inputs={"history": history}, module="tournament.spsa")
    for parameter, value in zip(chosen, values[-1].tolist(), strict=True):
        typer.echo(f"{parameter.name}: {parameter.start} -> {value:.1f}", err=True)
