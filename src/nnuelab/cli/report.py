"""Commands of results and settings: table, inspect, params."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, Commands, app, named_files
from nnuelab.cli.options import Fixed, Group, Overlays, Spread, groups_of
from nnuelab.errors import UserError

params = typer.Typer(
    cls=Commands, help="Check params.yaml, or print its schema.", no_args_is_help=True
)
app.add_typer(params, name="params")


@app.command()
def table(
    nets: Annotated[
        list[str],
        typer.Argument(
            help="Nets with history.csv, verify.json and, if any, puzzles.json beside them; with "
            "their names in the games if these aren't their feature sets.",
            metavar="NET|NAME=NET...",
            autocompletion=completion.nets,
        ),
    ],
    experiment: Annotated[
        str, typer.Option(help="Its name.", autocompletion=completion.experiments)
    ],
    pgn: Annotated[Path, typer.Option(help="Games of its tournament.")],
    csv: Annotated[Path, typer.Option(help="The table.")],
    markdown: Annotated[Path, typer.Option(help="The same as Markdown.")],
    anchor: Annotated[str, typer.Option(help="SET or SET,VARIANT whose Elo is 0.")] = "ALL",
    cost_pgn: Annotated[
        Path | None, typer.Option(help="Games of the same nets at equal cost.")
    ] = None,
    deep_pgn: Annotated[
        Path | None, typer.Option(help="Games of the same nets with more nodes per move.")
    ] = None,
    deep_cost_pgn: Annotated[
        Path | None, typer.Option(help="Those with more nodes at equal cost.")
    ] = None,
    time_pgn: Annotated[
        Path | None, typer.Option(help="Games of the same nets at fixed time per move.")
    ] = None,
    cost: Annotated[
        Path | None, typer.Option(help="What a node costs: CSV of `nnuelab cost`.")
    ] = None,
    statistics: Annotated[
        list[Path] | None,
        typer.Option(help="CSV of `features stats` for a set; may be repeated."),
    ] = None,
    spread: Spread = None,
    imported: Annotated[
        list[str] | None,
        typer.Option(help="SET,NAME of a net without history and proof, made elsewhere."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="COLUMN=KIND, by the column of an Elo: of the games and trainings. Spreads of one "
            "kind are pooled. Repeatable."
        ),
    ] = None,
    group: Group = None,
    fixed: Fixed = None,
    question: Annotated[str, typer.Option(help="What it asks, for its page.")] = "",
    blocks: Blocks = None,
) -> None:
    """Make the table of an experiment: one row per feature set and variant.

    Example: nnuelab table results/nets/ALL/*/net.nnue results/nets/H+V/*/net.nnue --experiment axis
    --pgn results/tournament/axis.pgn --csv axis.csv --markdown axis.md

    Example: nnuelab table results/nets/ALL/*/net.nnue results/nets/H+V/*/net.nnue --experiment axis
    --pgn results/tournament/axis.pgn --cost results/tournament/cost/axis.csv
    --cost-pgn results/tournament/axis_cost.pgn --csv axis.csv --markdown axis.md
    """
    from nnuelab import artifacts
    from nnuelab.report import hypotheses, readable, reading
    from nnuelab.report import table as tables
    from nnuelab.tournament import spread as spreads
    from nnuelab.tournament import yardsticks
    from nnuelab.tournament.cost import read as read_costs

    paths = named_files(nets)
    have_names = all(name != str(path) for name, path in paths.items())
    names = ("history.csv", "verify.json", "puzzles.json")
    beside = [net.with_name(name) for net in paths.values() for name in names]
    given = {
        yardsticks.COST: cost_pgn,
        yardsticks.DEEP: deep_pgn,
        yardsticks.DEEP_COST: deep_cost_pgn,
        yardsticks.TIME: time_pgn,
    }
    others = {yardstick: path for yardstick, path in given.items() if path is not None}
    read = [path for path in (pgn, cost, spread, *others.values()) if path is not None]
    read += statistics or []
    artifacts.check_apart([*paths.values(), *beside, *read, *(blocks or [])], [csv, markdown])
    players = paths if have_names else paths.values()
    costs = None if cost is None else read_costs(cost)
    known = spreads.read(spread) if spread is not None else []
    groups = groups_of(group)
    kinds = dict(word.partition("=")[::2] for word in kind or [])
    if unknown := kinds.keys() - {yardstick.column for yardstick in yardsticks.ALL}:
        raise UserError(f"kind {min(unknown)}: it must be COLUMN=KIND, such as elo='nodes 400'")
    pooling = {
        yardstick: spreads.Pooling(experiment, kinds.get(yardstick.column, ""), groups, known)
        for yardstick in yardsticks.ALL
    }
    rows = tables.build(
        experiment,
        players,
        pgn,
        anchor,
        others,
        statistics or [],
        costs,
        pooling,
        imported or (),
    )
    played = {yardsticks.NODES: pgn, **others}
    told = {} if fixed is None else hypotheses.told(fixed, played)
    told |= {"question": question} if question else {}
    told |= {"imported": imported} if imported else {}
    deep = reading.nodes_in(deep_pgn, anchor) if deep_pgn else 0
    told |= {"nodes_deep": deep} if deep else {}
    for path, text in (
        (csv, tables.to_csv(rows)),
        (markdown, readable.to_markdown(experiment, rows, anchor, deep)),
    ):
        with artifacts.atomic(path) as temporary:
            temporary.write_text(text)
        artifacts.provenance(
            path,
            inputs={**{str(source): source for source in read}, **paths},
            parameters={"experiment": experiment, "anchor": anchor, **told},
            module="report.readable",
        )


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(help="Any file that a stage reads or writes.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    blocks: Blocks = None,
    plot: Annotated[Path | None, typer.Option(help="Figure, .svg, .png or .html.")] = None,
    positions: Annotated[
        Path | None, typer.Option(help="For a net: a dataset to try its neurons on.")
    ] = None,
) -> None:
    """Show what a file is, where it came from, and what is in it.

    Example: nnuelab inspect results/axis_table.csv --plot axis.svg

    Example: nnuelab inspect results/nets/ALL/1/net.nnue --positions results/data/validation.npy
    """
    import json as encoder

    from nnuelab import artifacts
    from nnuelab.report import inspect as summaries
    from nnuelab.report import render

    if plot is not None:
        from nnuelab import charts
        from nnuelab.report import inspect_plots

        artifacts.check_ending(plot, "a figure", *charts.FORMATS)
        artifacts.check_apart([path], [plot])
    summary = summaries.inspect(path, positions)
    if plot is not None:
        charts.save(plot, inspect_plots.figure(summary))
    if json:
        print(encoder.dumps(summary.to_json(), indent=2, default=str))
    else:
        with render.output() as console:
            render.show(summary, console)


@app.command()
def diff(
    a: Annotated[
        Path,
        typer.Argument(help="A net, dataset, tournament, table or ratings; or a run's folder."),
    ],
    b: Annotated[Path, typer.Argument(help="Another of the same kind.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    positions: Annotated[
        Path | None, typer.Option(help="For nets: a dataset whose positions both evaluate.")
    ] = None,
    blocks: Blocks = None,
) -> None:
    """Show what differs between two files, or the tables of two runs, and by how much.

    Example: nnuelab diff results results-tiny

    Example: nnuelab diff results/nets/ALL/1/net.nnue results/nets/ALL/2/net.nnue
    --positions results/data/validation.npy
    """
    import json as encoder

    from nnuelab.report import diff as differences
    from nnuelab.report import render

    found = {pair: differences.diff(*pair, positions) for pair in differences.pairs(a, b)}
    if json:
        told = {one.name: difference.to_json() for (one, _), difference in found.items()}
        print(encoder.dumps(told if a.is_dir() else told[a.name], indent=2, default=str))
    else:
        with render.output() as console:
            for pair, difference in found.items():
                render.show_difference(difference, *pair, console)


@params.command()
def check(
    file: Annotated[Path, typer.Argument(help="The settings.")] = Path("params.yaml"),
    overlay: Overlays = [],  # noqa: B006 (typer's way to say: none)
) -> None:
    """Check the settings; every error is reported with its path.

    Example: nnuelab params check --overlay config/tiny.yaml

    Example: nnuelab params check --overlay config/tiny.yaml --overlay mine.yaml
    """
    from nnuelab.params import Params, ParamsError, check_files, plans, read

    try:
        found = read(file, overlay)
    except ParamsError as error:
        if not {f"{section}: missing" for section in Params.model_fields}.isdisjoint(
            error.mistakes
        ):
            raise UserError(
                f"{file} lacks whole sections of settings; an overlay is checked together with "
                f"params.yaml: nnuelab params check --overlay {file}"
            ) from None
        raise
    check_files(found, " + ".join(map(str, (file, *overlay))))
    nets = {net for plan in plans(found).values() for net in plan.players.values()}
    typer.echo(f"{file}: {len(found.experiments)} experiments, {len(nets)} nets", err=True)


@params.command(name="list")
def list_targets(
    overlay: Overlays = [],  # noqa: B006 (typer's way to say: none)
) -> None:
    """List the experiments and what else the workflow makes, with their minutes on this machine.

    Example: nnuelab params list --overlay config/tiny.yaml

    Example: nnuelab params list
    """
    from textwrap import shorten

    from rich.table import Table

    from nnuelab.data.parallel import cores
    from nnuelab.params import (
        default_experiment,
        minutes,
        plans,
        policy_minutes,
        read,
        results_folder,
        selfplay_minutes,
        texel_minutes,
    )
    from nnuelab.report import render

    found = read(overlays=overlay)
    folder = results_folder(overlay)
    shown = Table("target", "minutes", "what it is", box=None, pad_edge=False)
    shown.columns[1].justify = "right"
    for name, plan in plans(found).items():
        sets = shorten(" ".join(str(entry.name) for entry in plan.entries), 30, placeholder=" ...")
        about, asked = f"{minutes(plan, cores()):.0f}", found.experiments[name].question or sets
        shown.add_row(f"{folder}/{name}_table.csv", about, f"{len(plan.players)} nets: {asked}")
    about = f"{texel_minutes(found, cores()):.0f}"
    runs = shorten(" ".join(found.texel.tuners), 30, placeholder=" ...")
    shown.add_row(f"{folder}/texel/match_table.txt", about, f"tuned evaluations: {runs}")
    about = f"{policy_minutes(found, cores()):.0f}"
    runs = shorten(" ".join(found.policy.variants), 30, placeholder=" ...")
    shown.add_row(f"{folder}/policy_table.csv", about, f"policies: {runs}")
    about = f"{selfplay_minutes(found, cores()):.0f}"
    runs = shorten(" ".join(found.policy.selfplay.runs), 30, placeholder=" ...")
    shown.add_row(f"{folder}/policy/vs_random.csv", about, f"self-taught policies: {runs}")
    default = default_experiment(found)
    for target, what in (
        ("all", f"the table of {default}, as without a target"),
        ("all_experiments", "all of these tables"),
        ("report", f"the page of {', '.join(found.report or [default])}"),
        ("generations", "nets that learn from self-play"),
        ("texel", "the match of tuned evaluations, their tables, what their terms are worth"),
        (f"{folder}/ladder.csv", "this engine, what it has tuned and taught, among installed ones"),
        ("data, nets, tournaments, statistics", f"the stages of {default}"),
    ):
        shown.add_row(target, "", what)
    with render.output() as console:
        console.print(shown)
    typer.echo(f"minutes: about, from nothing, on {cores()} cores", err=True)


@params.command()
def schema() -> None:
    """Print the JSON schema of params.yaml, for editors.

    Example: nnuelab params schema > params.schema.json

    Example: nnuelab params schema | diff params.schema.json -
    """
    from nnuelab import params as models

    typer.echo(models.schema(), nl=False)
