"""From games to datasets.

Needs resources/embedded/games.pgn.zst, the Lichess database, or files of the user's; makes
results/data/train.npy and results/data/validation.npy, with a share of the games for it test.npy, too.
Nets that learn from the moves played have the same with every position, whatever its move, in
results/data/moves.

What comes with the project, in resources, is made by resources/make/Snakefile.
"""


rule data:
    input:
        "results/data/train.npy",
        "results/data/validation.npy",
        TEST,


rule lichess_puzzles:
    output:
        puzzles="results/puzzles/lichess_db_puzzle.csv.zst",
    log:
        "logs/download/puzzles.log",
    conda:
        "environment.yaml"
    params:
        pinned=pinned("puzzles"),
    message:
        "Puzzles of the Lichess database; progress in {log}"
    shell:
        "nnuelab download --source puzzles {params.pinned}"
        " --output {output.puzzles} 2> {log}"


rule opening_book:
    output:
        book="results/books/{book}",
    log:
        "logs/download/{book}.log",
    conda:
        "environment.yaml"
    params:
        pinned=lambda w: pinned(w.book),
        mirror=settings.data.books_mirror or "''",
    message:
        "Opening book {wildcards.book}; progress in {log}"
    shell:
        "nnuelab download --source book --part {wildcards.book:q} --mirror {params.mirror}"
        " {params.pinned} --output {output.book:q} 2> {log}"


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
        "logs/download/{part}.log",
    conda:
        "environment.yaml"
    params:
        code=code("data.download") if settings.data.source == "embedded" else "",
        source=settings.data.source,
        pinned=lambda w: pinned(w.part),
    message:
        "Games: {wildcards.part}; progress in {log}"
    shell:
        "nnuelab download --source {params.source} --part {wildcards.part} {params.pinned}"
        " --output {output.games} 2> {log}"


rule sample:
    input:
        games=settings.data.games,
    output:
        sampled="results/data/sampled.npy",
        report="results/data/sample_report.json",
        figure=report(
            "results/data/sample_report.svg",
            caption="captions/sample.rst",
            category="Data",
            labels={"what": "positions of the sample"},
        ),
    log:
        "logs/sample.log",
    benchmark:
        "logs/benchmarks/sample.tsv"
    conda:
        "environment.yaml"
    threads: workflow.cores or 1
    params:
        code=code("report.sample"),
        filter=code("selfplay.quiet") if settings.sample.quiet_only else "",
        options=options(settings.sample),
    message:
        "Positions out of games; progress in {log}"
    shell:
        "nnuelab sample {input.games:q} --output {output.sampled} --report {output.report}"
        " --plot {output.figure} {params.options} --workers {threads} 2> {log}"


rule label:
    input:
        sampled="results/data/sampled.npy",
        net=branch(
            settings.label.labeller == "engine" and settings.label.net is not None,
            then=settings.label.net,
        ),
        files=option_files(),
    output:
        **{"test": file for file in TEST},
        train="results/data/train.npy",
        validation="results/data/validation.npy",
    log:
        "logs/label.log",
    benchmark:
        "logs/benchmarks/label.tsv"
    conda:
        "environment.yaml"
    threads: workflow.cores or 1
    params:
        code=code(LABELS_OF.get(settings.label.labeller, "data.labels")),
        options=options(
            settings.label, without=of_other_labellers(settings.label.labeller)
        ),
        test=lambda w, output: f"--test {output.test}" if TEST else "",
        # A test set of earlier settings: now its games train.
        stale="" if TEST else "rm -f results/data/test.npy results/data/test.npy.json;",
    message:
        "Scores for positions; progress in {log}"
    shell:
        "{params.stale} nnuelab label {input.sampled} --train {output.train}"
        " --validation {output.validation} {params.test} {params.options} --workers {threads} 2> {log}"


use rule sample as sample_moves with:
    output:
        sampled="results/data/moves/sampled.npy",
        report="results/data/moves/sample_report.json",
        figure="results/data/moves/sample_report.svg",
    log:
        "logs/moves/sample.log",
    benchmark:
        "logs/benchmarks/moves/sample.tsv"
    params:
        filter="",
        options=options(ALL_MOVES),
    message:
        "Positions before any move out of games; progress in {log}"


use rule label as label_moves with:
    input:
        sampled="results/data/moves/sampled.npy",
        net=branch(
            settings.label.labeller == "engine" and settings.label.net is not None,
            then=settings.label.net,
        ),
        files=option_files(),
    output:
        **{"test": "results/data/moves/test.npy" for _ in TEST},
        train="results/data/moves/train.npy",
        validation="results/data/moves/validation.npy",
    log:
        "logs/moves/label.log",
    benchmark:
        "logs/benchmarks/moves/label.tsv"
    params:
        options=options(
            settings.label.model_copy(update={"skip_captures": False}),
            without=of_other_labellers(settings.label.labeller),
        ),
        stale=(
            ""
            if TEST
            else "rm -f results/data/moves/test.npy results/data/moves/test.npy.json;"
        ),
    message:
        "Scores for positions before any move; progress in {log}"
