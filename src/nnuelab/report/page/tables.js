// Tables

const textOf = (cell) => cell.textContent.trim();
const wholeOf = (cell) => cell.dataset.whole ?? textOf(cell);
/** A cell as a number where it begins with one and goes on with an interval or a range of numbers. */
function valueOf(row, column) {
  const text = wholeOf(row.cells[column]);
  const number = Number(text.replace(/ \[.*\]$|(?<=\d)-\d+$/, ""));
  return text === "" ? null : Number.isNaN(number) ? text : number;
}
/** Numbers before words, what is not there last in either direction. */
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return direction * (typeof a === "number" ? a - b : a.localeCompare(b));
}
document.addEventListener("click", (event) => {
  const head = event.target.closest("table.grid thead th");
  if (!head) return;
  const body = head.closest("table").tBodies[0];
  const rows = [...body.rows];
  const numeric = rows.some((row) => typeof valueOf(row, head.cellIndex) === "number");
  const before = head.getAttribute("aria-sort");
  const descending = before ? before === "ascending" : numeric;
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const keyed = rows.map((row) => [valueOf(row, head.cellIndex), row]);
  keyed.sort(([a], [b]) => compare(a, b, descending ? -1 : 1));
  body.append(...keyed.map(([, row]) => row));
});

// All columns or the main ones; a table to take away

function switchColumns(sheet, all) {
  sheet.classList.toggle("all", all);
  sheet.querySelector("[data-sheet=more]").setAttribute("aria-pressed", String(all));
}
const BRACKETED = { 1: [], 2: ["sd"], 3: ["low", "high"] }; // what stands in brackets, by how many numbers a cell has
/** The numbers of a cell: one, and perhaps its deviation or its interval in brackets. */
function numbersOf(text) {
  const found = text.match(/^(-?[\d.]+) \[(.*)\]$/);
  return found ? [found[1], ...found[2].split(", ")] : [text];
}
/**
 * Cells of the columns that ``takes`` wants, as text; ``name`` is of a head, and ``text`` of another cell. What is in
 * brackets has columns of its own, whose names end with ``sign`` and what it is.
 */
function cellsOf(table, takes, name, text, sign) {
  const lines = [], rows = [...table.tBodies[0].rows], heads = [];
  for (const head of [...table.tHead.rows[0].cells].filter(takes)) {
    const cells = rows.map((row) => numbersOf(text(row.cells[head.cellIndex])));
    const more = BRACKETED[Math.max(1, ...cells.map((cell) => cell.length))];
    heads.push(name(head), ...more.map((ending) => `${name(head)}${sign}${ending}`));
    cells.forEach((cell, i) => (lines[i] ??= []).push(...[0, ...more].map((_, place) => cell[place] ?? "")));
  }
  return [heads, ...lines];
}
/** All columns, as numbers alone. */
function csv(table) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return cellsOf(table, () => true, (head) => head.dataset.column, wholeOf, "_").map((line) => `${line.map(quoted).join(",")}\n`).join("");
}
/** The columns that are seen, as they are read. */
function latex(table) {
  const signs = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\u00b1": "$\\pm$", "\u00d7": "$\\times$" };
  const escaped = (text) => text.replace(/[\\~^\u00b1\u00d7]|[&%$#_{}]/g, (sign) => signs[sign] ?? `\\${sign}`).replace(/^-(?=\d)/, "$-$");
  const [head, ...lines] = cellsOf(table, (head) => head.checkVisibility(), textOf, textOf, " ");
  const isNumber = (place) => lines.every((line) => line[place] === "" || !Number.isNaN(Number(line[place].replace(/^<\s| \u00b1[\d.]+$/g, ""))));
  const line = (cells) => `${cells.map(escaped).join(" & ")} \\\\`;
  return [`\\begin{tabular}{${head.map((_, place) => (isNumber(place) ? "r" : "l")).join("")}}`, "\\toprule", line(head), "\\midrule",
    ...lines.map(line), "\\bottomrule", "\\end{tabular}", ""].join("\n");
}
document.addEventListener("click", async (event) => {
  const what = event.target.closest("button[data-sheet]")?.dataset.sheet;
  if (!what) return;
  const sheet = event.target.closest(".sheet"), table = sheet.querySelector("table");
  if (what === "more") return switchColumns(sheet, !sheet.classList.contains("all"));
  const text = { csv, latex }[what](table);
  show({ title: `${table.caption.textContent.trim()}: ${event.target.textContent}`, text });
  const area = dialog.querySelector("textarea");
  area.select();
  await navigator.clipboard?.writeText(text).then(() => area.before(make("p", { role: "status" }, "Copied.")), () => {});
});

// Where a number comes from

const SOURCES = JSON.parse(byId("sources").textContent);
const dialog = byId("record");
let trail = [];
function show(entry) {
  trail.push(entry);
  shown();
}
async function shown() {
  const { title, note, files, text } = trail.at(-1);
  byId("record-title").textContent = title;
  byId("record-back").hidden = trail.length < 2;
  const body = byId("record-body");
  if (text) {
    body.replaceChildren(make("textarea", { readonly: "", rows: 16, "aria-label": title }, text));
    dialog.showModal();
    return;
  }
  const { records } = await unpack("provenance");
  body.replaceChildren(...(note ? [make("p", {}, note)] : []));
  const single = files.length === 1 && records[files[0]];
  if (single) body.append(...record(files[0], single));
  else body.append(make("p", {}, "It comes from:"), links(files, records));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}
function links(files, records) {
  return make("ul", {}, ...files.map((file) => make("li", {},
    records[file]
      ? make("button", { type: "button", class: "source", click: () => show({ title: file, files: [file] }) }, file)
      : file)));
}
function record(file, found) {
  const entries = [
    ["file", file],
    ["sha256", make("code", {}, found.sha256)],
    ["made by", make("pre", {}, found.command ?? "")],
    ["code", make("code", {}, found.code ?? "")],
    ["seed", found.seed === null || found.seed === undefined ? null : String(found.seed)],
    ["versions", Object.entries(found.versions ?? {}).map((pair) => pair.join(" ")).join(", ")],
    ["parameters", make("pre", {}, JSON.stringify(found.parameters ?? {}, null, 1))],
  ];
  const list = make("dl", {});
  for (const [name, value] of entries) if (value !== null) list.append(make("dt", {}, name), make("dd", {}, value));
  const inputs = make("dd", {});
  const inner = make("ul", {});
  unpack("provenance").then(({ records }) => {
    for (const { path, sha256 } of Object.values(found.inputs ?? {})) {
      const now = records[path]?.sha256;
      inner.append(make("li", {},
        now ? make("button", { type: "button", class: "source", click: () => show({ title: path, files: [path] }) }, path) : path,
        " ", make("code", {}, sha256.slice(0, 16)),
        now && now !== sha256 ? " (has changed since)" : ""));
    }
  });
  inputs.append(inner);
  list.append(make("dt", {}, "inputs"), inputs);
  return [list];
}
document.addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-row]");
  if (!row || dialog.contains(row)) return;
  const table = row.closest("table");
  const cell = event.target.closest("td, button.source");
  const sources = SOURCES[table.id]?.[row.dataset.row];
  if (!cell || !sources) return;
  const { name } = row.dataset;
  if (cell.tagName === "BUTTON") {
    show({ title: name, files: [...new Set(Object.values(sources).flat())] });
    return;
  }
  const head = table.tHead.rows[0].cells[cell.cellIndex];
  const files = sources[head.dataset.column] ?? sources[""];
  show({ title: `${name}: ${head.textContent.trim()}`, note: cell.textContent, files });
});
byId("record-back").addEventListener("click", () => { trail.pop(); shown(); });
byId("record-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => { trail = []; });
