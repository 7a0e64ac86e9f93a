"""An experiment before it is made: `nnuelab power`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.cli.options import Overlays, Spread
from nnuelab.settings.games import DRAWS, MOST_DRAWS


@app.command()
def power(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Of params.yaml.",
            show_default="all",
            autocompletion=completion.experiments,
        ),
    ] = None,
    sets: Annotated[
        int | None,
        typer.Option(help="Instead of an experiment: this many sets, the anchor included.", min=2),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Nets of each set.", min=1, show_default="as planned")
    ] = None,
    games_per_pairing: Annotated[
        int | None, typer.Option(help="At each limit.", min=2, show_default="as planned")
    ] = None,
    detect: Annotated[
        float | None,
        typer.Option(help="Find seeds and games of least time that tell this difference, Elo."),
    ] = None,
    primary: Annotated[
        bool, typer.Option(help="With --detect: of one set that is named beforehand.")
    ] = False,
    draws: Annotated[
        float,
        typer.Option(help="Share of games between equals that are drawn.", min=0, max=MOST_DRAWS),
    ] = DRAWS,
    spread: Spread = None,
    training_sd: Annotated[
        float | None,
        typer.Option(help="Assume that trainings scatter by this, Elo.", min=0),
    ] = None,
    overlay: Overlays = [],  # noqa: B006 (typer's way to say: none)
    blocks: Blocks = None,
) -> None:
    """Foretell what an experiment will tell and how long it takes, or plan one.

    Prints CSV, a line for each limit of the games: experiment, games_at, sets, seeds,
    games_per_pairing, games; error_games and error (elo_error of the table, of the set that is
    known least); detects: the difference that will be called stronger or weaker in 80 %, among all
    sets; detects_primary: for one set named beforehand; hours of the whole experiment on this
    machine, by the benchmarks of earlier runs where there are any. Without --spread, that of
    params.yaml says how far trainings scatter.

    Example: nnuelab power mobility --detect 15

    Example: nnuelab power --sets 5 --seeds 8 --games-per-pairing 60
    """
    from dataclasses import replace

    from nnuelab.data.parallel import cores
    from nnuelab.params import Plan, plans, read, speed_here
    from nnuelab.params.jobs import check_planned
    from nnuelab.params.models import GAMES
    from nnuelab.params.planning import Planner, of_sets, with_games
    from nnuelab.report.render import print_rows
    from nnuelab.tournament import spread as spreads
    from nnuelab.tournament.power import MOST_SEEDS

    if sets is not None and experiments:
        raise typer.BadParameter("give experiments or --sets, not both")
    if games_per_pairing is not None and (games_per_pairing % 2 or detect is not None):
        raise typer.BadParameter("--games-per-pairing: an even number, and not with --detect")
    if detect is not None and detect <= 0:
        raise typer.BadParameter(f"--detect {detect:g}: it must be greater than 0")
    found = read(overlays=overlay)
    planned = plans(found)
    check_planned(experiments or [], planned)
    file = spread or (Path(found.spread) if found.spread else None)
    planner = Planner(
        found,
        spreads.read(file) if file else [],
        draws,
        training_sd,
        cores(),
        speed_here(planned, overlay, cores()),
    )
    chosen: dict[str, Plan] = (
        {"": of_sets(found, sets)}
        if sets is not None
        else {name: planned[name] for name in experiments or planned}
    )

    def rows(name: str, plan: Plan) -> Iterator[list[object]]:
        if seeds is not None:
            plan = replace(plan, seeds=list(range(1, seeds + 1)))
        played = plan.tournament.yardsticks
        if games_per_pairing is not None:
            plan = with_games(plan, dict.fromkeys(played, games_per_pairing))
        if detect is not None:
            tried = [seeds] if seeds else range(1, MOST_SEEDS + 1)
            plan = planner.cheapest(name, plan, detect, tried, primary=primary)
            numbers = {GAMES[each]: plan.tournament.games_at(each) for each in played}
            words = ", ".join(f"{setting}: {number}" for setting, number in numbers.items())
            print(
                f"{name or 'plan'}: seeds: {plan.seeds}, tournament: {{{words}}}", file=sys.stderr
            )
        nets = len(plan.players)
        for yardstick in played:
            expected = planner.forecast(name, plan, yardstick)
            games = plan.tournament.games_at(yardstick)
            counts = len(plan.entries), len(plan.seeds), games, games * nets * (nets - 1) // 2
            elo = expected.error_games, expected.error, expected.detects, expected.detects_primary
            told = [*counts, *(f"{each:.1f}" for each in elo), f"{planner.hours(plan):.2f}"]
            yield [name, yardstick.title, *told]

    head = ["experiment", "games_at", "sets", "seeds", "games_per_pairing", "games"]
    head += ["error_games", "error", "detects", "detects_primary", "hours"]
    print_rows(head, (row for name, plan in chosen.items() for row in rows(name, plan)))
    for kind in sorted(planner.assumed):
        print(
            f"{kind}: no other experiment of this kind tells how far trainings scatter; taken from "
            "those of other kinds (--training-sd assumes something else)",
            file=sys.stderr,
        )
