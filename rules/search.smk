"""The search for feature sets: what is worth having at which cost of a node.

Needs the positions of results/data; makes results/search/prices.csv, what the terms cost, where it
isn't there, history.csv, every set on every screen, front.csv, those that no other one beats, and
front.yaml: the experiment `search`, in which the front plays with fresh seeds. Once it is there,
results/search_table.csv is a target as any other table is; `./run` makes it before that one.
"""


rule search:
    input:
        train=POSITIONS,
        validation="<results>/data/validation.npy",
    output:
        history="<results>/search/history.csv",
        front="<results>/search/front.csv",
        experiment=FRONT,
    log:
        "<logs>/search/search.log",
    benchmark:
        "<benchmarks>/search/search.tsv"
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=code(
            "discovery.search",
            sets=[
                *settings.search.terms,
                *settings.search.factors,
                settings.search.anchor,
            ],
        ),
        options=options(settings.search),
        folder=subpath(output.history, parent=True),
    message:
        "Search for feature sets; progress in {log}"
    shell:
        "nnuelab search --train {input.train:q} --validation {input.validation:q}"
        " --output {params.folder:q} {params.options:q} --workers {threads} > {log:q} 2>&1"
