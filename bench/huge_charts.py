"""The pictures of what huge pages bring, drawn from the JSON of huge-pages. Needs matplotlib.

Times are the processor's, medians; of single faults the clock's.
"""

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


DRAW = {"access": draw_access, "pymalloc": draw_pymalloc}
