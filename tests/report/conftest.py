"""The browser that is installed, pages that are watched in it, and a server that runs beside."""

from __future__ import annotations

import io
import json
import shutil
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab.cli import page as _page  # noqa: F401 (registers its commands)
from nnuelab.cli import report as _report  # noqa: F401 (registers its commands)
from nnuelab.cli.app import app
from nnuelab.nnue.netfile import Net, write_net
from nnuelab.report import serve
from tests import report_results

SIZES = {"ALL": 768, "H+V": 192}
RESULTS = ("1-0", "0-1", "1/2-1/2")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def check_accessibility(page):
    """No fault by axe-core, in light and in dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for _ in range(2):
        found = axe.run(page).response["violations"]
        assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found] == []
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


@pytest.fixture
def results(tmp_path):
    """Two feature sets with two seeds each, as the stages leave them, and their games."""
    rng = np.random.default_rng(1)
    for name, size in SIZES.items():
        for seed in (1, 2):
            folder = tmp_path / "nets" / name / str(seed)
            folder.mkdir(parents=True)
            net = Net(
                name,
                rng.integers(-9, 9, (size, 16)).astype("<i2"),
                np.zeros(16, "<i2"),
                rng.integers(-9, 9, (8, 32)).astype("<i1"),
                np.zeros(8, "<i4"),
                np.ones(8, "<i2"),
                np.zeros(1, "<i4"),
            )
            write_net(folder / "net.nnue", net)
            (folder / "history.csv").write_text(
                f"epoch,validation_loss,seconds\n1,0.9,2.5\n2,0.{seed}{size},1.5\n"
            )
            error = {"n": 9, "mean_cp": float(seed), "rms_cp": 3.0 * seed, "max_cp": 10.0 * seed}
            (folder / "verify.json").write_text(json.dumps(error | {"worst": []}))
    games = io.StringIO()
    players = [f"{name}#{seed}" for name in SIZES for seed in (1, 2)]
    for _ in range(120):
        white, black = rng.choice(players, 2, replace=False)
        result = RESULTS[rng.integers(3)]
        games.write(f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n{result}\n\n')
    (tmp_path / "axis.pgn").write_text(games.getvalue())
    return tmp_path


@pytest.fixture
def nets(results):
    return [results / "nets" / name / seed / "net.nnue" for name in SIZES for seed in "12"]


@pytest.fixture(scope="package")
def everything(tmp_path_factory):
    """Results with all that a page can show."""
    found = report_results.make(tmp_path_factory.mktemp("project"))
    report_results.make_sequential(found)
    report_results.make_tuned(found)
    report_results.make_searched(found)
    report_results.make_policies(found)
    report_results.make_ladder(found)
    return found


@pytest.fixture(scope="package")
def report(everything):
    """The page of them."""
    path = everything / "report.html"
    command = ["report", "axis", "pairwise", "--results", str(everything), "--output", str(path)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return path


def call(*arguments):
    """What a command answers; its words may be paths."""
    return CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)
