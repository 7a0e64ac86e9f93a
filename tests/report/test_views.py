"""The views of the page: links, history, search, and tables to take away."""

from __future__ import annotations

import csv
import io
import itertools
import re

import chess
import pytest

from nnuelab.nnue.inference import Inference
from nnuelab.report import results
from nnuelab.report.explorer import KNOWN
from tests import report_results
from tests.report.conftest import watched

SETS = [f"/set/{name}" for name in (*report_results.SETS, "H", "PH", "MC")]  # those counted, too
VIEWS = [
    "/",
    *("/experiment/axis", "/experiment/pairwise", "/sets", *SETS, "/data", "/nets"),
    *("/positions", "/search", "/texel", "/policies", "/ladder", "/questions", "/methods"),
]
DRAWN = ".plot .canvas, .viewer, [data-explore], [data-neurons], #weight-browser, #policy-games"


@pytest.fixture(scope="module", params=[1280, 390], ids=["desktop", "phone"])
def page(request, browser, report):
    size = {"width": request.param, "height": 900}
    touch = request.param == 390
    with watched(browser, report, 30_000, viewport=size, has_touch=touch) as opened:
        yield opened


@pytest.fixture(autouse=True)
def at_home(page):
    page.goto(page.url.partition("#")[0] + "#/")
    page.evaluate("""() => {
      for (const open of document.querySelectorAll("dialog[open]")) open.close();
      for (const sheet of document.querySelectorAll(".sheet.all")) switchColumns(sheet, false);
    }""")


def shown(page):
    return [view.get_attribute("id") for view in page.locator(".view:visible").all()]


def wait_for(page, view):
    """Until a view is shown: a browser goes back and forward some time after it was told to."""
    page.wait_for_function("id => document.getElementById(id).checkVisibility()", arg=view)
    assert shown(page) == [view]


def choose(page, path):
    """By the sidebar, or by its menu."""
    if page.locator("#menu").is_visible():
        page.locator("#menu").click()
    page.locator(f'#nav a[href="#{path}"]').click()


def draw_all(page):
    """Of a view: plots are drawn when they come near the window."""
    for place in page.locator(DRAWN).filter(visible=True).all():
        place.scroll_into_view_if_needed()
        page.wait_for_function("e => e.querySelector('svg')", arg=place.element_handle())


def test_every_view_opens_by_its_link_and_shows_what_is_in_it(page):
    links = page.locator("#nav a").evaluate_all("l => l.map((a) => a.getAttribute('href'))")
    assert sorted(links) == sorted(f"#{view}" for view in VIEWS)
    assert sorted(page.locator(".view").evaluate_all("l => l.map((v) => v.id)")) == sorted(VIEWS)
    for view in VIEWS:
        choose(page, view)
        assert shown(page) == [view]
        assert page.locator("#nav [aria-current]").get_attribute("href") == f"#{view}"
        assert page.evaluate("scrollY") == 0
        draw_all(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# Within the first and the last mark of each kind, and beside a line; names say no numbers.
MARKS = """figure => [...figure.querySelectorAll(".role-mark:not([aria-hidden]):not(.mark-text)")]
  .flatMap((kind) => {
    const shapes = [...kind.children].filter((shape) => shape.getBoundingClientRect().width);
    return [...new Set([shapes.at(0), shapes.at(-1)])].filter(Boolean);
  }).flatMap((shape) => {
    const { left, width, top, height } = shape.getBoundingClientRect();
    const middle = [left + width / 2, top + height / 2];
    if (!shape.closest(".mark-line")) return [middle];
    const point = shape.getPointAtLength(shape.getTotalLength() * 0.4)
      .matrixTransform(shape.getScreenCTM());
    return [[point.x, point.y], [point.x + 4, point.y + 4]];
  })"""


@pytest.mark.slow
def test_every_mark_of_every_plot_tells_its_numbers(page):
    pointed = page.touchscreen.tap if page.locator("#menu").is_visible() else page.mouse.move
    numbers = page.locator("#told")
    for view in VIEWS:
        choose(page, view)
        draw_all(page)
        for canvas in page.locator(".plot .canvas:visible").all():
            canvas.evaluate("e => e.scrollIntoView({ block: 'center' })")
            places = canvas.evaluate(MARKS)
            assert places
            for place in places:
                pointed(1, 450)  # beside the plots
                numbers.wait_for(state="hidden")
                pointed(*place)
                numbers.wait_for()
                told = numbers.inner_text()
                assert re.search(r"\d", told), (canvas, place)
                assert "NaN" not in told, (canvas, place)


def test_an_address_opens_its_view(browser, report):
    for address, view in (
        ("#/set/H+PH+MC", "/set/H+PH+MC"),
        ("#/set/H%2BPH%2BMC", "/set/H+PH+MC"),
        ("#axis-puzzles", "/experiment/axis"),
        ("#explorer", "/positions"),
        ("#/nothing", "/"),
        ("#%E0%A4%A", "/"),
        ("", "/"),
    ):
        page = browser.new_page(viewport={"width": 390, "height": 600})
        page.goto(report.as_uri() + address)
        assert shown(page) == [view]
        if address.startswith("#/"):
            page.wait_for_timeout(200)  # the browser scrolls to an address, too
            assert page.evaluate("scrollY") == 0, address
        page.close()


def test_the_tabulator_key_begins_with_the_skip_link(browser, report):
    page = browser.new_page()
    page.goto(report.as_uri())
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the results"
    page.close()


REACHED = """() => {
  const element = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  (window.reached ??= new Set()).add(element);
  return {
    view: element.closest(".view")?.id,
    marked: outlineStyle !== "none" && parseFloat(outlineWidth) > 0,
    what: element.outerHTML.slice(0, 200),
  };
}"""
MISSED = """id => {
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex]";
  return [...document.getElementById(id).querySelectorAll(kinds)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }))
    .filter((element) => element.tabIndex >= 0 && !element.disabled && !reached.has(element))
    .map((element) => element.outerHTML.slice(0, 200));
}"""


def tabs(page):
    """What has the focus after each press of Tab."""
    for _ in range(2000):
        page.keyboard.press("Tab")
        yield page.evaluate(REACHED)
    pytest.fail("the focus never leaves the view")


@pytest.mark.parametrize("view", VIEWS)
def test_the_keyboard_alone_reaches_all_of_a_view_and_shows_where_it_is(page, view):
    choose(page, "/data" if view == "/" else "/")
    if page.locator("#menu").is_visible():
        page.locator("#menu").press("Enter")
    page.locator(f'#nav a[href="#{view}"]').press("Enter")
    wait_for(page, view)  # its title has the focus
    reached = list(itertools.takewhile(lambda found: found["view"] == view, tabs(page)))
    assert [found["what"] for found in reached if not found["marked"]] == []
    assert not page.evaluate(MISSED, view)


def test_nothing_of_a_hidden_view_is_drawn(browser, report):
    page = browser.new_page()
    page.goto(report.as_uri())
    page.wait_for_timeout(300)
    assert page.evaluate("window.vegaEmbed === undefined && Object.keys(unpacked).length === 0")
    page.close()


def test_back_and_forward_return_to_the_place(page):
    choose(page, "/experiment/axis")
    page.evaluate("scrollTo(0, 700)")
    page.wait_for_timeout(100)
    choose(page, "/data")
    page.go_back()
    wait_for(page, "/experiment/axis")
    page.wait_for_function("scrollY === 700")
    page.go_back()
    wait_for(page, "/")
    page.go_forward()
    wait_for(page, "/experiment/axis")
    page.go_forward()
    wait_for(page, "/data")


@pytest.mark.parametrize(
    ("text", "first", "view"),
    [
        ("pairwise", "pairwise Experiment", "/experiment/pairwise"),
        ("H+PH", "H+PH+MC Feature set", "/set/H+PH+MC"),
        ("ALL#2", "ALL#2", "/nets"),
        ("quantization error mean", "quantization: integer error, mean", "/experiment/axis"),
        ("Elo", "Elo ", "/experiment/axis"),
        ("puzzles by theme", "Puzzles by theme", "/experiment/axis"),
    ],
)
def test_search_finds_what_has_a_name(page, text, first, view):
    page.keyboard.press("/")
    page.keyboard.type(text)
    found = page.locator("#finder-found button").first.inner_text()
    assert " ".join(found.split()).startswith(first)
    page.keyboard.press("Enter")
    assert shown(page) == [view]
    assert not page.locator("#finder").is_visible()


def test_the_overview_says_what_there_is_besides_experiments(page):
    views = ["/search", "/texel", "/policies", "/ladder"]
    links = page.locator(".besides a")
    assert links.evaluate_all("all => all.map(e => e.hash.slice(1))") == views
    said = page.locator(".besides dd").all_inner_texts()
    for link, view, text in zip(links.all(), views, said, strict=True):
        link.click()
        assert shown(page) == [view]
        assert page.locator(".view.shown .answer").first.inner_text() == text
        page.go_back()
        wait_for(page, "/")


def test_search_goes_by_arrows_and_ends_by_escape(page):
    page.keyboard.press("/")
    page.keyboard.type("ALL")
    second = page.locator("#finder-found button").nth(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert second.evaluate("b => b === document.activeElement")
    page.keyboard.press("Escape")
    assert not page.locator("#finder").is_visible()
    assert shown(page) == ["/"]


def test_a_net_that_was_sought_is_in_the_weight_browser(page):
    page.keyboard.press("/")
    page.keyboard.type("H+PH+MC#2")
    page.keyboard.press("Enter")
    assert page.url.endswith("#/net/H+PH+MC%232")
    page.locator("#weight-browser").scroll_into_view_if_needed()
    page.locator("#weight-pictures svg").first.wait_for()
    assert page.locator("#weight-net").input_value() == "H+PH+MC#2"


def test_a_dot_of_the_picture_tells_and_leads(page):
    lines = page.locator(".ranking .rank")
    assert lines.count() == len(report_results.SETS)
    line = lines.filter(has_text="H+PH+MC")
    line.hover()
    told = line.locator(".tip").inner_text()
    assert re.search(r"[+-]\d+\.\d \u00b1\d+\.\d at fixed nodes: undecided", told)
    assert "at equal cost: " in told
    line.click()
    assert shown(page) == ["/set/H+PH+MC"]


def middle(element):
    box = element.bounding_box()
    return box["x"] + box["width"] / 2


def test_marks_stand_where_the_numbers_are(page, everything):
    with open(everything / "axis_table.csv", newline="") as file:
        rows = {row["feature_set"]: row for row in csv.DictReader(file)}
    axis = page.locator("#ranking .axis .track span").all()
    (low, high) = (axis[0], axis[-1])
    values = [float(tick.inner_text()) for tick in (low, high)]
    ends = [middle(tick) for tick in (low, high)]
    scale = (ends[1] - ends[0]) / (values[1] - values[0])
    for line in page.locator(".ranking .rank").all():
        row = rows[line.locator(".name").inner_text()]
        for column in ("elo", "elo_cost"):
            place = middle(line.locator(f".dot.{column}"))
            assert place == pytest.approx(ends[0] + scale * (float(row[column]) - values[0]), abs=1)


def test_a_switch_shows_all_columns(page):
    choose(page, "/experiment/axis")
    grid, heads = page.locator("#axis-table"), page.locator("#axis-table thead th")
    heads.first.wait_for()
    few, every = heads.filter(visible=True).count(), heads.count()
    assert few <= 9 < every
    page.get_by_role("button", name=f"all {every} columns").click()
    assert heads.filter(visible=True).count() == every
    assert grid.locator("tbody tr").first.locator("td:visible").count() == every - 1
    page.get_by_role("button", name=f"all {every} columns").click()
    assert heads.filter(visible=True).count() == few


def test_the_whole_head_of_a_column_sorts(page):
    choose(page, "/experiment/axis")
    for head in page.locator("#axis-table thead th:visible").all():
        head.scroll_into_view_if_needed()
        for corner in ({"x": 1, "y": 1}, "end"):
            box = head.bounding_box()
            place = {"x": box["width"] - 2, "y": box["height"] - 2} if corner == "end" else corner
            before = head.get_attribute("aria-sort")
            head.click(position=place)
            assert head.get_attribute("aria-sort") != before


def test_a_table_is_taken_away_as_numbers_and_as_it_is_shown(page, everything):
    choose(page, "/experiment/axis")
    sheet = page.locator(".sheet").filter(has=page.locator("#axis-table"))
    heads = page.locator("#axis-table thead th")
    names = [head.get_attribute("data-column") for head in heads.all()]
    sheet.get_by_role("button", name="CSV").click()
    found = list(csv.DictReader(io.StringIO(page.locator("#record textarea").input_value())))
    assert list(found[0]) == names
    with open(everything / "axis_table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    measured = [name for name in names if name in rows[0]]
    assert [[row[n] for n in measured] for row in found] == [[r[n] for n in measured] for r in rows]
    page.keyboard.press("Escape")
    sheet.get_by_role("button", name="LaTeX").click()
    lines = page.locator("#record textarea").input_value().splitlines()
    assert lines[1] == "\\toprule"
    assert lines[2].count("&") == heads.filter(visible=True).count() - 1
    assert lines[-2:] == ["\\bottomrule", "\\end{tabular}"]
    assert lines[4].startswith("ALL & anchor & 0 & ")
    assert len(lines) == 6 + len(rows)
    page.keyboard.press("Escape")


def test_pointing_at_the_score_tells_the_move_there(page):
    choose(page, "/experiment/axis")
    viewer = page.locator(".viewer[data-games=axis]")
    viewer.scroll_into_view_if_needed()
    graph = viewer.locator(".graph svg")
    graph.hover()
    told = graph.locator("text.hint").text_content()
    graph.click()
    current = viewer.locator(".moves [aria-current]").inner_text().split()[-1]
    assert current in told
    assert re.search(r"[+-]?\d+\.\d\d$|mate$", told)


def test_a_feature_points_at_its_squares(page):
    choose(page, "/set/ALL")
    example = page.locator("[data-explore=ALL]")
    example.scroll_into_view_if_needed()
    example.locator("li").filter(has_text=re.compile(r"own king on \w+")).first.hover()
    (square,) = example.locator(".pointed").all()
    name = example.locator("li:hover").inner_text()
    assert name.endswith(square.get_attribute("data-place"))


@pytest.mark.parametrize(
    ("side", "king", "square"), [("w", "g1", "f1"), ("w", "b1", "c1"), ("b", "b8", "c8")]
)
def test_a_mirrored_feature_points_at_the_files_of_its_king(page, side, king, square):
    board = chess.Board("7k/8/8/8/8/8/8/7K w - - 0 1")
    board.remove_piece_at(board.king(side == "w"))
    board.set_piece_at(chess.parse_square(king), chess.Piece(chess.KING, side == "w"))
    name = "own rook on c1 (mirrored: own king on a1-d8)"
    assert page.evaluate("told => squaresOf(...told)", [name, side, board.fen()]) == [square]


def moved(page, name="ALL"):
    """The board of a set's view where a piece can be moved; 'a blocked centre' is on it."""
    choose(page, f"/set/{name}")
    example = page.locator(f"[data-explore='{name}']")
    example.scroll_into_view_if_needed()
    example.get_by_role("combobox").first.select_option(label="a blocked centre")
    return example


def square(example, name):
    return example.locator(f"button[data-square={name}]")


def by_pointer(page, example, start, target):
    boxes = [square(example, name).bounding_box() for name in (start, target)]
    places = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=4)
    page.mouse.up()


def by_keys(page, example, start, target):
    square(example, start).focus()
    page.keyboard.press("Enter")
    for key, steps in (("ArrowLeft", ord(start[0]) - ord(target[0])),
                       ("ArrowUp", int(target[1]) - int(start[1]))):  # fmt: skip
        for _ in range(steps):
            page.keyboard.press(key)
    page.keyboard.press("Enter")


def by_clicks(page, example, start, target):
    square(example, start).click()
    square(example, target).click()


def by_name(page, example, start, target):
    example.get_by_role("combobox").last.select_option(value=start + target)


@pytest.mark.parametrize("play", [by_pointer, by_keys, by_clicks, by_name])
def test_a_moved_piece_turns_features_on_and_off(page, play):
    example = moved(page)
    square(example, "f3").scroll_into_view_if_needed()
    play(page, example, "f3", "e5")  # takes a pawn
    said = example.locator(".moved").inner_text()
    assert said.startswith("Nxe5: each accumulator adds 1 and removes 2 rows.")
    lists = {way: example.locator(f"li.{way}").all_inner_texts() for way in ("on", "off")}
    assert lists["on"] == ["own knight on e5", "enemy knight on e4"]
    assert sorted(lists["off"]) == [
        "enemy knight on f6", "enemy pawn on e5", "own knight on f3", "own pawn on e4",
    ]  # fmt: skip
    assert example.locator("svg .on").count() == example.locator("polygon.off").count() == 1
    assert example.locator("rect.off").count() == 1
    example.get_by_role("button", name="take back").click()
    assert example.locator("svg .on, svg .off, li.on").count() == 0


def test_evaluations_after_a_move_are_the_nets(page, everything):
    example = moved(page, "H+PH+MC")
    by_name(page, example, "e2", "d3")
    fens = [KNOWN["a blocked centre"], example.locator("code").inner_text()]
    assert chess.Board(fens[0]).san(chess.Move.from_uci("e2d3")) == "Bd3"
    for net in results.gather(everything, ["axis"]).experiments[0].nets:
        if net.net.feature_set == "H+PH+MC":
            before, after = Inference(net.net).evaluate_fens(fens)
            cells = example.locator("tr").filter(has_text=net.player).locator("td")
            found = [int(text.replace("\u2212", "-")) for text in cells.all_inner_texts()]
            assert found == [before, -after, -after - before]


def test_without_a_server_another_move_replaces_the_last(page):
    example = moved(page)
    by_name(page, example, "f3", "e5")
    assert "run nnuelab serve" in example.locator(".moved").inner_text()
    by_name(page, example, "a2", "a3")
    assert example.locator(".moved").inner_text().startswith("a3: ")
    for name in KNOWN:
        example.get_by_role("combobox").first.select_option(label=name)
        assert example.locator(".moved").inner_text() == "Move a piece."


def test_a_line_lies_on_all_its_squares(page):
    of = "told => squaresOf(...told)"
    for name, side, squares in (
        ("own rook on diagonal a3-c1", "w", "a3 b2 c1"),
        ("own rook on diagonal f1-h3", "b", "f8 g7 h6"),
        ("enemy pawn on rank 2", "b", " ".join(f"{f}7" for f in "abcdefgh")),
        ("own king on e1", "b", "e8"),
    ):
        assert sorted(page.evaluate(of, [name, side, chess.STARTING_FEN])) == squares.split()
