"""Settings, code hashes and names of files that the rules share; what is imported here is light."""

import json
import math
import os
import re
from functools import cache
from pathlib import Path
from statistics import mean

import snakemake_logger_plugin_nnuelab as logger_plugin
from snakemake.exceptions import WorkflowError
from snakemake.io import IOFile

from nnuelab import features
from nnuelab.artifacts import code_hash, logs_of
from nnuelab.errors import UserError
from nnuelab.eta import USUAL
from nnuelab.evaluator import module_of
from nnuelab.features import fingerprint
from nnuelab.hce import evaluation
from nnuelab.names import NetName
from nnuelab.params import (
    check_files,
    check_names,
    core_seconds,
    found_experiments,
    policy_seconds,
    selfplay_seconds,
    texel_seconds,
)
from nnuelab.params import FINDING_SEED, default_experiment, duels, fixed, kind_at, made
from nnuelab.params import options, plans
from nnuelab.params import results_folder, validate
from nnuelab.parts import Part
from nnuelab.report.answered import answers
from nnuelab.runs import journal_of
from nnuelab.settings.texel import Positions
from nnuelab.settings.weighted import weighted
from nnuelab.sources import PACKAGE
from nnuelab.tournament import yardsticks
from nnuelab.tournament.players import PARTS, kinds_and_files, players_of

# params.yaml alone makes results/; with overlays a run has folders of its own, named after them.
# Downloads are shared: results/games, books and puzzles.
RESULTS = results_folder(workflow.configfiles)

# The experiment that a search has written, once it has.
FRONT = f"{RESULTS}/search/front.yaml"

try:
    check_names(workflow.configfiles)
    for name, experiment in found_experiments(FRONT).items():
        config.get("experiments", {}).setdefault(name, experiment)
    # Exports NNUELAB_BLOCKS, too, which every job inherits.
    settings = validate(config, "params.yaml and overlays")
    check_files(settings, "params.yaml and overlays")
    plan_of = plans(settings)
except UserError as error:
    raise WorkflowError(str(error)) from None

# What is made where no target says more, and what DVC's stages make.
DEFAULT = default_experiment(settings)


pathvars:
    results=RESULTS,
    logs=str(logs_of(RESULTS)),
    benchmarks="<logs>/benchmarks",


EXPRESSIONS = {
    NetName(name).folder: name
    for experiment in settings.experiments.values()
    for name in experiment.feature_sets
}

# Where no file is named: these come with the package, so their content is part of the code.
SHIPPED_EVALUATION = evaluation.DEFAULT
SHIPPED_NET = PACKAGE / "nnue/nets/default.nnue"

NETS = {
    net.folder: net
    for plan in plan_of.values()
    for entry in plan.entries
    for net in (entry, *entry.finders)
}


# Nets made elsewhere, by folder: the set that each has to be of, and its file.
IMPORTED = {
    NetName.parse(name).folder: (NetName.parse(name).feature_set, file)
    for plan in plan_of.values()
    for name, file in plan.imported.items()
}


# No other names make a target: so a misspelt one is told as such.
wildcard_constraints:
    experiment="|".join(map(re.escape, settings.experiments)),
    name="|".join(map(re.escape, NETS | EXPRESSIONS)),


# Of labellers that search; no others must label anew when they change.
SEARCHING = {"depth", "nodes", "movetime", "cache", "max_unusable"}
ENGINE_OPTIONS = {
    "stockfish": {"engine", "options", "patience", *SEARCHING},
    "engine": {"net", *SEARCHING},
}


def evaluator_of(file):
    """The file of the code that evaluates with a net or an evaluation; null: the shipped net.

    Modules that take any evaluator don't import it.
    """
    return PACKAGE / f"{module_of(file).replace('.', '/')}.py"


LABELS_OF = {  # what labels, where that isn't data.labels
    "engine": {"module": "selfplay.labels", "files": [evaluator_of(settings.label.net)]}
}


def label_options(chosen):
    """Options of `nnuelab label` that have a meaning for the labeller of a section label."""
    own = ENGINE_OPTIONS.get(chosen.labeller, set())
    others = set().union(*ENGINE_OPTIONS.values()) - own
    return options(chosen, without=[*others, "parts"])


def sample_options(chosen):
    """Options of `nnuelab sample`, by a section sample."""
    return options(chosen, without=["parts"])


def sample_parts(folder):
    """The parts that samples are joined from, in a folder of data."""
    most = 1 if settings.sample.max_positions else len(all_games())
    return kept_parts(
        f"{folder}/sampled.npy",
        f"{folder}/parts",
        settings.sample.parts,
        ".sample",
        most,
    )


def label_parts(folder):
    """The parts that labels are joined from, in a folder of data."""
    most = math.inf if settings.label.searches else 1
    return kept_parts(
        f"{folder}/train.npy", f"{folder}/parts", settings.label.parts, ".labels", most
    )


def option_files():
    """Nets and tables that the options of a labelling engine name."""
    chosen = settings.label
    named = chosen.options.values() if chosen.labeller == "stockfish" else []
    return [file for file in named if os.path.isfile(file)]


def code(module, sets=(), files=(), kinds=()):
    """Content hash of what a job runs: a module, kinds of players, the blocks of its sets, files.

    With all that these import.
    """
    modules = [module, *(PARTS[kind].module for kind in kinds)]
    return code_hash(
        modules, files, [fingerprint.code(features.parse(name)) for name in sets]
    )


@cache
def terms_in(file):
    """The feature set of an evaluation's terms."""
    try:
        return evaluation.read(file).features.name
    except UserError as error:
        raise WorkflowError(str(error)) from None


def features_of(files):
    """The feature sets of the evaluations among some files, each once, for `code`."""
    return sorted({terms_in(f) for f in files if Path(f).suffix in evaluation.ENDINGS})


# Scaled down to the cores of the run; executors that have no such limit take --set-threads.
ALL_CORES = 1024


def pinned(name):
    """The checksum that the settings know of a download, as an option."""
    known = settings.data.sha256
    return ["--sha256", known[name]] if name in known else []


# Which positions are quiet is for the net that comes with the package to say.
QUIET_FILTER = (
    code("selfplay.quiet", files=[evaluator_of(None)])
    if settings.sample.quiet_only
    else ""
)

# What learns from the moves played has to see captures and checks, too: where no Q follows a capture and
# some R do, counting pieces tells them apart.
ALL_MOVES = settings.sample.model_copy(
    update=dict.fromkeys(
        ["skip_check", "skip_captures", "skip_promotions", "quiet_only"], False
    )
)


LABELLED = settings.data.source == "positions"  # by others: there are no games
POSITIONS = f"<results>/data/train.{'shards' if LABELLED else 'npy'}"


def data_for(train):
    """The folder of the positions that a net learns from."""
    moves = train.method != "scores" and not LABELLED
    return "<results>/data/moves" if moves else "<results>/data"


def positions_for(train):
    """The positions that a net learns from."""
    return POSITIONS if LABELLED else f"{data_for(train)}/train.npy"


def centring(quantize, positions):
    """The positions whose mean error is taken out of a net, nothing where it stays."""
    return positions if quantize.scheme != "study" and quantize.count else []


def on_gpu(train, resource):
    """A resource of a training on CUDA; on the CPU none: Kubernetes takes 0 for asking for a GPU."""
    return resource if train.device == "cuda" else None


def start_of(entry, seed):
    """The checkpoint that training begins with, nothing where it begins anew."""
    return entry.start.replace("{seed}", seed) if entry.start else []


def found_for(entry):
    """The files of settings that are found before a net is trained."""
    files = {"size.json": entry.like, "rate.json": entry.rates}
    return [f"<results>/nets/{entry.folder}/{file}" for file in files if files[file]]


def finders_of(entries, file):
    """A file of each net that finds a setting."""
    return [f"<results>/nets/{net.folder}/{FINDING_SEED}/{file}" for net in entries]


def of_nets(experiment, file):
    """A file of each net of an experiment, in the order of its players.

    Of nets made elsewhere there is nothing but the net.
    """
    plan = plan_of[experiment]
    nets = plan.players if file == "net.nnue" else plan.trained
    return [f"<results>/nets/{net}/{file}" for net in nets.values()]


def sets_of(experiments):
    """The feature sets of experiments, each once."""
    return sorted(
        {s for e in experiments for s in settings.experiments[e].feature_sets}
    )


def statistics_of(experiments):
    """What was counted of the feature sets of experiments."""
    return [
        f"<results>/statistics/{NetName(s).folder}.csv" for s in sets_of(experiments)
    ]


def named(players, nets):
    """NAME=NET of each player, as the tournament and the table take them."""
    return [f"{player}={net}" for player, net in zip(players, nets, strict=True)]


def players(experiment, nets):
    """The same of all players of an experiment."""
    return named(plan_of[experiment].players, nets)


def players_code(experiment):
    """What the games of an experiment run besides the tournament, as arguments of `code`."""
    if plan_of[experiment].tournament.engine is not None:
        return {"kinds": ["engine"]}
    return {"sets": settings.experiments[experiment].feature_sets, "kinds": ["net"]}


def priced(experiment):
    """Net of each row of an experiment that the cost of a node is measured with: the first seed."""
    plan = plan_of[experiment]
    seed = plan.seeds[0]
    nets = {str(entry.name): f"{entry.folder}/{seed}" for entry in plan.entries}
    nets |= {name: f"{NetName.parse(name).folder}/1" for name in plan.imported}
    return {name: f"<results>/nets/{net}/net.nnue" for name, net in nets.items()}


def costs_of(experiment):
    """The file of what nodes cost in an experiment, nothing where that doesn't matter."""
    plan = plan_of[experiment]
    measured = f"<results>/tournament/cost/{experiment}.csv" if plan.is_priced else []
    return plan.tournament.costs or measured


# Experiment and yardstick by the name of games, as far as there are any.
PLAYED = {
    yardstick.played(name): (name, yardstick)
    for name, plan in plan_of.items()
    for yardstick in yardsticks.ALL
    if plan.tournament.nodes_at(yardstick) != 0 and plan.tournament.games_at(yardstick)
}


def games_of(experiment):
    """Names of an experiment's games, those at fixed nodes first."""
    chosen = plan_of[experiment].tournament.yardsticks
    return [yardstick.played(experiment) for yardstick in chosen]


def others(experiment, input):
    """Options with what else there is than games at fixed nodes."""
    chosen = plan_of[experiment].tournament.yardsticks[1:]
    games = zip(chosen, input.others, strict=True)
    found = [f"--{yardstick.folder}-pgn={pgn}" for yardstick, pgn in games]
    return [*found, *([f"--cost={input.costs}"] if input.costs else [])]


LIMITS = ["nodes", "nodes_deep", "check_time", "movetime", "costs"]
LIMITS += ["games_per_pairing", "cost_games_per_pairing"]
LIMITS += ["deep_games_per_pairing", "timed_games_per_pairing", "parts", "sprt"]
JUDGED = ["engine", "net_option", "engine_options"]


def of_ladder():
    """Kinds and files of the ladder's file of players, read where the ladder is asked for."""
    return kinds_and_files(players_of(Path(settings.ladder.players)))


def adjudication(tournament):
    """Options of games at any limit."""
    without = ["book", "format", "net_file", "net_command", "runner", *JUDGED, *LIMITS]
    return options(tournament, without=without)


def judged_by(tournament):
    """Options of games by another engine, or run by another manager; none where these are our own."""
    manager = ["runner"] if tournament.runner != "own" else []
    return options(tournament, only=[*(JUDGED if tournament.engine else []), *manager])


def played_with(experiment):
    """The files that the players of an experiment are made of: its nets, or what is made of them."""
    chosen, folder = plan_of[experiment].tournament, f"tournament/nets/{experiment}"
    if chosen.engine is None or chosen.loads_nets:
        return of_nets(experiment, "net.nnue")
    nets = plan_of[experiment].players.values()
    return [f"<results>/{folder}/{net}/{chosen.net_file}" for net in nets]


def limit_at(yardstick, chosen):
    """What a player may take for a move at a yardstick."""
    nodes = chosen.nodes_at(yardstick)
    return (
        ["--movetime", f"{chosen.movetime:g}"] if nodes is None else ["--nodes", nodes]
    )


def options_at(yardstick, chosen):
    """Options of games at a yardstick, by the section tournament or an experiment's own."""
    games = ["--games-per-pairing", chosen.games_at(yardstick)]
    return [*games, *limit_at(yardstick, chosen), *adjudication(chosen)]


def options_of(played):
    """Options of an experiment's games."""
    experiment, yardstick = PLAYED[played]
    plan = plan_of[experiment]
    chosen = plan.tournament
    anchored = chosen.format == "anchored"
    meetings = ["--format=anchored", f"--anchor={plan.anchor}"] if anchored else []
    return [*meetings, *options_at(yardstick, chosen), *judged_by(chosen)]


def sequential_options(played):
    """Options of an experiment's games, played as a match until a test decides."""
    experiment, yardstick = PLAYED[played]
    chosen = plan_of[experiment].tournament
    rest = [*limit_at(yardstick, chosen), *adjudication(chosen), *judged_by(chosen)]
    return ["--format=match", *chosen.sprt.options, *rest]


def at_cost(played):
    """The costs of nodes, where the games of an experiment are at equal cost."""
    experiment, yardstick = PLAYED[played]
    return costs_of(experiment) if yardstick.at_cost else []


def parts_of(wildcards):
    """The parts that games are joined from; none for a part."""
    if hasattr(wildcards, "part"):
        return []
    played, folder = wildcards.played, f"{RESULTS}/tournament"
    count = plan_of[PLAYED[played][0]].tournament.parts
    return kept_parts(
        f"{folder}/{played}.pgn", f"{folder}/parts/{played}", count, ".part"
    )


def kept_parts(whole, folder, count, ending, most=math.inf):
    """The parts that a file is joined from, ``most`` at most; none for one that is made as a whole.

    A file that is there keeps its parts, which Snakemake has recorded: it takes another set of inputs
    for a reason to make it again. So does the job that joins them on another machine, where the file is
    already removed. Parts of other settings may be more than the present ones can have.
    """
    if os.path.exists(whole):
        recorded = workflow.persistence.input(IOFile(whole)) or []
        kept = [file for file in recorded if file.endswith(ending)]
        if len(kept) <= most:
            return kept
    count = min(count, most)
    asked = [f"{folder}/{i}-of-{count}{ending}" for i in range(1, count + 1)]
    if not workflow.is_main_process and not all(map(os.path.exists, asked)):
        asked = sorted(map(str, Path(folder).glob(f"*{ending}"))) or asked
    return asked if 1 < len(asked) <= most else []


def kind_of(played):
    """What the spread of trainings in an experiment's games may be pooled with."""
    experiment, yardstick = PLAYED[played]
    return kind_at(settings, plan_of[experiment].tournament, yardstick)


def groups(experiment):
    """Sets whose trainings scatter otherwise than most, as options."""
    return [
        f"--group={group}={entry}"
        for entry, group in plan_of[experiment].groups.items()
    ]


FIRST_POLICIES = {
    name: f"{RESULTS}/policy/nets/{name}/{settings.policy.seeds[0]}/net.policy"
    for name in settings.policy.variants
}


def policies_there():
    """What the page shows of policies: as much as has been made.

    Nothing is made for it, but what they say of the games that are reported.
    """
    folder = Path(RESULTS) / "policy"
    patterns = ["*.pgn", "*.csv", "nets/*/*/history.csv", "selfplay/*/*/history.csv"]
    found = sorted(str(path) for pattern in patterns for path in folder.glob(pattern))
    table, agreement = (
        f"{RESULTS}/policy_{name}.csv" for name in ("table", "agreement")
    )
    found += [table] if Path(table).exists() else []
    asked = all(Path(path).exists() for path in FIRST_POLICIES.values())
    return found + [agreement] if asked else found


def inform_logger():
    """Tells where runs are told, what may be asked for by what name, how long jobs usually take."""
    logger_plugin.journal = journal_of(RESULTS)
    targets = logger_plugin.targets
    tables = {name: f"{RESULTS}/{name}_table.csv" for name in settings.experiments}
    targets.update({table: table for table in tables.values()} | tables)
    match = f"{RESULTS}/texel/match_table.txt"
    targets.update({match: match, "match_table": match})
    policies = f"{RESULTS}/policy_table.csv"
    scores = f"{RESULTS}/policy/vs_random.csv"
    targets.update({policies: policies, scores: scores})
    targets.update({r.name: r.name for r in workflow.rules if not r.has_wildcards()})
    known = list(map(core_seconds, plan_of.values()))
    for job in set().union(*known):
        USUAL[job] = mean(seconds[job] for seconds in known if job in seconds)
    USUAL.update(texel_seconds(settings) | policy_seconds(settings))
    USUAL.update(selfplay_seconds(settings))
