"""From games to datasets.

Needs resources/embedded/games.pgn.zst, the Lichess database, files of the user's, or games of self-play; makes
results/data/train.npy, validation.npy and test.npy, which is empty without a share of the games for it.
Files of positions that are labelled already become results/data/train.shards, an index, and
validation.npy. Nets that learn from the moves played have the same with every position, whatever its move, in
results/data/moves.

What comes with the project, in resources, is made by resources/make/Snakefile.
"""


rule data:
    input:
        POSITIONS,
        "<results>/data/validation.npy",
        [] if LABELLED else "<results>/data/test.npy",


rule lichess_puzzles:
    output:
        puzzles="results/puzzles/lichess_db_puzzle.csv.zst",
    log:
        "<logs>/download/puzzles.log",
    conda:
        "environment.yaml"
    # What was fetched stays what it is, whatever the way to it: another mirror or rate as a parameter
    # would have gigabytes fetched again.
    resources:
        mirror=settings.data.mirror or "",
        max_rate=f"{settings.data.max_rate:g}",
    params:
        pinned=pinned("puzzles"),
    message:
        "Puzzles of the Lichess database; progress in {log}"
    shell:
        "nnuelab download --source puzzles {params.pinned:q}"
        " --mirror={resources.mirror:q} --max-rate {resources.max_rate}"
        " --output {output.puzzles:q} 2> {log:q}"


rule opening_book:
    output:
        book="results/books/{book}",
    log:
        "<logs>/download/{book}.log",
    conda:
        "environment.yaml"
    resources:
        mirror=settings.data.books_mirror or "",
        max_rate=f"{settings.data.max_rate:g}",
    params:
        pinned=lambda w: pinned(w.book),
    message:
        "Opening book {wildcards.book}; progress in {log}"
    shell:
        "nnuelab download --source book --part {wildcards.book:q} {params.pinned:q}"
        " --mirror={resources.mirror:q} --max-rate {resources.max_rate} --output {output.book:q} 2> {log:q}"


rule download:
    input:
        embedded=branch(
            settings.data.source == "embedded",
            then=[
                "resources/embedded/games.pgn.zst",
                "resources/embedded/games.pgn.zst.json",
            ],
        ),
    output:
        games="results/games/{part}.pgn.zst",
    log:
        "<logs>/download/{part}.log",
    conda:
        "environment.yaml"
    resources:
        mirror=settings.data.mirror or "",
        max_rate=f"{settings.data.max_rate:g}",
    params:
        code=code("data.download") if settings.data.source == "embedded" else "",
        source=settings.data.source,
        pinned=lambda w: pinned(w.part),
    message:
        "Games: {wildcards.part}; progress in {log}"
    shell:
        "nnuelab download --source {params.source:q} --part {wildcards.part:q} {params.pinned:q}"
        " --mirror={resources.mirror:q} --max-rate {resources.max_rate}"
        " --output {output.games:q} 2> {log:q}"


rule sample:
    input:
        games=lambda w: all_games(),
        parts=lambda w: sample_parts(f"{RESULTS}/data"),
    output:
        sampled="<results>/data/sampled.npy",
        report="<results>/data/sample_report.json",
        figure=report(
            "<results>/data/sample_report.svg",
            caption="captions/sample.rst",
            category="Data",
            labels={"what": "positions of the sample"},
        ),
    log:
        "<logs>/sample.log",
    benchmark:
        "<benchmarks>/sample.tsv"
    conda:
        "environment.yaml"
    threads: lambda w, input: 1 if input.parts else ALL_CORES
    params:
        code=code("data.sampling", files=[PACKAGE / "report/sample.py"]),
        filter=QUIET_FILTER,
        options=sample_options(settings.sample),
        # A function of the input, which Snakemake doesn't compare.
        games=lambda w, input: (
            [f"--parts={part}" for part in input.parts] or input.games
        ),
    message:
        "Positions out of games; progress in {log}"
    shell:
        "nnuelab sample {params.games:q} --output {output.sampled:q} --report {output.report:q}"
        " --plot {output.figure:q} {params.options:q} --workers {threads} 2> {log:q}"


rule sample_part:
    input:
        games=lambda w: Part(int(w.part), int(w.parts)).of(all_games()),
    output:
        samples=temp("<results>/data/{folder}parts/{part}-of-{parts}.sample"),
        record=temp("<results>/data/{folder}parts/{part}-of-{parts}.sample.json"),
    log:
        "<logs>/{folder}sample/{part}-of-{parts}.log",
    benchmark:
        "<benchmarks>/{folder}sample/{part}-of-{parts}.tsv"
    wildcard_constraints:
        folder="(moves/)?",
        part=r"\d+",
        parts=r"\d+",
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=code("data.sampling"),
        filter=lambda w: "" if w.folder else QUIET_FILTER,
        options=lambda w: sample_options(ALL_MOVES if w.folder else settings.sample),
    message:
        "Positions out of games, part {wildcards.part} of {wildcards.parts}; progress in {log}"
    shell:
        "nnuelab sample-part {input.games:q} --output {output.samples:q} {params.options:q}"
        " --workers {threads} 2> {log:q}"


rule label:
    input:
        sampled="<results>/data/sampled.npy",
        net=branch(
            settings.label.labeller == "engine" and settings.label.net is not None,
            then=settings.label.net,
        ),
        files=option_files(),
        parts=lambda w: label_parts(f"{RESULTS}/data"),
    output:
        train="<results>/data/train.npy",
        validation="<results>/data/validation.npy",
        test="<results>/data/test.npy",
    log:
        "<logs>/label.log",
    benchmark:
        "<benchmarks>/label.tsv"
    conda:
        "environment.yaml"
    threads: lambda w, input: 1 if input.parts else ALL_CORES
    params:
        code=code(**LABELS_OF.get(settings.label.labeller, {"module": "data.labels"})),
        options=label_options(settings.label),
        # A function of the input, which Snakemake doesn't compare.
        parts=lambda w, input: [f"--parts={part}" for part in input.parts],
        test=lambda w, output: ["--test", output.test],
    message:
        "Scores for positions; progress in {log}"
    shell:
        "nnuelab label {input.sampled:q} --train {output.train:q}"
        " --validation {output.validation:q} {params.test:q} {params.options:q} {params.parts:q}"
        " --workers {threads} 2> {log:q}"


# The inputs are those of the whole, which has no parts of its own then.
rule label_part:
    input:
        sampled="<results>/data/{folder}sampled.npy",
        net=branch(
            settings.label.labeller == "engine" and settings.label.net is not None,
            then=settings.label.net,
        ),
        files=option_files(),
    output:
        labels=temp("<results>/data/{folder}parts/{part}-of-{parts}.labels"),
        record=temp("<results>/data/{folder}parts/{part}-of-{parts}.labels.json"),
    log:
        "<logs>/{folder}label/{part}-of-{parts}.log",
    benchmark:
        "<benchmarks>/{folder}label/{part}-of-{parts}.tsv"
    wildcard_constraints:
        folder="(moves/)?",
        part=r"\d+",
        parts=r"\d+",
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=code(**LABELS_OF.get(settings.label.labeller, {"module": "data.labels"})),
        options=label_options(settings.label),
    message:
        "Scores for positions, part {wildcards.part} of {wildcards.parts}; progress in {log}"
    shell:
        "nnuelab label-part {input.sampled:q} --output {output.labels:q} --part {wildcards.part}/{wildcards.parts}"
        " {params.options:q} --workers {threads} 2> {log:q}"


use rule sample as sample_moves with:
    input:
        games=lambda w: all_games(),
        parts=lambda w: sample_parts(f"{RESULTS}/data/moves"),
    output:
        sampled="<results>/data/moves/sampled.npy",
        report="<results>/data/moves/sample_report.json",
        figure="<results>/data/moves/sample_report.svg",
    log:
        "<logs>/moves/sample.log",
    benchmark:
        "<benchmarks>/moves/sample.tsv"
    params:
        filter="",
        options=sample_options(ALL_MOVES),
    message:
        "Positions before any move out of games; progress in {log}"


use rule label as label_moves with:
    input:
        sampled="<results>/data/moves/sampled.npy",
        net=branch(
            settings.label.labeller == "engine" and settings.label.net is not None,
            then=settings.label.net,
        ),
        files=option_files(),
        parts=lambda w: label_parts(f"{RESULTS}/data/moves"),
    output:
        train="<results>/data/moves/train.npy",
        validation="<results>/data/moves/validation.npy",
        test="<results>/data/moves/test.npy",
    log:
        "<logs>/moves/label.log",
    benchmark:
        "<benchmarks>/moves/label.tsv"
    params:
        options=label_options(
            settings.label.model_copy(update={"skip_captures": False})
        ),
    message:
        "Scores for positions before any move; progress in {log}"


if LABELLED:

    ruleorder: index > label

    rule index:
        input:
            files=[str(path) for path in weighted(settings.data.positions)],
        output:
            train="<results>/data/train.shards",
            validation=(
                [] if settings.data.validation else "<results>/data/validation.npy"
            ),
        log:
            "<logs>/index.log",
        benchmark:
            "<benchmarks>/index.tsv"
        conda:
            "environment.yaml"
        params:
            code=code("data.joining"),
            files=settings.data.positions,
            held_out=(
                []
                if settings.data.validation
                else [
                    f"--validation-share={settings.label.validation_share}",
                    f"--seed={settings.label.seed}",
                ]
            ),
            validation=lambda w, output: (
                ["--validation", output.validation] if output.validation else []
            ),
        message:
            "Index of files of positions; progress in {log}"
        shell:
            "nnuelab data index {params.files:q} --output {output.train:q} {params.held_out:q}"
            " {params.validation:q} 2> {log:q}"

    if settings.data.validation:

        ruleorder: validation > label

        rule validation:
            input:
                positions=settings.data.validation,
            output:
                validation="<results>/data/validation.npy",
            log:
                "<logs>/validation.log",
            conda:
                "environment.yaml"
            params:
                code=code("data.conversion"),
            message:
                "Positions that validate"
            shell:
                "nnuelab data convert {input.positions:q} {output.validation:q} 2> {log:q}"
