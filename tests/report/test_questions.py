"""The steps that docs/comparison.md counts, walked from the first screen of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "comparison.md"


def told():
    """Steps by question, of the first table."""
    rows = re.findall(r"^\| (.+\?) \| (\d+) \| ", DOCS.read_text(), re.MULTILINE)
    return {question: int(steps) for question, steps in rows}


class Walk:
    """Counts what a reader does."""

    def __init__(self, page):
        self.page, self.steps = page, 0

    def click(self, place):
        """A click on what is in sight."""
        assert self.sees(place)
        self.steps += 1
        place.click()

    def choose(self, place, value):
        assert self.sees(place)
        self.steps += 1
        place.select_option(value=value)

    def scroll(self, place):
        self.steps += 1
        place.evaluate("e => e.scrollIntoView({ block: 'center' })")

    def sees(self, place):
        """Whether it is on the screen; small things as a whole."""
        place.wait_for()
        return place.evaluate("""e => {
          const { top, bottom, left, right } = e.getBoundingClientRect();
          const inside = left >= 0 && right <= innerWidth + 1;
          return inside && top >= 0 && Math.min(bottom, top + 300) <= innerHeight;
        }""")

    def experiment(self):
        self.click(self.page.locator("#nav").get_by_role("link", name="axis", exact=True))

    def below(self, place):
        """What is further down in the experiment."""
        self.experiment()
        self.scroll(self.page.locator(place))

    def set(self):
        self.click(self.page.locator(".ranking .rank").filter(has_text="H+PH+MC"))


def best(walk):
    answer = walk.page.locator("[id='/'] .answer").first
    return walk.sees(answer) and "stronger than ALL" in answer.inner_text()


def sure(walk):
    line = walk.page.locator(".ranking .rank").filter(has_text="H+PH+MC")
    return walk.sees(line.locator(".games.span.elo")) and walk.sees(
        line.locator(".dot.undecided.elo")
    )


def speed(walk):
    line = walk.page.locator(".ranking .rank").filter(has_text="H+PH+MC")
    return walk.sees(line.locator(".dot.elo_cost"))


def deeper(walk):
    walk.below("#figure-axis-depth")
    return walk.sees(walk.page.locator("#figure-axis-depth svg").first)


def definition(walk):
    walk.set()
    return walk.sees(walk.page.locator(".view.shown dl.terms"))


def moves(walk):
    walk.set()
    board = walk.page.locator(".view.shown [data-explore]")
    walk.scroll(board.locator(".board").first)
    choice = board.get_by_role("combobox").last
    walk.choose(choice, choice.locator("option").last.get_attribute("value"))
    said = board.locator(".moved")
    return walk.sees(said) and "each accumulator" in said.inner_text()


def games(walk):
    walk.below(".viewer[data-games=axis]")
    return walk.sees(walk.page.locator(".viewer[data-games=axis] .board svg"))


def converged(walk):
    walk.below("#figure-axis-loss")
    return walk.sees(walk.page.locator("#figure-axis-loss svg").first)


def source(walk):
    walk.experiment()
    walk.click(walk.page.locator("#axis-table tbody td.number").first)
    record = walk.page.locator("#record")
    walk.click(record.get_by_role("button", name="results/axis_table.csv"))
    return all(word in record.inner_text() for word in ("sha256", "made by", "inputs"))


def paper(walk):
    walk.experiment()
    sheet = walk.page.locator(".sheet").filter(has=walk.page.locator("#axis-table"))
    walk.click(sheet.get_by_role("button", name="LaTeX"))
    return "\\toprule" in walk.page.locator("#record textarea").input_value()


WALKS = (best, sure, speed, deeper, definition, moves, games, converged, source, paper)


@pytest.mark.parametrize(
    ("question", "walk"), list(zip(told(), WALKS, strict=True)), ids=list(told())
)
def test_a_question_takes_so_many_steps(browser, report, question, walk):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(60_000)
    page.goto(report.as_uri())
    walked = Walk(page)
    assert walk(walked)
    assert walked.steps == told()[question]
    page.close()
