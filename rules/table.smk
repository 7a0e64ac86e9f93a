"""From histories, proofs, puzzles and games to the table of an experiment.

Needs the nets with history, proof and puzzles beside them, and the games; makes
results/{experiment}_table.csv and .md, which are kept in git, and results/statistics/{name}.csv: how
many features of a set are active, what a move changes, and what that costs.
"""


rule count:
    input:
        positions="<results>/data/validation.npy",
    output:
        table=report(
            "<results>/statistics/{name}.csv",
            caption="captions/statistics.rst",
            category="Feature sets",
            labels={"feature set": "{name}", "what": "statistics"},
        ),
    log:
        "<logs>/count/{name}.log",
    benchmark:
        "<benchmarks>/count/{name}.tsv"
    conda:
        "environment.yaml"
    params:
        code=lambda w: code("report.feature_statistics", sets=[EXPRESSIONS[w.name]]),
        features=lambda w: EXPRESSIONS[w.name],
        l1=settings.train.l1,
    message:
        "Statistics of the features of {params.features}"
    shell:
        "nnuelab features stats {params.features:q} {input.positions:q} --l1 {params.l1:q}"
        " --positions 5000 --csv {output.table:q} > {log:q} 2>&1"


rule table:
    input:
        nets=lambda w: of_nets(w.experiment, "net.nnue"),
        histories=lambda w: of_nets(w.experiment, "history.csv"),
        times=lambda w: of_nets(w.experiment, "history_times.csv"),
        errors=lambda w: of_nets(w.experiment, "verify.json"),
        puzzles=lambda w: of_nets(w.experiment, "puzzles.json"),
        games="<results>/tournament/{experiment}.pgn",
        others=lambda w: [
            f"<results>/tournament/{played}.pgn"
            for played in games_of(w.experiment)[1:]
        ],
        costs=lambda w: costs_of(w.experiment),
        ratings=lambda w: [
            f"<results>/tournament/{played}_{what}"
            for played in games_of(w.experiment)
            for what in ("ratings.csv", "details.json")
        ],
        statistics=lambda w: statistics_of([w.experiment]),
        spread=settings.spread or [],
    output:
        table=report(
            "<results>/{experiment}_table.csv",
            caption="captions/table.rst",
            category="Results",
            labels={"experiment": "{experiment}", "what": "table"},
        ),
        markdown="<results>/{experiment}_table.md",
    log:
        "<logs>/table/{experiment}.log",
    benchmark:
        "<benchmarks>/table/{experiment}.tsv"
    conda:
        "environment.yaml"
    params:
        code=lambda w: code(
            "report.readable",
            sets=settings.experiments[w.experiment].feature_sets,
            files=[PACKAGE / "report/published.csv"],
        ),
        nets=lambda w, input: players(w.experiment, input.nets),
        anchor=lambda w: settings.experiments[w.experiment].anchor,
        imported=lambda w: [
            f"--imported={name}" for name in plan_of[w.experiment].imported
        ],
        others=lambda w, input: others(w.experiment, input),
        statistics=lambda w, input: [f"--statistics={f}" for f in input.statistics],
        spread=lambda w, input: ["--spread", input.spread] if input.spread else [],
        kinds=lambda w: [
            f"--kind={PLAYED[played][1].column}={kind_of(played)}"
            for played in games_of(w.experiment)
        ],
        groups=lambda w: groups(w.experiment),
        fixed=lambda w: json.dumps(fixed(settings, w.experiment)),
        question=lambda w: settings.experiments[w.experiment].question or "",
    message:
        "Table of experiment {wildcards.experiment}"
    shell:
        "nnuelab table {params.nets:q} --experiment {wildcards.experiment:q}"
        " --anchor {params.anchor:q} --pgn {input.games:q} {params.others:q} {params.statistics:q} --csv {output.table:q}"
        " {params.imported:q} {params.spread:q} {params.kinds:q} {params.groups:q} --fixed {params.fixed:q}"
        " --question={params.question:q} --markdown {output.markdown:q} 2> {log:q}"
