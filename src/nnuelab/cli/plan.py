"""What an experiment costs, before it runs and afterwards: `nnuelab plan`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.cli.options import Overlays
from nnuelab.settings import MOST_CORES


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
    from nnuelab.params.bill import HOUR, Machines, compared, cores_of_a_job, foretold, span
    from nnuelab.params.cluster import Cluster
    from nnuelab.params.cluster import hours as foretold_hours
    from nnuelab.params.jobs import check_planned, jobs_of, wall_seconds

    if nodes is None and (slow_nodes or losses or store is not None):
        raise typer.BadParameter("--slow-nodes, --losses and --store go with --nodes")
    found = read(overlays=overlay)
    planned = plans(found)
    check_planned(experiments or [], planned)
    chosen = experiments or [default_experiment(found)]
    job_cores = None if profile is None else cores_of_a_job(profile)
    machines = Machines(cores or here(), job_cores, price, gpu_price)
    jobs = {name: jobs_of(name, replace(planned[name], expected=positions)) for name in chosen}
    if measured:
        benchmarks = artifacts.logs_of(results_folder(overlay)) / "benchmarks"
        print(
            "experiment,rule,jobs,core_hours,measured_core_hours,memory_mb,measured_memory_mb,"
            "hours,measured_hours"
        )
        for name in chosen:
            rows = compared(jobs[name], benchmarks, machines.most)
            for row in rows:
                print(
                    f"{name},{row.rule},{row.jobs},{row.foretold:.4f},{row.measured:.4f},"
                    f"{row.memory:.0f},{row.measured_memory:.0f},,"
                )
            if not rows:
                print(f"{name}: no job has left a benchmark in {benchmarks}", file=sys.stderr)
                continue
            hours = wall_seconds(jobs[name], machines.cores, {}, job_cores) / HOUR
            print(
                f"{name},total,{sum(row.jobs for row in rows)},"
                f"{sum(row.foretold for row in rows):.4f},"
                f"{sum(row.measured for row in rows):.4f},{max(row.memory for row in rows):.0f},"
                f"{max(row.measured_memory for row in rows):.0f},{hours:.4f},"
                f"{span(jobs[name], benchmarks):.4f}"
            )
        return
    speed = speed_here(planned, overlay, job_cores or here())
    if nodes is not None:
        cluster = Cluster(nodes, job_cores or here(), slow_nodes, losses, store or float("inf"))
        print("experiment,stage,hours,median_hours,p95_hours")
        for name in chosen:
            scaled = [replace(j, seconds=j.seconds * speed.get(j.rule, 1.0)) for j in jobs[name]]
            for stage, found_hours in foretold_hours(scaled, cluster).items():
                print(f"{name},{stage}," + ",".join(f"{each:.2f}" for each in found_hours))
        return
    print("experiment,rule,jobs,core_hours,gpu_hours,memory_mb,disk_mb,price,hours")
    for name in chosen:
        lines = foretold(jobs[name], machines, speed)
        for line in lines:
            print(
                f"{name},{line.rule},{line.jobs},{line.core_hours:.4f},{line.gpu_hours:.4f},"
                f"{line.memory:.0f},{line.disk:.1f},{line.price:.2f},"
            )
        hours = wall_seconds(jobs[name], machines.cores, speed, job_cores) / HOUR
        print(
            f"{name},total,{sum(line.jobs for line in lines)},"
            f"{sum(line.core_hours for line in lines):.4f},"
            f"{sum(line.gpu_hours for line in lines):.4f},{max(line.memory for line in lines):.0f},"
            f"{sum(line.disk for line in lines):.1f},{sum(line.price for line in lines):.2f},"
            f"{hours:.4f}"
        )
    if planned[chosen[0]].selfplay is None and found.data.source != "embedded" and not positions:
        print(
            f"data.source {found.data.source}: taken for as many games as the embedded ones; "
            "--positions tells more",
            file=sys.stderr,
        )
