"""From nets to ratings: every net of an experiment plays all others, by two yardsticks.

Needs the nets with the proof that they are within their bound, and a book of openings; makes
results/tournament/{experiment}.pgn at fixed nodes per move and, where params.yaml has a movetime,
results/tournament/time/{experiment}.pgn at fixed time, each with {experiment}_ratings.csv and
{experiment}_details.json beside it.

`snakemake results/ladder.csv` lets the players of ladder.players, this engine and those of Debian
as it comes, play each other: 3,120 games, about 95 minutes on two cores. Nothing else depends on it.
"""


wildcard_constraints:
    played=f"(time/)?({'|'.join(settings.experiments)})",


rule tournaments:
    input:
        [
            f"<results>/tournament/{played}_{what}"
            for played in yardsticks(DEFAULT)
            for what in ("ratings.csv", "details.json")
        ],


rule tournament:
    input:
        nets=lambda w: of_nets(w.experiment, "net.nnue"),
        # A proof must be there; a new one of the same net is no reason to play again.
        verified=lambda w: list(map(ancient, of_nets(w.experiment, "verify.json"))),
        book=lambda w: plan_of[w.experiment].tournament.book,
    output:
        games="<results>/tournament/{experiment}.pgn",
    log:
        "<logs>/tournament/{experiment}.log",
    benchmark:
        "<benchmarks>/tournament/{experiment}.tsv"
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=lambda w: code(
            "tournament.runner",
            sets=settings.experiments[w.experiment].feature_sets,
            kinds=["net"],
        ),
        players=players,
        options=lambda w: at_nodes(plan_of[w.experiment].tournament),
    message:
        "Games of experiment {wildcards.experiment} at fixed nodes; progress in {log}"
    shell:
        "nnuelab tournament {params.players:q} --book {input.book:q} --output {output.games:q}"
        " {params.options:q} --workers {threads} > {log:q} 2>&1"


rule tournament_time:
    input:
        nets=lambda w: of_nets(w.experiment, "net.nnue"),
        verified=lambda w: list(map(ancient, of_nets(w.experiment, "verify.json"))),
        book=lambda w: plan_of[w.experiment].tournament.book,
    output:
        games="<results>/tournament/time/{experiment}.pgn",
    log:
        "<logs>/tournament/time/{experiment}.log",
    benchmark:
        "<benchmarks>/tournament/time/{experiment}.tsv"
    conda:
        "environment.yaml"
    # All cores: what else ran meanwhile would take time from the players.
    threads: ALL_CORES
    params:
        code=lambda w: code(
            "tournament.runner",
            sets=settings.experiments[w.experiment].feature_sets,
            kinds=["net"],
        ),
        players=players,
        options=lambda w: at_time(plan_of[w.experiment].tournament),
    message:
        "Games of experiment {wildcards.experiment} at fixed time; progress in {log}"
    shell:
        "nnuelab tournament {params.players:q} --book {input.book:q} --output {output.games:q}"
        " {params.options:q} --workers {threads} > {log:q} 2>&1"


rule rate:
    input:
        games="<results>/tournament/{played}.pgn",
    output:
        ratings=report(
            "<results>/tournament/{played}_ratings.csv",
            caption="captions/ratings.rst",
            category="Results",
            labels={"experiment": "{played}", "what": "rating of every net"},
        ),
        details="<results>/tournament/{played}_details.json",
    log:
        "<logs>/rate/{played}.log",
    conda:
        "environment.yaml"
    params:
        code=code("tournament.details"),
        experiment=lambda w: w.played.removeprefix("time/"),
        anchor=lambda w: settings.experiments[w.played.removeprefix("time/")].anchor,
        kind=lambda w: kind_of(w.played),
        groups=lambda w: groups(w.played.removeprefix("time/")),
    message:
        "Ratings of {wildcards.played}"
    shell:
        "nnuelab rate {input.games:q} --csv {output.ratings:q} --details {output.details:q}"
        " --sets {params.anchor:q} --experiment {params.experiment:q} --kind {params.kind:q}"
        " {params.groups:q} > {log:q} 2>&1"


rule spread:
    input:
        details=[
            f"<results>/tournament/{played}_details.json"
            for experiment in settings.experiments
            for played in yardsticks(experiment)
        ],
    output:
        table="<results>/spread.csv",
    log:
        "<logs>/spread.log",
    conda:
        "environment.yaml"
    params:
        code=code("tournament.spread"),
    message:
        "Spread of equal trainings in all experiments"
    shell:
        "nnuelab spread {input.details:q} --csv {output.table:q} > {log:q} 2>&1"


rule ladder_games:
    input:
        players=settings.ladder.players,
        nets=lambda w: of_ladder()[1],
        book=settings.tournament.book,
    output:
        games="<results>/ladder/games.pgn",
    log:
        "<logs>/ladder/games.log",
    benchmark:
        "<benchmarks>/ladder.tsv"
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=lambda w: code(
            "tournament.runner",
            sets=features_of([SHIPPED_EVALUATION, *of_ladder()[1]]),
            files=[SHIPPED_NET, SHIPPED_EVALUATION],
            kinds=of_ladder()[0],
        ),
        options=[
            *options(settings.ladder, without=["players", "anchor"]),
            *adjudication(settings.tournament),
        ],
    message:
        "Games of this engine and others; progress in {log}"
    shell:
        "nnuelab tournament --players {input.players:q} --book {input.book:q} --output {output.games:q}"
        " {params.options:q} --workers {threads} > {log:q} 2>&1"


rule ladder:
    input:
        games="<results>/ladder/games.pgn",
    output:
        ratings="<results>/ladder.csv",
        details="<results>/ladder/details.json",
    log:
        "<logs>/ladder/rate.log",
    conda:
        "environment.yaml"
    params:
        code=code("tournament.details"),
        anchor=settings.ladder.anchor,
    message:
        "The ladder: this engine among others"
    shell:
        "nnuelab rate {input.games:q} --csv {output.ratings:q} --details {output.details:q}"
        " --anchor {params.anchor:q} > {log:q} 2>&1"
