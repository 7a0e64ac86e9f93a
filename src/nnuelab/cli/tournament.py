"""Games and what they say: `nnuelab tournament`, `rate`, `sprt` and `ablate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import OWN_BOOK, Blocks, OwnBook, Workers, app
from nnuelab.cli.options import (
    Fixed,
    Group,
    Kind,
    OnePart,
    Parts,
    Spread,
    groups_of,
    limit_of,
    with_settings,
)
from nnuelab.settings.games import Games, Rules
from nnuelab.settings.judge import Judge
from nnuelab.tournament.limits import MARGIN
from nnuelab.tournament.players import PATIENCE
from nnuelab.tournament.words import Format, Model, Runner

Depth = Annotated[int | None, typer.Option(help="Plies per move.", min=1)]
Movetime = Annotated[float | None, typer.Option(help="Time per move, ms.")]


@app.command()
@with_settings(engine_options={"names": ("--engine-option", "--engine-options")})
def tournament(
    *,
    book: Annotated[Path, typer.Option(help="Openings: EPD or PGN, plain, .gz, .zst or .zip.")],
    output: Annotated[Path, typer.Option(help="Games, .pgn.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Nets (`default`: the shipped one) and UCI engines, and names from --players; "
            "without such a name, all of its players.",
            metavar="NAME=NET|NAME=ENGINE|NAME...",
            show_default="all of --players",
        ),
    ] = None,
    players: Annotated[
        Path | None, typer.Option(help="YAML or TOML with players, their options and limits.")
    ] = None,
    format: Annotated[
        Format,
        typer.Option(
            help="Each with each, sets above all with the anchor, the first with the others, or "
            "two players."
        ),
    ] = Format.ROUND_ROBIN,
    anchor: Annotated[
        str | None,
        typer.Option(help="Of anchored: SET or SET,VARIANT that others are compared with."),
    ] = None,
    games: Games,
    depth: Depth = None,
    movetime: Movetime = None,
    clock: Annotated[
        str | None, typer.Option(help="Time for the game + for each move, ms: 100+20.")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="A move may be this late without losing, ms.", show_default=f"{MARGIN:g}"
        ),
    ] = None,
    cost: Annotated[
        Path | None,
        typer.Option(help="Costs of a node (`nnuelab cost`), which --nodes is divided by."),
    ] = None,
    workers: Workers = 0,
    patience: Annotated[
        float, typer.Option(help="Seconds until an engine without a clock counts as hanging.")
    ] = PATIENCE,
    rules: Rules,
    judge: Judge,
    sprt: Annotated[
        str | None,
        typer.Option(help="End a match when this test decides: ELO0,ELO1[,ALPHA,BETA]."),
    ] = None,
    sprt_model: Annotated[Model, typer.Option(help="Their kind of Elo.")] = Model.LOGISTIC,
    runner: Annotated[
        Runner, typer.Option(help="Tournament manager: this one, or an installed one.")
    ] = Runner.OWN,
    part: OnePart = None,
    parts: Parts = None,
    fixed: Fixed = None,
    blocks: Blocks = None,
) -> None:
    """Play a tournament between nets, evaluations and UCI engines, and write its PGN.

    Two games per opening with colours swapped, each opening once per pairing. Interrupted runs
    resume. At fixed nodes or depth the PGN is the same for any number of workers; with --cost, too,
    which gives each player the nodes that cost as much as --nodes of the anchor. A tournament can
    be played in parts, on several machines, and put together by --parts. A player that
    crashes, hangs, is late or plays an illegal move loses that game. The summary is printed, and
    is in the JSON beside the PGN. With --engine, a UCI engine that loads nets plays in place of
    this one, in a process for each net.

    Example: nnuelab tournament ALL=all.nnue H+V=hv.nnue --book book.epd --games-per-pairing 200
    --output games.pgn

    Example: nnuelab tournament new=new.nnue old=old.nnue --book book.epd --format match
    --games-per-pairing 20000 --sprt 0,5 --output match.pgn
    """
    from nnuelab.parts import Part
    from nnuelab.tournament.cost import read as read_costs
    from nnuelab.tournament.players import Defaults, read_players
    from nnuelab.tournament.runner import tournament as play
    from nnuelab.tournament.schedule import Settings
    from nnuelab.tournament.sprt import read_test

    limit = limit_of(Games, nodes=games.nodes, depth=depth, movetime=movetime, clock=clock)
    if players is None and any("=" not in name for name in names or ["?"]):
        raise typer.BadParameter("give players as NAME=NET or NAME=ENGINE, or --players FILE")
    given = [Path(word.partition("=")[2]) for word in names or [] if "=" in word]
    given += [*(parts or []), book, *(blocks or [])]
    given += [file for file in (players, cost) if file is not None]
    artifacts.check_apart(given, [output])
    if part is None:
        artifacts.check_ending(output, "a PGN file", ".pgn")
    else:
        artifacts.check_ending(output, "a part of a tournament", ".part")
    if cost is not None and "nodes" not in limit:
        raise typer.BadParameter("--cost divides --nodes; leave the other limit out")
    costs = None if cost is None else read_costs(cost)
    defaults = Defaults({**limit, "margin": margin}, games.hash, patience, costs, judge)
    entrants = read_players(players, names or [], defaults)
    files = [file for entrant in entrants.values() for file in entrant.files().values()]
    artifacts.check_apart(files, [output])
    test = None if sprt is None else read_test(sprt, sprt_model)
    settings = Settings(games.games_per_pairing, format, games.seed, rules, test, anchor)
    summary = play(
        entrants,
        book,
        output,
        settings,
        processes=workers,
        runner=runner,
        costs=cost,
        fixed=fixed,
        part=None if part is None else Part.parse(part),
        parts=parts or (),
    )
    print(summary, file=sys.stderr)


@app.command()
def rate(
    pgn: Annotated[
        list[Path], typer.Argument(help="PGN files, plain or compressed, or parts of a tournament.")
    ],
    anchor: Annotated[str | None, typer.Option(help="The player whose rating is 0.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the table to this file.")] = None,
    details: Annotated[
        Path | None,
        typer.Option(
            help="JSON: head-to-head, likelihood of superiority, draws, covariance, hashes of nets."
        ),
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option(help="With --details: rate feature sets (players SET#SEED) relative to this."),
    ] = None,
    experiment: Annotated[str, typer.Option(help="With --sets: whose games these are.")] = "",
    kind: Kind = "",
    group: Group = None,
    max_unusable: Annotated[
        int,
        typer.Option(min=0, help="Games without a player or a known result that are left out."),
    ] = 0,
) -> None:
    """Rate the players of PGN files by Ordo's model, with 95 % errors clustered by opening.

    Prints CSV: name, elo, error, points, games, score by elo, descending; score = points / games.
    Games from the same FEN (or of the same players in rounds N.1 and N.2) have their opening in
    common.

    `nnuelab inspect` shows what --details writes.

    Example: nnuelab rate results/tournament/axis.pgn --anchor ALL#1

    Example: nnuelab rate results/tournament/axis.pgn --sets ALL --experiment axis
    --details axis_details.json
    """
    from nnuelab.data.unusable import Unusable
    from nnuelab.report.reading import read_record
    from nnuelab.report.render import print_csv
    from nnuelab.tournament import details as more
    from nnuelab.tournament import ratings
    from nnuelab.tournament.spread import Pooling

    outputs = [path for path in (csv, details) if path is not None]
    artifacts.check_apart(pgn, outputs)
    if sets is not None and details is None:
        raise typer.BadParameter("--sets needs --details; give both")
    unusable = Unusable("games", max_unusable)
    results, fitted = ratings.rated(pgn, anchor, unusable)
    if unusable.count:
        typer.echo(f"games: {unusable.summary()}", err=True)
    table = ratings.to_csv(ratings.table(results, fitted, anchor))
    texts = {csv: table}
    if details is not None:
        pooling = Pooling(experiment, kind, groups_of(group))
        beside = (path.with_name(f"{path.name}.json") for path in pgn)
        records = [read_record(path) for path in beside if path.is_file()]
        told = more.told(results, fitted, anchor, sets, pooling, records)
        texts[details] = more.to_json(told)
    with ExitStack() as written:  # all, or on a full disk none
        for path in outputs:
            written.enter_context(artifacts.atomic(path)).write_text(texts[path])
    for path in outputs:
        artifacts.provenance(
            path,
            inputs=artifacts.by_name(pgn),
            parameters={"anchor": anchor, "sets": sets},
            module="tournament.details",
        )
    print_csv(table)


@app.command()
def spread(
    details: Annotated[
        list[Path], typer.Argument(help="What `nnuelab rate --details --sets` wrote.")
    ],
    csv: Annotated[Path, typer.Option(help="Where the spreads go.")],
) -> None:
    """Gather how far equal trainings scatter in strength, for the errors of further experiments.

    Example: nnuelab spread results/tournament/axis_details.json --csv spread.csv

    Example: nnuelab spread results/published/tournament/cost/*_details.json --csv spread.csv
    """
    from nnuelab.report.inspect import damaged
    from nnuelab.report.reading import read_json
    from nnuelab.tournament import spread as spreads

    artifacts.check_apart(details, [csv])
    rows: list[spreads.Spread] = []
    for path in details:
        with damaged(path):
            rows += [spreads.of_row(row, str(path)) for row in read_json(path, "spread")["spread"]]
    with artifacts.atomic(csv) as temporary:
        temporary.write_text(spreads.to_csv(rows))
    artifacts.provenance(
        csv, inputs=artifacts.by_name(details), parameters={}, module="tournament.spread"
    )


@app.command()
def contrast(
    details: Annotated[
        list[Path], typer.Argument(help="What `nnuelab rate --details --sets` wrote.")
    ],
    plus: Annotated[list[str], typer.Option(help="SET or SET,VARIANT; may be repeated.")],
    minus: Annotated[
        list[str], typer.Option(help="What is subtracted; as many as there are of --plus.")
    ],
    mean: Annotated[
        bool, typer.Option("--mean", help="The mean of the differences, not their sum.")
    ] = False,
    spread: Spread = None,
) -> None:
    """Tell the difference between any sets of an experiment, with its error.

    Prints CSV, a line for each file: details, elo, elo_error_games, elo_error, degrees_of_freedom,
    p. Give all files of an experiment: together they tell how far its trainings scatter, with
    --spread or that of params.yaml. The p is of this comparison alone, so choose it before you
    look.

    Example: nnuelab contrast results/published/tournament/layers_details.json
    --plus ALL,l2-16 --minus ALL,l2-32

    Example: nnuelab contrast results/published/tournament/mirroring_details.json --mean
    --plus "ALL,l2-16,learning_rate-0.001" --minus "ALL,l2-32,learning_rate-0.001"
    --plus "KB(1),l2-16,learning_rate-0.001" --minus "KB(1),l2-32,learning_rate-0.001"
    """
    from nnuelab import params
    from nnuelab.report.inspect import damaged
    from nnuelab.report.reading import read_json
    from nnuelab.report.render import print_rows
    from nnuelab.tournament import contrasts
    from nnuelab.tournament import spread as spreads

    weights = contrasts.weights_of(plus, minus, mean)
    if spread is None and not Path("params.yaml").is_file():
        typer.echo(
            "no params.yaml is here, so what other experiments tell of the spread isn't used; run "
            "this where it is, or give --spread",
            err=True,
        )
    elif spread is None and (told := params.read().spread):
        spread = Path(told)
    found = {}
    for path in details:
        with damaged(path):
            found[str(path)] = read_json(path, "players", "covariance", "spread")
    trainings = contrasts.trainings_of(found, spreads.read(spread) if spread else [])
    lines = []
    for name, each in found.items():
        with damaged(Path(name)):
            row = contrasts.contrast(each, weights, trainings[name])
        numbers = row.elo, row.elo_error_games, row.elo_error, row.degrees_of_freedom, row.p
        lines.append([name, *("" if n is None else f"{n:.4g}" for n in numbers)])
    head = ["details", "elo", "elo_error_games", "elo_error", "degrees_of_freedom", "p"]
    print_rows(head, lines)


@app.command()
def sprt(
    pgn: Annotated[
        list[Path] | None, typer.Argument(help="PGN files, plain or compressed.")
    ] = None,
    player: Annotated[str | None, typer.Option(help="Player whose Elo is tested.")] = None,
    counts: Annotated[
        str | None,
        typer.Option(help="Instead of a PGN: L,D,W of games or 0,1/2,1,3/2,2 points of pairs."),
    ] = None,
    elo0: Annotated[float, typer.Option(help="Null hypothesis.")] = 0.0,
    elo1: Annotated[float, typer.Option(help="Alternative hypothesis.")] = 5.0,
    alpha: Annotated[float, typer.Option(help="Chance of accepting elo1 if elo0 is true.")] = (
        0.05
    ),
    beta: Annotated[float, typer.Option(help="Chance of accepting elo0 if elo1 is true.")] = 0.05,
    model: Annotated[Model, typer.Option(help="Kind of Elo of the hypotheses.")] = Model.LOGISTIC,
) -> None:
    """Test sequentially (GSPRT) whether a player is elo0 or elo1 stronger than its opponents.

    Prints CSV: llr, its bounds lower and upper, verdict (elo0, elo1 or empty: play on), games,
    counts, elo and error (logistic, 95 %). Games pair by players and opening, as in `rate`.

    Example: nnuelab sprt --counts 365,16618,36229,16974,390 --elo0 0 --elo1 2 --model normalized

    Example: nnuelab sprt match.pgn --player new --elo0 0 --elo1 5
    """
    from nnuelab.report.render import print_rows
    from nnuelab.report.sprt import RESULT, result
    from nnuelab.tournament.sprt import Sprt, from_pgn, read_counts

    if (counts is None) == (not pgn):
        raise typer.BadParameter("give --counts, or PGN files with --player")
    test = Sprt(elo0, elo1, alpha, beta, model)
    if counts is not None:
        tally = read_counts(counts)
    elif player is None:
        raise typer.BadParameter("give --player, whose results are tested")
    else:
        tally = from_pgn(pgn or [], player)
    print_rows(RESULT, [result(test, tally, test.verdict(tally))])


@app.command()
def ablate(
    terms: Annotated[
        list[str] | None,
        typer.Argument(help="Terms of the search, or groups of them (A+B); none: each term."),
    ] = None,
    book: OwnBook = OWN_BOOK,
    net: Annotated[
        Path | None,
        typer.Option(
            help="The net of both sides.",
            show_default="the shipped",
            autocompletion=completion.nets,
        ),
    ] = None,
    games: Annotated[int, typer.Option(help="For each term, at most.", min=2)] = 4000,
    nodes: Annotated[int, typer.Option(help="Nodes per move.", min=1)] = 1000,
    workers: Workers = 0,
    blocks: Blocks = None,
) -> None:
    """Measure what a term of the search is worth: play the engine against itself without it.

    Prints CSV: term, elo, error (95 %), games, llr. A test of 0 against 5 Elo ends it early.

    Example: nnuelab ablate null-move delta+futility

    Example: nnuelab ablate late-reduction --net results/nets/ALL/1/net.nnue --nodes 10000
    --games 1000
    """
    from nnuelab.data.parallel import cores
    from nnuelab.engine.terms import TERMS
    from nnuelab.report.render import print_rows
    from nnuelab.tournament import ablation

    groups = {name: name.split("+") for name in terms or TERMS}
    if unknown := {term for group in groups.values() for term in group} - set(TERMS):
        raise typer.BadParameter(
            f"no term {', '.join(sorted(unknown))}; there are {', '.join(TERMS)}"
        )
    if games % 2:
        raise typer.BadParameter(f"{games} games don't form pairs; give an even number")

    def rows() -> Iterator[list[str]]:
        for name, group in groups.items():
            tally = ablation.ablate(group, book, games, nodes, net, workers or cores())
            elo, error = (f"{each:.1f}" for each in tally.elo())
            yield [name, elo, error, str(2 * tally.pairs), f"{ablation.SPRT.llr(tally):.2f}"]

    print_rows(["term", "elo", "error", "games", "llr"], rows())
