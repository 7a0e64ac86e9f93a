/** Vega's style in the page's colours, which are those of light or dark. */
function style() {
  const { color, fontFamily } = getComputedStyle(document.body);
  const line = isDark() ? "#4a545e" : "#c3cbd3";
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
    rule: { color },
    view: { stroke: line },
    range: { category: { scheme: isDark() ? "set2" : "dark2" } },
  };
}
const LETTER = 7, SYMBOL = 32; // pixels of a legend's text and of what stands before it
/** What the legends of colours say. */
function labels(spec) {
  const found = spec.encoding?.color?.legend?.values ?? spec.encoding?.color?.scale?.domain ?? [];
  return [...found, ...(spec.layer ?? []).flatMap(labels)].map(String);
}
/** As many columns as have room for the longest label. */
function fitted(legend, spec, width) {
  const longest = LETTER * Math.max(8, ...labels(spec).map((label) => label.length)) + SYMBOL;
  legend.columns = Math.max(1, Math.min(3, Math.floor(width / longest)));
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
    actions: false, renderer: "svg", config, tooltip: { theme: "custom" },
  });
  views.set(figure, view);
  figure.dataset.drawn = "true";
}
const figures = [...document.querySelectorAll("figure.plot")];
for (const figure of figures) whenSeen(figure, () => plot(figure));
document.addEventListener("theme", (event) => {
  for (const figure of views.keys()) event.detail.push(plot(figure));
});

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
