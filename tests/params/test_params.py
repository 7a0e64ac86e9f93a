"""params.yaml: every mistake at once with its path, and options that the commands really have."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import pytest

from nnuelab import params
from nnuelab.errors import UserError
from nnuelab.params import ParamsError
from nnuelab.settings.presets import PRESETS
from tests.params.test_options import commands

ROOT = Path(__file__).resolve().parents[2]


def mistakes(settings):
    with pytest.raises(ParamsError) as caught:
        params.validate(settings)
    return caught.value.mistakes


def test_schema_is_up_to_date():
    assert (ROOT / "params.schema.json").read_text() == params.schema(), (
        "write it anew: nnuelab params schema > params.schema.json"
    )


def test_first_line_points_editors_to_the_schema():
    first = (ROOT / "params.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=params.schema.json"


@pytest.mark.parametrize("overlay", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.stem)
def test_overlays_fit(overlay):
    params.read(ROOT / "params.yaml", [overlay])


def test_all_mistakes_are_told_at_once_with_their_paths(settings):
    settings["train"]["epocs"] = 3
    settings["tran"] = {}
    settings["sample"]["min_ply"] = -1
    settings["verify"].pop("count")
    settings["tournament"]["games_per_pairing"] = 7
    settings["label"]["labeller"] = "oracle"
    settings["experiments"]["axis"]["feature_sets"][1] = "HH+V"
    told = mistakes(settings)
    assert sorted(line.split(":")[0] for line in told) == [
        "experiments.axis.feature_sets[1]",
        "label.labeller",
        "sample.min_ply",
        "tournament.games_per_pairing",
        "train.epocs",
        "tran",
        "verify.count",
    ]


@pytest.mark.parametrize(
    ("search", "mistake"),
    [
        ({"terms": []}, "search.terms: there are none"),
        ({"terms": ["H", "KING*ALL"]}, "search.terms: KING*ALL makes no set of at most"),
        ({"factors": ["TH"]}, "search.factors: TH makes no set of at most"),
        ({"hours": 1e-6}, "search.hours: a generation of 12 sets takes"),
    ],
)
def test_a_search_that_would_end_before_it_begins(settings, search, mistake):
    settings["search"] |= search
    (told,) = mistakes(settings)
    assert told.startswith(mistake)


def test_an_unknown_key_names_the_nearest_one_of_its_section(settings):
    settings["train"]["epocs"] = 3
    settings["experiments"]["axis"]["seed"] = 3
    assert mistakes(settings) == [
        "train.epocs: unknown; did you mean epochs?",
        "experiments.axis.seed: unknown; did you mean seeds?",
    ]


def test_an_unknown_block_names_the_nearest_one(settings):
    settings["experiments"]["axis"]["feature_sets"][0] = "ALLL+H"
    told = [line for line in mistakes(settings) if "feature_sets[0]" in line]
    assert "ALLL" in told[0]
    assert "did you mean ALL" in told[0]


@pytest.mark.parametrize(
    ("section", "change", "told"),
    [
        ("data", {"source": "lichess"}, "needs at least one month"),
        ("data", {"source": "files"}, "needs at least one file"),
        ("sample", {"parts": 2, "max_positions": 9}, "leave max_positions 0, or parts 1"),
        ("data", {"months": ["2024-13"]}, "data.months[0]"),
        ("data", {"months": ["2024-01", "2024-01"]}, "data.months: 2024-01 is listed twice"),
        ("data", {"files": ["a.pgn", "./a.pgn"]}, "data.files: ./a.pgn is listed twice"),
        ("label", {"nodes": 5000}, "one limit, not depth and nodes"),
        ("label", {"movetime": 5}, "one limit, not depth and movetime"),
        ("label", {"depth": None, "movetime": 5000, "patience": 5}, "longer than patience"),
        ("label", {"options": {"Hash": "1\nquit"}}, "label.options.Hash"),
        ("train", {"patience": 2, "fake_quantize_epochs": 1}, "set one of them to 0"),
        ("train", {"min_pieces": 20, "max_pieces": 9}, "min_pieces 20 is larger than max_pieces 9"),
        ("train", {"max_disagreement": 0.5, "method": "pqr"}, "method must be scores"),
        ("label", {"validation_share": 1.5}, "label.validation_share"),
        ("texel", {"players": {"adam": "a.nnue"}}, "two players of the match are called adam"),
        ("texel", {"players": {"untuned": "a.nnue"}}, "players of the match are called untuned"),
        ("texel", {"tuners": {"untuned": {}}, "simplify": []}, "the start is called untuned"),
        ("texel", {"simplify": ["adan"]}, "simplify: adan is no run; there are adam, "),
        ("texel", {"tuners": {"a": {"elit": 3}}, "simplify": []}, "tuners.a.elit: unknown; did"),
        ("label", {"validation_share": 0.5, "test_share": 0.5}, "no game for training"),
    ],
)
def test_settings_that_contradict_each_other(settings, section, change, told):
    settings[section] |= change
    (line,) = mistakes(settings)
    assert told in line


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"feature_sets": ["ALL", "H", "all"]}, "feature_sets: ALL is listed twice"),
        ({"seeds": [1, 2, 1]}, "seeds: 1 is listed twice"),
        ({"anchor": "D1*D2"}, "anchor: D1*D2 is none of the feature sets"),
        ({"seeds": []}, "experiments.axis.seeds"),
        ({"feature_sets": ["ALL"], "seeds": [1]}, "axis: one feature set with one seed is"),
    ],
)
def test_experiments_that_make_no_sense(settings, change, told):
    settings["experiments"]["axis"] |= change
    assert any(told in line for line in mistakes(settings))


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        (
            "pqr",
            {"anchor": "ALL"},
            "experiments.pqr.anchor: ALL is none of the variants: ALL,scores;",
        ),
        (
            "pqr",
            {"variants": {"scores": {"epocs": 3}}},
            "experiments.pqr.variants.scores.epocs: unknown; did you mean epochs?",
        ),
        (
            "pqr",
            {"variants": {"scores": {"epochs": "many"}}},
            "experiments.pqr.variants.scores.epochs: input should be a valid integer",
        ),
        ("pqr", {"variants": {"scores": {"scheme": "round"}}}, "pqr.variants.scores.scheme: input"),
        ("pqr", {"variants": {"Scores": {}}}, "experiments.pqr.variants.Scores"),
        ("pqr", {"variants": {"scores": None}}, "experiments.pqr.variants.scores: input"),
        (
            "pqr",
            {"variants": {"tuned": {"from": "score"}}},
            "experiments.pqr.variants.tuned.from: score is neither a variant of this "
            "experiment nor a checkpoint file; did you mean scores?",
        ),
        (
            "pqr",
            {"variants": {"scores": {"from": "tuned"}}},
            "experiments.pqr.variants.scores.from: goes in a circle: scores from tuned from scores",
        ),
        (
            "mobility",
            {"variants": {"pqr": {"epochs": 3}}, "anchor": "ALL,pqr"},
            "experiments.pqr.variants.pqr: means other settings than in experiments.mobility; give "
            "it another name",
        ),
        (
            "pqr",
            {"variants": {"again": {"method": "pqr"}}},
            "pqr.variants.again: means the same settings as pqr, and its nets would play",
        ),
        (
            "pqr",
            {"variants": {"scores": {"scheme": "study", "buckets": 8, "fake_quantize_epochs": 1}}},
            "quantize.scheme: study is for nets N -> M x2 -> O -> 1 alone; it needs buckets: 1, "
            "fake_quantize_epochs: 0",
        ),
        (
            "pqr",
            {"variants": {"known": {"preset": "sfnnv6"}}},
            "experiments.pqr.variants.known.preset: input should be 'sfnnv5', 'bullet_simple' or",
        ),
        (
            "pqr",
            {"variants": {"known": {"preset": "study", "buckets": 8}}},
            "quantize.scheme: study is for nets N -> M x2 -> O -> 1 alone; it needs buckets: 1",
        ),
        (
            "pqr",
            {"variants": {"known": {"preset": "bullet_simple", "scheme": "int8"}}},
            "quantize.scheme: int8 is for nets with a second layer; l2: 0 needs fine",
        ),
        (
            "pqr",
            {"variants": {"known": {"preset": "bullet_simple", "buckets": 8, "psqt": True}}},
            "known: without a second layer (l2: 0) a net needs buckets: 1, psqt: false",
        ),
        ("pqr", {"grid": {"l1": [64]}}, "experiments.pqr: give variants or grid, not both"),
        ("baseline", {"grid": {"l9": [3]}}, "experiments.baseline.grid.l9: unknown; known are l1,"),
        ("baseline", {"grid": {"l1": [64, 64]}}, "baseline.grid.l1: 64 is listed twice"),
        (
            "baseline",
            {"grid": {"l1": []}},
            "experiments.baseline.grid.l1: list should have at least",
        ),
        ("baseline", {"grid": {"l2": [8, -1]}}, "experiments.baseline.grid.l2[1]: input should be"),
        ("beyond", {"tournament": {"movtime": 0}}, "beyond.tournament.movtime: unknown; did you"),
        ("beyond", {"tournament": {"games_per_pairing": 7}}, "beyond.tournament.games_per_pairing"),
    ],
)
def test_variants_that_make_no_sense_are_one_line_each(settings, name, change, told):
    params.merge(settings, {"experiments": {name: change}})
    (line,) = mistakes(settings)
    assert told in line


def test_two_variants_of_one_name_are_told_with_their_line(tmp_path):
    text = (ROOT / "params.yaml").read_text()
    file = tmp_path / "params.yaml"
    file.write_text(text.replace("      scores: {}\n", "      scores: {}\n      pqr: {l1: 8}\n"))
    for read in (params.read, lambda path: params.check_names([path])):
        with pytest.raises(UserError, match=r"params.yaml, line \d+: pqr is listed twice"):
            read(file)


def test_variants_change_what_they_name_and_share_the_rest(settings):
    checked = params.validate(settings)
    plans = params.plans(checked)
    by_name = {str(entry.name): entry for plan in plans.values() for entry in plan.entries}
    # What is trained as the sections say is one net, in whatever experiment.
    assert by_name["ALL"].folder == by_name["ALL,scores"].folder == "ALL"
    assert by_name["ALL,l1-256,l2-32"].folder == "ALL"
    tuned = by_name["ALL,tuned"]
    assert (tuned.train.method, tuned.train.l1) == ("pqr", checked.train.l1)
    assert (tuned.folder, tuned.start) == ("ALL,tuned", "<results>/nets/ALL/{seed}/checkpoint.pt")
    grid = plans["baseline"]
    assert [(e.train.l1, e.train.l2) for e in grid.entries] == [
        (l1, l2) for l1 in (64, 128, 256) for l2 in (8, 16, 32)
    ]
    assert grid.players["ALL,l1-64,l2-8#2"] == "ALL,l1-64,l2-8/2"
    assert grid.tournament.cost_games_per_pairing == 100
    assert grid.tournament.nodes == checked.tournament.nodes
    assert plans["axis"].tournament == checked.tournament


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_what_a_variant_of_its_settings_would_be(settings, preset):
    """And what else the variant says comes on top."""
    experiment = settings["experiments"]["pqr"]
    experiment |= {"anchor": "ALL,known", "spreads": {}}
    entries, hashes = [], []
    for known in ({"preset": preset, "epochs": 2}, {**PRESETS[preset], "epochs": 2}):
        experiment["variants"] = {"known": known, "more": {**known, "epochs": 3}}
        checked = params.validate(copy.deepcopy(settings))
        entries.append(params.plans(checked)["pqr"].entries)
        hashes.append(params.fixed(checked, "pqr")["sha256"])
    assert entries[0] == entries[1]
    assert hashes[0] == hashes[1]
    changed = {**checked.train.model_dump(), **checked.quantize.model_dump()} | PRESETS[preset]
    told = {**entries[0][0].train.model_dump(), **entries[0][0].quantize.model_dump()}
    assert told == changed | {"epochs": 2}


def test_every_setting_of_training_and_quantization_can_vary(settings):
    for section in ("train", "quantize"):
        for key, value in settings[section].items():
            settings["experiments"]["axis"] |= {"grid": {key: [value]}, "anchor": "?"}
            (line,) = mistakes(settings)
            assert "anchor: ? is none of the variants" in line, key


@pytest.mark.parametrize(
    "damage",
    [{}, {"experiments": 3, "data": [1]}, {"experiments": {"axis": None}}, {"blocks": ["no.py"]}],
    ids=str,
)
def test_settings_of_a_wrong_shape_are_told_not_thrown(settings, damage, monkeypatch):
    monkeypatch.setenv("NNUELAB_BLOCKS", "")
    assert mistakes(damage)


def test_a_missing_file_of_blocks_is_told_once_and_hides_nothing(settings, monkeypatch):
    monkeypatch.setenv("NNUELAB_BLOCKS", "")
    settings["blocks"] = ["no.py"]
    settings["experiments"]["axis"]["feature_sets"][1:3] = ["HH+V", "ALL+"]
    told = mistakes(settings)
    assert [line.split(":")[0] for line in told] == [
        "blocks[0]",
        "experiments.axis.feature_sets[1]",
        "experiments.axis.feature_sets[2]",
    ]
    assert sum("no.py" in line for line in told) == 1


@pytest.fixture
def unfit(settings, tmp_path, monkeypatch):
    """What is wrong with the files of changed settings, in a folder without any but openings."""
    monkeypatch.chdir(tmp_path)
    Path("openings.epd").write_text("a w\n\n# b\nb w\na w\nc w\n")

    def check(**changes):
        settings["data"] |= {"source": "files", "files": ["openings.epd"]}
        few = {"games_per_pairing": 6}
        others = dict.fromkeys(("cost", "deep", "timed"), 6)
        others = {f"{kind}_games_per_pairing": games for kind, games in others.items()}
        settings["tournament"] |= {"book": "openings.epd", **others, **few}
        settings["puzzles"]["file"] = settings["spread"] = "openings.epd"
        settings["ladder"] |= {"players": "openings.epd", **few}
        settings["texel"] |= {"tuners": {"adam": {}}, "players": {}, "simplify": [], **few}
        settings["ladder"]["also"] = {}
        settings["policy"]["selfplay"] |= few
        settings["experiments"] = {"axis": settings["experiments"]["axis"]}
        params.merge(settings, changes)
        try:
            params.check_files(params.validate(settings))
        except ParamsError as error:
            return error.mistakes
        return []

    return check


def test_files_that_are_missing_are_told_one_a_line(unfit):
    assert unfit() == []
    told = unfit(
        data={"files": ["openings.epd", "club.pgn"]},
        tournament={"book": "no.epd"},
        label={"labeller": "stockfish", "engine": "bin/fish"},
    )
    assert told == [
        "tournament.book: there is no file no.epd",
        "data.files[1]: there is no file club.pgn",
        "label.engine: there is no file bin/fish",
    ]
    told = unfit(
        texel={
            "evaluation": "a.yaml",
            "sources": ["b.epd"],
            "tuners": {"adam": {"evaluation": "c.yaml"}},
            "players": {"other": "d.nnue", "fish": "stockfish"},
        }
    )
    assert [line for line in told if line.startswith("texel")] == [
        "texel.evaluation: there is no file a.yaml",
        "texel.tuners.adam.evaluation: there is no file c.yaml",
        "texel.players.other: there is no file d.nnue",
        "texel.sources[0]: there is no file b.epd",
    ]
    told = unfit(data={"source": "embedded"})
    assert "data.source: there is no file resources/embedded/games.pgn.zst" in told


def test_files_that_nothing_needs_or_that_a_rule_makes_may_be_missing(unfit):
    assert unfit(label={"engine": "bin/fish"}) == []
    assert unfit(label={"labeller": "stockfish", "engine": "a-name-on-PATH"}) == []
    assert unfit(puzzles={"file": "results/puzzles/lichess_db_puzzle.csv.zst"}) == []


def test_a_book_with_too_few_openings_is_told(unfit):
    assert unfit(tournament={"games_per_pairing": 8}) == [
        "tournament.games_per_pairing: 8 games need 4 openings, each played once per pairing, "
        "and openings.epd has 3"
    ]
    Path("openings.epd").write_text('[Event "?"]\n\n1. e4 *\n')
    assert unfit(tournament={"games_per_pairing": 8}) == []


def test_the_default_experiment_is_axis_or_the_first(settings):
    assert params.default_experiment(params.validate(settings)) == "axis"
    del settings["experiments"]["axis"]
    first = next(iter(settings["experiments"]))
    assert params.default_experiment(params.validate(settings)) == first


def test_feature_sets_come_back_in_canonical_form(settings):
    settings["experiments"]["axis"] |= {"feature_sets": ["all", "h + v"], "anchor": "All"}
    axis = params.validate(settings).experiments["axis"]
    assert (axis.feature_sets, axis.anchor) == (["ALL", "H+V"], "ALL")
    settings["experiments"]["pqr"] |= {"feature_sets": ["all"], "anchor": "all,scores"}
    assert params.validate(settings).experiments["pqr"].anchor == "ALL,scores"


def test_overlays_merge_into_sections_and_replace_lists():
    base = {"a": {"x": 1, "y": [1, 2]}, "b": 1}
    params.merge(base, copy.deepcopy({"a": {"y": [3]}, "b": {"z": 1}}))
    assert base == {"a": {"x": 1, "y": [3]}, "b": {"z": 1}}


def test_files_that_are_no_settings(tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1,\nb: 2")
    for file in (broken, tmp_path / "missing.yaml", Path("/dev/zero")):
        with pytest.raises(UserError, match=file.name):
            params.read(file)


def test_a_folder_without_settings_says_where_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="run in the folder of a project"):
        params.read()


def test_a_run_of_texel_changes_what_it_names(settings):
    settings["texel"]["tuning"] |= {"l2": 0.5, "width": {"material": 9}}
    settings["texel"]["tuners"] = {"a": {"optimizer": "ga", "evaluation": "b.yaml"}, "b": {}}
    settings["texel"]["simplify"] = []
    settings["ladder"]["also"] = {}
    found = params.validate(settings).texel
    assert found.settings_of("b") == found.tuning
    assert found.settings_of("a") == found.tuning.model_copy(update={"optimizer": "ga"})
    words = params.options(found.settings_of("a"))
    assert words[words.index("--width") + 1] == "material=9"


@pytest.fixture
def with_policies(settings):
    """Settings with other policies, which nothing else names."""
    settings["policy"]["selfplay"]["policies"], settings["ladder"]["also"] = [], {}

    def given(variants):
        settings["policy"]["variants"] = variants
        return settings

    return given


def test_a_policy_changes_what_it_names(with_policies):
    settings = with_policies({"a": {"feature_set": "HV", "layers": [8]}})
    found = params.validate(settings).policy
    assert found.variants["a"].feature_set == "ALL"
    assert found.settings_of("a") == found.train.model_copy(update={"layers": [8]})
    words = params.options(found.settings_of("a"))
    assert words[words.index("--layers") + 1] == "8"
    known = {
        name
        for option in commands()["policy"].commands["train"].params
        for name in (*option.opts, *option.secondary_opts)
    }
    assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize(
    ("variant", "told"),
    [
        ({"feature_set": "ALLL"}, "policy.variants.a.feature_set"),
        ({"feature_set": "ALL", "layer": [8]}, "policy.variants.a.layer: unknown; did you mean"),
        ({"feature_set": "ALL", "layers": [0]}, "variants.a: a layer of 0 neurons"),
        ({"feature_set": "ALL", "head": "product", "loss": "mse"}, "not for a head product"),
        ({}, "policy.variants.a.feature_set: missing"),
    ],
)
def test_policies_that_cannot_be_are_told(with_policies, variant, told):
    (line,) = mistakes(with_policies({"a": variant}))
    assert told in line


def test_a_report_of_an_unknown_experiment_is_told(settings):
    settings["report"] = ["axis", "pairwse"]
    assert mistakes(settings) == ["report: there is no experiment pairwse; did you mean pairwise?"]


@pytest.mark.parametrize(
    ("changes", "columns"),
    [
        ({}, ["elo", "elo_cost"]),
        ({"check_time": True}, ["elo", "elo_cost", "elo_time"]),
        ({"nodes_deep": 900}, ["elo", "elo_cost", "elo_deep", "elo_deep_cost"]),
        ({"nodes_deep": 900, "cost_games_per_pairing": 0}, ["elo", "elo_deep"]),
    ],
)
def test_an_experiment_plays_at_the_yardsticks_that_are_on(settings, changes, columns):
    settings["experiments"]["axis"]["tournament"] = changes
    plan = params.plans(params.validate(settings))["axis"]
    assert [yardstick.column for yardstick in plan.tournament.yardsticks] == columns
    assert plan.is_priced == ("elo_cost" in columns)
    for yardstick in plan.tournament.yardsticks:
        nodes = plan.tournament.nodes_at(yardstick)
        assert nodes == {"deep": 900, "time": None}.get(yardstick.folder.partition("-")[0], 400)
        assert plan.tournament.games_at(yardstick) > 0
    measured = plan.tournament.model_copy(update={"costs": "cost.csv"})
    assert not dataclasses.replace(plan, tournament=measured).is_priced
