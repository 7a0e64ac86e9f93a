"""From games to hand-crafted evaluations tuned on their results, and a match between them.

`./run results/texel/match_table.txt` needs games (those of data, or texel.sources) and an evaluation;
makes results/texel/{tuner}/tuned.yaml for each run of an optimizer in params.yaml, with its history,
table of terms, plots and residuals beside it, and lets all of them play each other. `snakemake texel`
adds what each term is worth, and tables for other engines.

Each evaluation has its own traces, in results/texel/traces: those of texel.evaluation are called
`start`, those of a run with other terms are called after it.
"""


wildcard_constraints:
    tuner="|".join(TUNERS),
    traced="|".join([START, *TRACED]),
    split="train|validation",


rule texel:
    input:
        "<results>/texel/match_table.txt",
        expand("<results>/texel/{tuner}/simplify.csv", tuner=settings.texel.simplify),
        expand(
            "<results>/texel/{tuner}/tuned.{language}",
            tuner=TUNERS,
            language=["h", "rs"],
        ),


rule texel_positions:
    input:
        sources=settings.texel.sources or "<results>/data/sampled.npy",
        evaluation=terms_of(START),
    output:
        train="<results>/texel/train.npy",
        validation="<results>/texel/validation.npy",
        filters="<results>/texel/filters.csv",
    log:
        "<logs>/texel/positions.log",
    benchmark:
        "<benchmarks>/texel/positions.tsv"
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=lambda w: code_of("selfplay.texel_positions", START, files=[HCE_EVALUATOR]),
        evaluation=lambda w, input: with_evaluation(input.evaluation),
        options=options(settings.texel, only=Positions.__dataclass_fields__),
    message:
        "Quiet positions with results; progress in {log}"
    shell:
        "nnuelab texel positions {input.sources:q} --output {output.train:q}"
        " --validation {output.validation:q} --filters {output.filters:q} {params.evaluation:q}"
        " {params.options:q} --workers {threads} 2> {log:q}"


rule texel_trace:
    input:
        positions="<results>/texel/{split}.npy",
        evaluation=lambda w: terms_of(w.traced),
    output:
        trace="<results>/texel/traces/{traced}/{split}.trace",
    log:
        "<logs>/texel/traces/{traced}/{split}.log",
    conda:
        "environment.yaml"
    params:
        code=lambda w: code_of("hce.trace", w.traced),
        evaluation=lambda w, input: with_evaluation(input.evaluation),
    message:
        "Terms of the positions in {wildcards.split}; progress in {log}"
    shell:
        "nnuelab texel trace {input.positions:q} {params.evaluation:q} --output {output.trace:q}"
        " 2> {log:q}"


rule texel_tune:
    input:
        train=lambda w: f"<results>/texel/traces/{traced(w.tuner)}/train.trace",
        validation=lambda w: f"<results>/texel/traces/{traced(w.tuner)}/validation.trace",
        evaluation=lambda w: terms_of(w.tuner),
        reference=lambda w: (
            [] if w.tuner in TRACED else settings.texel.reference or []
        ),
    output:
        tuned="<results>/texel/{tuner}/tuned.yaml",
        history="<results>/texel/{tuner}/history.csv",
        terms=report(
            "<results>/texel/{tuner}/terms.csv",
            caption="captions/terms.rst",
            category="Texel tuning",
            labels={"run": "{tuner}", "what": "terms"},
        ),
    log:
        "<logs>/texel/{tuner}/tune.log",
    benchmark:
        "<benchmarks>/texel/{tuner}.tsv"
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=lambda w: code_of("hce.tuning", w.tuner),
        evaluation=lambda w, input: with_evaluation(input.evaluation),
        reference=lambda w, input: (
            ["--reference", input.reference] if input.reference else []
        ),
        seed=settings.texel.seed,
        options=lambda w: options(settings.texel.settings_of(w.tuner)),
    message:
        "Tuning by {wildcards.tuner}; progress in {log}"
    shell:
        "nnuelab texel tune {input.train:q} --validation {input.validation:q} {params.evaluation:q}"
        " {params.reference:q} --output {output.tuned:q} --history {output.history:q}"
        " --terms {output.terms:q} --seed {params.seed:q} {params.options:q} --threads {threads} 2> {log:q}"


rule texel_plots:
    input:
        history="<results>/texel/{tuner}/history.csv",
    output:
        error="<results>/texel/{tuner}/error.svg",
    log:
        "<logs>/texel/{tuner}/plots.log",
    conda:
        "environment.yaml"
    params:
        code=code("report.texel_plots"),
    message:
        "Plot of the run {wildcards.tuner}"
    shell:
        "nnuelab texel plot {input.history:q} --error {output.error:q} 2> {log:q}"


# Of bit strings alone.
rule texel_bits:
    input:
        history="<results>/texel/{tuner}/history.csv",
    output:
        entropy="<results>/texel/{tuner}/entropy.svg",
        bits="<results>/texel/{tuner}/bits.svg",
    log:
        "<logs>/texel/{tuner}/bits.log",
    conda:
        "environment.yaml"
    params:
        code=code("report.texel_plots"),
    message:
        "Plots of the bits of {wildcards.tuner}"
    shell:
        "nnuelab texel plot {input.history:q} --entropy {output.entropy:q} --bits {output.bits:q}"
        " 2> {log:q}"


rule texel_residuals:
    input:
        trace=lambda w: f"<results>/texel/traces/{traced(w.tuner)}/validation.trace",
        positions="<results>/texel/validation.npy",
        tuned="<results>/texel/{tuner}/tuned.yaml",
    output:
        residuals="<results>/texel/{tuner}/residuals.json",
        k="<results>/texel/{tuner}/k.svg",
        figure="<results>/texel/{tuner}/residuals.svg",
    log:
        "<logs>/texel/{tuner}/residuals.log",
    conda:
        "environment.yaml"
    params:
        code=lambda w: code_of(
            "report.texel_residuals",
            w.tuner,
            files=[PACKAGE / "report/texel_plots.py"],
        ),
    message:
        "Where {wildcards.tuner} is wrong"
    shell:
        "nnuelab texel residuals {input.trace:q} --positions {input.positions:q}"
        " --evaluation {input.tuned:q} --output {output.residuals:q} --k-plot {output.k:q}"
        " --plot {output.figure:q} 2> {log:q}"


rule texel_simplify:
    input:
        train=lambda w: f"<results>/texel/traces/{traced(w.tuner)}/train.trace",
        validation=lambda w: f"<results>/texel/traces/{traced(w.tuner)}/validation.trace",
        tuned="<results>/texel/{tuner}/tuned.yaml",
    output:
        table="<results>/texel/{tuner}/simplify.csv",
    log:
        "<logs>/texel/{tuner}/simplify.log",
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=lambda w: code_of("hce.simplify", w.tuner),
    message:
        "What each term of {wildcards.tuner} is worth; progress in {log}"
    shell:
        "nnuelab texel simplify {input.train:q} --validation {input.validation:q}"
        " --evaluation {input.tuned:q} --output {output.table:q} --threads {threads} > {log:q} 2>&1"


rule texel_export:
    input:
        tuned="<results>/texel/{tuner}/tuned.yaml",
    output:
        c="<results>/texel/{tuner}/tuned.h",
        rust="<results>/texel/{tuner}/tuned.rs",
    log:
        "<logs>/texel/{tuner}/export.log",
    conda:
        "environment.yaml"
    params:
        code=lambda w: code_of("hce.export", w.tuner),
    message:
        "Terms of {wildcards.tuner} as C and Rust"
    shell:
        "nnuelab texel export {input.tuned:q} --language c --output {output.c:q} 2> {log:q}"
        " && nnuelab texel export {input.tuned:q} --language rust --output {output.rust:q} 2>> {log:q}"


rule texel_games:
    input:
        evaluation=terms_of(START),
        tuned=expand("<results>/texel/{tuner}/tuned.yaml", tuner=TUNERS),
        others=MATCH_FILES,
        book=settings.tournament.book,
    output:
        games="<results>/texel/games.pgn",
    log:
        "<logs>/texel/games.log",
    benchmark:
        "<benchmarks>/texel/games.tsv"
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=lambda w: code_of(
            "tournament.runner",
            START,
            *TUNERS,
            files=[SHIPPED_NET],
            kinds={"hce", *MATCH_KINDS},
        ),
        players=match_players,
        options=[
            *options(settings.texel, only=["games_per_pairing", "nodes"]),
            *adjudication(settings.tournament),
        ],
    message:
        "Games of tuned evaluations and others; progress in {log}"
    shell:
        "nnuelab tournament {params.players:q} --book {input.book:q} --output {output.games:q}"
        " {params.options:q} --workers {threads} > {log:q} 2>&1"


rule texel_errors:
    input:
        positions="<results>/texel/validation.npy",
        evaluation=terms_of(START),
        tuned=expand("<results>/texel/{tuner}/tuned.yaml", tuner=TUNERS),
        others=MATCH_FILES,
    output:
        table=report(
            "<results>/texel/errors.csv",
            caption="captions/errors.rst",
            category="Texel tuning",
            labels={"run": "all", "what": "held-out errors"},
        ),
    log:
        "<logs>/texel/errors.log",
    conda:
        "environment.yaml"
    params:
        code=lambda w: code_of(
            "report.texel_errors",
            START,
            *TUNERS,
            files=[SHIPPED_NET],
            kinds={"hce", *MATCH_KINDS},
        ),
        players=evaluated_players,
    message:
        "Held-out errors of tuned evaluations and others"
    shell:
        "nnuelab texel errors {input.positions:q} {params.players:q} --csv {output.table:q}"
        " > {log:q} 2>&1"


# Waits for the plots, residuals and errors, too: who asks for the table wants to look at them.
rule texel_match:
    input:
        games="<results>/texel/games.pgn",
        plots=expand("<results>/texel/{tuner}/error.svg", tuner=TUNERS),
        bits=expand("<results>/texel/{tuner}/bits.svg", tuner=WITH_BITS),
        residuals=expand("<results>/texel/{tuner}/residuals.json", tuner=TUNERS),
        errors="<results>/texel/errors.csv",
    output:
        table=report(
            "<results>/texel/match_table.txt",
            caption="captions/match.rst",
            category="Texel tuning",
            labels={"run": "all", "what": "match"},
        ),
        csv="<results>/texel/match_table.csv",
    log:
        "<logs>/texel/match.log",
    conda:
        "environment.yaml"
    params:
        code=code("tournament.bayeselo"),
        anchor=UNTUNED,
    message:
        "Table of the match"
    shell:
        "nnuelab texel match-table {input.games:q} --anchor {params.anchor:q} --output {output.table:q}"
        " --csv {output.csv:q} > {log:q} 2>&1"
