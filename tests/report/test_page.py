"""The page in a browser: it draws, sorts, answers, asks nothing of a network, says the truth."""

from __future__ import annotations

import csv
import json
import random
import re
from statistics import fmean

import chess
import pytest

from nnuelab.cli import page as _commands  # noqa: F401 (registers them)
from nnuelab.report.feature_statistics import PUBLISHED
from nnuelab.report.puzzles import WIDEST
from nnuelab.report.sample import ROLE_NAMES
from tests import report_results
from tests.report.conftest import check_accessibility, watched


@pytest.fixture(scope="module")
def folder(everything):
    return everything


LATE = "#policy-games, #weight-browser, #explorer, [data-explore], [data-neurons]"


@pytest.fixture(scope="module", params=[(1280, "light"), (390, "dark")], ids=["desktop", "phone"])
def page(request, browser, report):
    """All views, as printed, all of them drawn; after all tests nothing may have gone wrong."""
    width, scheme = request.param
    size = {"width": width, "height": 900}
    with watched(browser, report, 60_000, viewport=size, color_scheme=scheme) as opened:
        opened.evaluate("root.classList.add('printing')")
        for figure in opened.locator("figure.plot").all():
            figure.scroll_into_view_if_needed()
            opened.wait_for_function("f => f.dataset.drawn", arg=figure.element_handle())
        for place in opened.locator(f".viewer, {LATE}").all():
            place.scroll_into_view_if_needed()
        opened.locator("#explore-features li").first.wait_for()
        opened.locator("#weight-pictures svg").first.wait_for()
        opened.locator(".moves button").first.wait_for()
        yield opened


def test_every_plot_draws_its_marks(page):
    figures = page.locator("figure.plot")
    assert figures.count() == 38 + len(report_results.SETS)  # each set's losses again
    for figure in figures.all():
        marks = figure.locator(".mark-symbol path, .mark-line path, .mark-rect path")
        assert marks.count() > 0
        box = figure.locator("svg").first.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 100
        assert box["x"] + box["width"] <= page.viewport_size["width"]


def test_no_label_is_cut_and_none_lies_on_another(page):
    """In the figures, all of which are drawn by now."""
    found = page.evaluate("""() => {
      const wrong = [];
      for (const figure of document.querySelectorAll("figure.plot")) {
        const place = figure.getBoundingClientRect();
        const texts = [...figure.querySelectorAll("svg text")].filter((t) =>
          t.textContent.trim() && getComputedStyle(t).opacity !== "0");
        const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect(), text]);
        for (const [words, box] of boxes)
          if (box.left < place.left - 1 || box.right > place.right + 1)
            wrong.push(`${figure.dataset.spec}: ${words} is cut`);
        for (const [i, [words, a, one]] of boxes.entries())
          for (const [others, b, other] of boxes.slice(i + 1)) {
            if ([one, other].some((t) => /rotate\\((-45|315)/.test(t.getAttribute("transform"))))
              continue;  // their boxes say nothing
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (wide > 2 && high > 4) wrong.push(`${figure.dataset.spec}: ${words} on ${others}`);
          }
      }
      return wrong;
    }""")
    assert found == []


def test_plots_zoom_and_come_back(page):
    for figure in page.locator("figure.plot").all():
        axes = lambda f=figure: sorted(f.locator(".role-axis-label text").all_text_contents())  # noqa: E731
        before = axes()
        figure.get_by_role("button", name="Zoom into").click()
        page.wait_for_timeout(200)
        assert axes() != before
        figure.get_by_role("button", name="Reset").click()
        page.wait_for_timeout(200)
        assert axes() == before


# Each column's cells after one click on its head and after another, and all rows before and behind.
SORTED = """grid => {
  const rows = () => [...grid.tBodies[0].rows].map((row) => row.innerText).sort();
  const before = rows(), found = [];
  [...grid.tHead.rows[0].cells].forEach((head, column) => {
    for (let click = 0; click < 2; click++) {
      head.querySelector("button").click();
      const cells = [...grid.tBodies[0].rows].map((row) => row.children[column]?.innerText ?? "");
      const heads = grid.querySelectorAll("[aria-sort]").length;
      found.push([head.getAttribute("aria-sort"), heads, cells]);
    }
  });
  return [found, before, rows()];
}"""


def test_every_table_sorts_by_every_column_both_ways(page):
    tables = page.locator("table.grid")
    assert tables.count() >= 6
    for grid in tables.all():
        columns, before, behind = grid.evaluate(SORTED)
        for order, heads, cells in columns:
            assert heads == 1
            found = [cell.strip() for cell in cells if cell.strip()]
            falling = order == "descending"
            numbers = [number for cell in found if (number := _leading(cell)) is not None]
            assert numbers == sorted(numbers, reverse=falling)
            words = [cell.lower() for cell in found if _leading(cell) is None]
            assert found[: len(numbers)] == [c for c in found if _leading(c) is not None]
            if words:
                ends = words[0], words[-1]
                assert (ends[0] >= ends[1]) if falling else (ends[0] <= ends[1])
        assert {order for order, _, _ in columns} == {"ascending", "descending"}
        assert before == behind


def _leading(text):
    """The number that a cell begins with: 72.4 of "72.4 [71.9, 72.8]", 600 of "600-799"."""
    found = re.match(r"([+-]?[\d.]+)( \[| \u00b1|-\d|$)", text)
    return float(found[1]) if found else None


def test_numbers_equal_those_of_the_files(page, folder):
    files = {
        "axis-table": folder / "axis_table.csv",
        "axis-ratings": folder / "tournament" / "axis_ratings.csv",
        "axis-ratings-time": folder / "tournament" / "time" / "axis_ratings.csv",
    }
    for name, path in files.items():
        with open(path, newline="") as file:
            expected = {row[next(iter(row))]: row for row in csv.DictReader(file)}
        if name == "axis-table":
            expected = {name: row | verdicts(row) for name, row in expected.items()}
        grid = page.locator(f"#{name}")
        columns = [h.get_attribute("data-column") for h in grid.locator("thead th").all()]
        assert {c for row in expected.values() for c, v in row.items() if v} <= set(columns)
        shown = grid.locator("tbody tr").all()
        assert len(shown) == len(expected)
        for row in shown:
            cells = row.locator("th, td").all()
            read = [cell.inner_text().strip() for cell in cells]
            whole = [c.get_attribute("data-whole") or t for c, t in zip(cells, read, strict=True)]
            assert whole == [expected[whole[0]][column] for column in columns]
            for column in ("elo", "elo_cost") if name == "axis-table" else ():
                elo, error = (expected[whole[0]][f"{column}{of}"] for of in ("", "_error"))
                said = f"{float(elo):+.1f} \u00b1{error}" if whole[0] != "ALL" else "0"
                assert read[columns.index(column)] == (said if error else elo)


def verdicts(row):
    """By yardstick: what p, adjusted for all sets, allows to say against ALL."""
    found = {}
    for kind in ("", "_cost", "_deep", "_deep_cost", "_time"):
        elo, p = float(row[f"elo{kind}"]), row[f"p{kind}_adjusted"]
        word = "stronger" if elo > 0 else "weaker"
        decided = p and float(p) < 0.05
        is_anchor = row["feature_set"] == "ALL"
        found[f"verdict{kind}"] = "anchor" if is_anchor else word if decided else "undecided"
    return found


def test_sequential_tests_are_those_of_the_file(page, folder):
    with open(folder / "sprt" / "axis.csv", newline="") as file:
        expected = list(csv.DictReader(file))
    assert [row["verdict"] for row in expected] == ["elo1", ""]
    grid = page.locator("#axis-sprt")
    columns = [head.get_attribute("data-column") for head in grid.locator("thead th").all()]
    assert sorted(columns) == sorted(expected[0])
    shown = {}
    for row in grid.locator("tbody tr").all():
        cells = [text.strip() for text in row.locator("th, td").all_inner_texts()]
        told = dict(zip(columns, cells, strict=True))
        shown[told["player"]] = told
        # The bar goes from one bound to the other.
        place = row.locator("b.dot").evaluate("b => parseFloat(b.style.left)")
        llr, lower, upper = (float(told[name]) for name in ("llr", "lower", "upper"))
        inside = min(max((llr - lower) / (upper - lower), 0), 1)
        assert place == pytest.approx(100 * inside, abs=0.1)
    words = {"elo1": "H1 accepted", "elo0": "H0 accepted", "": "open"}
    assert shown == {row["player"]: {**row, "verdict": words[row["verdict"]]} for row in expected}


def test_plots_hold_the_numbers_of_the_table(page, folder):
    with open(folder / "axis_table.csv", newline="") as file:
        expected = {row["feature_set"]: float(row["elo"]) for row in csv.DictReader(file)}
    values = page.evaluate(
        "SPECS['axis-elo'].layer.find((l) => l.encoding.x?.field === 'elo').data.values"
    )
    at_nodes = [value for value in values if value["limit"] == "fixed nodes"]
    assert {value["set"]: value["elo"] for value in at_nodes} == expected
    final = page.evaluate(
        "SPECS['axis-loss'].layer[0].data.values.filter((v) => v.epoch === 3).length"
    )
    assert final == len(report_results.SETS) * len(report_results.SEEDS)


def test_elo_against_speed_and_loss_has_both_errors(page, folder):
    with open(folder / "axis_table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for name, column, field, measured in (
        ("axis-pareto", "elo", "speed", "nps_ratio"),
        ("axis-pareto-time", "elo_time", "speed", "nps_ratio"),
        ("axis-loss-elo", "elo", "loss", "val_loss_mean"),
    ):
        spec = page.evaluate(f"SPECS['{name}']")
        values = spec["layer"][-1].get("data", spec.get("data"))["values"]
        assert len(values) == len(rows) == 2
        for row, value in zip(rows, values, strict=True):
            assert value["set"] == row["feature_set"]
            assert value[field] == float(row[measured])
            for kind, name in (("games", "error_games"), ("seeds", "error")):
                error = float(row[f"{column}_{name}"])
                ends = [float(row[column]) - error, float(row[column]) + error]
                assert [value[f"{kind}_low"], value[f"{kind}_high"]] == ends


def test_puzzles_are_the_means_of_the_files(page, folder):
    expected = {}
    for name in report_results.SETS:
        files = [folder / f"nets/{name}/{seed}/puzzles.csv" for seed in report_results.SEEDS]
        for rows in zip(*(csv.DictReader(path.open(newline="")) for path in files), strict=True):
            first = rows[0]
            means = (
                sum(float(row[f"accuracy{end}"]) for row in rows) / len(rows)
                for end in ("", "_low", "_high")
            )
            key = (name, first["kind"], first["group"], first["puzzles"], first["moves"])
            expected[key] = pytest.approx(list(means), abs=5.1e-5)
    assert {kind for _, kind, *_ in expected} == {"all", "rating", "theme"}
    page.locator("#axis-puzzles").scroll_into_view_if_needed()
    shown = {}
    for row in page.locator("#axis-puzzles tbody tr").all():
        cells = [text.strip() for text in row.locator("th, td").all_inner_texts()]
        shown[tuple(cells[:5])] = [float(cell) for cell in cells[5:]]
    assert shown == expected
    drawn = {}
    for name in ("rating", "theme"):
        drawn |= {
            (value["set"], name, value["group"]): [value["accuracy"], value["low"], value["high"]]
            for value in page.evaluate(
                "n => { let s = SPECS[n]; while (!s.data) s = s.layer[0]; return s.data.values; }",
                f"axis-puzzles-{name}",
            )
        }
    shares = {key[:3]: means.expected for key, means in expected.items() if key[1] != "all"}
    widths = {key: high - low for key, (_, low, high) in shares.items()}
    by_group = {
        group: fmean(w for key, w in widths.items() if key[1:] == group)
        for group in {key[1:] for key in widths}
    }
    clear = {key for key in shares if key[1] == "rating" or by_group[key[1:]] <= WIDEST}
    assert {group for _, kind, group in shares.keys() - clear} == {"fork"}
    assert drawn == {key: pytest.approx(shares[key], abs=5.1e-5) for key in clear}


def test_positions_are_drawn_as_the_sample_has_them(page, folder):
    told = json.loads((folder / "data" / "sample_report.json").read_text())
    values = page.evaluate("SPECS['data-mobility'].layer[0].data.values")
    for letter, role in ROLE_NAMES.items():
        counts = [value["positions"] for value in values if value["role"] == role]
        assert counts == told["mobility"]["own"][letter]["counts"][1:]
    values = page.evaluate("SPECS['data-legal-moves-by-turn'].data.values")
    for side, by_turn in told["legal_moves_by_turn"].items():
        medians = [value["median"] for value in values if value["side"] == f"{side} to move"]
        assert medians == by_turn["median"]
        assert len(medians) > 2


def test_the_published_statistics_stand_beside_ours(page, folder):
    rows = {}
    for path in (folder / "statistics").glob("*.csv"):
        with open(path, newline="") as file:
            rows |= {
                r["feature_set"]: r for r in csv.DictReader(file) if r["perspective"] == "both"
            }
    names = ("active", "active_with_repeats", "added", "removed")
    for row in page.locator("#statistics-published tbody tr").all():
        name, *cells = [text.strip() for text in row.locator("th, td").all_inner_texts()]
        published, ours = [cells[i] for i in (0, 3, 5)], [cells[i] for i in (1, 2, 4, 6)]
        assert [float(cell) for cell in published] == list(PUBLISHED[name])
        counted = [rows[name][column] for column in names] if name in rows else [""] * 4
        assert ours == [f"{float(text):.2f}" if text else "" for text in counted]
    assert page.locator("#statistics-published tbody tr").count() == len(PUBLISHED)
    assert "ALL" in rows


def test_a_number_tells_where_it_comes_from(page):
    page.locator("#axis-table tbody td").first.click()
    dialog = page.locator("#record")
    dialog.get_by_role("heading").wait_for()
    assert "results/axis_table.csv" in dialog.inner_text()
    dialog.get_by_role("button", name="results/axis_table.csv").click()
    text = dialog.inner_text()
    assert "sha256" in text
    assert '"anchor": "ALL"' in text
    dialog.get_by_role("button", name="results/tournament/axis.pgn").click()
    assert dialog.get_by_role("heading").inner_text() == "results/tournament/axis.pgn"
    dialog.get_by_role("button", name="back").click()
    assert dialog.get_by_role("heading").inner_text() == "results/axis_table.csv"
    page.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_games_are_played_by_buttons_keys_and_the_graph(page):
    viewer = page.locator(".viewer[data-games=axis]")
    state = viewer.locator(".state")
    board = viewer.locator(".board svg")
    assert "Opening position" in state.inner_text()
    viewer.get_by_role("button", name="Next move").click()
    first = board.get_attribute("aria-label")
    assert first != "Position after Opening position"
    assert viewer.locator(".last-move").count() == 2
    page.keyboard.press("ArrowRight")
    assert board.get_attribute("aria-label") != first
    page.keyboard.press("End")
    assert (
        viewer.locator(".moves [aria-current]").inner_text()
        == viewer.locator(".moves button").last.inner_text()
    )
    viewer.locator(".graph svg").click()
    assert 1 < int(viewer.locator(".moves [aria-current]").get_attribute("data-ply")) < 12
    points = viewer.locator("polyline").evaluate_all("l => l.map((p) => p.points.numberOfItems)")
    assert sum(points) == 12


_CUT = """(svg) => {
    const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => {
        const { left, right, bottom } = text.getBoundingClientRect();
        return left < box.left - 1 || right > box.right + 1 || bottom > box.bottom + 1;
    }).map((text) => text.textContent);
}"""


def test_weights_of_any_set_are_pictures(page):
    def choose(what, label):
        page.locator(f"#weight-{what}").select_option(label=label)

    assert page.locator("#weight-pictures svg").count() == 12
    choose("net", "H+PH+MC#1")
    assert page.locator("#weight-pictures rect.cell").count() == 12 * 64
    choose("role", "rook")
    assert page.locator("#weight-pictures figure").count() == 2
    choose("term", "PH")
    assert page.locator("#weight-pictures rect.cell").count() == 144
    assert page.locator("#weight-pictures text").count() == 24
    for term in ("PH", "MC", "H"):
        choose("term", term)
        assert page.locator("#weight-pictures svg").first.evaluate(_CUT) == []
    choose("term", "PH")
    choose("group", "on rank 4")
    before = page.locator("#weight-facts").inner_text()
    page.get_by_role("button", name="next", exact=True).click()
    assert page.locator("#weight-facts").inner_text() != before
    assert page.locator("#weight-strongest li").count() == 8
    page.locator("#weight-gallery button").nth(2).click()
    assert page.locator("#weight-neuron").input_value() == "2"


def test_positions_show_features_and_evaluations(page):
    assert page.locator("#explore-evaluations tbody tr").count() == 4
    page.locator("#explore-set").select_option("H+PH+MC")
    page.locator("#explore-position").select_option(index=3)
    text = page.locator("#explore-features").inner_text()
    assert "rook on file" in text
    assert "can move to" in text


def test_positions_show_the_moves_of_the_best_policy(page):
    table = page.locator("#explore-moves table")
    page.locator("#explore-position").select_option(index=2)
    assert table.count() == 1
    shares = [float(text) for text in table.locator("td").all_inner_texts()]
    assert len(shares) == 5
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 100.3


def test_many_games_play_at_once_and_hold_their_last_position(page):
    panel = page.locator("#policy-games")
    panel.scroll_into_view_if_needed()
    assert panel.locator("figure").count() == 50
    button, state = panel.locator("[data-go=play]"), panel.locator(".state")
    told = lambda: int(re.search(r"half-move (\d+) of", state.inner_text())[1])  # noqa: E731
    boards = panel.locator("svg")
    pieces = lambda: boards.evaluate_all("l => l.map((b) => b.querySelectorAll('use').length)")  # noqa: E731
    panel.locator("[data-go=end]").click()
    last, held = told(), pieces()
    assert button.inner_text() == "play"
    assert all(panel.locator("figcaption span").all_inner_texts())
    panel.locator("[data-go=back]").click()
    assert told() == last - 1
    panel.locator("[data-go=restart]").click()
    assert told() == 0
    assert set(panel.locator("figcaption span").all_inner_texts()) == {""}
    before = boards.first.inner_html()
    panel.locator("[data-go=step]").click()
    assert told() == 1
    assert boards.first.inner_html() != before
    button.click()
    page.wait_for_function(
        """n => {
          const told = document.querySelector("#policy-games .state").textContent;
          return Number(/\\d+/.exec(told)) === n;
        }""",
        arg=last,
    )
    assert button.inner_text() == "play"
    assert pieces() == held


def test_games_of_the_panel_are_played_by_the_rules(page):
    """Castling, en passant and promotions, too: as python-chess does."""
    rng, games, kinds = random.Random(4), [], set()
    while len(kinds) < 4 or len(games) < 30:
        board, moves, expected = chess.Board(), [], []
        for _ in range(160):
            expected.append(_letters(board))
            legal = list(board.legal_moves)
            if not legal:
                break
            rare = [
                m for m in legal if m.promotion or board.is_castling(m) or board.is_en_passant(m)
            ]
            move = rng.choice(rare or legal)
            kinds |= {"e.p."} if board.is_en_passant(move) else set()
            kinds |= {"castles"} if board.is_castling(move) else set()
            kinds |= {f"to {move.promotion == chess.QUEEN}"} if move.promotion else set()
            moves.append(move.uci())
            board.push(move)
        else:
            expected.append(_letters(board))
        games.append(({"fen": chess.STARTING_FEN, "moves": " ".join(moves)}, expected))
    shown = page.evaluate("games => games.map(played)", [game for game, _ in games])
    assert shown == [expected for _, expected in games]


def _letters(board):
    """The squares from a8 to h1, a blank for an empty one."""
    return "".join(str(board.piece_at(square ^ 56) or " ") for square in range(64))


def test_nothing_moves_for_who_wants_no_motion(browser, report):
    context = browser.new_context(reduced_motion="reduce", offline=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{report.as_uri()}#/policies")
    panel = page.locator("#policy-games")
    panel.scroll_into_view_if_needed()
    panel.locator("svg").first.wait_for()
    first, last = re.findall(r"\d+", panel.locator(".state").inner_text())
    assert first == last
    assert panel.locator("[data-go=play]").inner_text() == "play"
    panel.locator("[data-go=play]").click()
    assert panel.locator("[data-go=play]").inner_text() == "pause"
    context.close()


def test_what_is_missing_is_said_in_its_place(page):
    said = page.locator("[id='/experiment/pairwise'] .missing").inner_text()
    assert "results/pairwise_table.csv isn't there" in said
    assert "snakemake" in said


def test_no_accessibility_fault(page):
    check_accessibility(page)


def test_nothing_is_wider_than_the_window(page):
    own = page.viewport_size
    for width in (390, 768, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size(own)


def test_first_paint_is_quick(page):
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1000
