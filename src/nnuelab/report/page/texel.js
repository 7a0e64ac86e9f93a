/** Boards of what pieces are worth on squares, and the worst positions. */
function texelBoards({ runs, outliers, of }) {
  const run = byId("texel-run");
  options(run, Object.keys(runs).map((name) => [name, name]));
  // The rows of a picture go from rank 8 down, squares from a1 up.
  const cells = (values) => Array.from({ length: 64 }, (_, i) => (values[i ^ 56] === null ? -1 : i ^ 56));
  function redraw() {
    const pictures = runs[run.value];
    const most = Math.max(1, ...pictures.flatMap(({ values }) => values.map(Math.abs)));
    byId("texel-pictures").replaceChildren(...pictures.map(({ title, mean, values }) => make("figure", { class: "picture" },
      make("figcaption", {}, `${title}: mean ${mean}`),
      heat({ title, cells: cells(values) }, values, 1, most, 0))));
  }
  run.addEventListener("change", redraw);
  redraw();
  byId("texel-of").textContent = of;
  byId("texel-outliers").replaceChildren(...outliers.map(({ fen, game, score, expected, result }) => {
    const words = `${fen.split(" ")[1] === "w" ? "White" : "Black"} to move; score ${score.toFixed(0)}, ` +
      `expected ${expected.toFixed(2)}, result ${result}; game ${game}`;
    return make("figure", {}, board(fen.split(" ")[0], { label: `${fen}: ${words}` }), make("figcaption", {}, words));
  }));
}
if (byId("texel-pictures")) whenSeen(byId("texel-pictures"), async () => texelBoards(await unpack("texel")));
