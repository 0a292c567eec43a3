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


def size_text(count):
    unit = next((unit for unit in "GM" if count >= 1 << UNITS[unit]), "K")
    return f"{count / (1 << UNITS[unit]):g}{unit}"


def select(result, **wanted):
    return [row for row in result["rows"] if all(row[key] == value for key, value in wanted.items())]


def in_order(values):
    return list(dict.fromkeys(values))


def save(figure, path):
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def panels(count, width=3.4, height=3.2):
    """The constrained layout leaves room for each label and for the legend, which stands beside the panels."""
    figure, axes = pyplot.subplots(1, count, figsize=(width * count, height), squeeze=False, layout="constrained")
    return figure, axes[0]


def add_legend(axis):
    """Above the panel and its title, where it covers nothing."""
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1.08), ncols=4, frameon=False, borderaxespad=0)


def bars(axis, groups, series):
    """series: {pages: [value or None for each group]}."""
    width = 0.8 / max(1, len(series))
    for i, (pages, values) in enumerate(series.items()):
        places = [x + i * width for x, value in enumerate(values) if value is not None]
        axis.bar(places, [value for value in values if value is not None], width, label=pages, color=COLOURS[pages])
    middles = [x + 0.4 - width / 2 for x in range(len(groups))]
    axis.set_xticks(middles, groups, rotation=30, ha="right", rotation_mode="anchor")
    axis.grid(axis="x", visible=False)


def lines(axis, rows, size_of, value_of):
    for pages in in_order(row["pages"] for row in rows):
        points = sorted((size_of(row), value_of(row)) for row in rows if row["pages"] == pages)
        axis.plot(*zip(*points), marker="o", markersize=3, label=pages, color=COLOURS[pages])
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: size_text(x)))


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
    add_legend(axes[0])
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
        axis.set_ylim(bottom=0)  # after all is drawn: it keeps the top where it then is
        axis.set_title(phase)
        axis.set_xlabel("memory (x: an array in a Cradle heap)")
    axes[0].set_ylabel("ns an access")
    add_legend(axes[0])
    save(figure, path)


def draw_fault(result, path):
    """Plots each duration over the share of faults that take longer, so that the rare long ones, which matter, have room."""
    figure, (axis,) = panels(1, width=8)
    for row in result["rows"]:
        shares = {float(quantile): ns for quantile, ns in row["quantiles"].items()}
        quantiles = sorted((1 / max(1 - share, 1 / row["probes"]), ns) for share, ns in shares.items())
        style = {"map": ":", "first write": "-", "second write": "--"}[row["phase"]]
        axis.plot(*zip(*quantiles), style, color=COLOURS[row["pages"]], label=f"{row['pages']}, {row['phase']}")
    axis.set_yscale("log")
    axis.set_xscale("log")
    most = max(row["probes"] for row in result["rows"])
    shares = [(share, name) for share, name in ((1, "least"), (2, "p50"), (10, "p90"), (100, "p99")) if share < most]
    axis.set_xticks(*zip(*shares, (most, "longest")))
    axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.set_xlabel(f"of {most} faults of a kind")
    axis.set_ylabel("ns")
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    save(figure, path)


def draw_pymalloc(result, path):
    base = {row["case"]: row["cpu_ns"] for row in select(result, phase="run", pages="small")}
    cases, series = grouped(result, "run", lambda row: 100 * (row["cpu_ns"] / base[row["case"]] - 1) if row["case"] in base else None)
    series.pop("small", None)
    figure, (axis,) = panels(1, width=8)
    bars(axis, cases, series)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_ylabel("processor time\nagainst small pages, %")
    add_legend(axis)
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
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("ms a run")
    add_legend(axes[0])
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
