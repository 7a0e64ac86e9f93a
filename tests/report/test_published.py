"""The page of all published experiments: what a clone can show before anything is run."""

from __future__ import annotations

import csv
import json
import re
from urllib.parse import unquote

import pytest
import yaml
from typer.testing import CliRunner

from nnuelab.cli import page as _page  # noqa: F401 (registers its commands)
from nnuelab.cli.app import app
from nnuelab.cli.search import QUESTION
from tests.conftest import ROOT
from tests.report.conftest import watched

PUBLISHED = ROOT / "results/published"
NAMES = {path.name.removesuffix("_table.csv") for path in PUBLISHED.glob("*_table.csv")}


def parameters(name):
    """What the record of a table says."""
    return json.loads((PUBLISHED / f"{name}_table.csv.json").read_text())["parameters"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("published") / "report.html"
    command = ["report", "--results", str(PUBLISHED), "--output", str(path)]
    CliRunner().invoke(app, command, catch_exceptions=False)
    return path


def test_the_page_is_small(report):
    assert report.stat().st_size < 8_000_000


def test_a_p_that_is_rounded_to_nothing_is_said_to_be_small(report):
    cells = re.findall(r'<td data-whole="0\.0000"[^>]*>([^<]*)<', report.read_text())
    assert len(cells) > 9
    assert set(cells) == {"&lt;\u00a00.0001"}


def paints(page):
    """When the page is first seen, ms, in some loads: other work may delay one of them."""
    for _ in range(3):
        page.reload()
        page.wait_for_selector("main section", state="attached")
        yield page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")


@pytest.mark.parametrize("width", [390, 1280])
def test_all_experiments_are_painted_within_a_second(report, browser, width):
    viewport = {"width": width, "height": 900}
    with watched(browser, report, timeout=30_000, viewport=viewport) as page:
        assert min(paints(page)) < 1000
        shown = page.evaluate("[...document.querySelectorAll('section')].map(s => s.id)")
        assert {f"/experiment/{name}" for name in NAMES} - {"/experiment/policy"} <= set(shown)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_each_experiment_has_a_mark_for_each_set_at_its_place(report, browser):
    with watched(browser, report, timeout=30_000) as page:
        ticks = page.locator(".experiments .axis .track span").all()
        middle = "e => { const b = e.getBoundingClientRect(); return b.left + b.width / 2; }"
        (low, left), (high, right) = (
            (float(tick.inner_text()), tick.evaluate(middle)) for tick in (ticks[0], ticks[-1])
        )
        shown = 0
        for line in page.locator(".experiments > li:not(.axis)").all():
            name = line.locator(".name a").inner_text()
            with open(PUBLISHED / f"{name}_table.csv", newline="") as file:
                rows = [row for row in csv.DictReader(file) if row["elo"]]
            told = parameters(name)
            asked = told.get("hypothesis", {}).get("column", "elo")
            column = asked if asked != "elo" else "elo_cost"
            for kind in ("elo", column):
                values = sorted(float(row[kind]) for row in rows if row.get(kind))
                marks = line.locator(f".dot.{kind}")
                found = marks.evaluate_all(f"all => all.map(e => [({middle})(e), e.className])")
                assert len(found) == len(values)
                for value, (place, drawn) in zip(values, sorted(found), strict=True):
                    at = left + (value - low) * (right - left) / (high - low)
                    if "under" in drawn:
                        assert at < place
                    elif "over" in drawn:
                        assert at > place
                    else:
                        assert abs(at - place) < 1
                shown += len(found)
            assert line.locator("[title]").count() == line.locator(".dot").count()
        assert shown > 100
        assert page.locator(".experiments .under").count() > 0
        page.locator(".experiments .name a").first.click()
        assert page.locator(".view:visible h2").inner_text().startswith("Experiment")


def test_each_experiment_asks_what_its_settings_ask(report, browser):
    """The first one that asks, in params.yaml or else in an overlay; others change its nets.

    That of the front is the search's.
    """
    asked = {"search": QUESTION}
    for file in (ROOT / "params.yaml", *sorted((ROOT / "config").glob("*.yaml"))):
        for name, settings in (yaml.safe_load(file.read_text()).get("experiments") or {}).items():
            if "question" in settings:
                assert asked.setdefault(name, settings["question"]) == settings["question"]
    assert asked.keys() == NAMES - {"policy"}
    with watched(browser, report, timeout=30_000) as page:
        for name, question in asked.items():
            view = page.locator(f'[id="/experiment/{name}"]')
            assert view.locator(".answer .asked").text_content() == question
        lines = page.locator(".experiments .name").all_text_contents()
        first = page.locator(".answer .asked").first.text_content()
    assert {*map(str.strip, lines), f"answers {first}"} == {f"{n} {q}" for n, q in asked.items()}


def test_each_experiment_says_how_many_games_it_is_of(report, browser):
    with watched(browser, report, timeout=30_000) as page:
        for name in NAMES - {"policy"}:
            said = page.locator(f'[id="/experiment/{name}"] > .note').first.text_content()
            for folder, at in (
                ("", "fixed nodes"),
                ("cost/", "equal cost"),
                ("deep/", "5,000 nodes"),
            ):
                details = PUBLISHED / f"tournament/{folder}{name}_details.json"
                told = re.search(rf"([\d,]+) at {at}[;.]", said)
                assert (told is not None) == details.is_file()
                if told:
                    games = json.loads(details.read_text())["games"]
                    assert int(told[1].replace(",", "")) == games


def test_a_table_shows_the_column_of_its_hypothesis(report, browser):
    titles = {"elo": "fixed nodes", "elo_cost": "equal cost", "elo_time": "fixed time",
              "elo_deep_cost": "equal cost, 5,000 nodes"}  # fmt: skip
    asked = 0
    with watched(browser, report, timeout=30_000) as page:
        for name in sorted(NAMES - {"policy"}):
            told = parameters(name)
            page.evaluate(f"goTo('#/experiment/{name}')")
            table = page.locator(f"#{name}-table")
            shown = [head for head in table.locator("thead th").all() if head.is_visible()]
            titled = [re.sub(r"\s+", " ", head.inner_text()).strip(" \u2195") for head in shown]
            assert sum(title.startswith("Elo at ") for title in titled) <= 2
            if "hypothesis" in told:
                asked += 1
                assert f"Elo at {titles[told['hypothesis']['column']]}" in titled
    assert asked > 10


def test_each_set_is_seen_on_a_board(report, browser):
    """With its terms, the last one first: it tells sets of one family apart."""
    with watched(browser, report, timeout=30_000) as page:
        views = page.locator("section.set").all()
        assert len(views) > 20
        for view in views:
            page.evaluate("address => { location.hash = address; }", f"#{view.get_attribute('id')}")
            example = view.locator("[data-explore]")
            example.scroll_into_view_if_needed()
            example.locator(".board svg").first.wait_for()
            terms = [text.strip() for text in view.locator(".terms dt").all_text_contents()]
            lists = [text.partition(":")[0] for text in example.locator("h3").all_text_contents()]
            assert lists == [term for term in reversed(terms) for _ in range(2)]
            example.get_by_role("combobox").last.select_option(index=1)
            said = example.locator(".moved").inner_text()
            assert "accumulator" in said
            assert "serve" not in said, "it has no nets, of which a server would tell"


def test_what_is_open_says_how_many_seeds_would_tell_and_what_is_settled_that_it_is(report):
    views = re.findall(r'id="/experiment/(\w+)"(.*?)</section>', report.read_text(), re.DOTALL)
    advice = {
        name: "".join(re.findall(r'<p class="advice">(.*?)</p>', view)) for name, view in views
    }
    assert advice.keys() == NAMES - {"policy"}
    assert "11 more seeds would tell" in advice["axis"]
    assert sum("more seed" in text for text in advice.values()) > 5
    settled = {name for name, view in views if re.search("It (holds|is refuted):", view)}
    assert settled == {name for name, text in advice.items() if "The hypothesis is settled" in text}


def test_sets_of_the_front_are_links_where_they_have_a_view(report):
    front = report.read_text().split('<table id="searched-front"')[1].split("</table>")[0]

    def sets(name):
        with (PUBLISHED / name).open(newline="") as file:
            return [row["feature_set"] for row in csv.DictReader(file)]

    played = {*sets("search_table.csv"), *sets("found_table.csv")}
    linked = [unquote(name) for name in re.findall('href="#/set/([^"]*)"', front)]
    assert linked == [name for name in sets("search/front.csv") if name in played]
    assert len(linked) > 5
    assert front.count("<tr data-row=") > front.count('class="source"') > 5


def test_the_axis_of_the_ladder_has_its_reference_on_a_phone(report, browser):
    with watched(browser, report, 30_000, viewport={"width": 390, "height": 900}) as page:
        page.evaluate("goTo('#/ladder')")
        labels = page.locator("#plot-ladder-elo svg .role-axis-label text")
        labels.first.wait_for()
        shown = "all => all.filter(e => e.getAttribute('opacity') !== '0').map(e => e.textContent)"
        assert "0" in labels.evaluate_all(shown)


def test_nodes_are_told_where_only_ratings_are(report):
    text = report.read_text()
    assert "at equal cost, 5,000 nodes. It holds" in text
    assert "At fixed nodes and at equal cost, 5,000 nodes KB(1) is stronger than ALL." in text
    assert "more nodes" not in text.split("<main")[1].split("</main>")[0]


def test_what_is_elsewhere_is_no_fault(report, browser):
    with watched(browser, report, timeout=30_000) as page:
        told = page.locator(".missing:not(#lost)").all_text_contents()
        assert len(told) == 1, told
        assert "policies themselves" in told[0]
        for view in ("data", "nets", "sets"):
            assert page.locator(f'[id="/{view}"]').count() == 0
        page.evaluate("goTo('#/methods')")
        assert "These are tables alone" in page.locator(".view:visible").inner_text()


def test_an_address_without_a_view_is_told(report, browser):
    with watched(browser, report, timeout=30_000) as page:
        lost = page.locator("#lost")
        assert lost.is_hidden()
        for written in ("KB(16)", "KB%2816%29", "ALL+TOPK(512,resources/pairs.csv)"):
            page.evaluate("address => goTo(`#/set/${address}`)", written)
            assert lost.is_hidden()
            title = page.locator(".view:visible h2").inner_text()
            assert title == f"Feature set {unquote(written)}"
        page.evaluate("goTo('#/experiment/nothing')")
        assert lost.inner_text() == "There is no view #/experiment/nothing."
        page.keyboard.press("/")
        for words, view in (
            ("mirrored king", "KB(16)"),
            ("people", "people"),
            ("p adjusted chance", "Methods"),
        ):
            page.locator("#finder-text").fill(words)
            assert view in page.locator("#finder-found").inner_text()
        page.locator("#finder-text").fill("validation loss")
        found = page.locator("#finder-found li").all_inner_texts()
        assert "plot, Experiment" in found[0]
        assert re.match(r"\d+ more: add a word", found[30])
        page.locator("#finder-text").fill("quantization max")
        (found,) = page.locator("#finder-found li").all_inner_texts()
        assert found.startswith("quantization: max (cp) column, Experiment answers, and ")
        page.locator("#finder-text").fill("zzz")
        assert page.locator("#finder-found").inner_text() == "nothing has these words"
        page.evaluate("location.hash = '#/experiment/axis'")
        page.locator("#finder").wait_for(state="hidden")
        assert lost.is_hidden()


def test_colours_mean_the_same_limit_in_every_experiment(report, browser):
    with watched(browser, report, timeout=30_000) as page:
        specs = json.loads(page.locator("#specs").text_content())
        scales = {
            tuple(layer["encoding"]["color"]["scale"]["domain"])
            for name, spec in specs.items()
            if name.endswith("-elo") and name.removesuffix("-elo") in NAMES
            for layer in spec["layer"]
            if "limit" in layer.get("encoding", {}).get("color", {}).get("field", "")
        }
        assert {domain[:2] for domain in scales} == {("fixed nodes", "equal cost")}


def test_questions_lead_to_their_experiments(report, browser):
    with watched(browser, report, timeout=30_000) as page:
        page.evaluate("goTo('#/questions')")
        links = page.locator(".answers a")
        assert {*links.all_text_contents()} > {"axis", "scored", "pqr"}
        links.first.click()
        assert page.locator(".view:visible h2").inner_text().startswith("Experiment")


def test_every_link_opens_its_view(report, browser):
    with watched(browser, report, timeout=30_000) as page:
        for link in page.locator("#nav a").all():
            address = link.get_attribute("href")
            link.click()
            (shown,) = page.locator(".view:visible").all()
            assert address == f"#{shown.get_attribute('id')}"
            assert link.get_attribute("aria-current") == "page"
