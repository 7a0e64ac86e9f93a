"use strict";
const byId = (id) => document.getElementById(id);
const isServed = document.body.hasAttribute("data-served"); // by nnuelab: as a file the page asks nobody
const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; text is never taken for markup. */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** What Python packed under a name; unpacked when it is first asked for. */
const unpacked = {};
function unpack(name) {
  unpacked[name] ??= (async () => {
    const bytes = Uint8Array.from(atob(byId(`blob-${name}`).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  })();
  return unpacked[name];
}

/** Runs a function once, when an element comes near the window: never while its view is hidden. */
const drawings = new Map(); // by element: on paper all are seen
function whenSeen(element, run) {
  let done = null;
  const once = () => {
    observer.disconnect();
    return (done ??= run());
  };
  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) once();
  }, { rootMargin: "600px" });
  drawings.set(element, once);
  observer.observe(element);
}

function options(select, values) {
  select.replaceChildren(...values.map(([value, text]) => make("option", { value }, text)));
}

// Light and dark

const root = document.documentElement;
const memory = (() => { try { return localStorage; } catch { return {}; } })(); // a browser may refuse it
if (memory["nnuelab-theme"]) root.dataset.theme = memory["nnuelab-theme"];
function isDark() {
  const chosen = root.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
/** Resolves when what is drawn in colours of its own has those of the theme. */
function told() {
  const redrawn = [];
  byId("theme").setAttribute("aria-pressed", String(isDark()));
  document.dispatchEvent(new CustomEvent("theme", { detail: redrawn }));
  return Promise.all(redrawn);
}
byId("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  memory["nnuelab-theme"] = root.dataset.theme;
  told();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", told);
told();
