"""From games to tables of Elo differences: one rule per stage, each a command of `nnuelab`.

Needs params.yaml (with overlays by --configfile); makes results/EXPERIMENT_table.csv and .md: of the
experiment axis by default, of every one by `snakemake all_experiments`.
"""

import platform
import time

from snakemake.utils import min_version

min_version("9.27")  # pathvars


configfile: "params.yaml"


include: "rules/common.smk"
include: "rules/selfplay_common.smk"
include: "rules/sprt_common.smk"
include: "rules/texel_common.smk"
include: "rules/data.smk"
include: "rules/nets.smk"
include: "rules/policy.smk"
include: "rules/policy_selfplay.smk"
include: "rules/tournament.smk"
include: "rules/sprt.smk"
include: "rules/table.smk"
include: "rules/selfplay.smk"
include: "rules/pqr.smk"
include: "rules/search.smk"
include: "rules/texel.smk"
include: "rules/report.smk"


wildcard_constraints:
    seed=r"\d+",
    generation=r"\d+",


rule all:
    default_target: True
    input:
        f"<results>/{DEFAULT}_table.csv",


rule all_experiments:
    input:
        expand("<results>/{experiment}_table.csv", experiment=settings.experiments),


if workflow.is_main_process:
    inform_logger()


STARTED = time.time()


onstart:
    # For ./run, which unlocks what a killed run has left, but not what another machine works on.
    Path(".snakemake/host").write_text(platform.node())
    # With a limit of jobs per timespan, which this workflow has no use for, Snakemake looks for jobs to
    # start once in each, and once more for each job that is done: after a few hundred, half a core
    # goes to that, which games at a fixed time would miss. No --max-jobs-per-timespan turns it off,
    # and a run with a longer one ends only when the last of them is over.
    workflow.scheduler.job_rate_limiter = None


onsuccess:
    Path(FAILED).unlink(missing_ok=True)
    tables = [Path(table) for table in rules.all_experiments.input]
    made = [t for t in tables if t.exists() and t.stat().st_mtime >= STARTED]
    if made:
        command = "./run" if Path("run").exists() else "snakemake"
        print(
            f"Next: {command} report makes {RESULTS}/report.html: plots, games and weights"
        )
    for table in made:
        shell("nnuelab inspect {table:q}")
    match = Path(f"{RESULTS}/texel/match_table.txt")
    if match.exists() and match.stat().st_mtime >= STARTED:
        print(f"{match}:\n{match.read_text()}", end="")
    policies = Path(f"{RESULTS}/policy_table.csv")
    if policies.exists() and policies.stat().st_mtime >= STARTED:
        shell("nnuelab inspect {policies:q}")
