"""From datasets to proved integer nets, one for each feature set, variant and seed.

Needs results/data; makes results/nets/{name}/{seed}/net.nnue with its training history and the
proof that it equals the float net within the bound of params.yaml, and what it makes of puzzles.
Nets that an experiment names are read into the same place, without the others' files.
Where a variant has l1: auto, results/nets/{name}/size.json comes first, by nets of short trainings;
where it has learning_rate: auto, rate.json, by nets of several rates.
"""


rule nets:
    input:
        [of_nets(DEFAULT, file) for file in ("verify.json", "puzzles.json")],


rule sizing:
    input:
        nets=lambda w: finders_of(NETS[w.name].probes, "net.nnue"),
        positions="<results>/data/validation.npy",
    output:
        l1="<results>/nets/{name}/size.json",
        costs="<results>/nets/{name}/size.csv",
    log:
        "<logs>/size/{name}.log",
    benchmark:
        "<benchmarks>/size/{name}.tsv"
    conda:
        "environment.yaml"
    # As for cost: what else ran meanwhile would take memory and cache from it.
    threads: ALL_CORES
    params:
        code=lambda w: code(
            "tournament.size",
            sets=[probe.feature_set for probe in NETS[w.name].probes[:2]],
        ),
        options=options(settings.cost),
    message:
        "First layer of {wildcards.name} at the anchor's cost of a node"
    shell:
        "nnuelab size {input.nets:q} --positions {input.positions:q} {params.options:q}"
        " --output {output.l1:q} --costs {output.costs:q} > {log:q} 2>&1"


rule learning_rate:
    input:
        checkpoints=lambda w: finders_of(NETS[w.name].trials, "checkpoint.pt"),
    output:
        rate="<results>/nets/{name}/rate.json",
        losses="<results>/nets/{name}/rates.csv",
    log:
        "<logs>/learning_rate/{name}.log",
    benchmark:
        "<benchmarks>/learning_rate/{name}.tsv"
    conda:
        "environment.yaml"
    params:
        code=code("nnue.rates"),
    message:
        "Learning rate of {wildcards.name}"
    shell:
        "nnuelab learning-rate {input.checkpoints:q} --output {output.rate:q}"
        " --losses {output.losses:q} > {log:q} 2>&1"


rule train:
    input:
        train=lambda w: positions_for(NETS[w.name].train),
        validation=lambda w: f"{data_for(NETS[w.name].train)}/validation.npy",
        start=lambda w: start_of(NETS[w.name], w.seed),
        found=lambda w: found_for(NETS[w.name]),
    output:
        checkpoint="<results>/nets/{name}/{seed}/checkpoint.pt",
        history="<results>/nets/{name}/{seed}/history.csv",
        times="<results>/nets/{name}/{seed}/history_times.csv",
    log:
        "<logs>/train/{name}/{seed}.log",
    benchmark:
        "<benchmarks>/train/{name}/{seed}.tsv"
    conda:
        "environment.yaml"
    threads: lambda w: NETS[w.name].train.threads
    resources:
        gpu=lambda w: on_gpu(NETS[w.name].train, 1),
        gpu_manufacturer=lambda w: on_gpu(NETS[w.name].train, "nvidia"),
    params:
        code=lambda w: code("nnue.training", sets=[NETS[w.name].feature_set]),
        features=lambda w: NETS[w.name].feature_set,
        options=lambda w: options(NETS[w.name].train, without=["threads", "from"]),
        start=lambda w, input: ["--from", input.start] if input.start else [],
        found=lambda w, input: [f"--found={file}" for file in input.found],
    message:
        "Training {wildcards.name}, seed {wildcards.seed}; progress in {log}"
    shell:
        "nnuelab train --features {params.features:q} --train {input.train:q}"
        " --validation {input.validation:q} --checkpoint {output.checkpoint:q}"
        " --history {output.history:q} --seed {wildcards.seed:q} {params.options:q}"
        " {params.start:q} {params.found:q} --threads {threads} 2> {log:q}"


rule quantize:
    input:
        checkpoint="<results>/nets/{name}/{seed}/checkpoint.pt",
        positions=lambda w: centring(
            NETS[w.name].quantize, positions_for(NETS[w.name].train)
        ),
    output:
        net="<results>/nets/{name}/{seed}/net.nnue",
    log:
        "<logs>/quantize/{name}/{seed}.log",
    benchmark:
        "<benchmarks>/quantize/{name}/{seed}.tsv"
    conda:
        "environment.yaml"
    params:
        code=lambda w: code("nnue.quantize", sets=[NETS[w.name].feature_set]),
        options=lambda w: options(NETS[w.name].quantize),
        positions=lambda w, input: (
            ["--positions", input.positions] if input.positions else []
        ),
    message:
        "Integer net of {wildcards.name}, seed {wildcards.seed}"
    shell:
        "nnuelab quantize {input.checkpoint:q} --output {output.net:q} {params.options:q}"
        " {params.positions:q} 2> {log:q}"


rule import_net:
    input:
        net=lambda w: IMPORTED[w.imported][1],
    output:
        net="<results>/nets/{imported}/1/net.nnue",
    log:
        "<logs>/import_net/{imported}.log",
    wildcard_constraints:
        imported="|".join(map(re.escape, IMPORTED)) or "(?!)",
    conda:
        "environment.yaml"
    params:
        code=lambda w: code("nnue.netfile", sets=[IMPORTED[w.imported][0]]),
        features=lambda w: IMPORTED[w.imported][0],
    message:
        "Net {wildcards.imported}, made elsewhere"
    shell:
        "nnuelab net convert {input.net:q} {output.net:q} --features {params.features:q} 2> {log:q}"


rule verify:
    input:
        checkpoint="<results>/nets/{name}/{seed}/checkpoint.pt",
        net="<results>/nets/{name}/{seed}/net.nnue",
        validation="<results>/data/validation.npy",
    output:
        error="<results>/nets/{name}/{seed}/verify.json",
        plot=report(
            "<results>/nets/{name}/{seed}/verify.png",
            caption="captions/verify.rst",
            category="Nets",
            labels={"net": "{name}", "seed": "{seed}", "what": "integer error"},
        ),
    log:
        "<logs>/verify/{name}/{seed}.log",
    benchmark:
        "<benchmarks>/verify/{name}/{seed}.tsv"
    conda:
        "environment.yaml"
    params:
        code=lambda w: code("nnue.verify", sets=[NETS[w.name].feature_set]),
        options=options(settings.verify),
    message:
        "Error of the integer net of {wildcards.name}, seed {wildcards.seed}"
    shell:
        "nnuelab verify {input.net:q} --checkpoint {input.checkpoint:q}"
        " --positions {input.validation:q} --output {output.error:q} --plot {output.plot:q}"
        " {params.options:q} 2> {log:q}"


rule puzzles:
    input:
        net="<results>/nets/{name}/{seed}/net.nnue",
        puzzles=settings.puzzles.file,
    output:
        scores="<results>/nets/{name}/{seed}/puzzles.json",
        groups=report(
            "<results>/nets/{name}/{seed}/puzzles.csv",
            caption="captions/puzzles.rst",
            category="Nets",
            labels={"net": "{name}", "seed": "{seed}", "what": "puzzles"},
        ),
    log:
        "<logs>/puzzles/{name}/{seed}.log",
    benchmark:
        "<benchmarks>/puzzles/{name}/{seed}.tsv"
    conda:
        "environment.yaml"
    params:
        code=lambda w: code(
            "tournament.puzzle_scores",
            sets=[NETS[w.name].feature_set],
            kinds=["net"],
        ),
        options=options(settings.puzzles, without=["file"]),
    message:
        "Puzzles for {wildcards.name}, seed {wildcards.seed}"
    shell:
        "nnuelab puzzles {input.puzzles:q} --net {input.net:q} --output {output.scores:q}"
        " --csv {output.groups:q} {params.options:q} --workers {threads} > {log:q} 2>&1"
