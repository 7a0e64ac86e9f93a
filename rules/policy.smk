"""From games to policies: nets that choose moves by the squares they go from and to.

Needs the games of data; makes results/policy_table.csv from results/policy/nets/{policy}/{seed}/net.policy.
Their positions, openings and captures among them, lie in results/policy/positions, split by game.
"""

POLICIES = settings.policy.variants
# Every position: a policy has to know what to do in all of them.
POLICY_SAMPLE = ALL_MOVES.model_copy(
    update={key: getattr(settings.policy, key) for key in ("min_ply", "max_positions")}
)
POLICY_LABEL = settings.label.model_copy(
    update={"labeller": "result", "skip_captures": False}
)


wildcard_constraints:
    policy="|".join(POLICIES),


rule policy:
    input:
        "<results>/policy_table.csv",


use rule sample as policy_sample with:
    input:
        games=lambda w: all_games(),
        parts=[],
    output:
        sampled="<results>/policy/positions/sampled.npy",
        report="<results>/policy/positions/sample_report.json",
        figure="<results>/policy/positions/sample_report.svg",
    log:
        "<logs>/policy/sample.log",
    benchmark:
        "<benchmarks>/policy/sample.tsv"
    params:
        filter="",
        options=sample_options(POLICY_SAMPLE),
    message:
        "Positions with the move played out of games; progress in {log}"


use rule label as policy_label with:
    input:
        sampled="<results>/policy/positions/sampled.npy",
        parts=[],
    output:
        train="<results>/policy/positions/train.npy",
        validation="<results>/policy/positions/validation.npy",
        test="<results>/policy/positions/test.npy",
    log:
        "<logs>/policy/label.log",
    benchmark:
        "<benchmarks>/policy/label.tsv"
    params:
        code=code("data.labels"),
        options=label_options(POLICY_LABEL),
    message:
        "Positions for policies, split by game; progress in {log}"


rule policy_train:
    input:
        train="<results>/policy/positions/train.npy",
        validation="<results>/policy/positions/validation.npy",
    output:
        policy="<results>/policy/nets/{policy}/{seed}/net.policy",
        checkpoint="<results>/policy/nets/{policy}/{seed}/checkpoint.pt",
        history="<results>/policy/nets/{policy}/{seed}/history.csv",
        times="<results>/policy/nets/{policy}/{seed}/history_times.csv",
    log:
        "<logs>/policy/train/{policy}/{seed}.log",
    benchmark:
        "<benchmarks>/policy/train/{policy}/{seed}.tsv"
    conda:
        "environment.yaml"
    params:
        code=lambda w: code("policy.training", sets=[POLICIES[w.policy].feature_set]),
        features=lambda w: POLICIES[w.policy].feature_set,
        options=lambda w: options(settings.policy.settings_of(w.policy)),
    message:
        "Training the policy {wildcards.policy}, seed {wildcards.seed}; progress in {log}"
    shell:
        "nnuelab policy train --features {params.features:q} --train {input.train:q}"
        " --validation {input.validation:q} --checkpoint {output.checkpoint:q}"
        " --history {output.history:q} --output {output.policy:q} --seed {wildcards.seed:q}"
        " {params.options:q} 2> {log:q}"


rule policy_evaluate:
    input:
        policy="<results>/policy/nets/{policy}/{seed}/net.policy",
        positions="<results>/policy/positions/validation.npy",
    output:
        csv="<results>/policy/nets/{policy}/{seed}/evaluation.csv",
    log:
        "<logs>/policy/evaluate/{policy}/{seed}.log",
    conda:
        "environment.yaml"
    params:
        code=lambda w: code("policy.metrics", sets=[POLICIES[w.policy].feature_set]),
        positions=settings.policy.count,
    message:
        "How well the policy {wildcards.policy}, seed {wildcards.seed}, knows moves"
    shell:
        "nnuelab policy evaluate {input.policy:q} --positions {input.positions:q} --csv {output.csv:q}"
        " --count {params.positions:q} 2> {log:q}"


rule policy_table:
    input:
        evaluations=expand(
            "<results>/policy/nets/{policy}/{seed}/evaluation.csv",
            policy=POLICIES,
            seed=settings.policy.seeds,
        ),
        histories=expand(
            "<results>/policy/nets/{policy}/{seed}/history{times}.csv",
            policy=POLICIES,
            seed=settings.policy.seeds,
            times=["", "_times"],
        ),
    output:
        csv="<results>/policy_table.csv",
    log:
        "<logs>/policy/table.log",
    conda:
        "environment.yaml"
    params:
        code=code("policy.table"),
        folders=lambda w, input: [os.path.dirname(path) for path in input.evaluations],
    message:
        "Table of policies"
    shell:
        "nnuelab policy table {params.folders:q} --csv {output.csv:q} > {log:q} 2>&1"
