const LIMIT = 10; // pawns; the graph's edge

/** How many half-moves of a game nobody chose: those before the first that has a score. */
function openingOf({ moves }) {
  const first = moves.findIndex((move) => move.eval !== null);
  return first < 0 ? 0 : first;
}
const scored = (pawns) => (Math.abs(pawns) >= 100 ? (pawns > 0 ? "mate" : "-mate") : `${pawns > 0 ? "+" : ""}${pawns.toFixed(2)}`);

function viewer(element, games) {
  const select = element.querySelector(".choose");
  let game, ply, flipped = false;
  options(select, games.map((g, i) => [i, `${g.white} \u2013 ${g.black} ${g.result} (round ${g.round})${g.why ? `: ${g.why}` : ""}`]));

  function choose(index) {
    game = games[index];
    ply = 0;
    const list = element.querySelector(".moves");
    const opening = openingOf(game);
    list.replaceChildren(...game.moves.map((move, i) => make("li", {},
      make("button", { type: "button", "data-ply": i + 1, class: i < opening ? "opening" : null, title: i < opening ? "of the opening" : null, click: () => go(i + 1) },
        i === 0 || move.number.endsWith(".") ? `${move.number} ${move.san}` : move.san))));
    drawGraph();
    go(0);
  }

  /** The scores of both players over the moves: as wide as its place, so that text keeps its size. */
  function graph(width) {
    const height = 150, left = 30, bottom = 18, n = game.moves.length;
    const x = (i) => left + ((width - left - 4) * (i + 1)) / (n + 1);
    const y = (pawns) => (height - bottom) / 2 - (Math.max(-LIMIT, Math.min(LIMIT, pawns)) / LIMIT) * ((height - bottom) / 2 - 8);
    const lines = { White: [], Black: [] };
    game.moves.forEach((move, i) => {
      if (move.eval !== null) lines[move.number.endsWith(".") ? "White" : "Black"].push(`${x(i)},${y(move.eval)}`);
    });
    const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Evaluations of both players in pawns, from White's view, cut off at ${LIMIT}` });
    const opening = openingOf(game);
    if (opening) {
      picture.append(draw("rect", { x: left, y: 0, width: x(opening - 1) - left, height: height - bottom, class: "opening" },
        draw("title", {}, `${opening} half-moves of the opening`)));
    }
    for (const pawns of [-LIMIT, -LIMIT / 2, 0, LIMIT / 2, LIMIT]) {
      picture.append(draw("line", { x1: left, x2: width, y1: y(pawns), y2: y(pawns), class: pawns ? "grid-line" : "zero-line" }),
        draw("text", { x: left - 4, y: y(pawns) + 4, "text-anchor": "end" }, pawns > 0 ? `+${pawns}` : pawns));
    }
    const every = Math.max(1, Math.ceil((n * 34) / width / 10)) * 10; // half-moves from one number to the next
    for (let i = every; i <= n; i += every) {
      picture.append(draw("text", { x: x(i - 1), y: height - 4, "text-anchor": "middle" }, game.moves[i - 1].number.replace(/\D/g, "")));
    }
    for (const [name, points] of Object.entries(lines)) {
      picture.append(draw("polyline", { points: points.join(" "), class: name },
        draw("title", {}, `${name}: ${name === "White" ? game.white : game.black}`)));
    }
    const at = (event) => {
      const box = picture.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * width;
      return Math.max(0, Math.min(n, Math.round(((place - left) / (width - left - 4)) * (n + 1))));
    };
    const hint = draw("line", { class: "hint", y1: 0, y2: height - bottom, visibility: "hidden" });
    const words = draw("text", { y: 11, class: "hint" });
    picture.append(draw("line", { class: "now", y1: 0, y2: height - bottom }), hint, words);
    picture.addEventListener("pointermove", (event) => {
      const to = at(event), move = game.moves[to - 1], place = to ? x(to - 1) : left;
      hint.setAttribute("visibility", "visible");
      for (const name of ["x1", "x2"]) hint.setAttribute(name, place);
      words.textContent = move ? `${move.number} ${move.san}${move.eval === null ? "" : ` ${scored(move.eval)}`}` : "";
      words.setAttribute("x", place + (place > width / 2 ? -5 : 5));
      words.setAttribute("text-anchor", place > width / 2 ? "end" : "start");
    });
    picture.addEventListener("pointerleave", () => {
      hint.setAttribute("visibility", "hidden");
      words.textContent = "";
    });
    picture.addEventListener("click", (event) => go(at(event)));
    return { picture, x };
  }
  let x = () => 0;
  const place = element.querySelector(".graph");
  function drawGraph() {
    const drawn = graph(place.clientWidth || 600);
    x = drawn.x;
    place.replaceChildren(drawn.picture);
  }
  new ResizeObserver(() => {
    drawGraph();
    go(ply);
  }).observe(place);

  function go(to) {
    ply = Math.max(0, Math.min(game.moves.length, to));
    const move = game.moves[ply - 1];
    const words = move ? `${move.number} ${move.san}` : "Opening position";
    const said = move && move.eval !== null ? `, ${scored(move.eval)}` : "";
    const end = ply === game.moves.length ? `, ${game.result} (${game.termination})` : "";
    const legend = `${game.white} (White, blue line) \u2013 ${game.black} (Black, orange line)`;
    element.querySelector(".state").textContent = `${legend}: ${words}${said}${end}`;
    const placement = move ? move.board : game.fen.split(" ")[0];
    element.querySelector(".board").replaceChildren(board(placement, { flipped, move: move?.move, label: `Position after ${words}` }));
    const now = element.querySelector(".now");
    for (const name of ["x1", "x2"]) now.setAttribute(name, x(ply - 1));
    const buttons = element.querySelectorAll(".moves button");
    buttons.forEach((button, i) => {
      // One stop for the tabulator key; arrows go on from there.
      button.tabIndex = i === Math.max(ply - 1, 0) ? 0 : -1;
      if (i === ply - 1) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
    const current = buttons[ply - 1];
    if (current) {
      const list = current.closest(".moves");
      if (list.contains(document.activeElement)) current.focus({ preventScroll: true });
      list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
    }
  }

  const steps = { first: () => go(0), back: () => go(ply - 1), next: () => go(ply + 1), last: () => go(Infinity) };
  element.addEventListener("click", (event) => {
    const step = event.target.closest("button[data-go]")?.dataset.go;
    if (step === "flip") { flipped = !flipped; go(ply); }
    else if (step) steps[step]();
  });
  element.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" }[event.key];
    if (!step || event.target.tagName === "SELECT" || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    steps[step]();
  });
  select.addEventListener("change", () => choose(Number(select.value)));
  choose(0);
}
/** The feature set of a player: ``SET,VARIANT#SEED``; a comma within parentheses is the set's own. */
const setOf = (player) => player.replace(/#\d+$/, "").match(/^(\([^)]*\)|[^,(])*/)[0];
for (const element of document.querySelectorAll(".viewer")) {
  whenSeen(element, async () => {
    const all = await unpack("games"), { games, set } = element.dataset;
    const isOf = (game) => [game.white, game.black].some((player) => setOf(player) === set);
    const named = (game) => !` ${game.why},`.includes(` of ${set},`); // its quickest ones come first
    viewer(element, set === undefined ? all[games].map((game) => ({ ...game, ...game.called }))
      : Object.values(all).flat().filter(isOf).sort((a, b) => named(a) - named(b)));
  });
}
