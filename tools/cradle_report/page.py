"""The report as one HTML page that needs no other file and no network."""

import base64
import hashlib
import re
from dataclasses import asdict
from pathlib import Path

from cradle_show import shown

from . import origin, words
from .chart import Run
from .charts import charts_of
from .figures import compared

HEAPS_SHOWN = 4
# Sentences and lists of causes may be longer than a name.
SENTENCE = 1000
SCRIPTS_OF_CHARTS = ("uplot/uPlot.iife.min.js", "page_parts/format.js", "page_parts/charts.js", "page_parts/start.js")
HERE = Path(__file__).resolve().parent


def one_heap(heap, summary):
    return {
        "title": f"Heap {shown(heap.label)}" if heap.label else "The heap",
        "advice": [shown(sentence, SENTENCE) for sentence in words.advice(heap, summary)],
        "rows": [(name, shown(value, SENTENCE)) for name, value in words.rows(heap, summary)],
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


def licence():
    """The library's name, version and licence, which go wherever its text goes."""
    version = re.search(r"uPlot ([\d.]+)", part("uplot/README.md"))[1]
    return f"uPlot {version}", part("uplot/LICENSE")


def page(logs, all_reports, refusal=None, grows=False):
    """The page's text. Jinja2 must be installed. refusal: why there is nothing to report. grows: the page loads itself again."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    compare = len(logs) > 1 and all(all_reports)
    parts = [log_part(log, reports, not compare) for log, reports in zip(logs, all_reports)]
    both = comparison(logs, all_reports) if compare else None
    groups = [both] if both else [heap for one in parts for heap in one["heaps"]]
    data = [[packed(chart) for chart in group["charts"]] for group in groups]
    scripts = SCRIPTS_OF_CHARTS if any(data) else ()
    script = part(*scripts, *(["page_parts/live.js"] if grows else []))
    environment = Environment(
        loader=FileSystemLoader(HERE / "page_parts"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    name, text = licence()
    return environment.get_template("report.html").render(
        logs=parts,
        both=both,
        refusal=None if refusal is None else shown(refusal, SENTENCE),
        data=data,
        grows=grows,
        style=part("uplot/uPlot.min.css", "page_parts/report.css"),
        script=script,
        # The page's own script is the only one that a browser runs, whatever the log's names hold.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        library=name,
        licence=text,
    )
