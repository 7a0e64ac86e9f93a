"""What an experiment costs, before it runs and afterwards: `nnuelab plan`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.cli.options import Overlays
from nnuelab.settings import MOST_CORES

if TYPE_CHECKING:
    from nnuelab.params.bill import Comparison, Line

JOBS = ("experiment", "rule", "jobs", "core_hours")
FORETOLD = (*JOBS, "gpu_hours", "memory_mb", "disk_mb", "price", "hours")
MEMORY = ("memory_mb", "measured_memory_mb")
MEASURED = (*JOBS, "measured_core_hours", *MEMORY, "hours", "measured_hours")
DRAWN = ("experiment", "stage", "hours", "median_hours", "p95_hours")


@app.command()
def plan(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Of params.yaml.",
            show_default="the one that ./run makes",
            autocompletion=completion.experiments,
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            help="All that there are.", min=1, max=MOST_CORES, show_default="of this machine"
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(help="Folder of a Snakemake profile, whose max-threads a job gets at most."),
    ] = None,
    positions: Annotated[
        float | None,
        typer.Option(
            help="That nets learn from, of games that aren't there yet.",
            min=1,
            show_default="as many as of the embedded games",
        ),
    ] = None,
    price: Annotated[float, typer.Option(help="Of an hour of a core.", min=0)] = 0.0,
    gpu_price: Annotated[float, typer.Option(help="Of an hour of a GPU.", min=0)] = 0.0,
    measured: Annotated[
        bool, typer.Option("--measured", help="Compare with the benchmarks of what has run.")
    ] = False,
    nodes: Annotated[
        int | None,
        typer.Option(
            help="Draw 200 times what happens on so many nodes, with a job's cores each; "
            "prints hours by stage.",
            min=1,
            max=100_000,
        ),
    ] = None,
    slow_nodes: Annotated[
        float, typer.Option(help="With --nodes: share of them half as fast.", min=0, max=1)
    ] = 0.0,
    losses: Annotated[
        float, typer.Option(help="With --nodes: how often one is lost in a day.", min=0, max=1000)
    ] = 0.0,
    store: Annotated[
        float | None,
        typer.Option(
            help="With --nodes: MB a second that all of them read.", min=1, show_default="no limit"
        ),
    ] = None,
    overlay: Overlays = [],  # noqa: B006 (typer's way to say: none)
    blocks: Blocks = None,
) -> None:
    """Foretell what an experiment costs, by rule, or compare that with what it has cost.

    Prints CSV: experiment, rule, jobs, core_hours, gpu_hours, memory_mb (of the largest job),
    disk_mb, price, and in the line `total` of each hours, from nothing to the table. Unit costs are
    scaled by benchmarks of earlier runs, here or by that profile, if there are any. With
    --measured: experiment, rule, jobs that have run, core_hours and memory_mb by the unit costs,
    and measured; in the line `total` hours, from the first job to the last. With --nodes:
    experiment, stage, hours where nothing goes wrong, and median and 95th percentile of 200 draws.

    Example: nnuelab plan axis --cores 64 --profile profiles/slurm --price 0.04

    Example: nnuelab plan axis --measured
    """
    from dataclasses import replace

    from nnuelab.data.parallel import cores as here
    from nnuelab.params import default_experiment, plans, read, results_folder, speed_here
    from nnuelab.params.bill import HOUR, Machines, compared, cores_of_a_job, foretold, span, total
    from nnuelab.params.cluster import Cluster
    from nnuelab.params.cluster import hours as foretold_hours
    from nnuelab.params.jobs import check_planned, jobs_of, wall_seconds
    from nnuelab.report.render import print_rows

    if nodes is None and (slow_nodes or losses or store is not None):
        raise typer.BadParameter("--slow-nodes, --losses and --store go with --nodes")
    found = read(overlays=overlay)
    planned = plans(found)
    check_planned(experiments or [], planned)
    chosen = experiments or [default_experiment(found)]
    job_cores = None if profile is None else cores_of_a_job(profile)
    machines = Machines(cores or here(), job_cores, price, gpu_price)
    jobs = {name: jobs_of(name, replace(planned[name], expected=positions)) for name in chosen}
    told: list[list[str]] = []
    if measured:
        benchmarks = artifacts.logs_of(results_folder(overlay)) / "benchmarks"
        for name in chosen:
            ran = compared(jobs[name], benchmarks, machines.most)
            if not ran:
                print(f"{name}: no job has left a benchmark in {benchmarks}", file=sys.stderr)
                continue
            told += [[name, *_comparison(row), "", ""] for row in ran]
            hours = wall_seconds(jobs[name], machines.cores, {}, job_cores) / HOUR
            last = [f"{hours:.4f}", f"{span(jobs[name], benchmarks):.4f}"]
            told.append([name, *_comparison(total(ran)), *last])
        print_rows(MEASURED, told)
        return
    speed = speed_here(planned, overlay, job_cores or here())
    if nodes is not None:
        cluster = Cluster(nodes, job_cores or here(), slow_nodes, losses, store or float("inf"))
        for name in chosen:
            scaled = [replace(j, seconds=j.seconds * speed.get(j.rule, 1.0)) for j in jobs[name]]
            for stage, found_hours in foretold_hours(scaled, cluster).items():
                told.append([name, stage, *(f"{each:.2f}" for each in found_hours)])
        print_rows(DRAWN, told)
        return
    for name in chosen:
        lines = foretold(jobs[name], machines, speed)
        told += [[name, *_line(line), ""] for line in lines]
        hours = wall_seconds(jobs[name], machines.cores, speed, job_cores) / HOUR
        told.append([name, *_line(total(lines)), f"{hours:.4f}"])
    print_rows(FORETOLD, told)
    if planned[chosen[0]].selfplay is None and found.data.source != "embedded" and not positions:
        print(
            f"data.source {found.data.source}: taken for as many games as the embedded ones; "
            "--positions tells more",
            file=sys.stderr,
        )


def _line(line: Line) -> list[str]:
    hours = f"{line.core_hours:.4f}", f"{line.gpu_hours:.4f}"
    sizes = f"{line.memory:.0f}", f"{line.disk:.1f}"
    return [line.rule, str(line.jobs), *hours, *sizes, f"{line.price:.2f}"]


def _comparison(row: Comparison) -> list[str]:
    hours = f"{row.foretold:.4f}", f"{row.measured:.4f}"
    return [row.rule, str(row.jobs), *hours, f"{row.memory:.0f}", f"{row.measured_memory:.0f}"]
