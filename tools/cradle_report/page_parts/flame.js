// The flame graphs of allocation profiles, from their trees (tools/cradle_report/flame.py), drawn by d3-flame-graph.

const CELL = 20; // the height of a frame
const FADE_MS = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200;
const SHADES = 5; // of functions, in report.css

function bytes(value) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  for (; value >= 1024 && power < 4; power++) value /= 1024;
  return (power ? value.toFixed(2) : String(value)) + " " + units[power];
}

function percent(share) {
  return (100 * share).toFixed(2) + " %";
}

function shade(name) {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)) % 65521;
  return "function" + ((sum % SHADES) + 1);
}

// The tree with the bytes of one graph; what has none in it is left out.
function withBytes(node, graph) {
  const below = (node.c ?? []).filter((one) => one.v[graph]).map((one) => withBytes(one, graph));
  return { name: node.n, value: node.v[graph], children: below, node };
}

function depth(node) {
  return 1 + Math.max(0, ...node.children.map(depth));
}

class Flame {
  constructor(section, flame) {
    this.section = section;
    this.flame = flame;
    this.holder = section.querySelector(".flame");
    this.details = section.querySelector(".details");
    this.search = section.querySelector("input");
    this.graph = 0;
    for (const [graph, button] of section.querySelectorAll("[data-graph]").entries())
      button.addEventListener("click", () => this.show(graph));
    section.querySelector(".whole").addEventListener("click", () => this.chart?.resetZoom());
    this.search.addEventListener("input", () => this.look());
    new ResizeObserver(() => this.fit()).observe(this.holder);
    this.show(0);
  }

  words(node) {
    const [allocated, survived] = node.v;
    const where = node.at ? ` (${node.at})` : "";
    const share = `${percent(node.v[this.graph] / this.flame.v[this.graph])} of all`;
    const kept = this.graph === 0 ? `; ${percent(survived / allocated)} of it survived` : "";
    return `${node.n}${where}: ${bytes(node.v[this.graph])}, ${share}${kept}`;
  }

  colour(node, isFound) {
    return `var(--${isFound ? "found" : node.k === "function" ? shade(node.n) : node.k})`;
  }

  show(graph) {
    this.graph = graph;
    for (const [i, button] of this.section.querySelectorAll("[data-graph]").entries())
      button.setAttribute("aria-pressed", String(i === graph));
    this.holder.replaceChildren();
    this.chart = null;
    this.tell(null);
    if (!this.flame.v[graph]) return;
    const data = withBytes(this.flame, graph);
    this.chart = flamegraph()
      .width(this.holder.clientWidth)
      .height(depth(data) * CELL)
      .cellHeight(CELL)
      .inverted(true)
      .minFrameSize(1)
      .transitionDuration(FADE_MS)
      .sort((one, other) => other.value - one.value)
      .setLabelHandler((d) => this.words(d.data.node))
      .setColorMapper((d) => this.colour(d.data.node, d.highlight))
      .setDetailsHandler((text) => this.tell(text))
      .setSearchMatch((d, term) => d.data.name.toLowerCase().includes(term.toLowerCase()))
      .setSearchHandler((_, sum, whole) => {
        this.found = `${bytes(sum)} in frames that match, ${percent(sum / whole)} of all`;
      });
    d3.select(this.holder).datum(data).call(this.chart);
    this.look();
  }

  // What is under the pointer, or else what the search found.
  tell(text) {
    const none = this.flame.v[this.graph] ? "Point at a frame to see its bytes; click one to zoom." : "Nothing is in this graph.";
    this.details.textContent = text || this.found || none;
  }

  look() {
    this.found = null;
    if (this.chart && this.search.value) this.chart.search(this.search.value);
    else if (this.chart) this.chart.clear();
    this.tell(null);
  }

  fit() {
    const width = this.holder.clientWidth;
    if (this.chart && width && width !== this.chart.width()) this.chart.width(width).update();
  }
}

window.cradleFlames = JSON.parse(document.getElementById("flames").textContent).map(
  (flame, i) => flame && new Flame(document.querySelector(`section[data-flame="${i}"]`), flame),
);
