// One view at a time; its address is its id. Without scripts they stand one below the other.

root.classList.add("js");
for (const element of document.querySelectorAll("#find, #menu, #print, #print-all, p.tools[hidden]")) element.hidden = false;
const menu = byId("menu"), finder = byId("finder");
const places = new Map(); // how far views were scrolled when they were left
let current = null, here = "", chosen = true;

const decoded = (address) => { try { return decodeURIComponent(address); } catch { return address; } };
/** The element that the address names: a view or a part of one. Ids are written as addresses are, so %2F stays. */
function named() {
  const address = location.hash.slice(1) || "/", read = decoded(address);
  return byId(address) ?? byId(read) ?? [...document.querySelectorAll(".view")].find((view) => decoded(view.id) === read) ?? null;
}
function open(menuIsOpen) {
  menu.setAttribute("aria-expanded", String(menuIsOpen));
}
function route() {
  const found = named(), aim = found ?? byId("/");
  byId("lost").hidden = Boolean(found);
  byId("lost").textContent = `There is no view ${location.hash}.`;
  const view = aim.closest(".view");
  if (!view) return; // a part of the page's frame
  const isFirst = current === null, wasChosen = chosen;
  chosen = false;
  here = location.hash;
  open(false);
  if (view !== current) {
    current?.classList.remove("shown");
    view.classList.add("shown");
    current = view;
    const title = view.querySelector("h2");
    document.title = `${view.id === "/" ? "" : `${title.textContent.trim()} \u2013 `}nnuelab report`;
    for (const link of document.querySelectorAll("#nav a")) {
      if (link.getAttribute("href") === `#${view.id}`) {
        link.setAttribute("aria-current", "page");
        // Not by scrollIntoView, from which on the tabulator key would go on.
        const { top, bottom } = link.getBoundingClientRect();
        if (top < 0 || bottom > innerHeight) byId("sidebar").scrollTop += top - innerHeight / 2;
      } else link.removeAttribute("aria-current");
    }
    if (!isFirst) title.focus({ preventScroll: true });
  }
  if (aim === view) scrollTo(0, wasChosen ? 0 : places.get(here) ?? 0);
  else aim.scrollIntoView({ block: aim.tagName === "TR" ? "center" : "start" });
  document.dispatchEvent(new CustomEvent("view", { detail: aim }));
}
/** Goes to an address as if a link had been pressed; at once, hashchange comes some time later. */
function goTo(hash) {
  chosen = true;
  if (location.hash !== hash) location.hash = hash;
  route();
}
history.scrollRestoration = "manual";
addEventListener("hashchange", () => {
  if (location.hash === here) return;
  finder.close();
  route();
});
addEventListener("scroll", () => places.set(here, scrollY), { passive: true });
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#/"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  goTo(link.hash);
});
menu.addEventListener("click", () => open(menu.getAttribute("aria-expanded") !== "true"));
route();

// Search over everything that has a name, and what views say in words

const MOST_FOUND = 30; // that are listed
const KINDS = [
  [".view", (view) => view.querySelector("h2").lastChild.textContent, (view) => view.querySelector(".kind")?.textContent ?? "view", wordsOf],
  [".view h3[id]", (title) => title.textContent, viewOf],
  ["figure.plot", (figure) => figure.querySelector("h3").textContent, (figure) => `plot, ${viewOf(figure)}`],
  ["table.grid", (grid) => grid.caption.textContent, (grid) => `table, ${viewOf(grid)}`],
  ["table.grid thead th", (head) => head.textContent, (head) => `column, ${viewOf(head)}`],
  ["#nets tbody tr", (row) => row.dataset.name, () => "net"],
];
function viewOf(element) {
  return element.closest(".view").querySelector("h2").textContent.trim();
}
/** Questions, answers, definitions; the overview has those of all. */
function wordsOf(view) {
  if (view.id === "/") return "";
  return [...view.querySelectorAll(".answer, .answers, .terms, :scope > p.note")].map(textOf).join(" ").toLowerCase();
}
let everything = null;
function entries() {
  everything ??= KINDS.flatMap(([selector, name, kind, words]) => [...document.querySelectorAll(selector)].map((element) =>
    ({ element, name: name(element).trim().replace(/\s+/g, " "), kind: kind(element), said: words?.(element) ?? "" })));
  return everything;
}
/**
 * Those that have all words, the name's beginning first, then columns, what is only said last. Of columns that are
 * called alike the first one stands for all.
 */
function matches(text) {
  const words = text.toLowerCase().split(/[\s_]+/).filter(Boolean);
  const has = (where) => words.every((word) => where.toLowerCase().includes(word));
  const isColumn = ({ element }) => element.matches("th[scope=col]");
  const rank = (entry) => {
    const name = entry.name.toLowerCase();
    if (!has(`${name} ${entry.kind}`)) return 4;
    return isColumn(entry) ? 3 : name === text.toLowerCase() ? 0 : name.startsWith(words[0]) ? 1 : 2;
  };
  const found = new Map();
  for (const entry of entries().filter(({ name, kind, said }) => has(`${name} ${kind} ${said}`))) {
    const key = isColumn(entry) ? entry.name : entry.element;
    found.set(key, [...(found.get(key) ?? []), entry]);
  }
  return [...found.values()].map(([entry, ...alike]) =>
    ({ ...entry, rank: rank(entry), kind: entry.kind + (alike.length ? `, and ${alike.length} more` : "") }))
    .sort((a, b) => a.rank - b.rank);
}
function look() {
  const found = matches(byId("finder-text").value), beyond = found.length - MOST_FOUND;
  const lines = found.slice(0, MOST_FOUND).map(({ element, name, kind }) => make("li", {},
    make("button", { type: "button", click: () => visit(element) }, name, " ", make("small", {}, kind))));
  if (!found.length) lines.push(make("li", {}, "nothing has these words"));
  if (beyond > 0) lines.push(make("li", {}, `${beyond} more: add a word, such as the name of an experiment`));
  byId("finder-found").replaceChildren(...lines);
}
/** Goes where a thing is; what has no id of its own is where the nearest thing with one is. */
function visit(element) {
  finder.close();
  const { id } = element.closest("[id]");
  if (element.matches("th.more")) switchColumns(element.closest(".sheet"), true);
  goTo(`#${encodeURIComponent(id).replaceAll("%2F", "/").replaceAll("%2B", "+")}`);
  if (element.matches("th")) element.scrollIntoView({ block: "center", inline: "center" });
  element.querySelector("a, button")?.focus({ preventScroll: true });
}
function find() {
  finder.showModal();
  byId("finder-text").select();
  look();
}
byId("find").addEventListener("click", find);
byId("finder-text").addEventListener("input", look);
finder.addEventListener("click", (event) => { if (event.target === finder) finder.close(); });
finder.addEventListener("keydown", (event) => {
  const found = [byId("finder-text"), ...finder.querySelectorAll("#finder-found button")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) found[(found.indexOf(document.activeElement) + step + found.length) % found.length].focus();
  else if (event.key === "Enter" && document.activeElement === found[0]) found[1]?.click();
  else return;
  event.preventDefault();
});

// Keys, and paper: a view or all, with all of their plots and notes, in the light colours

async function toPaper(isWhole) {
  if (root.classList.contains("printing")) return;
  const { theme } = root.dataset, folded = [...document.querySelectorAll("details:not([open])")];
  root.classList.add("printing");
  root.classList.toggle("one", !isWhole);
  root.dataset.theme = "light";
  for (const each of folded) each.open = true;
  addEventListener("afterprint", () => {
    root.classList.remove("printing", "one");
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    for (const each of folded) each.open = false;
    told();
  }, { once: true });
  await told();
  for (const [element, draw] of drawings) if (isWhole || current.contains(element)) await draw();
  window.print();
}
byId("print").addEventListener("click", () => toPaper(false));
byId("print-all").addEventListener("click", () => toPaper(true));
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, select, textarea");
  if (event.key === "/" && !isTyping && !document.querySelector("dialog[open]")) find();
  else if (event.key === "p" && (event.ctrlKey || event.metaKey)) toPaper(false);
  else if (event.key === "Escape") return open(false);
  else return;
  event.preventDefault();
});
