"""The page behind `nnuelab serve`, in a browser: questions, answers, and moves that go on."""

from __future__ import annotations

from nnuelab.nnue.inference import Inference
from nnuelab.report import results, serve
from tests.report.conftest import serving


def test_the_served_page_asks_the_engine(browser, everything, report):
    nets = results.gather(everything, ["axis"]).experiments[0].nets
    with serving(serve.Answers(nets, report)) as server:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://127.0.0.1:{server.server_port}/#explorer")
        page.locator("#explore-text").fill("8/8/8/8/8/8/8/8 w - - 0 1")
        page.get_by_role("button", name="look").click()
        said = page.locator("#explore-said")
        said.get_by_text("king").wait_for()
        fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
        page.locator("#explore-text").fill(fen)
        page.get_by_role("button", name="look").click()
        page.locator("#explore-fen").get_by_text(fen).wait_for()
        shown = page.locator("#explore-evaluations td").all_inner_texts()
        assert shown == [str(Inference(net.net).evaluate_fens([fen])[0]) for net in nets]
        assert "nodes, depth" in said.inner_text()
        _ask_twice(page, "4k3/8/8/8/8/8/3P4/4K3 w - - 0 1", "4k3/8/8/8/8/8/2P5/4K3 w - - 0 1")
        page.close()


def test_the_served_page_goes_on_moving(browser, everything, report):
    nets = results.gather(everything, ["axis"]).experiments[0].nets
    with serving(serve.Answers(nets, report)) as server:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://127.0.0.1:{server.server_port}/#/set/ALL")
        example = page.locator("[data-explore=ALL]")
        example.get_by_role("combobox").first.select_option(label="the initial position")
        for move in ("e2e4", "d7d5", "e4d5"):
            example.locator(f"button.own[data-square={move[:2]}]").click()
            example.locator(f"button[data-square={move[2:]}]").click()
        said = example.locator(".moved")
        said.get_by_text("exd5: each accumulator adds 1 and removes 2 rows.").wait_for()
        example.locator("button.own[data-square=d8]").wait_for()
        assert "run nnuelab serve" not in said.inner_text()
        page.close()


def _ask_twice(page, first, second):
    """The answer to the first question comes after that to the second, and is left out."""
    page.evaluate("""() => {
      const real = window.fetch;
      window.held = [];
      window.fetch = async (...asked) => {
        const response = await real(...asked);
        await new Promise((go) => held.push(go));
        return response;
      };
    }""")
    for number, fen in enumerate((first, second), 1):
        page.locator("#explore-text").fill(fen)
        page.get_by_role("button", name="look").click()
        page.wait_for_function("number => held.length === number", arg=number)
    page.evaluate("held[1]()")
    page.locator("#explore-fen").get_by_text(second).wait_for()
    shown = page.locator("#explore-position option").count()
    page.evaluate("held[0]()")
    page.wait_for_timeout(300)
    assert page.locator("#explore-fen").inner_text() == second
    assert page.locator("#explore-position option").count() == shown
