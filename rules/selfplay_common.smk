"""Which games experiments learn from, their own or others'."""

GENERATIONS = range(1, settings.selfplay.generations + 1)
LEARNT = f"<results>/selfplay/{{generation}}/{settings.selfplay.seed}"


def of_generation(generation):
    """The net of a generation; 0 is the first net, nothing where that comes with the package."""
    if generation > 0:
        return f"{LEARNT}/net.nnue".format(generation=generation)
    return settings.selfplay.net or []


def games_of_generation(generation):
    """The files of games that a generation learns from."""
    folder = f"<results>/selfplay/{generation}"
    return [
        f"{folder}/games-{part}.pgn.zst"
        for part in range(1, settings.selfplay.parts + 1)
    ]


def seed_of_games(generation, part):
    """No two files of games begin alike."""
    return 1_000_000 * (part - 1) + 1000 * settings.selfplay.seed + generation


def all_games():
    """The files of games that experiments learn from."""
    if LABELLED:
        raise WorkflowError(
            "data.source positions has no games, which this needs: choose another source"
        )
    if settings.data.source != "selfplay":
        return settings.data.games
    return [file for g in GENERATIONS for file in games_of_generation(g)]
