"""The report as one HTML page that needs no other file and no network."""

import base64
import hashlib
import re
from dataclasses import asdict
from pathlib import Path

from cradle_show import shown

from . import live_types, origin, words
from .chart import Run
from .charts import charts_of
from .figures import compared
from .flame import flame_of

HEAPS_SHOWN = 4
# Sentences and lists of causes may be longer than a name.
SENTENCE = 1000
SCRIPTS_OF_CHARTS = ("uplot/uPlot.iife.min.js", "page_parts/format.js", "page_parts/charts.js", "page_parts/start.js")
SCRIPTS_OF_FLAMES = ("flame_graph/d3-selection.min.js", "flame_graph/d3-flamegraph.min.js", "page_parts/flame.js")
HERE = Path(__file__).resolve().parent


def one_heap(heap, summary):
    return {
        "title": f"Heap {shown(heap.label)}" if heap.label else "The heap",
        "advice": [shown(sentence, SENTENCE) for sentence in words.advice(heap, summary)],
        "rows": [(name, shown(value, SENTENCE)) for name, value in words.rows(heap, summary)],
        "types": list(live_types.table(heap)) if heap.types else [],
        "charts": charts_of([Run(heap, summary, "", "a")]) if heap.minors or heap.majors else [],
    }


def log_part(log, reports, with_heaps):
    """The template's data for a log; reports is empty if the log has nothing of the collector in it."""
    left = len(reports) - HEAPS_SHOWN
    return {
        "path": shown(log.path),
        "form": shown(log.form),
        "remarks": [shown(remark, SENTENCE) for remark in log.remarks],
        "origin": [(name, shown(value, SENTENCE)) for name, value in origin.rows(log, [heap for heap, _ in reports])],
        "heaps": [one_heap(*report) for report in reports[:HEAPS_SHOWN]] if with_heaps else [],
        "left_out": left if left > 0 and with_heaps else 0,
    }


def comparison(logs, all_reports):
    pair = [reports[0] for reports in all_reports]
    runs = [Run(*report, name, tone) for report, name, tone in zip(pair, ("first", "second"), "ab")]
    return {
        "title": "First and second",
        "rows": list(compared(*pair)),
        "advice": [[shown(sentence, SENTENCE) for sentence in words.advice(*report)] for report in pair],
        "labels": [shown(heap.label) or "without a name" for heap, _ in pair],
        "others": any(len(reports) > 1 for reports in all_reports),
        "charts": charts_of(runs) if all(heap.minors or heap.majors for heap, _ in pair) else [],
    }


def part(*names):
    return "".join((HERE / name).read_text(encoding="utf-8").rstrip() + "\n" for name in names)


def packed(chart):
    """The chart as charts.js reads it, without what is absent."""
    value = asdict(chart)
    value["series"] = [
        {key: one for key, one in series.items() if one not in (None, False)} for series in value["series"]
    ]
    return value


# What it does, which library, its folder, its licence's name, and the file with the licence's text.
LIBRARIES_OF_CHARTS = (("draws the charts", "uPlot", "uplot", "MIT licence", "LICENSE"),)
LIBRARIES_OF_FLAMES = (
    ("draws the flame graphs", "d3-flame-graph", "flame_graph", "Apache License 2.0", "LICENSE"),
    ("gives them their places", "d3-selection", "flame_graph", "ISC licence", "LICENSE-d3-selection"),
)


def licence(what, library, folder, name, file):
    """The library's name, version and licence, which go wherever its text goes."""
    version = re.search(rf"{library} ([\d.]*\d)", part(f"{folder}/README.md"))[1]
    return {"what": what, "library": f"{library} {version}", "name": name, "text": part(f"{folder}/{file}")}


def page(logs, all_reports, refusal=None, grows=False, profiles=()):
    """The page's text. Jinja2 must be installed. refusal: why there is nothing to report. grows: the page loads itself again.
    profiles: (path, profile) of heaps, of which there may be some without a log."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    compare = len(logs) > 1 and all(all_reports)
    parts = [log_part(log, reports, not compare) for log, reports in zip(logs, all_reports)]
    both = comparison(logs, all_reports) if compare else None
    groups = [both] if both else [heap for one in parts for heap in one["heaps"]]
    data = [[packed(chart) for chart in group["charts"]] for group in groups]
    flames = [flame_of(profile, path) for path, profile in profiles]
    trees = [flame.pop("tree") for flame in flames]
    for flame, tree in zip(flames, trees):
        flame["has_tree"] = tree is not None
    scripts, styles, libraries = ["page_parts/live.js"] if grows else [], ["page_parts/report.css"], ()
    if any(trees):
        scripts, libraries = [*SCRIPTS_OF_FLAMES, *scripts], LIBRARIES_OF_FLAMES
        styles += ["flame_graph/d3-flamegraph.css", "page_parts/flame.css"]
    if any(data):
        scripts, libraries = [*SCRIPTS_OF_CHARTS, *scripts], LIBRARIES_OF_CHARTS + libraries
        styles.insert(0, "uplot/uPlot.min.css")
    script = part(*scripts)
    environment = Environment(
        loader=FileSystemLoader(HERE / "page_parts"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    paths = [one["path"] for one in parts] or list(dict.fromkeys(flame["path"] for flame in flames))
    return environment.get_template("report.html").render(
        title=" and ".join(paths),
        logs=parts,
        both=both,
        refusal=None if refusal is None else shown(refusal, SENTENCE),
        data=data,
        flames=flames,
        trees=trees,
        grows=grows,
        style=part(*styles),
        script=script,
        # The page's own script is the only one that a browser runs, whatever the log's names hold.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        licences=[licence(*library) for library in libraries],
    )
