"""The page of all published experiments: what a clone can show before anything is run."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from nnuelab.cli import page as _page  # noqa: F401 (registers its commands)
from nnuelab.cli.app import app
from tests.conftest import ROOT
from tests.report.conftest import watched

PUBLISHED = ROOT / "results/published"
NAMES = {path.name.removesuffix("_table.csv") for path in PUBLISHED.glob("*_table.csv")}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("published") / "report.html"
    command = ["report", "--results", str(PUBLISHED), "--output", str(path)]
    CliRunner().invoke(app, command, catch_exceptions=False)
    return path


def test_the_page_is_small(report):
    assert report.stat().st_size < 8_000_000


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


def test_every_link_opens_its_view(report, browser):
    with watched(browser, report, timeout=30_000) as page:
        for link in page.locator("#nav a").all():
            address = link.get_attribute("href")
            link.click()
            (shown,) = page.locator(".view:visible").all()
            assert address == f"#{shown.get_attribute('id')}"
            assert link.get_attribute("aria-current") == "page"
