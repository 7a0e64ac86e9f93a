"""From everything that was made to one page to look at.

Needs the tables, nets and games of the experiments that params.yaml has under `report`, of the default
one where it has none; makes results/report.html. Where there are policies, makes
results/policy_agreement.csv, too: which moves of these games they would have chosen.
"""

REPORTED = settings.report or [DEFAULT]
OF_MOVES = [
    name
    for name in REPORTED
    if any(entry.train.method != "scores" for entry in plan_of[name].entries)
]


rule statistics:
    input:
        statistics_of(REPORTED),
        expand("<results>/statistics/pqr/{experiment}.json", experiment=OF_MOVES),


rule policy_agreement:
    input:
        policies=FIRST_POLICIES.values(),
        games=expand("<results>/tournament/{experiment}.pgn", experiment=REPORTED),
    output:
        csv="<results>/policy_agreement.csv",
    log:
        "<logs>/policy/agreement.log",
    conda:
        "environment.yaml"
    params:
        code=code(
            "report.agreement", sets=[each.feature_set for each in POLICIES.values()]
        ),
        policies=lambda w, input: [
            f"{name}={path}"
            for name, path in zip(FIRST_POLICIES, input.policies, strict=True)
        ],
        games=lambda w, input: [f"--games={path}" for path in input.games],
    message:
        "Which moves of the games policies would have chosen"
    shell:
        "nnuelab policy agreement {params.policies:q} {params.games:q} --csv {output.csv:q} 2> {log:q}"


rule report:
    input:
        tables=expand("<results>/{experiment}_table.csv", experiment=REPORTED),
        ratings=[
            f"<results>/tournament/{played}_ratings.csv"
            for experiment in REPORTED
            for played in games_of(experiment)
        ],
        games=expand("<results>/tournament/{experiment}.pgn", experiment=REPORTED),
        nets=[of_nets(experiment, "net.nnue") for experiment in REPORTED],
        histories=[of_nets(experiment, "history.csv") for experiment in REPORTED],
        errors=[of_nets(experiment, "verify.json") for experiment in REPORTED],
        puzzles=[of_nets(experiment, "puzzles.csv") for experiment in REPORTED],
        statistics=rules.statistics.input,
        positions="<results>/data/validation.npy",
        sample=[] if LABELLED else "<results>/data/sample_report.json",
        tested=lambda w: tested_there(),
        tuned=lambda w: tuned_there(),
        policies=lambda w: policies_there(),
    output:
        page=report(
            "<results>/report.html",
            caption="captions/page.rst",
            category="Page",
            labels={"what": "all of it, with games and weights"},
        ),
        # A folder, because the data decide which figures there are. Those inside are DVC's, which would
        # take Snakemake's time stamp for one of its files.
        files=report(
            directory("<results>/report"),
            patterns=["figures/{figure}.svg"],
            caption="captions/figures.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        "<logs>/report.log",
    conda:
        "environment.yaml"
    params:
        code=code(
            "report.page",
            sets=sets_of(REPORTED),
            files=(PACKAGE / "report/page").glob("*.*"),
        ),
        answers=code_hash(None, more=[str(answer) for answer in answers()]),
        experiments=REPORTED,
        results=lambda w, output: str(Path(output.page).parent),
    message:
        "Page of all results"
    shell:
        "nnuelab report {params.experiments:q} --results {params.results:q} --output {output.page:q}"
        " --figures {output.files:q}/figures --metrics {output.files:q}/metrics 2> {log:q}"


MADE = [
    name
    for name in settings.experiments
    if Path(f"{RESULTS}/{name}_table.csv").exists()
] or [DEFAULT]


# Of the experiments that are made. Which figures there are is for the data to decide.
rule paper:
    input:
        tables=expand("<results>/{experiment}_table.csv", experiment=MADE),
        games=expand("<results>/tournament/{experiment}.pgn", experiment=MADE),
        nets=[of_nets(experiment, "net.nnue") for experiment in MADE],
        histories=[of_nets(experiment, "history.csv") for experiment in MADE],
        errors=[of_nets(experiment, "verify.json") for experiment in MADE],
    output:
        files=directory("<results>/paper"),
    log:
        "<logs>/paper.log",
    conda:
        "environment.yaml"
    params:
        code=code("report.paper", sets=sets_of(MADE)),
        experiments=MADE,
        results=lambda w, output: str(Path(output.files).parent),
    message:
        "Tables and figures of a paper"
    shell:
        "nnuelab paper {params.experiments:q} --results {params.results:q} --output {output.files:q} 2> {log:q}"


# After a job that failed a page of what there is says what isn't. No rule makes it.
FAILED = f"{RESULTS}/failed.html"


onerror:
    if "report" in workflow.dag_settings.targets:
        shell(
            "nnuelab report {REPORTED:q} --results {RESULTS:q} --output {FAILED:q}"
        )
