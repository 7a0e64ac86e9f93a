"""The browser that is installed."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def check_accessibility(page):
    """No serious fault by axe-core, in light and in dark."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for _ in range(2):
        found = axe.run(page).response["violations"]
        serious = [v for v in found if v["impact"] in ("serious", "critical")]
        assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in serious] == []
        page.locator("#theme").click()
        page.wait_for_timeout(500)


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("chromium isn't installed (Debian: apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()
