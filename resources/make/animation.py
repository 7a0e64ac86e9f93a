"""Records moves on the board of a feature set's view as an animated SVG: docs/board.svg.

    python resources/make/animation.py results/report.html ALL+H+V docs/board.svg c3b5 f3e5

Needs Chromium. The moves are those of the position that the view opens with, each instead of the
last. Frames are pictures of the page, so they show what Python found and the page draws.
"""

import argparse
from pathlib import Path

from browser import shown
from playwright.sync_api import Page

SELECTED, MOVED = 1, 3  # seconds that a frame is seen
SCALE = 1.25  # pixels of a picture for one of the page


def frames(page: Page, moves: list[str]) -> list[tuple[str, int]]:
    """Pictures (WebP, base64) and their seconds."""
    board = page.locator("[data-explore]:visible")
    board.locator("svg").first.wait_for()
    board.scroll_into_view_if_needed()
    found = []
    for move in moves:
        board.locator(f"button.own[data-square={move[:2]}]").click()
        page.mouse.move(0, 0)
        found.append((picture(page), SELECTED))
        board.locator(f"button.target[data-square={move[2:4]}]").click()
        page.mouse.move(0, 0)
        found.append((picture(page), MOVED))
        board.get_by_role("button", name="take back").click()
    return found


def clip(page: Page) -> dict[str, float]:
    """Where the board stands on the page, with all that is said of a move."""
    found: dict[str, float] = page.evaluate("""() => {
      const view = document.querySelector(".view.shown [data-explore]");
      const { x, y, width } = view.getBoundingClientRect();
      const height = view.querySelector(".moved").getBoundingClientRect().bottom - y;
      return { x: x + scrollX, y: y + scrollY, width, height };
    }""")
    return found


def picture(page: Page) -> str:
    """The board's part of the page."""
    session = page.context.new_cdp_session(page)
    asked = {"format": "webp", "quality": 60, "clip": {**clip(page), "scale": SCALE}}
    taken: str = session.send("Page.captureScreenshot", asked)["data"]
    return taken


def animated(pictures: list[tuple[str, int]], width: int, height: int) -> str:
    """An SVG that shows pictures in turn.

    The second lies below all others and is always there: it is what is seen where nothing moves.
    """
    total, start, styles, images = sum(seconds for _, seconds in pictures), 0, [], []
    for i, (data, seconds) in enumerate(pictures):
        images.append(
            f'<image class="{"still" if i == 1 else f"f{i}"}" width="{width}" height="{height}" '
            f'href="data:image/webp;base64,{data}"/>'
        )
        if i != 1:
            end = 100 * seconds / total
            seen = f"0% {{ visibility: visible }} {end:.3f}% {{ visibility: hidden }}"
            styles.append(
                f"@keyframes f{i} {{ {seen} }}"
                f" .f{i} {{ animation: f{i} {total}s step-end {start}s infinite }}"
            )
        start += seconds
    images.insert(0, images.pop(1))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
            "<style>image:not(.still) { visibility: hidden }",
            *styles,
            "@media (prefers-reduced-motion: reduce) { image { animation: none !important } }",
            "</style>",
            *images,
            "</svg>\n",
        ]
    )


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("feature_set")
    parser.add_argument("output", type=Path)
    parser.add_argument("moves", nargs="+")
    asked = parser.parse_args()
    window = {"width": 1060, "height": 900}
    with shown(asked.report, f"set/{asked.feature_set}", viewport=window) as page:
        taken = frames(page, asked.moves)
        size = clip(page)
    asked.output.write_text(animated(taken, round(size["width"]), round(size["height"])))


if __name__ == "__main__":
    main()
