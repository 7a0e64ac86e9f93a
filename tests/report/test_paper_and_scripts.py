"""The page on paper, in the dark, and without scripts."""

from __future__ import annotations

from tests.report.conftest import watched
from tests.report.test_views import VIEWS, choose, shown


def test_the_page_remembers_dark_and_paper_does_not(browser, report):
    theme = "document.documentElement.dataset.theme"
    with watched(browser, report, timeout=30_000, color_scheme="light") as page:
        assert page.evaluate(theme) is None
        page.locator("#theme").click()
        page.reload()
        assert page.evaluate(theme) == "dark"
        page.evaluate(
            "window.print = () => { window.printed = document.documentElement.dataset.theme; }"
        )
        page.locator("#print").click()
        page.wait_for_function("window.printed")
        assert page.evaluate("window.printed") == "light"
        page.reload()
        assert page.evaluate(theme) == "dark"


def printed(browser, report, view, button):
    """The page when it is about to be printed."""
    page = browser.new_page(color_scheme="dark")
    page.goto(f"{report.as_uri()}#{view}")
    assert "[native code]" in page.evaluate("String(window.print)")
    page.evaluate("() => { window.print = () => { window.printed = true; }; }")
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_function("window.printed", timeout=120_000)
    return page


def test_a_view_is_printed_alone(browser, report):
    page = printed(browser, report, "/experiment/axis", "print")
    plots = page.locator("figure.plot")
    drawn = plots.filter(has=page.locator("svg"))
    assert plots.count() > drawn.count() == page.locator(".shown figure.plot").count() > 3
    page.emulate_media(media="print")
    assert shown(page) == ["/experiment/axis"]
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    choose(page, "/methods")
    assert shown(page) == ["/methods"]
    page.close()


def test_paper_has_all_views_with_their_plots(browser, report):
    page = printed(browser, report, "/", "print all")
    plots = page.locator("figure.plot")
    assert plots.filter(has=page.locator("svg")).count() == plots.count()
    assert page.locator("#texel-pictures svg").count() > 0
    assert sorted(shown(page)) == sorted(VIEWS)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # what A4 has between its margins
    assert sorted(shown(page)) == sorted(VIEWS)
    assert not page.locator("#sidebar").is_visible()
    assert not page.evaluate("isDark()")
    assert page.locator("details:not([open])").count() == 0
    wide = page.evaluate("""() => [...document.querySelectorAll(".view table, .view svg")]
      .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
      .map((e) => e.id || e.outerHTML.slice(0, 99))""")
    assert wide == []
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("isDark()")
    assert page.locator("details[open]").count() == 0
    page.close()


def test_without_scripts_all_is_there(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert sorted(shown(page)) == sorted(VIEWS)
    page.locator('#nav a[href="#/methods"]').click()
    assert page.locator("[id='/methods']").bounding_box()["y"] < 900
    context.close()
