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
    const lists = sets[set.value].flatMap((term) => {
      const [own, other] = terms[term][place.value];
      return [
        make("h3", {}, `${term}: ${own.length} active for the side to move`), names(own),
        make("h3", {}, `${term}: ${other.length} for the other side`), names(other),
      ];
    });
    byId("explore-features").replaceChildren(...lists);
  }
  // Served by nnuelab, the page can ask the engine; as a file it asks nobody.
  const form = byId("explore-form");
  form.hidden = !location.protocol.startsWith("http");
  options(byId("explore-net"), Object.keys(evaluations).map((name) => [name, name]));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = byId("explore-said");
    said.textContent = "\u2026";
    try {
      const response = await fetch(`explore?${new URLSearchParams(new FormData(form))}`);
      const found = await response.json();
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
      said.textContent = error.message;
    }
  });
  const names = (list) => make("ul", {}, ...list.map((name) => make("li", {}, name)));
  for (const select of [place, set]) select.addEventListener("change", redraw);
  redraw();
}
if (byId("explorer")) whenSeen(byId("explorer"), async () => explore(await unpack("explorer")));
