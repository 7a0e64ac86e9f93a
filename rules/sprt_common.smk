"""What the sequential tests of nets are made of; needs common.smk."""

DUELS = {name: duels(plan.players, plan.anchor) for name, plan in plan_of.items()}


def duel(wildcards):
    """The players of a test, and what each is made of."""
    experiment = PLAYED[wildcards.played][0]
    files = dict(zip(plan_of[experiment].players, played_with(experiment), strict=True))
    found = DUELS[experiment].get(wildcards.net)
    if found is None:
        tested = "; ".join(DUELS[experiment])
        raise WorkflowError(
            f"{wildcards.net} is not tested in {experiment}; there are {tested}"
        )
    return {player: files[player] for player in found}


def tests_of(wildcards):
    """The games of all tests."""
    experiment = PLAYED[wildcards.played][0]
    if not DUELS[experiment]:
        raise WorkflowError(
            f"{experiment} has no set but its anchor; a sequential test needs another one"
        )
    folder = f"<results>/tournament/sprt/{wildcards.played}"
    return [f"{folder}/{net}.pgn" for net in DUELS[experiment]]


def of_duel(experiment, players):
    """Arguments of `code` for what the games of two players run."""
    found = players_code(experiment)
    if "sets" in found:
        found["sets"] = sorted({NetName.parse(name).feature_set for name in players})
    return found


def tested_there():
    """What the page shows of sequential tests: as much as has been made, nothing is made for it."""
    of_reported = (p for p, (experiment, _) in PLAYED.items() if experiment in REPORTED)
    tables = (f"{RESULTS}/sprt/{played}.csv" for played in of_reported)
    return [table for table in tables if Path(table).exists()]
