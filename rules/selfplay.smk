"""Generations: a net plays against itself, and the next net learns from its games.

`snakemake generations` needs a first net (the one that ships with the package, where params.yaml
doesn't name another) and a book of openings; makes results/selfplay/{generation}/net.nnue with the
games it has learned from, and results/selfplay/ratings.csv, where every generation meets the others.
With `data.source: selfplay`, all experiments learn from the games of all generations.
"""


rule generations:
    input:
        "<results>/selfplay/ratings.csv",


rule generation_games:
    input:
        net=lambda w: of_generation(int(w.generation) - 1),
    output:
        games="<results>/selfplay/{generation}/games-{part}.pgn.zst",
    log:
        "<logs>/selfplay/{generation}/games-{part}.log",
    benchmark:
        "<benchmarks>/selfplay/{generation}/games-{part}.tsv"
    wildcard_constraints:
        part=r"\d+",
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=code(
            "selfplay.datagen",
            sets=[settings.selfplay.feature_set],
            files=[SHIPPED_NET, evaluator_of(settings.selfplay.net)],
        ),
        net=lambda w, input: ["--net", input.net] if input.net else [],
        seed=lambda w: seed_of_games(int(w.generation), int(w.part)),
        options=options(
            settings.selfplay,
            without=["generations", "feature_set", "net", "parts", "seed"],
        ),
    message:
        "Games for generation {wildcards.generation}, part {wildcards.part}; progress in {log}"
    shell:
        "nnuelab datagen {params.net:q} --output {output.games:q}"
        " {params.options:q} --seed {params.seed:q} --workers {threads} 2> {log:q}"


use rule sample as generation_sample with:
    input:
        games=lambda w: games_of_generation(w.generation),
        parts=[],
    output:
        sampled="<results>/selfplay/{generation}/sampled.npy",
        report="<results>/selfplay/{generation}/sample_report.json",
        figure="<results>/selfplay/{generation}/sample_report.svg",
    log:
        "<logs>/selfplay/{generation}/sample.log",
    benchmark:
        "<benchmarks>/selfplay/{generation}/sample.tsv"


use rule label as generation_label with:
    input:
        sampled="<results>/selfplay/{generation}/sampled.npy",
        parts=[],
    output:
        train="<results>/selfplay/{generation}/train.npy",
        validation="<results>/selfplay/{generation}/validation.npy",
    log:
        "<logs>/selfplay/{generation}/label.log",
    benchmark:
        "<benchmarks>/selfplay/{generation}/label.tsv"
    params:
        # The scores of the games themselves, whatever labels the others.
        code=code("data.labels"),
        options=label_options(
            settings.label.model_copy(update={"labeller": "pgn", "test_share": 0.0})
        ),
        test=[],


use rule train as generation_train with:
    input:
        train="<results>/selfplay/{generation}/train.npy",
        validation="<results>/selfplay/{generation}/validation.npy",
        start=(settings.train.from_ or "").replace(
            "{name}", NetName(settings.selfplay.feature_set).folder
        )
        or [],
        found=[],
    output:
        checkpoint="<results>/selfplay/{generation}/{seed}/checkpoint.pt",
        history="<results>/selfplay/{generation}/{seed}/history.csv",
        times="<results>/selfplay/{generation}/{seed}/history_times.csv",
    log:
        "<logs>/selfplay/{generation}/{seed}/train.log",
    benchmark:
        "<benchmarks>/selfplay/{generation}/{seed}/train.tsv"
    threads: settings.train.threads
    resources:
        gpu=on_gpu(settings.train, 1),
        gpu_manufacturer=on_gpu(settings.train, "nvidia"),
    params:
        code=code("nnue.training", sets=[settings.selfplay.feature_set]),
        features=settings.selfplay.feature_set,
        options=options(settings.train, without=["threads", "from"]),
    message:
        "Training generation {wildcards.generation}; progress in {log}"


use rule quantize as generation_quantize with:
    input:
        checkpoint="<results>/selfplay/{generation}/{seed}/checkpoint.pt",
        positions=centring(
            settings.quantize, "<results>/selfplay/{generation}/train.npy"
        ),
    output:
        net="<results>/selfplay/{generation}/{seed}/net.nnue",
    log:
        "<logs>/selfplay/{generation}/{seed}/quantize.log",
    benchmark:
        "<benchmarks>/selfplay/{generation}/{seed}/quantize.tsv"
    params:
        code=code("nnue.quantize", sets=[settings.selfplay.feature_set]),
        options=options(settings.quantize),
    message:
        "Integer net of generation {wildcards.generation}"


use rule verify as generation_verify with:
    input:
        checkpoint="<results>/selfplay/{generation}/{seed}/checkpoint.pt",
        net="<results>/selfplay/{generation}/{seed}/net.nnue",
        validation="<results>/selfplay/{generation}/validation.npy",
    output:
        error="<results>/selfplay/{generation}/{seed}/verify.json",
        plot="<results>/selfplay/{generation}/{seed}/verify.png",
    log:
        "<logs>/selfplay/{generation}/{seed}/verify.log",
    benchmark:
        "<benchmarks>/selfplay/{generation}/{seed}/verify.tsv"
    params:
        code=code("nnue.verify", sets=[settings.selfplay.feature_set]),
    message:
        "Error of the integer net of generation {wildcards.generation}"


use rule tournament as generation_tournament with:
    input:
        nets=[of_generation(generation) for generation in [0, *GENERATIONS]],
        verified=[
            ancient(f"{LEARNT}/verify.json".format(generation=generation))
            for generation in GENERATIONS
        ],
        book=settings.tournament.book,
        parts=[],
    output:
        games="<results>/selfplay/generations.pgn",
    log:
        "<logs>/selfplay/tournament.log",
    benchmark:
        "<benchmarks>/selfplay/tournament.tsv"
    params:
        code=code(
            "tournament.runner", sets=[settings.selfplay.feature_set], kinds=["net"]
        ),
        players=lambda w, input: [
            f"{number}={net}"
            for number, net in enumerate(
                input.nets if settings.selfplay.net else ["default", *input.nets]
            )
        ],
        costs=[],
        fixed=[],
        parts=[],
        options=options_at(yardsticks.NODES, settings.tournament),
        at=yardsticks.NODES.title,
    message:
        "Games between the generations; progress in {log}"


rule generation_rate:
    input:
        games="<results>/selfplay/generations.pgn",
    output:
        ratings="<results>/selfplay/ratings.csv",
    log:
        "<logs>/selfplay/rate.log",
    conda:
        "environment.yaml"
    params:
        code=code("tournament.ratings"),
    message:
        "Ratings of the generations"
    shell:
        "nnuelab rate {input.games:q} --anchor 0 --csv {output.ratings:q} > {log:q} 2>&1"
