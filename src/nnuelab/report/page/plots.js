// Colours that are easy to tell apart; the first two are those of fixed nodes and of equal cost everywhere else.
const ON_LIGHT = ["#0b5cad", "#a8500b", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#e6ab02", "#666666"];
const ON_DARK = ["#7ab8ff", "#f0a35e", "#66c2a5", "#e78ac3", "#a6d854", "#ffd92f", "#b3b3b3", "#c9b3f5"];
/** Vega's style in the page's colours, which are those of light or dark. */
function style() {
  const { color, fontFamily } = getComputedStyle(document.body);
  const line = isDark() ? "#4a545e" : "#c3cbd3", colors = isDark() ? ON_DARK : ON_LIGHT;
  const text = { labelColor: color, titleColor: color, labelFont: fontFamily, titleFont: fontFamily, labelFontSize: 12, titleFontSize: 12 };
  return {
    background: "transparent",
    axis: { ...text, gridColor: line, gridOpacity: 0.6, domainColor: line, tickColor: line, titleFontWeight: "normal" },
    axisQuantitative: { labelOverlap: "greedy", labelSeparation: 6 },
    axisXQuantitative: { labelOverlap: "parity", labelSeparation: 8, labelBound: true },
    legend: {
      ...text, orient: "bottom",
      layout: { bottom: { direction: "vertical", anchor: "start" } },
      symbolBaseStrokeColor: color, symbolBaseFillColor: color, symbolOpacity: 1,
    },
    text: { color, font: fontFamily, fontSize: 12 },
    mark: { color: colors[0] }, // where sets have no colours
    rule: { color },
    style: { interval: { color: colors[0] } },
    view: { stroke: line },
    range: { category: colors },
  };
}
const LETTER = 7, SYMBOL = 32, LEFT = 45; // pixels of a legend's text, of what stands before it, and of the axis left of it
/** What the legends of colours say. */
function labels(spec) {
  const found = spec.encoding?.color?.legend?.values ?? spec.encoding?.color?.scale?.domain ?? [];
  return [...found, ...(spec.layer ?? []).flatMap(labels)].map(String);
}
/** As many columns as have room for the longest label. */
function fitted(legend, spec, width) {
  const longest = LETTER * Math.max(8, ...labels(spec).map((label) => label.length)) + SYMBOL;
  legend.columns = Math.max(1, Math.min(3, Math.floor((width - LEFT) / longest)));
  legend.labelLimit = width / legend.columns - SYMBOL;
}
const SPECS = JSON.parse(byId("specs").textContent);
const views = new Map();
/** The library, a megabyte, run when the first plot is seen. */
function withVega() {
  if (window.vegaEmbed) return;
  document.head.append(make("script", {}, byId("vega").textContent));
}
async function plot(figure) {
  withVega();
  const spec = SPECS[figure.dataset.spec];
  const canvas = figure.querySelector(".canvas");
  const config = style();
  fitted(config.legend, spec, canvas.clientWidth);
  config.axis.labelLimit = Math.max(130, canvas.clientWidth * 0.4);
  if (figure.clientWidth < 500) {
    config.axis.labelFontSize = 10;
    config.axisX = { titleAnchor: "end" }; // where a title is longer than the axis, it goes on to the left
  }
  canvas.classList.toggle("dark", isDark());
  const { view } = await vegaEmbed(canvas, spec, {
    actions: false, renderer: "svg", config, tooltip: () => {}, // see tell
  });
  views.set(figure, view);
  figure.dataset.drawn = "true";
}
const figures = [...document.querySelectorAll("figure.plot")];
for (const figure of figures) whenSeen(figure, () => plot(figure));
document.addEventListener("theme", (event) => {
  for (const figure of views.keys()) event.detail.push(plot(figure));
});

const REACH = 12; // pixels from a mark to the pointer that it answers: lines are thin, and fingers wide
/** The marks with numbers, each with its distance from a place. */
function* marks({ marktype, items }, x, y) {
  let last;
  for (const item of items) {
    if (marktype === "group") {
      for (const inner of item.items) yield* marks(inner, x - (item.x ?? 0), y - (item.y ?? 0));
    } else if (item.tooltip && item.defined !== false) {
      yield* marktype === "line" ? along(last ?? item, item, x, y) : beside(item, x, y);
      last = item;
    }
  }
}
function* beside(item, x, y) {
  const { x1, x2, y1, y2 } = item.bounds ?? { x1: item.x, x2: item.x, y1: item.y2, y2: item.y };
  yield [Math.hypot(x - Math.min(Math.max(x, x1), x2), y - Math.min(Math.max(y, y1), y2)), item];
}
/** The line between two of its points answers for the nearer one. */
function* along(from, to, x, y) {
  const [width, height] = [to.x - from.x, to.y - from.y];
  const part = ((x - from.x) * width + (y - from.y) * height) / (width ** 2 + height ** 2 || 1);
  const at = Math.min(Math.max(part, 0), 1);
  yield [Math.hypot(x - from.x - at * width, y - from.y - at * height), at < 0.5 ? from : to];
}
/** The numbers of the nearest mark in reach of a pointer. */
function numbers(event) {
  const view = views.get(event.target.closest?.("figure.plot"));
  const svg = view && event.target.closest("svg");
  if (!svg) return null;
  const at = new DOMPoint(event.clientX, event.clientY)
    .matrixTransform(svg.querySelector(".root").getScreenCTM().inverse());
  let found = [REACH];
  for (const mark of marks(view.scenegraph().root, at.x, at.y)) {
    if (mark[0] <= found[0]) found = mark; // the last of some is on top
  }
  return found[1]?.tooltip;
}
const tooltip = make("dl", { id: "told", role: "tooltip", hidden: "" });
document.querySelector("main").append(tooltip);
function tell(event) {
  const found = numbers(event);
  tooltip.hidden = !found;
  if (!found) return;
  tooltip.replaceChildren(...Object.entries(found).flatMap(
    ([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  const { offsetWidth, offsetHeight } = tooltip;
  const [x, y] = [event.clientX + 10, event.clientY + 10]; // beside the pointer, within the window
  tooltip.style.left = `${Math.max(Math.min(x, innerWidth - offsetWidth - 20), 0)}px`;
  tooltip.style.top = `${y + offsetHeight < innerHeight ? y : Math.max(y - offsetHeight - 20, 0)}px`;
}
// Vega's own has no reach, shows only what a line begins with, and ends with a tap.
for (const kind of ["pointermove", "click"]) document.addEventListener(kind, tell);

/** The signals that hold the shown part of each axis, by channel. */
function ranges(view, spec) {
  const signals = view.getState({ signals: (name) => name?.startsWith("zoom_") }).signals;
  const units = spec.layer ?? [spec];
  const found = [];
  for (const channel of ["x", "y"]) {
    const fields = units.map((unit) => unit.encoding?.[channel]?.field);
    const field = fields.find((name) => name && `zoom_${name}` in signals);
    if (field) found.push([channel, `zoom_${field}`]);
  }
  return found;
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-zoom]");
  const figure = button?.closest("figure.plot");
  const view = views.get(figure);
  if (!view) return;
  const factor = Number(button.dataset.zoom);
  for (const [channel, signal] of ranges(view, SPECS[figure.dataset.spec])) {
    const [low, high] = view.scale(channel).domain();
    const middle = (low + high) / 2;
    const half = ((high - low) / 2) * factor;
    view.signal(signal, factor ? [middle - half, middle + half] : null);
  }
  view.runAsync();
});
