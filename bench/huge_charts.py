"""The pictures of what huge pages bring, drawn from the JSON of huge-pages. Needs matplotlib.

Times are the processor's, medians; of single faults the clock's.
"""

import re
import sys

try:
    import matplotlib
except ImportError:
    sys.exit(f"the pictures need matplotlib for {sys.executable} (Debian: python3-matplotlib, with /usr/bin/python3)")
matplotlib.use("Agg")
from matplotlib import pyplot, ticker

# The same file for the same numbers, with text as text.
matplotlib.rcParams.update({"svg.hashsalt": "cradle", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
COLOURS = {"small": "#888888", "thp": "#1f77b4", "hugetlb": "#d95f02", "1g": "#1b9e77"}
UNITS = {"K": 10, "M": 20, "G": 30}


def bytes_of(text):
    """'64M' in bytes."""
    return int(text[:-1]) << UNITS[text[-1]]


def select(result, **wanted):
    return [row for row in result["rows"] if all(row[key] == value for key, value in wanted.items())]


def in_order(values):
    return list(dict.fromkeys(values))


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def panels(count, width=3.4, height=3.0):
    figure, axes = pyplot.subplots(1, count, figsize=(width * count, height), squeeze=False)
    return figure, axes[0]


def bars(axis, groups, series):
    """series: {pages: [value or None for each group]}."""
    width = 0.8 / max(1, len(series))
    for i, (pages, values) in enumerate(series.items()):
        places = [x + i * width for x, value in enumerate(values) if value is not None]
        axis.bar(places, [value for value in values if value is not None], width, label=pages, color=COLOURS[pages])
    axis.set_xticks([x + 0.4 - width / 2 for x in range(len(groups))], groups, rotation=30, ha="right")
    axis.grid(axis="x", visible=False)


def lines(axis, rows, size_of, value_of):
    for pages in in_order(row["pages"] for row in rows):
        points = sorted((size_of(row), value_of(row)) for row in rows if row["pages"] == pages)
        axis.plot(*zip(*points), marker="o", markersize=3, label=pages, color=COLOURS[pages])
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x / 2**30:g}G" if x >= 2**30 else f"{x / 2**20:g}M" if x >= 2**20 else f"{x / 2**10:g}K"))
    axis.set_ylim(bottom=0)


def grouped(result, phase, value_of):
    """The cases of a phase, and the value of each by kind of page."""
    rows = select(result, phase=phase)
    cases = in_order(row["case"] for row in rows)
    values = {(row["case"], row["pages"]): value_of(row) for row in rows}
    return cases, {pages: [values.get((case, pages)) for case in cases] for pages in in_order(row["pages"] for row in rows)}


def each_ns(row):
    """Of the processor's time, which other programs do not disturb."""
    return row["cpu_ns"] / row["operations"]


def draw_by_case(result, path, phases, value_of, label):
    figure, axes = panels(len(phases))
    for axis, phase in zip(axes, phases):
        bars(axis, *grouped(result, phase, value_of))
        axis.set_title(phase)
    axes[0].set_ylabel(label)
    axes[0].legend()
    save(figure, path)


def draw_touch(result, path):
    draw_by_case(result, path, ["touch", "fill", "free"], each_ns, "ns a base page")


def draw_access(result, path):
    phases = in_order(row["phase"] for row in result["rows"])
    figure, axes = panels(len(phases))
    for axis, phase in zip(axes, phases):
        lines(axis, select(result, phase=phase, heap=False), lambda row: row["bytes"], each_ns)
        for row in select(result, phase=phase, heap=True):
            axis.plot(row["bytes"], each_ns(row), marker="x", markersize=8, linestyle="none", color=COLOURS[row["pages"]])
        axis.set_title(phase)
        axis.set_xlabel("memory (x: an array in a Cradle heap)")
    axes[0].set_ylabel("ns an access")
    axes[0].legend()
    save(figure, path)


def draw_fault(result, path):
    figure, (axis,) = panels(1, width=6)
    for row in result["rows"]:
        quantiles = sorted((float(quantile), ns) for quantile, ns in row["quantiles"].items())
        style = {"map": ":", "first write": "-", "second write": "--"}[row["phase"]]
        axis.plot(*zip(*quantiles), style, color=COLOURS[row["pages"]], label=f"{row['pages']}, {row['phase']}")
    axis.set_yscale("log")
    axis.set_xlabel("quantile")
    axis.set_ylabel("ns")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path)


def draw_pymalloc(result, path):
    base = {row["case"]: row["cpu_ns"] for row in select(result, phase="run", pages="small")}
    cases, series = grouped(result, "run", lambda row: 100 * (row["cpu_ns"] / base[row["case"]] - 1) if row["case"] in base else None)
    series.pop("small", None)
    figure, (axis,) = panels(1, width=8)
    bars(axis, cases, series)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_ylabel("processor time against small pages, %")
    axis.legend()
    save(figure, path)


def draw_nursery(result, path):
    parts = lambda row: re.fullmatch(r"(\w+)-(\d+[KMG])", row["case"]).groups()
    programs = in_order(parts(row)[0] for row in result["rows"])
    figure, axes = panels(len(programs))
    for axis, program in zip(axes, programs):
        rows = [row for row in result["rows"] if parts(row)[0] == program]
        lines(axis, rows, lambda row: bytes_of(parts(row)[1]), lambda row: row["cpu_ns"] / 1e6)
        axis.set_title(program)
        axis.set_xlabel("nursery")
    axes[0].set_ylabel("ms a run")
    axes[0].legend()
    save(figure, path)


def draw_graph(result, path):
    draw_by_case(result, path, in_order(row["phase"] for row in result["rows"]), each_ns, "ns a node or step")


DRAW = {
    "touch": draw_touch,
    "access": draw_access,
    "fault": draw_fault,
    "pymalloc": draw_pymalloc,
    "nursery": draw_nursery,
    "graph": draw_graph,
}
