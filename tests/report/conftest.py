"""The browser that is installed, pages that are watched in it, and a server that runs beside."""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from nnuelab.cli import page as _commands  # noqa: F401 (registers them)
from nnuelab.cli.app import app
from nnuelab.report import serve
from tests import report_results

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def check_accessibility(page):
    """No serious fault by axe-core, in light and in dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for _ in range(2):
        found = axe.run(page).response["violations"]
        serious = [v for v in found if v["impact"] in ("serious", "critical")]
        assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in serious] == []
        if not page.locator("#theme").is_visible():
            page.locator("#menu").click()
        page.locator("#theme").click()
        page.wait_for_timeout(500)


@contextmanager
def serving(answers):
    """A server of some answers, which runs meanwhile."""
    with serve.Server(answers, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def watched(browser, report, timeout, **context):
    """The page, opened; nothing may go wrong in it, and nothing may be asked of a network.

    What is waited for may take ``timeout`` ms.
    """
    within = browser.new_context(offline=True, **context)
    opened = within.new_page()
    opened.set_default_timeout(timeout)
    wrong = []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda request: wrong.append(request.url))
    opened.goto(report.as_uri())
    yield opened
    within.close()
    ours = ("data:", report.as_uri())
    assert [line for line in wrong if not line.startswith(ours)] == []


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("chromium isn't installed (Debian: apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="package")
def everything(tmp_path_factory):
    """Results with all that a page can show."""
    found = report_results.make(tmp_path_factory.mktemp("project"))
    report_results.make_sequential(found)
    report_results.make_tuned(found)
    report_results.make_searched(found)
    report_results.make_policies(found)
    return found


@pytest.fixture(scope="package")
def report(everything):
    """The page of them."""
    path = everything / "report.html"
    command = ["report", "axis", "pairwise", "--results", str(everything), "--output", str(path)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return path
