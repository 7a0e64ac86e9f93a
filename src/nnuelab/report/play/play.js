const SHOWN = 8; // moves that are listed with their probabilities
const FAINT = 0.005; // a share that is told as nothing

let game = { fen: STARTING_FEN, moves: [] };
let line = []; // what the server said of each position of the game
let shown = 0; // the one on the board
let asked = 0; // the number of the last question: answers to others are late
let stage = null; // which map it looks at while it chooses
let selected = null, pointed = null; // squares
let flipped = false;

const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
if (calm) byId("seconds").value = 0;
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
const indexOf = (square) => "abcdefgh".indexOf(square[0]) + 8 * (square[1] - 1);
const isMine = (answer) => byId("you").value.includes(answer.turn);
const SIDES = { w: "White", b: "Black" };
const percent = (share) => (share < FAINT ? "" : `${Math.round(100 * share)}%`);

// Questions

/** Asks about a position and goes on from there; whether it could be, undefined when that came too late. */
async function go(fen, moves) {
  const number = ++asked;
  const waiting = setTimeout(() => { byId("state").textContent = "The policy is being loaded\u2026"; }, 1000);
  byId("problem").hidden = true;
  try {
    const query = new URLSearchParams(new FormData(byId("settings")));
    query.set("fen", fen);
    query.set("moves", moves.join(" "));
    const response = await fetch(`choose?${query}`);
    const found = await response.json();
    if (number !== asked) return undefined;
    if (!response.ok) throw new Error(found.error);
    game = { fen, moves };
    line = [...line.slice(0, moves.length), found];
  } catch (error) {
    if (number !== asked) return undefined;
    byId("problem").textContent = error instanceof TypeError ? "The server doesn't answer; is it still running?" : error.message;
    byId("problem").hidden = false;
    redraw();
    return false;
  } finally {
    clearTimeout(waiting);
  }
  shown = moves.length;
  selected = pointed = null;
  const field = byId("fen"); // what is being typed there stays
  if (field !== document.activeElement || field.value === fen) field.value = line[shown].fen;
  goOn(number);
  return true;
}

/** The policy's move, if it is its turn: first a map, then the other. */
async function goOn(number) {
  const answer = line.at(-1);
  stage = null;
  if (answer.end || isMine(answer)) return redraw();
  for (stage of ["from", "to"]) {
    redraw();
    await sleep(Number(byId("seconds").value));
    if (number !== asked) return undefined;
  }
  return go(game.fen, [...game.moves, answer.moves[0].move]);
}

// What may be moved

function targets(from) {
  const answer = line[shown];
  const moves = answer && shown === line.length - 1 && isMine(answer) ? answer.moves : [];
  return moves.filter(({ move }) => from && move.startsWith(from)).map(({ move }) => move.slice(2, 4));
}
async function play(from, to) {
  const { fen, moves } = line[shown];
  const chosen = await pick(moves.map(({ move }) => move).filter((move) => move.startsWith(from + to)), fen);
  if (chosen) go(game.fen, [...game.moves, chosen]);
  else redraw();
}
function press(square) {
  if (targets(selected).includes(square)) return play(selected, square);
  const can = targets(square).length || mapsOf(line[shown]);
  selected = can && selected !== square ? square : null;
  return redraw();
}
const { grid, update, pick } = squareGrid(byId("picture"), {
  press,
  look(square) {
    if (square === pointed) return;
    pointed = square;
    redraw();
  },
  lift(square) {
    selected = square;
    pointed = null;
    redraw();
  },
  drop(from, to) {
    if (targets(from).includes(to)) play(from, to);
    else redraw();
  },
});
byId("board").append(grid);

// What is seen

/** Its maps of a position, where one may see them. */
function mapsOf(answer) {
  if (!answer?.maps || (isMine(answer) && !byId("hint").checked)) return null;
  return answer.maps[byId("raw").checked ? "raw" : "legal"];
}

/** The map on the board: of squares to go to where a square to go from is known, else of these. */
function heat() {
  const answer = line[shown];
  const maps = mapsOf(answer);
  if (!maps) return null;
  const chosen = stage === "to" && shown === line.length - 1 ? answer.moves[0].move.slice(0, 2) : null;
  for (const square of [pointed, selected, chosen]) {
    const row = square && (maps.to.length === 1 ? maps.to[0] : maps.to[indexOf(square)]);
    if (row) return { values: row, kind: "to", square };
  }
  return { values: maps.from, kind: "from" };
}

function redraw() {
  const answer = line[shown];
  if (!answer) return;
  const map = heat();
  const most = map ? Math.max(...map.values) : 0;
  const goals = targets(selected);
  const words = shown ? `after ${numbered(shown)}` : "at the start";
  const occupied = pieces(answer.fen);
  byId("picture").replaceChildren(board(answer.fen.split(" ")[0], {
    flipped, move: game.moves[shown - 1] ?? "", label: `Position ${words}`,
    under(square, x, y) {
      const marks = [];
      const share = map ? map.values[indexOf(square)] : 0;
      const whole = { x, y, width: SIZE, height: SIZE };
      if (share > 0) marks.push(draw("rect", { ...whole, class: map.kind, opacity: (0.8 * Math.sqrt(share / most)).toFixed(3) }));
      if (square === selected || square === map?.square) {
        marks.push(draw("rect", { x: x + 1.5, y: y + 1.5, width: SIZE - 3, height: SIZE - 3, class: "selected" }));
      }
      if (goals.includes(square)) {
        marks.push(draw("circle", { cx: x + SIZE / 2, cy: y + SIZE / 2, r: occupied[square] ? 21 : 7, class: "target" }));
      }
      return marks;
    },
  }));
  update(flipped, (square) => {
    const target = goals.includes(square);
    return {
      label: [occupied[square], target ? "can be moved to" : ""].filter(Boolean).join(", "),
      number: map ? percent(map.values[indexOf(square)]) : "",
      classes: [targets(square).length ? "own" : "", target ? "target" : ""].join(" ").trim(),
      selected: square === selected,
    };
  });
  byId("state").textContent = state(answer);
  byId("legend").textContent = legend(map);
  byId("take-back").disabled = lastOwn() < 0;
  listMoves();
  think();
}

function state(answer) {
  if (shown < line.length - 1) return `Position ${shown} of ${line.length - 1}`;
  if (answer.end) return `${answer.end.result}: ${answer.end.reason}`;
  const check = answer.check ? ", in check" : "";
  if (isMine(answer)) return `Your move: ${SIDES[answer.turn]}${check}`;
  return `${byId("policy").value} (${SIDES[answer.turn]}${check}) looks at squares to go ${stage ?? "from"}\u2026`;
}

function legend(map) {
  if (!map) return "";
  const among = byId("raw").checked ? "as the net says, legal or not" : "among legal moves";
  return map.kind === "from"
    ? `Red: squares to go from, ${among}. Point at one for the squares to go to from there.`
    : `Blue: squares to go to from ${map.square}, ${among}.`;
}

/** The number of a half-move with the move: 3. Nf3, 3\u2026 Nf6. */
function numbered(ply) {
  const [, turn, , , , first] = line[0].fen.split(" ");
  const halves = ply - 1 + (turn === "b");
  return `${Number(first) + Math.floor(halves / 2)}${halves % 2 ? "\u2026" : "."} ${line.at(-1).sans[ply - 1]}`;
}

function listMoves() {
  const list = byId("moves");
  const inside = list.contains(document.activeElement);
  list.replaceChildren(...line.at(-1).sans.map((_, i) => make("li", {}, make("button", {
    type: "button", click: () => show(i + 1), "aria-current": i + 1 === shown ? "true" : null,
    tabindex: i === Math.max(shown - 1, 0) ? 0 : -1,
  }, numbered(i + 1)))));
  const current = list.querySelector("[aria-current]");
  if (current) list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
  if (inside) (current ?? list.querySelector("button"))?.focus({ preventScroll: true });
}

/** What it thinks of the position on the board; in your turn, what it thought before its last move. */
function think() {
  const ply = mapsOf(line[shown]) ? shown : shown - 1;
  const answer = line[ply];
  byId("of").textContent = "What it thinks";
  if (!mapsOf(answer)) return byId("thoughts").replaceChildren(make("p", { class: "note" }, "Nothing yet."));
  const chosen = answer.moves[0];
  const next = game.moves[ply] ? ` before ${numbered(ply + 1)}` : "";
  byId("of").textContent = `What it ${next ? "thought" : "thinks"}${next}`;
  const listed = answer.moves.filter(({ san }) => san).slice(0, SHOWN);
  const values = listed.some(({ value }) => value !== null);
  const rows = listed.map((move) => make("tr", { "aria-current": move === chosen ? "true" : null },
    make("th", { scope: "row" }, move.san),
    make("td", {}, make("meter", { value: move.probability, "aria-label": `Probability of ${move.san}` })),
    make("td", { class: "number" }, `${(100 * move.probability).toFixed(1)}%`),
    ...(values ? [make("td", { class: "number" }, move.value === null ? "" : signed(move.value))] : [])));
  const heads = [["move"], ["among legal moves", 2], ...(values ? [["result"]] : [])];
  const { san, from_rank, to_rank, tries, checks } = answer.walk;
  const found = [
    make("table", {}, make("thead", {}, make("tr", {}, ...heads.map(([head, colspan]) => make("th", { scope: "col", colspan }, head)))),
      make("tbody", {}, ...rows)),
    make("p", { id: "walk" }, `The walk finds ${san}: from-rank ${from_rank}, to-rank ${to_rank}, ${tries} tries, ${checks} canMove checks.`),
  ];
  if (answer.wdl) {
    const [wins, draws, losses] = answer.wdl.map((n) => n / 10);
    found.push(make("p", { id: "expects" }, answer.mates ? `${chosen.san} mates.`
      : `After ${chosen.san} ${SIDES[answer.turn]} expects ${signed(chosen.value)}: wins ${wins}%, draws ${draws}%, losses ${losses}%.`));
    found.push(make("div", { class: "wdl", "aria-hidden": "true" },
      ...[wins, draws, losses].map((share) => make("i", { style: `flex: ${share} 0 0` }))));
  }
  return byId("thoughts").replaceChildren(...found);
}
const signed = (value) => `${value < 0 ? "\u2212" : "+"}${Math.abs(value).toFixed(2)}`;

// Controls

function show(ply) {
  shown = Math.max(0, Math.min(line.length - 1, ply));
  selected = pointed = null;
  redraw();
}
const steps = { first: () => show(0), back: () => show(shown - 1), next: () => show(shown + 1), last: () => show(Infinity) };
document.addEventListener("click", (event) => steps[event.target.closest("[data-go]")?.dataset.go]?.());
byId("moves").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" }[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  steps[step]();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !selected) return;
  selected = null;
  redraw();
});
function lastOwn() {
  return line.slice(0, game.moves.length).findLastIndex(isMine);
}
function again() {
  return go(game.fen, game.moves);
}
byId("take-back").addEventListener("click", () => go(game.fen, game.moves.slice(0, lastOwn())));
byId("new-game").addEventListener("click", () => {
  const seed = byId("settings").elements.seed;
  seed.value = Number(seed.value) + 1; // or a drawn game would be the same again
  go(STARTING_FEN, []);
});
byId("turn-board").addEventListener("click", () => {
  flipped = !flipped;
  redraw();
});
byId("you").addEventListener("change", () => {
  flipped = byId("you").value === "b";
  again();
});
for (const id of ["hint", "raw"]) byId(id).addEventListener("change", redraw);
byId("settings").addEventListener("change", (event) => {
  possible();
  if (event.target.name) again();
});
byId("settings").addEventListener("submit", (event) => event.preventDefault());
byId("position").addEventListener("submit", async (event) => {
  event.preventDefault();
  const done = await go(byId("fen").value, []);
  if (done === false && line.length) goOn(asked); // the game that was there
});

/** Settings that the policy can't have, or that don't go together, can't be set. */
function possible() {
  const { policy, temperature, top_p, plies, walk, underpromotions } = byId("settings").elements;
  for (const other of [temperature, top_p, underpromotions]) other.disabled = walk.checked;
  plies.disabled = walk.checked || !POLICIES[policy.value].value;
  byId("policy-note").textContent = POLICIES[policy.value].told;
}
possible();
again();
