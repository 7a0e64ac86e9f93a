const LIMIT = 10; // pawns; the graph's edge

function viewer(element, games) {
  const select = element.querySelector(".choose");
  let game, ply, flipped = false;
  options(select, games.map((g, i) => [i, `${g.white} \u2013 ${g.black} ${g.result} (round ${g.round})`]));

  function choose(index) {
    game = games[index];
    ply = 0;
    const list = element.querySelector(".moves");
    list.replaceChildren(...game.moves.map((move, i) => make("li", {},
      make("button", { type: "button", "data-ply": i + 1, click: () => go(i + 1) },
        i === 0 || move.number.endsWith(".") ? `${move.number} ${move.san}` : move.san))));
    element.querySelector(".graph").replaceChildren(graph());
    go(0);
  }

  function graph() {
    const width = 600, height = 150, n = game.moves.length;
    const x = (i) => (width * (i + 1)) / (n + 1);
    const y = (pawns) => height / 2 - (Math.max(-LIMIT, Math.min(LIMIT, pawns)) / LIMIT) * (height / 2 - 6);
    const lines = { White: [], Black: [] };
    game.moves.forEach((move, i) => {
      if (move.eval !== null) lines[move.number.endsWith(".") ? "White" : "Black"].push(`${x(i)},${y(move.eval)}`);
    });
    const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Evaluations of both players in pawns, from White's view, cut off at ${LIMIT}` });
    picture.append(draw("line", { x1: 0, x2: width, y1: height / 2, y2: height / 2, stroke: "var(--line)" }));
    for (const [name, colour] of [["White", "var(--accent)"], ["Black", "#d9730d"]]) {
      picture.append(draw("polyline", { points: lines[name].join(" "), fill: "none", stroke: colour, "stroke-width": 2, "vector-effect": "non-scaling-stroke" },
        draw("title", {}, `${name}: ${name === "White" ? game.white : game.black}`)));
    }
    picture.append(draw("line", { class: "now", y1: 0, y2: height, stroke: "var(--text)", "stroke-dasharray": "3 3" }));
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      go(Math.round(((event.clientX - box.left) / box.width) * (n + 1)));
    });
    return picture;
  }

  function go(to) {
    ply = Math.max(0, Math.min(game.moves.length, to));
    const move = game.moves[ply - 1];
    const words = move ? `${move.number} ${move.san}` : "Opening position";
    const said = move && move.eval !== null ? `, ${move.eval > 0 ? "+" : ""}${move.eval.toFixed(2)}` : "";
    const end = ply === game.moves.length ? `, ${game.result} (${game.termination})` : "";
    const legend = `${game.white} (White, blue line) \u2013 ${game.black} (Black, orange line)`;
    element.querySelector(".state").textContent = `${legend}: ${words}${said}${end}`;
    const placement = move ? move.board : game.fen.split(" ")[0];
    element.querySelector(".board").replaceChildren(board(placement, { flipped, move: move?.move, label: `Position after ${words}` }));
    const now = element.querySelector(".now");
    const at = (600 * ply) / (game.moves.length + 1);
    now.setAttribute("x1", at);
    now.setAttribute("x2", at);
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
for (const element of document.querySelectorAll(".viewer")) {
  whenSeen(element, async () => viewer(element, (await unpack("games"))[element.dataset.games]));
}
