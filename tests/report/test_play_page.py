"""The board in a browser: one plays on it by mouse, finger and keys, and sees the policy choose."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import chess
import pytest

from nnuelab.report import play, serve
from tests.policy.policies import random_policy
from tests.report.conftest import check_accessibility, serving

playwright_api = pytest.importorskip("playwright.sync_api")
SHOWN = 0.005  # smaller shares have no number on the board


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    policies = {head: random_policy(head, value=head == "pair") for head in ("pair", "fromto")}
    page = tmp_path_factory.mktemp("results") / "report.html"
    with serving(serve.Answers([], page, play.Opponents(policies))) as server:
        yield f"http://{serve.HOST}:{server.server_port}/"


@pytest.fixture
def opened(browser, address):
    """Opens the page in contexts of its own; nothing may go wrong in it, nor leave this machine."""
    contexts, wrong = [], []

    def open_page(
        width=1280, scheme="light", motion="no-preference", touch=False, route=None, clock=False
    ):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion=motion,
            has_touch=touch,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda m: wrong.append(m.text) if "400" not in m.text else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith(address) else wrong.append(r.url))
        if route:
            page.route("**/choose?*", route)
        if clock:  # stands still
            page.clock.install(time=0)
            page.clock.pause_at(1000)
        page.goto(f"{address}play")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [line for line in wrong if not line.startswith("data:")] == []


def square(page, name):
    return page.locator(f'.squares button[data-square="{name}"]')


def waits(page, words):
    page.locator("#state").get_by_text(words).wait_for()


def moves(page):
    """The moves listed, as SAN."""
    return [text.split()[-1] for text in page.locator("#moves button").all_inner_texts()]


def placed(page):
    """The pieces drawn, by square: P for a white pawn, p for a black one."""
    letters = {name: letter for letter, name in enumerate(chess.PIECE_NAMES)}
    found = {}
    for use in page.locator("#picture use").all():
        color, name = use.get_attribute("href")[1:].split("-")
        letter = chess.PIECE_SYMBOLS[letters[name]]
        found[use.get_attribute("data-square")] = letter.upper() if color == "white" else letter
    return found


def pieces(board):
    return {chess.square_name(at): piece.symbol() for at, piece in board.piece_map().items()}


def begins(page, fen, you="White", seconds="0"):
    page.locator("#you").select_option(label=you)
    page.locator("#seconds").fill(seconds)
    page.locator("#fen").fill(fen)
    page.get_by_role("button", name="play from here").click()


def numbers(page):
    """What stands on squares."""
    return {
        button.get_attribute("data-square"): button.inner_text()
        for button in page.locator(".squares button:has(span:not(:empty))").all()
    }


def shares(values):
    """The same of a map."""
    return {
        chess.square_name(i): f"{int(100 * value + 0.5)}%"
        for i, value in enumerate(values or [])
        if value >= SHOWN
    }


def test_one_plays_by_clicks_by_drag_and_by_keys(opened):
    page, board = opened(), chess.Board()
    page.locator("#seconds").fill("0")
    waits(page, "Your move: White")
    for way in ("click", "drag", "keys"):
        start, goal = {"click": "e2 e4", "drag": "b1 c3", "keys": "d2 d4"}[way].split()
        legal = {
            chess.square_name(move.to_square)
            for move in board.legal_moves
            if chess.square_name(move.from_square) == start
        }
        if way == "drag":
            a, b = (square(page, name).bounding_box() for name in (start, goal))
            page.mouse.move(a["x"] + 20, a["y"] + 20)
            page.mouse.down()
            page.mouse.move(b["x"] + 20, b["y"] + 20, steps=5)
            shown = page.locator(".squares .target").evaluate_all(
                "(l) => l.map((b) => b.dataset.square)"
            )
            page.mouse.up()
        else:
            if way == "click":
                square(page, start).click()
            else:
                square(page, "a1").focus()
                for key in ("ArrowUp", "ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
                    page.keyboard.press(key)
            shown = page.locator(".squares .target").evaluate_all(
                "(l) => l.map((b) => b.dataset.square)"
            )
            if way == "click":
                square(page, goal).click()
            else:
                for key in ("ArrowUp", "ArrowUp", "Enter"):
                    page.keyboard.press(key)
        assert set(shown) == legal
        page.locator("#moves button").nth(len(board.move_stack) + 1).wait_for()
        waits(page, "Your move: White")
        listed = moves(page)
        assert listed[-2] == board.san(chess.Move.from_uci(start + goal))
        board.push_uci(start + goal)
        board.push_san(listed[-1])
        assert placed(page) == pieces(board)
        assert page.locator("#fen").input_value() == board.fen(en_passant="legal")
        assert page.locator("#picture .last-move").count() == 2
    assert len(moves(page)) == 6


def test_an_illegal_move_is_not_played(opened):
    page = opened()
    waits(page, "Your move")
    before = placed(page)
    square(page, "e2").click()
    square(page, "e5").click()
    assert page.locator(".squares .target").count() == 0
    a, b = (square(page, name).bounding_box() for name in ("g1", "g4"))
    page.mouse.move(a["x"] + 20, a["y"] + 20)
    page.mouse.down()
    page.mouse.move(b["x"] + 20, b["y"] + 20, steps=3)
    page.mouse.up()
    square(page, "g8").click()
    page.keyboard.press("Escape")
    assert (placed(page), moves(page)) == (before, [])


def test_maps_are_on_the_board_while_it_chooses(opened):
    answers = []

    def kept(route):
        response = route.fetch()
        answers.append(response.json())
        route.fulfill(response=response)

    page = opened(route=kept, clock=True)
    waits(page, "Your move")
    page.locator("#seconds").fill("1.5")
    square(page, "e2").click()
    square(page, "e4").click()
    waits(page, "looks at squares to go from")
    answer = answers[-1]
    legal, chosen = answer["maps"]["legal"], answer["moves"][0]
    assert numbers(page) == shares(legal["from"])
    assert page.locator("#picture rect.from").count() == sum(x > 0 for x in legal["from"])
    page.clock.run_for(1500)
    waits(page, "looks at squares to go to")
    row = legal["to"][chess.parse_square(chosen["move"][:2])]
    assert numbers(page) == shares(row)
    assert page.locator("#picture rect.to").count() == sum(x > 0 for x in row)
    listed = page.locator("#thoughts tbody tr").first.inner_text().split()
    assert listed[:2] == [chosen["san"], f"{100 * chosen['probability']:.1f}%"]
    walk = answer["walk"]
    assert f"to-rank {walk['to_rank']}, {walk['tries']} tries" in page.locator("#walk").inner_text()
    wins, draws, losses = (f"{n / 10:g}%" for n in answer["wdl"])
    assert f"wins {wins}, draws {draws}, losses {losses}" in page.locator("#expects").inner_text()
    page.clock.run_for(1500)
    waits(page, "Your move")
    assert moves(page)[-1] == chosen["san"]
    assert numbers(page) == {}

    # What it would play for you, legal or not, and to where from the square pointed at.
    page.locator("#hint").check()
    maps = answers[-1]["maps"]
    assert numbers(page) == shares(maps["legal"]["from"])
    square(page, "g1").hover()
    assert numbers(page) == shares(maps["legal"]["to"][chess.G1])
    page.locator("#raw").check()
    assert numbers(page) == shares(maps["raw"]["from"])
    square(page, "d7").hover()
    assert numbers(page) == shares(maps["raw"]["to"][chess.D7])

    # The position before its move has the maps that it had.
    page.locator("#raw").uncheck()
    page.get_by_role("button", name="Move back").click()
    assert numbers(page) == shares(legal["from"])
    page.locator("#policy").select_option("fromto")
    waits(page, "Your move")
    page.locator("#raw").check()
    page.mouse.move(2, 2)
    raw = answers[-1]["maps"]["raw"]
    assert len(raw["to"]) == 1
    assert numbers(page) == shares(raw["from"])
    square(page, "a8").hover()
    assert numbers(page) == shares(raw["to"][0])
    assert page.locator("#expects").count() == 0


def test_a_late_answer_changes_nothing(opened):
    """The first question is answered after the second."""
    held = []

    def first_is_held(route):
        held.append(route)
        if len(held) > 1:
            route.continue_()

    page = opened(route=first_is_held)
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    page.locator("#fen").fill(fen)
    page.get_by_role("button", name="play from here").click()
    waits(page, "Your move")
    assert placed(page) == pieces(chess.Board(fen))
    with page.expect_response("**/choose?*"):
        held[0].continue_()
    page.wait_for_timeout(200)
    assert placed(page) == pieces(chess.Board(fen))
    assert page.locator("#fen").input_value() == fen


def test_what_is_being_typed_stays_when_an_answer_comes(opened):
    held = []
    page = opened(route=lambda route: held.append(route))
    page.wait_for_timeout(200)
    page.locator("#fen").fill("4k3/8")
    held[0].continue_()
    waits(page, "Your move")
    assert page.locator("#fen").input_value() == "4k3/8"


def test_a_choice_is_dropped_when_one_begins_anew(opened):
    page = opened(clock=True)
    waits(page, "Your move")
    square(page, "e2").click()
    square(page, "e4").click()
    waits(page, "looks at squares")
    page.get_by_role("button", name="new game").click()
    waits(page, "Your move")
    with pytest.raises(playwright_api.TimeoutError), page.expect_request("**", timeout=500):
        page.clock.run_for(5000)
    assert moves(page) == []
    assert placed(page) == pieces(chess.Board())


@pytest.mark.parametrize(
    ("fen", "start", "goal", "said"),
    [
        ("7k/8/6K1/8/8/8/8/R7 w - - 0 1", "a1", "a8", "1-0: White mates"),
        ("7k/7P/8/6K1/8/8/8/8 w - - 0 1", "g5", "h6", "1/2-1/2: stalemate"),
        ("4k3/8/8/8/8/8/3q4/4K3 w - - 0 1", "e1", "d2", "1/2-1/2: insufficient material"),
        ("r3k3/8/8/8/8/8/8/R3K3 w - - 99 120", "a1", "a2", "1/2-1/2: fifty moves"),
    ],
)
def test_ends_are_told_by_name(opened, fen, start, goal, said):
    page = opened()
    begins(page, fen)
    waits(page, "Your move")
    square(page, start).click()
    square(page, goal).click()
    waits(page, said)
    assert page.locator(".squares .own").count() == 0


def test_repetition_ends_a_game_of_two_people(opened):
    page = opened()
    begins(page, chess.STARTING_FEN, you="both")
    for n, move in enumerate(2 * ["g1f3", "g8f6", "f3g1", "f6g8"]):
        waits(page, f"Your move: {'Black' if n % 2 else 'White'}")
        square(page, move[:2]).click()
        square(page, move[2:]).click()
    waits(page, "1/2-1/2: threefold repetition")
    page.get_by_role("button", name="take back").click()
    waits(page, "Your move: Black")
    assert len(moves(page)) == 7


def test_a_promotion_asks_for_its_piece(opened):
    """By mouse and by keys; until one is chosen nothing is played."""
    page = opened()
    dialog = page.get_by_role("dialog", name="Promote to")
    for piece, goal, san in (("knight", "b8", "axb8=N"), ("rook", "a8", "a8=R")):
        begins(page, "1r6/P7/7k/8/8/8/8/K7 w - - 0 1", you="both")
        waits(page, "Your move: White")
        page.wait_for_function("document.querySelectorAll('#moves button').length === 0")
        square(page, "a7").click()
        square(page, goal).click()
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
        assert moves(page) == []
        square(page, goal).press("Enter")
        assert dialog.get_by_role("button", name="queen").evaluate("e => e.matches(':focus')")
        dialog.get_by_role("button", name=piece).click()
        page.locator("#moves button").wait_for()
        assert moves(page) == [san]
    begins(page, "1r6/P7/7k/8/8/8/8/K7 w - - 0 1", you="both")
    page.wait_for_function("document.querySelectorAll('#moves button').length === 0")
    square(page, "a7").drag_to(square(page, "b8"))
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator(":focus").get_attribute("aria-label") == "bishop"
    page.keyboard.press("Enter")
    page.locator("#moves button").wait_for()
    assert moves(page) == ["axb8=B"]


def test_castling_and_en_passant_move_and_take_what_they_should(opened):
    page = opened()
    fen = "4k3/8/8/3pP3/8/8/8/4K2R w K d6 0 1"
    for move, san in (("e1g1", "O-O"), ("e5d6", "exd6")):
        begins(page, fen, you="both")
        page.wait_for_function("document.querySelectorAll('#moves button').length === 0")
        square(page, move[:2]).click()
        square(page, move[2:]).click()
        page.locator("#moves button").wait_for()
        after = chess.Board(fen)
        after.push_uci(move)
        assert moves(page) == [san]
        assert placed(page) == {
            chess.square_name(at): piece.symbol() for at, piece in after.piece_map().items()
        }


def test_black_is_played_from_below_and_moves_are_taken_back(opened):
    page = opened()
    waits(page, "Your move: White")
    page.locator("#seconds").fill("0")
    page.locator("#you").select_option(label="Black")
    waits(page, "Your move: Black")
    first = moves(page)
    assert len(first) == 1
    boxes = [square(page, name).bounding_box() for name in ("e8", "e1")]
    assert boxes[0]["y"] > boxes[1]["y"]
    square(page, "e7").click()
    square(page, "e5").click()
    page.locator("#moves button").nth(2).wait_for()
    waits(page, "Your move: Black")
    page.get_by_role("button", name="take back").click()
    page.wait_for_function("document.querySelectorAll('#moves button').length === 1")
    assert moves(page) == first
    assert page.get_by_role("button", name="take back").is_disabled()


def test_a_broken_fen_is_said_and_the_game_goes_on(opened):
    page = opened(clock=True)
    waits(page, "Your move")
    square(page, "e2").click()
    square(page, "e4").click()
    waits(page, "looks at squares")
    page.locator("#fen").fill("8/8/8/8/8/8/8/8 w - - 0 1")
    page.get_by_role("button", name="play from here").click()
    page.locator("#problem").get_by_text("king").wait_for()
    waits(page, "looks at squares to go from")
    page.clock.run_for(1000)
    waits(page, "looks at squares to go to")
    page.clock.run_for(1000)
    waits(page, "Your move")
    assert len(moves(page)) == 2
    page.locator('[name="temperature"]').fill("-1")
    page.locator('[name="temperature"]').blur()
    page.locator("#problem").get_by_text("temperature").wait_for()
    assert len(moves(page)) == 2


def test_settings_reach_the_policy_and_none_that_do_not_go_together(opened):
    page = opened()
    waits(page, "Your move")

    def asks(change):
        with page.expect_response("**/choose?*") as response:
            change()
        assert response.value.ok
        return dict(parse_qsl(urlsplit(response.value.url).query))

    assert asks(lambda: page.locator('[name="plies"]').select_option("1"))["plies"] == "1"
    page.locator('[name="temperature"]').fill("0.5")
    found = asks(lambda: page.locator('[name="temperature"]').blur())
    assert (found["temperature"], found["policy"], found["seed"]) == ("0.5", "pair", "1")
    found = asks(lambda: page.get_by_role("button", name="new game").click())
    assert (found["temperature"], found["seed"]) == ("0.5", "2")
    found = asks(lambda: page.locator('[name="walk"]').check())
    assert found["walk"] == "true"
    assert not found.keys() & {"temperature", "top_p", "plies", "underpromotions"}
    assert asks(lambda: page.locator('[name="walk"]').uncheck())["plies"] == "1"
    found = asks(lambda: page.locator("#policy").select_option("fromto"))
    assert found["policy"] == "fromto"
    assert "plies" not in found


def test_where_motion_is_unwanted_there_is_no_pause(opened):
    page = opened(motion="reduce")
    waits(page, "Your move")
    assert page.locator("#seconds").input_value() == "0"
    page.locator("#you").select_option(label="Black")
    waits(page, "Your move: Black")


def test_a_finger_drags_a_piece(opened):
    page = opened(width=390, touch=True)
    waits(page, "Your move")
    page.locator("#you").select_option(label="both")
    client = page.context.new_cdp_session(page)
    square(page, "e2").scroll_into_view_if_needed()
    a, b = (square(page, name).bounding_box() for name in ("e2", "e4"))
    at = lambda box: [{"x": box["x"] + 15, "y": box["y"] + 15}]  # noqa: E731
    for kind, points in (
        ("touchStart", at(a)),
        ("touchMove", at({"x": a["x"], "y": a["y"] - 20})),
        ("touchMove", at(b)),
        ("touchEnd", []),
    ):
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    waits(page, "Your move: Black")
    assert moves(page) == ["e4"]


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light"), (1920, "dark")])
def test_nothing_is_cut_and_no_serious_accessibility_fault(opened, width, scheme):
    page = opened(width, scheme)
    waits(page, "Your move")
    page.locator("#seconds").fill("0")
    page.locator("#hint").check()
    square(page, "e2").click()
    square(page, "e4").click()
    page.locator("#moves button").nth(1).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = page.evaluate("""() => [...document.querySelectorAll(
        "#thoughts td, #thoughts th, #state, #legend, button, label, .squares span")]
      .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline")
      .map((e) => e.outerHTML)""")
    assert cut == []
    check_accessibility(page)
