"""From games to tables of Elo differences: one rule per stage, each a command of `nnuelab`.

Needs params.yaml (with overlays by --configfile); makes results/EXPERIMENT_table.csv and .md: of the
experiment axis by default, of every one by `snakemake all_experiments`.
"""

import time

from snakemake.utils import min_version

min_version("9.0")


configfile: "params.yaml"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/nets.smk"
include: "rules/tournament.smk"
include: "rules/table.smk"
include: "rules/selfplay.smk"
include: "rules/pqr.smk"
include: "rules/report.smk"


wildcard_constraints:
    seed=r"\d+",
    generation=r"\d+",


rule all:
    default_target: True
    input:
        f"results/{DEFAULT}_table.csv",


rule all_experiments:
    input:
        expand("results/{experiment}_table.csv", experiment=settings.experiments),


STARTED = time.time()


onstart:
    # With a limit of jobs per second, which this workflow has no use for, Snakemake looks for jobs to
    # start once a second, and once more for each job that is done: after a few hundred, half a core
    # goes to that, which games at a fixed time would miss.
    workflow.scheduler.job_rate_limiter = None


onsuccess:
    tables = [Path(table) for table in rules.all_experiments.input]
    made = [t for t in tables if t.exists() and t.stat().st_mtime >= STARTED]
    for table in made:
        shell("nnuelab inspect {table}")
    if made:
        print(
            "Next: ./run report makes results/report.html: plots, games and weights"
        )
