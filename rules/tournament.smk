"""From nets to ratings: every net of an experiment plays all others.

Needs the nets with the proof that they are within their bound, and a book of openings; makes
results/tournament/{experiment}.pgn and {experiment}_ratings.csv.
"""


rule tournaments:
    input:
        expand(
            "results/tournament/{experiment}_ratings.csv",
            experiment=settings.experiments,
        ),


rule tournament:
    input:
        nets=lambda w: of_nets(w.experiment, "net.nnue"),
        # A proof must be there; a new one of the same net is no reason to play again.
        verified=lambda w: list(map(ancient, of_nets(w.experiment, "verify.json"))),
        book=settings.tournament.book,
    output:
        games="results/tournament/{experiment}.pgn",
    log:
        "logs/tournament/{experiment}.log",
    benchmark:
        "benchmarks/tournament/{experiment}.tsv"
    conda:
        "environment.yaml"
    threads: workflow.cores or 1
    params:
        code=lambda w: code(
            "tournament.runner", sets=settings.experiments[w.experiment].feature_sets
        ),
        players=lambda w: players(w.experiment),
        options=options(settings.tournament, without=["book"]),
    message:
        "Games of experiment {wildcards.experiment}; progress in {log}"
    shell:
        "nnuelab tournament {params.players:q} --book {input.book} --output {output.games}"
        " {params.options} --workers {threads} > {log} 2>&1"


rule rate:
    input:
        games="results/tournament/{experiment}.pgn",
    output:
        ratings="results/tournament/{experiment}_ratings.csv",
    log:
        "logs/rate/{experiment}.log",
    conda:
        "environment.yaml"
    params:
        code=code("tournament.ratings"),
    message:
        "Ratings of experiment {wildcards.experiment}"
    shell:
        "nnuelab rate {input.games} --csv {output.ratings} > {log} 2>&1"
