"""Experiments with variants and grids: their tables, plots and words."""

from __future__ import annotations

import csv
import itertools
import json
import random

import altair as alt
import pytest
import vl_convert
from typer.testing import CliRunner

from nnuelab.charts import HEIGHT
from nnuelab.cli import page as _page  # noqa: F401 (registers them)
from nnuelab.cli import report as _commands  # noqa: F401
from nnuelab.cli.app import app
from nnuelab.names import NetName
from nnuelab.report import (
    line_labels,
    net_plots,
    plots,
    point_labels,
    readable,
    reading,
    results,
    table,
)
from nnuelab.report.grid_plots import MEASURED, grid_plots
from nnuelab.report.point_labels import Point
from tests import report_results
from tests.conftest import ROOT
from tests.report.conftest import watched

METHODS = {"scores": (16, 8), "pqr": (16, 8)}
SIZES = {"l1-256,l2-32": (256, 32), "l1-16,l2-32": (16, 32), "l1-256,l2-8": (256, 8),
         "l1-16,l2-8": (16, 8)}  # fmt: skip


@pytest.fixture(scope="module")
def methods(tmp_path_factory):
    root = tmp_path_factory.mktemp("methods")
    return report_results.make_variants(root, "pqr", METHODS, "ALL,scores", pqr={"kappa": 1})


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    root = tmp_path_factory.mktemp("grid")
    return report_results.make_variants(root, "baseline", SIZES, "ALL,l1-256,l2-32")


def rows(folder, experiment):
    return reading.read_table(folder / f"{experiment}_table.csv")


def test_a_variant_is_a_row_of_its_own(methods):
    first, second = rows(methods, "pqr")
    assert list(first)[:2] == ["feature_set", "variant"]
    assert [table.entry(row) for row in (first, second)] == ["ALL,scores", "ALL,pqr"]
    assert (first["elo"], first["seeds"], second["seeds"]) == ("0.0", "2", "2")
    assert second["elo"] != "0.0"
    assert float(second["elo_error_seeds"]) > 0
    assert (first["published_elo"], second["published_elo"]) == ("0.0", "-235.0")


def test_a_loss_of_another_kind_is_no_validation_loss(methods):
    first, second = rows(methods, "pqr")
    assert first["val_loss_mean"]
    assert second["val_loss_mean"] == second["val_loss_sd"] == ""


def test_published_sizes_stand_beside_the_same_sizes(grid):
    found = {row["variant"]: row["published_elo"] for row in rows(grid, "baseline")}
    assert found == {"l1-256,l2-32": "86.3"} | dict.fromkeys(list(SIZES)[1:], "")


def test_the_command_takes_the_players_of_the_tournament(methods, tmp_path):
    nets = [
        f"ALL,{variant}#{seed}={methods}/nets/ALL,{variant}/{seed}/net.nnue"
        for variant in METHODS
        for seed in (1, 2)
    ]
    out = tmp_path / "t.csv"
    call = ["table", *nets, "--experiment", "pqr", "--anchor", "ALL,scores",
            "--pgn", str(methods / "tournament/pqr.pgn"), "--csv", str(out),
            "--markdown", str(tmp_path / "t.md"), "--question", "Do moves help?"]  # fmt: skip
    assert CliRunner().invoke(app, call, catch_exceptions=False).exit_code == 0
    assert out.read_text() == (methods / "pqr_table.csv").read_text()
    assert "| ALL | pqr |" in (tmp_path / "t.md").read_text()
    assert "none where another loss was minimised" in (tmp_path / "t.md").read_text()
    record = json.loads((tmp_path / "t.csv.json").read_text())
    assert record["inputs"]["ALL,pqr#1"]["path"].endswith("nets/ALL,pqr/1/net.nnue")
    assert record["parameters"]["question"] == "Do moves help?"
    twice = [*call, nets[0]]
    assert "is given twice" in CliRunner().invoke(app, twice).stderr


def drawn_values(spec):
    if "datasets" in spec:
        (values,) = spec["datasets"].values()
        return values
    return (spec if "data" in spec else spec["layer"][0])["data"]["values"]


def test_heat_maps_hold_the_numbers_of_the_table(grid):
    found = rows(grid, "baseline")
    drawn = {figure.name: figure.spec for figure in grid_plots(found)}
    assert list(drawn) == ["grid-0-elo", "grid-0-val_loss_mean"]  # no games at fixed time
    for name, spec in drawn.items():
        column = name.removeprefix("grid-0-")
        assert column in MEASURED
        cells = {(value["l1"], value["l2"]): value["value"] for value in drawn_values(spec)}
        assert cells == {(int(r["l1"]), int(r["l2"])): float(r[column]) for r in found}


@pytest.mark.parametrize("changed", ["l1-auto", "l1-1"])
def test_lines_that_end_elsewhere_are_told_apart_by_a_legend(grid, changed):
    """Settings may be words among numbers; a name stands where all lines end."""
    first, *_ = rows(grid, "baseline")
    many = [
        {**first, "feature_set": name, "variant": variant}
        for name, variants in {"ALL": ("l1-128", "l1-256"), "H": ("l1-128", changed)}.items()
        for variant in variants
    ]
    of_elo, *_ = grid_plots(many)
    assert '"legend": null' not in json.dumps(of_elo.spec)
    assert '"title": "feature set"' in json.dumps(of_elo.spec)


def test_a_legend_of_variants_says_so():
    sets = [f"ALL,{variant}" for variant in SIZES]
    said = [plots.color(names).to_dict()["title"] for names in (sets, ["ALL", "H"], ["ALL,a", "H"])]
    assert said == ["variant", "feature set", "feature set"]


def test_one_setting_of_a_grid_is_a_line_for_each_set(grid):
    of_grid = rows(grid, "baseline")
    one = [
        {**row, "feature_set": name, "variant": f"l1-{row['l1']}"}
        for name in ("ALL", "H+V")
        for row in of_grid
        if row["l2"] == of_grid[0]["l2"]
    ]
    drawn = {figure.name: figure.spec for figure in grid_plots(one)}
    assert list(drawn) == ["grid-elo", "grid-val_loss_mean"]
    for column in ("elo", "val_loss_mean"):
        values = drawn_values(drawn[f"grid-{column}"])
        points = {(value["set"], value["l1"]): value["value"] for value in values}
        assert points == {(r["feature_set"], int(r["l1"])): float(r[column]) for r in one}
    for value, row in zip(drawn_values(drawn["grid-elo"]), one, strict=True):
        width = value["high"] - value["low"]
        assert width == pytest.approx(2 * float(row["elo_error"]))


def test_what_is_no_grid_has_no_plot_of_one(methods, grid):
    assert grid_plots(rows(methods, "pqr")) == []
    plain = [{**row, "variant": ""} for row in rows(grid, "baseline")]
    assert grid_plots(plain) == []


def test_losses_of_two_kinds_are_two_plots(methods, grid):
    def drawn(folder, experiment):
        nets = results.gather(folder, [experiment]).experiments[0].nets
        assert len(nets) == 2 * len(rows(folder, experiment))
        return net_plots.losses(nets, list(dict.fromkeys(net.entry for net in nets)))

    titles = [figure.title for figure in drawn(methods, "pqr")]
    assert titles == [f"Validation loss over epochs of {name}" for name in METHODS]
    (one,) = drawn(grid, "baseline")
    assert one.title == "Validation loss over epochs"


@pytest.mark.parametrize("experiment", ["pqr", "baseline"])
def test_the_page_shows_every_variant(request, experiment, tmp_path):
    folder = request.getfixturevalue("methods" if experiment == "pqr" else "grid")
    path = tmp_path / "report.html"
    call = ["report", experiment, "--results", str(folder), "--output", str(path)]
    assert CliRunner().invoke(app, call, catch_exceptions=False).exit_code == 0
    page = path.read_text().replace("<wbr>", "")
    variants = METHODS if experiment == "pqr" else SIZES
    for variant in variants:
        assert f">{variant}#1<" in page  # in the ratings
        assert f">{variant}<" in page  # in the table
    assert ("grid-0-elo" in page) == (experiment == "baseline")


def test_inspect_and_diff_know_variants(methods):
    path = str(methods / "pqr_table.csv")
    shown = json.loads(CliRunner().invoke(app, ["inspect", path, "--json"]).stdout)
    assert shown["kind"] == "table"
    assert (shown["feature_sets"], shown["variants"]) == (1, 2)
    told = json.loads(CliRunner().invoke(app, ["diff", path, path, "--json"]).stdout)
    assert told["sets"] == "2 and 2"
    with open(path, newline="") as file:
        assert len(list(csv.DictReader(file))) == 2


def drawn_points(rows, speeds):
    drawn = plots.pareto(rows, speeds, "speed")
    return {value["set"]: value["beaten"] for value in drawn_values(drawn.spec)}


def test_only_what_is_surely_beaten_is_pale(grid):
    """By one that is no slower, and whose whole interval is above its own."""
    empty = dict.fromkeys(table.COLUMNS, "")
    of = lambda name, elo, error: empty | {"feature_set": name, "elo": elo, "elo_error": error}  # noqa: E731
    rows = [of("ALL", "0.0", "0.0"), of("H", "-30.0", "20.0"), of("V", "-30.0", "40.0")]
    speeds = {"ALL": 1.0, "H": 0.9, "V": 0.9}
    assert drawn_points(rows, speeds) == {"ALL": "no", "H": "yes", "V": "no"}
    assert drawn_points(rows, speeds | {"H": 1.1})["H"] == "no"


def test_more_sets_than_colours_have_one_and_their_names_beside_them():
    empty = dict.fromkeys(table.COLUMNS, "")
    many = [
        empty | {"feature_set": f"KB({n})", "elo": f"{20 * n}.0", "val_loss_mean": f"{n:.6f}"}
        for n in range(1, 10)
    ]
    for count, is_colored in ((8, True), (9, False)):
        spec = json.dumps(plots.loss_and_elo(many[:count]).spec)
        assert ('"color": {"field": "set"' in spec) == is_colored
        assert ('"detail": {"field": "set"' in spec) == (not is_colored)
        assert '"legend": {' not in spec


def test_a_name_that_stands_for_some_is_told_from_all():
    """Two that share what a third one hasn't: the names say it."""
    points = {f"ALL,l1-{i},l2-{8 if i < 2 else 16}": Point(float(i), i, i, i) for i in range(4)}
    found = point_labels.beside(points, ["ALL,l1-0,l2-8", "ALL,l1-1,l2-8"])
    written = json.dumps(
        [n.to_dict() for n in point_labels.named(found, alt.Detail("set:N"), "x", "y")]
    )
    assert '\\"l1-0,l2-8\\"' in written
    assert '\\"l1-1,l2-8\\"' in written


def test_names_beside_lines_are_in_order_and_apart():
    ends = {"A": 1.0, "B": 1.01, "C": 1.02, "D": 3.0, "E": 3.01}
    beside = line_labels.direct(ends, [1.0, 3.01], 300)
    places = list(beside.heights.values())
    gap = line_labels.TEXT / 300 * (beside.domain[1] - beside.domain[0])
    assert list(beside.heights) == list(ends)
    assert all(b - a > 0.9 * gap for a, b in itertools.pairwise(places))
    assert beside.domain[0] <= places[0]
    assert places[-1] <= beside.domain[1]
    assert line_labels.direct(dict.fromkeys("ABCDEFGHIJKLMNOPQRSTU", 1.0), [1.0], 300) is None


def test_a_name_of_two_lines_has_twice_the_room():
    long = "epochs-6,schedule-cosine"
    beside = line_labels.direct({long: 1.0, "B": 1.0}, [0.0, 2.0], 300)
    low, high = beside.domain
    apart = abs(beside.heights[long] - beside.heights["B"]) / (high - low) * 300
    assert apart == pytest.approx(1.5 * line_labels.TEXT)
    # 22 lines, where 20 have room.
    named = dict.fromkeys((f"epochs-{i},schedule-cosine-{i}" for i in range(11)), 1.0)
    assert line_labels.direct(named, [1.0], 300) is None


@pytest.mark.parametrize("seed", range(8))
def test_names_beside_points_are_apart_in_plots_of_any_width(seed):
    """And so they are from all points; some stand further off, and are led to."""
    rng = random.Random(seed)
    points = {
        f"{rng.choice(('', 'schedule-step,'))}ALL+{'H' * rng.randint(1, 9)}{i}": Point(
            rng.choice((0.1, rng.random())), y, y - 9, y + 9
        )
        for i in range(rng.randint(2, 8))
        for y in (rng.uniform(-40, 40),)
    }
    if len({point.x for point in points.values()}) < 2:
        points["V"] = Point(0.7, 0, -5, 5)
    found, texts = point_labels.beside(points), line_labels.texts(points)
    low, high = found.up
    assert low < min(point.low for point in points.values())
    for width in (point_labels.NARROWEST, 400, 1000):
        boxes = []
        for value in found.values:
            place = width * (value["x"] - found.across[0]) / (found.across[1] - found.across[0])
            lines = texts[value["set"]]
            long, tall = point_labels.LETTER * max(map(len, lines)), line_labels.TEXT * len(lines)
            is_right = value["side"] == "right"
            left = place + point_labels.ASIDE if is_right else place - point_labels.ASIDE - long
            top = HEIGHT * (high - value["height"]) / (high - low) - tall / 2
            assert left >= 0
            assert left + long <= width
            assert value["led"] == (
                abs(value["height"] - value["y"]) * HEIGHT / (high - low) > point_labels.LED
            )
            boxes.append((left, left + long, top, top + tall))
            dot = HEIGHT * (high - value["y"]) / (high - low)
            boxes.append((place - 6, place + 6, dot - 6, dot + 6))
        names, dots = boxes[::2], boxes[1::2]
        for i, one in enumerate(names):
            for other in names[:i] + dots:
                across = min(one[1], other[1]) - max(one[0], other[0])
                assert across < 0.01 or min(one[3], other[3]) - max(one[2], other[2]) < 0.01


def test_points_without_room_for_names_have_none():
    crowded = {f"{'A' * 15}{i}": Point(float(i % 2), i / 99, i / 99, i / 99) for i in range(99)}
    assert point_labels.beside(crowded) is None
    assert len(point_labels.beside(crowded, [next(iter(crowded))]).values) == 1


def of_entry(entry):
    name = NetName.parse(entry)
    named = {"feature_set": name.feature_set, "variant": name.variant}
    return dict.fromkeys(table.WITH_VARIANT, "") | named


@pytest.mark.parametrize(
    ("entries", "called", "common"),
    [
        ([f"ALL,{name}" for name in SIZES], list(SIZES), "the set ALL"),
        (["A,v", "B,v"], ["A", "B"], "v"),
        (["A,l2-8,r-1", "B,l2-9,r-1"], ["A,l2-8", "B,l2-9"], "r-1"),
        (["A,r-1,l2-8", "A,r-1,l2-9"], ["l2-8", "l2-9"], "the set A and r-1"),
        (["A,r-1", "A,r-1,l2-9"], ["A", "A,l2-9"], "r-1"),
        (["A", "A,pqr"], ["A", "A,pqr"], ""),
        (["A,own", "A,a-1"], ["own", "a-1"], "the set A"),
    ],
)
def test_what_all_have_in_common_is_left_out_of_labels(entries, called, common):
    found = [of_entry(entry) for entry in entries]
    assert table.labels(found) == dict(zip(entries, called, strict=True))
    said = f"relative to {called[0]}" + (f"; all rows share {common}" if common else "")
    assert table.relative(found, entries[0]) == said


def test_names_in_a_figure_are_the_labels_of_the_table():
    """Whatever stands where in a name; the data of the figure have it whole."""
    entries = [f"{name},r-1,l2-{size}" for name in ("ALL", "KB(1)") for size in (16, 32)]
    found = [of_entry(entry) | {"elo": f"{10 * i}.0"} for i, entry in enumerate(entries)]
    drawn = plots.elo(found, entries[0])
    written = vl_convert.vegalite_to_svg(drawn.spec)
    for name in ("ALL,l2-16", "ALL,l2-32", "KB(1),l2-16", "KB(1),l2-32"):
        assert f">{name}<" in written
    assert ">Elo relative to ALL,l2-16<" in written
    assert {value["set"] for value in drawn.spec["layer"][1]["data"]["values"]} == set(entries)
    assert line_labels.short(["ALL", "H"]) is alt.Undefined


def test_nets_of_one_shape_have_no_axis_of_speed(methods, tmp_path):
    path = tmp_path / "report.html"
    call = ["report", "pqr", "--results", str(methods), "--output", str(path)]
    assert CliRunner().invoke(app, call, catch_exceptions=False).exit_code == 0
    assert "pqr-pareto" not in path.read_text()
    assert "nodes per second of these nets were not measured" not in path.read_text()


def test_rows_of_a_grid_differ_in_every_part_on_a_narrow_terminal(grid):
    path = str(grid / "baseline_table.csv")
    shown = CliRunner().invoke(app, ["inspect", path], env={"COLUMNS": "80"}).stdout
    assert "all rows share the set ALL" in " ".join(shown.split())
    for variant in SIZES:
        assert shown.count(f"\n{variant} ") == shown.count("\nl1-256,l2-32 ") > 1


def test_columns_of_the_second_limit_name_its_nodes(tmp_path):
    """By the games on the page and in Markdown, on a terminal by the table's own record."""
    folder = report_results.make(tmp_path)
    path = tmp_path / "report.html"
    call = ["report", "axis", "--results", str(folder), "--output", str(path)]
    assert CliRunner().invoke(app, call, catch_exceptions=False).exit_code == 0
    page = path.read_text()
    shown = CliRunner().invoke(app, ["inspect", str(folder / "axis_table.csv")]).stdout
    for said in ("Elo at 5,000 nodes", "Elo at equal cost, 5,000 nodes"):
        assert said in page
        assert said in shown
    assert "verdict at equal cost, 5,000 nodes" in page
    row = dict.fromkeys(table.WITH_VARIANT) | {"feature_set": "ALL", "elo_deep": 1.0}
    for deep, said in ((5000, "5,000 nodes"), (0, "more nodes")):
        written = readable.to_markdown("axis", [table.Row(**row)], "ALL", deep)
        assert f"| Elo at {said} |" in written
        assert f"; at {said}, relative to ALL; in" in written


def test_names_are_short_on_the_page_and_whole_in_its_csv(browser, tmp_path):
    sizes = {"r-1,l2-8": (16, 8), "r-1,l2-32": (16, 32)}
    folder = report_results.make_variants(tmp_path, "axis", sizes, "ALL,r-1,l2-32")
    path = tmp_path / "report.html"
    call = ["report", "axis", "--results", str(folder), "--output", str(path)]
    assert CliRunner().invoke(app, call, catch_exceptions=False).exit_code == 0
    assert '<span class="whole">l2-' in path.read_text()  # doesn't break in sentences
    with watched(browser, path, 60_000) as page:
        page.goto(f"{path.as_uri()}#/experiment/axis")
        view = page.locator("[id='/experiment/axis']")
        caption = "Elo relative to l2-32; all rows share the set ALL and r-1"
        assert view.locator("#axis-table caption").inner_text() == caption
        assert view.locator("#axis-table td.variant").all_inner_texts() == ["l2-8", "l2-32"]
        assert sorted(view.locator("#axis-ratings th[scope=row]").all_inner_texts()) == [
            *("l2-32#1", "l2-32#2", "l2-8#1", "l2-8#2")
        ]
        heads = view.locator("#axis-cross thead th").all_inner_texts()
        assert {head.strip() for head in heads[1:]} == {"l2-8", "l2-32"}
        assert "r-1" not in view.locator(".answer").first.inner_text()
        view.locator(".sheet", has=page.locator("#axis-table")).get_by_text("CSV").click()
        lines = list(csv.DictReader(page.locator("#record textarea").input_value().splitlines()))
        assert [line["variant"] for line in lines] == list(sizes)
    shown = CliRunner().invoke(app, ["inspect", str(folder / "axis_table.csv")]).stdout
    assert "variant  features" in shown
    assert "\nl2-8 " in shown


def test_points_whose_names_have_no_room_have_one_colour():
    """As those of `steady`: the first and the last are named."""
    steady = reading.read_table(ROOT / "results" / "published" / "steady_table.csv")
    layers = plots.loss_and_elo(steady).spec["layer"]
    assert all("color" not in layer["encoding"] for layer in layers)
    texts = [layer["data"]["values"] for layer in layers if layer["mark"]["type"] == "text"]
    order = [table.entry(row) for row in sorted(steady, key=lambda row: float(row["elo"]))]
    assert {each["set"] for values in texts for each in values} == {order[0], order[-1]}
