// Puts the charts of the page into their places, and keeps them in step.

const charts = []; // {name, group, over_time, plot, whole} of each chart drawn

function element(tag, text, parent) {
  const made = document.createElement(tag);
  made.textContent = text;
  return parent.appendChild(made);
}

function zoom(chart, min, max) {
  chart.plot.setScale("x", { min: Math.max(min, chart.whole[0]), max: Math.min(max, chart.whole[1]) });
}

// Narrows what is shown, or widens it, and moves it by a share of its length; never beyond the whole.
function change(chart, factor, shift) {
  const { min, max, distr } = chart.plot.scales.x;
  const [to, back] = distr === 3 ? [Math.log, Math.exp] : [Number, Number];
  const [low, high, first, last] = [min, max, ...chart.whole].map(to);
  const length = Math.min((high - low) * factor, last - first);
  const middle = (low + high) / 2 + shift * length;
  const begin = Math.min(Math.max(middle - length / 2, first), last - length);
  zoom(chart, back(begin), back(begin + length));
}

// Charts over time of a heap show the same part of it.
function follow(chart) {
  if (!chart.plot || !chart.over_time) return;
  const { min, max } = chart.plot.scales.x;
  for (const other of charts) {
    if (other === chart || other.group !== chart.group || !other.over_time || !other.plot) continue;
    const scale = other.plot.scales.x;
    if (scale.min !== min || scale.max !== max) other.plot.setScale("x", { min, max });
  }
}

function draw(chart) {
  const shown = chart.plot && chart.plot.scales.x;
  const hidden = chart.plot ? chart.plot.series.map((one) => !one.show) : [];
  if (chart.plot) chart.plot.destroy();
  const sync = chart.over_time ? "time-" + chart.group : null;
  const made = options(chart.description, chart.holder.clientWidth, sync, () => follow(chart));
  chart.whole = made.whole;
  chart.plot = new uPlot(made.options, made.data, chart.holder);
  chart.plot.over.addEventListener("dblclick", () => zoom(chart, ...chart.whole));
  hidden.forEach((is, i) => is && chart.plot.setSeries(i, { show: false }));
  if (shown && shown.min != null) chart.plot.setScale("x", { min: shown.min, max: shown.max });
}

function add(description, group, parent) {
  const figure = element("figure", "", parent);
  figure.id = `${description.name}-${group}`;
  // An area that is hidden would leave its place to the one above it.
  if (description.series.some((one) => one.style === "area")) figure.className = "stacked";
  const caption = element("figcaption", "", figure);
  const unit = description.y.unit && description.series.length ? `, ${description.y.unit}` : "";
  element("b", description.title + unit, caption);
  for (const note of [description.notes.join(" ")]) if (note) element("p", note, figure).className = "notes";
  if (!description.series.length) return;
  const holder = element("div", "", figure);
  holder.className = "plot";
  const chart = { name: description.name, group, over_time: description.over_time, description, holder };
  const buttons = [
    ["‹", "earlier or smaller", () => change(chart, 1, -0.5)],
    ["›", "later or greater", () => change(chart, 1, 0.5)],
    ["+", "zoom in", () => change(chart, 0.5, 0)],
    ["−", "zoom out", () => change(chart, 2, 0)],
    ["whole", "show the whole", () => zoom(chart, ...chart.whole)],
  ];
  for (const [text, title, action] of buttons) {
    const button = element("button", text, caption);
    button.type = "button";
    button.title = title;
    button.setAttribute("aria-label", `${description.title}: ${title}`);
    button.addEventListener("click", action);
  }
  charts.push(chart);
  draw(chart);
}

function start() {
  const groups = JSON.parse(document.getElementById("data").textContent);
  for (const parent of document.querySelectorAll(".charts")) {
    const group = Number(parent.dataset.group);
    for (const description of groups[group]) add(description, group, parent);
  }
  const fit = new ResizeObserver(() => {
    for (const { plot, holder, description } of charts) {
      if (holder.clientWidth && holder.clientWidth !== plot.width)
        plot.setSize({ width: holder.clientWidth, height: heightOf(description) });
    }
  });
  for (const { holder } of charts) fit.observe(holder);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(draw));
}

start();
window.cradleReport = { charts };
