"""Takes the picture of a report for the documentation: docs/report.png.

    python resources/make/screenshot.py results/report.html docs/report.png

Needs Chromium. What is published is the picture of results as they are, so make the report first.
"""

import argparse
from pathlib import Path

from browser import shown

WIDTH, HEIGHT, SCALE = 1280, 720, 1.5  # pixels of the window, and of the picture for each of them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, help="the report")
    parser.add_argument("picture", type=Path, help="a PNG")
    parser.add_argument("--view", default="", help="path of its address: experiment/axis")
    asked = parser.parse_args()
    window = {"width": WIDTH, "height": HEIGHT}
    with shown(asked.page, asked.view, viewport=window, device_scale_factor=SCALE) as page:
        page.locator(".view.shown").wait_for()
        page.screenshot(path=asked.picture)


if __name__ == "__main__":
    main()
