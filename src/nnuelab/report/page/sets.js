// Views of feature sets: their features in a position and after moves, their strongest neurons

const SHOWN = 6; // neurons

/** The example that tells most: the third one is a middlegame with all kinds of pieces. */
const EXAMPLE = 2;

/**
 * A position to move pieces in: which features go on and off, which rows the accumulators add and remove, what the
 * nets say. `known` is what Python found of moves, by FEN; a server is asked for that of other positions.
 */
function example(element, { positions, sets, terms }, known) {
  const set = element.dataset.explore;
  const last = [...sets[set]].reverse(); // in ALL+MB it is mobility that one wants to see
  const picture = make("div", {}), code = make("code", {}), said = make("p", { class: "moved", "aria-live": "polite" });
  const lists = make("div", { class: "active", role: "region", tabindex: 0, "aria-label": `Features of ${set}` });
  const place = make("select", {}), choice = make("select", {});
  const back = make("button", { type: "button", click: () => { line.pop(); goOn(); } }, "take back");
  let line = []; // the position and what was played since: FEN, and from the second on the move as Python told it
  let selected = null, problem = "";

  // What a server knows of sets it has from their nets.
  const hasNets = Object.values(known).some(({ centipawns }) => Object.keys(centipawns).length);
  const here = () => line.at(-1);
  const moves = () => known[here().fen]?.moves ?? {};
  const between = (from, to) => Object.keys(moves()).filter((uci) => uci.startsWith(from) && uci.startsWith(to, 2));
  /** Whether nothing is known of moves from here on: another one may be played instead of the last. */
  const isLast = () => line.length > 1 && !known[here().fen];
  function play(uci) {
    if (isLast()) line.pop();
    line.push({ ...moves()[uci], uci, start: here().fen, before: known[here().fen] });
    goOn();
  }
  async function press(square) {
    const found = selected ? between(selected, square) : [];
    if (found.length) {
      const uci = await pick(found, here().fen);
      return uci ? play(uci) : redraw();
    }
    selected = selected !== square && between(square, "").length ? square : null;
    return redraw();
  }
  const { grid, update, pick } = squareGrid(picture, {
    press,
    look() {},
    lift(square) {
      selected = square;
      redraw();
    },
    drop(from, to) {
      if (to && between(from, to).length) press(to);
      else redraw();
    },
  });

  /** Shows the position that the line has come to, and asks for its moves where one can. */
  async function goOn() {
    const { fen } = here();
    selected = null;
    problem = "";
    redraw();
    if (!isServed || known[fen]) return;
    try {
      const response = await fetch(`moves?${new URLSearchParams({ fen, set })}`);
      const found = await response.json();
      if (!response.ok) throw new Error(found.error);
      known[fen] = found;
    } catch (error) {
      problem = error instanceof TypeError ? "The server doesn\u2019t answer; is it still running?" : error.message;
    }
    if (here().fen === fen) redraw();
  }
  function redraw() {
    const { fen, uci, san, sides, before } = here();
    const [placement] = fen.split(" "), start = positions[place.value];
    const flipped = start.fen.split(" ")[1] === "b";
    const name = san ? `after ${san}` : start.name;
    const occupied = pieces(fen), marks = san ? squaresOfChanges(here()) : {};
    code.textContent = fen;
    picture.replaceChildren(board(placement, {
      flipped, label: `Position: ${name}`,
      under: (square, x, y) => [...changeMarks(marks[square], x, y), ...moveMarks(square, x, y)],
    }));
    function moveMarks(square, x, y) {
      const whole = { x: x + 1.5, y: y + 1.5, width: SIZE - 3, height: SIZE - 3, class: "selected" };
      const isGoal = selected && between(selected, square).length;
      return [
        ...(square === selected || uci?.slice(0, 4).match(/../g).includes(square) ? [draw("rect", whole)] : []),
        ...(isGoal ? [draw("circle", { cx: x + SIZE / 2, cy: y + SIZE / 2, r: occupied[square] ? 21 : 7, class: "target" })] : []),
      ];
    }
    update(flipped, (square) => {
      const isGoal = selected && between(selected, square).length;
      const words = [occupied[square], isGoal && "can be moved to", marks[square] && Object.keys(marks[square]).map((way) => `features ${way}`).join(" and ")];
      return {
        label: words.filter(Boolean).join(", "), number: "", selected: square === selected,
        classes: [between(square, "").length ? "own" : "", isGoal ? "target" : ""].join(" ").trim(),
      };
    });
    const legal = Object.entries(moves());
    const offered = Object.entries(isLast() ? before.moves : moves());
    options(choice, [["", offered.length ? "choose" : "none"], ...offered.map(([key, move]) => [key, move.san])]);
    choice.value = isLast() ? uci : "";
    choice.disabled = !offered.length;
    back.disabled = line.length < 2;
    const waits = isServed ? "" : hasNets ? "Moves from here: run nnuelab serve." : "Moves from here aren\u2019t on this page.";
    const ended = known[fen] && !legal.length ? "The game is over." : "";
    const hint = legal.length ? (san ? "" : "Move a piece.") : ended || waits;
    said.textContent = [san && `${san}: ${rowsInWords(sides)}.`, problem || hint].filter(Boolean).join(" ");
    lists.replaceChildren(...(san ? changedLists(here(), picture) : activeLists(last, terms, place.value, fen, picture)));
  }

  options(place, positions.map((position, i) => [i, position.name]));
  place.value = Math.min(EXAMPLE, positions.length - 1);
  function restart() {
    line = [{ fen: positions[place.value].fen }];
    goOn();
  }
  place.addEventListener("change", restart);
  choice.addEventListener("change", () => { if (choice.value) play(choice.value); });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !selected) return;
    selected = null;
    redraw();
  });
  element.replaceChildren(
    make("div", {}, make("p", { class: "choices" }, make("label", {}, "Position ", place)),
      make("div", { class: "board played" }, picture, grid),
      make("p", { class: "controls" }, make("label", {}, "Move ", choice), back), said, make("p", {}, code)), lists);
  restart();
}

const VIEWS = ["White", "Black"]; // perspectives, in the order of their accumulators

/** What the engine does to both accumulators. */
function rowsInWords(sides) {
  const [white, black] = sides.map(({ on, off, active, refresh }) =>
    (refresh ? `is refreshed: ${active} rows` : `adds ${on.length} and removes ${off.length} rows`));
  return white === black ? `each accumulator ${white}` : `White\u2019s accumulator ${white}; Black\u2019s ${black}`;
}
/** By square, whether features that name it go `on`, `off`, or both, as either side sees them. */
function squaresOfChanges({ sides, before, start, fen }) {
  const found = {};
  sides.forEach((side, i) => {
    for (const way of ["on", "off"]) for (const index of side[way]) {
      const squares = squaresOf(before.names[index], VIEWS[i][0].toLowerCase(), way === "on" ? fen : start);
      for (const square of squares) (found[square] ??= {})[way] = true;
    }
  });
  return found;
}
/** A square's colours: blue where features go on, red where they go off, half and half for both. */
function changeMarks({ on, off } = {}, x, y) {
  const [right, bottom] = [x + SIZE, y + SIZE];
  const half = (corner, name) => draw("polygon", { points: `${x},${bottom} ${right},${y} ${corner}`, class: name });
  if (on && off) return [half(`${x},${y}`, "off"), half(`${right},${bottom}`, "on")];
  return on || off ? [draw("rect", { x, y, width: SIZE, height: SIZE, class: on ? "on" : "off" })] : [];
}
/** What a move has changed: the nets' evaluations, then the features by side. */
function changedLists({ sides, centipawns, before, san, start, fen }, picture) {
  const signed = (value) => (value > 0 ? `+${value}` : String(value).replace("-", "\u2212"));
  const rows = Object.entries(centipawns).map(([net, value]) => [net, before.centipawns[net], value, value - before.centipawns[net]]);
  const table = make("table", {},
    make("caption", {}, "Centipawns for White"),
    make("thead", {}, make("tr", {}, ...["net", "before", `after ${san}`, "change"].map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map(([net, ...values]) => make("tr", {}, make("th", { scope: "row" }, net),
      ...values.map((value) => make("td", { class: "number" }, signed(value)))))));
  return [...(rows.length ? [table] : []), ...sides.flatMap((side, i) => [
    make("h4", {}, `${VIEWS[i]}\u2019s view: ${side.on.length} on, ${side.off.length} off, ${side.active} active`),
    featureList([...side.on, ...side.off].map((index) => before.names[index]), VIEWS[i][0].toLowerCase(),
      (j) => (j < side.on.length ? fen : start), picture, (j) => (j < side.on.length ? "on" : "off")),
  ])];
}

for (const element of document.querySelectorAll("[data-explore]")) {
  whenSeen(element, async () => example(element, await unpack("explorer"), (await unpack("moves"))[element.dataset.explore]));
}
for (const element of document.querySelectorAll("[data-neurons]")) {
  whenSeen(element, async () => {
    const { sets, nets } = await unpack("weights"), name = element.dataset.neurons, net = nets[name];
    gallery(element, net, sets[net.set].terms, SHOWN, () => goTo(`#/net/${encodeURIComponent(name)}`));
  });
}
