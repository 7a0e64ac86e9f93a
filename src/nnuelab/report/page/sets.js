// Views of feature sets: their features in a position, their strongest neurons

const SHOWN = 6; // neurons

/** The example that tells most: the third one is a middlegame with all kinds of pieces. */
const EXAMPLE = 2;

function example(element, { positions, sets, terms }) {
  const picture = make("div", { class: "board" }), lists = make("div", { class: "active", role: "region", tabindex: 0, "aria-label": "Active features" }), code = make("code", {});
  const place = make("select", {});
  options(place, positions.map((position, i) => [i, position.name]));
  place.value = Math.min(EXAMPLE, positions.length - 1);
  function redraw() {
    const { fen, name } = positions[place.value];
    const [placement, turn] = fen.split(" ");
    code.textContent = fen;
    picture.replaceChildren(board(placement, { label: `Position: ${name}`, flipped: turn === "b" }));
    lists.replaceChildren(...activeLists(sets[element.dataset.explore], terms, place.value, turn, picture));
  }
  place.addEventListener("change", redraw);
  element.replaceChildren(
    make("div", {}, make("p", { class: "choices" }, make("label", {}, "Position ", place)), picture, make("p", {}, code)), lists);
  redraw();
}
for (const element of document.querySelectorAll("[data-explore]")) {
  whenSeen(element, async () => example(element, await unpack("explorer")));
}
for (const element of document.querySelectorAll("[data-neurons]")) {
  whenSeen(element, async () => {
    const { sets, nets } = await unpack("weights"), name = element.dataset.neurons, net = nets[name];
    gallery(element, net, sets[net.set].terms, SHOWN, () => goTo(`#/net/${encodeURIComponent(name)}`));
  });
}
