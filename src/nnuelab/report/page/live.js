// What a run of the workflow does, asked again and again while it is seen. Only a served page can ask.

const EVERY = 2000; // milliseconds

/** A cell with a number; empty where it isn't known. */
function number(value, digits = 0, sign = "") {
  return { number: value === null ? "" : (value > 0 ? sign : "") + value.toFixed(digits) };
}
function duration(seconds) {
  const [h, m, s] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  return `${h}:${String(m).padStart(2, "0")}:${String(s).padStart(2, "0")}`;
}
/** A curve as large as a word, by what is across (else evenly), with a dot on the point `at`. */
function curve(values, across = values.map((_, i) => i), at = null) {
  const width = 120, height = 24, left = Math.min(...across), high = Math.max(...values);
  const wide = Math.max(...across) - left || 1, tall = high - Math.min(...values) || 1;
  const x = (i) => 3 + ((across[i] - left) / wide) * (width - 6);
  const y = (i) => 3 + ((high - values[i]) / tall) * (height - 6);
  const points = values.map((_, i) => `${x(i).toFixed(1)},${y(i).toFixed(1)}`);
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "curve", "aria-hidden": "true" },
    draw("polyline", { points: points.join(" ") }),
    ...(at === null ? [] : [draw("circle", { cx: x(at), cy: y(at), r: 3 })]));
}

/** What a run is at, in a sentence. */
function sentence({ state, seconds, done, total, left }) {
  const jobs = `${done} of ${total} jobs done`, time = duration(seconds ?? 0);
  switch (state) {
    case "running": return `Running for ${time}: ${jobs}${left >= 1 ? `, ETA ${duration(left)}` : ""}.`;
    case "done": return `Done: all ${total} jobs, in ${time}.`;
    case "failed": return `Failed after ${time}: ${jobs}. The same command resumes.`;
    case "stopped": return `Stopped after ${time}, killed or interrupted: ${jobs}. The same command resumes.`;
    default: return "No run of the workflow is recorded here. Start one: snakemake";
  }
}
/** Tables of a run: title, columns and rows, whose first cells are their heads. */
function tablesOf({ running, losses, games, searches }) {
  return [
    ["Running jobs", ["job", "for", "progress, or where it is logged"],
      running.map(({ what, seconds, progress, log }) => [what, { number: duration(seconds) }, progress || log])],
    ["Losses", ["training", "validation loss", "by epoch", "training loss", "epoch"],
      losses.map((net) => [net.what, number(net.last, 6), curve(net.validation), number(net.train, 6), number(net.epoch)])],
    ...games.map(({ what, players }) => [what, ["player", "Elo", "\u00b1", "score (%)", "games", "won", "drawn", "lost"],
      players.map((p) => [p.name, number(p.elo, 1, "+"), number(p.elo_error, 1),
        number(p.score === null ? null : 100 * p.score, 1), number(p.games), number(p.wins), number(p.draws), number(p.losses)])]),
    ...searches.map(({ what, sets, front }) => [`${what}: ${sets} sets; the front: none has both a lower loss and a lower cost`,
      ["feature set", "cost of a node, foretold (\u00d7 anchor)", "validation loss", "loss by cost"],
      front.map((row, i) => [row.name, number(row.cost, 2), number(row.loss, 6),
        curve(front.map(({ loss }) => loss), front.map(({ cost }) => cost), i)])]),
  ].filter(([,, rows]) => rows.length);
}

function watch(view) {
  const said = make("p", { class: "answer" });
  const bar = make("progress", { "aria-label": "Jobs done", hidden: "" });
  const since = make("p", { class: "note" }), broken = make("div"), tables = make("div");
  const note = make("p", { class: "note", hidden: "" }, "Elo is against all other players, its error (95 %) that of the games alone.");
  view.append(said, bar, since, broken, tables, note);

  function fillTable(index, [title, columns, rows]) {
    // Kept from one answer to the next, with how far it is scrolled.
    const place = tables.children[index] ?? tables.appendChild(make("div", { class: "scroll", role: "region", tabindex: 0, "aria-labelledby": `live-${index}` },
      make("table", {}, make("caption", { id: `live-${index}` }), make("thead"), make("tbody"))));
    const [caption, head, body] = place.firstChild.children;
    caption.replaceChildren(make("span", {}, title));
    head.replaceChildren(make("tr", {}, ...columns.map((name, i) =>
      make("th", { scope: "col", class: rows[0][i].number === undefined ? null : "number" }, name))));
    body.replaceChildren(...rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name),
      ...cells.map((cell) => (cell.number === undefined ? make("td", {}, cell) : make("td", { class: "number" }, cell.number))))));
  }
  function show(found) {
    const text = sentence(found), isThere = found.state !== "none";
    if (said.textContent !== text) said.textContent = text;
    bar.hidden = since.hidden = broken.hidden = tables.hidden = !isThere;
    if (!isThere) return;
    bar.max = Math.max(found.total, 1);
    bar.value = found.done;
    since.textContent = `Began ${new Date(found.start * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}.`;
    broken.replaceChildren(...found.broken.map(({ what, log, tail, failed }) => make("div", { class: "missing" },
      `${failed ? "Failed" : "Interrupted"}: ${what}. ${tail.length ? `${log} ends with:` : log}`,
      ...(tail.length ? [make("pre", {}, tail.join("\n"))] : []))));
    note.hidden = found.games.length === 0;
    const wanted = tablesOf(found);
    wanted.forEach((table, index) => fillTable(index, table));
    while (tables.children.length > wanted.length) tables.lastChild.remove();
  }
  let isAsking = false;
  async function ask() {
    if (isAsking || document.hidden || !view.checkVisibility()) return;
    isAsking = true;
    const found = await fetch("live").then((response) => (response.ok ? response.json() : null)).catch(() => null);
    isAsking = false;
    if (found) show(found);
    else said.textContent = "The server doesn't answer. Start it again: nnuelab serve";
  }
  setInterval(ask, EVERY);
  for (const event of ["DOMContentLoaded", "view", "visibilitychange"]) document.addEventListener(event, ask);
}

/** The view, and the entry that leads to it. */
function addLive() {
  const title = make("h2", { id: "title-live", tabindex: -1 }, make("span", {}, "Live"));
  const view = make("section", { class: "view", id: "/live", "aria-labelledby": "title-live" }, title);
  byId("main").append(view);
  byId("nav")?.querySelector("ul").append(make("li", {}, make("a", { href: "#/live" }, "Live")));
  watch(view);
}
if (isServed) addLive();
