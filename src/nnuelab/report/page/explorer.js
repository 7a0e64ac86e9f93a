/**
 * The squares that a feature's name speaks of, as the board of `fen` has them, for the player `turn`. Own pieces move up,
 * so Black's are turned; a mirrored feature is that of the other files while the own king stands on e to h.
 */
function squaresOf(told, turn, fen) {
  const [name, isMirrored] = told.split(/ \((mirrored): /);
  const king = turn === "w" ? "white king" : "black king";
  const isOther = isMirrored && Object.entries(pieces(fen)).some(([[file], piece]) => piece === king && file > "d");
  const files = isOther ? "hgfedcba" : "abcdefgh";
  const found = new Set(name.match(/\b[a-h][1-8]\b/g));
  const file = /\bfile ([a-h])\b/.exec(name)?.[1], rank = /\brank ([1-8])\b/.exec(name)?.[1];
  const [, from, to] = /\bdiagonal (\w\d)-(\w\d)/.exec(name) ?? [];
  for (const [i, f] of [..."abcdefgh"].entries()) for (const r of "12345678") {
    const onLine = (file || rank) && (!file || file === f) && (!rank || rank === r);
    const steps = from && i - "abcdefgh".indexOf(from[0]);
    const onDiagonal = from && f >= from[0] && f <= to[0] && r - from[1] === (to[1] > from[1] ? steps : -steps);
    if (onLine || onDiagonal) found.add(f + r);
  }
  return [...found].map(([f, r]) => files["abcdefgh".indexOf(f)] + (turn === "w" ? r : 9 - r));
}
/**
 * A list of features; pointing at one marks its squares on the board. By its place `fen` tells in which position it is
 * active, and `kind` its class.
 */
function featureList(names, side, fen, picture, kind = () => null) {
  const point = (squares) => () => {
    for (const square of picture.querySelectorAll("[data-place]")) square.classList.toggle("pointed", squares.includes(square.dataset.place));
  };
  return make("ul", {}, ...names.map((name, i) => {
    const show = point(squaresOf(name, side, fen(i)));
    return make("li", { class: kind(i), pointerenter: show, pointerleave: point([]) }, name);
  }));
}
/** Lists of the active features by term and side. */
function activeLists(names, terms, place, fen, picture) {
  const turn = fen.split(" ")[1], other = turn === "w" ? "b" : "w";
  return names.flatMap((term) => {
    const [own, theirs] = terms[term][place];
    return [
      make("h3", {}, `${term}: ${own.length} active for the side to move`), featureList(own, turn, () => fen, picture),
      make("h3", {}, `${term}: ${theirs.length} for the other side`), featureList(theirs, other, () => fen, picture),
    ];
  });
}

function explore({ positions, sets, terms, evaluations, moves }) {
  const place = byId("explore-position");
  const set = byId("explore-set");
  options(place, positions.map((position, i) => [i, position.name]));
  options(set, Object.keys(sets).map((name) => [name, name]));
  function redraw() {
    const { fen, name } = positions[place.value];
    const [placement, turn] = fen.split(" ");
    byId("explore-fen").textContent = fen;
    byId("explore-board").replaceChildren(board(placement, { label: `Position: ${name}`, flipped: turn === "b" }));
    const rows = Object.entries(evaluations).map(([net, values]) => [net, values[place.value]]);
    byId("explore-evaluations").replaceChildren(make("table", {},
      make("caption", {}, `Centipawns for ${turn === "w" ? "White" : "Black"}, to move`),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "net"), make("th", { scope: "col" }, "cp"))),
      make("tbody", {}, ...rows.map(([net, value]) => make("tr", {},
        make("th", { scope: "row" }, net), make("td", { class: "number" }, String(value)))))));
    const percent = (p) => (100 * p).toFixed(1);
    byId("explore-moves").replaceChildren(...Object.entries(moves).filter(([, found]) => found[place.value]?.length).map(([policy, found]) =>
      make("table", {},
        make("caption", {}, `What the policy ${policy} would play`),
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "move"), make("th", { scope: "col" }, "%"))),
        make("tbody", {}, ...found[place.value].map(([move, p]) => make("tr", {},
          make("th", { scope: "row" }, move), make("td", { class: "number" }, percent(p))))))));
    byId("explore-features").replaceChildren(...activeLists(sets[set.value], terms, place.value, fen, byId("explore-board")));
  }
  // Served, the page can ask the engine.
  const form = byId("explore-form");
  form.hidden = !isServed;
  options(byId("explore-net"), Object.keys(evaluations).map((name) => [name, name]));
  let asked = 0; // questions so far: the answer to another one than the last is late
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = byId("explore-said"), question = (asked += 1);
    said.textContent = "\u2026";
    try {
      const response = await fetch(`explore?${new URLSearchParams(new FormData(form))}`);
      const found = await response.json();
      if (question !== asked) return;
      if (!response.ok) throw new Error(found.error);
      for (const [net, [value]] of Object.entries(found.evaluations)) evaluations[net]?.push(value);
      for (const [term, [sides]] of Object.entries(found.terms)) terms[term]?.push(sides);
      for (const [name, lists] of Object.entries(moves)) lists.push(found.moves[name]?.[0]);
      positions.push(found.positions[0]);
      options(place, positions.map((position, i) => [i, position.name]));
      place.value = positions.length - 1;
      redraw();
      said.textContent = found.search;
    } catch (error) {
      if (question === asked) said.textContent = error.message;
    }
  });
  for (const select of [place, set]) select.addEventListener("change", redraw);
  redraw();
}
if (byId("explorer")) whenSeen(byId("explorer"), async () => explore(await unpack("explorer")));
