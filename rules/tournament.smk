"""From nets to ratings: every net of an experiment plays all others, by two yardsticks.

Needs the nets with the proof that they are within their bound, and a book of openings; makes
results/tournament/{experiment}.pgn at fixed nodes per move and, where params.yaml has a movetime,
results/tournament/time/{experiment}.pgn at fixed time, each with {experiment}_ratings.csv and
{experiment}_details.json beside it.

`snakemake results/ladder.csv` lets the players of ladder.players, this engine and those of Debian
as it comes, play each other, together with what the stages of texel and policy made (ladder.also).
Nothing else depends on it.
"""

# Players that the workflow makes, and what their games depend on besides their files.
ALSO = made.of_ladder(settings, RESULTS)
ALSO_KINDS, ALSO_FILES = kinds_and_files(ALSO.values())


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
        anchor=lambda w: settings.experiments[w.played.removeprefix("time/")].anchor,
    message:
        "Ratings of {wildcards.played}"
    shell:
        "nnuelab rate {input.games:q} --csv {output.ratings:q} --details {output.details:q}"
        " --sets {params.anchor:q} > {log:q} 2>&1"


rule ladder_games:
    input:
        players=settings.ladder.players,
        nets=lambda w: of_ladder()[1],
        also=ALSO_FILES,
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
            sets=sorted(
                {*features_of([SHIPPED_EVALUATION, *of_ladder()[1]]), *also_sets()}
            ),
            files=[SHIPPED_NET, SHIPPED_EVALUATION],
            kinds=sorted({*of_ladder()[0], *ALSO_KINDS}),
        ),
        also=made.words(ALSO),
        options=[
            *options(settings.ladder, without=["players", "also", "anchor"]),
            *adjudication(settings.tournament),
        ],
    message:
        "Games of this engine and others; progress in {log}"
    shell:
        "nnuelab tournament {params.also:q} --players {input.players:q} --book {input.book:q}"
        " --output {output.games:q} {params.options:q} --workers {threads} > {log:q} 2>&1"


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
