"""What the rules of Texel tuning share: runs, their evaluations and traces, players of the match."""

from nnuelab.params.models import UNTUNED

START = "start"
BITS = {"pbil", "ga"}  # optimizers with strings of bits
TUNERS = settings.texel.tuners
TRACED = {name: tuner.evaluation for name, tuner in TUNERS.items() if tuner.evaluation}
WITH_BITS = [n for n in TUNERS if settings.texel.settings_of(n).optimizer in BITS]
MATCH_KINDS, MATCH_FILES = kinds_and_files(settings.texel.players.values())
# What positions are searched with: modules that take any evaluator don't import it.
HCE_EVALUATOR = evaluator_of(SHIPPED_EVALUATION)


def traced(tuner):
    """The name of the traces that a run reads."""
    return tuner if tuner in TRACED else START


def terms_of(tuner):
    """The file of the evaluation that a run, or the match, begins with; nothing: the package's."""
    return TRACED.get(tuner, settings.texel.evaluation) or []


def code_of(module, *tuners, files=(), kinds=()):
    """As `code`, with the blocks of the evaluations of some runs; START is a run without changes."""
    evaluations = {terms_of(tuner) or SHIPPED_EVALUATION for tuner in tuners}
    shipped = evaluations & {SHIPPED_EVALUATION}
    return code(module, sorted(map(terms_in, evaluations)), [*shipped, *files], kinds)


def also_sets():
    """Feature sets of what joins the ladder: of a tuned evaluation those that it begins with."""
    policy = settings.policy
    for player in settings.ladder.also.values():
        if player.texel is not None:
            yield terms_in(terms_of(player.texel) or SHIPPED_EVALUATION)
        elif player.policy is not None:
            yield policy.variants[player.policy].feature_set
        else:
            yield policy.selfplay.settings_of(player.selfplay).features


def with_evaluation(file):
    return ["--evaluation", file] if file else []


def match_players(wildcards, input):
    """NAME=FILE of the start, of every run, and of the others."""
    start = settings.texel.evaluation or "{hce: default}"
    tuned = dict(zip(TUNERS, input.tuned, strict=True))
    found = {UNTUNED: start, **tuned, **settings.texel.players}
    return [f"{name}={player}" for name, player in found.items()]


def evaluated_players(wildcards, input):
    """Those of the match that are no engines: what an engine evaluates with isn't known."""
    engines = {
        name
        for name, player in settings.texel.players.items()
        if kinds_and_files([player])[0] == ["engine"]
    }
    words = match_players(wildcards, input)
    return [word for word in words if word.partition("=")[0] not in engines]


def tuned_there():
    """What the page shows of Texel tuning: as much as has been made, nothing is made for it."""
    files = [f"{RESULTS}/texel/{name}.csv" for name in ("match_table", "errors")]
    files += expand(
        "{results}/texel/{tuner}/{file}",
        results=RESULTS,
        tuner=TUNERS,
        file=["history.csv", "terms.csv", "tuned.yaml", "residuals.json"],
    )
    return [file for file in files if Path(file).exists()]
