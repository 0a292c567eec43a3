"""The report as one HTML page that needs no other file."""

import base64
import html
import io

from . import words
from .measures import MAJOR, allocated_at, nursery_at

BINS_MAX = 200
HEAPS_SHOWN = 4

STYLE = """
body { font: 13px/1.35 system-ui, sans-serif; margin: .8em auto; max-width: 100em; padding: 0 1em; color: #222; }
h1 { font-size: 1.3em; margin: .3em 0; } h2 { font-size: 1.1em; margin: .5em 0; }
.side { display: flex; flex-wrap: wrap; gap: 1.5em; } .side > * { flex: 1 1 26em; min-width: 0; }
td { padding: .1em .8em .1em 0; vertical-align: top; } td:first-child { color: #666; white-space: nowrap; }
img { width: 100%; } .remark { color: #a33; }
section + section { margin-top: 2em; }
.advice { align-self: start; background: #f4f6f9; border-left: 4px solid #4477aa; padding: .4em 1em; }
"""


def bins_of(heap):
    """Into how many parts the time is cut: a few collections in each."""
    return max(8, min(BINS_MAX, len(heap.minors) // 4))


def binned(heap, values):
    """Sums of the minor collections' values in equal parts of the time: (middle in seconds, sum) lists."""
    count = bins_of(heap)
    sums = [0.0] * count
    for minor, value in zip(heap.minors, values):
        sums[min((minor.end - heap.begin) * count // heap.wall, count - 1)] += value
    step = heap.wall / count / 1e9
    return [(index + 0.5) * step for index in range(count)], sums


def draw_timeline(axes, heap):
    axes.set(title="Pauses over time", xlabel="s", ylabel="ms", yscale="log")
    for name, colour, wanted in (("minor", "#4477aa", False), ("with a major one", "#cc3311", True)):
        chosen = [one for one in heap.pauses if any(kind in MAJOR for kind in one.kinds) == wanted and one.length > 0]
        if chosen:
            axes.plot([(one.begin - heap.begin) / 1e9 for one in chosen], [one.length / 1e6 for one in chosen], ".",
                      ms=2.5, color=colour, label=name, rasterized=True)
    axes.legend(fontsize=8)


def draw_histogram(axes, heap, summary):
    axes.set(title="Pauses by length", xlabel="ms", ylabel="pauses", xscale="log", yscale="log")
    lengths = [one.length / 1e6 for one in heap.pauses if one.length > 0]
    low, high = min(lengths), max(lengths)
    ratio = max(high / low, 1.01)
    axes.hist(lengths, bins=[low * ratio ** (step / 50) for step in range(51)], color="#4477aa")
    for name, value in (("p50", summary.p50), ("p99", summary.p99), ("p99.9", summary.p999), ("max", summary.longest)):
        axes.axvline(value / 1e6, color="#cc3311", lw=0.8)
        axes.annotate(name, (value / 1e6, 1), xycoords=("data", "axes fraction"), fontsize=7, rotation=90, va="top")


def draw_memory(axes, heap):
    axes.set(title="Memory before and after collections", xlabel="s", ylabel="MiB")
    steps = sorted(heap.minors + heap.done, key=lambda one: one.end)
    for key, colour, name in (("used_before_bytes", "#88ccee", "before"), ("used_after_bytes", "#4477aa", "after")):
        points = [(one.end, one.fields[key]) for one in steps if key in one.fields]
        points = points[:: max(1, len(points) // 4000)]
        axes.plot([(time - heap.begin) / 1e9 for time, _ in points], [used / 2**20 for _, used in points],
                  lw=0.8, color=colour, label=name)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def draw_rates(axes, heap):
    axes.set(title="Allocated and promoted", xlabel="s", ylabel="MiB a second", yscale="symlog")
    scale = bins_of(heap) / heap.wall * 1e9 / 2**20
    promoted = [one.fields.get("promoted_bytes", 0) for one in heap.minors]
    for values, colour, name in ((allocated_at(heap), "#4477aa", "allocated"), (promoted, "#cc3311", "promoted")):
        middles, sums = binned(heap, values)
        axes.plot(middles, [value * scale for value in sums], lw=1, color=colour, label=name)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def draw_survival(axes, heap):
    axes.set(title="Survival: share of the nursery promoted", xlabel="s", ylabel="%")
    middles, filled = binned(heap, nursery_at(heap))
    _, promoted = binned(heap, [one.fields.get("promoted_bytes", 0) for one in heap.minors])
    points = [(middle, 100 * part / whole) for middle, part, whole in zip(middles, promoted, filled) if whole]
    axes.plot([point[0] for point in points], [point[1] for point in points], lw=1, color="#4477aa")
    axes.set_ylim(bottom=0)


def draw_pacing(axes, heap):
    axes.set(title="Pacing: major collections", xlabel="s", ylabel="MiB")
    marks = (("used_before_bytes", "o", "used when it began"), ("used_after_bytes", "v", "live after it"),
             ("threshold_bytes", "x", "next threshold"))
    for key, marker, name in marks:
        chosen = [one for one in heap.done if isinstance(one.fields.get(key), int)]
        axes.plot([(one.end - heap.begin) / 1e9 for one in chosen], [one.fields[key] / 2**20 for one in chosen],
                  marker, ms=5, label=name)
    if heap.done:
        axes.legend(fontsize=8)
    else:
        axes.annotate("none", (0.5, 0.5), xycoords="axes fraction", ha="center")
    axes.set_ylim(bottom=0)


def draw_spans(axes, heap):
    axes.set(title="Size classes after the last major collection", xlabel="bytes of an object", ylabel="MiB")
    if not heap.spans:
        axes.annotate("not told", (0.5, 0.5), xycoords="axes fraction", ha="center")
        return
    places = range(len(heap.spans))
    used = [one.fields["used_bytes"] / 2**20 for one in heap.spans]
    waste = [one.fields["memory_bytes"] / 2**20 - part for one, part in zip(heap.spans, used)]
    axes.bar(places, used, width=0.9, color="#4477aa", label="in objects")
    axes.bar(places, waste, width=0.9, bottom=used, color="#cc3311", label="waste")
    shown = places[:: max(1, len(places) // 8)]
    axes.set_xticks(shown, [str(heap.spans[place].fields["object_bytes"]) for place in shown], rotation=45)
    axes.legend(fontsize=8)


def draw_backing(axes, heap):
    axes.set(title="Arenas: resident, and on huge pages", xlabel="s", ylabel="MiB")
    points = [(one.end, one.fields) for one in heap.arenas if "huge_bytes" in one.fields]
    if not points:
        axes.annotate("not told", (0.5, 0.5), xycoords="axes fraction", ha="center")
        return
    for key, style, colour, name in (("resident_bytes", "-", "#88ccee", "resident"), ("huge_bytes", "--", "#4477aa", "on huge pages")):
        axes.plot([(time - heap.begin) / 1e9 for time, _ in points], [fields[key] / 2**20 for _, fields in points], style,
                  marker=".", lw=1, color=colour, label=name)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def picture(heap, summary):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(19, 6.4), layout="constrained")
    axes = figure.subplots(2, 4)
    draw_timeline(axes[0][0], heap)
    if any(pause.length for pause in heap.pauses):
        draw_histogram(axes[0][1], heap, summary)
    draw_memory(axes[0][2], heap)
    draw_rates(axes[1][0], heap)
    draw_survival(axes[1][1], heap)
    draw_pacing(axes[1][2], heap)
    draw_spans(axes[0][3], heap)
    draw_backing(axes[1][3], heap)
    for one in (axes[0][0], axes[0][2], *axes[1]):
        one.set_xlim(0, heap.wall / 1e9)
    for one in axes.flat:
        one.tick_params(labelsize=8)
        one.grid(alpha=0.25)
    output = io.BytesIO()
    FigureCanvasAgg(figure).print_png(output, metadata={"Software": None})
    return base64.b64encode(output.getvalue()).decode()


def heap_part(heap, summary):
    title = f"<h2>Heap {html.escape(heap.label)}</h2>" if heap.label else ""
    points = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in words.advice(heap, summary))
    table = "".join(f"<tr><td>{html.escape(name)}<td>{html.escape(value)}" for name, value in words.rows(heap, summary))
    image = ""
    if heap.pauses:
        image = f'<img alt="Pauses, memory, rates, survival, pacing, size classes and huge pages" src="data:image/png;base64,{picture(heap, summary)}">'
    return (f'{title}<div class="side"><div class="advice"><b>What to look at first</b><ul>{points}</ul></div>'
            f"<table>{table}</table></div>{image}")


def log_part(log, reports):
    remarks = "".join(f'<p class="remark">{html.escape(remark)}</p>' for remark in log.remarks)
    heaps = "".join(heap_part(heap, summary) for heap, summary in reports[:HEAPS_SHOWN])
    left = len(reports) - HEAPS_SHOWN
    more = f"<p>{left} more heaps, with less time in collections, are left out.</p>" if left > 0 else ""
    return f"<h1>{html.escape(log.path)}: {html.escape(log.form)}</h1>{remarks}{heaps}{more}"


def page(logs, all_reports):
    """The page's text. matplotlib must be installed."""
    parts = "".join(f"<section>{log_part(log, reports)}</section>" for log, reports in zip(logs, all_reports))
    side = ' class="side"' if len(logs) > 1 else ""
    return (f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Cradle: {html.escape(logs[0].path)}</title>'
            f"<style>{STYLE}</style><div{side}>{parts}</div></html>\n")
