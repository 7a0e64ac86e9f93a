"""Sequential tests: each net of an experiment against the anchor's, until the test has decided.

Needs the nets of an experiment, a book of openings and, for games at equal cost, what a node costs; makes
results/sprt/{played}.csv, and the games in results/tournament/sprt: {played} is the experiment for those at fixed
nodes, or cost/, deep/, deep-cost/ or time/ before it, as of its tournament, whose settings and engine play here, too.
The report shows the tables that are there.
"""


use rule tournament as sprt_games with:
    input:
        nets=lambda w: list(duel(w).values()),
        engine=lambda w: plan_of[PLAYED[w.played][0]].tournament.program or [],
        # A proof must be there; a new one of the same net is no reason to play again.
        verified=lambda w: [
            ancient(f"<results>/nets/{net}/verify.json")
            for player, net in plan_of[PLAYED[w.played][0]].trained.items()
            if player in duel(w)
        ],
        book=lambda w: plan_of[PLAYED[w.played][0]].tournament.book,
        costs=lambda w: at_cost(w.played),
        parts=[],
    output:
        games="<results>/tournament/sprt/{played}/{net}.pgn",
        record="<results>/tournament/sprt/{played}/{net}.pgn.json",
    log:
        "<logs>/sprt_games/{played}/{net}.log",
    benchmark:
        "<benchmarks>/sprt_games/{played}/{net}.tsv"
    wildcard_constraints:
        net="|".join(map(re.escape, set().union(*DUELS.values()))) or "none",
    params:
        code=lambda w: code(
            "tournament.runner", **of_duel(PLAYED[w.played][0], duel(w))
        ),
        players=lambda w, input: named(duel(w), input.nets),
        fixed=[],  # these games are no part of the experiment's design
        options=lambda w: sequential_options(w.played),
    message:
        "Sequential test of {wildcards.net} in {wildcards.played}, at {params.at}; progress in {log}"


rule sprt_table:
    input:
        games=tests_of,
    output:
        table="<results>/sprt/{played}.csv",
    log:
        "<logs>/sprt_table/{played}.log",
    conda:
        "environment.yaml"
    params:
        code=code("report.sprt"),
    message:
        "Table of the sequential tests of {wildcards.played}"
    shell:
        "nnuelab sprt-table {input.games:q} --csv {output.table:q} > {log:q} 2>&1"
