"""From everything that was made to one page to look at.

Needs the tables, nets and games of the experiments that were made in this folder; on a fresh clone
it makes the first one. Makes results/report.html.
"""

MADE = [
    name
    for name in settings.experiments
    if Path(f"results/tournament/{name}_ratings.csv").exists()
] or [DEFAULT]
JUDGED = [
    name
    for name in MADE
    if any(entry.train.method != "scores" for entry in plan_of[name].entries)
    or Path(f"results/pqr/{name}.json").exists()
]


rule statistics:
    input:
        statistics_of(MADE),


rule report:
    input:
        tables=expand("results/{experiment}_table.csv", experiment=MADE),
        ratings=[
            f"results/tournament/{played}_ratings.csv"
            for experiment in MADE
            for played in yardsticks(experiment)
        ],
        games=expand("results/tournament/{experiment}.pgn", experiment=MADE),
        nets=[of_nets(experiment, "net.nnue") for experiment in MADE],
        histories=[of_nets(experiment, "history.csv") for experiment in MADE],
        errors=[of_nets(experiment, "verify.json") for experiment in MADE],
        puzzles=[of_nets(experiment, "puzzles.csv") for experiment in MADE],
        triplets=expand("results/pqr/{experiment}.json", experiment=JUDGED),
        statistics=rules.statistics.input,
        positions="results/data/validation.npy",
        sample="results/data/sample_report.json",
    output:
        page=report(
            "results/report.html",
            caption="captions/page.rst",
            category="Page",
            labels={"what": "all of it, with games and weights"},
        ),
        # The folders inside are DVC's, which would take Snakemake's time stamp for one of its files.
        files=report(
            directory("results/report"),
            patterns=["figures/{figure}.svg"],
            caption="captions/figures.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        "logs/report.log",
    conda:
        "environment.yaml"
    params:
        code=code(
            "report.page",
            sets=sets_of(MADE),
            files=(PACKAGE / "report/page").glob("*.*"),
        ),
        experiments=list(settings.experiments),
    message:
        "Page of all results"
    shell:
        "nnuelab report {params.experiments:q} --output {output.page:q}"
        " --figures {output.files:q}/figures --metrics {output.files:q}/metrics 2> {log:q}"


# After a job that failed the page is made of what there is, and says in its place what isn't. It is as
# old as can be: the next run makes it anew, whatever is mended.
onerror:
    if "report" in workflow.dag_settings.targets:
        page = rules.report.output.page
        shell(f"nnuelab report {' '.join(settings.experiments)} --output {page}")
        os.utime(page, (1, 1))
