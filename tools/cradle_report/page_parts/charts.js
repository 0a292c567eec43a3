// Charts from their descriptions (tools/cradle_report/chart.py), drawn by uPlot.

const HEIGHT = 240;
const NEAR_PIXELS = 24; // a point is told when the pointer is so near to it
const LANE = 26; // the height of a lane, where there are many
const LANE_SHARE = 0.6; // of a lane's height that its items fill

const colour = (name) =>
  getComputedStyle(document.documentElement)
    .getPropertyValue("--" + name)
    .trim();

const isLine = (series) => series.style === "line" || series.style === "area";

// Where in a series the pointer's x is: an index into its own x, or -1.
function under(plot, series, x) {
  if (series.style === "level") return 0;
  if (series.style === "step") return place(series.x, x, "before");
  if (series.style === "interval") return x < series.x[0] ? -1 : place(series.x, x, "after");
  if (series.style === "lane") {
    const before = place(series.x, x, "before");
    if (before >= 0 && x <= series.ends[before]) return before;
  }
  const found = place(series.x, x);
  if (found < 0 || series.style.startsWith("bars") || isLine(series)) {
    const outside = isLine(series) && (x < series.x[0] || x > series.x[series.x.length - 1]);
    const other = series.style.startsWith("bars") && series.x[found] !== Math.round(x);
    return outside || other ? -1 : found;
  }
  const distance = Math.abs(plot.valToPos(series.x[found], "x") - plot.valToPos(x, "x"));
  return distance <= NEAR_PIXELS ? found : -1;
}

// What a series of this style says where nothing of it is under the pointer.
const ABSENT = {
  points: "-",
  "big points": "-",
  lane: "none",
  bars: "none",
  "bars left": "none",
  "bars right": "none",
};

function said(series, index, format) {
  if (series.style === "level") return format.value(series.y[0]);
  if (index < 0) return ABSENT[series.style] ?? NOT_KNOWN;
  return series.words ? series.words[index] : format.value(series.y[index]);
}

function bars(style) {
  const side = { bars: 0, "bars left": -1, "bars right": 1 }[style];
  return uPlot.paths.bars({ size: [side ? 0.38 : 0.8, 60], align: side });
}

function drawn(series, format, xs) {
  const base = {
    label: series.label,
    stroke: colour(series.colour),
    width: series.style === "lane" ? 0 : 1.25,
    points: { show: false },
    dash: series.dashed ? [6, 4] : undefined,
    value: (plot, _, __, i) =>
      plot.cursor.idx == null && series.style !== "level"
        ? ""
        : said(series, i == null ? -1 : place(series.x, xs[i]), format),
  };
  if (series.style === "points" || series.style === "big points") {
    const size = series.style === "points" ? 4 : 6;
    return { ...base, paths: () => null, points: { show: true, size, width: 0, fill: base.stroke, filter: null } };
  }
  if (series.style === "step")
    return {
      ...base,
      paths: uPlot.paths.stepped({ align: 1 }),
      points: { show: series.x.length < 200 && !series.dashed, size: 5 },
    };
  if (series.style === "interval") return { ...base, paths: uPlot.paths.stepped({ align: -1 }) };
  if (series.style.startsWith("bars")) return { ...base, paths: bars(series.style), fill: base.stroke, width: 0 };
  if (series.style === "lane") return { ...base, paths: () => null };
  if (series.style === "area") return { ...base, fill: base.stroke, stroke: colour("paper"), spanGaps: true };
  return { ...base, spanGaps: true, points: { show: series.x.length < 60 && !series.dashed, size: 4 } };
}

// The items of the lanes, as bars between their beginning and end.
function drawLanes(plot, lanes) {
  const { ctx } = plot,
    { left, top, width, height } = plot.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  for (const { series, colours } of lanes) {
    const middle = plot.valToPos(series.y[0], "y", true);
    const tall = Math.abs(plot.valToPos(1, "y", true) - plot.valToPos(0, "y", true)) * LANE_SHARE;
    series.x.forEach((begin, i) => {
      if (series.ends[i] < plot.scales.x.min || begin > plot.scales.x.max) return;
      const from = Math.min(plot.valToPos(begin, "x", true), left + width - devicePixelRatio),
        to = plot.valToPos(series.ends[i], "x", true);
      ctx.fillStyle = colours[i];
      ctx.fillRect(from, middle - tall / 2, Math.max(to - from, devicePixelRatio), tall);
    });
  }
  ctx.restore();
}

// The axis of values is as wide as its widest number.
function axisSize(plot, values, index, cycle) {
  const axis = plot.axes[index];
  if (cycle > 1) return axis._size;
  const longest = (values ?? []).reduce((most, one) => ((one ?? "").length > most.length ? one : most), "");
  plot.ctx.font = axis.font[0];
  return Math.ceil(plot.ctx.measureText(longest).width / devicePixelRatio) + axis.ticks.size + axis.gap + 4;
}

function yScale(chart, lanes) {
  if (lanes) return { range: [-0.5, chart.y.names.length - 0.5] };
  if (chart.y.scale === "log") return { distr: 3 };
  return { range: (_, min, max) => [0, chart.y.unit === "%" && max > 50 ? 100 : max > 0 ? max * 1.05 : 1] };
}

function xScale(chart, xs) {
  const first = chart.over_time ? 0 : xs[0],
    last = xs[xs.length - 1];
  const margin = chart.x.quantity === "class" ? 0.6 : first === last ? Math.abs(first) / 2 || 1 : 0;
  return { time: false, distr: chart.x.scale === "log" ? 3 : 1, whole: [first - margin, last + margin] };
}

function axes(chart, lanes) {
  const look = {
    stroke: colour("quiet"),
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { stroke: colour("line"), width: 1, size: 5 },
  };
  const font = { font: "12px system-ui, sans-serif" };
  const x = formats(chart.x),
    y = formats(chart.y);
  const bottom = {
    ...look,
    ...font,
    values: (_, splits) => splits.map((one) => (one == null ? "" : x.end(one))),
    size: 34,
    space: 60,
  };
  const side = {
    ...look,
    ...font,
    values: (_, splits) => splits.map((one) => (one == null ? "" : y.tick(one))),
    size: axisSize,
  };
  if (chart.x.quantity === "class") Object.assign(bottom, { incrs: [1, 2, 5, 10, 20, 50], space: 40 });
  if (lanes) Object.assign(side, { splits: () => chart.y.names.map((_, i) => i), grid: { show: false } });
  return [bottom, side];
}

function heightOf(chart) {
  return Math.max(HEIGHT, (chart.y.names ?? []).length * LANE + 50);
}

// What plot() draws, with the description's data laid on common xs.
function options(chart, width, sync, changed) {
  const lanes = chart.series.some((one) => one.style === "lane");
  const columns = uPlot.join(chart.series.map((one) => [one.x, one.y]));
  const xs = columns[0],
    scale = xScale(chart, xs),
    x = formats(chart.x),
    y = formats(chart.y);
  const items = chart.series
    .filter((one) => one.style === "lane")
    .map((series) => ({ series, colours: series.colours.map(colour) }));
  const unit =
    chart.x.quantity === "number" && chart.x.unit
      ? "time"
      : { percentile: "percentile", class: chart.x.unit || "object", time: "window" }[chart.x.quantity];
  return {
    data: columns,
    whole: scale.whole,
    options: {
      width,
      height: heightOf(chart),
      padding: [10, 30, 0, 0],
      legend: { markers: { width: 0, fill: (_, i) => colour(chart.series[i - 1].colour) } },
      scales: {
        x: {
          time: false,
          distr: scale.distr,
          range: (_, min, max) => [min, max],
          min: scale.whole[0],
          max: scale.whole[1],
        },
        y: yScale(chart, lanes),
      },
      axes: axes(chart, lanes),
      cursor: {
        drag: { x: true, y: false },
        y: !lanes,
        sync: sync ? { key: sync } : undefined,
        points: { show: !lanes },
        dataIdx: (plot, i, closest, at) => {
          if (i === 0) return closest;
          const found = under(plot, chart.series[i - 1], at);
          return found < 0 ? null : place(xs, chart.series[i - 1].x[found]);
        },
      },
      series: [
        {
          label: unit,
          value: (plot) =>
            plot.cursor.left >= 0
              ? x.value(
                  chart.x.quantity === "class"
                    ? Math.round(plot.posToVal(plot.cursor.left, "x"))
                    : plot.posToVal(plot.cursor.left, "x"),
                )
              : "",
        },
        ...chart.series.map((one) => drawn(one, y, xs)),
      ],
      hooks: {
        draw: lanes ? [(plot) => drawLanes(plot, items)] : [],
        setScale: [(plot, key) => key === "x" && changed(plot)],
      },
    },
  };
}
