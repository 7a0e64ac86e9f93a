"""A report in Chromium, for the pictures of the documentation."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright


@contextmanager
def shown(report: Path, view: str, **window: Any) -> Iterator[Page]:
    """A view of a report, in light colours; ``window`` is as of ``Browser.new_page``."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("chromium isn't installed (Debian: apt install chromium)")
    if not report.is_file():
        raise SystemExit(f"{report} isn't there; make it: ./run report")
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(color_scheme="light", offline=True, **window)
        page.goto(f"{report.resolve().as_uri()}#/{view}")
        yield page
        browser.close()
