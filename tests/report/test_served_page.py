"""The page behind `nnuelab serve`, in a browser: questions, answers, and moves that go on."""

from __future__ import annotations

import json
import shutil
import time

import chess
import pytest

from nnuelab import runs
from nnuelab.nnue.inference import Inference
from nnuelab.report import results, serve
from nnuelab.report.live import Live
from tests.report.conftest import check_accessibility, serving

MARKUP = "<img src=x onerror=alert(1)>"


def test_the_served_page_asks_the_engine(browser, everything, report):
    nets = results.gather(everything, ["axis"]).experiments[0].nets
    with serving(serve.Answers(nets, report)) as server:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://127.0.0.1:{server.server_port}/#explorer")
        assert page.get_by_text("What every net says").is_visible()
        assert not page.get_by_text("For a position of your own").is_visible()
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


def test_every_kind_of_move_is_played_on_the_board_of_a_set(browser, everything, report):
    """Castling, en passant, a promotion with a capture and one without, to any piece."""
    nets = results.gather(everything, ["axis"]).experiments[0].nets
    fen = "r3k3/1P6/8/3pP3/8/8/8/4K2R w K d6 0 1"
    with serving(serve.Answers(nets, report)) as server:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://127.0.0.1:{server.server_port}/#/positions")
        page.locator("#explore-text").fill(fen)
        page.get_by_role("button", name="look").click()
        page.locator("#explore-fen").get_by_text(fen).wait_for()
        page.goto(f"http://127.0.0.1:{server.server_port}/#/set/ALL")
        example = page.locator("[data-explore=ALL]")
        place = example.get_by_role("combobox").first
        place.locator("option").first.wait_for(state="attached")
        place.select_option(str(place.locator("option").count() - 1))
        dialog = page.get_by_role("dialog", name="Promote to")
        for move, piece in (
            *(("e1g1", ""), ("e5d6", "")),
            *((f"b7{goal}{letter}", letter) for goal in ("a8", "b8") for letter in "qrbn"),
        ):
            after = chess.Board(fen)
            after.push_uci(move)
            example.locator(f"button.own[data-square={move[:2]}]").click()
            example.locator(f"button.target[data-square={move[2:4]}]").click()
            if piece:
                name = chess.PIECE_NAMES[chess.PIECE_SYMBOLS.index(piece)]
                dialog.get_by_role("button", name=name).click()
            example.locator("code").get_by_text(after.board_fen()).wait_for()
            example.get_by_role("button", name="take back").click()
            example.locator("code").get_by_text(fen).wait_for()
        page.close()


class Told:
    """A run that is told entry by entry, with a training and a tournament."""

    def __init__(self, folder):
        begun = {"jobs": {"train": 2, "total": 4}, "cores": 1, "usual": {"train": 500.0}}
        path = runs.journal_of(folder / "results")
        self.journal = runs.Journal(path, {"event": "run", "at": time.time() - 90} | begun)
        self._folder, self._logs = folder, path.parent

    def begin(self, number, what, output):
        log = f"logs/{number}.log"
        (self._folder / log).write_text(f"{MARKUP}\nwork: 1/4 units (25%)  0.01/s  ETA 0:05:00\n")
        job = {"id": number, "rule": "train", "what": what, "log": log, "output": [output]}
        self.journal.add({"event": "job", "at": time.time(), "threads": 1} | job)

    def write(self, name, text):
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def games(self, name, *pairs):
        lines = [{"players": [[player, {}] for player in ("ALL#1", MARKUP)]}]
        for points in pairs:
            told = {"first": "ALL#1", "second": MARKUP, "points": points, "troubles": {}}
            lines.append(["checksum", {"pair": len(lines), "games": [], "outcome": told}])
        self.write(name, "".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(params=["report", "no report"])
def live_address(request, tmp_path):
    """The address of a served page, with a report or without one; and the run that it shows."""
    page = tmp_path / "results" / "report.html"
    if request.param == "report":
        page.parent.mkdir()
        shutil.copy(request.getfixturevalue("report"), page)
    told = Told(tmp_path)
    with serving(serve.Answers([], page, live=Live(page.parent))) as server:
        yield f"http://127.0.0.1:{server.server_port}/", told
    told.journal.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_live_view_follows_a_run(browser, live_address, width):
    address, told = live_address
    context = browser.new_context(viewport={"width": width, "height": 900})
    page, wrong = context.new_page(), []
    page.set_default_timeout(30_000)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append("a dialog"), dialog.dismiss()))
    told.begin(1, f"Training {MARKUP}", "results/nets/ALL/1/history.csv")
    told.write("results/nets/ALL/1/history.csv", "epoch,train_loss,validation_loss\n1,0.1,0.2\n")
    page.goto(f"{address}#/live")
    view = page.locator("[id='/live']")
    view.get_by_text("0 of 4 jobs done, ETA").wait_for()
    ((what, _, progress),) = cells(view, "Running jobs")
    assert (what, progress) == (f"Training {MARKUP}", "1/4 units (25%)  0.01/s  ETA 0:05:00")
    assert cells(view, "Losses") == [[f"Training {MARKUP}", "0.200000", "", "0.100000", "1"]]
    # It goes on by itself.
    told.journal.add({"event": "finished", "at": time.time(), "id": 1})
    told.begin(2, "Games of axis", "results/tournament/axis.pgn")
    told.games("results/tournament/axis.pgn.partial", [2, 1], [1, 1])
    view.get_by_text("1 of 4 jobs done").wait_for()
    assert [name for name, *_ in cells(view, "Running jobs")] == ["Games of axis"]
    first, second = cells(view, "drawn")
    assert (first[0], first[3:]) == ("ALL#1", ["62.5", "4", "1", "3", "0"])
    assert second[0] == MARKUP
    assert view.locator("progress").evaluate("e => e.value / e.max") == 0.25
    told.games("results/tournament/axis.pgn.partial", [2, 1], [1, 1], [0, 0])
    view.get_by_role("row", name="ALL#1").get_by_text("6", exact=True).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    check_accessibility(page)
    # Its end, and that of the server.
    told.journal.add({"event": "failed", "at": time.time(), "id": 2})
    told.journal.close()
    view.get_by_text("Failed after").wait_for()
    assert view.locator("pre").inner_text().startswith(MARKUP)
    assert view.get_by_text("Failed: Games of axis. logs/2.log ends with:").is_visible()
    assert not view.get_by_text("Running jobs").count()
    assert wrong == []
    context.close()


def test_a_page_that_was_made_again_is_there_after_a_reload(browser, report, tmp_path):
    path = tmp_path / "results" / "report.html"
    path.parent.mkdir()
    told = Told(tmp_path)
    with serving(serve.Answers([], path, live=Live(path.parent))) as server:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.get_by_text("Running for").wait_for()
        assert not page.locator(".report").count()
        shutil.copy(report, path)
        page.reload()
        heading = page.locator("#title-overview")
        first = heading.inner_text()
        path.write_text(report.read_text().replace(first, "Another question"))
        page.reload()
        assert heading.inner_text() == "Another question"
        page.close()
    told.journal.close()


def test_nothing_is_asked_while_the_live_view_is_hidden(browser, report, tmp_path):
    told = Told(tmp_path)
    with serving(serve.Answers([], report, live=Live(tmp_path / "results"))) as server:
        page, asked = browser.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_timeout(2500)
        assert not [url for url in asked if url.endswith("/live")]
        page.get_by_role("link", name="Live").click()
        page.get_by_text("Running for").wait_for()
        assert page.locator("#nav [aria-current]").inner_text() == "Live"
        page.get_by_role("link", name="Overview").click()
        count = len(asked)
        page.wait_for_timeout(2500)
        assert len(asked) == count
        page.get_by_role("link", name="Live").click()
        page.route("**/live", lambda route: route.abort())
        page.get_by_text("The server doesn't answer").wait_for()
        page.close()
    told.journal.close()


def cells(view, title):
    """The rows of a table, as text."""
    table = view.locator("table").filter(has_text=title)
    return [row.locator("th, td").all_text_contents() for row in table.locator("tbody tr").all()]


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
