"""From histories, proofs, puzzles and games to the table of an experiment.

Needs the nets with history, proof and puzzles beside them, and the games; makes
results/{experiment}_table.csv and .md, which are kept in git.
"""


rule table:
    input:
        nets=lambda w: of_nets(w.experiment, "net.nnue"),
        histories=lambda w: of_nets(w.experiment, "history.csv"),
        errors=lambda w: of_nets(w.experiment, "verify.json"),
        puzzles=lambda w: of_nets(w.experiment, "puzzles.json"),
        games="results/tournament/{experiment}.pgn",
        timed=lambda w: [
            f"results/tournament/{played}.pgn"
            for played in yardsticks(w.experiment)[1:]
        ],
        ratings=lambda w: [
            f"results/tournament/{played}_{what}"
            for played in yardsticks(w.experiment)
            for what in ("ratings.csv", "details.json")
        ],
    output:
        table=report(
            "results/{experiment}_table.csv",
            caption="captions/table.rst",
            category="Results",
            labels={"experiment": "{experiment}", "what": "table"},
        ),
        markdown="results/{experiment}_table.md",
    log:
        "logs/table/{experiment}.log",
    conda:
        "environment.yaml"
    params:
        code=lambda w: code(
            "report.table",
            sets=settings.experiments[w.experiment].feature_sets,
            files=[PACKAGE / "report/published.csv"],
        ),
        nets=lambda w: players(w.experiment),
        anchor=lambda w: settings.experiments[w.experiment].anchor,
        timed=lambda w, input: f"--time-pgn {input.timed}" if input.timed else "",
    message:
        "Table of experiment {wildcards.experiment}"
    shell:
        "nnuelab table {params.nets:q} --experiment {wildcards.experiment}"
        " --anchor {params.anchor:q} --pgn {input.games} {params.timed} --csv {output.table}"
        " --markdown {output.markdown} 2> {log}"
