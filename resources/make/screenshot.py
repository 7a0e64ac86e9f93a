"""Takes the picture of a report for the documentation: docs/report.png.

    python resources/make/screenshot.py results/report.html docs/report.png

Needs Chromium. What is published is the picture of results as they are, so make the report first.
"""

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

WIDTH, HEIGHT, SCALE = 1280, 720, 1.5  # pixels of the window, and of the picture for each of them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, help="the report")
    parser.add_argument("picture", type=Path, help="a PNG")
    parser.add_argument("--view", default="", help="path of its address: experiment/axis")
    asked = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("chromium isn't installed (Debian: apt install chromium)")
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        window = ViewportSize(width=WIDTH, height=HEIGHT)
        page = browser.new_page(viewport=window, device_scale_factor=SCALE, color_scheme="light")
        page.goto(f"{asked.page.resolve().as_uri()}#/{asked.view}")
        page.locator(".view.shown").wait_for()
        page.screenshot(path=asked.picture)
        browser.close()


if __name__ == "__main__":
    main()
