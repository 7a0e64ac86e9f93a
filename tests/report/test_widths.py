"""The page between a phone and a wide screen: nothing goes beyond it, is cut, or overlaps."""

from __future__ import annotations

import pytest

from tests.report.conftest import watched
from tests.report.test_views import VIEWS, choose, draw_all

# Texts as they are seen: within what clips them. What scrolls has a shade where it goes on; a title
# says all of a text, and so does the record of a row whose text ends with an ellipsis.
FAULTS = """() => {
  const faults = [], texts = [];
  const told = (node) => (node.textContent ?? node).trim().slice(0, 60);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest(".skip, select")
      || element.getScreenCTM?.().b // a box says nothing of a slanted text
      || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      let { left, right, top, bottom } = box;
      let scrolls = false, says = false;
      for (let parent = element; parent; parent = parent.parentElement) {
        const { overflowX, textOverflow } = getComputedStyle(parent);
        scrolls ||= overflowX === "auto" || overflowX === "scroll";
        says ||= textOverflow === "ellipsis" || parent.hasAttribute("title");
        if (overflowX === "visible" || parent === document.body) continue;
        const clip = parent.getBoundingClientRect();
        if (!scrolls && !says && (left < clip.left - 1 || right > clip.right + 1)) {
          faults.push(`cut: ${told(node)}`);
        }
        [left, right] = [Math.max(left, clip.left), Math.min(right, clip.right)];
        [top, bottom] = [Math.max(top, clip.top), Math.min(bottom, clip.bottom)];
      }
      if (right > left && bottom > top) texts.push({ left, right, top, bottom, node });
    }
  }
  texts.sort((a, b) => a.top - b.top);
  const LEAST = 3; // pixels: boxes of lines are higher than their letters
  texts.forEach((one, i) => {
    for (let j = i + 1; j < texts.length && texts[j].top < one.bottom - LEAST; j++) {
      const other = texts[j];
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      if (width > LEAST && other.node !== one.node) {
        faults.push(`${told(one.node)} over ${told(other.node)}`);
      }
    }
  });
  if (document.documentElement.scrollWidth > innerWidth) faults.push("wider than the window");
  return [...new Set(faults)];
}"""


@pytest.mark.parametrize("width", [390, 600, 768, 1024, 1280, 1920])
def test_nothing_is_cut_or_overlaps_at_any_width(browser, report, width):
    with watched(browser, report, 30_000, viewport={"width": width, "height": 900}) as page:
        found = {}
        for view in VIEWS:
            choose(page, view)
            draw_all(page)
            page.evaluate("scrollTo(0, 0)")
            found[view] = page.evaluate(FAULTS)
        assert {view: faults for view, faults in found.items() if faults} == {}
