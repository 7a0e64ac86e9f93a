const PIECE_ROLES = ["pawn", "knight", "bishop", "rook", "queen", "king"];

/** A picture with weights, of a neuron for example; the strongest colour is `most`. */
function heat(picture, weights, scale, most, digits = 3) {
  const rows = picture.rows ?? [..."87654321"];
  const columns = picture.columns ?? [..."abcdefgh"];
  const side = 10, letter = 3.4; // a cell, and the mean letter of a label at most
  const room = (labels) => 3 + letter * Math.max(1, ...labels.map((label) => label.length));
  const upright = columns.some((column) => column.length > 3);
  const left = room(rows), below = upright ? room(columns) : 8;
  const svg = draw("svg", {
    viewBox: `${-left} 0 ${columns.length * side + left} ${rows.length * side + below}`,
    role: "img", "aria-label": `Weights of ${picture.title || "these features"}`,
  });
  rows.forEach((row, r) => columns.forEach((column, c) => {
    const feature = picture.cells[r * columns.length + c];
    const place = { x: c * side, y: r * side, width: side, height: side };
    if (feature < 0) {
      svg.append(draw("rect", { ...place, class: "cell none" }));
      return;
    }
    const weight = weights[feature];
    const shade = `rgb(${weight > 0 ? "30 100 235" : "220 38 38"} / ${(Math.abs(weight) / most).toFixed(3)})`;
    const where = picture.rows ? `${row}, ${column}` : column + row;
    svg.append(
      draw("rect", { ...place, class: "cell" }),
      draw("rect", { ...place, fill: shade }, draw("title", {}, `${where}: ${(weight / scale).toFixed(digits)}`)));
  }));
  const bottom = rows.length * side;
  rows.forEach((row, r) => svg.append(draw("text", { x: -2, y: r * side + 7, "text-anchor": "end" }, row)));
  columns.forEach((column, c) => {
    const x = (c + 0.5) * side;
    const place = upright
      ? { x: 0, y: 0, "text-anchor": "end", transform: `translate(${x + 2} ${bottom + 2}) rotate(-90)` }
      : { x, y: bottom + 6, "text-anchor": "middle" };
    svg.append(draw("text", place, column));
  });
  return svg;
}

const largest = (weights) => weights.reduce((most, w) => Math.max(most, Math.abs(w)), 1);

/** The first neurons of a net, each with the picture of its largest weights; `pick` gets their places. */
function gallery(element, { scale, neurons }, terms, count, pick) {
  const all = terms.flatMap((t, i) => t.groups.flatMap((g, j) => g.pictures.map((p) => [p, i, j, t.name, g.label])));
  element.replaceChildren(...neurons.slice(0, count).map((found, i) => {
    const strength = ([p]) => p.cells.reduce((most, f) => (f < 0 ? most : Math.max(most, Math.abs(found.weights[f]))), 0);
    const best = all.reduce((a, b) => (strength(b) > strength(a) ? b : a));
    const [picture, inTerm, inGroup, name, label] = best;
    const words = [picture.title, label].filter(Boolean).join(", ").replace(", (", " (") || name;
    return make("button", { type: "button", click: () => pick(i, inTerm, inGroup) },
      `Neuron ${found.neuron}, ${found.influence} cp: ${name}, ${words}`,
      make("span", { class: "picture" }, heat(picture, found.weights, scale, largest(found.weights))));
  }));
}

function browser({ sets, nets }) {
  const [net, neuron, term, group, role] = ["net", "neuron", "term", "group", "role"].map((n) => byId(`weight-${n}`));
  const current = () => nets[net.value];
  const layout = () => sets[current().set].terms;
  options(net, Object.keys(nets).map((name) => [name, name]));

  function chooseNet() {
    const found = current().neurons;
    options(neuron, found.map((n, i) => [i, `${i + 1}. neuron ${n.neuron} (${n.influence} cp)`]));
    options(term, layout().map((t, i) => [i, t.name]));
    chooseTerm();
    redrawGallery();
  }
  function chooseTerm() {
    const { groups } = layout()[term.value];
    options(group, groups.map((g, i) => [i, g.label || "all"]));
    group.parentElement.hidden = groups.length < 2;
    const titles = groups.flatMap((g) => g.pictures.map((p) => p.title));
    const roles = PIECE_ROLES.filter((name) => titles.some((title) => title.includes(name)));
    options(role, [["", "all"], ...roles.map((name) => [name, name])]);
    role.parentElement.hidden = roles.length < 2;
    redraw();
  }
  function redraw() {
    const { scale, neurons } = current();
    const chosen = neurons[neuron.value];
    const { groups, all } = layout()[term.value];
    const shown = groups[group.value].pictures.filter((p) => p.title.includes(role.value));
    const most = largest(chosen.weights);
    byId("weight-facts").textContent =
      `Neuron ${chosen.neuron}: influence ${chosen.influence} cp, active in ${(100 * chosen.active).toFixed(1)} % of the views, ` +
      `at its limit in ${(100 * chosen.saturated).toFixed(1)} %; bias ${(chosen.bias / scale).toFixed(3)}. ` +
      `The strongest colour is a weight of ${(most / scale).toFixed(3)}.`;
    byId("weight-hint").textContent = groups.length < all
      ? `Shown are the ${groups.length} of ${all} groups of pictures with the largest weights.` : "";
    byId("weight-pictures").classList.toggle("wide", shown.some((p) => p.rows));
    byId("weight-pictures").replaceChildren(...shown.map((picture) => make("figure", { class: "picture" },
      make("figcaption", {}, picture.title || layout()[term.value].name),
      heat(picture, chosen.weights, scale, most))));
    byId("weight-strongest").replaceChildren(...chosen.strongest.map(([name, weight]) =>
      make("li", {}, `${name}: ${weight > 0 ? "+" : ""}${weight.toFixed(3)}`)));
  }
  const redrawGallery = () => gallery(byId("weight-gallery"), current(), layout(), 12, (i, inTerm, inGroup) => {
    neuron.value = i;
    term.value = inTerm;
    chooseTerm();
    group.value = inGroup;
    redraw();
    byId("weight-browser").scrollIntoView();
  });
  document.addEventListener("view", ({ detail: { id } }) => {
    const name = id.startsWith("/net/") && id.slice(5);
    if (!nets[name] || name === net.value) return;
    net.value = name;
    chooseNet();
  });
  const asked = named().id.replace("/net/", "");
  if (nets[asked]) net.value = asked;
  net.addEventListener("change", chooseNet);
  term.addEventListener("change", chooseTerm);
  for (const select of [neuron, group, role]) select.addEventListener("change", redraw);
  byId("weight-browser").addEventListener("click", (event) => {
    const step = Number(event.target.closest("button[data-step]")?.dataset.step);
    if (!step) return;
    neuron.selectedIndex = (neuron.selectedIndex + step + neuron.length) % neuron.length;
    redraw();
  });
  chooseNet();
}
if (byId("weights")) whenSeen(byId("weight-browser"), async () => browser(await unpack("weights")));
