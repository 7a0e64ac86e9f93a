"""From nothing to policies: nets that learn from their own games, and matches that say what they learnt.

`snakemake policy_selfplay` needs a book of openings and the policies of policy.selfplay.policies; makes
results/policy/selfplay/{run}/{seed}/net.policy with history.csv and history_times.csv beside it, the
games of all of them against each opponent, results/policy/vs_{opponent}.pgn, and their scores,
results/policy/vs_random.csv.
"""

LEARNING = settings.policy.selfplay
GAUNTLETS = made.gauntlets(settings, RESULTS)
LEARNERS = {name: p for players in GAUNTLETS.values() for name, p in players.items()}
SELFPLAY_KINDS, SELFPLAY_FILES = kinds_and_files(LEARNERS.values())
SELFPLAY_SETS = sorted(
    {LEARNING.settings_of(run).features for run in LEARNING.runs}
    | {POLICIES[name].feature_set for name in LEARNING.policies}
)


wildcard_constraints:
    run="|".join(LEARNING.runs),
    opponent="|".join(GAUNTLETS),


rule policy_selfplay:
    input:
        "<results>/policy/vs_random.csv",


rule policy_selfplay_learn:
    output:
        policy="<results>/policy/selfplay/{run}/{seed}/net.policy",
        history="<results>/policy/selfplay/{run}/{seed}/history.csv",
        times="<results>/policy/selfplay/{run}/{seed}/history_times.csv",
    log:
        "<logs>/policy/selfplay/{run}/{seed}.log",
    benchmark:
        "<benchmarks>/policy/selfplay/{run}/{seed}.tsv"
    conda:
        "environment.yaml"
    # The search of experts is what takes long; the others are at work on one core.
    threads: lambda w: ALL_CORES if LEARNING.runs[w.run].method == "expert" else 1
    params:
        code=lambda w: code(
            "policy.selfplay", sets=[LEARNING.settings_of(w.run).features]
        ),
        method=lambda w: LEARNING.runs[w.run].method,
        options=lambda w: options(LEARNING.settings_of(w.run), without=["seed"]),
        workers=lambda w, threads: (
            ["--workers", threads] if LEARNING.runs[w.run].method == "expert" else []
        ),
    message:
        "The policy {wildcards.run}, seed {wildcards.seed}, plays and learns; progress in {log}"
    shell:
        "nnuelab policy selfplay {params.method:q} --output {output.policy:q}"
        " --history {output.history:q} --seed {wildcards.seed:q} {params.options:q} {params.workers:q}"
        " 2> {log:q}"


# By the rules of chess alone: what a mate is worth has to be seen.
rule policy_selfplay_games:
    input:
        policies=SELFPLAY_FILES,
        book=settings.tournament.book,
    output:
        games="<results>/policy/vs_{opponent}.pgn",
    log:
        "<logs>/policy/vs_{opponent}.log",
    benchmark:
        "<benchmarks>/policy/vs_{opponent}.tsv"
    conda:
        "environment.yaml"
    threads: ALL_CORES
    params:
        code=code("tournament.runner", sets=SELFPLAY_SETS, kinds=SELFPLAY_KINDS),
        players=lambda w: made.words(GAUNTLETS[w.opponent]),
        options=[
            *options(LEARNING, only=["games_per_pairing"]),
            *options(settings.tournament, only=["seed", "max_plies"]),
        ],
    message:
        "Games of policies against {wildcards.opponent}; progress in {log}"
    shell:
        "nnuelab tournament {params.players:q} --format gauntlet --book {input.book:q}"
        " --output {output.games:q} {params.options:q} --nodes 1 --draw-plies 0 --resign-plies 0"
        " --workers {threads} > {log:q} 2>&1"


rule policy_selfplay_score:
    input:
        games=expand("<results>/policy/vs_{opponent}.pgn", opponent=GAUNTLETS),
    output:
        csv="<results>/policy/vs_random.csv",
    log:
        "<logs>/policy/vs_random_score.log",
    conda:
        "environment.yaml"
    params:
        code=code("tournament.true_scores"),
        against=[w for p in GAUNTLETS.values() for w in ("--against", next(iter(p)))],
    message:
        "Scores of policies, by mates and by material"
    shell:
        "nnuelab policy score {input.games:q} --csv {output.csv:q} {params.against:q} 2> {log:q}"
