#!/usr/bin/env python3
"""Tests the page and the comparison of cradle-report.

    test_report_page.py LOG_FORMS SOURCE_ROOT

LOG_FORMS is the built tests/log_forms. The page's contents are checked in its text. Drawing, zooming and showing values
are tried in a headless Chromium, through Playwright. If one of these is missing, the test says so.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from report_support import PROGRAM, REPORT, InBrowser

from cradle_report import figures, live_types, measures, readers, thinning, words  # noqa: E402

CHARTS = [
    "pauses",
    "percentiles",
    "memory",
    "allocation",
    "promotion",
    "survival",
    "nursery",
    "majors",
    "huge-pages",
    "mmu",
    "lives",
    "classes",
]
NAME = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\x07\u202e'\"&" + "n" * 70000
HEAP = "1.1"


def event(time, name, **fields):
    return {"t": time, "heap": fields.pop("heap", HEAP), "event": name, **fields}


def minor(begin, length, **fields):
    return [
        event(begin, "gc-minor", phase="begin", cause=fields.pop("cause", "nursery full")),
        event(begin + length, "gc-minor", phase="end", **fields),
    ]


def head(**fields):
    return event(1, "cradle-log", version=1, **fields)


def many_minors(count):
    """A log with pauses of all lengths; the longest is 9.9 ms."""
    events, time = [head(), event(1, "gc-set-nursery-size", nursery_bytes=1 << 20, reason="asked for")], 1000
    for i in range(count):
        length = 9_900_000 if i == count // 2 else 10_000 + 7919 * i % 90_000
        events += minor(time, length, promoted_bytes=i % 1000, used_before_bytes=3 << 20, used_after_bytes=2 << 20)
        time += length + 1_000_000
    return events


def hostile():
    events = [head(heap=NAME), event(1, "gc-set-nursery-size", heap=NAME, nursery_bytes=4096, reason=NAME)]
    for begin in range(10_000, 1_000_000, 50_000):
        events += [
            {**one, "heap": NAME}
            for one in minor(begin, 900, cause=NAME, used_before_bytes=9000, used_after_bytes=5000)
        ]
    events += [
        event(1_000_000, "gc-collect", heap=NAME, cause=NAME),
        event(1_000_001, "gc-collect-step", heap=NAME, phase="begin"),
        event(1_000_900, "gc-collect-step", heap=NAME, phase="end", **{"from": NAME}),
        event(1_001_000, "gc-collect-done", heap=NAME, cause=NAME, used_after_bytes=4000),
        event(1_002_000, "gc-note", heap=NAME, text=NAME),
    ]
    return events


def live_by_type():
    """Two major collections: of the first, the last row is a sum; in the second, one type is tiny."""
    rows = [(1, "pair", 3, 200 << 10), (1, None, 1, 100 << 10), (1, "(rest)", 5, 50 << 10),
            (2, None, 2, 900 << 10), (2, "pair", 1, 100 << 10), (2, "tiny", 1, 8)]
    events = [event(20_000 * number, "gc-types", collection=number, type=7 if name is None else 1, types=1, live_objects=objects,
                    live_bytes=size, **({} if name is None else {"type_name": name})) for number, name, objects, size in rows]
    return [head(), *minor(10_000, 8000, promoted_bytes=100, used_before_bytes=3 << 20, used_after_bytes=2 << 20), *events]


FOLDER = tempfile.TemporaryDirectory()
PLACE = Path(FOLDER.name)
RESULTS = {}  # results of the runs that made pages, by the names of the logs


def report(*arguments):
    return subprocess.run(
        [sys.executable, REPORT, *map(str, arguments)], capture_output=True, text=True, cwd=PLACE, check=False
    )


def write_logs():
    subprocess.run([PROGRAM, PLACE], check=True)
    for name, events in (
        ("hostile.json", hostile()),
        ("long.json", many_minors(8500)),
        ("head.json", [head()]),
        ("empty.json", []),
        ("types.json", live_by_type()),
        ("bare.json", [head(), *minor(1000, 500), *minor(900_000, 700)]),
    ):
        write_log(name, events)


def write_log(name, events):
    (PLACE / name).write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in events))


class Pages(unittest.TestCase):
    def page_of(self, log, other=None):
        """The path of the page of a log, or of the comparison of two."""
        page = PLACE / f"{log}-{other}.html"
        if (log, other) not in RESULTS:
            RESULTS[log, other] = report(log, "--html", page, *(["--compare", other] if other else []))
        self.result = RESULTS[log, other]
        if "needs Jinja2" in self.result.stderr:
            self.skipTest("the page is not tested: no Python here has Jinja2 (tools/setup)")
        return page

    def holds(self, text, *wanted):
        """Like assertIn, but without the whole page in the message."""
        self.assertEqual([one for one in wanted if one not in text], [])

    def data(self, page):
        """The charts of the page's first heap, or of its comparison."""
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
        return {chart["name"]: chart for chart in json.loads(found[1])[0]}


class Text(Pages):
    """Tests the contents of the page."""

    def test_the_data_is_the_logs(self):
        charts = self.data(self.page_of("text.log"))
        self.assertEqual(list(charts), CHARTS)
        heap = measures.heaps_of(readers.read(PLACE / "text.log"))[0]
        series = {one["label"]: one for one in charts["pauses"]["series"]}
        told = sorted(value for label in ("minor", "with a major collection's part") for value in series[label]["y"])
        for mine, pause in zip(told, sorted(pause.length for pause in heap.pauses), strict=True):
            self.assertAlmostEqual(mine, pause / 1e3, delta=mine / 1e4)
        self.assertEqual(series["target"]["y"][0] * 1e3, heap.pause_target_ns)
        self.assertEqual(heap.pause_target_ns, 2_000_000)
        increments = next(one for one in charts["majors"]["series"] if one["label"] == "increments")
        self.assertEqual(len(increments["x"]), sum(one.end > one.begin for one in heap.majors))
        self.assertEqual(charts["classes"]["x"]["names"], [str(one.fields["object_bytes"]) for one in heap.spans])
        self.assertIn("asked for", charts["nursery"]["series"][0]["words"][0])

    def test_the_head_says_where_the_log_is_from(self):
        for name in ("text.log", "json.log"):
            text = self.page_of(name).read_text()
            heap = measures.heaps_of(readers.read(PLACE / name))[0]
            first = json.loads((PLACE / name.replace("text", "json")).read_text().splitlines()[0])
            self.holds(text, f"<span>program: {first['program']}</span>", f"<span>Cradle: {first['cradle']}</span>")
            self.holds(text, f"<span>process: {first['process']}</span>",
                       f"hardware: L2 cache {words.size(heap.hardware['l2_bytes'])}, ",
                       f"memory {words.size(heap.hardware['memory_bytes'])}", "pages of 4.00 KiB",
                       "settings: first nursery 64.00 KiB (asked for), pause target 2.00 ms")
            self.assertRegex(text, r"began: 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC<")
        self.assertNotIn('class="origin"', self.page_of("bare.json").read_text())
        strange = {"process": "x", "unix_ns": 10**30}
        write_log("strange.json", [head(**strange), *minor(1000, 500)])
        self.assertNotIn('class="origin"', self.page_of("strange.json").read_text())

    def test_the_last_survival_curve_is_drawn(self):
        sized = [
            event(1, "gc-set-nursery-size", nursery_bytes=1 << 20, lives="16 KiB 5"),
            event(2, "gc-set-nursery-size", nursery_bytes=2 << 20, lives="512 KiB 100, 1 MiB 97, 16 MiB 3, what? MiB 3"),
            event(3, "gc-set-nursery-size", nursery_bytes=4 << 20),
        ]
        write_log("lives.json", [head(), *sized, *minor(10_000, 8000, promoted_bytes=100)])
        chart = self.data(self.page_of("lives.json"))["lives"]
        self.assertEqual(chart["x"]["names"], ["512 KiB", "1 MiB", "16 MiB"])
        self.assertEqual(chart["series"][0]["y"], [100, 97, 3])
        self.assertIn("Not known", self.data(self.page_of("text.log"))["lives"]["notes"][0])

    def test_live_types_are_stacked(self):
        page = self.page_of("types.json")
        chart = self.data(page)["types"]
        self.assertEqual([one["label"] for one in chart["series"]], ["other types", "pair", "type 7"])
        self.assertEqual([one["y"] for one in chart["series"]], [[350, 1000], [300, 1000], [100, 900]])
        self.assertEqual([one["words"] for one in chart["series"][1:]],
                         [["200.00 KiB, 3 objects", "100.00 KiB, 1 object"], ["100.00 KiB, 1 object", "900.00 KiB, 2 objects"]])
        self.holds(page.read_text(), '<th scope="row">type 7</th><td>100.00 KiB</td><td>900.00 KiB</td><td>900.00 KiB</td><td>2</td>',
                   '<th scope="row">other types</th><td>50.00 KiB</td><td>8 bytes</td><td>50.00 KiB</td><td>-</td>')
        self.assertRegex(self.result.stdout, r"\n  pair +200\.00 KiB +100\.00 KiB +200\.00 KiB +1\n")
        self.assertNotIn("types", self.data(self.page_of("text.log")))
        both = self.data(self.page_of("types.json", "types.json"))
        self.assertEqual((both["types"]["title"], both["types-second"]["title"]),
                         ("Live memory by type: first", "Live memory by type: second"))

    def test_live_types_are_read_from_text(self):
        text = "".join(f"[{1000 + at:x}] {{gc-types\nheap: 1.1\nmajor collection: 3\nname of the type: {name}\nnumber of the type: 2\n"
                       f"types: 1\nlive objects: 4\nlive bytes: {64 << at}\n[{1000 + at:x}] gc-types}}\n"
                       for at, name in enumerate(("a: b, c", "12")))
        (PLACE / "types.log").write_text("[1] {cradle-log\nCradle log, format 1\n[1] cradle-log}\n" + text)
        [heap] = measures.heaps_of(readers.read(PLACE / "types.log"))
        self.assertEqual(list(live_types.table(heap)), [("12", *["128 bytes"] * 3, "4"), ("a: b, c", *["64 bytes"] * 3, "4")])

    def threads_of(self, name):
        chart = self.data(self.page_of(name))["threads"]
        lanes = {one["label"]: [(round(begin, 6), round(end, 6)) for begin, end in zip(one["x"], one["ends"])] for one in chart["series"]}
        return chart, lanes, {one["label"]: one["words"] for one in chart["series"]}

    def test_mutators_have_lanes(self):
        pauses = [{"t": at, "heap": "1.1", "event": "gc-pause", "time_ns": 2000, "stop_ns": 5000, "cause": "nursery full", **who}
                  for at, who in ((50_000, {"last": "reader", "mutator": "main"}), (90_000, {}), (150_000, {"last": "mutator 3"}))]
        write_log("stops.json", [head(), *minor(10_000, 8000, promoted_bytes=100), *pauses])
        chart, lanes, said = self.threads_of("stops.json")
        self.assertEqual(list(lanes), ["program stands", "main", "mutator 3", "reader"])
        self.assertEqual(chart["y"]["names"], list(lanes)[::-1])
        self.assertEqual([end - begin for begin, end in lanes["reader"]], [5])
        self.assertEqual(said["reader"], ["time to stop, 5.0 us"])
        self.assertEqual(lanes["main"], lanes["program stands"][:1])
        self.assertEqual(lanes["main"][0][0], lanes["reader"][0][1])
        self.assertEqual(said["main"], ["collects: nursery full, 2.0 us"])
        self.assertEqual(said["program stands"], ["stands, 2.0 us"] * 3)
        self.assertIn("its time to stop is before the pause", chart["notes"][-1])

    def test_helpers_have_lanes(self):
        helped = [{"helpers": 2, "helped_ns": 12000}, {"helpers": 1, "helped_ns": 90000}, {"alone": "stress"}]
        minors = [one for number, said in enumerate(helped) for one in minor(10_000 * (number + 1), 8000, promoted_bytes=100, **said)]
        beside = [event(80_000, "gc-beside", run_ns=9000, markers=3), event(85_000, "gc-beside", run_ns=9000)]
        write_log("helped.json", [head(), *minors, *beside])
        chart, lanes, said = self.threads_of("helped.json")
        first, *others = [lanes[f"helper {place}"] for place in (1, 2, 3)]
        lengths = [[round(end - begin, 6) for begin, end in one] for one in (first, *others)]
        self.assertEqual(lengths, [[6, 8, 3, 5], [6, 3], [3]])  # us; at most the collection, and since the pause before
        self.assertEqual(said["helper 1"], ["copies, 2 threads, 6.0 us", "copies, 1 thread, 8.0 us", "marks, 3 threads, 3.0 us",
                                                      "marks, 1 thread, 5.0 us"])
        self.assertIn("the mean of their times", chart["notes"][-1])
        self.assertNotIn("threads", self.data(self.page_of("bare.json")))

    def test_the_page_needs_nothing_else(self):
        text = self.page_of("text.log").read_text()
        self.assertEqual(re.findall(r"\s(?:src|href)\s*=|@import|url\(|<link", text), [])
        script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        self.assertEqual(len(script), 1)
        digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
        self.holds(text, f"script-src 'sha256-{digest}'", "The MIT License", "What to look at first")

    def test_a_page_is_the_same_each_time(self):
        first = self.page_of("text.log").read_text()
        report("text.log", "--html", "again.html")
        self.assertTrue((PLACE / "again.html").read_text() == first)

    def test_hostile_names_are_escaped_and_shortened(self):
        for page in (self.page_of("hostile.json"), self.page_of("hostile.json", "hostile.json")):
            text = page.read_text()
            self.holds(text, "alert(1)")
            self.assertEqual(
                [raw for raw in ("<script>alert", "<img", "\x1b", "\x07", "\u202e", "n" * 1100) if raw in text], []
            )
            self.assertLess(len(text), 400_000)
        self.assertNotIn("\x1b", self.result.stdout)

    def test_an_empty_log_gives_a_page_that_says_so(self):
        for names, why in (
            (("empty.json",), "the file is empty"),
            (("head.json",), "no section of the collector"),
            (("text.log", "empty.json"), "the file is empty"),
        ):
            text = self.page_of(*names).read_text()
            self.assertEqual(self.result.returncode, 1)
            self.assertIn(why, self.result.stderr)
            self.holds(text, "There is nothing to report", why)
        write_log(
            "no-collection.json", [head(), event(5, "gc-set-nursery-size", nursery_bytes=4096, reason="asked for")]
        )
        self.holds(self.page_of("no-collection.json").read_text(), "No collection is in this log.")
        self.assertEqual(self.result.returncode, 0)

    def test_what_a_log_does_not_say_is_not_known(self):
        charts = self.data(self.page_of("bare.json"))
        for name in ("memory", "allocation", "promotion", "survival", "nursery", "huge-pages", "classes"):
            self.assertEqual(charts[name]["series"], [], name)
            self.assertRegex(" ".join(charts[name]["notes"]), "^Not known: ", name)
        self.assertIn("The pause target is not known.", charts["pauses"]["notes"])
        told = report("bare.json", "--compare", "text.log").stdout
        for name in ("allocated", "promoted", "most memory used", "nursery", "pause target"):
            self.assertRegex(told, rf"\n  {name} +not known +\S.*  not known\n")

    def test_no_rate_is_zero_where_nothing_is_known(self):
        events, total = [head()], 0
        for time in [*range(1000, 100_000, 1000), *range(9_000_000, 9_100_000, 1000)]:
            events += minor(time, 100, nursery_used_bytes=5000, promoted_bytes=70)
            total += 5000
        write_log("gap.json", events)
        charts = self.data(self.page_of("gap.json"))
        series = charts["allocation"]["series"][0]
        self.assertGreater(min(series["y"]), 0)
        bytes_each = {"KiB/s": 1 << 10, "MiB/s": 1 << 20, "GiB/s": 1 << 30}[charts["allocation"]["y"]["unit"]]
        self.assertEqual(charts["allocation"]["x"]["unit"], "ms")
        steps = zip(series["x"], series["x"][1:], series["y"][1:])
        self.assertAlmostEqual(
            sum((end - begin) / 1e3 * rate * bytes_each for begin, end, rate in steps) / total, 1, places=3
        )

    def test_a_long_log_is_thinned_and_says_so(self):
        page = self.page_of("long.json")
        self.assertLess(page.stat().st_size, 1_500_000)
        charts = self.data(page)
        self.assertIn(
            "Of 8500 pauses of minor collections, the lowest and the highest of each of 4000 parts of the time "
            "are drawn.",
            charts["pauses"]["notes"],
        )
        pauses = charts["pauses"]["series"][0]
        self.assertLess(len(pauses["x"]), 2 * thinning.PARTS + 1)
        self.assertEqual(max(pauses["y"]), 9900)

    def test_thinning_keeps_the_extremes(self):
        points = [(time, time * 7919 % 1000) for time in range(10_000)]
        kept = thinning.thinned(points, 0, 10_000, parts=10)
        self.assertEqual(len(kept), 20)
        self.assertEqual(kept, sorted(kept))
        for part in range(10):
            inside = [value for time, value in points if time // 1000 == part]
            mine = [value for time, value in kept if time // 1000 == part]
            self.assertEqual(sorted(mine), [min(inside), max(inside)])
        items = [(begin, begin + 1, "a", 1, 1) for begin in range(0, 10_000, 2)]
        joined = thinning.joined_items(items, 10_000, parts=10)
        self.assertLess(len(joined), 22)
        self.assertEqual(sum(item[3] for item in joined), len(items))

    def test_changes_are_in_words(self):
        for one, two, write, said in (
            (100, 150, words.size, "+50.0 %"),
            (100, 100, words.size, "none"),
            (0, 5, figures.count, "from 0"),
            (0.5, 0.25, words.percent, "-25.00 points"),
            (10, 500, words.time, "50.0 times"),
            (None, 5, words.size, "not known"),
            (5, None, words.size, "not known"),
        ):
            self.assertEqual(figures.change(one, two, write), said)

    def test_a_comparison_has_both_and_the_changes(self):
        page = self.page_of("long.json", "text.log")
        text = page.read_text()
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        heap = measures.heaps_of(readers.read(PLACE / "text.log"))[0]
        count, change = len(heap.pauses), f"{100 * (len(heap.pauses) / 8500 - 1):+.1f} %"
        self.holds(text, f'<th scope="row">pauses</th><td>8500</td><td>{count}</td><td>{change}</td>')
        self.assertRegex(self.result.stdout, rf"\n  pauses +8500 +{count}  {change}\n")
        labels = [series["label"] for series in self.data(page)["memory"]["series"]]
        self.assertTrue({"first: before", "second: before"} <= set(labels), labels)


# The names of the charts whose plots have no colour, only the greys of the grid.
BLANK = """() => cradleReport.charts.filter(({plot: {bbox, ctx}}) => {
  const {data} = ctx.getImageData(bbox.left, bbox.top, bbox.width, bbox.height);
  for (let i = 0; i < data.length; i += 4) {
    const rest = [data[i], data[i + 1], data[i + 2]];
    if (data[i + 3] > 200 && Math.max(...rest) - Math.min(...rest) > 40) return false;
  }
  return true;
}).map((one) => one.name)"""


class Browser(InBrowser, Pages):
    """Tests what a reader of the page sees and does, in a browser."""

    def scale(self, tab, name):
        return tab.evaluate(
            """name => {
              const {min, max} = cradleReport.charts.find((one) => one.name === name).plot.scales.x;
              return [min, max];
            }""",
            name,
        )

    def drag(self, tab, name, begin, end):
        box = tab.locator(f"#{name}-0 .u-over")
        box.scroll_into_view_if_needed()
        place = box.bounding_box()
        tab.mouse.move(place["x"] + begin * place["width"], place["y"] + 20)
        tab.mouse.down()
        tab.mouse.move(place["x"] + end * place["width"], place["y"] + 60, steps=4)
        tab.mouse.up()

    def test_all_pages_are_drawn_without_errors(self):
        for names, count in (
            (("text.log",), 11),
            (("hostile.json",), 7),
            (("long.json",), 8),
            (("text.log", "long.json"), 11),
            (("types.json",), 6),
            (("empty.json",), 0),
        ):
            for width, scheme in ((1400, "light"), (400, "dark"))[0 if names[0] == "text.log" else 1 :]:
                tab = self.opened(self.page_of(*names), width, scheme)
                self.assertEqual(self.said, [], names)
                self.assertEqual(tab.locator("canvas").count(), count, names)
                self.assertLessEqual(tab.evaluate("document.documentElement.scrollWidth"), width, names)
                # Something is drawn besides the axes: there are colours inside the plots.
                if count:
                    self.assertEqual(tab.evaluate(BLANK), [], names)

    def test_a_drag_zooms_and_a_double_click_goes_back(self):
        tab = self.opened(self.page_of("text.log"))
        whole, others = self.scale(tab, "pauses"), self.scale(tab, "percentiles")
        self.drag(tab, "pauses", 0.25, 0.5)
        low, high = self.scale(tab, "pauses")
        length = whole[1] - whole[0]
        self.assertAlmostEqual(low, whole[0] + 0.25 * length, delta=0.02 * length)
        self.assertAlmostEqual(high, whole[0] + 0.5 * length, delta=0.02 * length)
        for name in ("memory", "allocation", "majors"):
            self.assertEqual(self.scale(tab, name), [low, high], name)
        self.assertEqual(self.scale(tab, "percentiles"), others)
        tab.locator("#pauses-0 .u-over").dblclick()
        self.assertEqual(self.scale(tab, "memory"), whole)
        tab.get_by_label("Pauses: zoom in").click()
        low, high = self.scale(tab, "memory")
        self.assertAlmostEqual(high - low, length / 2, delta=length / 1000)
        tab.get_by_label("Pauses: later or greater").click()
        self.assertAlmostEqual(self.scale(tab, "memory")[0], low + length / 4, delta=length / 1000)
        for _ in range(2):
            tab.get_by_label("Pauses: later or greater").click()
        self.assertAlmostEqual(self.scale(tab, "memory")[1], whole[1], delta=length / 1000)
        tab.get_by_label("Pauses: zoom out").click()
        self.assertAlmostEqual(self.scale(tab, "memory")[0], whole[0], delta=length / 1000)
        tab.get_by_label("Pauses: show the whole").click()
        self.assertEqual(self.scale(tab, "memory"), whole)
        self.assertEqual(self.said, [])

    def test_values_under_the_pointer_are_told(self):
        tab = self.opened(self.page_of("text.log"))
        for name, wanted in (
            ("nursery", r"64\.00 KiB, asked for"),
            ("classes", r"KiB, [\d.]+ % of it waste"),
            ("mmu", r"utilisation:?\s*[\d.]+ %"),
        ):
            box = tab.locator(f"#{name}-0 .u-over")
            box.hover()
            self.assertRegex(tab.locator(f"#{name}-0 .u-legend").inner_text(), wanted)

    def test_the_colours_follow_the_scheme(self):
        tab = self.opened(self.page_of("text.log"))
        self.drag(tab, "pauses", 0.25, 0.5)
        zoomed = self.scale(tab, "pauses")
        background = "getComputedStyle(document.body).backgroundColor"
        light = tab.evaluate(background)
        tab.emulate_media(color_scheme="dark")
        self.assertNotEqual(tab.evaluate(background), light)
        self.assertEqual(self.scale(tab, "pauses"), zoomed)
        self.assertEqual(tab.locator("canvas").count(), len(CHARTS) - 1)  # the log has no survival curve

    def test_a_name_of_a_curve_hides_it(self):
        tab = self.opened(self.page_of("text.log"))
        tab.locator("#memory-0 .u-legend tr").nth(1).locator("th").click()
        shown = "cradleReport.charts.find((one) => one.name === 'memory').plot.series.map((one) => one.show)"
        self.assertEqual(tab.evaluate(shown)[1:3], [False, True])


if __name__ == "__main__":
    write_logs()
    if getattr(Browser, "__unittest_skip__", False):
        print(Browser.__unittest_skip_why__)
    unittest.main(argv=sys.argv[:1])
