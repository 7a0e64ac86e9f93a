"""From nets and held-out positions to what the nets have learnt of the moves played.

Needs the nets of an experiment; makes results/statistics/pqr/{experiment}.json, .csv and .svg, which the report
shows.
"""


rule pqr:
    input:
        nets=lambda w: of_nets(w.experiment, "net.nnue"),
        positions="<results>/data/moves/validation.npy",
    output:
        triplets="<results>/statistics/pqr/{experiment}.json",
        table="<results>/statistics/pqr/{experiment}.csv",
        figure="<results>/statistics/pqr/{experiment}.svg",
    log:
        "<logs>/pqr/{experiment}.log",
    conda:
        "environment.yaml"
    params:
        code=lambda w: code(
            "report.pqr", sets=settings.experiments[w.experiment].feature_sets
        ),
        nets=lambda w, input: players(w.experiment, input.nets),
    message:
        "What the nets of experiment {wildcards.experiment} know of the moves played"
    shell:
        "nnuelab pqr {params.nets:q} --positions {input.positions:q} --output {output.triplets:q}"
        " --csv {output.table:q} --plot {output.figure:q} > {log:q} 2>&1"
