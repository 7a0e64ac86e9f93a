"""From nets to ratings: every net of an experiment plays all others, by several yardsticks.

Needs the nets with the proof that they are within their bound, positions to search, and a book of
openings; makes results/tournament/cost/{experiment}.csv, what a node costs, and results/tournament/{played}.pgn:
{experiment} at fixed nodes per move, cost/{experiment} at equal cost and, where params.yaml says so,
deep/ and deep-cost/ with more nodes, and time/ at a fixed time per move; each with _ratings.csv and
_details.json beside it. With tournament.parts the games are played by that many jobs, in results/tournament/parts
until they are joined. Where tournament.engine names another engine, it plays; what it loads of nets, where these aren't
the nets as they are, is made in results/tournament/nets/{experiment}.

`snakemake results/ladder.csv` lets the players of ladder.players, this engine and those of Debian
as it comes, play each other, together with what the stages of texel and policy made (ladder.also).
Nothing else depends on it.
"""

# Players that the workflow makes, and what their games depend on besides their files.
ALSO = made.of_ladder(settings, RESULTS)
ALSO_KINDS, ALSO_FILES = kinds_and_files(ALSO.values())


wildcard_constraints:
    played="|".join(map(re.escape, PLAYED)),


rule tournaments:
    input:
        [
            f"<results>/tournament/{played}_{what}"
            for played in games_of(DEFAULT)
            for what in ("ratings.csv", "details.json")
        ],


rule cost:
    input:
        nets=lambda w: list(priced(w.experiment).values()),
        positions="<results>/data/validation.npy",
    output:
        costs="<results>/tournament/cost/{experiment}.csv",
    log:
        "<logs>/cost/{experiment}.log",
    benchmark:
        "<benchmarks>/cost/{experiment}.tsv"
    conda:
        "environment.yaml"
    # One core works; what else ran meanwhile would take memory and cache from it.
    threads: ALL_CORES
    params:
        code=lambda w: code(
            "tournament.cost",
            sets=settings.experiments[w.experiment].feature_sets,
        ),
        nets=lambda w, input: [
            f"{name}={net}"
            for name, net in zip(priced(w.experiment), input.nets, strict=True)
        ],
        anchor=lambda w: settings.experiments[w.experiment].anchor,
        options=options(settings.cost),
    message:
        "What a node costs in experiment {wildcards.experiment}"
    shell:
        "nnuelab cost {params.nets:q} --positions {input.positions:q} --anchor {params.anchor:q}"
        " {params.options:q} --output {output.costs:q} > {log:q} 2>&1"


rule engine_net:
    input:
        net="<results>/nets/{name}/{seed}/net.nnue",
    output:
        file="<results>/tournament/nets/{experiment}/{name}/{seed}/{file}",
    log:
        "<logs>/engine_net/{experiment}/{name}/{seed}/{file}.log",
    wildcard_constraints:
        name="|".join(map(re.escape, [*NETS, *IMPORTED])),
        file="[^/]+",
    conda:
        "environment.yaml"
    params:
        command=lambda w, input, output: plan_of[w.experiment].tournament.made_by(
            input.net, output.file
        ),
    message:
        "File of {wildcards.name}, seed {wildcards.seed}, for the engine of {wildcards.experiment}"
    shell:
        "{params.command:q} > {log:q} 2>&1; [ -s {output.file:q} ] ||"
        " (echo 'Error: no file was written; correct tournament.net_command' >> {log:q}; false)"


rule tournament:
    input:
        nets=lambda w: played_with(PLAYED[w.played][0]),
        engine=lambda w: plan_of[PLAYED[w.played][0]].tournament.program or [],
        # A proof must be there; a new one of the same net is no reason to play again.
        verified=lambda w: list(
            map(ancient, of_nets(PLAYED[w.played][0], "verify.json"))
        ),
        book=lambda w: plan_of[PLAYED[w.played][0]].tournament.book,
        costs=lambda w: at_cost(w.played),
        parts=parts_of,
    output:
        games="<results>/tournament/{played}.pgn",
    log:
        "<logs>/tournament/{played}.log",
    benchmark:
        "<benchmarks>/tournament/{played}.tsv"
    conda:
        "environment.yaml"
    # All cores: at a fixed time, what else ran meanwhile would take time from the players.
    threads: lambda w, input: 1 if input.parts else ALL_CORES
    params:
        code=lambda w: code(
            "tournament.runner",
            **players_code(PLAYED[w.played][0]),
        ),
        players=lambda w, input: players(PLAYED[w.played][0], input.nets),
        costs=lambda w, input: ["--cost", input.costs] if input.costs else [],
        # Games record what was fixed when they began; a later change is no reason to play again, so
        # this is a function of the input, which Snakemake doesn't compare.
        fixed=lambda w, input: [
            "--fixed",
            json.dumps(fixed(settings, PLAYED[w.played][0])),
        ],
        options=lambda w: options_of(w.played),
        parts=lambda w, input: [f"--parts={part}" for part in input.parts],
        at=lambda w: PLAYED[w.played][1].title,
    message:
        "Games of {wildcards.played}, at {params.at}; progress in {log}"
    shell:
        "nnuelab tournament {params.players:q} --book {input.book:q} --output {output.games:q}"
        " {params.fixed:q} {params.costs:q} {params.options:q} {params.parts:q} --workers {threads}"
        " > {log:q} 2>&1"


# The inputs are those of the whole, which has no parts of its own then.
use rule tournament as tournament_part with:
    output:
        games=temp("<results>/tournament/parts/{played}/{part}-of-{parts}.part"),
        record=temp("<results>/tournament/parts/{played}/{part}-of-{parts}.part.json"),
    log:
        "<logs>/tournament/parts/{played}/{part}-of-{parts}.log",
    benchmark:
        "<benchmarks>/tournament/parts/{played}/{part}-of-{parts}.tsv"
    wildcard_constraints:
        part=r"\d+",
        parts=r"\d+",
    params:
        parts=lambda w: ["--part", f"{w.part}/{w.parts}"],
    message:
        "Games of {wildcards.played}, at {params.at}, part {wildcards.part} of {wildcards.parts}; progress in {log}"


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
    benchmark:
        "<benchmarks>/rate/{played}.tsv"
    conda:
        "environment.yaml"
    params:
        code=code("tournament.details"),
        experiment=lambda w: PLAYED[w.played][0],
        anchor=lambda w: settings.experiments[PLAYED[w.played][0]].anchor,
        kind=lambda w: kind_of(w.played),
        groups=lambda w: groups(PLAYED[w.played][0]),
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
            for played in games_of(experiment)
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
